package entities

import (
	"context"
	"reflect"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
)

// relationsEdit says what is to become of the relationships under a predicate, given those that hold, in order: which of them
// go, by position, and which objects come behind the others.
type relationsEdit struct {
	of    func(held []RelationRecord) (goes []int, comes []entity.Object)
	whole bool // it looks at the attributes of what holds
}

// AddRelations puts objects behind those that are there, but none that is there already.
//
// Index: primary. Key: _subject_key = <scope>:<type>:<id> AND _predicate_key between <predicate>:! and <predicate>:~; of each row that
// is written; of subject and objects. Cost: 1 Query, one more per started megabyte of relationships, then for one object 1
// TransactWriteItems of 3 rows and 2 checks; for more see [Store.ReplaceRelations].
func (db Store) AddRelations(ctx context.Context, subject entity.ID, predicate string, objects []entity.Object, once idempotency.Key) ([]entity.Relation, error) {
	changed, err := db.changeRelations(ctx, subject, map[string]relationsEdit{predicate: adding(objects)}, nil, once)
	return changed[predicate].Added, err
}

// adding puts those objects behind the others that are not there.
func adding(objects []entity.Object) relationsEdit {
	return relationsEdit{of: func(held []RelationRecord) ([]int, []entity.Object) {
		there := make(map[entity.ID]bool, len(held)+len(objects))
		for _, r := range held {
			there[r.Object] = true
		}
		var comes []entity.Object
		for _, o := range objects {
			if !there[o.ID] {
				there[o.ID], comes = true, append(comes, o)
			}
		}
		return nil, comes
	}}
}

// RemoveRelations removes all relationships to the objects under the predicate. It returns them without their attributes, which
// it does not read.
//
// Index: primary. Key: _subject_key = <scope>:<type>:<id> AND _predicate_key between <predicate>:! and <predicate>:~; of each row that
// is removed; of the subject. Cost: 1 Query, one more per started megabyte of relationships, then for one row 1
// TransactWriteItems of 3 rows and 1 check; for more see [Store.ReplaceRelations].
func (db Store) RemoveRelations(ctx context.Context, subject entity.ID, predicate string, objects []entity.ID, once idempotency.Key) ([]entity.Relation, error) {
	unwanted := make(map[entity.ID]bool, len(objects))
	for _, id := range objects {
		unwanted[id] = true
	}
	changed, err := db.changeRelations(ctx, subject, map[string]relationsEdit{predicate: {of: func(held []RelationRecord) (goes []int, _ []entity.Object) {
		for i, r := range held {
			if unwanted[r.Object] {
				goes = append(goes, i)
			}
		}
		return goes, nil
	}}}, nil, once)
	return changed[predicate].Removed, err
}

// ReplaceRelations makes the objects those under the predicate. What old and new have in common at the beginning stays as it
// is; new rows get indexes behind all others, so that no row is of both.
//
// Index: primary. Key: _subject_key = <scope>:<type>:<id> AND _predicate_key between <predicate>:! and <predicate>:~; of each row that
// comes or goes; of subject and objects. Cost: 1 Query, one more per started megabyte of relationships, then 1
// TransactWriteItems when one row comes or goes. When n come, of m objects, and k go: 1 TransactWriteItems to begin,
// ⌈(n+m+k)/88⌉ or one more to prepare, 1 to commit, ⌈k/90⌉ or 1 to clear; n + 2k + 8 rows are written, n + 2k of them in two write units
// per started KB, or four where the reverse index has them, too.
func (db Store) ReplaceRelations(ctx context.Context, subject entity.ID, predicate string, objects []entity.Object, once idempotency.Key) error {
	_, err := db.changeRelations(ctx, subject, map[string]relationsEdit{predicate: replacing(objects)}, nil, once)
	return err
}

// replacing makes the objects what is under a predicate.
func replacing(objects []entity.Object) relationsEdit {
	return relationsEdit{whole: true, of: func(held []RelationRecord) (goes []int, comes []entity.Object) {
		same := 0
		for same < min(len(held), len(objects)) && equal(held[same], objects[same]) {
			same++
		}
		for i := same; i < len(held); i++ {
			goes = append(goes, i)
		}
		return goes, objects[same:]
	}}
}

func equal(r RelationRecord, o entity.Object) bool {
	return r.Object == o.ID && (len(r.Attributes) == 0 && len(o.Attributes) == 0 || reflect.DeepEqual(r.Attributes, o.Attributes))
}
