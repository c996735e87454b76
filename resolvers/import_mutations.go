package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/project"
)

// doneImport is done for imports; see doneProject.
func (m mutation) doneImport(ctx context.Context, i project.Import, err error) (*project.Import, any, error) {
	after, problem, err := done(ctx, m, i, err)
	if after == nil || after.ID == "" {
		return nil, problem, err
	}
	m.importsAhead(ctx, []project.Import{*after}, payload(ctx).in("import", "ProjectImport", "Node"))
	return after, nil, nil
}

func (m mutation) CreateProjectImport(ctx context.Context, in model.CreateProjectImportInput) (*model.CreateProjectImportPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	i, err := m.Projects.CreateImport(ctx, project.CreateImport{Project: id, Format: in.Format, Bytes: in.Bytes, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneImport(ctx, i, err)
	if after == nil {
		return &model.CreateProjectImportPayload{}, err
	}
	upload := beside(ctx, "upload", func() (*model.Upload, error) { return m.uploadOf(ctx, *after) })
	return &model.CreateProjectImportPayload{Import: after, Upload: upload}, nil
}

func (m mutation) StartProjectImport(ctx context.Context, in model.StartProjectImportInput) (*model.StartProjectImportPayload, error) {
	id, err := importID("input.importId", in.ImportID)
	if err != nil {
		return nil, err
	}
	i, err := m.Projects.StartImport(ctx, project.ChangeImport{Import: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneImport(ctx, i, err)
	return &model.StartProjectImportPayload{Import: after}, err
}

func (m mutation) CancelProjectImport(ctx context.Context, in model.CancelProjectImportInput) (*model.CancelProjectImportPayload, error) {
	id, err := importID("input.importId", in.ImportID)
	if err != nil {
		return nil, err
	}
	i, err := m.Projects.CancelImport(ctx, project.ChangeImport{Import: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneImport(ctx, i, err)
	return &model.CancelProjectImportPayload{Import: after}, err
}

func (m mutation) ImportItems(ctx context.Context, in model.ImportItemsInput) (*model.ImportItemsPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	take := project.ImportItems{Project: id, Library: in.Library, IdempotencyKey: in.IdempotencyKey.Value()}
	if ids := in.ItemIds.Value(); ids != nil {
		take.Items = make([]project.OriginalID, len(ids))
		for n, id := range ids {
			item, err := itemID("input.itemIds", id)
			if err != nil {
				return nil, err
			}
			take.Items[n] = item.Original()
		}
	}
	if of := in.ScoreID.Value(); of != nil {
		s, err := scoreNow("input.scoreId", *of)
		if err != nil {
			return nil, err
		}
		take.Score = &project.OriginalID{Owner: s.Owner, Score: string(s.ID)}
	}
	i, err := m.Projects.ImportItems(ctx, take)
	after, problem, err := m.doneImport(ctx, i, err)
	return &model.ImportItemsPayload{Import: after, Problem: problem}, err
}
