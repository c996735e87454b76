package labelling

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
)

// MaxReturns bounds how many skipped items come back at once.
const MaxReturns = 100

// ReturnSkipped is the input of [Service.ReturnSkipped].
type ReturnSkipped struct {
	Project        project.ID
	Items          []project.ItemID // 1 to MaxReturns; nil for the next MaxReturns of the project
	IdempotencyKey *string          `json:"-"`
}

// ComeBack are items that were skipped for nobody, and wait again.
type ComeBack struct {
	Items []project.Item
	More  *bool // whether there are others; nil when the items were named
}

// ReturnSkipped brings back what was skipped for nobody, for managers: each item is NEW again and waits before others. Items that are
// not SKIPPED stay as they are. Each comes back in a transaction of its own: when some could not be brought back the error says why,
// and the same request with the same key brings back the rest, and nothing that was skipped again since. Invalid for an item that
// does not exist, or is of another project.
//
// Cost: 1 BatchGetItem and 1 TransactWriteItems per item; for the next ones at least 1 Query and at most 1 per shard (16), and more
// only where the index still shows what came back a moment ago.
func (s *Service) ReturnSkipped(ctx context.Context, in ReturnSkipped) (ComeBack, error) {
	if in.Items != nil && (len(in.Items) < 1 || len(in.Items) > MaxReturns) {
		return ComeBack{}, fault.Invalidf("input.itemIds", "give 1 to %d items", MaxReturns)
	}
	for n, id := range in.Items {
		if id.Project != in.Project {
			return ComeBack{}, fault.Invalidf(fmt.Sprintf("input.itemIds.%d", n), "this item is of another project")
		}
	}
	return once(ctx, s, "returnSkippedItems", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (ComeBack, error) {
		p, err := s.project(ctx, in.Project, project.Manager)
		if err != nil {
			return ComeBack{}, err
		}
		var more *bool
		var items []project.Item
		if in.Items == nil {
			more = new(bool)
			items, *more, err = s.nextSkipped(ctx, p.ID, MaxReturns)
		} else {
			items, err = s.skippedOf(ctx, in.Items)
		}
		if err != nil {
			return ComeBack{}, err
		}
		back, err := s.comeBack(ctx, p, items, key, more)
		if err == nil && key.Given() && len(back) == 0 { // the same request may have been faster
			err = s.Truth.FindIdempotencyKey(ctx, key)
		}
		return ComeBack{Items: back, More: more}, err
	}, func(ctx context.Context, result []string) (ComeBack, error) {
		return s.comeBackAgain(ctx, in.Project, result)
	})
}

// skippedOf returns those of the given items that are skipped, each once.
func (s *Service) skippedOf(ctx context.Context, ids []project.ItemID) ([]project.Item, error) {
	items, _, errs := s.Truth.ItemsByID(ctx, "", ids)
	seen := map[string]bool{}
	var skipped []project.Item
	for n, item := range items {
		switch {
		case errs != nil && fault.Is(errs[n], fault.NotFound), item.Status.Hidden():
			return nil, fault.Invalidf(fmt.Sprintf("input.itemIds.%d", n), "there is no such item")
		case errs != nil && errs[n] != nil:
			return nil, errs[n]
		case item.Status == project.Skipped && !seen[item.ID]:
			seen[item.ID] = true
			skipped = append(skipped, item)
		}
	}
	return skipped, nil
}

// nextSkipped returns up to n skipped items, shard after shard, and whether there are more. What the index still shows of items that
// have come back is left out.
func (s *Service) nextSkipped(ctx context.Context, p project.ID, n int) (skipped []project.Item, more bool, err error) {
	for shard := range Shards {
		for after := (Place{}); ; {
			names, next, err := s.Truth.ListByStatus(ctx, p, project.Skipped, shard, after, n+1-len(skipped))
			if err != nil {
				return nil, false, err
			}
			ids := make([]project.ItemID, len(names))
			for i, name := range names {
				ids[i] = project.ItemID{Project: p, ID: name}
			}
			if len(ids) > 0 {
				items, _, errs := s.Truth.ItemsByID(ctx, "", ids)
				if err := firstError(errs); err != nil {
					return nil, false, err
				}
				for i, item := range items {
					if (errs == nil || errs[i] == nil) && item.Status == project.Skipped {
						skipped = append(skipped, item)
					}
				}
			}
			if len(skipped) > n {
				return skipped[:n], true, nil
			}
			if after = next; next == (Place{}) {
				break
			}
		}
	}
	return skipped, false, nil
}

