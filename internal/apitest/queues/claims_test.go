package queues

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestAnItemIsInTheHandsOfOneUser(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(61, 0)
	all := make([][]apitest.Held, len(l.Labellers))
	var group sync.WaitGroup
	for i, who := range l.Labellers {
		group.Go(func() {
			for n := 1; ; n = n%7 + 1 {
				some := l.ClaimedUpTo(who, n)
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
			assert.False(t, items[h.ID], "nobody else has it")
			items[h.ID], tokens[h.Token] = true, true
		}
	}
	assert.Len(t, items, 61)
	assert.Len(t, tokens, 61)
	l.Counts("0 61 0 0")
	for i, who := range l.Labellers {
		a := who.Must(`query($p: ID!) { project(id: $p) { viewerClaims { id status claim { token since until user { id } } } } }`, apitest.Vars{"p": l.ID})
		assert.ElementsMatch(t, all[i], apitest.HeldOf(a, "project.viewerClaims"))
		last := time.Time{}
		for _, item := range a.List("project.viewerClaims") {
			item := &apitest.Answer{T: t, Body: a.Body, Data: item.(map[string]any)}
			assert.Equal(t, "CLAIMED", item.Str("status"))
			assert.Equal(t, who.ID, item.Str("claim.user.id"))
			since, until := item.Time("claim.since"), item.Time("claim.until")
			assert.Equal(t, 15*time.Minute, until.Sub(since))
			assert.False(t, since.Before(last), "the oldest claim first")
			last = since
		}
	}
	a := l.Must(`query($p: ID!) { project(id: $p) { viewerClaims { id } items(status: CLAIMED, first: 500) { nodes { claim { token user { id } } } } } }`, apitest.Vars{"p": l.ID})
	assert.Empty(t, a.List("project.viewerClaims"))
	for _, item := range a.List("project.items.nodes") {
		claim := item.(map[string]any)["claim"].(map[string]any)
		assert.Nil(t, claim["token"], "whose claim it is can be seen; its token cannot")
		assert.NotEqual(t, l.Client.ID, claim["user"].(map[string]any)["id"])
	}
}

func TestAUserHasFiftyItemsOfAProjectAtMost(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(60, 0)
	ada := l.Labellers[0]
	l.Claimed(ada, 46)
	assert.Len(t, l.ClaimedUpTo(ada, 10), 4, "as many as fit")
	a := ada.Must(`mutation($in: ClaimProjectItemsInput!) { claimProjectItems(input: $in) { project { id } items { id } problem { __typename ... on TooManyClaims { limit message } } } }`,
		apitest.Vars{"in": apitest.Vars{"projectId": l.ID}})
	assert.Equal(t, "TooManyClaims", a.Str("claimProjectItems.problem.__typename"))
	assert.InDelta(t, 50, a.At("claimProjectItems.problem.limit"), 0)
	assert.NotEmpty(t, a.Str("claimProjectItems.problem.message"))
	assert.Nil(t, a.At("claimProjectItems.items"))
	assert.Nil(t, a.At("claimProjectItems.project"))
	l.Counts("10 50 0 0")
	assert.Len(t, l.ClaimedUpTo(l.Labellers[1], 50), 10, "others get the rest")
	assert.Empty(t, l.ClaimedUpTo(l.Labellers[2], 1), "and then there is nothing to do")
}

func TestNothingIsHandedOutWhileAProjectIsPaused(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(4, 0)
	ada := l.Labellers[0]
	have := l.Claimed(ada, 2)
	paused := func(mutation string, want bool) {
		a := l.Mutate(mutation, "project { id paused queue { paused } }", apitest.Vars{"projectId": l.ID})
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, want, a.At("result.project.paused"))
		assert.Equal(t, want, a.At("result.project.queue.paused"))
	}
	paused("pauseProject", true)
	paused("pauseProject", true)
	a := ada.Must(`mutation($in: ClaimProjectItemsInput!) { claimProjectItems(input: $in) { items { id } problem { __typename ... on Problem { message } } } }`, apitest.Vars{"in": apitest.Vars{"projectId": l.ID}})
	assert.Equal(t, "ProjectPaused", a.Str("claimProjectItems.problem.__typename"))
	assert.NotEmpty(t, a.Str("claimProjectItems.problem.message"))
	l.Finished(ada, have[0]) // who has some can go on
	paused("resumeProject", false)
	paused("resumeProject", false)
	l.Claimed(ada, 2)
}

func TestAClaimIsExtended(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(2, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	h := l.Claimed(ada, 1)[0]
	l.Rewrites(h.ID, apitest.NearlyOver)
	before := time.Now().Add(15 * time.Minute)
	a := ada.Mutate("extendClaim", "item { status claim { token since until user { id } } } problem { __typename }", h.Input())
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Nil(t, a.At("result.problem"))
	assert.Equal(t, h.Token, a.Str("result.item.claim.token"), "the same claim")
	assert.WithinDuration(t, before, a.Time("result.item.claim.until"), time.Minute)
	listed := ada.Must(`query($p: ID!) { project(id: $p) { viewerClaims { claim { until } } } }`, apitest.Vars{"p": l.ID})
	assert.Contains(t, listed.Body, `{"until":"`+a.Str("result.item.claim.until")+`"}`)
	l.Counts("1 1 0 0")

	for reason, try := range map[string]struct {
		who *apitest.Client
		in  apitest.Vars
	}{
		"another's claim":        {bob, h.Input()},
		"a token of nothing":     {ada, h.Input(apitest.Vars{"token": "none"})},
		"an empty token":         {ada, h.Input(apitest.Vars{"token": ""})},
		"an item that is new":    {ada, apitest.Vars{"itemId": other(l, h.ID), "token": h.Token}},
		"another claim's token":  {bob, apitest.Vars{"itemId": h.ID, "token": l.Claimed(bob, 1)[0].Token}},
		"a token of white space": {ada, h.Input(apitest.Vars{"token": h.Token + " "})},
	} {
		a := try.who.Mutate("extendClaim", "item { id } problem { __typename ... on LeaseLost { message current { id claim { token } } typed { categoryId } } }", try.in)
		require.Empty(t, a.Errors, "%s: %s", reason, a.Body)
		assert.Equal(t, "LeaseLost", a.Str("result.problem.__typename"), reason)
		assert.Nil(t, a.At("result.item"), reason)
		assert.Nil(t, a.At("result.problem.typed"), "it was no finish")
		assert.Equal(t, try.in["itemId"], a.Str("result.problem.current.id"), reason)
		if try.who == bob && try.in["itemId"] == h.ID {
			assert.Nil(t, a.At("result.problem.current.claim.token"), reason)
		}
	}
	l.Counts("0 2 0 0")
}

// other returns an item of the project that is not the given one.
func other(l apitest.Crew, id string) string {
	for _, item := range l.Items {
		if item != id {
			return item
		}
	}
	return ""
}

func TestWhatIsGivenBackGoesToWhoeverAsksNext(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(1, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	h := l.Claimed(ada, 1)[0]
	assert.Empty(t, l.ClaimedUpTo(bob, 1))
	a := ada.Mutate("releaseProjectItem", "item { id status claim { since } } problem { __typename }", h.Input())
	assert.Equal(t, `{"result":{"item":{"id":"`+h.ID+`","status":"NEW","claim":null},"problem":null}}`, a.Raw())
	l.Counts("1 0 0 0")
	again := l.Claimed(ada, 1)[0]
	assert.Equal(t, h.ID, again.ID, "also to who gave it back")
	assert.NotEqual(t, h.Token, again.Token)
	a = ada.Mutate("releaseProjectItem", "item { id } problem { __typename ... on LeaseLost { current { claim { token } } typed { categoryId } } }", h.Input())
	assert.Equal(t, `{"result":{"item":null,"problem":{"__typename":"LeaseLost","current":{"claim":{"token":"`+again.Token+`"}},"typed":null}}}`, a.Raw(), "by the token of a claim that has ended")
	l.Counts("0 1 0 0")

	l.Expires(h.ID)
	l.Counts("1 0 0 0")
	assert.Equal(t, h.ID, l.Claimed(bob, 1)[0].ID, "what somebody had for too long goes to others")
	assert.Empty(t, ada.Must(`query($p: ID!) { project(id: $p) { viewerClaims { id } } }`, apitest.Vars{"p": l.ID}).List("project.viewerClaims"))
}

func TestSkippedItems(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(1, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	skips := func(who *apitest.Client, h apitest.Held, reason, status string, change ...apitest.Vars) {
		t.Helper()
		a := who.Mutate("skipProjectItem", "item { id status claim { token } } problem { __typename }", h.Input(append(change, apitest.Vars{"reason": reason})...))
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, `{"result":{"item":{"id":"`+h.ID+`","status":"`+status+`","claim":null},"problem":null}}`, a.Raw())
	}

	h := l.Claimed(ada, 1)[0]
	skips(ada, h, "TO_ME_LATER", "NEW", apitest.Vars{"minutes": 10_080})
	l.Counts("1 0 0 0")
	assert.Empty(t, l.ClaimedUpTo(ada, 1), "not yet")
	l.ComesDue(ada)
	h = l.Claimed(ada, 1)[0]

	skips(ada, h, "TO_ME_LATER", "NEW")
	l.Counts("1 0 0 0")
	h = l.Claimed(bob, 1)[0] // others may take it meanwhile
	l.ComesDue(ada)
	assert.Empty(t, l.ClaimedUpTo(ada, 1), "then it does not come again")

	skips(bob, h, "TO_OTHERS", "NEW")
	l.Counts("1 0 0 0")
	assert.Empty(t, l.ClaimedUpTo(bob, 1))
	h = l.Claimed(ada, 1)[0]
	a := bob.Mutate("skipProjectItem", "item { id } problem { __typename ... on LeaseLost { current { claim { token } } typed { categoryId } } }", h.Input(apitest.Vars{"reason": "FOR_NOBODY"}))
	assert.Equal(t, `{"result":{"item":null,"problem":{"__typename":"LeaseLost","current":{"claim":{"token":null}},"typed":null}}}`, a.Raw())

	skips(ada, h, "FOR_NOBODY", "SKIPPED")
	l.Counts("0 0 0 1")
	for _, who := range l.Labellers {
		assert.Empty(t, l.ClaimedUpTo(who, 1))
	}
	assert.Equal(t, []any{map[string]any{"id": h.ID}}, l.Must(`query($p: ID!) { project(id: $p) { items(status: SKIPPED) { nodes { id } } } }`, apitest.Vars{"p": l.ID}).List("project.items.nodes"))
}

func TestAClaimWithAKeyIsMadeOnce(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(20, 0)
	ada := l.Labellers[0]
	in := apitest.Vars{"in": apitest.Vars{"projectId": l.ID, "count": 5, "idempotencyKey": "k"}}
	answers := make([]*apitest.Answer, 10)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() { answers[i] = ada.Must(apitest.ClaimItems, in) })
	}
	group.Wait()
	all := apitest.HeldOf(ada.Must(apitest.ClaimItems, in), "claimProjectItems.items")
	assert.Len(t, all, 5)
	for _, a := range answers {
		for _, h := range apitest.HeldOf(a, "claimProjectItems.items") { // of those that are under way some may not be known yet
			assert.Contains(t, all, h)
		}
	}
	l.Counts("15 5 0 0")
	l.Finished(ada, all[1])
	assert.ElementsMatch(t, append(all[:1:1], all[2:]...), apitest.HeldOf(ada.Must(apitest.ClaimItems, in), "claimProjectItems.items"), "what is left of the same claims")
	l.Labellers[1].Must(apitest.ClaimItems, in)
	l.BecomesSo(l.Client, `queue { counts { claimed } }`, func(p *apitest.Answer) bool { return p.At("queue.counts.claimed") == 10.0 })
}
