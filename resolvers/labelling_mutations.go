package resolvers

import (
	"context"
	"errors"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/loaders"
)

// labellingProblem is the part of problem for labelling; nil for what is none of its.
func (m mutation) labellingProblem(ctx context.Context, err error) any {
	if lost, ok := errors.AsType[*labelling.LeaseLost](err); ok {
		m.projectItemsAhead(ctx, []project.Item{lost.Current}, problemItem(ctx, "LeaseLost"))
		return model.LeaseLost{Message: lost.Error(), Current: lost.Current, Typed: typed(lost.Input)}
	}
	if removed, ok := errors.AsType[*labelling.ItemRemoved](err); ok {
		return model.ProjectItemRemoved{Message: removed.Error(), Typed: typed(removed.Input)}
	}
	if before, ok := errors.AsType[*labelling.AlreadyFinished](err); ok {
		sel := problemOf(ctx, "AlreadyFinished")
		m.projectItemsAhead(ctx, []project.Item{before.Current}, sel.in("current", "ProjectItem", "Node"))
		m.effortsAhead(ctx, []project.Effort{before.Effort}, sel.in("effort", "ProjectItemEffort", "Node"))
		return model.AlreadyFinished{Message: before.Error(), Current: before.Current, Effort: before.Effort, Typed: typed(before.Input)}
	}
	if stale, ok := errors.AsType[*project.EffortConflict](err); ok {
		m.effortsAhead(ctx, []project.Effort{stale.Current}, problemOf(ctx, "EffortConflict").in("current", "ProjectItemEffort", "Node"))
		return model.EffortConflict{Message: stale.Error(), Current: stale.Current}
	}
	if stale, ok := errors.AsType[*project.ItemConflict](err); ok {
		m.projectItemsAhead(ctx, []project.Item{stale.Current}, problemItem(ctx, "ProjectItemConflict"))
		return model.ProjectItemConflict{Message: stale.Error(), Current: stale.Current}
	}
	switch {
	case errors.Is(err, labelling.ErrPaused):
		return model.ProjectPaused{Message: labelling.ErrPaused.Message}
	case errors.Is(err, labelling.ErrFull):
		return model.TooManyClaims{Message: labelling.ErrFull.Message, Limit: labelling.MaxClaims}
	case errors.Is(err, labelling.ErrOwnWork):
		return model.OwnEffort{Message: labelling.ErrOwnWork.Message}
	case errors.Is(err, labelling.ErrUndone):
		return model.EffortUndone{Message: labelling.ErrUndone.Message}
	case errors.Is(err, labelling.ErrReviewed):
		return model.EffortReviewed{Message: labelling.ErrReviewed.Message}
	case errors.Is(err, labelling.ErrTooLate):
		return model.UndoTooLate{Message: labelling.ErrTooLate.Message}
	case errors.Is(err, labelling.ErrRebuilding):
		return model.RebuildUnderWay{Message: labelling.ErrRebuilding.Message}
	}
	return nil
}

// problemItem returns what is selected of the current item of a problem.
func problemItem(ctx context.Context, typ string) selection {
	return problemOf(ctx, typ).in("current", "ProjectItem", "Node")
}

// problemOf returns what is selected of a problem, of the payload or of one of several outcomes.
func problemOf(ctx context.Context, typ string) selection {
	sel := payload(ctx)
	sel = sel.and(sel.in("outcomes", "FinishOutcome"))
	return sel.in("problem", typ, "Problem", "ClaimProblem", "FinishProjectItemProblem", "UndoFinishProblem", "ReviewEffortProblem")
}

// typed gives a client back what it wanted to store.
func typed(in *labelling.Finish) *model.TypedFinish {
	if in == nil {
		return nil
	}
	t := &model.TypedFinish{CategoryID: labelGID(in.Category), Keywords: append([]string{}, in.Keywords...)}
	if in.Subcategory != nil {
		id := labelGID(*in.Subcategory)
		t.SubcategoryID = &id
	}
	return t
}

func labelGID(id project.LabelID) gid.ID {
	return gid.Of(string(id.Kind), string(id.Project), id.ID)
}

