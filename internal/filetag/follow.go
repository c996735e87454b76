package filetag

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
)

// following bounds how many items are followed at a time.
const following = 8

// FollowItems makes the rows of the items' tags what they have to be, now that who may read the items, their sets, or whether there are
// such items has changed. It can be run again at any time.
func (s *Service) FollowItems(ctx context.Context, items []score.ItemRef) error {
	var group errgroup.Group
	group.SetLimit(following)
	for _, ref := range items {
		group.Go(func() error { return s.followItem(ctx, ref) })
	}
	return group.Wait()
}

func (s *Service) followItem(ctx context.Context, ref score.ItemRef) error {
	sets, err := first(s.Store.ListSets(ctx, []SetsRequest{{Item: ref}}))
	if err != nil {
		return fmt.Errorf("follow item %s: %w", ref.ID, err)
	}
	for _, set := range sets {
		if _, err := s.followSet(ctx, set); err != nil {
			return fmt.Errorf("follow item %s: %w", ref.ID, err)
		}
	}
	return nil
}

// followSet makes the rows of a set what they have to be; of an item that is gone none. It reports whether something was written.
func (s *Service) followSet(ctx context.Context, before Set) (written bool, err error) {
	for range attempts {
		via, err := s.via(ctx, before.Item, before.Via)
		if err != nil {
			return written, err
		}
		after, proof, err := s.current(ctx, before, via)
		if fault.Is(err, fault.NotFound) {
			after, proof = before, Proof{}
			after.Tags, after.Version = nil, s.NewID()
		} else if err != nil {
			return written, err
		}
		if before.Version == "" || before.same(after.Index) && before.Counted == nil {
			return written, nil
		}
		kept, err := s.Store.PutSet(ctx, before, after, proof, idempotency.Key{})
		if err == nil && kept.Counted == nil {
			return true, nil
		}
		if err != nil && !errors.Is(err, ErrMoved) {
			return written, err
		}
		written = written || err == nil
		if before, err = first(s.Store.FindSets(ctx, []Key{before.Key})); err != nil {
			return written, err
		}
	}
	return written, fault.New(fault.Conflict, "others change the tags of this item again and again")
}
