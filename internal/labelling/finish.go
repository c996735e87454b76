package labelling

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// Finish is the input of [Service.Finish].
type Finish struct {
	Item           project.ItemID
	Token          string
	Category       project.LabelID
	Subcategory    *project.LabelID
	Keywords       []string
	IdempotencyKey *string `json:"-"`
}

// Finish says what an item is that the viewer has. *[LeaseLost], *[ItemRemoved] and *[AlreadyFinished] are expected outcomes.
func (s *Service) Finish(ctx context.Context, in Finish) (project.FinishedItem, error) {
	return s.finish(ctx, in, "input")
}

func (s *Service) finish(ctx context.Context, in Finish, field string) (project.FinishedItem, error) {
	keywords, err := project.ParseKeywords(field+".keywords", in.Keywords, project.MaxKeywords)
	if err != nil {
		return project.FinishedItem{}, err
	}
	return once(ctx, s, "finishItem", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (project.FinishedItem, error) {
		id := project.EffortID{Project: in.Item.Project, ID: effortOf(in.Item.ID, in.Token)}
		var is [2]project.Label
		m, member, err := s.change(ctx, in.Item, key.With(id.ID), func(before project.Item, member project.Member) (Move, error) {
			if err := s.finishable(ctx, before, member, id, &in); err != nil {
				return Move{}, err
			}
			if is[0].ID == "" { // they stay what they are
				var err error
				if is, err = s.labels(ctx, in, field); err != nil {
					return Move{}, err
				}
			}
			after := s.next(before)
			after.Status, after.ReturnedTo = project.Finished, ""
			after.Category, after.Subcategory, after.Keywords = is[0].ID, is[1].ID, keywords
			after.Efforts, after.EffortsMade, after.LastEffort = before.Efforts+1, before.EffortsMade+1, id.ID
			effort := project.Effort{
				EffortID: id, Item: before.ID, User: member.User, Team: member.Team, Category: after.Category, Subcategory: after.Subcategory,
				Keywords: keywords, FinishedAt: after.UpdatedAt, UpdatedAt: after.UpdatedAt, ToReview: !before.Claim.Unreviewed,
			}
			t := transitionOf(effort, after, Finished, s.NewID())
			t.Token, t.ToReview = before.Claim.Token, toReview(project.Effort{}, effort)
			return Move{Before: before, After: after, Effort: &effort, Transition: &t}, nil
		})
		if removed, ok := errors.AsType[*ItemRemoved](err); ok {
			removed.Input = &in // so that nothing that was typed is lost
		}
		if err != nil {
			return project.FinishedItem{}, err
		}
		return project.FinishedItem{Item: m.After, Effort: of(member).Effort(*m.Effort)}, nil
	}, func(ctx context.Context, result []string) (project.FinishedItem, error) {
		item, member, err := s.item(ctx, in.Item)
		if err != nil {
			return domain.Gone(project.FinishedItem{}, missing(err))
		}
		effort, err := domain.First(s.Truth.EffortsByID(ctx, []project.EffortID{{Project: item.Project, ID: result[0]}}))
		return domain.Gone(project.FinishedItem{Item: item, Effort: of(member).Effort(effort)}, err)
	})
}

// transitionOf is the transition of an item by an effort.
func transitionOf(e project.Effort, after project.Item, cause Cause, id string) Transition {
	return Transition{
		ID: id, Cause: cause, Project: after.Project, Item: after.ID, Version: after.Version, Status: after.Status,
		User: e.User, Team: e.Team, Effort: e.ID, Category: e.Category, Subcategory: e.Subcategory, Keywords: e.Keywords, At: after.UpdatedAt,
	}
}

// finishable returns why the viewer cannot finish an item by this token, which leads to this effort.
func (s *Service) finishable(ctx context.Context, i project.Item, member project.Member, id project.EffortID, in *Finish) error {
	if i.Status == project.Finished && i.LastEffort == id.ID {
		effort, err := domain.First(s.Truth.EffortsByID(ctx, []project.EffortID{id}))
		if err != nil {
			return err
		}
		if effort.User == member.User {
			return &AlreadyFinished{Current: i, Effort: of(member).Effort(effort), Input: in}
		}
	}
	return mine(i, member, in.Token, in)
}

// labels reads category and subcategory, in place of those that were merged the ones that took their places; zero for none. Invalid when one is not in the lists
// of the item's project, or is retired.
func (s *Service) labels(ctx context.Context, in Finish, field string) (found [2]project.Label, err error) {
	ids, fields, kinds := []project.LabelID{in.Category}, []string{field + ".categoryId"}, []project.Kind{project.Category}
	if in.Subcategory != nil {
		ids, fields, kinds = append(ids, *in.Subcategory), append(fields, field+".subcategoryId"), append(kinds, project.Subcategory)
	}
	for i, id := range ids {
		if id.Project != in.Item.Project || id.Kind != kinds[i] {
			return found, fault.Invalidf(fields[i], "this is not in the list of the project")
		}
	}
	labels, errs := project.CurrentLabels(ctx, s.Truth.LabelsByID, ids)
	for i := range ids {
		if errs != nil && fault.Is(errs[i], fault.NotFound) {
			return found, fault.Invalidf(fields[i], "this is not in the list of the project")
		}
		if errs != nil && errs[i] != nil {
			return found, errs[i]
		}
		if !labels[i].RetiredAt.IsZero() {
			return found, fault.Invalidf(fields[i], "this is retired: choose another one")
		}
		found[i] = labels[i]
	}
	return found, nil
}

// MaxFinishes bounds how much can be finished at once.
const MaxFinishes = 50

// Outcome is what became of one of several finishes.
type Outcome struct {
	project.FinishedItem
	Err error // as of [Service.Finish]
}

// FinishMany is [Service.Finish] for what piled up while a client was offline: an outcome for each, in the order of the inputs, whose
// own keys are not looked at: theirs follow from the given one and their places in the list. Those of one item are carried out one after the other.
func (s *Service) FinishMany(ctx context.Context, ins []Finish, key *string) ([]Outcome, error) {
	if len(ins) < 1 || len(ins) > MaxFinishes {
		return nil, fault.Invalidf("input.finishes", "give 1 to %d finishes", MaxFinishes)
	}
	if key != nil && (len(*key) < 1 || len(*key) > idempotency.MaxBytes) {
		return nil, fault.Invalidf("input.idempotencyKey", "an idempotency key has 1 to %d bytes", idempotency.MaxBytes)
	}
	if _, err := domain.Self(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(ins))
	of := map[project.ItemID][]int{}
	var order []project.ItemID
	for i, in := range ins {
		if of[in.Item] == nil {
			order = append(order, in.Item)
		}
		of[in.Item] = append(of[in.Item], i)
	}
	each(len(order), func(n int) {
		for _, i := range of[order[n]] {
			in := ins[i]
			if in.IdempotencyKey = nil; key != nil {
				own := derived("finish", *key, strconv.Itoa(i))
				in.IdempotencyKey = &own
			}
			outcomes[i].FinishedItem, outcomes[i].Err = s.finish(ctx, in, fmt.Sprintf("input.finishes.%d", i))
		}
	})
	return outcomes, nil
}
