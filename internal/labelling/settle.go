package labelling

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
)

const (
	// settling is how long a change that was not answered is asked after before the request is answered.
	settling = 3 * time.Second
	// settleAgain is the pause between two tries.
	settleAgain = 100 * time.Millisecond
)

// unanswered reports whether an error leaves it open whether a change was made.
func unanswered(err error) bool {
	return fault.Is(err, fault.Unavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// found is what came out about a claim whose write was not answered.
type found int

const (
	nothing found = iota // the truth does not answer
	ours                 // it was made
	never                // it was not, and will not be any more
	theirs               // the item is somebody else's, or gone
)

// settle finds out what became of a claim whose write was not answered, until the context ends. A write that is still on its way finds
// another version of the item when it arrives, so that nobody comes to have an item by a token that was never told.
func (o Options) settle(ctx context.Context, c Claim) (project.Item, found) {
	for {
		item, outcome := o.settleOnce(ctx, c)
		if outcome != nothing || pause(ctx, settleAgain) != nil {
			return item, outcome
		}
	}
}

func (o Options) settleOnce(ctx context.Context, c Claim) (project.Item, found) {
	items, _, errs := o.Truth.ItemsByID(ctx, "", []project.ItemID{c.Item})
	item, err := domain.First(items, errs)
	for range retry.Until(ctx) {
		switch {
		case fault.Is(err, fault.NotFound):
			return item, theirs
		case err != nil:
			return item, nothing
		case item.Status == project.Claimed && item.Claim.Token == c.Token:
			return item, ours
		case item.Status != project.New:
			return item, theirs
		}
		after := o.next(item)
		err = o.Truth.MoveItem(ctx, Move{Before: item, After: after}, idempotency.Key{})
		conflict, changed := errors.AsType[*project.ItemConflict](err)
		switch {
		case err == nil:
			return after, never
		case changed:
			item, err = conflict.Current, nil
		}
	}
	return item, nothing
}

// settleAll settles claims of a request before it is answered, and returns the items that turned out to be the user's. Those of which
// nothing can be found out are given back later, since nobody is told of them.
func (c *claiming) settleAll(ctx context.Context, open []Claim) []project.Item {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	var mu sync.Mutex
	var got []project.Item
	each(len(open), func(i int) {
		item, outcome := c.settle(ctx, open[i])
		switch outcome {
		case ours:
			c.hold(ctx, item, c.project.Member.Team, firstTime)
			mu.Lock()
			defer mu.Unlock()
			got = append(got, c.project.Item(item))
		case never:
			c.cancel(ctx, open[i], true)
		case theirs:
			c.cancel(ctx, open[i], false)
		case nothing:
			if !c.keyed { // else the same request again is told
				c.giveBackLater(open[i])
			}
		}
	})
	return got
}

// giveBackLater takes back a claim that nobody was told of, as soon as the truth answers again.
func (s *Service) giveBackLater(claim Claim) {
	s.rebuild.all.Go(func() {
		ctx, cancel := context.WithTimeout(s.rebuild.ctx, Lease)
		defer cancel()
		switch item, outcome := s.settle(ctx, claim); outcome {
		case ours:
			back := s.ended(item, "", Released, project.New)
			err := s.move(ctx, &back, idempotency.Key{})
			if _, conflict := errors.AsType[*project.ItemConflict](err); err != nil && !conflict {
				s.Log.WarnContext(ctx, "a claim that nobody was told of was not given back; it will expire", "item", claim.Item.ID, "error", err)
			}
		case never:
			s.cancel(ctx, claim, true)
		case theirs:
			s.cancel(ctx, claim, false)
		case nothing:
			s.Log.WarnContext(ctx, "a claim that nobody was told of may have been made; then it will expire", "item", claim.Item.ID)
		}
	})
}
