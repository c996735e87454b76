package resolvers

import (
	"context"
	"errors"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

// scoreProblem is the part of problem for scores, snapshots and items; nil for what is none of theirs.
func (m mutation) scoreProblem(ctx context.Context, err error) any {
	if unknown, ok := errors.AsType[*score.UnknownItem](err); ok {
		return model.UnknownItem{Message: unknown.Error(), ItemID: model.ItemGID(unknown.Item)}
	}
	if full, ok := errors.AsType[*score.QuotaReached](err); ok {
		full.Usage.Quota = full.Quota
		return model.QuotaReached{Message: full.Error(), Usage: full.Usage}
	}
	if used, ok := errors.AsType[*score.ItemInUse](err); ok {
		m.itemsAhead(ctx, []score.Item{used.Item}, conflicting(ctx, "DeleteItemProblem", "ItemInUse", "Item"))
		return model.ItemInUse{Message: used.Error(), Current: used.Item}
	}
	if refused, ok := errors.AsType[*score.UploadRefused](err); ok {
		return model.UploadRefused{Message: refused.Error()}
	}
	switch {
	case errors.Is(err, score.ErrNameTaken):
		return model.SnapshotNameTaken{Message: score.ErrNameTaken.Message, Field: score.ErrNameTaken.Field}
	case errors.Is(err, score.ErrTooManySnapshots):
		return model.TooManySnapshots{Message: score.ErrTooManySnapshots.Message, Limit: score.MaxSnapshots}
	case errors.Is(err, score.ErrNotUploaded):
		return model.NotUploaded{Message: score.ErrNotUploaded.Message}
	}
	if _, isFault := errors.AsType[*fault.Error](err); isFault { // that others were faster until the deadline is one, too
		return nil
	}
	if stale, ok := errors.AsType[*score.VersionConflict](err); ok {
		current := model.Score{Score: stale.Current}
		for _, union := range []string{"UpdateScoreProblem", "DeleteScoreProblem", "RestoreSnapshotProblem"} {
			m.scoresAhead(ctx, []model.Score{current}, conflicting(ctx, union, "ScoreConflict", "Score"))
		}
		return model.ScoreConflict{Message: stale.Error(), Current: current}
	}
	return nil
}

// doneScore is done for scores, of which there is none when a repeated request finds it gone.
func (m mutation) doneScore(ctx context.Context, s score.Score, err error) (*model.Score, any, error) {
	after, problem, err := done(ctx, m, model.Score{Score: s}, err)
	if after == nil || after.Ref.ID == "" {
		return nil, problem, err
	}
	m.scoresAhead(ctx, []model.Score{*after}, payload(ctx).in("score", "Score", "Node"))
	return after, nil, nil
}

// doneSnapshot is done for snapshots; see doneScore.
func (m mutation) doneSnapshot(ctx context.Context, s score.Snapshot, err error) (*score.Snapshot, any, error) {
	after, problem, err := done(ctx, m, s, err)
	if after == nil || after.SnapshotID.ID == "" {
		return nil, problem, err
	}
	m.snapshotsAhead(ctx, []score.Snapshot{*after}, payload(ctx).in("snapshot", "Snapshot", "Node"))
	return after, nil, nil
}

// newPages returns the pages that are to be made.
func newPages(field string, in []model.ScorePageInput) ([]score.NewPage, error) {
	var pages []score.NewPage
	for i, p := range in {
		item, err := itemID(field+"."+strconv.Itoa(i)+".itemId", p.ItemID)
		if err != nil {
			return nil, err
		}
		pages = append(pages, score.NewPage{Item: item, Object: p.Name, Label: p.Label})
	}
	return pages, nil
}

func (m mutation) CreateScore(ctx context.Context, in model.CreateScoreInput) (*model.CreateScorePayload, error) {
	pages, err := newPages("input.pages", in.Pages.Value())
	if err != nil {
		return nil, err
	}
	create := score.Create{Title: in.Title, Access: in.Access, Pages: pages, Annotations: in.Annotations.Value(), IdempotencyKey: in.IdempotencyKey.Value()}
	if description := in.Description.Value(); description != nil {
		create.Description = *description
	}
	s, err := m.Scores.Create(ctx, create)
	after, problem, err := m.doneScore(ctx, s, err)
	return &model.CreateScorePayload{Score: after, Problem: problem}, err
}

func (m mutation) UpdateScore(ctx context.Context, in model.UpdateScoreInput) (*model.UpdateScorePayload, error) {
	of, err := scoreNow("input.scoreId", in.ScoreID)
	if err != nil {
		return nil, err
	}
	update := score.Update{Score: of, Annotations: annotationsSteps(in.Annotations.Value()), ShowEarlier: in.ShowEarlierSnapshots, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()}
	if update.Title, err = given("input.title", in.Title); err != nil {
		return nil, err
	}
	if update.Access, err = given("input.access", in.Access); err != nil {
		return nil, err
	}
	if description, set := in.Description.ValueOK(); set {
		update.Description = description
		if description == nil {
			update.Description = new(string)
		}
	}
	if update.Pages, err = pagesSteps(in.Pages.Value()); err != nil {
		return nil, err
	}
	s, err := m.Scores.Update(ctx, update)
	after, problem, err := m.doneScore(ctx, s, err)
	if after == nil {
		return &model.UpdateScorePayload{Problem: problem}, err
	}
	return &model.UpdateScorePayload{Score: after, HiddenSnapshots: &after.Hidden}, nil
}

func pagesSteps(in []model.ScorePagesStep) ([]score.PagesChange, error) {
	steps := make([]score.PagesChange, len(in))
	for i, step := range in {
		steps[i].Move, steps[i].Remove = moveOf(step.Move), removeOf(step.Remove)
		if insert := step.Insert.Value(); insert != nil {
			pages, err := newPages("input.pages."+strconv.Itoa(i)+".insert.pages", insert.Pages)
			if err != nil {
				return nil, err
			}
			steps[i].Insert = &score.InsertPages{At: insert.At, Pages: pages}
		}
	}
	return steps, nil
}

func annotationsSteps(in []model.AnnotationsStep) []score.AnnotationsChange {
	steps := make([]score.AnnotationsChange, len(in))
	for i, step := range in {
		steps[i].Move, steps[i].Remove = moveOf(step.Move), removeOf(step.Remove)
		if insert := step.Insert.Value(); insert != nil {
			steps[i].Insert = &score.InsertAnnotations{At: insert.At, Texts: insert.Texts}
		}
		if edit := step.Edit.Value(); edit != nil {
			steps[i].Edit = &score.EditAnnotation{At: edit.At, Text: edit.Text}
		}
	}
	return steps
}

func moveOf(in graphql.Omittable[*model.MoveInput]) *score.Move {
	if step := in.Value(); step != nil {
		return &score.Move{From: step.From, To: step.To}
	}
	return nil
}

func removeOf(in graphql.Omittable[*model.RemoveInput]) *score.Range {
	if step := in.Value(); step != nil {
		return &score.Range{At: step.At, Count: step.Count}
	}
	return nil
}

func (m mutation) DeleteScore(ctx context.Context, in model.DeleteScoreInput) (*model.DeleteScorePayload, error) {
	of, err := scoreNow("input.scoreId", in.ScoreID)
	if err != nil {
		return nil, err
	}
	err = m.Scores.Delete(ctx, score.Delete{Score: of, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, in.ScoreID, err)
	return &model.DeleteScorePayload{DeletedScoreID: after, Problem: problem}, err
}

func (m mutation) CreateSnapshot(ctx context.Context, in model.CreateSnapshotInput) (*model.CreateSnapshotPayload, error) {
	of, err := scoreNow("input.scoreId", in.ScoreID)
	if err != nil {
		return nil, err
	}
	s, err := m.Scores.CreateSnapshot(ctx, score.CreateSnapshot{Score: of, Name: in.Name, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneSnapshot(ctx, s, err)
	return &model.CreateSnapshotPayload{Snapshot: after, Problem: problem}, err
}

func (m mutation) RenameSnapshot(ctx context.Context, in model.RenameSnapshotInput) (*model.RenameSnapshotPayload, error) {
	id, err := snapshotID("input.snapshotId", in.SnapshotID)
	if err != nil {
		return nil, err
	}
	s, err := m.Scores.RenameSnapshot(ctx, score.RenameSnapshot{Snapshot: id, Name: in.Name, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneSnapshot(ctx, s, err)
	return &model.RenameSnapshotPayload{Snapshot: after, Problem: problem}, err
}

func (m mutation) DeleteSnapshot(ctx context.Context, in model.DeleteSnapshotInput) (*model.DeleteSnapshotPayload, error) {
	id, err := snapshotID("input.snapshotId", in.SnapshotID)
	if err != nil {
		return nil, err
	}
	err = m.Scores.DeleteSnapshot(ctx, score.DeleteSnapshot{Snapshot: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := done(ctx, m, in.SnapshotID, err)
	if after == nil {
		return nil, err
	}
	of := beside(ctx, "score", func() (*model.Score, error) { return m.score(ctx, score.SnapshotID{Score: id.Score}) })
	if of != nil {
		m.scoresAhead(ctx, []model.Score{*of}, payload(ctx).in("score", "Score", "Node"))
	}
	return &model.DeleteSnapshotPayload{DeletedSnapshotID: after, Score: of}, nil
}

func (m mutation) RestoreSnapshot(ctx context.Context, in model.RestoreSnapshotInput) (*model.RestoreSnapshotPayload, error) {
	id, err := snapshotID("input.snapshotId", in.SnapshotID)
	if err != nil {
		return nil, err
	}
	s, err := m.Scores.Restore(ctx, score.Restore{Snapshot: id, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneScore(ctx, s, err)
	return &model.RestoreSnapshotPayload{Score: after, Problem: problem}, err
}

// text returns what a client gave, "" for nothing.
func text(in graphql.Omittable[*string]) string {
	if s := in.Value(); s != nil {
		return *s
	}
	return ""
}
