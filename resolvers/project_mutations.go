package resolvers

import (
	"context"
	"errors"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/loaders"
)

// projectProblem is the part of problem for projects; nil for what is none of theirs.
func (m mutation) projectProblem(ctx context.Context, err error) any {
	if unknown, ok := errors.AsType[*project.UnknownUser](err); ok {
		return model.UnknownUser{Message: unknown.Error(), Field: unknown.Field}
	}
	if unknown, ok := errors.AsType[*project.UnknownOriginal](err); ok {
		return model.UnknownItem{Message: unknown.Error(), ItemID: model.ItemGID(score.RefOf(unknown.ID))}
	}
	f, isFault := errors.AsType[*fault.Error](err)
	switch {
	case errors.Is(err, project.NameTaken):
		return model.NameTaken{Message: project.NameTaken.Message, Field: f.Field}
	case errors.Is(err, project.ErrLastManager):
		return model.LastManager{Message: project.ErrLastManager.Message}
	case errors.Is(err, project.ErrInvitationInvalid):
		return model.InvitationInvalid{Message: project.ErrInvitationInvalid.Message}
	case isFault: // that others were faster until the deadline is one, too
		return nil
	}
	if stale, ok := errors.AsType[*project.VersionConflict](err); ok {
		for _, union := range []string{"UpdateProjectProblem", "DeleteProjectProblem"} {
			m.projectsAhead(ctx, []project.Project{stale.Current}, conflicting(ctx, union, "ProjectConflict", "Project"))
		}
		return model.ProjectConflict{Message: stale.Error(), Current: stale.Current}
	}
	if stale, ok := errors.AsType[*project.GuidelinesConflict](err); ok {
		return model.GuidelinesConflict{Message: stale.Error(), Current: written(stale.Current)}
	}
	return nil
}

// payload returns what is selected of the payload of the mutation that is being resolved.
func payload(ctx context.Context) selection {
	return selected(ctx, graphql.GetFieldContext(ctx).Field.Definition.Type.Name())
}

// conflicting returns what is selected of the current object of a conflict.
func conflicting(ctx context.Context, union, conflict, typ string) selection {
	return payload(ctx).in("problem", conflict, union, "Problem").in("current", typ, "Node")
}

// doneProject is done for projects, of which there is none when a repeated request finds that the viewer is no member any more.
func (m mutation) doneProject(ctx context.Context, p project.Project, err error) (*project.Project, any, error) {
	after, problem, err := done(ctx, m, p, err)
	if after == nil || after.ID == "" {
		return nil, problem, err
	}
	m.projectsAhead(ctx, []project.Project{*after}, payload(ctx).in("project", "Project", "Node"))
	return after, nil, nil
}

// changed reads the project of a payload as it is now.
func (m mutation) changed(ctx context.Context, id project.ID) *project.Project {
	p := besideLoaded(ctx, "project", loaders.From(ctx).Projects, id)
	if p != nil {
		m.projectsAhead(ctx, []project.Project{*p}, payload(ctx).in("project", "Project", "Node"))
	}
	return p
}

func (m mutation) CreateProject(ctx context.Context, in model.CreateProjectInput) (*model.CreateProjectPayload, error) {
	create := project.Create{
		Name: in.Name, Categories: in.Categories, Subcategories: in.Subcategories.Value(), Keywords: in.SuggestedKeywords.Value(),
		IdempotencyKey: in.IdempotencyKey.Value(),
	}
	if description := in.Description.Value(); description != nil {
		create.Description = *description
	}
	p, err := m.Projects.Create(ctx, create)
	after, _, err := m.doneProject(ctx, p, err)
	return &model.CreateProjectPayload{Project: after}, err
}

func (m mutation) UpdateProject(ctx context.Context, in model.UpdateProjectInput) (*model.UpdateProjectPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	name, err := given("input.name", in.Name)
	if err != nil {
		return nil, err
	}
	description, err := given("input.description", in.Description)
	if err != nil {
		return nil, err
	}
	update := project.Update{
		ID: id, Name: name, Description: description, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value(),
	}
	if update.LeaseMinutes, err = given("input.leaseMinutes", in.LeaseMinutes); err != nil {
		return nil, err
	}
	if update.ReviewPercent, err = given("input.reviewPercent", in.ReviewPercent); err != nil {
		return nil, err
	}
	if update.NewcomerDays, err = given("input.newcomerDays", in.NewcomerDays); err != nil {
		return nil, err
	}
	if update.QueueSize, err = given("input.queueSize", in.QueueSize); err != nil {
		return nil, err
	}
	if keywords, set := in.SuggestedKeywords.ValueOK(); set {
		if keywords == nil {
			return nil, fault.Invalidf("input.suggestedKeywords", "null is not allowed here; leave the field out to keep its value")
		}
		update.Keywords = &keywords
	}
	p, err := m.Projects.Update(ctx, update)
	after, problem, err := m.doneProject(ctx, p, err)
	return &model.UpdateProjectPayload{Project: after, Problem: problem}, err
}