// comeBack brings items back, and returns those that came back. The key is recorded with the first of them, together with all, each
// as it was seen: so a request that was cut off is carried on by the same one.
func (s *Service) comeBack(ctx context.Context, p project.Project, items []project.Item, key idempotency.Key, more *bool) ([]project.Item, error) {
	back, errs := make([]*project.Item, len(items)), make([]error, len(items))
	begin := 0
	for ; key.Given() && begin < len(items); begin++ {
		result := []string{comeBackMore(more)}
		for _, item := range items[begin:] {
			result = append(result, strconv.Itoa(item.Version)+" "+item.ID)
		}
		var err error
		if back[begin], err = s.comeBackOne(ctx, p, items[begin], key.With(result...)); err != nil {
			return nil, err
		}
		if back[begin] != nil {
			key = idempotency.Key{}
		}
	}
	each(len(items)-begin, func(i int) {
		back[begin+i], errs[begin+i] = s.comeBackOne(ctx, p, items[begin+i], idempotency.Key{})
	})
	if err := firstError(errs); err != nil {
		return nil, err
	}
	var came []project.Item
	for _, item := range back {
		if item != nil {
			came = append(came, *item)
		}
	}
	return came, nil
}

// comeBackOne makes a skipped item NEW; nil when it is not skipped any more.
func (s *Service) comeBackOne(ctx context.Context, p project.Project, before project.Item, key idempotency.Key) (*project.Item, error) {
	var conflict *project.ItemConflict
	for range s.turns.Until(ctx, string(before.Project)+" "+before.ID) {
		if before.Status != project.Skipped {
			return nil, nil //nolint:nilnil // somebody was faster
		}
		after := s.next(before)
		after.Status, after.ReturnedTo = project.New, ""
		m := Move{Before: before, After: after, Transition: &Transition{
			ID: s.NewID(), Cause: Returns, Project: after.Project, Item: after.ID, Version: after.Version, From: before.Status, Status: after.Status,
			User: p.Member.User, Team: p.Member.Team, At: after.UpdatedAt,
		}}
		err := s.move(ctx, &m, key)
		if err == nil {
			shown := p.Item(m.After)
			return &shown, nil
		}
		if !errors.As(err, &conflict) {
			return nil, domain.IgnoreMissing(err)
		}
		before = conflict.Current
	}
	return nil, retry.Busy("this item")
}

// comeBackMore spells for the result of a key whether there are more.
func comeBackMore(more *bool) string {
	if more == nil {
		return ""
	}
	return strconv.FormatBool(*more)
}

// comeBackAgain carries on what an earlier request of the same key began, and returns what came back by it, as it is now. An item
// that is not as that request saw it has come back before.
func (s *Service) comeBackAgain(ctx context.Context, id project.ID, result []string) (ComeBack, error) {
	p, err := s.project(ctx, id, project.Manager)
	if err != nil {
		return domain.Gone(ComeBack{}, err)
	}
	var all ComeBack
	if more, err := strconv.ParseBool(result[0]); err == nil {
		all.More = &more
	}
	ids, versions := make([]project.ItemID, len(result)-1), make([]string, len(result)-1)
	for n, one := range result[1:] {
		ids[n].Project = id
		versions[n], ids[n].ID, _ = strings.Cut(one, " ")
	}
	items, _, errs := s.Truth.ItemsByID(ctx, "", ids)
	if err := firstError(errs); err != nil {
		return ComeBack{}, err
	}
	var left []project.Item
	for n, item := range items {
		switch {
		case errs != nil && errs[n] != nil, item.Status.Hidden(): // it is gone
		case item.Status == project.Skipped && strconv.Itoa(item.Version) == versions[n]:
			left = append(left, item)
		default:
			all.Items = append(all.Items, p.Item(item))
		}
	}
	rest, err := s.comeBack(ctx, p, left, idempotency.Key{}, nil)
	all.Items = append(all.Items, rest...)
	return all, err
}
