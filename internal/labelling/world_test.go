package labelling_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/viewer"
)

// post is a queue whose messages wait until they are delivered by hand.
type post struct {
	*queue.Queue
	mu    sync.Mutex
	mail  []labelling.Message
	fails func(what string) error
}

func (q *post) fail(what string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fails == nil {
		return nil
	}
	return q.fails(what)
}

func (q *post) Publish(_ context.Context, m labelling.Message) error {
	if err := q.fail("Publish"); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mail = append(q.mail, m)
	return nil
}

func (q *post) Read(ctx context.Context, p project.ID, after labelling.Cursor, limit int, wait time.Duration) ([]labelling.Event, error) {
	if err := q.fail("Read"); err != nil {
		return nil, err
	}
	return q.Queue.Read(ctx, p, after, limit, wait)
}

func (q *post) Apply(ctx context.Context, t labelling.Transition) (bool, error) {
	if err := q.fail("Apply"); err != nil {
		return false, err
	}
	return q.Queue.Apply(ctx, t)
}

func (q *post) Pause(ctx context.Context, p project.ID, u labelling.UserID) (bool, error) {
	if err := q.fail("Pause"); err != nil {
		return false, err
	}
	return q.Queue.Pause(ctx, p, u)
}

// world is one project with members, in a database of its own of a Redis.
type world struct {
	t        *testing.T
	truth    *truth
	queue    *post
	client   *redis.Client
	options  labelling.Options
	service  *labelling.Service
	populate *labelling.Populate
	rebuild  *labelling.Rebuilder
	reaper   *labelling.Reaper
	consumer *labelling.Consumer
	relay    *labelling.Relay
	project  project.ID

	clock sync.Mutex
	ahead time.Duration // of the servers' clocks
}

const (
	ada   = project.UserID("ada")   // labels
	grace = project.UserID("grace") // labels
	rev   = project.UserID("rev")   // reviews
	boss  = project.UserID("boss")  // manages
	bird  = "bird"
	owl   = "owl"
)

func newWorld(t *testing.T, items int, o queue.Options) *world {
	t.Helper()
	return newWorldAt(t, embeddedtest.RedisDatabase(t).URL, items, o)
}

// newWorldAt is the same on the Redis at the address.
func newWorldAt(t *testing.T, url string, items int, o queue.Options) *world {
	t.Helper()
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	options.PoolSize = 100
	w := &world{t: t, truth: newTruth(), client: redis.NewClient(options), project: project.ID(uuid.NewString())}
	t.Cleanup(func() { assert.NoError(t, w.client.Close()) })
	if items > 1000 {
		w.truth.pageSize = items // this is not about scans
	}
	w.queue = &post{Queue: queue.New(w.client, o)}
	w.options = labelling.Options{Truth: w.truth, Coordinator: w.queue, Now: w.now, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)}
	w.serve()

	long := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	w.truth.projects[w.project] = project.Project{ID: w.project, Name: "Birds", Version: 1, UpdatedAt: long}
	for i, kind := range []project.TeamType{project.Taggie, project.Reviewer, project.Manager} {
		w.truth.teams = append(w.truth.teams, project.Team{TeamID: project.TeamID{Project: w.project, ID: "t" + strconv.Itoa(i)}, Type: kind})
	}
	for user, team := range map[project.UserID]int{ada: 0, grace: 0, rev: 1, boss: 2} {
		w.join(user, team)
	}
	w.truth.labels = []project.Label{
		{LabelID: project.LabelID{Project: w.project, Kind: project.Category, ID: bird}, Name: "Bird"},
		{LabelID: project.LabelID{Project: w.project, Kind: project.Subcategory, ID: owl}, Name: "Owl"},
	}
	for i := range items {
		id := project.ItemIDOf(w.project, strconv.Itoa(i))
		w.truth.items[id.ID] = project.Item{ItemID: id, Status: project.New, Seq: fmt.Sprintf("%08d", i), Version: 1, CreatedAt: long, UpdatedAt: long}
	}
	w.rebuilt()
	return w
}

// serve starts a server anew: what it remembers is gone.
func (w *world) serve() {
	w.rebuild = labelling.NewRebuilder(w.options, time.Millisecond)
	w.populate = labelling.NewPopulate(w.options, w.rebuild)
	w.service = labelling.NewService(w.options, w.populate, w.rebuild)
	w.reaper = labelling.NewReaper(w.options, w.rebuild)
	w.consumer = labelling.NewConsumer(w.options, w.rebuild, "c")
	w.relay = labelling.NewRelay(w.options)
}

