package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// Guidelines returns the resolvers of Guidelines.
func (r *Resolver) Guidelines() graph.GuidelinesResolver { return guidelines{r} }

type guidelines struct{ *Resolver }

func (guidelines) UpdatedBy(ctx context.Context, g *project.Guidelines) (*user.User, error) {
	return person(ctx, g.UpdatedBy)
}

func (projects) Guidelines(ctx context.Context, p *project.Project) (*project.Guidelines, error) {
	g, err := loaders.From(ctx).Guidelines.LoadNow(ctx, p.Ref())
	if err != nil {
		return nil, err
	}
	return written(g), nil
}

// written is nil for guidelines that nobody has written.
func written(g project.Guidelines) *project.Guidelines {
	if g.Version == 0 {
		return nil
	}
	return &g
}

// guidelinesAhead reads what is selected below guidelines.
func guidelinesAhead(ctx context.Context, all []project.Guidelines, sel selection) {
	var first wave
	if sel.showsProfiles("updatedBy") {
		for _, g := range all {
			if g.Version > 0 {
				first.people = append(first.people, g.UpdatedBy)
			}
		}
	}
	first.read(loaders.From(ctx))
}

func (m mutation) UpdateGuidelines(ctx context.Context, in model.UpdateGuidelinesInput) (*model.UpdateGuidelinesPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	g, err := m.Projects.UpdateGuidelines(ctx, project.UpdateGuidelines{
		Project: id, Text: in.Text, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value(),
	})
	after, problem, err := done(ctx, m, g, err)
	if after == nil {
		return &model.UpdateGuidelinesPayload{Problem: problem}, err
	}
	return &model.UpdateGuidelinesPayload{Project: m.changed(ctx, id), Guidelines: written(*after)}, nil
}
