package labelling_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/viewer"
)

// tape is a queue in memory that knows nothing but events: it can be used where time is not that of a clock. What it was not taught
// panics.
type tape struct {
	labelling.Coordinator
	mu      sync.Mutex
	epoch   string // "" while it is not ready
	epochs  int
	events  []labelling.Event // of the epoch; the first one was there from its beginning
	kept    int               // number of the oldest event that is kept
	changed chan struct{}
	fails   func(what string) error
	slow    func(what string)
	claims  []labelling.Claim
	online  int
	reads   int
}

func newTape() *tape {
	t := &tape{changed: make(chan struct{})}
	t.restart()
	return t
}

// change changes the tape under its lock.
func (q *tape) change(how func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	how()
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *tape) restart() {
	q.change(func() {
		q.epochs++
		q.epoch, q.events, q.kept = "e"+strconv.Itoa(q.epochs), nil, 0
		q.append(labelling.Event{Cause: labelling.Restarted})
	})
}

func (q *tape) lose() { q.change(func() { q.epoch = "" }) }

func (q *tape) append(e labelling.Event) {
	e.Cursor = labelling.Cursor{Epoch: q.epoch, ID: fmt.Sprintf("%d-%d", 990+len(q.events)/7, 8+len(q.events)%7)}
	q.events = append(q.events, e)
}

func (q *tape) note(events ...labelling.Event) {
	q.change(func() {
		for _, e := range events {
			q.append(e)
		}
	})
}

// begin asks the hooks; the lock is held afterwards, unless there is an error.
func (q *tape) begin(ctx context.Context, what string) error {
	q.mu.Lock()
	fails, slow := q.fails, q.slow
	q.mu.Unlock()
	if slow != nil {
		slow(what)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fails != nil {
		if err := fails(what); err != nil {
			return err
		}
	}
	q.mu.Lock()
	if q.epoch == "" && what != "OnlineCount" {
		q.mu.Unlock()
		return fmt.Errorf("%s: %w", what, labelling.ErrNotReady)
	}
	return nil
}

func (q *tape) State(ctx context.Context, p project.ID) (labelling.State, error) {
	s, err := q.Snapshot(ctx, p, "", nil)
	return s.State, err
}

func (q *tape) Snapshot(ctx context.Context, p project.ID, _ labelling.UserID, _ []string) (labelling.Snapshot, error) {
	if err := q.begin(ctx, "Snapshot"); err != nil {
		return labelling.Snapshot{}, err
	}
	defer q.mu.Unlock()
	return labelling.Snapshot{State: labelling.State{Project: p, Cursor: q.events[len(q.events)-1].Cursor}, Claims: slices.Clone(q.claims)}, nil
}

func (q *tape) Claims(ctx context.Context, _ project.ID, _ labelling.UserID) ([]labelling.Claim, error) {
	if err := q.begin(ctx, "Claims"); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	return slices.Clone(q.claims), nil
}

func (q *tape) OnlineCount(ctx context.Context) (int, error) {
	if err := q.begin(ctx, "OnlineCount"); err != nil {
		return 0, err
	}
	defer q.mu.Unlock()
	return q.online, nil
}

func (q *tape) Read(ctx context.Context, _ project.ID, after labelling.Cursor, n int, block time.Duration) ([]labelling.Event, error) {
	timer := time.NewTimer(block)
	defer timer.Stop()
	for {
		if err := q.begin(ctx, "Read"); err != nil {
			return nil, err
		}
		q.reads++
		at := slices.IndexFunc(q.events, func(e labelling.Event) bool { return e.Cursor == after })
		some, changed := slices.Clone(q.events[min(at+1, len(q.events)):min(at+1+n, len(q.events))]), q.changed
		gap := at < q.kept
		q.mu.Unlock()
		switch {
		case gap:
			return nil, labelling.ErrGap
		case len(some) > 0 || block == 0:
			return some, nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// studio is a hub with a tape, and a project with members.
type studio struct {
	t     testing.TB
	truth *truth
	tape  *tape
	hub   *labelling.Hub[string]
	p     project.ID
}

func newStudio(t testing.TB) *studio {
	s := &studio{t: t, truth: newTruth(), tape: newTape(), p: "p"}
	s.truth.projects[s.p] = project.Project{ID: s.p}
	for _, u := range []project.UserID{ada, grace} {
		s.truth.members[u] = project.Member{Project: s.p, User: u, Team: "t0", Type: project.Taggie}
	}
	s.hub = s.server(func(_ context.Context, _ project.ID, events []labelling.Event) []string {
		all := make([]string, len(events))
		for i, e := range events {
			all[i] = "hydrated " + e.Cursor.ID
		}
		return all
	})
	return s
}

// server returns another hub, as another server would have.
func (s *studio) server(hydrate func(context.Context, project.ID, []labelling.Event) []string) *labelling.Hub[string] {
	o := labelling.Options{Truth: s.truth, Coordinator: s.tape, Now: time.Now, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)}
	rebuild := labelling.NewRebuilder(o, time.Millisecond)
	return labelling.NewHub(labelling.HubOptions[string]{
		Events: s.tape, Service: labelling.NewService(o, labelling.NewPopulate(o, rebuild), rebuild), Hydrate: hydrate,
	})
}

func (s *studio) listen(ctx context.Context, u project.UserID, l labelling.Listen) <-chan labelling.Told[string] {
	s.t.Helper()
	l.Project = s.p
	c, err := s.hub.Listen(viewer.With(ctx, viewer.Viewer{UserID: u}), l)
	require.NoError(s.t, err)
	return c
}

var errDown = fault.New(fault.Unavailable, "nobody answers")
