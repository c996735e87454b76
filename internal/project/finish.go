package project

import (
	"context"
	"errors"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
)

// Finish is the input of [Service.Finish].
type Finish struct {
	Item           ItemID
	Category       LabelID
	Subcategory    *LabelID
	Keywords       []string
	IdempotencyKey *string `json:"-"`
}

// FinishedItem is an item after it was finished, and that the viewer did it.
type FinishedItem struct {
	Item   Item
	Effort Effort
}

// Finish says what an item is, for members. It returns *[ItemConflict] as an expected outcome when the item is not NEW.
func (s *Service) Finish(ctx context.Context, in Finish) (FinishedItem, error) {
	keywords, err := parseKeywords("input.keywords", in.Keywords, MaxKeywords)
	if err != nil {
		return FinishedItem{}, err
	}
	return once(ctx, s, "finishProjectItem", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (FinishedItem, error) {
		var conflict *ItemConflict
		for range attempts {
			done, err := s.finish(ctx, in, keywords, key)
			// One that was found out before anything was written says how the item is.
			if !errors.As(err, &conflict) || conflict.Current.Status != New {
				return done, err
			}
		}
		return FinishedItem{}, fault.Wrap(fault.Conflict, conflict, "somebody else changes this item again and again")
	}, func(ctx context.Context, result []string) (FinishedItem, error) {
		item, _, err := s.item(ctx, in.Item)
		if err != nil {
			return gone(FinishedItem{}, err)
		}
		effort, err := first(s.EffortsByID(ctx, []Ref[EffortID]{{ID: EffortID{Project: item.Project, ID: result[0]}, as: item.as}}))
		return gone(FinishedItem{Item: item, Effort: effort}, err)
	})
}

func (s *Service) finish(ctx context.Context, in Finish, keywords []string, key idempotency.Key) (FinishedItem, error) {
	before, member, err := s.item(ctx, in.Item)
	if err != nil {
		return FinishedItem{}, err
	}
	if before.Status != New {
		return FinishedItem{}, &ItemConflict{Current: before}
	}
	after := before
	after.Category, after.Subcategory, after.Keywords = in.Category.ID, "", keywords
	if in.Subcategory != nil {
		after.Subcategory = in.Subcategory.ID
	}
	if err := s.checkLabels(ctx, in); err != nil {
		return FinishedItem{}, err
	}
	after.Status = Finished
	after.Version++
	after.UpdatedAt = s.later(before.UpdatedAt)
	effort := Effort{
		EffortID: EffortID{Project: before.Project, ID: s.newID()}, Item: before.ID, User: member.User, Team: member.Team,
		Category: after.Category, Subcategory: after.Subcategory, Keywords: keywords, FinishedAt: after.UpdatedAt, UpdatedAt: after.UpdatedAt,
		as: before.as,
	}
	after.Efforts, after.LastEffort = before.Efforts+1, effort.ID
	err = s.store.FinishItem(ctx, before, after, effort, key.With(effort.ID))
	if _, conflict := errors.AsType[*ItemConflict](err); conflict {
		current, _, err := s.item(ctx, in.Item)
		if err != nil {
			return FinishedItem{}, err
		}
		return FinishedItem{}, &ItemConflict{Current: current}
	}
	return FinishedItem{Item: after, Effort: effort}, err
}

// item returns the item with the viewer's membership in its project.
func (s *Service) item(ctx context.Context, id ItemID) (Item, Member, error) {
	me, err := self(ctx)
	if err != nil {
		return Item{}, Member{}, err
	}
	items, members, errs := s.store.ItemsByID(ctx, me, []ItemID{id})
	member := members[id.Project]
	if err := allow(proof(member.Type), Taggie, "item"); err != nil {
		if len(errs) > 0 && errs[0] != nil {
			err = errs[0] // which may be that nothing could be read
		}
		return Item{}, Member{}, err
	}
	item, err := first(items, errs)
	item.as = proof(member.Type)
	return item, member, err
}

// checkLabels returns Invalid when a label is not of the lists of the item's project.
func (s *Service) checkLabels(ctx context.Context, in Finish) error {
	ids, fields, kinds := []LabelID{in.Category}, []string{"input.categoryId"}, []Kind{Category}
	if in.Subcategory != nil {
		ids, fields, kinds = append(ids, *in.Subcategory), append(fields, "input.subcategoryId"), append(kinds, Subcategory)
	}
	for i, id := range ids {
		if id.Project != in.Item.Project || id.Kind != kinds[i] {
			return fault.Invalidf(fields[i], "this is not in the list of the project")
		}
	}
	_, errs := s.store.LabelsByID(ctx, ids)
	for i, err := range errs {
		if fault.Is(err, fault.NotFound) {
			return fault.Invalidf(fields[i], "this is not in the list of the project")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
