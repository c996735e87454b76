package labelling_test

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// ownRedis is a Redis server that can be killed and started again on what it saved.
type ownRedis struct {
	t      *testing.T
	port   string
	dir    string
	server *exec.Cmd
	client *redis.Client
}

func newOwnRedis(t *testing.T, options ...string) *ownRedis {
	t.Helper()
	embeddedtest.RealRedis(t) // or the test is left out
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	r := &ownRedis{t: t, port: port, dir: t.TempDir(), client: redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})}
	t.Cleanup(func() { assert.NoError(t, r.client.Close()) })
	r.start(options...)
	t.Cleanup(r.kill)
	return r
}

func (r *ownRedis) url() string { return "redis://127.0.0.1:" + r.port }

func (r *ownRedis) start(options ...string) {
	r.t.Helper()
	args := append([]string{"--port", r.port, "--bind", "127.0.0.1", "--dir", r.dir, "--save", "", "--appendonly", "no"}, options...)
	r.server = exec.CommandContext(context.WithoutCancel(r.t.Context()), "redis-server", args...)
	require.NoError(r.t, r.server.Start())
	require.Eventually(r.t, func() bool { return r.client.Ping(r.t.Context()).Err() == nil }, 20*time.Second, 10*time.Millisecond)
}

func (r *ownRedis) kill() {
	_ = r.server.Process.Kill()
	_ = r.server.Wait()
}

func (r *ownRedis) save() {
	r.t.Helper()
	require.NoError(r.t, r.client.Save(r.t.Context()).Err())
}

// watching is a world whose server watches what Redis knows.
type watching struct {
	*world
	watch   *labelling.Watch
	compare *labelling.Comparison
}

func (w *world) watched() *watching {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	rebuild := w.rebuild // that of the server that runs now
	go func() { done <- rebuild.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); assert.NoError(w.t, <-done) })
	compare := labelling.NewComparison(w.options, w.rebuild, 0, nil)
	return &watching{world: w, compare: compare, watch: labelling.NewWatch(w.options, w.rebuild, compare)}
}

// turns has every turn end now.
func (w *watching) turns() {
	w.t.Helper()
	keys, err := w.client.Keys(w.t.Context(), "taggie:turn:*").Result()
	require.NoError(w.t, err)
	if len(keys) > 0 {
		require.NoError(w.t, w.client.Del(w.t.Context(), keys...).Err())
	}
}

// looks has the server look once, now.
func (w *watching) looks() {
	w.t.Helper()
	w.turns()
	require.NoError(w.t, w.watch.Run(w.t.Context()))
}

// works has a labeller do something of each kind.
func (w *watching) works() {
	w.t.Helper()
	items := w.claim(ada, 4)
	require.Len(w.t, items, 4)
	w.finish(items[0])
	_, err := w.service.Release(w.as(ada), labelling.Held{Item: items[1].ItemID, Token: items[1].Claim.Token})
	require.NoError(w.t, err)
	_, err = w.service.Skip(w.as(ada), labelling.Skip{Item: items[2].ItemID, Token: items[2].Claim.Token, Reason: labelling.ForNobody})
	require.NoError(w.t, err)
	w.deliver()
}

// mends waits until the queue is another one than that of the epoch, and right.
func (w *watching) mends(epoch string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		w.looks()
		s, err := w.queue.State(w.t.Context(), w.project)
		return err == nil && s.Cursor.Epoch != epoch
	}, 20*time.Second, 5*time.Millisecond, "nobody notices")
	_, err := w.populate.Refill(w.t.Context(), w.project)
	require.NoError(w.t, err)
	w.exact()
	w.looks()
	after := w.state().Cursor.Epoch
	w.looks()
	assert.Equal(w.t, after, w.state().Cursor.Epoch, "once is enough")
}

func TestARedisThatComesBackOlderIsNoticed(t *testing.T) {
	t.Parallel()
	for name, marked := range map[string]bool{"and its loss was marked": true, "by less than a mark": false} {
		for _, again := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newOwnRedis(t)
				w := newWorldAt(t, r.url(), 60, queue.Options{}).watched()
				w.works()
				w.looks()
				r.save()
				w.works()
				if marked {
					w.looks()
				}
				before := w.state()
				r.kill()
				r.start()
				if again { // the servers were killed with it
					w.serve()
					w.watch = labelling.NewWatch(w.options, w.rebuild, w.compare)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					rebuild := w.rebuild
					go func() { _ = rebuild.Run(ctx) }()
				}
				require.Eventually(t, func() bool { return w.client.Ping(t.Context()).Err() == nil }, 10*time.Second, time.Millisecond)
				require.NotEqual(t, before.Counts, w.state().Counts, "it is older")
				w.mends(before.Cursor.Epoch)
			})
		}
	}
}