func (w *world) join(user project.UserID, team int) {
	t := w.truth.teams[team]
	w.truth.members[user] = project.Member{Project: w.project, User: user, Team: t.ID, Type: t.Type}
}

func (w *world) now() time.Time {
	w.clock.Lock()
	defer w.clock.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) later(d time.Duration) {
	w.clock.Lock()
	defer w.clock.Unlock()
	w.ahead += d
}

// rebuilt rebuilds the queue and fills it.
func (w *world) rebuilt() {
	w.t.Helper()
	done, err := w.rebuild.Rebuild(w.t.Context(), w.project, true)
	require.NoError(w.t, err)
	require.True(w.t, done)
	_, err = w.populate.Refill(w.t.Context(), w.project)
	require.NoError(w.t, err)
}

func (w *world) flush() {
	w.t.Helper()
	require.NoError(w.t, w.client.FlushDB(w.t.Context()).Err())
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	w.queue.mail = nil // the streams are gone with the rest
}

func (w *world) as(u project.UserID) context.Context {
	return viewer.With(w.t.Context(), viewer.Viewer{UserID: u, Identity: viewer.Identity{Subject: string(u)}})
}

func (w *world) shown(u project.UserID) project.Project {
	w.t.Helper()
	p, errs := w.truth.ProjectsByID(w.t.Context(), u, []project.ID{w.project})
	require.NoError(w.t, errs[0])
	return p[0]
}

// resize gives the queue another size, as a manager does.
func (w *world) resize(size int) {
	w.t.Helper()
	before := w.shown(boss)
	after := before
	after.QueueSize = size
	after.Version++
	require.NoError(w.t, w.truth.UpdateProject(w.t.Context(), before, after, idempotency.Key{}))
	w.service.Changed(w.as(boss), after)
}

func (w *world) claim(u project.UserID, n int) []project.Item {
	w.t.Helper()
	items, err := w.service.Claim(w.as(u), labelling.ClaimItems{Project: w.project, Count: n})
	require.NoError(w.t, err)
	return items
}

func (w *world) finishing(i project.Item) labelling.Finish {
	return labelling.Finish{
		Item: i.ItemID, Token: i.Claim.Token, Category: w.truth.labels[0].LabelID, Subcategory: &w.truth.labels[1].LabelID, Keywords: []string{"wing", "Wing", "beak"},
	}
}

func (w *world) finish(i project.Item) project.FinishedItem {
	w.t.Helper()
	done, err := w.service.Finish(w.as(i.Claim.User), w.finishing(i))
	require.NoError(w.t, err)
	return done
}

// deliver has all messages handled.
func (w *world) deliver() {
	w.t.Helper()
	w.queue.mu.Lock()
	mail := w.queue.mail
	w.queue.mail = nil
	w.queue.mu.Unlock()
	for _, m := range mail {
		require.NoError(w.t, w.consumer.Handle(w.t.Context(), m))
	}
}

// relayed has everything handled that is still in the outbox.
func (w *world) relayed() {
	w.t.Helper()
	w.later(time.Minute)
	require.NoError(w.t, labelling.NewRelay(w.options).Run(w.t.Context()))
	w.deliver()
	assert.Empty(w.t, w.truth.outbox)
}

func (w *world) state() labelling.State {
	w.t.Helper()
	s, err := w.queue.State(w.t.Context(), w.project)
	require.NoError(w.t, err)
	c := s.Counts
	require.Equal(w.t, c.Total, c.New+c.Claimed+c.Finished+c.Skipped, "the counts add up: %+v", c)
	return s
}

