package entities_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
)

// A relation to an entity of another scope that is gone is a misfit, but not while that scope is being erased: the entities go first.
func TestACheckDuringAnErasure(t *testing.T) {
	t.Parallel()
	db, _ := dynamotest.OpenDB(t, nil)
	misfits := func() []dynamo.Misfit {
		t.Helper()
		found, _, err := dynamo.Checking{DB: db, Kinds: entities.Kinds()}.Walk(t.Context())
		require.NoError(t, err)
		return found
	}
	dynamotest.PutByHand(t, db, dynamo.RelationshipEntries, `[{"_subject_scope": "s", "_subject_type": "person", "_subject_id": "1", "_predicate": "knows", "_index": 0, "_object_scope": "other",
		"_object_type": "person", "_object_id": "2", "_subject_key": "s:person:1", "_object_key": "other:person:2", "_predicate_key": "knows:0:person:2"}]`)
	found := misfits()
	require.Len(t, found, 1)
	assert.Equal(t, []string{"the entity in another scope to which it leads"}, found[0].Lacks)
	dynamotest.PutByHand(t, db, dynamo.RelationshipEntries, `[{"_subject_key": "taggie:Erasures:scopes", "_predicate_key": "scope:0000000000000000:Scope:other"}]`)
	assert.Empty(t, misfits())
}
