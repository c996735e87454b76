package labelling

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/project"
)

// remove removes everything that a removal is about; resumed when another run may have begun that.
func (r *Remover) remove(ctx context.Context, is project.Removal, resumed bool) (time.Time, error) {
	progress := r.saving(is)
	done := func(ctx context.Context, ids []project.ItemID) error {
		for chunk := range slices.Chunk(ids, bulkAtOnce) {
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
		// The index may not show yet what got the status just before the removal was asked for.
		if settled := is.CreatedAt.Add(r.settle); r.Now().Before(settled) {
			return settled, nil
		}
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
		return time.Time{}, domain.IgnoreMissing(err)
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
			names, next, err := r.Truth.ListByStatus(ctx, is.Project, is.Status, shard, after, bulkAtOnce)
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
		ids, err := r.Truth.ListRemoved(ctx, is.TransferID, after, bulkAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		if _, err := r.removeSome(ctx, is, ids); err != nil {
			return err
		}
		after = ids[len(ids)-1].ID
	}
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
	return r.takeOut(ctx, is, i, efforts, true)
}

// takeOut takes the efforts of an item that a removal has out of the statistics, [MostEfforts] in one step. With begin it removes an item first that is not
// removed yet, and reports whether it did.
func (r *Remover) takeOut(ctx context.Context, is project.Removal, i project.Item, efforts []project.Effort, begin bool) (bool, error) {
	removed := false
	err := r.until(ctx, i, efforts, func(i project.Item, efforts []project.Effort) (m Move, last bool, err error) {
		hidden := i.Status.Hidden()
		if hidden && (i.Removal != is.ID || i.Status == project.Purged) || !hidden && (!begin || is.Status != "" && i.Status != is.Status) {
			return Move{}, true, errSettled
		}
		left := slices.DeleteFunc(slices.Clone(efforts), func(e project.Effort) bool { return !e.RemovedAt.IsZero() })
		if hidden && len(left) == 0 {
			return Move{}, true, errSettled
		}
		m = r.moved(i, is, Removed, left[:min(len(left), MostEfforts)], func(e *project.Effort, at time.Time) { e.RemovedAt = at })
		if !hidden {
			m.After.Was, m.After.Removal = i.Status, is.ID
			if i.Status == project.Claimed {
				m.After.Was = project.New
			}
			m.Transition.From = m.After.Was
		}
		m.After.Status = project.Removed
		removed = removed || !hidden
		return m, len(left) <= MostEfforts, nil
	})
	return removed, err
}