// exact checks that the queue is what follows from the truth.
func (w *world) exact() {
	w.t.Helper()
	w.truth.mu.Lock()
	want := labelling.Counts{}
	claims := map[string]string{}
	for _, i := range w.truth.items {
		if !i.Status.Hidden() {
			want.Total++
		}
		switch i.Status {
		case project.New:
			want.New++
		case project.Claimed:
			want.Claimed++
			claims[i.ID] = i.Claim.Token
		case project.Finished:
			want.Finished++
		case project.Skipped:
			want.Skipped++
		}
	}
	type who struct {
		team string
		user project.UserID
	}
	stats, used := map[who]labelling.UserStatistics{}, map[string]int{}
	toReview := map[project.UserID]map[string]int{"": {}} // by author, or of all, and category
	for _, e := range w.truth.efforts {
		if !e.Counts() {
			continue
		}
		u := stats[who{e.Team, e.User}]
		u.User = e.User
		u.Finished++
		if e.Review.Verdict == project.Incorrect {
			u.Incorrect++
		}
		stats[who{e.Team, e.User}] = u
		for _, word := range e.Keywords {
			used[word]++
		}
		if e.AwaitsReview() {
			if toReview[e.User] == nil {
				toReview[e.User] = map[string]int{}
			}
			for _, of := range []project.UserID{"", e.User} {
				toReview[of][""]++
				toReview[of][e.Category]++
			}
		}
	}
	categories := []string{""}
	for _, l := range w.truth.labels {
		categories = append(categories, l.ID)
	}
	w.truth.mu.Unlock()

	state := w.state()
	assert.Equal(w.t, want, state.Counts)
	assert.Equal(w.t, toReview[""][""], state.ToReview, "to review")
	for _, author := range []project.UserID{"", ada, grace, rev, boss} {
		for _, category := range categories {
			n, own, err := w.queue.ToReview(w.t.Context(), w.project, author, category, ada)
			require.NoError(w.t, err)
			assert.Equal(w.t, toReview[author][category], n, "to review of %q and %q", author, category)
			if author == "" || author == ada {
				assert.Equal(w.t, toReview[ada][category], own, "to review of ada and %q", category)
			}
		}
	}
	have := map[string]string{}
	for user := range w.truth.members {
		got, err := w.queue.Claims(w.t.Context(), w.project, user)
		require.NoError(w.t, err)
		for _, c := range got {
			have[c.Item.ID] = c.Token
		}
	}
	assert.Equal(w.t, claims, have, "claims")
	teams := []string{"t0", "t1", "t2"}
	all, err := w.queue.StatisticsOf(w.t.Context(), w.project, teams)
	require.NoError(w.t, err)
	for n, s := range all {
		assert.Equal(w.t, w.truth.teams[n].Type, s.Type)
		var users []labelling.UserStatistics
		finished, incorrect := 0, 0
		for k, u := range stats {
			if k.team == teams[n] {
				users = append(users, u)
				finished, incorrect = finished+u.Finished, incorrect+u.Incorrect
			}
		}
		slices.SortFunc(users, func(a, b labelling.UserStatistics) int { return cmp.Compare(a.User, b.User) })
		got := slices.DeleteFunc(s.Users, func(u labelling.UserStatistics) bool { return u.Finished == 0 && u.Incorrect == 0 })
		assert.ElementsMatch(w.t, users, got, "statistics of %s", s.Team)
		assert.Equal(w.t, []int{finished, incorrect}, []int{s.Finished, s.Incorrect}, "statistics of team %s", s.Team)
	}
	top, err := w.queue.Top(w.t.Context(), w.project, labelling.Keywords)
	require.NoError(w.t, err)
	counted := map[string]int{}
	for _, u := range top {
		counted[u.Value] = u.Count
	}
	assert.Equal(w.t, used, counted, "keywords")
}

func body(t *testing.T, m labelling.Message) labelling.Transition {
	t.Helper()
	var tr labelling.Transition
	require.NoError(t, json.Unmarshal(m.Body, &tr))
	return tr
}

// waiting returns the ids in the queue.
func (w *world) waiting() []string {
	w.t.Helper()
	ids, err := w.client.LRange(w.t.Context(), "taggie:project:queue:{"+string(w.project)+"}", 0, -1).Result()
	require.NoError(w.t, err)
	return ids
}

// expire has the reaper run when all leases are over.
func (w *world) expire() {
	w.t.Helper()
	w.later(labelling.Lease + time.Minute)
	require.NoError(w.t, w.reaper.Reap(w.t.Context(), w.project, w.now()))
}

// claimOne has a user take the item that another one has.
func (w *world) claimOne(u project.UserID, i project.Item) project.Item {
	w.t.Helper()
	_, err := w.service.Release(w.as(i.Claim.User), labelling.Held{Item: i.ItemID, Token: i.Claim.Token})
	require.NoError(w.t, err)
	w.deliver()
	got := w.claim(u, 1)
	require.Len(w.t, got, 1)
	require.Equal(w.t, i.ID, got[0].ID)
	return got[0]
}
