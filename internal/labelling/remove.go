package labelling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/task"
)

const (
	removesAtOnce = 100         // items that are read together
	removesSaved  = time.Second // how often the progress of a removal is stored
	purgeAgain    = 5 * time.Second
	// purgeTries is how often an import looks whether the queue has followed a removal, purgeSoon the pause between.
	purgeTries, purgeSoon = 30, 100 * time.Millisecond
)

// Remover takes items out of projects, brings them back, and has them go: its Run is the [task.Handler] of [project.RunRemoval].
//
// An item is removed by a transition like any other: its row says so, and the queue follows. Its efforts are taken out of the statistics
// by the same transition, or, if there are more than [MostEfforts], by further ones. The row stays until it is purged, and with it all that
// is needed to bring it back. What a removal has is listed by rows that are written with the items', so that a server that comes after one
// that was lost goes on where that one was.
type Remover struct {
	Options
	turns  *retry.Turns
	settle time.Duration // how long indexes may lag behind, and a server that lost the task may go on
}

// NewRemover returns one that waits as long for indexes to settle; 0 for [Settle].
func NewRemover(o Options, settle time.Duration) *Remover {
	return &Remover{Options: o, turns: &retry.Turns{}, settle: cmp.Or(settle, Settle)}
}

// Run goes on with a removal from where it stands, and returns when it goes on then.
func (r *Remover) Run(ctx context.Context, t task.Task) (time.Time, error) {
	for {
		is, err := domain.First(r.Truth.RemovalsByID(ctx, []project.TransferID{project.RemovalOf(t)}))
		if err != nil {
			return time.Time{}, ignoreMissing(err)
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
			err = r.Truth.PutRemoval(ctx, &is, next, nil, idempotency.Key{})
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
	is project.Removal
	at time.Time
}

func (s *saved) save(ctx context.Context, change func(*project.Removal)) error {
	if now := s.Now(); now.Sub(s.at) >= removesSaved {
		s.at = now
		return s.put(ctx, s.is.State, change)
	}
	return nil
}

// put stores the removal in a state. *project.TransferConflict when somebody else has changed it.
func (s *saved) put(ctx context.Context, state project.RemovalState, change func(*project.Removal)) error {
	next := s.is.Next(state)
	change(&next)
	if err := s.Truth.PutRemoval(ctx, &s.is, next, nil, idempotency.Key{}); err != nil {
		return err
	}
	s.is = next
	return nil
}

// remove removes everything that a removal is about; resumed when another run may have begun that.
func (r *Remover) remove(ctx context.Context, is project.Removal, resumed bool) (time.Time, error) {
	progress := &saved{Remover: r, is: is, at: r.Now()}
	done := func(ctx context.Context, ids []project.ItemID) error {
		for chunk := range slices.Chunk(ids, removesAtOnce) {
			n, err := r.removeSome(ctx, progress.is, chunk)
			if err != nil {
				return err
			}
			if err := progress.save(ctx, func(next *project.Removal) { next.Removed += n }); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	switch {
	case is.Items != nil:
		ids := make([]project.ItemID, len(is.Items))
		for n, id := range is.Items {
			ids[n] = project.ItemID{Project: is.Project, ID: id}
		}
		err = done(ctx, ids)
	case is.Import != "":
		var again time.Time
		if again, err = r.removeImported(ctx, is, done); err == nil && !again.IsZero() {
			return again, nil
		}
	default:
		if err = r.removeStatus(ctx, is, done); err == nil && resumed {
			err = r.finishHalves(ctx, is)
		}
	}
	if err != nil {
		return time.Time{}, err
	}
	removed, err := r.Truth.CountRemoved(ctx, is.TransferID) // exactly, whatever servers were lost
	if err != nil {
		return time.Time{}, err
	}
	state := project.Undoable
	if progress.is.Purge {
		state = project.Purging
	}
	return time.Time{}, progress.put(ctx, state, func(next *project.Removal) {
		next.Removed, next.EndedAt = removed, r.Now().UTC().Truncate(time.Millisecond)
		next.UndoUntil = next.EndedAt
		if next.Left = removed; state == project.Undoable {
			next.Left, next.UndoUntil = 0, next.EndedAt.Add(project.UndoRemoval)
		}
	})
}

// removeImported removes what an import brought. The index shows all of it when the import was over a while ago.
func (r *Remover) removeImported(ctx context.Context, is project.Removal, done func(context.Context, []project.ItemID) error) (time.Time, error) {
	of, err := domain.First(r.Truth.ImportsByID(ctx, []project.TransferID{{Project: is.Project, ID: is.Import}}))
	if err != nil {
		return time.Time{}, ignoreMissing(err)
	}
	if settled := of.EndedAt.Add(r.settle); r.Now().Before(settled) {
		return settled, nil
	}
	for shard := range Shards {
		err := r.Truth.ScanItems(ctx, is.Project, shard, func(page []project.Item) error {
			var ids []project.ItemID
			for _, i := range page {
				if i.Import == is.Import && (!i.Status.Hidden() || i.Removal == is.ID) {
					ids = append(ids, i.ItemID)
				}
			}
			return done(ctx, ids)
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}

// removeStatus removes what has a status by the time that it comes to it.
func (r *Remover) removeStatus(ctx context.Context, is project.Removal, done func(context.Context, []project.ItemID) error) error {
	for shard := range Shards {
		for after := (Place{}); ; {
			names, next, err := r.Truth.ListByStatus(ctx, is.Project, is.Status, shard, after, removesAtOnce)
			if err != nil {
				return err
			}
			ids := make([]project.ItemID, len(names))
			for n, name := range names {
				ids[n] = project.ItemID{Project: is.Project, ID: name}
			}
			if err := done(ctx, ids); err != nil {
				return err
			}
			if after = next; next == (Place{}) {
				break
			}
		}
	}
	return nil
}

// finishHalves goes on with items of which a lost server has taken not all efforts out of the statistics: they are not listed under their status
// any more.
func (r *Remover) finishHalves(ctx context.Context, is project.Removal) error {
	for after := ""; ; {
		ids, err := r.Truth.ListRemoved(ctx, is.TransferID, after, removesAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		if _, err := r.removeSome(ctx, is, ids); err != nil {
			return err
		}
		after = ids[len(ids)-1].ID
	}
}

// chunk reads items with their efforts, and does something with each, some at a time. Those that are gone are left out.
func (r *Remover) chunk(ctx context.Context, ids []project.ItemID, do func(context.Context, project.Item, []project.Effort) error) error {
	items, efforts, errs := r.Truth.ItemsWithEfforts(ctx, ids)
	failed := make([]error, len(ids))
	each(len(ids), func(n int) {
		switch err := errs[n]; {
		case fault.Is(err, fault.NotFound):
		case err != nil:
			failed[n] = err
		default:
			failed[n] = do(ctx, items[n], efforts[n])
		}
	})
	return errors.Join(failed...)
}

// removeSome removes items, and returns how many are removed by this.
func (r *Remover) removeSome(ctx context.Context, is project.Removal, ids []project.ItemID) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	counts := make(chan bool, len(ids))
	err := r.chunk(ctx, ids, func(ctx context.Context, i project.Item, efforts []project.Effort) error {
		removed, err := r.removeOne(ctx, is, i, efforts)
		counts <- removed
		return err
	})
	close(counts)
	n := 0
	for removed := range counts {
		if removed {
			n++
		}
	}
	return n, err
}

// removeOne removes an item, and takes its efforts out of the statistics. It reports whether the item was there until then.
func (r *Remover) removeOne(ctx context.Context, is project.Removal, i project.Item, efforts []project.Effort) (bool, error) {
	removed := false
	err := r.until(ctx, i, efforts, func(i project.Item, efforts []project.Effort) (m Move, last bool, err error) {
		if i.Status.Hidden() && (i.Removal != is.ID || i.Status == project.Purged) || !i.Status.Hidden() && is.Status != "" && i.Status != is.Status {
			return Move{}, true, errSettled
		}
		left := slices.DeleteFunc(slices.Clone(efforts), func(e project.Effort) bool { return !e.RemovedAt.IsZero() })
		if i.Status.Hidden() && len(left) == 0 {
			return Move{}, true, errSettled
		}
		m = r.moved(i, is, Removed, left[:min(len(left), MostEfforts)], func(e *project.Effort, at time.Time) { e.RemovedAt = at })
		if i.Status != project.Removed {
			m.After.Was, m.After.Removal = i.Status, is.ID
			if i.Status == project.Claimed {
				m.After.Was = project.New
			}
			m.Transition.From = m.After.Was
		}
		m.After.Status = project.Removed
		removed = removed || i.Status != project.Removed
		return m, len(left) <= MostEfforts, nil
	})
	return removed, err
}

// restoreOne brings an item back: first its efforts, as far as there are too many for one step, then the item with the others.
func (r *Remover) restoreOne(ctx context.Context, is project.Removal, i project.Item, efforts []project.Effort) error {
	return r.until(ctx, i, efforts, func(i project.Item, efforts []project.Effort) (m Move, last bool, err error) {
		if i.Status != project.Removed || i.Removal != is.ID {
			return Move{}, true, errSettled
		}
		left := slices.DeleteFunc(slices.Clone(efforts), func(e project.Effort) bool { return e.RemovedAt.IsZero() })
		m = r.moved(i, is, Restored, left[:min(len(left), MostEfforts)], func(e *project.Effort, _ time.Time) { e.RemovedAt = time.Time{} })
		if len(left) <= MostEfforts {
			m.After.Status, m.After.Was, m.After.Removal = i.Was, "", ""
		}
		return m, len(left) <= MostEfforts, nil
	})
}

// moved is the move of an item by a removal, with efforts that change. Their words are still to be told.
func (r *Remover) moved(i project.Item, is project.Removal, cause Cause, efforts []project.Effort, change func(*project.Effort, time.Time)) Move {
	after := r.next(i)
	m := Move{Before: i, After: after, Efforts: slices.Clone(efforts), Transition: &Transition{
		ID: r.NewID(), Cause: cause, Project: i.Project, Item: i.ID, Version: after.Version, From: i.Status,
		User: is.CreatedBy, Team: is.Team, Token: i.Claim.Token, Author: cmp.Or(i.Claim.User, i.ReturnedTo), At: after.UpdatedAt,
	}}
	for n := range m.Efforts {
		change(&m.Efforts[n], after.UpdatedAt)
		m.Efforts[n].UpdatedAt = after.UpdatedAt
	}
	return m
}

// errSettled says that there is nothing to be done with an item any more.
var errSettled = errors.New("there is nothing to be done")

// until moves an item again and again as decide says, until there is nothing to be done; decide gets the item with all its efforts as they
// are at one moment.
func (r *Remover) until(ctx context.Context, i project.Item, efforts []project.Effort, decide func(project.Item, []project.Effort) (m Move, last bool, err error)) error {
	var conflict *project.ItemConflict
	for range r.turns.Until(ctx, string(i.Project)+" "+i.ID) {
		m, last, err := decide(i, efforts)
		if errors.Is(err, errSettled) {
			return nil
		}
		m.Transition.Status = m.After.Status
		if err = r.tellCounted(ctx, &m); err == nil {
			err = r.move(ctx, &m, idempotency.Key{})
		}
		if err == nil && last || err != nil && !errors.As(err, &conflict) {
			return ignoreMissing(err)
		}
		if i, efforts, err = r.Truth.ItemWithEfforts(ctx, i.ItemID); err != nil {
			return ignoreMissing(err)
		}
	}
	return retry.Busy("this item")
}

// tellCounted gives the transition of a move what its efforts found, as far as it counts.
func (r *Remover) tellCounted(ctx context.Context, m *Move) error {
	for _, e := range m.Efforts {
		if !e.UndoneAt.IsZero() {
			continue
		}
		var named Transition
		if err := r.tell(ctx, e, &named); err != nil {
			return err
		}
		m.Transition.Efforts = append(m.Transition.Efforts, CountedEffort{
			User: e.User, Team: e.Team, Category: named.Category, Subcategory: named.Subcategory, Keywords: e.Keywords, Incorrect: e.Review.Verdict == project.Incorrect,
		})
	}
	return nil
}

// empty takes everything from a removal, and ends it. A server that lost the task may have gone on for a moment, so it looks again a while
// after it found nothing.
func (r *Remover) empty(ctx context.Context, is project.Removal, end project.RemovalState, some func(context.Context, project.Removal, []project.ItemID) (wait bool, err error)) (time.Time, error) {
	progress := &saved{Remover: r, is: is, at: r.Now()}
	for looked := false; ; {
		ids, err := r.Truth.ListRemoved(ctx, is.TransferID, "", removesAtOnce)
		if err != nil {
			return time.Time{}, err
		}
		if len(ids) == 0 {
			if looked {
				return time.Time{}, progress.put(ctx, end, func(next *project.Removal) { next.Left = 0 })
			}
			looked = true
			if err := pause(ctx, r.settle); err != nil {
				return time.Time{}, err
			}
			continue
		}
		wait, err := some(ctx, is, ids)
		if err != nil {
			return time.Time{}, err
		}
		if wait {
			return r.Now().Add(purgeAgain), nil
		}
		if err := progress.save(ctx, func(next *project.Removal) { next.Left = max(next.Left-len(ids), 0) }); err != nil {
			return time.Time{}, err
		}
	}
}

// restoreAll brings items back.
func (r *Remover) restoreAll(ctx context.Context, is project.Removal, ids []project.ItemID) (bool, error) {
	items, efforts, errs := r.Truth.ItemsWithEfforts(ctx, ids)
	failed := make([]error, len(ids))
	each(len(ids), func(n int) {
		err := errs[n]
		if err == nil && items[n].Removal == is.ID && items[n].Status == project.Removed {
			failed[n] = r.restoreOne(ctx, is, items[n], efforts[n])
			return
		}
		if err = ignoreMissing(err); err == nil { // it was imported again, or is gone
			err = r.Truth.ForgetRemoved(ctx, is.TransferID, ids[n])
		}
		failed[n] = err
	})
	return false, errors.Join(failed...)
}

// purgeAll has items go, but for those that have to wait.
func (r *Remover) purgeAll(ctx context.Context, is project.Removal, ids []project.ItemID) (waits bool, err error) {
	wait, importing, others, err := r.purge(ctx, ids, func(i project.Item) bool { return i.Removal == is.ID })
	for _, id := range others { // brought back, or gone
		if err == nil {
			err = r.Truth.ForgetRemoved(ctx, is.TransferID, id)
		}
	}
	return len(wait)+len(importing) > 0, err
}

// purge has removed items go that are of a kind. It returns those that have to wait, since the outbox still has something of them, or since
// the import is under way that brought them and says how many there are; and those that are not of the kind, or not removed.
func (r *Remover) purge(ctx context.Context, ids []project.ItemID, kind func(project.Item) bool) (wait, importing, others []project.ItemID, err error) {
	pending, err := r.Truth.ListOutbox(ctx, r.Now().Add(farAhead), wholeOutbox)
	if err != nil {
		return nil, nil, nil, err
	}
	awaited := map[project.ItemID]bool{}
	for _, t := range pending {
		awaited[project.ItemID{Project: t.Project, ID: t.Item}] = true
	}
	items, _, errs := r.Truth.ItemsByID(ctx, "", ids)
	if err := firstError(errs); err != nil {
		return nil, nil, nil, err
	}
	under, err := r.importing(ctx, items)
	if err != nil {
		return nil, nil, nil, err
	}
	var ready []project.Item
	for n, i := range items {
		switch {
		case errs != nil && errs[n] != nil, !i.Status.Hidden(), !kind(i):
			others = append(others, ids[n])
		case under[i.Import]:
			importing = append(importing, ids[n])
		case awaited[ids[n]]:
			wait = append(wait, ids[n])
		default:
			ready = append(ready, i)
		}
	}
	failed := make([]error, len(ready))
	each(len(ready), func(n int) { failed[n] = r.Truth.PurgeItem(ctx, ready[n]) })
	return wait, importing, others, errors.Join(failed...)
}

// importing returns which of the imports that brought items are under way.
func (r *Remover) importing(ctx context.Context, items []project.Item) (map[string]bool, error) {
	var ids []project.TransferID
	seen := map[string]bool{"": true}
	for _, i := range items {
		if i.Status.Hidden() && !seen[i.Import] {
			seen[i.Import] = true
			ids = append(ids, project.TransferID{Project: i.Project, ID: i.Import})
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	under := map[string]bool{}
	imports, errs := r.Truth.ImportsByID(ctx, ids)
	for n, i := range imports {
		if errs != nil && errs[n] != nil {
			if fault.Is(errs[n], fault.NotFound) {
				continue
			}
			return nil, errs[n]
		}
		under[i.ID] = !i.State.Ended()
	}
	return under, nil
}

// PurgeRemoved has removed items go that are to be imported again: from then on they cannot be brought back. Those stay that an import brought
// which is under way. Unavailable when the queue does not follow the removal in time.
func (r *Remover) PurgeRemoved(ctx context.Context, ids []project.ItemID) error {
	for tries := 0; ; tries++ {
		var err error
		if ids, _, _, err = r.purge(ctx, ids, func(project.Item) bool { return true }); err != nil || len(ids) == 0 {
			return err
		}
		if tries == purgeTries {
			return fault.New(fault.Unavailable, "the queue has not followed the removal of the items yet")
		}
		if err := pause(ctx, purgeSoon); err != nil {
			return err
		}
	}
}
