package projects

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// NoSuchEffort is what somebody is told who names an effort that is not there.
const NoSuchEffort = "there is no such effort"

// EffortType is the type of efforts, of which each project has very many.
const EffortType = "ProjectItemEffort"

// EffortsMade is the attribute in which an item counts the efforts that were ever made, those that were taken back included.
const EffortsMade = "_efforts"

// EffortID is an effort as an entity.
func EffortID(id project.EffortID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: EffortType, ID: id.ID}
}

// EffortOf is that a subject, an item or a member, has an effort; they are in the order in which they were finished.
func EffortOf(subject entity.ID, e project.Effort) entity.Relation {
	return entity.Relation{Subject: subject, Predicate: "effort", Index: e.FinishedAt.UnixMilli(), Object: EffortID(e.EffortID)}
}

// EffortRows are the attributes that efforts have of their own.
var EffortRows = dynamo.LayoutOf(
	dynamo.Optional(dynamo.OfText("item", func(e *project.Effort) *string { return &e.Item })),
	dynamo.Optional(dynamo.OfText("user", func(e *project.Effort) *project.UserID { return &e.User })),
	dynamo.Optional(dynamo.OfText("team", func(e *project.Effort) *string { return &e.Team })),
	dynamo.Optional(dynamo.OfText("category", func(e *project.Effort) *string { return &e.Category })),
	dynamo.Optional(dynamo.OfText("subcategory", func(e *project.Effort) *string { return &e.Subcategory })),
	dynamo.Optional(dynamo.OfTexts("keywords", func(e *project.Effort) *[]string { return &e.Keywords })),
	dynamo.OfInstant("finished_at", func(e *project.Effort) *time.Time { return &e.FinishedAt }),
	dynamo.Optional(dynamo.OfText("review", func(e *project.Effort) *project.Verdict { return &e.Review.Verdict })),
	dynamo.Optional(dynamo.OfText("review_comment", func(e *project.Effort) *string { return &e.Review.Comment })),
	dynamo.Optional(dynamo.OfText("reviewed_by", func(e *project.Effort) *project.UserID { return &e.Review.By })),
	dynamo.Optional(dynamo.OfInstant("reviewed_at", func(e *project.Effort) *time.Time { return &e.Review.At })),
	dynamo.Optional(dynamo.OfFlag("to_review", func(e *project.Effort) *bool { return &e.ToReview })),
	dynamo.Optional(dynamo.OfWhole("changes", func(e *project.Effort) *int { return &e.Changes })),
	dynamo.Optional(dynamo.OfInstant("removed_at", func(e *project.Effort) *time.Time { return &e.RemovedAt })),
	dynamo.Optional(dynamo.OfInstant("undone_at", func(e *project.Effort) *time.Time { return &e.UndoneAt })),
)

// EffortRow is the row of an effort.
func EffortRow(e project.Effort) dynamo.Attrs {
	id := EffortID(e.EffortID)
	return entities.EntityRow(entities.ShardedKey(id), entities.Header{ID: id, Version: 1, Created: e.FinishedAt, Updated: cmp.Or(e.UpdatedAt, e.FinishedAt)}, EffortRows.Row(&e))
}

// DecodeEffort reads what [EffortRow] made.
func DecodeEffort(item dynamo.Item, e *project.Effort) error {
	h, err := entities.DecodeOwn(EffortRows, item, e)
	e.EffortID, e.UpdatedAt = project.EffortID{Project: project.ID(h.ID.Scope), ID: h.ID.ID}, h.Updated
	return err
}

// WantEffort reads an effort into e, as a part of a batch.
func WantEffort(id project.EffortID, into *project.Effort) dynamo.Want {
	return dynamo.Want{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(EffortID(id)), Decode: func(item dynamo.Item) error { return DecodeEffort(item, into) }}
}

// EffortsByID reads efforts.
//
// Index: primary. Key: _id = <effort> AND _scope_type_key = <project>:ProjectItemEffort~<shard>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) EffortsByID(ctx context.Context, ids []project.EffortID) ([]project.Effort, []error) {
	efforts := make([]project.Effort, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = WantEffort(id, &efforts[i])
	}
	return efforts, dynamo.Missing(db.BatchGet(ctx, wants), NoSuchEffort)
}

// ListEffortsOfItems lists the efforts of each item, the newest first. Who knows that an item has none need not ask.
//
// Index: primary. Key: _subject_key = <project>:ProjectItem:<item> AND begins_with(_predicate_key, effort:), descending, per
// item; then the efforts as in EffortsByID. Cost: 1 Query per item and ⌈n/100⌉ BatchGetItem for the efforts of all items
// together.
func (db Store) ListEffortsOfItems(ctx context.Context, requests []project.ItemEffortsRequest) ([]page.Slice[project.Effort], []error) {
	subjects, windows := make([]entity.ID, len(requests)), make([]page.Window, len(requests))
	for i, r := range requests {
		subjects[i], windows[i] = ItemID(r.Item), r.Window
	}
	return db.effortsOf(ctx, subjects, windows)
}

// ListEffortsOfMembers lists the efforts of each member, the newest first.
//
// Index: primary. Key: _subject_key = <project>:User:<user> AND begins_with(_predicate_key, effort:), descending, per member;
// then the efforts as in EffortsByID. Cost: 1 Query per member and ⌈n/100⌉ BatchGetItem for the efforts of all members
// together.
func (db Store) ListEffortsOfMembers(ctx context.Context, requests []project.MemberEffortsRequest) ([]page.Slice[project.Effort], []error) {
	subjects, windows := make([]entity.ID, len(requests)), make([]page.Window, len(requests))
	for i, r := range requests {
		subjects[i], windows[i] = UserIn(r.Project, r.User), r.Window
	}
	return db.effortsOf(ctx, subjects, windows)
}

func (db Store) effortsOf(ctx context.Context, subjects []entity.ID, windows []page.Window) ([]page.Slice[project.Effort], []error) {
	// Efforts go with their item alone, whose removal takes the links of its members first, so that every row counts.
	lists := dynamo.ManyLists[entities.RelationRecord, project.Effort]{
		DB: db.DB,
		Want: func(_ int, row entities.RelationRecord, into *project.Effort) dynamo.Want {
			return WantEffort(project.EffortID{Project: project.ID(row.Object.Scope), ID: row.Object.ID}, into)
		},
		Position: func(e project.Effort) string { return timed(e.FinishedAt.UnixMilli(), e.ID) },
	}
	slices, errs := lists.Read(ctx, windows, func(i int) dynamo.Listing[entities.RelationRecord] {
		return dynamo.Listing[entities.RelationRecord]{
			Span: LinksOf(subjects[i], "effort"), Descending: true,
			Decode: func(item dynamo.Item, r *entities.RelationRecord) error { return entities.DecodeRelation(item, r, nil) },
			SortKey: func(p string) string {
				at, id := parseTimed(p)
				return keys.PredicateKey("effort", at, EffortType, id)
			},
		}
	})
	return slices, dynamo.Missing(errs, "there is no such item")
}

// timed is the position of something in a list that is ordered by time, or another number.
func timed(at int64, id string) string { return fmt.Sprintf("%d:%s", at, id) }

func parseTimed(p string) (at int64, id string) {
	number, id, _ := strings.Cut(p, ":")
	at, _ = strconv.ParseInt(number, 10, 64) // cursors are signed
	return at, id
}
