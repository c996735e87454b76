package follow

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/note"
)

const (
	// maxWaiting is how many events a server has in hand at most, to be told or to be removed from the outbox. What is more is found in the outbox.
	maxWaiting = 4096
	// relayAfter is how old events in the outbox are when somebody else looks whether they were told.
	relayAfter = 1500 * time.Millisecond
	// relayAtOnce is how many are looked at in one round in each part of the outbox.
	relayAtOnce = 1000
	// within bounds how long Redis is waited for.
	within = time.Second
	// atOnce is how many streams are read side by side.
	atOnce = 16
)

// Teller puts what happened into the streams of those whom it is about: of the users whose notes and shares it is about, or of the score. This
// server's changes are told at once; the outbox keeps each until it was told, so that what a server left behind, or what Redis did not take, is told
// by another one.
type Teller struct {
	o TellerOptions

	mu      sync.Mutex
	waiting []event.Event // to be told
	told    []event.Event // to be removed from the outbox
	telling bool
	closed  bool
	all     sync.WaitGroup // it grows under mu, and not once closed
}

// TellerOptions are what a teller works with.
type TellerOptions struct {
	Outbox  Outbox
	Owners  func(context.Context, []*event.Event) []error // fills in whose the notes of events are; "" for one of which nothing is left
	Streams Streams
	News    News
	Now     func() time.Time
	Log     *slog.Logger
}

// NewTeller returns a teller.
func NewTeller(o TellerOptions) *Teller { return &Teller{o: o} }

// Tell tells what has happened soon. It does not wait. What is told is removed from the outbox by [Teller.Sweep].
func (t *Teller) Tell(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.waiting) >= maxWaiting {
		return // another server finds it in the outbox
	}
	t.waiting = append(t.waiting, e)
	if !t.telling {
		t.telling = true
		t.all.Go(t.tellWaiting)
	}
}

// tellWaiting tells what waits until nothing does. What cannot be told stays in the outbox.
func (t *Teller) tellWaiting() {
	ctx := context.Background() // what has happened is told, also when its request is over
	for {
		t.mu.Lock()
		some := t.waiting
		t.waiting = nil
		t.telling = len(some) > 0
		t.mu.Unlock()
		if len(some) == 0 {
			return
		}
		guard(ctx, t.o.Log, "telling what happened", func() {
			if err := t.tellAll(ctx, some); err != nil {
				t.o.Log.DebugContext(ctx, "what happened is told later", "error", err)
			}
		})
	}
}

// tellAll tells events in their order, and remembers those that it has told. After one that Redis did not take the others are not tried.
func (t *Teller) tellAll(ctx context.Context, events []event.Event) error {
	for _, e := range events {
		if err := t.tell(ctx, e); err != nil {
			return err
		}
		t.mu.Lock()
		if len(t.told) < maxWaiting {
			t.told = append(t.told, e)
		}
		t.mu.Unlock()
	}
	return nil
}

// tell appends an event to the streams in which it is told.
func (t *Teller) tell(ctx context.Context, e event.Event) error {
	ctx, cancel := context.WithTimeout(ctx, 4*within)
	defer cancel()
	if e.Kind == event.OfScore {
		_, err := t.append(ctx, Stream{e.Kind, e.Of}, Entry{Event: e}, false)
		return err
	}
	return t.tellOfNote(ctx, e)
}

// tellOfNote appends an event to those of the owner, and to those of the user whose share it is about: who knew nothing of the owner before learns where
// in the owner's events to begin.
func (t *Teller) tellOfNote(ctx context.Context, e event.Event) (err error) {
	entry := Entry{Event: e}
	if e.Owner != "" {
		if entry.From, err = t.append(ctx, NotesOf(e.Owner), entry, e.Type == note.Shared); err != nil {
			return err
		}
	}
	if e.With != "" {
		_, err = t.append(ctx, NotesOf(e.With), entry, false)
	}
	return err
}

// append appends an entry to a stream, and tells all servers.
func (t *Teller) append(ctx context.Context, to Stream, e Entry, always bool) (string, error) {
	at, err := t.o.Streams.Append(ctx, to, e, always)
	if err == nil {
		err = t.o.News.Announce(ctx, to.String(), e.At)
	}
	return at, err
}

// Sweep removes from the outbox what this server has told.
func (t *Teller) Sweep(ctx context.Context) error {
	t.mu.Lock()
	told := t.told
	t.told = nil
	t.mu.Unlock()
	if len(told) == 0 {
		return nil
	}
	return t.o.Outbox.DeleteOutbox(ctx, told) // what is not removed is found there again
}

// Relay tells what others left in the outbox, and removes it. An event stays there, and is logged, while it cannot be found out whose its note is.
func (t *Teller) Relay(ctx context.Context) error {
	late, err := t.o.Outbox.ListOutbox(ctx, t.o.Now().Add(-relayAfter), relayAtOnce)
	if err != nil || len(late) == 0 {
		return err
	}
	return errors.Join(t.tellAll(ctx, t.owned(ctx, late)), t.Sweep(ctx))
}

// owned returns the events with their owners, without those whose owner could not be read.
func (t *Teller) owned(ctx context.Context, events []event.Event) []event.Event {
	var unknown []*event.Event
	for i := range events {
		if events[i].Owner == "" {
			unknown = append(unknown, &events[i])
		}
	}
	if len(unknown) == 0 {
		return events
	}
	failed := map[*event.Event]bool{}
	for i, err := range t.o.Owners(ctx, unknown) {
		if e := unknown[i]; err != nil {
			failed[e] = true
			t.o.Log.WarnContext(ctx, "an event waits, since the owner of its note cannot be read", "of", e.Of, "error", err)
		}
	}
	known := make([]event.Event, 0, len(events))
	for i := range events {
		if !failed[&events[i]] {
			known = append(known, events[i])
		}
	}
	return known
}

// Late returns for how long the oldest event has been waiting in the outbox that others look for by now; 0 when there is none.
func (t *Teller) Late(ctx context.Context) (time.Duration, error) {
	now := t.o.Now()
	late, err := t.o.Outbox.ListOutbox(ctx, now.Add(-relayAfter), 1)
	if err != nil || len(late) == 0 {
		return 0, err
	}
	return now.Sub(late[0].At), nil
}

// Close returns when what was to be told at once was told, or Redis did not take it. What happens later stays in the outbox.
func (t *Teller) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.all.Wait()
}
