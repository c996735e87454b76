package entities_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/entitytest"
	"github.com/taggie/taggie/internal/task"
)

// The rows have the shapes of the document, byte for byte; what it leaves open (instants, numbers, the maps) as decided. A key of
// an index of ours comes besides.
func TestRowsOfEntities(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	db, _ := dynamotest.OpenDB(t, func() time.Time { return at })
	e := entity.Entity{
		ID: entity.ID{Scope: "my:scope", Type: "person", ID: "a#1:b"}, Version: 1, CreatedAt: at, UpdatedAt: at.Add(time.Millisecond),
		Attributes: map[string]any{"name": "Ada", "age": json.Number("36"), "expires_at": json.Number("1")}, Meta: map[string]any{"source": "import"},
		Index: []entity.IndexEntry{
			{Name: "name", Key: "Lovelace:A"}, {Name: "name", Key: "Ada", Attributes: map[string]any{"n": json.Number("1")}}, {Name: "name", Key: "Lovelace:A"},
		},
	}
	require.NoError(t, entities.Store{DB: db}.PutEntity(t.Context(), nil, e, nil, idempotency.Key{}))
	dynamotest.AssertRows(t, []string{`{
		"_scope": {"S": "my:scope"}, "_type": {"S": "person"}, "_id": {"S": "a#1:b"}, "_scope_type_key": {"S": "my%3Ascope:person"}, "_entity_scope": {"S": "my:scope"},
		"_created": {"S": "2026-11-20T08:00:00.000Z"}, "_updated": {"S": "2026-11-20T08:00:00.001Z"},
		"_meta": {"M": {"version": {"N": "1"}, "source": {"S": "import"}}},
		"_index_entries": {"M": {"name": {"L": [{"S": "Ada"}, {"S": "Lovelace:A"}]}}},
		"name": {"S": "Ada"}, "age": {"N": "36"}, "expires_at": {"N": "1"}
	}`}, dynamotest.Scan(t, db, dynamo.EntitiesMaster))
	dynamotest.AssertRows(t, []string{`{
		"_scope": {"S": "my:scope"}, "_type": {"S": "person"}, "_id": {"S": "a#1:b"},
		"_index_name": {"S": "name"}, "_index_key": {"S": "Ada"},
		"_subject_key": {"S": "my%3Ascope:person:a%231%3Ab"}, "_unique_key": {"S": "name:Ada"}, "_scope_index_name": {"S": "my%3Ascope:name"},
		"n": {"N": "1"}
	}`, `{
		"_scope": {"S": "my:scope"}, "_type": {"S": "person"}, "_id": {"S": "a#1:b"},
		"_index_name": {"S": "name"}, "_index_key": {"S": "Lovelace:A"},
		"_subject_key": {"S": "my%3Ascope:person:a%231%3Ab"}, "_unique_key": {"S": "name:Lovelace:A"}, "_scope_index_name": {"S": "my%3Ascope:name"}
	}`}, dynamotest.Scan(t, db, dynamo.IndexEntries))
	assert.Empty(t, dynamotest.Scan(t, db, dynamo.RelationshipEntries))
}

func TestRowsOfScopesAndTasks(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, _ := dynamotest.OpenDB(t, clock.Now)
	w := entitytest.NewWorld(t, entityStores(db), clock)
	ada := string(w.SignUp("ada"))
	w.NewScope("s:1", entity.UserID(ada))
	dynamotest.AssertRows(t, []string{`{
		"_scope": {"S": "taggie"}, "_type": {"S": "Scope"}, "_id": {"S": "s:1"}, "_scope_type_key": {"S": "taggie:Scope~11"},
		"_created": {"S": "2026-11-20T08:00:00.000Z"}, "_updated": {"S": "2026-11-20T08:00:00.000Z"},
		"_meta": {"M": {"version": {"N": "1"}, "members": {"N": "1"}, "owners": {"N": "1"}}}, "_index_entries": {"M": {}},
		"name": {"S": "scope s:1"}, "indexes": {"L": []}
	}`}, dynamotest.Scan(t, db, dynamo.EntitiesMaster))
	ofScope := fmt.Sprintf(`{
		"_subject_key": {"S": "taggie:Scope:s%%3A1"}, "_predicate_key": {"S": "member:0000000000000000:User:%[1]s"}, "_object_key": {"S": "taggie:User:%[1]s"},
		"_subject_scope": {"S": "taggie"}, "_subject_type": {"S": "Scope"}, "_subject_id": {"S": "s:1"},
		"_object_scope": {"S": "taggie"}, "_object_type": {"S": "User"}, "_object_id": {"S": "%[1]s"},
		"_predicate": {"S": "member"}, "_index": {"N": "0"}, "_created": {"S": "2026-11-20T08:00:00.000Z"}, "role": {"S": "OWNER"}
	}`, ada)
	ofUser := fmt.Sprintf(`{
		"_subject_key": {"S": "taggie:User:%[1]s"}, "_predicate_key": {"S": "scope:0000000000000000:Scope:s%%3A1"}, "_object_key": {"S": "taggie:Scope:s%%3A1"},
		"_subject_scope": {"S": "taggie"}, "_subject_type": {"S": "User"}, "_subject_id": {"S": "%[1]s"},
		"_object_scope": {"S": "taggie"}, "_object_type": {"S": "Scope"}, "_object_id": {"S": "s:1"},
		"_predicate": {"S": "scope"}, "_index": {"N": "0"}, "_created": {"S": "2026-11-20T08:00:00.000Z"}
	}`, ada)
	dynamotest.AssertRows(t, []string{ofScope, ofUser}, dynamotest.Scan(t, db, dynamo.RelationshipEntries))

	tk := task.Task{Kind: "a-kind", ID: "id:1", Scope: "s:1", Due: clock.Now()}
	require.NoError(t, dynamo.Tasks{DB: db}.PutTask(t.Context(), tk))
	waiting := `{"_subject_key": {"S": "taggie:Tasks:01"}, "_predicate_key": {"S": "task:0001795161600000:a-kind:id%3A1"}, "scope": {"S": "s:1"}, "tries": {"N": "0"}}`
	dynamotest.AssertRows(t, []string{ofScope, waiting, ofUser}, dynamotest.Scan(t, db, dynamo.RelationshipEntries))
	_, ok, err := dynamo.Tasks{DB: db}.ClaimTask(t.Context(), tk, "token", clock.Now().Add(task.Lease))
	require.NoError(t, err)
	require.True(t, ok)
	dynamotest.AssertRows(t, []string{ofScope, `{"_subject_key": {"S": "taggie:Tasks:01"}, "_predicate_key": {"S": "task:0001795161600000:a-kind:id%3A1"}, "scope": {"S": "s:1"},
		"tries": {"N": "1"}, "token": {"S": "token"}, "lease": {"S": "2026-11-20T08:00:30.000Z"}}`, ofUser}, dynamotest.Scan(t, db, dynamo.RelationshipEntries))
}

