package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// works has the server do what it does for queues in the background until the test ends, or what is returned is called.
func (s *testServer) works() (rests func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.app.queues.run(ctx, s.app.log) }()
	rests = func() { cancel(); <-done }
	s.t.Cleanup(rests)
	return rests
}

// held is an item that somebody has.
type held struct{ id, token string }

const claimItems = `mutation($in: ClaimProjectItemsInput!) { claimProjectItems(input: $in) { items { id claim { token } } problem { __typename } } }`

// claimed has the user claim n items, of which there have to be as many.
func (l crew) claimed(who *client, n int) []held {
	l.t.Helper()
	all := l.claimedUpTo(who, n)
	require.Len(l.t, all, n)
	return all
}

// claimedUpTo has the user claim n items, or as many as there are.
func (l crew) claimedUpTo(who *client, n int) []held {
	l.t.Helper()
	a := who.must(claimItems, vars{"in": vars{"projectId": l.id, "count": n}})
	require.Nil(l.t, a.at("claimProjectItems.problem"), "%s", a.body)
	return heldOf(a, "claimProjectItems.items")
}

// claimedAs claims the item with this external id, and gives back what comes along with it.
func (l crew) claimedAs(externalID string) (found held) {
	l.t.Helper()
	id := l.must(`query($p: ID!, $e: String!) { project(id: $p) { itemByExternalId(externalId: $e) { id } } }`, vars{"p": l.id, "e": externalID}).str("project.itemByExternalId.id")
	for _, h := range l.claimedUpTo(l.client, 50) {
		if h.id == id {
			found = h
			continue
		}
		l.mutate("releaseProjectItem", "item { id }", h.input())
	}
	require.NotEmpty(l.t, found, "it does not wait")
	return found
}

// heldOf returns what a list of items with their claims says that the user has.
func heldOf(a *answer, path string) []held {
	a.t.Helper()
	var all []held
	for _, item := range a.list(path) {
		i := &answer{t: a.t, body: a.body, Data: item.(map[string]any)}
		all = append(all, held{i.str("id"), i.str("claim.token")})
	}
	return all
}

// input is that of a mutation about a claimed item, with what is different.
func (h held) input(change ...vars) vars {
	in := vars{"itemId": h.id, "token": h.token}
	for _, c := range change {
		maps.Copy(in, c)
	}
	return in
}

// finishing is the input of a finish, as Duck unless something else is said.
func (l crew) finishing(h held, change ...vars) vars {
	return h.input(append([]vars{{"categoryId": l.categories[0]}}, change...)...)
}

// finished has the user finish an item, and returns the id of the effort.
func (l crew) finished(who *client, h held, change ...vars) string {
	l.t.Helper()
	a := who.mutate("finishProjectItem", "effort { id } problem { __typename }", l.finishing(h, change...))
	require.Empty(l.t, a.Errors, "%s", a.body)
	return a.str("result.effort.id")
}

// becomesSo waits until what is asked of the project is as it should be: what follows a change comes a moment later.
func (l crew) becomesSo(who *client, fields string, so func(p *answer) bool) *answer {
	l.t.Helper()
	var p *answer
	require.Eventually(l.t, func() bool {
		a := who.must(`query($p: ID!) { project(id: $p) { `+fields+` } }`, vars{"p": l.id})
		p = &answer{t: l.t, body: a.body, Data: a.at("project").(map[string]any)}
		return so(p)
	}, patience, 20*time.Millisecond, "it does not become so: %v", &lastly{&p})
	return p
}

// lastly spells an answer when it is asked to, not before.
type lastly struct{ of **answer }

func (l *lastly) String() string {
	if *l.of == nil {
		return "nothing"
	}
	return (*l.of).body
}

// counts waits until so many items of the project are new, claimed, finished and skipped.
func (l crew) counts(want string) {
	l.t.Helper()
	l.becomesSo(l.client, `queue { counts { total new claimed finished skipped remaining } }`, func(p *answer) bool { return countsOf(p, "queue.counts") == want })
}

