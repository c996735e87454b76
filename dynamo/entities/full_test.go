package entities_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
)

// Things of which every attribute is there.
var fullRelation = entity.Relation{
	Subject: entity.ID{Scope: "s", Type: "Song", ID: "1"}, Predicate: "by", Index: 3, Object: entity.ID{Scope: "s", Type: "Band", ID: "2"},
}

var fullScopeMember = entity.Member{Scope: "s", User: "u1", Role: entity.WriterRole, AddedAt: dynamotest.FullTime}

var fullScope = entity.Scope{
	ID: "s", Name: "Songs", Types: map[string]bool{"Song": true}, Version: 3, CreatedAt: dynamotest.FullTime, UpdatedAt: dynamotest.FullTime.Add(time.Second),
	Indexes: []entity.Index{{Name: "n", Type: "Song", Path: []string{"a", "b"}, Kind: "TEXT", ThenBy: []entity.Part{{Path: []string{"c"}, Kind: "NUMBER"}},
		Where: []entity.Where{{Path: []string{"d"}, Equals: json.Number("1.5"), Is: dynamotest.Ptr(true), Exists: dynamotest.Ptr(false)}, {Path: []string{"e"}, Equals: "f"}}, Carries: []string{"g"}, DeclaredAt: dynamotest.FullTime, Fresh: true, Ready: true, RemovedAt: dynamotest.FullTime.Add(time.Second), Done: 4, Pass: 2, At: "p"}},
}

var fullDeletion = entities.Deletion{ID: "d1", Entity: fullRelation.Subject, Key: entities.EntityKey(fullRelation.Subject), At: dynamotest.FullTime}

// What a row was written of is what is read from it, whatever it has.
func TestRowsOfEntitiesAreReadAsTheyWereWritten(t *testing.T) {
	dynamotest.Full(t, fullScopeMember)
	assert.Equal(t, fullScopeMember, dynamotest.Decoded(t, entities.ScopeMemberRow(fullScopeMember), entities.DecodeScopeMember))
	dynamotest.Full(t, fullScope.Indexes[0])
	assert.Equal(t, fullScope, dynamotest.Decoded(t, entities.ScopeRow(fullScope), entities.DecodeScope))
	assert.Equal(t, entities.RelationRecord{Relation: fullRelation, Key: entities.RelationKey(fullRelation), Created: dynamotest.FullTime},
		dynamotest.Decoded(t, entities.RelationRow(fullRelation, dynamotest.FullTime, nil), func(row dynamo.Item, r *entities.RelationRecord) error { return entities.DecodeRelation(row, r, nil) }))
	assert.Equal(t, entities.EntryRecord{ID: fullRelation.Subject, IndexEntry: entity.IndexEntry{Name: "n", Key: "k", Attributes: map[string]any{"a": "b"}}},
		dynamotest.Decoded(t, entities.IndexRow(fullRelation.Subject, "n", "k", dynamo.Attrs{"a": dynamo.Str("b")}), entities.DecodeEntry))
	assert.Equal(t, fullDeletion, dynamotest.Decoded(t, fullDeletion.Order().Item, func(row dynamo.Item, d *entities.Deletion) error { d.ID = "d1"; return d.Decode(row) }))
}

// BenchmarkDecodeEntities reads one row of each kind that is read in large numbers.
func BenchmarkDecodeEntities(b *testing.B) {
	dynamotest.Decoding(b, "Relation", entities.RelationRow(fullRelation, dynamotest.FullTime, nil), func(row dynamo.Item, r *entities.RelationRecord) error { return entities.DecodeRelation(row, r, nil) })
	id := fullRelation.Subject
	dynamotest.Decoding(b, "Entity", entities.EntityRow(entities.EntityKey(id), entities.Header{ID: id, Version: 3, Created: dynamotest.FullTime, Updated: dynamotest.FullTime, Index: map[string][]string{"n": {"k"}}},
		dynamo.Attrs{"name": dynamo.Str("name"), "color": dynamo.Str("red")}), entities.DecodeEntity)
	dynamotest.Decoding(b, "Entry", entities.IndexRow(fullRelation.Subject, "name", "key", dynamo.Attrs{"name": dynamo.Str("name")}), entities.DecodeEntry)
}
