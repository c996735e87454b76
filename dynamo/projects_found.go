package dynamo

import (
	"context"
	"strconv"

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
func (db Projects) ListItemsOf(ctx context.Context, requests []project.LabelItemsRequest) ([]page.Slice[project.Item], []error) {
	windows := make([]page.Window, len(requests))
	for i, r := range requests {
		windows[i] = r.Window
	}
	lists := manyLists[relationRecord, project.Item]{
		db: db.DB,
		want: func(_ int, row relationRecord, into *project.Item) want {
			return wantItem(project.ItemID{Project: project.ID(row.Subject.Scope), ID: row.Subject.ID}, into)
		},
		counts: func(list int, i project.Item) bool {
			r, is := labelled(i, requests[list].Label.Kind)
			return is && r.Object.ID == requests[list].Label.ID
		},
		position: func(i project.Item) string { return timed(linkIndex(i), i.ID) },
	}
	slices, errs := lists.read(ctx, windows, func(i int) listing[relationRecord] {
		of := requests[i].Label
		label := labelID(of)
		objectKey := keys.SubjectKey(label.Scope, label.Type, label.ID)
		return listing[relationRecord]{
			span:    span{table: relationshipEntries, index: reverseRelationships, pk: objectKey},
			decode:  func(item []byte, r *relationRecord) error { return decodeRelation(item, r, nil) },
			sortKey: func(p string) string { at, _ := parseTimed(p); return strconv.FormatInt(at, 10) },
			start: func(p string) attrs {
				at, id := parseTimed(p)
				subject := itemID(project.ItemID{Project: of.Project, ID: id})
				start := relationshipEntries.key(rowKey{
					PK: keys.SubjectKey(subject.Scope, subject.Type, subject.ID),
					SK: keys.PredicateKey(linkPredicate(of.Kind), at, label.Type, label.ID),
				})
				start["_object_key"], start["_index"] = str(objectKey), number(at)
				return start
			},
		}
	})
	return slices, missing(errs, "there is no such category")
}