func (m mutation) RemoveSuggestedKeywords(ctx context.Context, in model.RemoveSuggestedKeywordsInput) (*model.RemoveSuggestedKeywordsPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	p, err := m.Projects.RemoveKeywords(ctx, project.RemoveKeywords{ID: id, Keywords: in.Keywords, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneProject(ctx, p, err)
	return &model.RemoveSuggestedKeywordsPayload{Project: after}, err
}

func (m mutation) AddProjectCategories(ctx context.Context, in model.AddProjectCategoriesInput) (*model.AddProjectCategoriesPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	p, err := m.Projects.AddLabels(ctx, project.AddLabels{
		Project: id, Categories: in.Categories.Value(), Subcategories: in.Subcategories.Value(), IdempotencyKey: in.IdempotencyKey.Value(),
	})
	after, problem, err := m.doneProject(ctx, p, err)
	return &model.AddProjectCategoriesPayload{Project: after, Problem: problem}, err
}

func (m mutation) UpdateCategory(ctx context.Context, in model.UpdateCategoryInput) (*model.UpdateCategoryPayload, error) {
	l, problem, err := m.updateLabel(ctx, project.Category, in.CategoryID, model.UpdateSubcategoryInput{Name: in.Name, Retired: in.Retired, MergeInto: in.MergeInto, IdempotencyKey: in.IdempotencyKey})
	if l == nil {
		return &model.UpdateCategoryPayload{Problem: problem}, err
	}
	return &model.UpdateCategoryPayload{Category: &model.Category{Label: *l}, Project: m.changed(ctx, l.LabelID.Project)}, nil
}

func (m mutation) UpdateSubcategory(ctx context.Context, in model.UpdateSubcategoryInput) (*model.UpdateSubcategoryPayload, error) {
	l, problem, err := m.updateLabel(ctx, project.Subcategory, in.SubcategoryID, in)
	if l == nil {
		return &model.UpdateSubcategoryPayload{Problem: problem}, err
	}
	return &model.UpdateSubcategoryPayload{Subcategory: &model.Subcategory{Label: *l}, Project: m.changed(ctx, l.LabelID.Project)}, nil
}

// updateLabel changes a category or subcategory, with what else both inputs have. It returns nil with a problem, and when a repeated request finds that the viewer is no
// member any more.
func (m mutation) updateLabel(ctx context.Context, kind project.Kind, of gid.ID, in model.UpdateSubcategoryInput) (*project.Label, any, error) {
	field := strings.ToLower(string(kind))
	id, err := labelID("input."+field+"Id", of, kind)
	if err != nil {
		return nil, nil, err
	}
	update := project.UpdateLabel{Label: id, IdempotencyKey: in.IdempotencyKey.Value()}
	if update.Name, err = given("input.name", in.Name); err != nil {
		return nil, nil, err
	}
	if update.Retired, err = given("input.retired", in.Retired); err != nil {
		return nil, nil, err
	}
	if to := in.MergeInto.Value(); to != nil {
		into, err := labelID("input.mergeInto", *to, kind)
		if err != nil {
			return nil, nil, err
		}
		update.MergeInto = &into
	}
	l, err := m.Projects.UpdateLabel(ctx, update)
	after, problem, err := done(ctx, m, l, err)
	if after == nil || after.ID == "" {
		return nil, problem, err
	}
	m.labelsAhead(ctx, []project.Label{*after}, payload(ctx).in(field, string(kind), "Node"))
	return after, nil, nil
}

// doneTeam is done for teams; see doneProject.
func (m mutation) doneTeam(ctx context.Context, t project.Team, err error) (*project.Team, any, error) {
	after, problem, err := done(ctx, m, t, err)
	if after == nil || after.ID == "" {
		return nil, problem, err
	}
	m.teamsAhead(ctx, []project.Team{*after}, payload(ctx).in("team", "Team", "Node"))
	return after, nil, nil
}

func (m mutation) CreateTeam(ctx context.Context, in model.CreateTeamInput) (*model.CreateTeamPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	t, err := m.Projects.CreateTeam(ctx, project.CreateTeam{Project: id, Name: in.Name, Type: in.Type, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneTeam(ctx, t, err)
	return &model.CreateTeamPayload{Team: after, Problem: problem}, err
}

func (m mutation) RenameTeam(ctx context.Context, in model.RenameTeamInput) (*model.RenameTeamPayload, error) {
	id, err := teamID("input.teamId", in.TeamID)
	if err != nil {
		return nil, err
	}
	t, err := m.Projects.RenameTeam(ctx, project.RenameTeam{Team: id, Name: in.Name, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneTeam(ctx, t, err)
	return &model.RenameTeamPayload{Team: after, Problem: problem}, err
}

func (m mutation) DeleteTeam(ctx context.Context, in model.DeleteTeamInput) (*model.DeleteTeamPayload, error) {
	id, err := teamID("input.teamId", in.TeamID)
	if err != nil {
		return nil, err
	}
	del := project.DeleteTeam{Team: id, IdempotencyKey: in.IdempotencyKey.Value()}
	if to := in.MoveTo.Value(); to != nil {
		into, err := teamID("input.moveTo", *to)
		if err != nil {
			return nil, err
		}
		del.MoveTo = &into
	}
	t, err := m.Projects.DeleteTeam(ctx, del)
	after, problem, err := m.doneTeam(ctx, t, err)
	if after == nil {
		return &model.DeleteTeamPayload{Problem: problem}, err
	}
	return &model.DeleteTeamPayload{Project: m.changed(ctx, id.Project), Team: after}, nil
}

func (m mutation) PutProjectMember(ctx context.Context, in model.PutProjectMemberInput) (*model.PutProjectMemberPayload, error) {
	team, err := teamID("input.teamId", in.TeamID)
	if err != nil {
		return nil, err
	}
	put := project.PutMember{Team: team, Email: in.Email.Value(), IdempotencyKey: in.IdempotencyKey.Value()}
	if who := in.UserID.Value(); who != nil {
		if put.User, err = userID("input.userId", *who); err != nil {
			return nil, err
		}
	}
	member, err := m.Projects.PutMember(ctx, put)
	after, problem, err := done(ctx, m, member, err)
	if after == nil {
		return &model.PutProjectMemberPayload{Problem: problem}, err
	}
	p := m.changed(ctx, team.Project)
	if after.User == "" { // a repeated request finds the member gone
		return &model.PutProjectMemberPayload{Project: p}, nil
	}
	m.membersAhead(ctx, []project.Member{*after}, payload(ctx).in("member", "ProjectMember"))
	return &model.PutProjectMemberPayload{Project: p, Member: after}, nil
}

func (m mutation) RemoveProjectMember(ctx context.Context, in model.RemoveProjectMemberInput) (*model.RemoveProjectMemberPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	who, err := userID("input.userId", in.UserID)
	if err != nil {
		return nil, err
	}
	err = m.Projects.RemoveMember(ctx, project.RemoveMember{Project: id, User: who, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, who, err)
	if after == nil {
		return &model.RemoveProjectMemberPayload{Problem: problem}, err
	}
	return &model.RemoveProjectMemberPayload{Project: m.changed(ctx, id), User: besideLoaded(ctx, "user", loaders.From(ctx).Users, who)}, nil
}

func (m mutation) CreateProjectExport(ctx context.Context, in model.CreateProjectExportInput) (*model.CreateProjectExportPayload, error) {
	id, err := projectID("input.projectId", in.ProjectID)
	if err != nil {
		return nil, err
	}
	create := project.CreateExport{Project: id, Format: in.Format, IdempotencyKey: in.IdempotencyKey.Value()}
	if status := in.Status.Value(); status != nil {
		create.Status = *status
	}
	e, err := m.Projects.CreateExport(ctx, create)
	after, _, err := done(ctx, m, e, err)
	if after == nil || after.ID == "" {
		return &model.CreateProjectExportPayload{}, err
	}
	m.exportsAhead(ctx, []project.Export{*after}, payload(ctx).in("export", "ProjectExport", "Node"))
	return &model.CreateProjectExportPayload{Export: after}, nil
}
