package apitest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Works has the server do what it does for queues in the background until the test ends, or what is returned is called.
func (s *Server) Works() (rests func()) {
	ctx, cancel := context.WithCancel(s.T.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.App.Labelling.Run(ctx, s.App.Log) }()
	rests = func() { cancel(); <-done }
	s.T.Cleanup(rests)
	return rests
}

// Held is an item that somebody has.
type Held struct{ ID, Token string }

// ClaimItems claims items of a project.
const ClaimItems = `mutation($in: ClaimProjectItemsInput!) { claimProjectItems(input: $in) { items { id claim { token } } problem { __typename } } }`

// Claimed has the user claim n items, of which there have to be as many.
func (l Crew) Claimed(who *Client, n int) []Held {
	l.T.Helper()
	all := l.ClaimedUpTo(who, n)
	require.Len(l.T, all, n)
	return all
}

// ClaimedUpTo has the user claim n items, or as many as there are.
func (l Crew) ClaimedUpTo(who *Client, n int) []Held {
	l.T.Helper()
	a := who.Must(ClaimItems, Vars{"in": Vars{"projectId": l.ID, "count": n}})
	require.Nil(l.T, a.At("claimProjectItems.problem"), "%s", a.Body)
	return HeldOf(a, "claimProjectItems.items")
}

// ClaimedAs claims the item with this external id, and gives back what comes along with it.
func (l Crew) ClaimedAs(externalID string) (found Held) {
	l.T.Helper()
	id := l.Must(`query($p: ID!, $e: String!) { project(id: $p) { itemByExternalId(externalId: $e) { id } } }`, Vars{"p": l.ID, "e": externalID}).Str("project.itemByExternalId.id")
	for _, h := range l.ClaimedUpTo(l.Client, 50) {
		if h.ID == id {
			found = h
			continue
		}
		l.Mutate("releaseProjectItem", "item { id }", h.Input())
	}
	require.NotEmpty(l.T, found, "it does not wait")
	return found
}

// HeldOf returns what a list of items with their claims says that the user has.
func HeldOf(a *Answer, path string) []Held {
	a.T.Helper()
	var all []Held
	for _, item := range a.List(path) {
		i := &Answer{T: a.T, Body: a.Body, Data: item.(map[string]any)}
		all = append(all, Held{i.Str("id"), i.Str("claim.token")})
	}
	return all
}

// Input is that of a mutation about a claimed item, with what is different.
func (h Held) Input(change ...Vars) Vars {
	in := Vars{"itemId": h.ID, "token": h.Token}
	for _, c := range change {
		maps.Copy(in, c)
	}
	return in
}

// Finishing is the input of a finish, as Duck unless something else is said.
func (l Crew) Finishing(h Held, change ...Vars) Vars {
	return h.Input(append([]Vars{{"categoryId": l.Categories[0]}}, change...)...)
}

// Finished has the user finish an item, and returns the id of the effort.
func (l Crew) Finished(who *Client, h Held, change ...Vars) string {
	l.T.Helper()
	a := who.Mutate("finishProjectItem", "effort { id } problem { __typename }", l.Finishing(h, change...))
	require.Empty(l.T, a.Errors, "%s", a.Body)
	return a.Str("result.effort.id")
}

// BecomesSo waits until what is asked of the project is as it should be: what follows a change comes a moment later, and a rebuild may
// take longer than the mutation that began it.
func (l Crew) BecomesSo(who *Client, fields string, so func(p *Answer) bool) *Answer {
	l.T.Helper()
	var p *Answer
	require.Eventually(l.T, func() bool {
		a := who.Do(`query($p: ID!) { project(id: $p) { `+fields+` } }`, Vars{"p": l.ID})
		p = a
		if len(a.Errors) == 1 && a.Errors[0].Message == labelling.ErrNotReady.Message {
			return false
		}
		if !assert.Empty(l.T, a.Errors, "%s", a.Body) {
			return true
		}
		p = &Answer{T: l.T, Body: a.Body, Data: a.At("project").(map[string]any)}
		return so(p)
	}, Patience, 20*time.Millisecond, "it does not become so: %v", &lastly{&p})
	require.Empty(l.T, p.Errors)
	return p
}

// lastly spells an answer when it is asked to, not before.
type lastly struct{ of **Answer }

func (l *lastly) String() string {
	if *l.of == nil {
		return "nothing"
	}
	return (*l.of).Body
}

// Counts waits until so many items of the project are new, claimed, finished and skipped.
func (l Crew) Counts(want string) {
	l.T.Helper()
	l.BecomesSo(l.Client, `queue { counts { total new claimed finished skipped remaining } }`, func(p *Answer) bool { return CountsOf(p, "queue.counts") == want })
}

