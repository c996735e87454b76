package labelling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

const (
	removesSaved = time.Second // how often the progress of a removal is stored
	purgeAgain   = 5 * time.Second
)

// Remover takes items out of projects, brings them back, and has them go: its Run is the [task.Handler] of [project.RunRemoval].
//
// An item is removed by a transition like any other: its row says so, and the queue follows. Its efforts are taken out of the statistics
// by the same transition, or, if there are more than [MostEfforts], by further ones. The row stays until it is purged, and with it all that
// is needed to bring it back. What a removal has is listed by rows that are written with the items', so that a server that comes after one
// that was lost goes on where that one was.
type Remover struct{ bulk }

// NewRemover returns one that waits as long for indexes to settle; 0 for [Settle].
func NewRemover(o Options, settle time.Duration) *Remover { return &Remover{newBulk(o, settle)} }

// Run goes on with a removal from where it stands, and returns when it goes on then.
func (r *Remover) Run(ctx context.Context, t task.Task) (time.Time, error) {
	for {
		is, err := domain.First(r.Truth.RemovalsByID(ctx, []project.TransferID{project.RemovalOf(t)}))
		if err != nil {
			return time.Time{}, domain.IgnoreMissing(err)
		}
		var again time.Time
		switch is.State {
		case project.Removing:
			again, err = r.remove(ctx, is, t.Tries > 0 || is.Version > 1)
		case project.Undoable:
			if again = is.UndoUntil; r.Now().Before(again) {
				return again, nil
			}
			next := is.Next(project.Purging)
			next.Left, again = is.Removed, time.Time{}
			err = r.Truth.PutRemoval(ctx, "", &is, next, nil, idempotency.Key{})
		case project.Restoring:
			again, err = r.empty(ctx, is, project.Restored, r.restoreAll)
		case project.Purging:
			again, err = r.empty(ctx, is, project.Gone, r.purgeAll)
		default:
			return time.Time{}, nil
		}
		if _, changed := errors.AsType[*project.TransferConflict](err); changed {
			continue // somebody wants something else meanwhile
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("removal %s of project %s, %s: %w", is.ID, is.Project, is.State, err)
		}
		if !again.IsZero() {
			return again, nil
		}
	}
}

// saved stores how far a removal is, now and then.
type saved struct {
	*Remover
	stored, is project.Removal // the progress of is was not stored yet
	at         time.Time
}

func (r *Remover) saving(is project.Removal) *saved {
	return &saved{Remover: r, stored: is, is: is, at: r.Now()}
}

// save notes progress, and stores it with what was noted before if that was not done for a while.
func (s *saved) save(ctx context.Context, change func(*project.Removal)) error {
	change(&s.is)
	if now := s.Now(); now.Sub(s.at) >= removesSaved {
		s.at = now
		return s.put(ctx, s.is.State, func(*project.Removal) {})
	}
	return nil
}

// put stores the removal in a state. *project.TransferConflict when somebody else has changed it.
func (s *saved) put(ctx context.Context, state project.RemovalState, change func(*project.Removal)) error {
	next := s.is.Next(state)
	change(&next)
	if err := s.Truth.PutRemoval(ctx, "", &s.stored, next, nil, idempotency.Key{}); err != nil {
		return err
	}
	s.stored, s.is = next, next
	return nil
}

// empty takes everything from a removal, and ends it. Each pass goes over all that the removal has, whatever of it has to wait; some returns
// how many do, and then the next pass is made a while later. A server that lost the task may have gone on for a moment, so the removal ends when a
// pass finds nothing a while after the one before.
func (r *Remover) empty(ctx context.Context, is project.Removal, end project.RemovalState, some func(context.Context, project.Removal, []project.ItemID) (waiting int, err error)) (time.Time, error) {
	progress := r.saving(is)
	for first := true; ; first = false {
		found, waiting := 0, 0
		for after := ""; ; {
			ids, err := r.Truth.ListRemoved(ctx, is.TransferID, after, bulkAtOnce)
			if err != nil {
				return time.Time{}, err
			}
			if len(ids) == 0 {
				break
			}
			wait, err := some(ctx, is, ids)
			if err != nil {
				return time.Time{}, err
			}
			if err := progress.save(ctx, func(next *project.Removal) { next.Left = max(next.Left-len(ids)+wait, 0) }); err != nil {
				return time.Time{}, err
			}
			found, waiting, after = found+len(ids), waiting+wait, ids[len(ids)-1].ID
		}
		switch {
		case waiting > 0:
			var err error
			if progress.stored.Left != waiting {
				err = progress.put(ctx, is.State, func(next *project.Removal) { next.Left = waiting })
			}
			return r.Now().Add(purgeAgain), err
		case found == 0 && !first:
			return time.Time{}, progress.put(ctx, end, func(next *project.Removal) { next.Left = 0 })
		}
		if err := pause(ctx, r.settle); err != nil {
			return time.Time{}, err
		}
	}
}

// moved is the move of an item by a removal, with efforts that change, and of these what counts.
func (r *Remover) moved(i project.Item, is project.Removal, cause Cause, efforts []project.Effort, change func(*project.Effort, time.Time)) Move {
	after := r.next(i)
	m := Move{Before: i, After: after, Efforts: slices.Clone(efforts), Transition: &Transition{
		ID: r.NewID(), Cause: cause, Project: i.Project, Item: i.ID, Version: after.Version, From: i.Status,
		User: is.CreatedBy, Team: is.Team, Token: i.Claim.Token, Author: cmp.Or(i.Claim.User, i.ReturnedTo), At: after.UpdatedAt,
	}}
	for n := range m.Efforts {
		change(&m.Efforts[n], after.UpdatedAt)
		m.Efforts[n].UpdatedAt = after.UpdatedAt
		if m.Efforts[n].UndoneAt.IsZero() {
			m.Transition.Efforts = append(m.Transition.Efforts, countedEffort(m.Efforts[n]))
		}
	}
	return m
}
