package entities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

// documentEntity is the row of the document; _meta and _index_entries are a hash object of which it does not say more.
func documentEntity(id, more string) string {
	return fmt.Sprintf(`{"_scope": "s", "_type": "person", "_id": "%[1]s", "_scope_type_key": "s:person", "_created": "2026-01-01T00:00:00.000Z",
		"_updated": "2026-01-01T00:00:00.00%[1]sZ", "name": "Ada %[1]s"%[2]s}`, id, more)
}

func documentRelation(subject string, index int, object string) string {
	return fmt.Sprintf(`{"_subject_scope": "s", "_subject_type": "person", "_subject_id": "%[1]s", "_predicate": "knows", "_index": %[2]d, "_object_scope": "s",
		"_object_type": "person", "_object_id": "%[3]s", "_subject_key": "s:person:%[1]s", "_object_key": "s:person:%[3]s", "_predicate_key": "knows:%[2]d:person:%[3]s", "since": %[2]d}`,
		subject, index, object)
}

// noteSets puts bytes and a set into _meta of an entity: JSON has neither.
func noteSets(t *testing.T, db *dynamo.DB, id string) {
	t.Helper()
	_, err := db.Client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: db.Table(dynamo.EntitiesMaster), Key: dynamo.EntitiesMaster.Key(entities.EntityKey(entity.ID{Scope: "s", Type: "person", ID: id})),
		UpdateExpression:         dynamotest.Ptr("SET #meta.#bytes = :bytes, #meta.#deep.#set = :set"),
		ExpressionAttributeNames: map[string]string{"#meta": "_meta", "#bytes": "bytes", "#deep": "deep", "#set": "set"},
		ExpressionAttributeValues: dynamo.Attrs{
			":bytes": &types.AttributeValueMemberB{Value: []byte("b")}, ":set": &types.AttributeValueMemberSS{Value: []string{"a"}},
		},
	})
	require.NoError(t, err)
}

