package queue

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// TestQueue runs the conformance suite on every engine.
func TestQueue(t *testing.T) {
	t.Parallel()
	for _, engine := range []struct {
		name  string
		start func(*testing.T) redis.UniversalClient
	}{{"embedded", embeddedClient}, {"redis-server", serverClient}, {"cluster", clusterClient}} {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			client := engine.start(t)
			for _, test := range suite {
				t.Run(test.name, func(t *testing.T) { test.run(t, newFixture(t, client)) })
			}
		})
	}
}

var suite = []struct {
	name string
	run  func(*testing.T, *fixture)
}{
	{"reserve", testReserve},
	{"reserve the same twice", testReserveTwice},
	{"reserve in order", testReserveInOrder},
	{"reserve what is not for everybody", testSkipped},
	{"reserve refuses", testReserveRefuses},
	{"reserve at once", testReserveAtOnce},
	{"cancel", testCancel},
	{"extend", testExtend},
	{"expired", testExpired},
	{"fill", testFill},
	{"fill at once", testFillAtOnce},
	{"size", testSize},
	{"full", testFull},
	{"settings and words", testSettingsAndWords},
	{"fill what is counted", testFillWhatIsCounted},
	{"imports", testImports},
	{"imports at once", testImportsAtOnce},
	{"apply each cause", testApply},
	{"apply without acknowledgement", testLostAcknowledgement},
	{"apply in any order", testAnyOrder},
	{"apply in turn", testInTurn},
	{"apply forgets", testForgets},
	{"apply, clocks that differ", testClocksThatDiffer},
	{"removed and restored", testRemoved},
	{"removed in steps", testRemovedInSteps},
	{"statistics", testStatistics},
	{"efforts to review", testToReview},
	{"efforts to review are leased", testLeasedReviews},
	{"counts add up", testCountsAddUp},
	{"pause", testPause},
	{"events", testEvents},
	{"events arrive", testEventsArrive},
	{"events have gaps", testGaps},
	{"streams of notes", testStreams},
	{"stream of a score", testStreamOfAScore},
	{"streams are trimmed", testStreamsAreTrimmed},
	{"snapshot", testSnapshot},
	{"presence", testPresence},
	{"messages", testMessages},
	{"messages are sent once", testMessagesAreSentOnce},
	{"how long messages wait", testHowLongMessagesWait},
	{"messages fail", testMessagesFail},
	{"messages are taken over", testMessagesAreTakenOver},
	{"messages in order", testMessagesInOrder},
	{"streams of the killed", testStreamsOfTheKilled},
	{"messages wait for the one before", testMessagesWaitForTheOneBefore},
	{"messages taken too late", testMessagesTakenTooLate},
	{"one message asks", testOneMessageAsks},
	{"who ends wants nothing", testWhoEndsWantsNothing},
	{"messages after a flush", testMessagesAfterAFlush},
	{"rebuild", testRebuild},
	{"rebuild once", testRebuildOnce},
	{"rebuild while transitions come", testRebuildWhileTransitionsCome},
	{"how far a rebuild is", testProgress},
	{"not ready", testNotReady},
	{"flushed at any moment", testFlushed},
	{"each key is missed", testEachKeyIsMissed},
	{"forget", testForget},
	{"a user is erased", testErased},
	{"a user is erased without a queue", testErasedWithoutAQueue},
	{"a user is erased among many", testErasedAmongMany},
	{"a user is erased from streams of notes", testErasedFromStreams},
	{"several in one Redis", testSeveralInOneRedis},
	{"a position that is gone", testAPositionThatIsGone},
	{"an event that was told is gone", testAnEventThatWasToldIsGone},
}

// fixture is a queue in an empty Redis, with a project that is ready and has no items.
type fixture struct {
	*Queue
	client  redis.UniversalClient
	project project.ID
	serial  *atomic.Int64
}

func newFixture(t *testing.T, client redis.UniversalClient) *fixture {
	t.Helper()
	f := &fixture{Queue: New(client, Options{}), client: client, project: project.ID(uuid.NewString()), serial: new(atomic.Int64)}
	f.flush(t)
	f.ready(t)
	return f
}

// with returns the fixture with another queue.
func (f *fixture) with(o Options) *fixture {
	return &fixture{Queue: New(f.client, o), client: f.client, project: f.project, serial: f.serial}
}

func (f *fixture) flush(t *testing.T) {
	t.Helper()
	if cluster, ok := f.client.(*redis.ClusterClient); ok {
		require.NoError(t, cluster.ForEachMaster(t.Context(), func(ctx context.Context, c *redis.Client) error { return c.FlushAll(ctx).Err() }))
		return
	}
	require.NoError(t, f.client.FlushAll(t.Context()).Err())
}

// ready rebuilds the project from parts.
func (f *fixture) ready(t *testing.T, parts ...labelling.Part) {
	t.Helper()
	token := uuid.NewString()
	began, err := f.Begin(t.Context(), f.project, token, true)
	require.NoError(t, err)
	require.True(t, began)
	for i, part := range parts {
		part.Number = i
		require.NoError(t, f.Load(t.Context(), f.project, token, part))
	}
	require.NoError(t, f.Commit(t.Context(), f.project, token, labelling.Settings{Name: "Birds"}))
}

