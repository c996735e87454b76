package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// ProjectInvitation returns the resolvers of ProjectInvitation.
func (r *Resolver) ProjectInvitation() graph.ProjectInvitationResolver {
	return projectInvitations{r}
}

// InvitationPreview returns the resolvers of InvitationPreview.
func (r *Resolver) InvitationPreview() graph.InvitationPreviewResolver {
	return invitationPreviews{r}
}

type projectInvitations struct{ *Resolver }

func (projectInvitations) Project(ctx context.Context, i *project.Invitation) (*project.Project, error) {
	return projectOf(ctx, i.InvitationID.Project)
}

func (projectInvitations) Team(ctx context.Context, i *project.Invitation) (*project.Team, error) {
	return found(loaders.From(ctx).Teams.Load(ctx, i.TeamRef()))
}

func (projectInvitations) CreatedBy(ctx context.Context, i *project.Invitation) (*user.User, error) {
	return person(ctx, i.CreatedBy)
}

type invitationPreviews struct{ *Resolver }

func (invitationPreviews) InvitedBy(ctx context.Context, p *project.InvitationPreview) (*user.User, error) {
	return person(ctx, p.InvitedBy)
}

func (q query) Invitation(ctx context.Context, token string) (*project.InvitationPreview, error) {
	return found(q.Projects.PreviewInvitation(ctx, token))
}

func (r projects) Invitations(ctx context.Context, p *project.Project) ([]project.Invitation, error) {
	all, err := loaders.From(ctx).InvitesOf.LoadNow(ctx, p.Ref())
	if err != nil {
		return nil, err
	}
	r.invitationsAhead(ctx, all, selected(ctx, "ProjectInvitation", "Node"))
	return append([]project.Invitation{}, all...), nil // an empty list is none that failed
}

// invitationsAhead reads what is selected below invitations.
func (r *Resolver) invitationsAhead(ctx context.Context, all []project.Invitation, sel selection) {
	var first wave
	profiles := sel.showsProfiles("createdBy")
	for _, i := range all {
		if profiles {
			first.people = append(first.people, i.CreatedBy)
		}
		if sel.has("project") {
			first.projects = append(first.projects, i.InvitationID.Project)
		}
		if sel.has("team") {
			first.teams = append(first.teams, i.TeamRef())
		}
	}
	load := loaders.From(ctx)
	first.read(load)
	r.projectsAhead(ctx, loaded(ctx, load.Projects, first.projects), sel.in("project", "Project", "Node"))
	r.teamsAhead(ctx, loaded(ctx, load.Teams, first.teams), sel.in("team", "Team", "Node"))
}

// doneInvitation is done for invitations; see doneProject.
func (m mutation) doneInvitation(ctx context.Context, i project.Invitation, err error) (*project.Invitation, error) {
	after, _, err := done(ctx, m, i, err)
	if after == nil || after.ID == "" {
		return nil, err
	}
	m.invitationsAhead(ctx, []project.Invitation{*after}, payload(ctx).in("invitation", "ProjectInvitation", "Node"))
	return after, nil
}

func (m mutation) CreateProjectInvitation(ctx context.Context, in model.CreateProjectInvitationInput) (*model.CreateProjectInvitationPayload, error) {
	team, err := teamID("input.teamId", in.TeamID)
	if err != nil {
		return nil, err
	}
	i, err := m.Projects.CreateInvitation(ctx, project.CreateInvitation{Team: team, Uses: in.Uses, Days: in.ExpiresInDays, IdempotencyKey: in.IdempotencyKey.Value()})
	after, err := m.doneInvitation(ctx, i, err)
	return &model.CreateProjectInvitationPayload{Invitation: after}, err
}

func (m mutation) RevokeProjectInvitation(ctx context.Context, in model.RevokeProjectInvitationInput) (*model.RevokeProjectInvitationPayload, error) {
	id, err := invitationID("input.invitationId", in.InvitationID)
	if err != nil {
		return nil, err
	}
	i, err := m.Projects.RevokeInvitation(ctx, project.RevokeInvitation{Invitation: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, err := m.doneInvitation(ctx, i, err)
	return &model.RevokeProjectInvitationPayload{Invitation: after}, err
}

func (m mutation) AcceptProjectInvitation(ctx context.Context, in model.AcceptProjectInvitationInput) (*model.AcceptProjectInvitationPayload, error) {
	member, err := m.Projects.AcceptInvitation(ctx, project.AcceptInvitation{Token: in.Token, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, member, err)
	if after == nil || after.User == "" { // a repeated request finds the member gone
		return &model.AcceptProjectInvitationPayload{Problem: problem}, err
	}
	p := m.changed(ctx, after.Project)
	m.membersAhead(ctx, []project.Member{*after}, payload(ctx).in("member", "ProjectMember"))
	return &model.AcceptProjectInvitationPayload{Project: p, Member: after}, nil
}
