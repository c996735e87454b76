package follow

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/viewer"
)

// world is the stores, in memory. TestStreamsInMemoryKeepTheContract holds its streams to the contract.
type world struct {
	mu      sync.Mutex
	streams map[Stream][]Entry
	ids     int
	away    bool
	shares  map[UserID][]note.Share
	outbox  []event.Event
	deletes int
	looks   int // at what is shared
	scores  map[score.Ref]score.Score
	reads   int        // of scores
	read    func()     // is called after each of them, if it is there
	hold    chan error // one who looks waits for its answer, if there is such a channel
	missed  int
	told    func(context.Context, string, time.Time) error
	*Hub
	*Teller
}

func newWorld(t *testing.T) *world {
	w := &world{streams: map[Stream][]Entry{}, shares: map[UserID][]note.Share{}, scores: map[score.Ref]score.Score{}}
	log := slog.New(slog.DiscardHandler)
	w.Hub = NewHub(HubOptions{Streams: w, News: w, Shares: w, Scores: w, Missed: func(event.Kind) { w.mu.Lock(); defer w.mu.Unlock(); w.missed++ }, Log: log})
	w.Teller = NewTeller(TellerOptions{Outbox: w, Owners: w.owners, Streams: w, News: w, Now: time.Now, Log: log})
	t.Cleanup(w.Hub.Close)
	return w
}

var errAway = fault.New(fault.Unavailable, "away")

func (w *world) Append(_ context.Context, of Stream, e Entry, always bool) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return "", errAway
	}
	for _, was := range w.streams[of] {
		if was.Event == e.Event {
			return was.ID, nil
		}
	}
	if len(w.streams[of]) == 0 && !always {
		return "", nil
	}
	return w.put(of, e), nil
}

func (w *world) put(of Stream, e Entry) string {
	w.ids++
	e.ID = fmt.Sprintf("%d-0", w.ids)
	w.streams[of] = append(w.streams[of], e)
	return e.ID
}

func (w *world) End(_ context.Context, of Stream) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return "", errAway
	}
	if all := w.streams[of]; len(all) > 0 {
		return all[len(all)-1].ID, nil
	}
	return w.put(of, Entry{}), nil
}

func (w *world) Read(_ context.Context, of Stream, after string, n int) ([]Entry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, errAway
	}
	all := w.streams[of]
	i := slices.IndexFunc(all, func(e Entry) bool { return e.ID == after })
	if i < 0 {
		return nil, ErrGap
	}
	all = all[i+1:]
	return slices.Clone(all[:min(n, len(all))]), nil
}

func (w *world) Announce(ctx context.Context, id string, at time.Time) error {
	w.mu.Lock()
	told := w.told
	w.mu.Unlock()
	if told == nil {
		return nil
	}
	return told(ctx, id, at)
}

func (w *world) Follow(ctx context.Context, joined func(context.Context) error, told func(context.Context, string, time.Time) error) error {
	w.mu.Lock()
	w.told = told
	w.mu.Unlock()
	err := joined(ctx)
	<-ctx.Done()
	return err
}

func (w *world) ListReceived(_ context.Context, user UserID, limit int) ([]note.Share, error) {
	w.mu.Lock()
	w.looks++
	hold := w.hold
	w.mu.Unlock()
	if hold != nil {
		if err := <-hold; err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.shares[user]
	return slices.Clone(all[:min(limit, len(all))]), nil
}

func (w *world) ScoresByID(_ context.Context, refs []score.Ref) ([]score.Score, []error) {
	w.mu.Lock()
	if w.read != nil {
		defer w.read()
	}
	defer w.mu.Unlock()
	w.reads++
	s, there := w.scores[refs[0]]
	if !there {
		return make([]score.Score, 1), []error{fault.New(fault.NotFound, "gone")}
	}
	return []score.Score{s}, nil
}

func (w *world) ListOutbox(_ context.Context, before time.Time, limit int) ([]event.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := slices.DeleteFunc(slices.Clone(w.outbox), func(e event.Event) bool { return !e.At.Before(before) })
	slices.SortStableFunc(late, func(a, b event.Event) int { return a.At.Compare(b.At) })
	return late[:min(limit, len(late))], nil
}

// owners finds out that notes are ada's, but for one that cannot be read.
func (*world) owners(_ context.Context, events []*event.Event) []error {
	errs := make([]error, len(events))
	for i, e := range events {
		if e.Of == "unreadable" {
			errs[i] = fault.New(fault.Internal, "the row cannot be read")
		} else {
			e.Owner = "ada"
		}
	}
	return errs
}

func (w *world) DeleteOutbox(_ context.Context, told []event.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deletes++
	w.outbox = slices.DeleteFunc(w.outbox, func(e event.Event) bool {
		return slices.ContainsFunc(told, func(one event.Event) bool {
			one.Owner = e.Owner // which may have been found out since
			return one == e
		})
	})
	return nil
}

// shareAll replaces what is shared with a user.
func (w *world) shareAll(with UserID, shares ...note.Share) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shares[with] = shares
}

// cut loses all but the last n events of a user.
func (w *world) cut(of UserID, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.streams[NotesOf(of)]
	w.streams[NotesOf(of)] = all[len(all)-n:]
}

func (w *world) happens(t *testing.T, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		require.NoError(t, w.tell(t.Context(), e))
	}
}

var clock int

func change(owner UserID, id note.ID) event.Event {
	clock++
	return event.Event{Kind: event.OfNote, Type: note.Changed, Of: string(id), Owner: owner, By: owner, Version: clock, At: time.UnixMilli(int64(clock))}
}

func giving(s note.Share) event.Event {
	clock++
	s.SharedAt = time.UnixMilli(int64(clock))
	return note.Giving(s)
}

func as(t *testing.T, u UserID) context.Context {
	return viewer.With(t.Context(), viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: string(u)}, UserID: u})
}

func (w *world) listen(t *testing.T, u UserID, after *Cursor) <-chan Told {
	t.Helper()
	told, err := w.Listen(as(t, u), after)
	require.NoError(t, err)
	return told
}

func next(t *testing.T, told <-chan Told) Told {
	t.Helper()
	select {
	case one, open := <-told:
		require.True(t, open, "it has ended")
		return one
	case <-time.After(time.Minute):
		require.Fail(t, "nothing came")
	}
	return Told{}
}

// expect takes these events, and returns the cursor of the last one.
func expect(t *testing.T, told <-chan Told, events ...event.Event) *Cursor {
	t.Helper()
	var c Cursor
	for _, e := range events {
		one := next(t, told)
		require.NotNil(t, one.Event, "%+v", one)
		require.Equal(t, e, *one.Event)
		c = one.Cursor()
	}
	return &c
}

func position(t *testing.T, told <-chan Told) *Cursor {
	t.Helper()
	one := next(t, told)
	require.True(t, one.Event == nil && !one.Gap, "%+v", one)
	c := one.Cursor()
	return &c
}
