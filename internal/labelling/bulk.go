package labelling

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
)

const bulkAtOnce = 100 // items that are read together

// bulk changes many items of a project in the background, each with its efforts in transactions of its own.
type bulk struct {
	Options
	turns  *retry.Turns
	settle time.Duration // how long indexes may lag behind, and a server that lost the task, or what was begun before, may go on
}

func newBulk(o Options, settle time.Duration) bulk {
	return bulk{Options: o, turns: &retry.Turns{}, settle: cmp.Or(settle, Settle)}
}

// chunk reads items with their efforts, and does something with each, some at a time. Those that are gone are left out.
func (b bulk) chunk(ctx context.Context, ids []project.ItemID, do func(context.Context, project.Item, []project.Effort) error) error {
	items, efforts, errs := b.Truth.ItemsWithEfforts(ctx, ids)
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

// errSettled says that there is nothing to be done with an item any more.
var errSettled = errors.New("there is nothing to be done")

// until moves an item again and again as decide says, until there is nothing to be done; decide gets the item with all its efforts as they
// are at one moment.
func (b bulk) until(ctx context.Context, i project.Item, efforts []project.Effort, decide func(project.Item, []project.Effort) (m Move, last bool, err error)) error {
	var conflict *project.ItemConflict
	for range b.turns.Until(ctx, string(i.Project)+" "+i.ID) {
		m, last, err := decide(i, efforts)
		switch {
		case errors.Is(err, errSettled):
			return nil
		case err != nil:
			return err
		}
		if m.Transition != nil {
			m.Transition.Status = m.After.Status
		}
		err = b.move(ctx, &m, idempotency.Key{})
		if err == nil && last || err != nil && !errors.As(err, &conflict) {
			return domain.IgnoreMissing(err)
		}
		if i, efforts, err = b.Truth.ItemWithEfforts(ctx, i.ItemID); err != nil {
			return domain.IgnoreMissing(err)
		}
	}
	return retry.Busy("this item")
}
