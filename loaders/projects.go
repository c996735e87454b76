package loaders

import (
	"context"

	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// projectLoaders read projects and what belongs to them.
type projectLoaders struct {
	Projects     *Loader[project.ID, project.Project]
	Labels       *Loader[project.Ref[project.LabelID], project.Label]
	LabelsOf     *Loader[project.Ref[project.ID], []project.Label] // both lists; see [project.Kind.Of]
	Guidelines   *Loader[project.Ref[project.ID], project.Guidelines]
	Invitations  *Loader[project.InvitationID, project.Invitation]
	InvitesOf    *Loader[project.Ref[project.ID], []project.Invitation]
	Teams        *Loader[project.Ref[project.TeamID], project.Team]
	TeamsOf      *Loader[project.Ref[project.ID], []project.Team]
	ProjectItems *Loader[project.Ref[project.ItemID], project.Item]
	Efforts      *Loader[project.Ref[project.EffortID], project.Effort]
	Imports      *Loader[project.TransferID, project.Import]
	Exports      *Loader[project.TransferID, project.Export]
	Removals     *Loader[project.TransferID, project.Removal]

	ProjectItemsByLabel *Loader[project.LabelItemsRequest, page.Slice[project.Item]]
	ProjectItemEfforts  *Loader[project.ItemEffortsRequest, page.Slice[project.Effort]]
	MemberEfforts       *Loader[project.MemberEffortsRequest, page.Slice[project.Effort]]
	// Lists, each read once however often it is met in the response.
	ProjectsOf     *Loader[ListOf, page.Slice[project.Project]]
	DeletedOf      *Loader[ListOf, page.Slice[project.DeletedProject]]
	ProjectMembers *Loader[project.MembersRequest, page.Slice[project.Member]]
	ProjectItemsOf *Loader[project.ItemsRequest, page.Slice[project.Item]]
	ProjectImports *Loader[project.TransfersRequest, page.Slice[project.Import]]
	ProjectExports *Loader[project.TransfersRequest, page.Slice[project.Export]]

	ProjectRemovals *Loader[project.TransfersRequest, page.Slice[project.Removal]]
	ProjectHistory  *Loader[project.TransfersRequest, page.Slice[project.Change]]
	ToReview        *Loader[project.ReviewsRequest, page.Slice[project.Effort]]
}

func newProjectLoaders(r *response, projects *project.Service) projectLoaders {
	return projectLoaders{
		Projects:     register(r, "projects", projects.ListByID),
		Labels:       register(r, "labels", projects.LabelsByID),
		LabelsOf:     register(r, "labelsOf", projects.ListLabels),
		Guidelines:   register(r, "guidelines", projects.GuidelinesOf),
		Invitations:  register(r, "invitations", projects.InvitationsByID),
		InvitesOf:    register(r, "invitesOf", projects.ListInvitations),
		Teams:        register(r, "teams", projects.TeamsByID),
		TeamsOf:      register(r, "teamsOf", projects.ListTeams),
		ProjectItems: register(r, "projectItems", projects.ItemsByID),
		Efforts:      register(r, "efforts", projects.EffortsByID),
		Imports:      register(r, "imports", projects.ImportsByID),
		Exports:      register(r, "exports", projects.ExportsByID),
		Removals:     register(r, "removals", projects.RemovalsByID),

		ProjectItemsByLabel: register(r, "projectItemsByLabel", projects.ListItemsOf),
		ProjectItemEfforts:  register(r, "projectItemEfforts", projects.ListEffortsOfItems),
		MemberEfforts:       register(r, "memberEfforts", projects.ListEffortsOfMembers),
		ProjectsOf: registerList(r, "projectsOf", func(ctx context.Context, k ListOf) (page.Slice[project.Project], error) {
			return projects.List(ctx, k.User, k.Window)
		}),
		DeletedOf: registerList(r, "deletedOf", func(ctx context.Context, k ListOf) (page.Slice[project.DeletedProject], error) {
			return projects.ListDeleted(ctx, k.User, k.Window)
		}),
		ProjectMembers: registerList(r, "projectMembers", projects.ListMembers),
		ProjectItemsOf: registerList(r, "projectItemsOf", projects.ListItems),
		ProjectImports: registerList(r, "projectImports", projects.ListImports),
		ProjectExports: registerList(r, "projectExports", projects.ListExports),

		ProjectRemovals: registerList(r, "projectRemovals", projects.ListRemovals),
		ProjectHistory:  registerList(r, "projectHistory", projects.ListHistory),
		ToReview:        registerList(r, "toReview", projects.ListToReview),
	}
}
