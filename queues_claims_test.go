package main

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnItemIsInTheHandsOfOneUser(t *testing.T) {
	s := newServer(t)
	l := s.labelled(61, 0)
	all := make([][]held, len(l.labellers))
	var group sync.WaitGroup
	for i, who := range l.labellers {
		group.Go(func() {
			for n := 1; ; n = n%7 + 1 {
				some := l.claimedUpTo(who, n)
				if all[i] = append(all[i], some...); len(some) == 0 {
					return
				}
			}
		})
	}
	group.Wait()
	items, tokens := map[string]bool{}, map[string]bool{}
	for _, mine := range all {
		for _, h := range mine {
			assert.False(t, items[h.id], "nobody else has it")
			items[h.id], tokens[h.token] = true, true
		}
	}
	assert.Len(t, items, 61)
	assert.Len(t, tokens, 61)
	l.counts("0 61 0 0")
	for i, who := range l.labellers {
		a := who.must(`query($p: ID!) { project(id: $p) { viewerClaims { id status claim { token since until user { id } } } } }`, vars{"p": l.id})
		assert.ElementsMatch(t, all[i], heldOf(a, "project.viewerClaims"))
		last := time.Time{}
		for _, item := range a.list("project.viewerClaims") {
			item := &answer{t: t, body: a.body, Data: item.(map[string]any)}
			assert.Equal(t, "CLAIMED", item.str("status"))
			assert.Equal(t, who.id, item.str("claim.user.id"))
			since, until := item.time("claim.since"), item.time("claim.until")
			assert.Equal(t, 15*time.Minute, until.Sub(since))
			assert.False(t, since.Before(last), "the oldest claim first")
			last = since
		}
	}
	a := l.must(`query($p: ID!) { project(id: $p) { viewerClaims { id } items(status: CLAIMED, first: 500) { nodes { claim { token user { id } } } } } }`, vars{"p": l.id})
	assert.Empty(t, a.list("project.viewerClaims"))
	for _, item := range a.list("project.items.nodes") {
		claim := item.(map[string]any)["claim"].(map[string]any)
		assert.Nil(t, claim["token"], "whose claim it is can be seen; its token cannot")
		assert.NotEqual(t, l.client.id, claim["user"].(map[string]any)["id"])
	}
}

// time returns the time at a path.
func (a *answer) time(path string) time.Time {
	a.t.Helper()
	at, err := time.Parse(time.RFC3339, a.str(path))
	require.NoError(a.t, err)
	return at
}

func TestAUserHasFiftyItemsOfAProjectAtMost(t *testing.T) {
	s := newServer(t)
	l := s.labelled(60, 0)
	ada := l.labellers[0]
	l.claimed(ada, 46)
	assert.Len(t, l.claimedUpTo(ada, 10), 4, "as many as fit")
	a := ada.must(`mutation($in: ClaimProjectItemsInput!) { claimProjectItems(input: $in) { project { id } items { id } problem { __typename ... on TooManyClaims { limit message } } } }`,
		vars{"in": vars{"projectId": l.id}})
	assert.Equal(t, "TooManyClaims", a.str("claimProjectItems.problem.__typename"))
	assert.InDelta(t, 50, a.at("claimProjectItems.problem.limit"), 0)
	assert.NotEmpty(t, a.str("claimProjectItems.problem.message"))
	assert.Nil(t, a.at("claimProjectItems.items"))
	assert.Nil(t, a.at("claimProjectItems.project"))
	l.counts("10 50 0 0")
	assert.Len(t, l.claimedUpTo(l.labellers[1], 50), 10, "others get the rest")
	assert.Empty(t, l.claimedUpTo(l.labellers[2], 1), "and then there is nothing to do")
}