// CountsOf spells counts: "new claimed finished skipped", after it has checked that they add up.
func CountsOf(a *Answer, path string) string {
	a.T.Helper()
	n := func(name string) int { return int(a.At(path + "." + name).(float64)) }
	require.Equal(a.T, n("total"), n("new")+n("claimed")+n("finished")+n("skipped"), "%s", a.Body)
	require.Equal(a.T, n("remaining"), n("new")+n("claimed"), "%s", a.Body)
	return fmt.Sprint(n("new"), n("claimed"), n("finished"), n("skipped"))
}

// Puts adds a user to a new team of the type.
func (l Crew) Puts(who *Client, typ string) (team string) {
	l.T.Helper()
	team = l.Must(`mutation($p: ID!, $n: String!, $t: TeamType!) { createTeam(input: {projectId: $p, name: $n, type: $t}) { team { id } } }`,
		Vars{"p": l.ID, "n": "Team of " + who.ID, "t": typ}).Str("createTeam.team.id")
	l.Must(`mutation($t: ID!, $u: ID!) { putProjectMember(input: {teamId: $t, userId: $u}) { member { type } } }`, Vars{"t": team, "u": who.ID})
	return team
}

// Reviewer is a new user who is in a team of reviewers.
func (l Crew) Reviewer() *Client {
	l.T.Helper()
	who := l.User("reviewer@example.com")
	l.Puts(who, "REVIEWER")
	return who
}

// Key is what names the project in the stores.
func (l Crew) Key() project.ID {
	l.T.Helper()
	return project.ID(GlobalKey(l.T, l.ID)[1])
}

// ItemKey is what names an item in the stores.
func ItemKey(t *testing.T, id string) project.ItemID {
	t.Helper()
	key := GlobalKey(t, id)
	return project.ItemID{Project: project.ID(key[1]), ID: key[2]}
}

// Rewrites changes an item and one of its efforts where they are stored, as if time had passed.
func (l Crew) Rewrites(item string, change func(i *project.Item, efforts []project.Effort) *project.Effort) {
	l.T.Helper()
	truth := truth.Store{Store: projects.Store{DB: l.DB}}
	before, efforts, err := truth.ItemWithEfforts(l.T.Context(), ItemKey(l.T, item))
	require.NoError(l.T, err)
	after, known := before, slices.Clone(efforts)
	after.Version++
	m := labelling.Move{Before: before, Effort: change(&after, efforts)}
	m.After = after
	for n := range known {
		if m.Effort != nil && known[n].ID == m.Effort.ID {
			m.Known = &known[n]
		}
	}
	require.NoError(l.T, truth.MoveItem(l.T.Context(), m, idempotency.Key{}))
}

// Expires has the claim of an item end, as if its time were over: the reaper takes it back at once.
func (l Crew) Expires(item string) {
	l.T.Helper()
	l.Rewrites(item, func(i *project.Item, _ []project.Effort) *project.Effort {
		i.Claim.Until = time.Now().Add(-time.Second)
		i.UpdatedAt = time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
		return nil
	})
	require.NoError(l.T, labelling.NewReaper(l.App.Labelling.Reaper.Options, l.App.Labelling.Rebuild).Reap(l.T.Context(), l.Key(), time.Now()))
}

// ComesDue makes the time come for which the user has put items off.
func (l Crew) ComesDue(who *Client) {
	l.T.Helper()
	key := "taggie:user:later:{" + string(l.Key()) + "}:" + GlobalKey(l.T, who.ID)[1]
	redisClient := l.App.Stores.Redis
	items, err := redisClient.ZRange(l.T.Context(), key, 0, -1).Result()
	require.NoError(l.T, err)
	require.NotEmpty(l.T, items)
	for _, item := range items {
		require.NoError(l.T, redisClient.ZAdd(l.T.Context(), key, redis.Z{Score: 1, Member: item}).Err())
	}
}

// Words joins a list of texts.
func Words(list []any) string {
	all := make([]string, len(list))
	for i, one := range list {
		all[i] = fmt.Sprint(one)
	}
	return strings.Join(all, " ")
}

// NearlyOver is a change of an item whose claim ends soon.
func NearlyOver(i *project.Item, _ []project.Effort) *project.Effort {
	i.Claim.Until = time.Now().Add(time.Second).UTC().Truncate(time.Millisecond)
	return nil
}

// Aged is a change of an item of which an effort was made so long ago.
func Aged(effort string, ago time.Duration) func(*project.Item, []project.Effort) *project.Effort {
	return func(_ *project.Item, efforts []project.Effort) *project.Effort {
		for _, e := range efforts {
			if GIDOf("ProjectItemEffort", string(e.Project), e.ID) == effort {
				e.FinishedAt = time.Now().Add(-ago).UTC().Truncate(time.Millisecond)
				return &e
			}
		}
		return nil
	}
}

const (
	// Soon is how long after Redis has a new master work goes on at the latest.
	Soon = 5 * time.Second
	// Heard is how long after that everybody is told, also of what was on its way through the master that is gone.
	Heard = 10 * time.Second
)
