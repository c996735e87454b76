package filetag

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/score"
)

// following bounds how many items are followed at a time, and how many sets of each.
const following = 8

// reliedOn is for how long what was read of how things stand is relied on. It is less than what [Settle] leaves to others.
const reliedOn = 20 * time.Second

// FollowItems makes the rows of the items' tags what they have to be, now that who may read the items, their sets, or whether there are
// such items has changed. See [score.Follower].
func (s *Service) FollowItems(ctx context.Context, items []score.ItemRef, by score.ID) error {
	return each(items, func(ref score.ItemRef) error {
		if err := s.followItem(ctx, ref, by); err != nil {
			return fmt.Errorf("follow item %s: %w", ref.ID, err)
		}
		return nil
	})
}

// each does the same with all of them, [following] at a time, whatever becomes of the others.
func each[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(following)
	for i, one := range all {
		group.Go(func() error {
			defer fault.Recovered(&errs[i])
			errs[i] = do(one)
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	return errors.Join(errs...)
}

// followItem follows the sets of an item, in pages, all as things stood when the page was read, and again if they stood otherwise once it
// was written: what shows the item by then may have looked at the sets before they were written.
func (s *Service) followItem(ctx context.Context, ref score.ItemRef, by score.ID) error {
	var errs []error
	for request := (SetsRequest{Item: ref, Limit: page.Max}); ; {
		sets, err := domain.First(s.Store.ListSets(ctx, []SetsRequest{request}))
		if err != nil || len(sets) == 0 {
			return errors.Join(append(errs, err)...)
		}
		via, err := s.via(ctx, ref, by, sets[0].Via)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		is, err := s.stands(ctx, sets[0].Item, via)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		failed := each(sets, func(set Set) error { return s.follow(ctx, set, is, by) })
		now, err := s.via(ctx, ref, by, via.ID)
		if err != nil {
			return errors.Join(append(errs, failed, err)...)
		}
		if now.ID != via.ID {
			continue
		}
		errs = append(errs, failed)
		if len(sets) < request.Limit {
			return errors.Join(errs...)
		}
		request.From, request.Behind = sets[len(sets)-1].Author, true
	}
}

// follow makes the rows of a set what they have to be as things stand, or as they stand when that is no longer so.
func (s *Service) follow(ctx context.Context, set Set, is stands, by score.ID) error {
	_, done, err := s.put(ctx, set, is)
	if done || err != nil {
		return err
	}
	if set, err = domain.First(s.Store.FindSets(ctx, []Key{set.Key})); err == nil {
		_, err = s.followSet(ctx, set, by)
	}
	return err
}

// followSet makes the rows of a set what they have to be; of an item that is gone none. It looks again once they are written, as followItem
// does, and returns the set as it is then.
func (s *Service) followSet(ctx context.Context, set Set, by score.ID) (Set, error) {
	for range retry.Until(ctx) {
		via, err := s.via(ctx, set.Item, by, set.Via)
		if err != nil {
			return set, err
		}
		is, err := s.stands(ctx, set.Item, via)
		if err != nil {
			return set, err
		}
		kept, done, err := s.put(ctx, set, is)
		if err != nil {
			return set, err
		}
		if done {
			now, err := s.via(ctx, set.Item, by, via.ID)
			if err != nil || now.ID == via.ID {
				return kept, err
			}
		}
		if set, err = domain.First(s.Store.FindSets(ctx, []Key{set.Key})); err != nil {
			return set, err
		}
	}
	return set, retry.Busy("the tags of this item")
}

// put keeps the set as it has to be as things stand; not done when they stand otherwise by now, or when counts had to wait.
func (s *Service) put(ctx context.Context, before Set, is stands) (after Set, done bool, err error) {
	after = s.standing(before, is)
	if s.Now().Sub(is.at) > reliedOn {
		return before, false, nil
	}
	if before.Version == "" || before.same(after.Index) && before.Counted == nil {
		return before, true, nil
	}
	kept, err := s.Store.PutSet(ctx, before, after, is.Proof, idempotency.Key{})
	if errors.Is(err, ErrMoved) {
		return before, false, nil
	}
	return kept, err == nil && kept.Counted == nil, err
}
