package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

const noSuchEffort = "there is no such effort"

// effortType is the type of efforts, of which each project has very many.
const effortType = "ProjectItemEffort"

// effortsMade is the attribute in which an item counts the efforts that were ever made, those that were taken back included.
const effortsMade = "_efforts"

func effortID(id project.EffortID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: effortType, ID: id.ID}
}

// effortOf is that a subject, an item or a member, has an effort; they are in the order in which they were finished.
func effortOf(subject entity.ID, e project.Effort) entity.Relation {
	return entity.Relation{Subject: subject, Predicate: "effort", Index: e.FinishedAt.UnixMilli(), Object: effortID(e.EffortID)}
}

// effortRows are the attributes that efforts have of their own.
var effortRows = layoutOf(
	optional(ofText("item", func(e *project.Effort) *string { return &e.Item })),
	optional(ofText("user", func(e *project.Effort) *project.UserID { return &e.User })),
	optional(ofText("team", func(e *project.Effort) *string { return &e.Team })),
	optional(ofText("category", func(e *project.Effort) *string { return &e.Category })),
	optional(ofText("subcategory", func(e *project.Effort) *string { return &e.Subcategory })),
	optional(ofTexts("keywords", func(e *project.Effort) *[]string { return &e.Keywords })),
	ofInstant("finished_at", func(e *project.Effort) *time.Time { return &e.FinishedAt }),
	optional(ofText("review", func(e *project.Effort) *project.Verdict { return &e.Review.Verdict })),
	optional(ofText("review_comment", func(e *project.Effort) *string { return &e.Review.Comment })),
	optional(ofText("reviewed_by", func(e *project.Effort) *project.UserID { return &e.Review.By })),
	optional(ofInstant("reviewed_at", func(e *project.Effort) *time.Time { return &e.Review.At })),
	optional(ofInstant("undone_at", func(e *project.Effort) *time.Time { return &e.UndoneAt })),
)

func effortRow(e project.Effort) attrs {
	id := effortID(e.EffortID)
	return entityRow(shardedKey(id), header{ID: id, Version: 1, Created: e.FinishedAt, Updated: cmp.Or(e.UpdatedAt, e.FinishedAt)}, effortRows.row(&e))
}

func decodeEffort(item []byte, e *project.Effort) error {
	h, err := decodeOwn(effortRows, item, e)
	e.EffortID, e.UpdatedAt = project.EffortID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}, h.Updated
	return err
}

func wantEffort(id project.EffortID, into *project.Effort) want {
	return want{entitiesMaster, shardedKey(effortID(id)), func(item []byte) error { return decodeEffort(item, into) }}
}

// EffortsByID reads efforts.
//
// Index: primary. Key: _id = <effort> AND _scope_type_key = <project>:ProjectItemEffort~<shard>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Projects) EffortsByID(ctx context.Context, ids []project.EffortID) ([]project.Effort, []error) {
	efforts := make([]project.Effort, len(ids))
	wants := make([]want, len(ids))
	for i, id := range ids {
		wants[i] = wantEffort(id, &efforts[i])
	}
	return efforts, missing(db.batchGet(ctx, wants), noSuchEffort)
}

// ListEffortsOfItems lists the efforts of each item, the newest first. Who knows that an item has none need not ask.
//
// Index: primary. Key: _subject_key = <project>:ProjectItem:<item> AND begins_with(_predicate_key, effort:), descending, per
// item; then the efforts as in EffortsByID. Cost: 1 Query per item and ⌈n/100⌉ BatchGetItem for the efforts of all items
// together.
func (db Projects) ListEffortsOfItems(ctx context.Context, requests []project.ItemEffortsRequest) ([]page.Slice[project.Effort], []error) {
	subjects, windows := make([]entity.ID, len(requests)), make([]page.Window, len(requests))
	for i, r := range requests {
		subjects[i], windows[i] = itemID(r.Item), r.Window
	}
	return db.effortsOf(ctx, subjects, windows)
}

// ListEffortsOfMembers lists the efforts of each member, the newest first.
//
// Index: primary. Key: _subject_key = <project>:User:<user> AND begins_with(_predicate_key, effort:), descending, per member;
// then the efforts as in EffortsByID. Cost: 1 Query per member and ⌈n/100⌉ BatchGetItem for the efforts of all members
// together.
func (db Projects) ListEffortsOfMembers(ctx context.Context, requests []project.MemberEffortsRequest) ([]page.Slice[project.Effort], []error) {
	subjects, windows := make([]entity.ID, len(requests)), make([]page.Window, len(requests))
	for i, r := range requests {
		subjects[i], windows[i] = userIn(r.Project, r.User), r.Window
	}
	return db.effortsOf(ctx, subjects, windows)
}

func (db Projects) effortsOf(ctx context.Context, subjects []entity.ID, windows []page.Window) ([]page.Slice[project.Effort], []error) {
	// Efforts never go, so that every row counts.
	lists := manyLists[relationRecord, project.Effort]{
		db: db.DB,
		want: func(_ int, row relationRecord, into *project.Effort) want {
			return wantEffort(project.EffortID{Project: project.ID(row.Object.Scope), ID: row.Object.ID}, into)
		},
		position: func(e project.Effort) string { return timed(e.FinishedAt.UnixMilli(), e.ID) },
	}
	slices, errs := lists.read(ctx, windows, func(i int) listing[relationRecord] {
		return listing[relationRecord]{
			span: linksOf(subjects[i], "effort"), descending: true,
			decode: func(item []byte, r *relationRecord) error { return decodeRelation(item, r, nil) },
			sortKey: func(p string) string {
				at, id := parseTimed(p)
				return keys.PredicateKey("effort", at, effortType, id)
			},
		}
	})
	return slices, missing(errs, "there is no such item")
}

// timed is the position of something in a list that is ordered by time, or another number.
func timed(at int64, id string) string { return fmt.Sprintf("%d:%s", at, id) }

func parseTimed(p string) (at int64, id string) {
	number, id, _ := strings.Cut(p, ":")
	at, _ = strconv.ParseInt(number, 10, 64) // cursors are signed
	return at, id
}