// items imports n items, fills the queue with them and returns their ids: i0, i1 …
func (f *fixture) items(t *testing.T, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "i" + strconv.Itoa(i)
	}
	f.count(t, n)
	added, _, err := f.Fill(t.Context(), f.project, ids, project.MaxQueueSize)
	require.NoError(t, err)
	require.Equal(t, n, added)
	return ids
}

// count counts n items as imported.
func (f *fixture) count(t *testing.T, n int) {
	t.Helper()
	added, err := f.AddItems(t.Context(), f.project, uuid.NewString(), n, "boss")
	require.NoError(t, err)
	require.Equal(t, n > 0, added)
}

func (f *fixture) id() string { return fmt.Sprintf("n%d", f.serial.Add(1)) }

// reserve reserves n items.
func (f *fixture) reserve(t *testing.T, u labelling.UserID, n int) []labelling.Claim {
	t.Helper()
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = f.id()
	}
	claims, err := f.Reserve(t.Context(), f.project, u, tokens)
	require.NoError(t, err)
	return claims
}

// claim reserves n items and acknowledges the claims.
func (f *fixture) claim(t *testing.T, u labelling.UserID, n int) []labelling.Claim {
	t.Helper()
	claims := f.reserve(t, u, n)
	require.Len(t, claims, n)
	for i := range claims {
		claims[i].Until = claims[i].Since.Add(labelling.Lease)
		f.must(t, f.claimed(claims[i]))
	}
	return claims
}

func (f *fixture) claimed(c labelling.Claim) labelling.Transition {
	return labelling.Transition{
		ID: c.Token, Cause: labelling.Claimed, Project: f.project, Item: c.Item.ID, Status: project.Claimed, User: c.User, Team: "t1",
		Token: c.Token, At: c.Since, Until: c.Until,
	}
}

// ended is a transition that ends a claim.
func (f *fixture) ended(c labelling.Claim, cause labelling.Cause, status project.Status) labelling.Transition {
	return labelling.Transition{
		ID: f.id(), Cause: cause, Project: f.project, Item: c.Item.ID, Status: status, User: c.User, Team: "t1",
		Token: c.Token, At: c.Since.Add(time.Minute),
	}
}

// after is a transition of an item that is in nobody's hands.
func (f *fixture) after(item string, cause labelling.Cause, u labelling.UserID) labelling.Transition {
	t := labelling.Transition{ID: f.id(), Cause: cause, Project: f.project, Item: item, Status: project.New, User: u, Team: "t1", At: time.UnixMilli(1e12)}
	if cause == labelling.Reviewed {
		t.User, t.Author, t.AuthorTeam, t.Incorrect, t.Team = "boss", u, "t1", true, "t2"
	}
	return t
}

// must applies a transition for the first time.
func (f *fixture) must(t *testing.T, tr labelling.Transition) {
	t.Helper()
	applied, err := f.Apply(t.Context(), tr)
	require.NoError(t, err)
	require.True(t, applied, "%s of %s is new", tr.Cause, tr.Item)
}

func (f *fixture) state(t *testing.T) labelling.State {
	t.Helper()
	s, err := f.State(t.Context(), f.project)
	require.NoError(t, err)
	c := s.Counts
	assert.Equal(t, c.Total, c.New+c.Claimed+c.Finished+c.Skipped, "the counts add up: %+v", c)
	return s
}

// waiting returns the queue, and checks that its set agrees.
func (f *fixture) waiting(t *testing.T) []string {
	t.Helper()
	k := f.keysOf(f.project)
	ids, err := f.client.LRange(t.Context(), k.queue(), 0, -1).Result()
	require.NoError(t, err)
	set, err := f.client.SMembers(t.Context(), k.queued()).Result()
	require.NoError(t, err)
	assert.ElementsMatch(t, ids, set, "the set of ids that wait")
	return ids
}

func names(claims []labelling.Claim) []string {
	var ids []string
	for _, c := range claims {
		ids = append(ids, c.Item.ID)
	}
	return ids
}

func embeddedClient(t *testing.T) redis.UniversalClient {
	t.Helper()
	// One of its own: the suite flushes it.
	engines, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), Redis: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, engines.Stop(ctx))
	})
	return clientOf(t, engines.Redis.URL)
}

func serverClient(t *testing.T) redis.UniversalClient {
	t.Helper()
	return clientOf(t, embeddedtest.RealRedis(t).URL)
}

func clientOf(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	options.PoolSize = 100
	client := redis.NewClient(options)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

// keysIn returns all keys in Redis.
func keysIn(t *testing.T, client redis.UniversalClient) []string {
	t.Helper()
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		all, err := client.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		return all
	}
	var mu sync.Mutex
	var all []string
	require.NoError(t, cluster.ForEachMaster(t.Context(), func(ctx context.Context, c *redis.Client) error {
		some, err := c.Keys(ctx, "*").Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, some...)
		return err
	}))
	return all
}
