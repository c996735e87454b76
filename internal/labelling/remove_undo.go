package labelling

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// restoreAll brings items of a removal back. One that an import had begun to purge cannot come back: it is purged to the end.
func (r *Remover) restoreAll(ctx context.Context, is project.Removal, ids []project.ItemID) (waiting int, err error) {
	items, efforts, errs := r.Truth.ItemsWithEfforts(ctx, ids)
	failed := make([]error, len(ids))
	each(len(ids), func(n int) {
		i := items[n]
		switch {
		case errs != nil && errs[n] != nil && !fault.Is(errs[n], fault.NotFound):
			failed[n] = errs[n]
		case errs != nil && errs[n] != nil, i.Removal != is.ID: // it is gone, or was imported again
			failed[n] = r.Truth.ForgetRemoved(ctx, is.TransferID, ids[n])
		case i.Status == project.Purged:
			failed[n] = r.Truth.PurgeItem(ctx, i, nil)
		default:
			failed[n] = r.restoreOne(ctx, is, i, efforts[n])
		}
	})
	return 0, errors.Join(failed...)
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
