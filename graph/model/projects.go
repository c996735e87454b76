package model

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// Connections and edges that carry nothing but their items.
type (
	// ProjectConnection is a page of projects.
	ProjectConnection = page.List[project.Project]
	// ProjectEdge is a project in a list.
	ProjectEdge = page.Edge[project.Project]
	// DeletedProjectConnection is a page of deleted projects.
	DeletedProjectConnection = page.List[project.DeletedProject]
	// DeletedProjectEdge is a deleted project in a list.
	DeletedProjectEdge = page.Edge[project.DeletedProject]
	// ProjectMemberConnection is a page of members.
	ProjectMemberConnection = page.List[project.Member]
	// ProjectMemberEdge is a member in a list.
	ProjectMemberEdge = page.Edge[project.Member]
	// ProjectItemConnection is a page of items.
	ProjectItemConnection = page.List[project.Item]
	// ProjectItemEdge is an item in a list.
	ProjectItemEdge = page.Edge[project.Item]
	// ProjectItemEffortConnection is a page of efforts.
	ProjectItemEffortConnection = page.List[project.Effort]
	// ProjectItemEffortEdge is an effort in a list.
	ProjectItemEffortEdge = page.Edge[project.Effort]
	// ProjectImportConnection is a page of imports.
	ProjectImportConnection = page.List[project.Import]
	// ProjectImportEdge is an import in a list.
	ProjectImportEdge = page.Edge[project.Import]
	// ProjectRemovalConnection is a page of removals.
	ProjectRemovalConnection = page.List[project.Removal]
	// ProjectRemovalEdge is a removal in a list.
	ProjectRemovalEdge = page.Edge[project.Removal]
	// ProjectChangeConnection is a page of changes.
	ProjectChangeConnection = page.List[project.Change]
	// ProjectChangeEdge is a change in a list.
	ProjectChangeEdge = page.Edge[project.Change]
	// ProjectExportConnection is a page of exports.
	ProjectExportConnection = page.List[project.Export]
	// ProjectExportEdge is an export in a list.
	ProjectExportEdge = page.Edge[project.Export]
)

// The two kinds of labels are types of their own in the contract.
type (
	// Category is what an item can be found to be.
	Category struct{ project.Label }
	// Subcategory is what else an item can be found to be.
	Subcategory struct{ project.Label }
)

// Unions; see aliases.go.
type (
	// UpdateGuidelinesProblem is an expected outcome of updateGuidelines.
	UpdateGuidelinesProblem any
	// UpdateProjectProblem is an expected outcome of updateProject.
	UpdateProjectProblem any
	// DeleteProjectProblem is an expected outcome of deleteProject.
	DeleteProjectProblem any
	// CategoryProblem is an expected outcome of changes of the lists of categories and subcategories.
	CategoryProblem any
	// TeamProblem is an expected outcome of changes of teams.
	TeamProblem any
	// DeleteTeamProblem is an expected outcome of deleteTeam.
	DeleteTeamProblem any
	// PutProjectMemberProblem is an expected outcome of putProjectMember.
	PutProjectMemberProblem any
	// RemoveProjectMemberProblem is an expected outcome of removeProjectMember.
	RemoveProjectMemberProblem any
	// AcceptProjectInvitationProblem is an expected outcome of acceptProjectInvitation.
	AcceptProjectInvitationProblem any
	// ImportItemsProblem is an expected outcome of importItems.
	ImportItemsProblem any
)

// MarshalProjectID writes the global id of a project.
func MarshalProjectID(id project.ID) graphql.Marshaler {
	return gid.Single{Type: "Project", Key: string(id)}
}

// UnmarshalProjectID is not used; see [UnmarshalUserID].
func UnmarshalProjectID(any) (project.ID, error) { return "", errOutputOnly }

// MarshalTeamID writes the global id of a team.
func MarshalTeamID(id project.TeamID) graphql.Marshaler {
	return gid.Of("Team", string(id.Project), id.ID)
}

// UnmarshalTeamID is not used; see [UnmarshalUserID].
func UnmarshalTeamID(any) (project.TeamID, error) { return project.TeamID{}, errOutputOnly }

// MarshalLabelID writes the global id of a category or subcategory.
func MarshalLabelID(id project.LabelID) graphql.Marshaler {
	return gid.Of(string(id.Kind), string(id.Project), id.ID)
}

// UnmarshalLabelID is not used; see [UnmarshalUserID].
func UnmarshalLabelID(any) (project.LabelID, error) { return project.LabelID{}, errOutputOnly }

// MarshalProjectItemID writes the global id of an item.
func MarshalProjectItemID(id project.ItemID) graphql.Marshaler {
	return gid.Of("ProjectItem", string(id.Project), id.ID)
}

// UnmarshalProjectItemID is not used; see [UnmarshalUserID].
func UnmarshalProjectItemID(any) (project.ItemID, error) { return project.ItemID{}, errOutputOnly }

// MarshalEffortID writes the global id of an effort.
func MarshalEffortID(id project.EffortID) graphql.Marshaler {
	return gid.Of("ProjectItemEffort", string(id.Project), id.ID)
}

// UnmarshalEffortID is not used; see [UnmarshalUserID].
func UnmarshalEffortID(any) (project.EffortID, error) { return project.EffortID{}, errOutputOnly }

// MarshalImportID writes the global id of an import.
func MarshalImportID(id project.ImportID) graphql.Marshaler {
	return gid.Of("ProjectImport", string(id.Project), id.ID)
}

// UnmarshalImportID is not used; see [UnmarshalUserID].
func UnmarshalImportID(any) (project.ImportID, error) { return project.ImportID{}, errOutputOnly }

// MarshalExportID writes the global id of an export.
func MarshalExportID(id project.ExportID) graphql.Marshaler {
	return gid.Of("ProjectExport", string(id.Project), id.ID)
}

// UnmarshalExportID is not used; see [UnmarshalUserID].
func UnmarshalExportID(any) (project.ExportID, error) { return project.ExportID{}, errOutputOnly }

// MarshalRemovalID writes the global id of a removal.
func MarshalRemovalID(id project.RemovalID) graphql.Marshaler {
	return gid.Of("ProjectRemoval", string(id.Project), id.ID)
}

// UnmarshalRemovalID is not used; see [UnmarshalUserID].
func UnmarshalRemovalID(any) (project.RemovalID, error) { return project.RemovalID{}, errOutputOnly }

// MarshalInvitationID writes the global id of an invitation.
func MarshalInvitationID(id project.InvitationID) graphql.Marshaler {
	return gid.Of("ProjectInvitation", string(id.Project), strconv.FormatInt(id.Created, 10), id.ID)
}

// UnmarshalInvitationID is not used; see [UnmarshalUserID].
func UnmarshalInvitationID(any) (project.InvitationID, error) {
	return project.InvitationID{}, errOutputOnly
}

// MarshalTeamType writes the type of a team.
func MarshalTeamType(t project.TeamType) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(strings.ToUpper(string(t)))) })
}

// UnmarshalTeamType reads the type of a team.
func UnmarshalTeamType(v any) (project.TeamType, error) {
	for _, t := range []project.TeamType{project.Taggie, project.Reviewer, project.Manager} {
		if v == strings.ToUpper(string(t)) {
			return t, nil
		}
	}
	return "", fmt.Errorf("%.40v is not a type of teams", v)
}