// Rows that come with a failed condition are read by the decoders of all others.
func TestRowJSONIsWhatDynamoDBSends(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		own := rapid.MapOf(rapid.StringMatching(`[a-z<>&é"]{1,5}`), rapid.OneOf(
			rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](json.Number("1.5")), rapid.Just[any]("<é\x00\">"),
			rapid.Just[any]([]any{"a", map[string]any{"b": nil}}), rapid.Just[any](map[string]any{}),
		)).Draw(t, "attributes")
		e := entity.Entity{ID: entity.ID{Scope: "s", Type: "t", ID: "i"}, Attributes: own, Meta: map[string]any{"noted": own}, Version: 3, Index: []entity.IndexEntry{{Name: "n", Key: "k"}}}
		row, err := entities.RowOfEntity(entities.EntityKey(e.ID), e)
		require.NoError(t, err)
		is, err := entities.CurrentEntity(row)
		require.NoError(t, err)
		assert.Equal(t, e.Attributes, is.Attributes)
		assert.Equal(t, e.Meta, is.Meta)
		assert.Equal(t, e.Index, is.Index)
		assert.Equal(t, []any{e.ID, e.Version}, []any{is.ID, is.Version})
	})
}

// closeKeys generates keys that are close to one another.
func closeKeys() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff}), 0, 6), func(r []rune) string { return string(r) })
}

// The bounds that DynamoDB is asked for hold the keys of the range and no others.
func TestBoundsOfIndexRanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for range 2_000 {
			bound, key := closeKeys().Draw(t, "bound"), closeKeys().Draw(t, "key")
			if key == "" {
				continue // no key of an index is
			}
			for name, test := range map[string]struct {
				r    entity.Range
				want bool
			}{
				"equals":      {entity.Range{Equals: &bound}, key == bound},
				"begins with": {entity.Range{BeginsWith: &bound}, strings.HasPrefix(key, bound)},
				"before":      {entity.Range{Before: &bound}, key < bound},
				"after":       {entity.Range{After: &bound}, key > bound},
				"between":     {entity.Range{Between: &[2]string{bound, "b"}}, bound <= key && key <= "b"},
				"both":        {entity.Range{After: &bound, Before: &[]string{"b"}[0]}, bound < key && key < "b"},
			} {
				low, high, some := entities.Bounds(test.r)
				in := some && low <= key && (high == "" || key <= high)
				if in != test.want {
					t.Fatalf("%s %q: %q is in %q to %q: %t", name, bound, key, low, high, in)
				}
				if !utf8.ValidString(low) || !utf8.ValidString(high) || len(high) > dynamo.MaxSK {
					t.Fatalf("%s %q: no key can be %q or %q", name, bound, low, high)
				}
			}
		}
	})
}

func TestLongestKeysAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\U0010FFFF", entity.MaxIndexKeyBytes/4)
	for _, r := range []entity.Range{{BeginsWith: &[]string{"\U0010FFFF"}[0]}, {BeginsWith: &long}, {Equals: &long}} {
		low, high, some := entities.Bounds(r)
		assert.True(t, some && low <= long && long <= high && len(high) <= dynamo.MaxSK)
	}
	before := strings.Repeat("\U0010FFFF", entity.MaxIndexKeyBytes/4-1) + "a"
	_, high, _ := entities.Bounds(entity.Range{Before: &before})
	assert.LessOrEqual(t, len(high), dynamo.MaxSK)
	assert.Less(t, high, before)
}