func TestEntityRowsOfTheDocumentAreLikeOurs(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	store := entities.Store{DB: db}
	rules := entity.NewService(entity.Options{Store: store, Now: clock.Now, NewID: func() string { return "s" }})
	asAda := viewer.With(t.Context(), viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: "ada"}, UserID: "ada"})
	dynamotest.PutByHand(t, db, dynamo.NotesTable, `[{"PK": "USER#ada", "SK": "PROFILE"}]`)
	scope, err := rules.CreateScope(asAda, entity.CreateScope{Name: "s"})
	require.NoError(t, err)
	_, err = rules.DeclareIndex(asAda, entity.DeclareIndex{Scope: "s", Name: "by_name", Type: "person", Path: []string{"name"}, Kind: entity.StringKey})
	require.NoError(t, err)
	metas := []string{"", `, "_meta": {}, "_index_entries": {}`, `, "_meta": {"x": 1}, "_index_entries": {"by_name": {"Ada": {"n": 1}}}`, `, "_index_entries": {"by_name": ["Ada 4"]}`,
		`, "_meta": {"x": 1, "deep": {}}`}
	rows := ""
	for i, more := range metas {
		rows += documentEntity(fmt.Sprint(i+1), more) + ","
	}
	dynamotest.PutByHand(t, db, dynamo.EntitiesMaster, "["+rows+documentEntity("9", "")+"]")
	noteSets(t, db, "5")
	dynamotest.PutByHand(t, db, dynamo.IndexEntries, `[{"_scope": "s", "_type": "person", "_id": "1", "_index_name": "by_name", "_index_key": "Ada 1", "_subject_key": "s:person:1",
		"_unique_key": "by_name:Ada 1", "_scope_index_name": "s:by_name", "n": 1}]`)
	relations := ""
	for i := range 12 {
		relations += documentRelation("1", i, []string{"2", "3", "gone"}[i%3]) + ","
	}
	dynamotest.PutByHand(t, db, dynamo.RelationshipEntries, "["+relations+documentRelation("9", 0, "1")+"]")

	// They are read by id, in the list of their type, by what an index has, and by what points to them.
	get := func(id string) entity.Entity {
		t.Helper()
		found, errs := rules.ListByID(asAda, []entity.ID{{Scope: "s", Type: "person", ID: id}})
		require.NoError(t, errors.Join(errs...), id)
		return found[0]
	}
	assert.Equal(t, 1, get("1").Version)
	scopes, _ := rules.ScopesByID(asAda, []string{scope.ID})
	list, err := rules.List(asAda, scopes[0].Entities("person", page.Window{Limit: 20}))
	require.NoError(t, err)
	assert.Len(t, list.Items, 6)
	indexed, err := store.ListByIndex(asAda, "s", "by_name", entity.Range{}, page.Window{Limit: 20})
	require.NoError(t, err)
	require.Len(t, indexed.Items, 1)
	assert.Equal(t, "1", indexed.Items[0].Entity.ID.ID)
	assert.Equal(t, map[string]any{"n": json.Number("1")}, indexed.Items[0].Attributes)
	related := func(id string) (objects []string) {
		t.Helper()
		lists, errs := rules.ListRelations(asAda, []entity.RelationsRequest{get(id).Relations("knows", page.Window{Limit: 50})})
		require.NoError(t, errors.Join(errs...))
		for _, r := range lists[0].Items {
			objects = append(objects, r.Object.ID)
		}
		return objects
	}
	assert.Len(t, related("1"), 12)

	// They are changed, in every shape.
	for i := range metas {
		id := entity.ID{Scope: "s", Type: "person", ID: fmt.Sprint(i + 1)}
		expected, before := 1, get(id.ID)
		e, err := rules.Update(asAda, entity.Update{Entity: id, Attributes: map[string]any{"more": true}, ExpectedVersion: &expected})
		require.NoError(t, err, i)
		assert.Equal(t, 2, e.Version)
		assert.Len(t, e.Attributes, 2)
		noted := []map[string]any{nil, nil, {"x": json.Number("1")}, nil, {"x": json.Number("1")}}[i]
		if id.ID == "5" {
			assert.Equal(t, noted, before.Meta, "names with values that JSON does not have are left out")
		}
		assert.Equal(t, noted, e.Meta, "what another program notes is the meta of the entity")
		assert.Equal(t, noted, get(id.ID).Meta)
	}
	zero := 0
	_, err = rules.Set(asAda, entity.Set{Scope: "s", Type: "person", ID: dynamotest.Ptr("9"), Attributes: map[string]any{}, ExpectedVersion: &zero})
	var conflict *entity.VersionConflict
	require.ErrorAs(t, err, &conflict, "it exists")

	// What is added comes behind what is there, in the order of its indexes; nothing of it is lost.
	added, err := rules.AddRelations(asAda, entity.PutRelations{Subject: get("1").ID, Predicate: "knows", Objects: []entity.Object{{ID: get("4").ID}, {ID: get("2").ID}}})
	require.NoError(t, err)
	assert.Len(t, added, 1)
	assert.Equal(t, []string{"2", "3", "gone", "2", "3", "gone", "2", "3", "gone", "2", "3", "gone", "4"}, related("1"))
	removed, err := rules.RemoveRelations(asAda, entity.RemoveRelations{Subject: get("1").ID, Predicate: "knows", Objects: []entity.ID{get("2").ID}})
	require.NoError(t, err)
	assert.Len(t, removed, 4)
	removed, err = rules.RemoveRelations(asAda, entity.RemoveRelations{Subject: get("9").ID, Predicate: "knows", Objects: []entity.ID{get("1").ID}})
	require.NoError(t, err)
	assert.Len(t, removed, 1)
	require.NoError(t, rules.ReplaceRelations(asAda, entity.PutRelations{Subject: get("1").ID, Predicate: "knows", Objects: []entity.Object{{ID: get("3").ID}}}))
	assert.Equal(t, []string{"3"}, related("1"))

	// The index is built over what was put by hand, and they are deleted, changed before or not.
	dynamotest.PutByHand(t, db, dynamo.EntitiesMaster, "["+documentEntity("8", metas[4])+"]")
	noteSets(t, db, "8")
	require.NoError(t, store.Reindex(asAda, "s", "person", time.Time{}, "", entity.Index{Name: "by_name", Type: "person", Path: []string{"name"}, Kind: entity.StringKey}.Mapper(), func(context.Context, string, int) error { return nil }))
	indexed, err = store.ListByIndex(asAda, "s", "by_name", entity.Range{Equals: dynamotest.Ptr("Ada 8")}, page.Window{Limit: 20})
	require.NoError(t, err)
	assert.Len(t, indexed.Items, 1)
	assert.Equal(t, map[string]any{"x": json.Number("1")}, get("8").Meta, "building an index keeps it")
	dynamotest.PutByHand(t, db, dynamo.EntitiesMaster, "["+documentEntity("7", "")+"]")
	for _, id := range []string{"1", "7", "8", "9"} {
		require.NoError(t, rules.Delete(asAda, entity.Delete{Entity: get(id).ID}), id)
	}
	_, err = rules.Set(asAda, entity.Set{Scope: "s", Type: "person", ID: dynamotest.Ptr("7"), Attributes: map[string]any{}})
	require.Error(t, err, "it is being deleted")
	require.NoError(t, store.PutEntity(asAda, nil, entity.Entity{ID: entity.ID{Scope: "s", Type: "person", ID: "6"}, Version: 1}, nil, idempotency.Key{}))
}
