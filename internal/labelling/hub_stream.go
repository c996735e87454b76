package labelling

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// ear is who listens to a stream. Its methods are called one after another.
type ear[T any] interface {
	// Tell says what happened. It returns errUntaken when nobody has taken it by then, and another error when there is nobody any more to tell
	// it to.
	Tell(ctx context.Context, t Told[T], until time.Time) error
	// Rest is called when everything was told, before the stream waits, with the project as it is; it is called again when it fails.
	// errUntaken as by Tell.
	Rest(ctx context.Context, now Told[T], until time.Time) error
	// Close is called at the end.
	Close()
}

// stream is one subscriber.
type stream[T any] struct {
	hub     *Hub[T]
	feed    *feed[T]
	ear     ear[T]
	listen  Listen
	project project.Project // as the viewer is in it
	cursor  Cursor          // after which to go on
	known   bool            // the cursor is from Redis, not from the client
	looked  time.Time       // when reading the membership began
	due     time.Time       // when it is to be looked at again, before anything is told
	next    uint64          // the number of the entry to tell next, when the cursor is in the ring
	failing trials
}

// errLeft says that the viewer is no longer a member.
var errLeft = errors.New("the viewer has left the project")

// first returns the snapshot to begin with, nil when the stream begins after a cursor.
func (s *stream[T]) first(ctx context.Context) (*Snapshot, error) {
	if s.listen.After != nil {
		s.cursor = *s.listen.After
		return nil, nil
	}
	// What happens after the snapshot is in the ring, then.
	if err := s.feed.leaves(ctx, starting); errors.Is(err, errEnded) {
		return nil, errStopping // it has only begun
	} else if err != nil {
		return nil, err
	}
	snapshot, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &snapshot, nil
}

// run tells what happens until it cannot go on.
func (s *stream[T]) run(ctx context.Context, first *Snapshot) {
	var err error
	switch {
	case first != nil:
		err = s.begin(ctx, *first)
	case s.listen.After == nil:
		err = s.resume(ctx) // there is nothing to show yet, and nothing was missed
	}
	for {
		if errors.Is(err, ErrGap) {
			err = s.regain(ctx)
		}
		if err == nil {
			err = s.replay(ctx)
		}
		if err == nil {
			err = s.follow(ctx)
		}
		if !errors.Is(err, ErrGap) {
			break
		}
	}
	switch {
	case errors.Is(err, errLeft):
		if s.listen.Left != nil {
			s.listen.Left()
		}
	case ctx.Err() == nil && !errors.Is(err, errEnded):
		s.hub.o.Log.WarnContext(ctx, "who listens to a project is sent away", "project", s.project.ID, "error", err)
	}
}

// begin tells a snapshot; what happened after it is next.
func (s *stream[T]) begin(ctx context.Context, snapshot Snapshot) error {
	s.cursor, s.known = snapshot.State.Cursor, true
	return s.say(ctx, Told[T]{Snapshot: &snapshot})
}

// regain tells that events were missed, and then how things are.
func (s *stream[T]) regain(ctx context.Context) error {
	if err := s.say(ctx, Told[T]{Gap: true}); err != nil {
		return err
	}
	return s.resume(ctx)
}

// resume tells how things are, as soon as Redis says.
func (s *stream[T]) resume(ctx context.Context) error {
	for {
		// One reader asks Redis whether it is back, not every subscriber.
		if err := s.feed.leaves(ctx, starting, lost); err != nil {
			return err
		}
		snapshot, err := s.snapshot(ctx)
		switch {
		case fault.Is(err, fault.NotFound):
			return errLeft // the event that said so was among those that were missed
		case err == nil:
			s.failing = trials{}
			return s.begin(ctx, snapshot)
		}
		if err := s.again(ctx, err); err != nil {
			return err
		}
	}
}