// doneProjectItem is done for items, of which there is none when a repeated request finds that the viewer is no member any more.
func (m mutation) doneProjectItem(ctx context.Context, i project.Item, err error) (*project.Item, any, error) {
	after, problem, err := done(ctx, m, i, err)
	if after == nil || after.ItemID.ID == "" {
		return nil, problem, err
	}
	m.projectItemsAhead(ctx, []project.Item{*after}, payload(ctx).in("item", "ProjectItem", "Node"))
	return after, nil, nil
}

// doneEffort is the same for an item with an effort; sel is what is selected of both.
func (m mutation) doneEffort(ctx context.Context, f project.FinishedItem, err error, sel selection) (*project.Item, *project.Effort, any, error) {
	after, problem, err := done(ctx, m, f, err)
	if after == nil || after.Item.ID == "" {
		return nil, nil, problem, err
	}
	loaders.From(ctx).ProjectItems.Prime(after.Effort.ItemRef(), after.Item)
	m.projectItemsAhead(ctx, []project.Item{after.Item}, sel.in("item", "ProjectItem", "Node"))
	m.effortsAhead(ctx, []project.Effort{after.Effort}, sel.in("effort", "ProjectItemEffort", "Node"))
	return &after.Item, &after.Effort, nil, nil
}

func (m mutation) ClaimProjectItems(ctx context.Context, in model.ClaimProjectItemsInput) (*model.ClaimProjectItemsPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	items, err := m.Labelling.Claim(ctx, labelling.ClaimItems{Project: id, Count: in.Count, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, items, err)
	if after == nil {
		return &model.ClaimProjectItemsPayload{Problem: problem}, err
	}
	m.projectItemsAhead(ctx, items, payload(ctx).in("items", "ProjectItem", "Node"))
	return &model.ClaimProjectItemsPayload{Project: m.changed(ctx, id), Items: append([]project.Item{}, items...)}, nil
}

func (m mutation) ClaimReviews(ctx context.Context, in model.ClaimReviewsInput) (*model.ClaimReviewsPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	author, category, err := reviewsOf(id, "input.", in.AuthorID.Value(), in.CategoryID.Value())
	if err != nil {
		return nil, err
	}
	reviews, err := m.Labelling.ClaimReviews(ctx, labelling.ClaimReviews{Project: id, Count: in.Count, Author: author, Category: category})
	if err != nil {
		return nil, err
	}
	m.effortsAhead(ctx, reviews.Efforts, payload(ctx).in("efforts", "ProjectItemEffort", "Node"))
	return &model.ClaimReviewsPayload{Project: m.changed(ctx, id), Efforts: append([]project.Effort{}, reviews.Efforts...), Until: &reviews.Until}, nil
}

func (m mutation) ExtendClaim(ctx context.Context, in model.ExtendClaimInput) (*model.ExtendClaimPayload, error) {
	id, err := projectItemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	i, err := m.Labelling.Extend(ctx, labelling.Held{Item: id, Token: in.Token, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneProjectItem(ctx, i, err)
	return &model.ExtendClaimPayload{Item: after, Problem: problem}, err
}

func (m mutation) FinishProjectItem(ctx context.Context, in model.FinishProjectItemInput) (*model.FinishProjectItemPayload, error) {
	finish, err := finishOf("input", in.ItemID, in.Token, in.CategoryID, in.SubcategoryID, in.Keywords)
	if err != nil {
		return nil, err
	}
	finish.IdempotencyKey = in.IdempotencyKey.Value()
	finished, err := m.Labelling.Finish(ctx, finish)
	item, effort, problem, err := m.doneEffort(ctx, finished, err, payload(ctx))
	return &model.FinishProjectItemPayload{Item: item, Effort: effort, Problem: problem}, err
}

// finishOf reads one finish of an input.
func finishOf(field string, item gid.ID, token string, category gid.ID, subcategory graphql.Omittable[*gid.ID], keywords graphql.Omittable[[]string]) (labelling.Finish, error) {
	finish := labelling.Finish{Token: token, Keywords: keywords.Value()}
	var err error
	if finish.Item, err = projectItemID(field+".itemId", item); err != nil {
		return finish, err
	}
	finish.Category, finish.Subcategory, err = foundOf(field, category, subcategory)
	return finish, err
}

// foundOf reads what an item was found to be; field stands before the names of the fields.
func foundOf(field string, category gid.ID, subcategory graphql.Omittable[*gid.ID]) (found project.LabelID, also *project.LabelID, err error) {
	if found, err = categoryID(field+".categoryId", category); err != nil {
		return found, nil, err
	}
	if chosen := subcategory.Value(); chosen != nil {
		id, err := subcategoryID(field+".subcategoryId", *chosen)
		if err != nil {
			return found, nil, err
		}
		also = &id
	}
	return found, also, nil
}

func (m mutation) FinishProjectItems(ctx context.Context, in model.FinishProjectItemsInput) (*model.FinishProjectItemsPayload, error) {
	finishes := make([]labelling.Finish, len(in.Finishes))
	for i, f := range in.Finishes {
		var err error
		if finishes[i], err = finishOf("input.finishes."+strconv.Itoa(i), f.ItemID, f.Token, f.CategoryID, f.SubcategoryID, f.Keywords); err != nil {
			return nil, err
		}
	}
	outcomes, err := m.Labelling.FinishMany(ctx, finishes, in.IdempotencyKey.Value())
	if err != nil {
		return nil, err
	}
	sel := payload(ctx).in("outcomes", "FinishOutcome")
	all := make([]*model.FinishOutcome, len(outcomes))
	for i, o := range outcomes {
		item, effort, problem, err := m.doneEffort(ctx, o.FinishedItem, o.Err, sel)
		if err != nil {
			failAt(ctx, "outcomes", i, err)
			continue
		}
		all[i] = &model.FinishOutcome{Item: item, Effort: effort, Problem: problem}
	}
	return &model.FinishProjectItemsPayload{Outcomes: all}, nil
}

// failAt adds an error at an element of a list of the payload, wherever the list is selected.
func failAt(ctx context.Context, field string, i int, err error) {
	for _, f := range payload(ctx).fields {
		if f.Name == field {
			at := graphql.WithPathContext(ctx, graphql.NewPathWithField(f.Alias))
			graphql.AddError(graphql.WithPathContext(at, graphql.NewPathWithIndex(i)), err)
		}
	}
}

func (m mutation) SkipProjectItem(ctx context.Context, in model.SkipProjectItemInput) (*model.SkipProjectItemPayload, error) {
	id, err := projectItemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	i, err := m.Labelling.Skip(ctx, labelling.Skip{
		Item: id, Token: in.Token, Reason: in.Reason, Minutes: in.Minutes.Value(), IdempotencyKey: in.IdempotencyKey.Value(),
	})
	after, problem, err := m.doneProjectItem(ctx, i, err)
	return &model.SkipProjectItemPayload{Item: after, Problem: problem}, err
}

func (m mutation) ReturnSkippedItems(ctx context.Context, in model.ReturnSkippedItemsInput) (*model.ReturnSkippedItemsPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	named, err := projectItemIDs("input.itemIds", in.ItemIds.Value())
	if err != nil {
		return nil, err
	}
	back, err := m.Labelling.ReturnSkipped(ctx, labelling.ReturnSkipped{Project: id, Items: named, IdempotencyKey: in.IdempotencyKey.Value()})
	if err != nil {
		return nil, err
	}
	m.projectItemsAhead(ctx, back.Items, payload(ctx).in("items", "ProjectItem", "Node"))
	return &model.ReturnSkippedItemsPayload{Project: m.changed(ctx, id), Items: append([]project.Item{}, back.Items...), More: back.More}, nil
}

func (m mutation) ReleaseProjectItem(ctx context.Context, in model.ReleaseProjectItemInput) (*model.ReleaseProjectItemPayload, error) {
	id, err := projectItemID("input.itemId", in.ItemID)
	if err != nil {
		return nil, err
	}
	i, err := m.Labelling.Release(ctx, labelling.Held{Item: id, Token: in.Token, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneProjectItem(ctx, i, err)
	return &model.ReleaseProjectItemPayload{Item: after, Problem: problem}, err
}

func (m mutation) ReviewEffort(ctx context.Context, in model.ReviewEffortInput) (*model.ReviewEffortPayload, error) {
	id, err := effortID("input.effortId", in.EffortID)
	if err != nil {
		return nil, err
	}
	review := labelling.Reviewing{Effort: id, Verdict: in.Verdict, Comment: in.Comment, Expected: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()}
	if c := in.Correction.Value(); c != nil {
		category, subcategory, err := foundOf("input.correction", c.CategoryID, c.SubcategoryID)
		if err != nil {
			return nil, err
		}
		review.Correction = &labelling.Correction{Category: category, Subcategory: subcategory, Keywords: c.Keywords.Value()}
	}
	reviewed, err := m.Labelling.Review(ctx, review)
	item, effort, problem, err := m.doneEffort(ctx, reviewed, err, payload(ctx))
	return &model.ReviewEffortPayload{Item: item, Effort: effort, Problem: problem}, err
}

func (m mutation) UndoFinish(ctx context.Context, in model.UndoFinishInput) (*model.UndoFinishPayload, error) {
	id, err := effortID("input.effortId", in.EffortID)
	if err != nil {
		return nil, err
	}
	undone, err := m.Labelling.Undo(ctx, labelling.Undoing{Effort: id, IdempotencyKey: in.IdempotencyKey.Value()})
	item, effort, problem, err := m.doneEffort(ctx, undone, err, payload(ctx))
	return &model.UndoFinishPayload{Item: item, Effort: effort, Problem: problem}, err
}

func (m mutation) PauseProject(ctx context.Context, in model.PauseProjectInput) (*model.PauseProjectPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	p, err := m.Labelling.Pause(ctx, labelling.Managed{Project: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneProject(ctx, p, err)
	return &model.PauseProjectPayload{Project: after}, err
}

func (m mutation) ResumeProject(ctx context.Context, in model.ResumeProjectInput) (*model.ResumeProjectPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	p, err := m.Labelling.Resume(ctx, labelling.Managed{Project: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneProject(ctx, p, err)
	return &model.ResumeProjectPayload{Project: after}, err
}

func (m mutation) RebuildProjectQueue(ctx context.Context, in model.RebuildProjectQueueInput) (*model.RebuildProjectQueuePayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	p, err := m.Labelling.Rebuild(ctx, id)
	after, problem, err := m.doneProject(ctx, p, err)
	return &model.RebuildProjectQueuePayload{Project: after, Problem: problem}, err
}

func (m mutation) Heartbeat(ctx context.Context, in model.HeartbeatInput) (*model.HeartbeatPayload, error) {
	ids := make([]project.ID, len(in.ProjectIds))
	for i, id := range in.ProjectIds {
		var err error
		if ids[i], err = projectID("input.projectIds", id); err != nil {
			return nil, err
		}
	}
	if err := m.Labelling.Heartbeat(ctx, ids); err != nil {
		return nil, err
	}
	return &model.HeartbeatPayload{OnlineCount: beside(ctx, "onlineCount", func() (*int, error) {
		n, err := m.Labelling.OnlineCount(ctx)
		return &n, err
	})}, nil
}

func (m mutation) RetryDeadLetter(ctx context.Context, in model.RetryDeadLetterInput) (*model.RetryDeadLetterPayload, error) {
	if err := m.Labelling.RetryDeadLetter(ctx, in.ID); err != nil {
		return nil, err
	}
	return &model.RetryDeadLetterPayload{ID: &in.ID}, nil
}

func (m mutation) DropDeadLetter(ctx context.Context, in model.DropDeadLetterInput) (*model.DropDeadLetterPayload, error) {
	if err := m.Labelling.DropDeadLetter(ctx, in.ID); err != nil {
		return nil, err
	}
	return &model.DropDeadLetterPayload{ID: &in.ID}, nil
}