// A server dies together with Redis, which comes back without the last events that only this server was told of. Another one, that has compared
// the project lately and has read as much as it may, compares it at once, but not before what is on its way has arrived.
func TestALossThatOnlyADeadServerKnewOfIsNoticed(t *testing.T) {
	t.Parallel()
	r := newOwnRedis(t)
	w := newWorldAt(t, r.url(), 60, queue.Options{}).watched()
	w.works()
	other := w.options
	other.Coordinator = &post{Queue: queue.New(w.client, queue.Options{})}
	w.compare = labelling.NewComparison(other, w.rebuild, 0, func() float64 { return -1_000_000 })
	w.watch = labelling.NewWatch(other, w.rebuild, w.compare)
	w.looks()
	taken, err := other.Coordinator.Turn(t.Context(), "compare:"+string(w.project), time.Hour)
	require.NoError(t, err)
	require.True(t, taken)
	r.save()
	w.works()
	late := w.finish(w.claim(ada, 1)[0])
	r.kill()
	r.start()
	require.Eventually(t, func() bool { return w.client.Ping(t.Context()).Err() == nil }, 10*time.Second, time.Millisecond)
	epoch := w.state().Cursor.Epoch
	require.NoError(t, w.watch.Run(t.Context()))
	scans := w.truth.calls["ScanItems"]
	require.NoError(t, w.compare.Run(t.Context()))
	require.Equal(t, scans, w.truth.calls["ScanItems"], "%s is on its way", late.Item.ID)
	w.deliver()
	require.Eventually(t, func() bool {
		require.NoError(t, w.compare.Run(t.Context()))
		s, err := w.queue.State(t.Context(), w.project)
		return err == nil && s.Cursor.Epoch != epoch
	}, 20*time.Second, 5*time.Millisecond, "nobody notices")
	_, err = w.populate.Refill(t.Context(), w.project)
	require.NoError(t, err)
	w.exact()
}

// newWorldOn has a client that, once promote was called, reaches the replica: the master is killed then.
func newWorldOn(t *testing.T, master, replica *ownRedis) (w *watching, promote func()) {
	t.Helper()
	w = newWorldAt(t, master.url(), 60, queue.Options{}).watched()
	require.NoError(t, w.client.Close())
	var promoted atomic.Bool
	w.client = redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if promoted.Load() {
			return new(net.Dialer).DialContext(ctx, network, replica.client.Options().Addr)
		}
		return new(net.Dialer).DialContext(ctx, network, master.client.Options().Addr)
	}})
	w.queue.Queue = queue.New(w.client, queue.Options{})
	return w, func() {
		require.NoError(t, replica.client.ReplicaOf(t.Context(), "NO", "ONE").Err())
		master.kill()
		promoted.Store(true)
	}
}

// has waits until a replica has an event.
func (r *ownRedis) has(p project.ID, c labelling.Cursor) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		found, err := r.client.XRange(r.t.Context(), "taggie:project:events:{"+string(p)+"}", c.ID, c.ID).Result()
		return err == nil && len(found) == 1
	}, 20*time.Second, 10*time.Millisecond)
}

func TestAReplicaThatWasBehindIsNoticed(t *testing.T) {
	t.Parallel()
	master := newOwnRedis(t)
	replica := newOwnRedis(t, "--replicaof", "127.0.0.1 "+master.port, "--repl-diskless-sync-delay", "0")
	w, promote := newWorldOn(t, master, replica)
	w.works()
	w.looks()
	replica.has(w.project, w.state().Cursor)
	require.NoError(t, replica.client.ReplicaOf(t.Context(), "NO", "ONE").Err())
	w.works() // it does not get these
	w.looks()
	before := w.state()
	promote()
	require.NotEqual(t, before.Counts, w.state().Counts)
	w.works() // before anybody looks
	w.mends(before.Cursor.Epoch)
}

// TestAReplicaThatHasEverythingIsBelieved moves a project to a replica that lacks nothing: work goes on, and nothing is rebuilt.
func TestAReplicaThatHasEverythingIsBelieved(t *testing.T) {
	t.Parallel()
	master := newOwnRedis(t)
	replica := newOwnRedis(t, "--replicaof", "127.0.0.1 "+master.port, "--repl-diskless-sync-delay", "0")
	w, promote := newWorldOn(t, master, replica)
	w.works()
	w.looks()
	w.works() // since the last mark
	before := w.state()
	replica.has(w.project, before.Cursor)
	promote()
	w.looks()
	w.works()
	w.looks()
	assert.Equal(t, before.Cursor.Epoch, w.state().Cursor.Epoch)
	w.exact()
}

