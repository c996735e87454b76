package labelling_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// stage is a world with a hub: what is hydrated is the item, by one read for all events that are read at once.
type stage struct {
	*world
	hub      *labelling.Hub[project.Item]
	hydrated atomic.Int64 // events
}

// told is what subscribers of a stage get.
type told = labelling.Told[project.Item]

// onEngines runs a test on each Redis.
func onEngines(t *testing.T, items int, o queue.Options, test func(t *testing.T, s *stage)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, newStage(newWorld(t, items, o))) })
	t.Run("redis-server", func(t *testing.T) {
		options, err := redis.ParseURL(embeddedtest.RealRedis(t).URL)
		require.NoError(t, err)
		options.PoolSize = 100
		w := newWorld(t, items, o)
		require.NoError(t, w.client.Close())
		w.client = redis.NewClient(options)
		w.queue = &post{Queue: queue.New(w.client, o)}
		w.options.Coordinator = w.queue
		w.serve()
		w.rebuilt()
		test(t, newStage(w))
	})
}

func newStage(w *world) *stage {
	s := &stage{world: w}
	s.hub = s.server()
	return s
}

// server returns another hub, as another server would have.
func (s *stage) server() *labelling.Hub[project.Item] {
	h := labelling.NewHub(labelling.HubOptions[project.Item]{
		Events: s.queue.Queue, Service: s.service, Log: slog.New(slog.DiscardHandler),
		Hydrate: func(ctx context.Context, p project.ID, events []labelling.Event) []project.Item {
			s.hydrated.Add(int64(len(events)))
			ids := make([]project.ItemID, len(events))
			for i, e := range events {
				ids[i] = project.ItemID{Project: p, ID: e.Item}
			}
			items, _, _ := s.truth.ItemsByID(ctx, "", ids)
			for n := range items {
				if items[n].Status.Hidden() {
					items[n] = project.Item{}
				}
			}
			return items
		},
		WithoutItem: func(project.Item) project.Item { return project.Item{} },
	})
	s.t.Cleanup(h.Close)
	return h
}

func (s *stage) listen(ctx context.Context, l labelling.Listen) <-chan told {
	s.t.Helper()
	l.Project = s.project
	c, err := s.hub.Listen(ctx, l)
	require.NoError(s.t, err)
	return c
}

// note appends an event, and returns it.
func (s *stage) note(e labelling.Event) labelling.Event {
	s.t.Helper()
	if e.Cause == "" {
		e.Cause = labelling.Resized
	}
	_, err := s.queue.Note(s.t.Context(), s.project, uuid.NewString(), e)
	require.NoError(s.t, err)
	e.Cursor = s.state().Cursor
	return e
}

// next returns what is received next.
func next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-c:
		require.True(t, ok, "the channel was closed")
		return v
	case <-time.After(20 * time.Second):
		require.Fail(t, "nothing was received")
		panic("unreachable")
	}
}

// over checks that nothing but the end is received.
func over[T any](t *testing.T, c <-chan T) {
	t.Helper()
	select {
	case v, ok := <-c:
		require.False(t, ok, "%+v", v)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the channel was not closed")
	}
}

// begun receives the snapshot that a stream begins with.
func begun(t *testing.T, c <-chan told) labelling.Snapshot {
	t.Helper()
	first := next(t, c)
	require.NotNil(t, first.Snapshot, "%+v", first)
	return *first.Snapshot
}

// hears checks that an event is received next.
func hears(t *testing.T, c <-chan told, at labelling.Cursor) told {
	t.Helper()
	got := next(t, c)
	require.NotNil(t, got.Event, "%+v", got)
	require.Equal(t, at, got.Event.Cursor)
	return got
}

// gap receives that events were missed, and how things are.
func gap(t *testing.T, c <-chan told) labelling.Snapshot {
	t.Helper()
	got := next(t, c)
	require.True(t, got.Gap, "%+v", got)
	return begun(t, c)
}

// gone waits until no other goroutines run than before: a read that waits in Redis does so for a second.
func gone(t *testing.T, before goleak.Option) {
	t.Helper()
	var err error
	for range 20 {
		if err = goleak.Find(before); err == nil {
			return
		}
	}
	require.NoError(t, err)
}

// drained receives until the channel is closed.
func drained[T any](t *testing.T, c <-chan T) {
	t.Helper()
	for timeout := time.After(20 * time.Second); ; {
		select {
		case _, ok := <-c:
			if !ok {
				return
			}
		case <-timeout:
			require.Fail(t, "the channel was not closed")
		}
	}
}

// reads returns how often the truth was asked for anything.
func (s *stage) reads() int {
	s.truth.mu.Lock()
	defer s.truth.mu.Unlock()
	n := 0
	for _, calls := range s.truth.calls {
		n += calls
	}
	return n
}

func second[T any](_ T, err error) error { return err }
