package fleets

import (
	"maps"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
)

// settle waits until the queue has followed everything, and compares the queue, the statistics and what is stored with what
// the labellers were told.
func (c *workforce) settle() {
	t := c.t
	t.Helper()
	require.Eventually(t, func() bool {
		q, _, err := look(c.Crew, t.Context(), c.servers[0])
		return err == nil && q != nil && c.unfollowed() == 0
	}, 3*apitest.Patience, 200*time.Millisecond, "the queue does not follow: %s", c.servers[0].tail())

	users, categories := map[string]int{}, map[string]int{}
	for _, e := range c.told {
		users[e.user]++
		categories[e.category]++
	}
	for _, s := range c.servers {
		q := now(c.Crew, s)
		c.alive(q)
		assert.Equal(t, c.items, q.Counts.Finished, "%+v", q)
		assert.Equal(t, c.items, q.Counts.Total, "%+v", q)
		assert.Zero(t, q.Queued)
		a := s.by(c.Client).Must(`query($p: ID!) { project(id: $p) { teams { statistics { finished incorrect users { user { id } finished incorrect } } }
			categories { id name } topCategories { value count } topKeywords { value count } } }`, apitest.Vars{"p": c.Crew.ID})
		all, found := 0, map[string]int{}
		for _, team := range a.List("project.teams") {
			statistics := team.(map[string]any)["statistics"].(map[string]any)
			all += int(statistics["finished"].(float64))
			assert.Zero(t, statistics["incorrect"])
			for _, u := range statistics["users"].([]any) {
				one := u.(map[string]any)
				found[one["user"].(map[string]any)["id"].(string)] += int(one["finished"].(float64))
			}
		}
		assert.Equal(t, c.items, all, "the sum of all statistics is the number of efforts")
		maps.DeleteFunc(found, func(_ string, n int) bool { return n == 0 })
		assert.Equal(t, users, found, "everybody's statistics are what they were told")
		used, ids := map[string]int{}, map[string]string{}
		for _, one := range a.List("project.categories") {
			ids[one.(map[string]any)["name"].(string)] = one.(map[string]any)["id"].(string)
		}
		for _, one := range a.List("project.topCategories") {
			used[ids[one.(map[string]any)["value"].(string)]] = int(one.(map[string]any)["count"].(float64))
		}
		assert.Equal(t, categories, used)
		assert.Equal(t, map[string]any{"value": "all", "count": float64(c.items)}, a.List("project.topKeywords")[0])
	}
	c.stored()
	admin, err := c.local.Mint(app.Person("admin@example.com", "Admin", "", true), time.Hour)
	require.NoError(t, err)
	a := c.servers[0].by(&apitest.Client{Token: admin})
	a.Must(`mutation { createUser(input: {name: "Admin", email: "admin@example.com"}) { user { id } } }`, nil)
	assert.Empty(t, a.Must(`{ deadLetters { reason } }`, nil).List("deadLetters"))
}

// stored compares items and efforts with what the labellers were told.
func (c *workforce) stored() {
	t := c.t
	t.Helper()
	seen, cursor := 0, any(nil)
	for {
		a := c.servers[0].by(c.Client).Must(`query($p: ID!, $c: Cursor) { project(id: $p) { items(first: 200, after: $c) { pageInfo { hasNextPage endCursor }
			nodes { id status category { id } keywords efforts(first: 3) { nodes { id undoneAt user { id } } } } } } }`, apitest.Vars{"p": c.Crew.ID, "c": cursor})
		for _, node := range a.List("project.items.nodes") {
			i := &apitest.Answer{T: t, Body: a.Body, Data: node.(map[string]any)}
			e, seenBefore := c.told[i.Str("id")]
			require.True(t, seenBefore)
			seen++
			efforts := i.List("efforts.nodes")
			if !assert.Equal(t, "FINISHED", i.Str("status")) || !assert.Len(t, efforts, 1, "every item is finished once") {
				continue
			}
			effort := &apitest.Answer{T: t, Body: a.Body, Data: efforts[0].(map[string]any)}
			assert.Nil(t, effort.At("undoneAt"))
			assert.Equal(t, e.id, effort.Str("id"))
			assert.Equal(t, e.user, effort.Str("user.id"))
			assert.Equal(t, e.category, i.Str("category.id"))
			assert.Len(t, i.List("keywords"), 2)
		}
		if a.At("project.items.pageInfo.hasNextPage") == false {
			break
		}
		cursor = a.At("project.items.pageInfo.endCursor")
	}
	assert.Equal(t, c.items, seen)
}
