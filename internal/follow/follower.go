package follow

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/taggie/taggie/internal/note"
)

// looks is how old a look at what is shared with a follower gets before something of somebody else is told. Ends of shares are events; this is for one
// that is late, as when a server died before it could tell.
const looks = 30 * time.Second

// follower is one who follows notes: those of the user, and those that others share with the user.
type follower struct {
	*reader
	me      UserID
	after   *Cursor // where to go on; nil: where things are
	counted *listener[*look]
	seen    *look     // what others share
	due     time.Time // when to look again, before anything of somebody else is told
}

// look sees what is shared, as it was read since an instant, and leaves those who share nothing any more.
func (f *follower) look(ctx context.Context, since time.Time) error {
	seen, err := f.hub.lookAt(ctx, f.me, f.counted, since)
	if err != nil {
		return err
	}
	f.seen, f.due = seen, seen.began.Add(looks/2+rand.N(looks/2))
	for of := range maps.Clone(f.feeds) {
		if of != f.own && !seen.owners[UserID(of.Of)] {
			f.leave(of)
		}
	}
	return nil
}

// lookSince looks until it succeeds, or has failed for long.
func (f *follower) lookSince(ctx context.Context, since time.Time) error {
	return f.again(ctx, func(ctx context.Context) error { return f.look(ctx, since) })
}

// run tells what happens until it cannot go on.
func (f *follower) run(ctx context.Context) error {
	if f.after == nil {
		if err := f.start(ctx); err != nil {
			return err
		}
	} else {
		// Owners that the cursor does not know are told of by the own events that follow it.
		f.join(f.own, f.after.Own)
		for owner := range f.seen.owners {
			if at := f.after.at(NotesOf(owner)); at != "" {
				f.join(NotesOf(owner), at)
			}
		}
	}
	return f.reader.run(ctx)
}

// start implements [rules].
func (f *follower) start(ctx context.Context) error {
	if err := f.begin(ctx, f.own); err != nil {
		return err
	}
	// What is shared is read after the own position: who shares something later is among the own events then.
	if err := f.lookSince(ctx, time.Now()); err != nil {
		return err
	}
	owners := f.seen.owners
	for owner := range owners { // all at once
		if f.feeds[NotesOf(owner)] == nil {
			f.join(NotesOf(owner), "")
		}
	}
	for owner := range owners {
		if err := f.begin(ctx, NotesOf(owner)); err != nil {
			return err
		}
	}
	return f.say(ctx, Told{}, nil)
}

// pass implements [rules].
func (f *follower) pass(ctx context.Context, of Stream, e Entry) error {
	about := e.With == f.me && e.Owner != f.me // a share that the follower was given, or had
	if about {
		// What is shared is read, since events of several servers may come in another order than they happened.
		if err := f.lookSince(ctx, time.Now()); err != nil {
			return err
		}
	}
	if of == f.own {
		if by := NotesOf(e.Owner); about && f.feeds[by] == nil && e.From != "" && f.seen.owners[e.Owner] {
			f.join(by, e.From)
		}
		f.positions[of] = e.ID
		if e.Of == "" {
			return nil
		}
		return f.say(ctx, Told{Event: &e.Event}, nil)
	}
	if f.feeds[of] == nil {
		return nil
	}
	f.positions[of] = e.ID
	for {
		if about || !f.reads(of, e) {
			return nil // who is told by the own events, or not at all
		}
		if time.Now().Before(f.due) {
			if err := f.sayBefore(ctx, Told{Event: &e.Event, Looked: f.seen.began}); !errors.Is(err, errUntaken) {
				return err
			}
		}
		// One of all who follow for the user looks, and the others take what it has seen.
		if err := f.lookSince(ctx, f.seen.began.Add(looks/2)); err != nil {
			return err
		}
	}
}

// idle implements [rules]. What is shared is read before something is told, so that there is nothing to look for.
func (f *follower) idle(context.Context) error { return nil }

// reads reports whether the follower may read the note of an owner's event.
func (f *follower) reads(of Stream, e Entry) bool {
	return e.Of != "" && f.seen.shared[note.ID(e.Of)] == UserID(of.Of)
}