func TestARedisThatWentBackIsNoticedWhateverCameSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 60, queue.Options{}).watched() // the embedded one tells nobody which it is
	w.works()
	w.looks()
	before := w.state()
	events := "taggie:project:events:{" + string(w.project) + "}"
	require.NoError(t, w.client.XDel(t.Context(), events, before.Cursor.ID).Err())
	w.works()
	w.mends(before.Cursor.Epoch)
}

func TestEachKeyThatIsLostIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 200, queue.Options{}).watched()
	w.works()
	w.looks()
	keys, err := w.client.Keys(t.Context(), "*{"+string(w.project)+"}*").Result()
	require.NoError(t, err)
	lost := 0
	for _, key := range keys {
		if strings.Contains(key, ":user:skipped:") || strings.Contains(key, ":user:later:") || strings.Contains(key, ":online:") {
			continue // which are in no other store
		}
		epoch := w.state().Cursor.Epoch
		n, err := w.client.Del(t.Context(), key).Result()
		require.NoError(t, err)
		if n == 1 {
			lost++
			w.mends(epoch)
		}
	}
	assert.Greater(t, lost, 10)
}

func TestAComparisonMendsWhatSlippedThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 60, queue.Options{}).watched()
	w.works()
	epoch := w.state().Cursor.Epoch
	require.NoError(t, w.compare.Compare(t.Context(), w.project))
	assert.Equal(t, epoch, w.state().Cursor.Epoch, "nothing is wrong")
	require.NoError(t, w.client.HIncrBy(t.Context(), "taggie:team:statistics:{"+string(w.project)+"}:t0", "ada:finished", 3).Err())
	require.NoError(t, w.compare.Compare(t.Context(), w.project))
	w.mends(epoch)

	// What is only on its way is no difference.
	w.finish(w.claim(ada, 1)[0])
	epoch = w.state().Cursor.Epoch
	require.NoError(t, w.compare.Compare(t.Context(), w.project))
	assert.Equal(t, epoch, w.state().Cursor.Epoch)
	w.deliver()
	w.exact()
}

// A difference that something in the outbox may make up for is looked at again by the same server, whose turn it was; so is a project that could
// not be compared.
func TestComparisonsComeToAnEnd(t *testing.T) {
	t.Parallel()
	for why, holdUp := range map[string]func(w *watching) (over func()){
		"something is in the outbox": func(w *watching) func() {
			w.finish(w.claim(ada, 1)[0])
			w.queue.mu.Lock()
			defer w.queue.mu.Unlock()
			mail := w.queue.mail
			return func() {
				for _, m := range mail { // on a slow machine, the queue is being rebuilt by now: then a message is handled again, as in a server
					require.Eventually(w.t, func() bool {
						err := w.consumer.Handle(w.t.Context(), m)
						if !errors.Is(err, labelling.ErrNotReady) {
							assert.NoError(w.t, err)
							return true
						}
						return false
					}, 10*time.Second, 5*time.Millisecond)
				}
			}
		},
		"the store is away": func(w *watching) func() {
			w.truth.setBefore(func(what string) error {
				if what == "ScanItems" {
					return errors.New("away")
				}
				return nil
			})
			return func() { w.truth.setBefore(nil) }
		},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 60, queue.Options{}).watched()
			w.works()
			compare := labelling.NewComparison(w.options, w.rebuild, 20*time.Millisecond, nil)
			require.NoError(t, w.client.HIncrBy(t.Context(), "taggie:team:statistics:{"+string(w.project)+"}:t0", "grace:finished", 3).Err())
			epoch := w.state().Cursor.Epoch
			over := holdUp(w)
			w.turns()
			compare.Want(w.project)
			_ = compare.Run(t.Context())
			over()
			require.Eventually(t, func() bool {
				_ = compare.Run(t.Context())
				s, err := w.queue.State(t.Context(), w.project)
				return err != nil || s.Cursor.Epoch != epoch
			}, 10*time.Second, 5*time.Millisecond)
		})
	}
}

func TestComparisonsTakeOneReadOfAHundred(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2500, queue.Options{})
	reads := 0.0
	compare := labelling.NewComparison(w.options, w.rebuild, 2*time.Millisecond, func() float64 { return reads })
	compared := func() int {
		before := w.truth.calls["ScanItems"]
		for range 20 {
			require.NoError(t, w.client.Del(t.Context(), "taggie:turn:compare%3A"+string(w.project)).Err()) // the turn is over
			compare.Want(w.project)
			require.NoError(t, compare.Run(t.Context()))
		}
		return (w.truth.calls["ScanItems"] - before) / (2 * labelling.Shards) // a page, and that there are no more
	}
	assert.InDelta(t, 2, compared(), 1, "what may be taken in advance")
	assert.Zero(t, compared())
	reads = 100_000
	assert.InDelta(t, 3, compared(), 1)
	assert.Zero(t, compared())
}
