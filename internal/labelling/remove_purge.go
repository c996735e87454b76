package labelling

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// purgeTries is how often an import looks whether the queue has followed a removal, purgeSoon the pause between.
const purgeTries, purgeSoon = 30, 100 * time.Millisecond

// purgeAll purges items of a removal, and reports whether some have to wait.
func (r *Remover) purgeAll(ctx context.Context, is project.Removal, ids []project.ItemID) (waiting int, err error) {
	found, err := r.purge(ctx, ids, func(i project.Item) bool { return i.Removal == is.ID })
	return len(found.waiting) + len(found.importing), errors.Join(err, r.forget(ctx, is, found.others))
}

// forget removes the links of a removal to items that it does not have any more.
func (r *Remover) forget(ctx context.Context, is project.Removal, ids []project.ItemID) error {
	failed := make([]error, len(ids))
	each(len(ids), func(n int) { failed[n] = r.Truth.ForgetRemoved(ctx, is.TransferID, ids[n]) })
	return errors.Join(failed...)
}

// PurgeRemoved purges removed items that are to be imported again: from then on they cannot be brought back. Those stay that were brought by an
// import which is still under way. Unavailable when the queue does not follow the removal in time.
func (r *Remover) PurgeRemoved(ctx context.Context, ids []project.ItemID) error {
	for tries := 0; ; tries++ {
		found, err := r.purge(ctx, ids, func(project.Item) bool { return true })
		if ids = found.waiting; err != nil || len(ids) == 0 {
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

// unpurged are items that could not be purged.
type unpurged struct {
	waiting   []project.ItemID // the queue has not followed everything, some efforts are still counted, or somebody changed them meanwhile
	importing []project.ItemID // the import that brought them is under way, and says how many there are
	others    []project.ItemID // they are not removed, not of the kind that was asked for, or gone
}

// purge purges removed items of a kind, and returns those that it could not purge. An item is purged at the version at which nothing of it
// counts any more and the queue has followed its last transition. Efforts that are still counted are taken out first: an item with many may be half
// removed, or half brought back.
func (r *Remover) purge(ctx context.Context, ids []project.ItemID, kind func(project.Item) bool) (unpurged, error) {
	var left unpurged
	items, efforts, errs := r.Truth.ItemsWithEfforts(ctx, ids)
	if err := firstError(errs); err != nil {
		return left, err
	}
	// Only after the items were read: what changes them from now on is noticed by their versions.
	pending, err := r.Truth.LastPending(ctx, items)
	if err != nil {
		return left, err
	}
	under, err := r.importing(ctx, items)
	if err != nil {
		return left, err
	}
	var ready, counted []int
	for n, i := range items {
		switch {
		case errs != nil && errs[n] != nil, !i.Status.Hidden(), !kind(i):
			left.others = append(left.others, ids[n])
		case i.Status == project.Purged: // somebody has begun: nothing stands against it any more
			ready = append(ready, n)
		case under[i.Import]:
			left.importing = append(left.importing, ids[n])
		case slices.ContainsFunc(efforts[n], func(e project.Effort) bool { return e.RemovedAt.IsZero() }):
			counted = append(counted, n)
		case pending[n]:
			left.waiting = append(left.waiting, ids[n])
		default:
			ready = append(ready, n)
		}
	}
	failed := make([]error, len(ready)+len(counted))
	each(len(failed), func(at int) {
		if at < len(ready) {
			n := ready[at]
			failed[at] = r.Truth.PurgeItem(ctx, items[n], efforts[n])
			return
		}
		n := counted[at-len(ready)]
		failed[at] = r.takeOutRest(ctx, items[n], efforts[n])
	})
	for at, err := range failed {
		if at >= len(ready) {
			left.waiting = append(left.waiting, ids[counted[at-len(ready)]])
		} else if _, changed := errors.AsType[*project.ItemConflict](err); changed {
			left.waiting = append(left.waiting, ids[ready[at]])
			failed[at] = nil
		}
	}
	return left, errors.Join(failed...)
}

// takeOutRest takes those efforts of a removed item out of the statistics that are still counted, unless the item is being brought back.
func (r *Remover) takeOutRest(ctx context.Context, i project.Item, efforts []project.Effort) error {
	is, err := domain.First(r.Truth.RemovalsByID(ctx, []project.TransferID{{Project: i.Project, ID: i.Removal}}))
	if err != nil || is.State == project.Restoring {
		return err
	}
	_, err = r.takeOut(ctx, is, i, efforts, false)
	return err
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
