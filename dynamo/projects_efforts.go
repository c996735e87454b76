package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

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

// effortAttributes are all attributes that efforts may have of their own.
var effortAttributes = []string{"item", "user", "team", "category", "subcategory", "keywords", "finished_at", "review", "review_comment",
	"reviewed_by", "reviewed_at", "undone_at"}

func effortID(id project.EffortID) entity.ID {
	return entity.ID{Scope: string(id.Project), Type: effortType, ID: id.ID}
}

// effortOf is that a subject, an item or a member, has an effort; they are in the order in which they were finished.
func effortOf(subject entity.ID, e project.Effort) entity.Relation {
	return entity.Relation{Subject: subject, Predicate: "effort", Index: e.FinishedAt.UnixMilli(), Object: effortID(e.EffortID)}
}

func effortRow(e project.Effort) attrs {
	row := nonEmpty(map[string]string{
		"item": e.Item, "user": string(e.User), "team": e.Team, "category": e.Category, "subcategory": e.Subcategory,
		"finished_at": keys.Instant(e.FinishedAt), "review": string(e.Review.Verdict), "review_comment": e.Review.Comment,
		"reviewed_by": string(e.Review.By), "reviewed_at": whenSet(e.Review.At), "undone_at": whenSet(e.UndoneAt),
	})
	if len(e.Keywords) > 0 {
		row["keywords"] = texts(e.Keywords)
	}
	id := effortID(e.EffortID)
	return entityRow(shardedKey(id), header{ID: id, Version: 1, Created: e.FinishedAt, Updated: cmp.Or(e.UpdatedAt, e.FinishedAt)}, row)
}

func decodeEffort(item []byte, e *project.Effort) error {
	var h header
	err := attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "item":
			e.Item, err = v.str()
		case "user":
			err = readText(v, &e.User)
		case "team":
			e.Team, err = v.str()
		case "category":
			e.Category, err = v.str()
		case "subcategory":
			e.Subcategory, err = v.str()
		case "keywords":
			e.Keywords, err = readTexts(v)
		case "finished_at":
			e.FinishedAt, err = v.instant()
		case "review":
			err = readText(v, &e.Review.Verdict)
		case "review_comment":
			e.Review.Comment, err = v.str()
		case "reviewed_by":
			err = readText(v, &e.Review.By)
		case "reviewed_at":
			e.Review.At, err = v.instant()
		case "undone_at":
			e.UndoneAt, err = v.instant()
		default:
			err = h.read(name, v)
		}
		return err
	})
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