// snapshot returns how things are, and sets the project to what it is to the viewer now. The latter is read last: when the viewer leaves after
// that, the event that says so comes after the snapshot.
func (s *stream[T]) snapshot(ctx context.Context) (Snapshot, error) {
	ctx, done, err := s.hub.slot(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer done()
	snapshot, err := s.hub.o.Service.Snapshot(ctx, s.project, s.listen.Statistics)
	if err != nil {
		return Snapshot{}, err
	}
	began := time.Now()
	p, err := s.hub.o.Service.project(ctx, s.project.ID, project.Taggie)
	if err == nil {
		s.proven(p, began)
	}
	return snapshot, err
}

// proven notes what the project is to the viewer, as it was read from a moment on. Streams that began together do not all look again together.
func (s *stream[T]) proven(p project.Project, began time.Time) {
	s.project, s.looked = p, began
	s.due = began.Add(s.hub.limits.looks/2 + rand.N(s.hub.limits.looks/2))
}

// replay tells what happened after the cursor until that is in the ring; mostly it is there from the beginning. ErrGap.
func (s *stream[T]) replay(ctx context.Context) error {
	for {
		next, where, changed, err := s.feed.find(s.cursor)
		switch {
		case err != nil:
			return err
		case where == inRing:
			s.next, s.known = next, true
			return nil
		case where == unknown || where == ahead && s.known:
			// The feed gets there.
			if err := wait(ctx, changed); err != nil {
				return err
			}
			continue
		}
		entries, err := s.read(ctx)
		switch {
		case missed(err):
			return ErrGap
		case err != nil:
			if err := s.again(ctx, err); err != nil {
				return err
			}
			continue
		}
		s.known, s.failing = true, trials{}
		if len(entries) == 0 { // the feed has yet to notice an event, or that it is in an epoch of the past
			if err := wait(ctx, changed); err != nil {
				return err
			}
		}
		for _, e := range entries {
			if err := s.pass(ctx, s.feed.shown(e)); err != nil {
				return err
			}
		}
	}
}

// read reads events after the cursor for this subscriber alone.
func (s *stream[T]) read(ctx context.Context) ([]*entry[T], error) {
	ctx, done, err := s.hub.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	events, err := s.hub.o.Events.Read(ctx, s.project.ID, s.cursor, eventBatch, 0)
	if err != nil {
		return nil, s.hub.o.Service.ready(s.project.ID, err)
	}
	return s.heard(ctx, events), nil
}

// heard returns events with what belongs to them, where it is read for this subscriber alone: not of those that filters hide.
func (s *stream[T]) heard(ctx context.Context, events []Event) []*entry[T] {
	entries := make([]*entry[T], len(events))
	var wanted []Event
	var at []int
	for i := range events {
		entries[i] = &entry[T]{event: events[i]}
		if s.listen.hears(&events[i], s.project.Member.User) {
			wanted, at = append(wanted, events[i]), append(at, i)
		}
	}
	for n, e := range s.hub.hydrate(ctx, s.project.ID, wanted) {
		entries[at[n]] = e
	}
	return entries
}

// follow tells what comes into the ring. ErrGap when that was faster than the receiver, or the feed missed something itself.
func (s *stream[T]) follow(ctx context.Context) error {
	for {
		e, changed, err := s.feed.at(s.next)
		switch {
		case err != nil:
			return err
		case e != nil:
			if err := s.pass(ctx, e); err != nil {
				return err
			}
			s.next++
			continue
		}
		if err := s.rest(ctx); errors.Is(err, errLeft) {
			return err
		} else if err != nil {
			if err := s.again(ctx, err); err != nil {
				return err
			}
			continue
		}
		s.failing = trials{}
		// What came since the ring was looked at has closed the channel.
		if err := wait(ctx, changed); err != nil {
			return err
		}
	}
}

// rest lets the ear rest. When that was tried for long, the membership is looked at again before.
func (s *stream[T]) rest(ctx context.Context) error {
	for untaken := false; ; untaken = true {
		if untaken || s.failing.next > 0 && !time.Now().Before(s.due) {
			failing := s.failing
			if err := s.check(ctx); err != nil {
				return err
			}
			s.failing = failing
		}
		err := s.ear.Rest(ctx, Told[T]{Project: s.project, Looked: s.looked}, s.untaken())
		if !errors.Is(err, errUntaken) {
			return err
		}
	}
}

// pass tells an event, if it was asked for. errLeft when there is nothing more that the viewer may be told.
func (s *stream[T]) pass(ctx context.Context, e *entry[T]) error {
	me := s.project.Member.User
	mine := e.event.Cause == Members && e.event.User == me
	if mine || !time.Now().Before(s.due) {
		if err := s.check(ctx); err != nil && (!mine || !errors.Is(err, errLeft)) {
			return err
		} else if err != nil { // why it ends is told, whatever was asked for
			return errors.Join(s.tell(ctx, e), err)
		}
	}
	if s.listen.hears(&e.event, me) {
		if err := s.tell(ctx, e); err != nil {
			return err
		}
	}
	s.cursor = e.event.Cursor
	return nil
}

func (s *stream[T]) tell(ctx context.Context, e *entry[T]) error {
	return s.say(ctx, Told[T]{Event: &e.event, Hydrated: e.hydrated})
}

// say has the ear told something. While nobody takes it, the membership is looked at again and again.
func (s *stream[T]) say(ctx context.Context, t Told[T]) error {
	for {
		t.Project, t.Looked = s.project, s.looked
		if err := s.ear.Tell(ctx, t, s.untaken()); !errors.Is(err, errUntaken) {
			return err
		}
		if err := s.check(ctx); err != nil {
			return err
		}
	}
}

// lookAgain is how old a look at a membership gets before something is told. Leaving is told by an event; this is for one that was lost, as
// when a server died before it could tell, or Redis is away.
const lookAgain = 30 * time.Second

// untaken is until when somebody may take what rests upon the last look.
func (s *stream[T]) untaken() time.Time { return s.looked.Add(s.hub.limits.looks * 4 / 3) }

// check reads the viewer's membership again, and waits while it cannot be read. errLeft when there is none any more; a replay may show one
// that ended before the viewer began to listen.
func (s *stream[T]) check(ctx context.Context) error {
	for {
		p, began, err := s.feed.member(ctx, s.project.Member.User)
		switch {
		case err == nil:
			s.failing = trials{}
			s.proven(p, began)
			return nil
		case fault.Is(err, fault.NotFound):
			s.looked = began // of what is told last: that the viewer has left
			return errLeft
		}
		if err := s.again(ctx, err); err != nil {
			return err
		}
	}
}

// again waits before what failed is tried once more; it returns the error when that is of no use.
func (s *stream[T]) again(ctx context.Context, err error) error {
	return s.failing.again(ctx, s.hub.limits.patience, err)
}
