package scores

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// ListUsesOf lists what uses each item, by id.
//
// Index: primary. Key: o = si:<owner> AND begins_with(s, <item>). Cost: 1 Query per item, concurrently within the bound.
func (db Items) ListUsesOf(ctx context.Context, requests []score.UsesRequest) ([]page.Slice[score.Use], []error) {
	lists := make([]page.Slice[score.Use], len(requests))
	errs := db.Each(len(requests), func(i int) error {
		var err error
		lists[i], err = uses.Of(requests[i].Item).Read(ctx, db.DB, requests[i].Window)
		return err
	})
	return lists, errs
}

// ListProjectsOf lists the projects that use each item and of which the user is a member, by id.
//
// Index: primary. Key: o = si:<owner> AND begins_with(s, <item>), per item; then the projects as in Projects.ProjectsByID. Cost: 1
// Query per item, concurrently within the bound, and ⌈2n/100⌉ BatchGetItem for the projects of all items together; more of up to 500
// rows where scores and snapshots are in the way, or projects of others.
func (db Items) ListProjectsOf(ctx context.Context, user score.UserID, requests []score.ProjectsRequest) ([]page.Slice[project.Project], []error) {
	windows := make([]page.Window, len(requests))
	for i, r := range requests {
		windows[i] = r.Window
	}
	lists := dynamo.ManyLists[score.Use, project.Project]{
		DB: db.DB,
		Want: func(_ int, u score.Use, into *project.Project) dynamo.Want {
			return dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.EntityKey(projects.ProjectID(u.OfProject())), Decode: func(item dynamo.Item) error { return projects.DecodeProject(item, into) }}
		},
		Beside: func(_ int, u score.Use, into *project.Project) dynamo.Want {
			return dynamo.Want{Table: dynamo.RelationshipEntries, Key: projects.ProjectMemberKey(u.OfProject(), user), Decode: func(item dynamo.Item) error { return projects.DecodeProjectMember(item, &into.Member) }}
		},
		Counts:   func(_ int, p project.Project) bool { return p.Member.Type.May(project.Taggie) },
		Position: func(p project.Project) string { return string(p.ID) },
	}
	return lists.Read(ctx, windows, func(i int) dynamo.Listing[score.Use] {
		l := uses.Of(requests[i].Item)
		l.Skips = func(u score.Use) bool { return u.Kind != score.UsedByProject }
		return l
	})
}
