package dynamo

import (
	"context"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
)

// decodeUse reads the row of a use: "by" says what the user is, "sc" whose snapshot it is. The item's key is completed by who knows it.
func decodeUse(item []byte, u *score.Use) error {
	key, err := keyOf(item, scoresTable)
	if err != nil {
		return err
	}
	owner, err := keys.SplitIDs(key.PK, "si:", 1)
	if err != nil {
		return err
	}
	ids, err := keys.SplitIDs(key.SK, "", 2)
	if err != nil {
		return err
	}
	u.Item.Owner, u.Item.ID, u.By = score.UserID(owner[0]), score.ItemID(ids[0]), ids[1]
	u.Kind = score.UsedByScore // rows of the source document have nothing but keys
	return attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "by":
			err = readText(v, &u.Kind)
		case "sc":
			u.Score, err = idOf[score.ID](v)
		default:
			err = v.skip()
		}
		return err
	})
}

// usesOf lists what uses an item.
func usesOf(item score.ItemRef) listing[score.Use] {
	s := span{table: scoresTable, pk: keys.ItemUsesPK(string(item.Owner))}
	s.low, s.high = prefixed(keys.ItemUsesPrefix(string(item.ID)))
	return listing[score.Use]{
		span: s,
		decode: func(row []byte, u *score.Use) error {
			err := decodeUse(row, u)
			u.Item = item
			return err
		},
		position: func(u score.Use) string { return u.By },
		sortKey:  func(p string) string { return keys.ItemUseSK(string(item.ID), p) },
	}
}

// ListUsesOf lists what uses each item, by id.
//
// Index: primary. Key: o = si:<owner> AND begins_with(s, <item>). Cost: 1 Query per item, concurrently within the bound.
func (db ScoreItems) ListUsesOf(ctx context.Context, requests []score.UsesRequest) ([]page.Slice[score.Use], []error) {
	lists := make([]page.Slice[score.Use], len(requests))
	errs := db.each(len(requests), func(i int) error {
		var err error
		lists[i], err = usesOf(requests[i].Item).read(ctx, db.DB, requests[i].Window)
		return err
	})
	return lists, errs
}

// ListProjectsOf lists the projects that use each item and of which the user is a member, by id.
//
// Index: primary. Key: o = si:<owner> AND begins_with(s, <item>), per item; then the projects as in Projects.ProjectsByID. Cost: 1
// Query per item, concurrently within the bound, and ⌈2n/100⌉ BatchGetItem for the projects of all items together; more of up to 500
// rows where scores and snapshots are in the way, or projects of others.
func (db ScoreItems) ListProjectsOf(ctx context.Context, user score.UserID, requests []score.ProjectsRequest) ([]page.Slice[project.Project], []error) {
	windows := make([]page.Window, len(requests))
	for i, r := range requests {
		windows[i] = r.Window
	}
	lists := manyLists[score.Use, project.Project]{
		db: db.DB,
		want: func(_ int, u score.Use, into *project.Project) want {
			return want{entitiesMaster, entityKey(projectID(u.OfProject())), func(item []byte) error { return decodeProject(item, into) }}
		},
		beside: func(_ int, u score.Use, into *project.Project) want {
			return want{relationshipEntries, projectMemberKey(u.OfProject(), user), func(item []byte) error { return decodeProjectMember(item, &into.Member) }}
		},
		counts:   func(_ int, p project.Project) bool { return p.Member.Type.May(project.Taggie) },
		position: func(p project.Project) string { return string(p.ID) },
	}
	return lists.read(ctx, windows, func(i int) listing[score.Use] {
		l := usesOf(requests[i].Item)
		l.skips = func(u score.Use) bool { return u.Kind != score.UsedByProject }
		return l
	})
}
