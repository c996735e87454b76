package queues

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestQueuesCostTheLowerBound(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(200, 0)
	ada, rev := l.Labellers[0], l.Reviewer()

	const claim = `mutation($p: ID!, $n: Int!) { claimProjectItems(input: {projectId: $p, count: $n}) { items { id status claim { token since until } } } }`
	var have []apitest.Held
	t.Run("a claim", func(t *testing.T) {
		c := ada.Measure(claim, apitest.Vars{"p": l.ID, "n": 1})
		have = apitest.HeldOf(c.Answer, "claimProjectItems.items")
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {1}}, c.Rows())
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 1}, c.Operations())
	})
	t.Run("49 claims", func(t *testing.T) {
		c := ada.Measure(claim, apitest.Vars{"p": l.ID, "n": 49})
		have = append(have, apitest.HeldOf(c.Answer, "claimProjectItems.items")...)
		require.Len(t, have, 50)
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {49}}, c.Rows())
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 49}, c.Operations())
	})
	t.Run("no claim", func(t *testing.T) {
		c := ada.Measure(`mutation($p: ID!) { claimProjectItems(input: {projectId: $p}) { problem { __typename } } }`, apitest.Vars{"p": l.ID})
		assert.Equal(t, "TooManyClaims", c.Str("claimProjectItems.problem.__typename"))
		assert.Equal(t, map[string]int{"BatchGetItem": 2}, c.Operations(), "with a look at those of the user, which may have been finished")
	})
	t.Run("a finish", func(t *testing.T) {
		c := ada.Measure(`mutation($in: FinishProjectItemInput!) { finishProjectItem(input: $in) { item { status } effort { id finishedAt } } }`,
			apitest.Vars{"in": l.Finishing(have[0], apitest.Vars{"subcategoryId": l.Subcategories[0], "keywords": []string{"a", "b", "c"}})})
		assert.Equal(t, map[string][]int{"ProjectItem": {2}, "ategory": {2}}, c.Rows(), "with the membership")
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 1}, c.Operations())
	})
	t.Run("what is given back", func(t *testing.T) {
		for mutation, more := range map[string]string{"releaseProjectItem": "", "skipProjectItem": ", reason: TO_OTHERS"} {
			c := ada.Measure(`mutation($i: ID!, $t: String!) { `+mutation+`(input: {itemId: $i, token: $t`+more+`}) { item { status } } }`, apitest.Vars{"i": have[1].ID, "t": have[1].Token})
			have = append(have[:1:1], have[2:]...)
			assert.Equal(t, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, c.Operations(), mutation)
		}
	})
	t.Run("my claims", func(t *testing.T) {
		c := ada.Measure(`query($p: ID!) { project(id: $p) { viewerClaims { name category { name } project { name } returnedTo { name } claim { token user { name } } efforts { nodes { user { name } } } } } }`, apitest.Vars{"p": l.ID})
		assert.Len(t, c.List("project.viewerClaims"), 47)
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {50}, "PROFILE": {1}}, c.Rows(), "also those of which the queue has not heard yet that they were given back")
		assert.Equal(t, map[string]int{"BatchGetItem": 3}, c.Operations())
	})
	for i, who := range l.Labellers[1:] {
		l.Claimed(who, 10+i)
	}
	t.Run("a page of claimed items", func(t *testing.T) {
		c := l.Measure(`query($p: ID!) { project(id: $p) { items(status: CLAIMED, first: 100) { nodes { name claim { since until token user { name } } } } } }`, apitest.Vars{"p": l.ID})
		assert.Len(t, c.List("project.items.nodes"), 47+10+11+12+13)
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {93}, "PROFILE": {5}}, c.Rows())
		assert.Equal(t, 16, c.Operations()["Query"], "one per shard of the list")
		c = l.Measure(`query($p: ID!) { project(id: $p) { items(status: CLAIMED, first: 100) { nodes { name claim { since user { id } } } } } }`, apitest.Vars{"p": l.ID})
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {93}}, c.Rows(), "ids need no profiles")
	})
	for i, h := range have[1:31] {
		rev.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": l.Finished(ada, h), "verdict": []string{"CORRECT", "INCORRECT"}[i%2]})
	}
	t.Run("reviews", func(t *testing.T) {
		c := l.Measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on ProjectItem { returnedTo { name } efforts { nodes { user { name } review { verdict comment by { name } } } } } } }`, apitest.Vars{"ids": idsOfHeld(have[:31])})
		rows := c.Rows()
		assert.Equal(t, []int{32}, rows["ProjectItem"])
		assert.Equal(t, []int{31}, rows["ProjectItemEffort"])
		assert.Equal(t, 2, sum(rows["PROFILE"]), "the labeller and the reviewer, each once")
	})
	t.Run("the state of queues", func(t *testing.T) {
		for _, who := range []*apitest.Client{ada, rev} {
			who.Mutate("heartbeat", "onlineCount", apitest.Vars{"projectIds": []string{l.ID}})
		}
		c := l.Measure(`query($p: ID!) { onlineCount project(id: $p) { paused queue { cursor queued size paused counts { total new claimed finished skipped remaining } } topKeywords { value count } topCategories { value count }
			topSubcategories { value count } keywordCompletions(prefix: "a") online { seenAt user { id } } viewerClaims { id } } }`, apitest.Vars{"p": l.ID})
		assert.Equal(t, map[string]int{"BatchGetItem": 1}, c.Operations(), "the project and the membership")
		assert.Len(t, c.List("project.online"), 2)
		c = l.Measure(`query($p: ID!) { project(id: $p) { online { user { name } } } }`, apitest.Vars{"p": l.ID})
		assert.Equal(t, map[string][]int{"Project": {2}, "PROFILE": {2}}, c.Rows())
	})
	rests := s.Works()
	for _, who := range []*apitest.Client{rev, l.Client} {
		l.Finished(who, l.Claimed(who, 1)[0])
	}
	l.Counts("119 63 18 0")
	statistics(l, l.Team, "31 15", map[string]string{ada.ID: "31 15"})
	rests()
	t.Run("statistics", func(t *testing.T) {
		c := l.Measure(`query($p: ID!) { project(id: $p) { teams { name statistics { finished incorrect users { finished user { id } } } } } }`, apitest.Vars{"p": l.ID})
		assert.Equal(t, map[string][]int{"Project": {2}, "TeamList": {1}}, c.Rows())
		c = l.Measure(`query($p: ID!) { project(id: $p) { teams { name statistics { users { finished user { name } } } } } }`, apitest.Vars{"p": l.ID})
		assert.Equal(t, map[string][]int{"Project": {2}, "TeamList": {1}, "PROFILE": {3}}, c.Rows())
	})
}

func idsOfHeld(all []apitest.Held) []string {
	ids := make([]string, len(all))
	for i, h := range all {
		ids[i] = h.ID
	}
	return ids
}

func sum(all []int) (n int) {
	for _, one := range all {
		n += one
	}
	return n
}
