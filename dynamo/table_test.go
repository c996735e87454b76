package dynamo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
)

// relation is a row that points to the object for the n-th time.
func relation(n int) Put {
	row := RelationshipEntries.Key(Key{"s:person:1", fmt.Sprintf("knows:%03d:person:2", n)})
	row["_object_key"], row["_index"] = Str("s:person:2"), Number(int64(n))
	return Put{Table: RelationshipEntries, Item: row}
}

// indexesOf reads _index of the rows of a span, and where to go on.
func indexesOf(t *testing.T, db *DB, s Span) (found []string, next Attrs) {
	t.Helper()
	next, err := db.Query(t.Context(), s, func(item Item) (bool, error) {
		return true, Attributes(item, func(name []byte, v Value) error {
			if string(name) != "_index" {
				return nil
			}
			n, err := v.Any()
			found = append(found, string(n.(json.Number)))
			return err
		})
	})
	require.NoError(t, err)
	return found, next
}

// An index that sorts by a number, with a name that has the prefix, is read from end to end in pages and in ranges.
func TestQueryOfAnIndexWithNumbers(t *testing.T) {
	t.Parallel()
	db, inj := openDB(t, nil)
	var writes []Put
	for n := range 30 {
		writes = append(writes, relation(n))
	}
	require.NoError(t, db.BatchPut(t.Context(), writes))
	var want []string
	for n := range 30 {
		want = append(want, fmt.Sprint(n))
	}
	whole := Span{Table: RelationshipEntries, Index: ReverseRelationships, PK: "s:person:2"}
	all, next := indexesOf(t, db, whole)
	assert.Equal(t, want, all)
	assert.Nil(t, next)

	paged := whole
	paged.Limit = 7
	var pages []string
	for more := true; more; more = paged.Start != nil {
		var page []string
		page, paged.Start = indexesOf(t, db, paged)
		pages = append(pages, page...)
	}
	assert.Equal(t, want, pages, "the last key keeps its number")

	for _, test := range []struct {
		low, high string
		want      []string
	}{{"9", "11", want[9:12]}, {"27", "", want[27:]}, {"", "2", want[:3]}} {
		s := whole
		s.Low, s.High = test.low, test.high
		found, _ := indexesOf(t, db, s)
		assert.Equal(t, test.want, found)
	}
	own := Span{Table: RelationshipEntries, PK: "s:person:1", Low: "knows:028", Keys: true}
	var keys []Key
	_, err := db.Query(t.Context(), own, func(item Item) (bool, error) {
		key, err := KeyOf(item, RelationshipEntries)
		keys = append(keys, key)
		return true, err
	})
	require.NoError(t, err)
	assert.Equal(t, []Key{{"s:person:1", "knows:028:person:2"}, {"s:person:1", "knows:029:person:2"}}, keys)
	assert.Empty(t, inj.Recorder().Violations())
}

// Tables whose keys have different names share batches, also when batches are cut short.
func TestBatchesMixTablesWithOtherKeys(t *testing.T) {
	t.Parallel()
	db, inj := openDB(t, nil)
	inj.LeaveUnprocessed(7, faultinject.Every(2))
	inj.Throttle(faultinject.Every(3))
	tables := []Table{NotesTable, EntitiesMaster, RelationshipEntries, IndexEntries}
	key := func(i int) Key { return Key{fmt.Sprint("p", i), "s"} }
	var puts []Put
	var deletes []RowID
	var wants []Want
	var read int
	for i := range 120 {
		of := tables[i%len(tables)]
		row := of.Key(key(i))
		row["n"] = Number(int64(i))
		puts = append(puts, Put{Table: of, Item: row})
		if i%3 == 0 {
			deletes = append(deletes, RowID{Table: of, Key: key(i)})
		}
		wants = append(wants, Want{of, key(i), func(item Item) error {
			read++
			k, err := KeyOf(item, of)
			assert.Equal(t, key(i), k)
			return err
		}})
	}
	db.Concurrency = 1 // decode counts
	ctx := soon(t, time.Minute)
	require.NoError(t, db.BatchPut(ctx, puts))
	for _, err := range db.BatchGet(ctx, wants) {
		require.NoError(t, err)
	}
	assert.Equal(t, 120, read)
	require.NoError(t, db.BatchDelete(ctx, deletes))
	for i, err := range db.BatchGet(ctx, wants) {
		if i%3 == 0 {
			assert.Equal(t, ErrMissing, err)
		} else {
			assert.NoError(t, err)
		}
	}
	assert.Empty(t, inj.Recorder().Violations())
}

func TestBatchPutTellsWhenAChunkFailed(t *testing.T) {
	t.Parallel()
	db, inj := openDB(t, nil)
	var writes []Put
	for n := range 100 {
		writes = append(writes, relation(n))
	}
	require.NoError(t, db.BatchPut(t.Context(), nil))
	assert.Zero(t, inj.Recorder().Count())
	once := inj.Fail(http.StatusBadRequest, "ValidationException", faultinject.First(1))
	err := db.BatchPut(t.Context(), writes)
	assert.True(t, fault.Is(err, fault.Internal), "got %v", err)
	assert.Equal(t, 4, inj.Recorder().Count(), "what is wrong is not tried again, the other chunks go on")
	once.Stop()
	writes[50].Item["large"] = Str(strings.Repeat("x", 400<<10))
	assert.True(t, fault.Is(db.BatchPut(t.Context(), writes), fault.Exhausted))
	inj.NeverProcess(func(k faultinject.Key) bool { return strings.Contains(k.Attributes, "knows:099:") })
	delete(writes[50].Item, "large")
	assert.True(t, fault.Is(db.BatchPut(soon(t, time.Second), writes), fault.Unavailable))
}

func TestNewTablesAreAsDocumented(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, nil)
	for i, want := range []string{
		"test-entities_master(_id,_scope_type_key) test-entities_by_type(_scope_type_key S,_updated S)",
		"test-relationship_entries(_subject_key,_predicate_key) test-reverse_relationships(_object_key S,_index N)",
		"test-index_entries(_subject_key,_unique_key) test-index_lookup(_scope_index_name S,_index_key S)",
	} {
		in := db.Tables()[i+1]
		kinds := spelling(in.AttributeDefinitions).types
		gsi := in.GlobalSecondaryIndexes[0]
		assert.Equal(t, types.ProjectionTypeAll, gsi.Projection.ProjectionType)
		name := func(s *string) string { return "test-" + strings.TrimPrefix(*s, db.prefix) }
		pk, sk := *gsi.KeySchema[0].AttributeName, *gsi.KeySchema[1].AttributeName
		assert.Equal(t, want, fmt.Sprintf("%s(%s,%s) %s(%s %s,%s %s)", name(in.TableName), *in.KeySchema[0].AttributeName, *in.KeySchema[1].AttributeName,
			name(gsi.IndexName), pk, kinds[pk], sk, kinds[sk]))
	}
}
