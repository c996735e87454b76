package projects

import (
	"context"
	"strconv"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
)

// ListItemsOf lists the items that were found to be each label, by when they came into the project. An item that is found to
// be something else by now is left out, and pages stay full.
//
// Whether anything follows a page of 100, 200 … items is told by the index alone: looking at the item would be one more batch.
//
// Index: reverse_relationships, eventually consistent. Key: _object_key = <project>:Category:<label> or
// <project>:Subcategory:<label>, per label; then the items as in ItemsByID. Cost: 1 Query per label and ⌈n/100⌉ BatchGetItem
// for the items of all labels together.
func (db Store) ListItemsOf(ctx context.Context, requests []project.LabelItemsRequest) ([]page.Slice[project.Item], []error) {
	windows := make([]page.Window, len(requests))
	for i, r := range requests {
		windows[i] = r.Window
	}
	lists := dynamo.ManyLists[entities.RelationRecord, project.Item]{
		DB: db.DB,
		Want: func(_ int, row entities.RelationRecord, into *project.Item) dynamo.Want {
			return WantItem(project.ItemID{Project: project.ID(row.Subject.Scope), ID: row.Subject.ID}, into)
		},
		Counts: func(list int, i project.Item) bool {
			r, is := Labelled(i, requests[list].Label.Kind)
			return is && r.Object.ID == requests[list].Label.ID
		},
		Position: func(i project.Item) string { return timed(linkIndex(i), i.ID) },
	}
	slices, errs := lists.Read(ctx, windows, func(i int) dynamo.Listing[entities.RelationRecord] {
		of := requests[i].Label
		label := labelID(of)
		objectKey := keys.SubjectKey(label.Scope, label.Type, label.ID)
		return dynamo.Listing[entities.RelationRecord]{
			Span:    dynamo.Span{Table: dynamo.RelationshipEntries, Index: dynamo.ReverseRelationships, PK: objectKey},
			Decode:  func(item dynamo.Item, r *entities.RelationRecord) error { return entities.DecodeRelation(item, r, nil) },
			SortKey: func(p string) string { at, _ := parseTimed(p); return strconv.FormatInt(at, 10) },
			Start: func(p string) dynamo.Attrs {
				at, id := parseTimed(p)
				subject := ItemID(project.ItemID{Project: of.Project, ID: id})
				start := dynamo.RelationshipEntries.Key(dynamo.Key{
					PK: keys.SubjectKey(subject.Scope, subject.Type, subject.ID),
					SK: keys.PredicateKey(linkPredicate(of.Kind), at, label.Type, label.ID),
				})
				start["_object_key"], start["_index"] = dynamo.Str(objectKey), dynamo.Number(at)
				return start
			},
		}
	})
	return slices, dynamo.Missing(errs, "there is no such category")
}