func TestNothingIsHandedOutWhileAProjectIsPaused(t *testing.T) {
	s := newServer(t)
	l := s.labelled(4, 0)
	ada := l.labellers[0]
	have := l.claimed(ada, 2)
	paused := func(mutation string, want bool) {
		a := l.mutate(mutation, "project { id paused queue { paused } }", vars{"projectId": l.id})
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Equal(t, want, a.at("result.project.paused"))
		assert.Equal(t, want, a.at("result.project.queue.paused"))
	}
	paused("pauseProject", true)
	paused("pauseProject", true)
	a := ada.must(`mutation($in: ClaimProjectItemsInput!) { claimProjectItems(input: $in) { items { id } problem { __typename ... on Problem { message } } } }`, vars{"in": vars{"projectId": l.id}})
	assert.Equal(t, "ProjectPaused", a.str("claimProjectItems.problem.__typename"))
	assert.NotEmpty(t, a.str("claimProjectItems.problem.message"))
	l.finished(ada, have[0]) // who has some can go on
	paused("resumeProject", false)
	paused("resumeProject", false)
	l.claimed(ada, 2)
}

func TestAClaimIsExtended(t *testing.T) {
	s := newServer(t)
	l := s.labelled(2, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	h := l.claimed(ada, 1)[0]
	l.rewrites(h.id, nearlyOver)
	before := time.Now().Add(15 * time.Minute)
	a := ada.mutate("extendClaim", "item { status claim { token since until user { id } } } problem { __typename }", h.input())
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Nil(t, a.at("result.problem"))
	assert.Equal(t, h.token, a.str("result.item.claim.token"), "the same claim")
	assert.WithinDuration(t, before, a.time("result.item.claim.until"), time.Minute)
	listed := ada.must(`query($p: ID!) { project(id: $p) { viewerClaims { claim { until } } } }`, vars{"p": l.id})
	assert.Contains(t, listed.body, `{"until":"`+a.str("result.item.claim.until")+`"}`)
	l.counts("1 1 0 0")

	for reason, try := range map[string]struct {
		who *client
		in  vars
	}{
		"another's claim":        {bob, h.input()},
		"a token of nothing":     {ada, h.input(vars{"token": "none"})},
		"an empty token":         {ada, h.input(vars{"token": ""})},
		"an item that is new":    {ada, vars{"itemId": l.other(h.id), "token": h.token}},
		"another claim's token":  {bob, vars{"itemId": h.id, "token": l.claimed(bob, 1)[0].token}},
		"a token of white space": {ada, h.input(vars{"token": h.token + " "})},
	} {
		a := try.who.mutate("extendClaim", "item { id } problem { __typename ... on LeaseLost { message current { id claim { token } } typed { categoryId } } }", try.in)
		require.Empty(t, a.Errors, "%s: %s", reason, a.body)
		assert.Equal(t, "LeaseLost", a.str("result.problem.__typename"), reason)
		assert.Nil(t, a.at("result.item"), reason)
		assert.Nil(t, a.at("result.problem.typed"), "it was no finish")
		assert.Equal(t, try.in["itemId"], a.str("result.problem.current.id"), reason)
		if try.who == bob && try.in["itemId"] == h.id {
			assert.Nil(t, a.at("result.problem.current.claim.token"), reason)
		}
	}
	l.counts("0 2 0 0")
}

// other returns an item of the project that is not the given one.
func (l crew) other(id string) string {
	for _, item := range l.items {
		if item != id {
			return item
		}
	}
	return ""
}

func TestWhatIsGivenBackGoesToWhoeverAsksNext(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(1, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	h := l.claimed(ada, 1)[0]
	assert.Empty(t, l.claimedUpTo(bob, 1))
	a := ada.mutate("releaseProjectItem", "item { id status claim { since } } problem { __typename }", h.input())
	assert.Equal(t, `{"result":{"item":{"id":"`+h.id+`","status":"NEW","claim":null},"problem":null}}`, a.data())
	l.counts("1 0 0 0")
	again := l.claimed(ada, 1)[0]
	assert.Equal(t, h.id, again.id, "also to who gave it back")
	assert.NotEqual(t, h.token, again.token)
	a = ada.mutate("releaseProjectItem", "item { id } problem { __typename ... on LeaseLost { current { claim { token } } typed { categoryId } } }", h.input())
	assert.Equal(t, `{"result":{"item":null,"problem":{"__typename":"LeaseLost","current":{"claim":{"token":"`+again.token+`"}},"typed":null}}}`, a.data(), "by the token of a claim that has ended")
	l.counts("0 1 0 0")

	l.expires(h.id)
	l.counts("1 0 0 0")
	assert.Equal(t, h.id, l.claimed(bob, 1)[0].id, "what somebody had for too long goes to others")
	assert.Empty(t, ada.must(`query($p: ID!) { project(id: $p) { viewerClaims { id } } }`, vars{"p": l.id}).list("project.viewerClaims"))
}

func TestSkippedItems(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(1, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	skips := func(who *client, h held, reason, status string, change ...vars) {
		t.Helper()
		a := who.mutate("skipProjectItem", "item { id status claim { token } } problem { __typename }", h.input(append(change, vars{"reason": reason})...))
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Equal(t, `{"result":{"item":{"id":"`+h.id+`","status":"`+status+`","claim":null},"problem":null}}`, a.data())
	}

	h := l.claimed(ada, 1)[0]
	skips(ada, h, "TO_ME_LATER", "NEW", vars{"minutes": 10_080})
	l.counts("1 0 0 0")
	assert.Empty(t, l.claimedUpTo(ada, 1), "not yet")
	l.comesDue(ada)
	h = l.claimed(ada, 1)[0]

	skips(ada, h, "TO_ME_LATER", "NEW")
	l.counts("1 0 0 0")
	h = l.claimed(bob, 1)[0] // others may take it meanwhile
	l.comesDue(ada)
	assert.Empty(t, l.claimedUpTo(ada, 1), "then it does not come again")

	skips(bob, h, "TO_OTHERS", "NEW")
	l.counts("1 0 0 0")
	assert.Empty(t, l.claimedUpTo(bob, 1))
	h = l.claimed(ada, 1)[0]
	a := bob.mutate("skipProjectItem", "item { id } problem { __typename ... on LeaseLost { current { claim { token } } typed { categoryId } } }", h.input(vars{"reason": "FOR_NOBODY"}))
	assert.Equal(t, `{"result":{"item":null,"problem":{"__typename":"LeaseLost","current":{"claim":{"token":null}},"typed":null}}}`, a.data())

	skips(ada, h, "FOR_NOBODY", "SKIPPED")
	l.counts("0 0 0 1")
	for _, who := range l.labellers {
		assert.Empty(t, l.claimedUpTo(who, 1))
	}
	assert.Equal(t, []any{map[string]any{"id": h.id}}, l.must(`query($p: ID!) { project(id: $p) { items(status: SKIPPED) { nodes { id } } } }`, vars{"p": l.id}).list("project.items.nodes"))
}

func TestAClaimWithAKeyIsMadeOnce(t *testing.T) {
	s := newServer(t)
	l := s.labelled(20, 0)
	ada := l.labellers[0]
	in := vars{"in": vars{"projectId": l.id, "count": 5, "idempotencyKey": "k"}}
	answers := make([]*answer, 10)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() { answers[i] = ada.must(claimItems, in) })
	}
	group.Wait()
	all := heldOf(ada.must(claimItems, in), "claimProjectItems.items")
	assert.Len(t, all, 5)
	for _, a := range answers {
		for _, h := range heldOf(a, "claimProjectItems.items") { // of those that are under way some may not be known yet
			assert.Contains(t, all, h)
		}
	}
	l.counts("15 5 0 0")
	l.finished(ada, all[1])
	assert.ElementsMatch(t, append(all[:1:1], all[2:]...), heldOf(ada.must(claimItems, in), "claimProjectItems.items"), "what is left of the same claims")
	l.labellers[1].must(claimItems, in)
	l.becomesSo(l.client, `queue { counts { claimed } }`, func(p *answer) bool { return p.at("queue.counts.claimed") == 10.0 })
}
