package main

import (
	"maps"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// settle waits until the queue has followed everything, and compares the queue, the statistics and what is stored with what
// the labellers were told.
func (c *workforce) settle() {
	t := c.t
	t.Helper()
	require.Eventually(t, func() bool {
		q, _, err := c.look(t.Context(), c.servers[0])
		return err == nil && q != nil && c.unfollowed() == 0
	}, 3*patience, 200*time.Millisecond, "the queue does not follow: %s", c.servers[0].tail())

	users, categories := map[string]int{}, map[string]int{}
	for _, e := range c.told {
		users[e.user]++
		categories[e.category]++
	}
	for _, s := range c.servers {
		q := c.now(s)
		c.alive(q)
		assert.Equal(t, c.items, q.Counts.Finished, "%+v", q)
		assert.Equal(t, c.items, q.Counts.Total, "%+v", q)
		assert.Zero(t, q.Queued)
		a := s.by(c.client).must(`query($p: ID!) { project(id: $p) { teams { statistics { finished incorrect users { user { id } finished incorrect } } }
			categories { id name } topCategories { value count } topKeywords { value count } } }`, vars{"p": c.crew.id})
		all, found := 0, map[string]int{}
		for _, team := range a.list("project.teams") {
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
		for _, one := range a.list("project.categories") {
			ids[one.(map[string]any)["name"].(string)] = one.(map[string]any)["id"].(string)
		}
		for _, one := range a.list("project.topCategories") {
			used[ids[one.(map[string]any)["value"].(string)]] = int(one.(map[string]any)["count"].(float64))
		}
		assert.Equal(t, categories, used)
		assert.Equal(t, map[string]any{"value": "all", "count": float64(c.items)}, a.list("project.topKeywords")[0])
	}
	c.stored()
	admin, err := c.local.Mint(person("admin@example.com", "Admin", "", true), time.Hour)
	require.NoError(t, err)
	a := c.servers[0].by(&client{token: admin})
	a.must(`mutation { createUser(input: {name: "Admin", email: "admin@example.com"}) { user { id } } }`, nil)
	assert.Empty(t, a.must(`{ deadLetters { reason } }`, nil).list("deadLetters"))
}

// stored compares items and efforts with what the labellers were told.
func (c *workforce) stored() {
	t := c.t
	t.Helper()
	seen, cursor := 0, any(nil)
	for {
		a := c.servers[0].by(c.client).must(`query($p: ID!, $c: Cursor) { project(id: $p) { items(first: 200, after: $c) { pageInfo { hasNextPage endCursor }
			nodes { id status category { id } keywords efforts(first: 3) { nodes { id undoneAt user { id } } } } } } }`, vars{"p": c.crew.id, "c": cursor})
		for _, node := range a.list("project.items.nodes") {
			i := &answer{t: t, body: a.body, Data: node.(map[string]any)}
			e, seenBefore := c.told[i.str("id")]
			require.True(t, seenBefore)
			seen++
			efforts := i.list("efforts.nodes")
			if !assert.Equal(t, "FINISHED", i.str("status")) || !assert.Len(t, efforts, 1, "every item is finished once") {
				continue
			}
			effort := &answer{t: t, body: a.body, Data: efforts[0].(map[string]any)}
			assert.Nil(t, effort.at("undoneAt"))
			assert.Equal(t, e.id, effort.str("id"))
			assert.Equal(t, e.user, effort.str("user.id"))
			assert.Equal(t, e.category, i.str("category.id"))
			assert.Len(t, i.list("keywords"), 2)
		}
		if a.at("project.items.pageInfo.hasNextPage") == false {
			break
		}
		cursor = a.at("project.items.pageInfo.endCursor")
	}
	assert.Equal(t, c.items, seen)
}
