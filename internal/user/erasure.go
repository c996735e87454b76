package user

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// Settle is how long what somebody began before a deletion, or before nobody can bring the user back any more, may go on. The erasure begins after that.
const Settle = time.Minute

// Phase is a step of the erasure of a user.
type Phase struct {
	Name string
	// Erase does a bounded part of it, from the position on, and returns where to go on; "" when nothing is left. The first position is "". It can be
	// repeated from any position that it returned, which has at most 1 KB, also by two servers at once. With *[Later] it is asked again at that time.
	Erase func(ctx context.Context, id ID, position string) (next string, err error)
}

// Later is the error of a phase that waits for what others do. The phase is asked again at that time; with the zero time, when nobody knows how long
// that takes, 2 seconds later, and then after twice as long each time, up to 5 minutes.
type Later struct{ At time.Time }

// The shortest and the longest time after which a phase is asked again that does not know when.
const (
	firstWait   = 2 * time.Second
	longestWait = 5 * time.Minute
)

// Error says so.
func (*Later) Error() string { return "something else has to end first" }

// after returns when a phase is asked again that has waited so often in a row.
func (l *Later) after(now time.Time, waits int) time.Time {
	if !l.At.IsZero() {
		return l.At
	}
	return now.Add(min(firstWait<<min(waits-1, 10), longestWait))
}

// Progress is how far an erasure is. The zero Progress is the beginning.
type Progress struct {
	Phase, Position string // the phase, and the position in it
	Waits           int    // how often the phase has waited in a row
}

// Erasable keeps users who are being erased. Its fault is Unavailable besides those named.
type Erasable interface {
	// DeletedByID and PutDeletion are those of [Deletions].
	DeletedByID(ctx context.Context, ids []ID) ([]DeletedUser, []error)
	PutDeletion(ctx context.Context, before, after User, follow []task.Task, once idempotency.Key) error
	// FindProgress returns how far the erasure of a user is. It sees every acknowledged write.
	FindProgress(ctx context.Context, id ID) (Progress, error)
	// PutProgress keeps how far the erasure of a user is. NotFound when the user is not being erased.
	PutProgress(ctx context.Context, id ID, p Progress) error
	// EraseUser removes what is left of a user who is being erased: the rows that are the user's own, and at last the profile together with the lock of the
	// address, so that the address can sign up again. What is gone already does no harm.
	EraseUser(ctx context.Context, u User) error
}

// Eraser removes all that deleted users have who cannot be brought back any more. Its Run is the [task.Handler] of [RunErasure].
type Eraser struct {
	Store     Erasable
	LookAgain func(context.Context, DeletedUser) error // as [Service.LookAgain]
	Phases    []Phase                                  // in this order; the names are kept, so that they do not change
	Now       func() time.Time
}

// Run goes on with the deletion of a user from where it stands, and returns when it goes on then. A user who was brought back is left alone. While the user
// can be brought back, it looks again: the server that began may have been lost before it did.
func (e Eraser) Run(ctx context.Context, t task.Task) (time.Time, error) {
	id := ID(t.Scope)
	deleted, err := domain.First(e.Store.DeletedByID(ctx, []ID{id}))
	if fault.Is(err, fault.NotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	u := deleted.User
	switch until := u.Deletion.UndoUntil; {
	case deleted.Erasure().ID != t.ID:
		return time.Time{}, nil // another task follows from what was done since
	case !u.Deletion.Over(e.Now()):
		err := e.LookAgain(ctx, deleted)
		if _, needed := errors.AsType[*StillNeeded](err); needed {
			return time.Time{}, nil
		}
		return until, err
	case u.Deletion.State != domain.Erasing:
		after := u
		after.Deletion.State, after.Version, after.UpdatedAt = domain.Erasing, u.Version+1, domain.Later(e.Now, u.UpdatedAt)
		err := e.Store.PutDeletion(ctx, u, after, nil, idempotency.Key{})
		if _, changed := errors.AsType[*VersionConflict](err); changed {
			return e.Now(), nil
		}
		return after.UpdatedAt.Add(Settle), err
	case e.Now().Before(u.UpdatedAt.Add(Settle)):
		return u.UpdatedAt.Add(Settle), nil
	}
	again, err := e.erase(ctx, u)
	if fault.Is(err, fault.NotFound) {
		if _, gone := domain.First(e.Store.DeletedByID(ctx, []ID{id})); fault.Is(gone, fault.NotFound) {
			return time.Time{}, nil // another server was faster
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("erase user %s: %w", id, err)
	}
	return again, nil
}

// erase goes through the phases that are left, and returns when to go on.
func (e Eraser) erase(ctx context.Context, u User) (time.Time, error) {
	at, err := e.Store.FindProgress(ctx, u.ID)
	if err != nil {
		return time.Time{}, err
	}
	reached := at.Phase == ""
	for _, p := range e.Phases {
		if reached = reached || p.Name == at.Phase; !reached {
			continue
		}
		if at.Phase != p.Name {
			at = Progress{Phase: p.Name}
		}
		again, err := e.run(ctx, u.ID, p, at)
		if err != nil || !again.IsZero() {
			return again, err
		}
	}
	if !reached { // a newer server has phases that this one does not know
		return time.Time{}, fault.New(fault.Outdated, "the erasure is at a step that this server does not know: %s", at.Phase)
	}
	return time.Time{}, e.Store.EraseUser(ctx, u)
}

// run goes through a phase from the position on, and returns when to go on; zero when it is done.
func (e Eraser) run(ctx context.Context, id ID, p Phase, at Progress) (time.Time, error) {
	for {
		if err := e.Store.PutProgress(ctx, id, at); err != nil {
			return time.Time{}, err
		}
		next, err := p.Erase(ctx, id, at.Position)
		if later, is := errors.AsType[*Later](err); is {
			at.Position = next
			at.Waits++
			return later.after(e.Now(), at.Waits), e.Store.PutProgress(ctx, id, at)
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("%s: %w", p.Name, err)
		}
		if next == "" {
			return time.Time{}, nil
		}
		at.Position, at.Waits = next, 0
	}
}
