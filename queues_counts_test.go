package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQueuesCostTheLowerBound(t *testing.T) {
	s := newServer(t)
	l := s.labelled(200, 0)
	ada, rev := l.labellers[0], l.reviewer()

	const claim = `mutation($p: ID!, $n: Int!) { claimProjectItems(input: {projectId: $p, count: $n}) { items { id status claim { token since until } } } }`
	var have []held
	t.Run("a claim", func(t *testing.T) {
		c := ada.measure(claim, vars{"p": l.id, "n": 1})
		have = heldOf(c.answer, "claimProjectItems.items")
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {1}}, c.rows())
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 1}, c.Operations())
	})
	t.Run("49 claims", func(t *testing.T) {
		c := ada.measure(claim, vars{"p": l.id, "n": 49})
		have = append(have, heldOf(c.answer, "claimProjectItems.items")...)
		require.Len(t, have, 50)
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {49}}, c.rows())
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 49}, c.Operations())
	})
	t.Run("no claim", func(t *testing.T) {
		c := ada.measure(`mutation($p: ID!) { claimProjectItems(input: {projectId: $p}) { problem { __typename } } }`, vars{"p": l.id})
		assert.Equal(t, "TooManyClaims", c.str("claimProjectItems.problem.__typename"))
		assert.Equal(t, map[string]int{"BatchGetItem": 1}, c.Operations())
	})
	t.Run("a finish", func(t *testing.T) {
		c := ada.measure(`mutation($in: FinishProjectItemInput!) { finishProjectItem(input: $in) { item { status } effort { id finishedAt } } }`,
			vars{"in": l.finishing(have[0], vars{"subcategoryId": l.subcategories[0], "keywords": []string{"a", "b", "c"}})})
		assert.Equal(t, map[string][]int{"ProjectItem": {2}, "ategory": {2}}, c.rows(), "with the membership")
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 1}, c.Operations())
	})
	t.Run("what is given back", func(t *testing.T) {
		for mutation, more := range map[string]string{"releaseProjectItem": "", "skipProjectItem": ", reason: TO_OTHERS"} {
			c := ada.measure(`mutation($i: ID!, $t: String!) { `+mutation+`(input: {itemId: $i, token: $t`+more+`}) { item { status } } }`, vars{"i": have[1].id, "t": have[1].token})
			have = append(have[:1:1], have[2:]...)
			assert.Equal(t, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, c.Operations(), mutation)
		}
	})
	t.Run("my claims", func(t *testing.T) {
		c := ada.measure(`query($p: ID!) { project(id: $p) { viewerClaims { name category { name } project { name } returnedTo { name } claim { token user { name } } efforts { nodes { user { name } } } } } }`, vars{"p": l.id})
		assert.Len(t, c.list("project.viewerClaims"), 47)
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {50}, "PROFILE": {1}}, c.rows(), "also those of which the queue has not heard yet that they were given back")
		assert.Equal(t, map[string]int{"BatchGetItem": 3}, c.Operations())
	})
	for i, who := range l.labellers[1:] {
		l.claimed(who, 10+i)
	}
	t.Run("a page of claimed items", func(t *testing.T) {
		c := l.measure(`query($p: ID!) { project(id: $p) { items(status: CLAIMED, first: 100) { nodes { name claim { since until token user { name } } } } } }`, vars{"p": l.id})
		assert.Len(t, c.list("project.items.nodes"), 47+10+11+12+13)
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {93}, "PROFILE": {5}}, c.rows())
		assert.Equal(t, 16, c.Operations()["Query"], "one per shard of the list")
		c = l.measure(`query($p: ID!) { project(id: $p) { items(status: CLAIMED, first: 100) { nodes { name claim { since user { id } } } } } }`, vars{"p": l.id})
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {93}}, c.rows(), "ids need no profiles")
	})
	for i, h := range have[1:31] {
		rev.mutate("reviewEffort", "effort { id }", vars{"effortId": l.finished(ada, h), "verdict": []string{"CORRECT", "INCORRECT"}[i%2]})
	}
	t.Run("reviews", func(t *testing.T) {
		c := l.measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on ProjectItem { returnedTo { name } efforts { nodes { user { name } review { verdict comment by { name } } } } } } }`, vars{"ids": idsOfHeld(have[:31])})
		rows := c.rows()
		assert.Equal(t, []int{32}, rows["ProjectItem"])
		assert.Equal(t, []int{31}, rows["ProjectItemEffort"])
		assert.Equal(t, 2, sum(rows["PROFILE"]), "the labeller and the reviewer, each once")
	})
	t.Run("the state of queues", func(t *testing.T) {
		for _, who := range []*client{ada, rev} {
			who.mutate("heartbeat", "onlineCount", vars{"projectIds": []string{l.id}})
		}
		c := l.measure(`query($p: ID!) { onlineCount project(id: $p) { paused queue { cursor queued size paused counts { total new claimed finished skipped remaining } } topKeywords { value count } topCategories { value count }
			topSubcategories { value count } keywordCompletions(prefix: "a") online { seenAt user { id } } viewerClaims { id } } }`, vars{"p": l.id})
		assert.Equal(t, map[string]int{"BatchGetItem": 1}, c.Operations(), "the project and the membership")
		assert.Len(t, c.list("project.online"), 2)
		c = l.measure(`query($p: ID!) { project(id: $p) { online { user { name } } } }`, vars{"p": l.id})
		assert.Equal(t, map[string][]int{"Project": {2}, "PROFILE": {2}}, c.rows())
	})
	rests := s.works()
	for _, who := range []*client{rev, l.client} {
		l.finished(who, l.claimed(who, 1)[0])
	}
	l.counts("119 63 18 0")
	l.statistics(l.team, "31 15", map[string]string{ada.id: "31 15"})
	rests()
	t.Run("statistics", func(t *testing.T) {
		c := l.measure(`query($p: ID!) { project(id: $p) { teams { name statistics { finished incorrect users { finished user { id } } } } } }`, vars{"p": l.id})
		assert.Equal(t, map[string][]int{"Project": {2}, "TeamList": {1}}, c.rows())
		c = l.measure(`query($p: ID!) { project(id: $p) { teams { name statistics { users { finished user { name } } } } } }`, vars{"p": l.id})
		assert.Equal(t, map[string][]int{"Project": {2}, "TeamList": {1}, "PROFILE": {3}}, c.rows())
	})
}

func idsOfHeld(all []held) []string {
	ids := make([]string, len(all))
	for i, h := range all {
		ids[i] = h.id
	}
	return ids
}

func sum(all []int) (n int) {
	for _, one := range all {
		n += one
	}
	return n
}