// countsOf spells counts: "new claimed finished skipped", after it has checked that they add up.
func countsOf(a *answer, path string) string {
	a.t.Helper()
	n := func(name string) int { return int(a.at(path + "." + name).(float64)) }
	require.Equal(a.t, n("total"), n("new")+n("claimed")+n("finished")+n("skipped"), "%s", a.body)
	require.Equal(a.t, n("remaining"), n("new")+n("claimed"), "%s", a.body)
	return fmt.Sprint(n("new"), n("claimed"), n("finished"), n("skipped"))
}

// puts adds a user to a new team of the type.
func (l crew) puts(who *client, typ string) (team string) {
	l.t.Helper()
	team = l.must(`mutation($p: ID!, $n: String!, $t: TeamType!) { createTeam(input: {projectId: $p, name: $n, type: $t}) { team { id } } }`,
		vars{"p": l.id, "n": "Team of " + who.id, "t": typ}).str("createTeam.team.id")
	l.must(`mutation($t: ID!, $u: ID!) { putProjectMember(input: {teamId: $t, userId: $u}) { member { type } } }`, vars{"t": team, "u": who.id})
	return team
}

// reviewer is a new user who is in a team of reviewers.
func (l crew) reviewer() *client {
	l.t.Helper()
	who := l.user("reviewer@example.com")
	l.puts(who, "REVIEWER")
	return who
}

// key is what names the project in the stores.
func (l crew) key() project.ID {
	l.t.Helper()
	return project.ID(globalKey(l.t, l.id)[1])
}

// itemKey is what names an item in the stores.
func itemKey(t *testing.T, id string) project.ItemID {
	t.Helper()
	key := globalKey(t, id)
	return project.ItemID{Project: project.ID(key[1]), ID: key[2]}
}

// rewrites changes an item and one of its efforts where they are stored, as if time had passed.
func (l crew) rewrites(item string, change func(i *project.Item, efforts []project.Effort) *project.Effort) {
	l.t.Helper()
	truth := dynamo.Labelling{Projects: dynamo.Projects{DB: l.db}}
	before, efforts, err := truth.ItemWithEfforts(l.t.Context(), itemKey(l.t, item))
	require.NoError(l.t, err)
	after := before
	after.Version++
	effort := change(&after, efforts)
	require.NoError(l.t, truth.MoveItem(l.t.Context(), labelling.Move{Before: before, After: after, Effort: effort, Changed: effort != nil}, idempotency.Key{}))
}

// expires has the claim of an item end, as if its time were over: the reaper takes it back at once.
func (l crew) expires(item string) {
	l.t.Helper()
	l.rewrites(item, func(i *project.Item, _ []project.Effort) *project.Effort {
		i.Claim.Until = time.Now().Add(-time.Second)
		i.UpdatedAt = time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
		return nil
	})
	require.NoError(l.t, labelling.NewReaper(l.app.queues.reaper.Options, l.app.queues.rebuild).Reap(l.t.Context(), l.key(), time.Now()))
}

// comesDue makes the time come for which the user has put items off.
func (l crew) comesDue(who *client) {
	l.t.Helper()
	key := "taggie:user:later:{" + string(l.key()) + "}:" + globalKey(l.t, who.id)[1]
	redisClient := l.app.stores.redis
	items, err := redisClient.ZRange(l.t.Context(), key, 0, -1).Result()
	require.NoError(l.t, err)
	require.NotEmpty(l.t, items)
	for _, item := range items {
		require.NoError(l.t, redisClient.ZAdd(l.t.Context(), key, redis.Z{Score: 1, Member: item}).Err())
	}
}

// words joins a list of texts.
func words(list []any) string {
	all := make([]string, len(list))
	for i, one := range list {
		all[i] = fmt.Sprint(one)
	}
	return strings.Join(all, " ")
}

// nearlyOver is a change of an item whose claim ends soon.
func nearlyOver(i *project.Item, _ []project.Effort) *project.Effort {
	i.Claim.Until = time.Now().Add(time.Second).UTC().Truncate(time.Millisecond)
	return nil
}
