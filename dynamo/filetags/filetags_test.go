package filetags_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/filetagtest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

func fileTagStores(db *dynamo.DB) filetagtest.Stores {
	return filetagtest.Stores{
		Tags: filetags.Store{DB: db}, Items: scores.Items{DB: db}, Scores: scores.Store{DB: db}, Tasks: dynamo.Tasks{DB: db},
		PutItem: func(ctx context.Context, ref score.ItemRef, setName string) error {
			row := scores.ScoreItemRow(score.Item{ItemRef: ref, Name: "n", SetName: setName, CreatedAt: db.Now()})
			return db.Transact(ctx, []dynamo.Action{{Table: dynamo.ScoresTable, Item: row}}, idempotency.Key{})
		},
		Check: func(t testing.TB) { tagRowsFollow(t, db) },
	}
}

func openFileTags(t *testing.T, now func() time.Time) filetagtest.Stores {
	db, inj := dynamotest.OpenDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return fileTagStores(db)
}

func TestFileTags(t *testing.T) { filetagtest.Suite(t, openFileTags) }

func TestFileTagsWithFaults(t *testing.T) {
	filetagtest.Suite(t, func(t *testing.T, now func() time.Time) filetagtest.Stores {
		return fileTagStores(dynamotest.OpenFaultyDB(t, now))
	})
}

func TestFileTagsRowByRow(t *testing.T) {
	filetagtest.Together(t, func(t *testing.T, now func() time.Time) filetagtest.Stores {
		return fileTagStores(dynamotest.OpenRowByRowDB(t, now))
	})
}

// openTagWorld returns a world on a DB of its own.
func openTagWorld(t testing.TB) (*filetagtest.World, *dynamo.DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	w := filetagtest.NewWorld(t, fileTagStores(db), clock)
	inj.Recorder().Reset()
	return w, db, inj
}

// tagRowsFollow checks that each row follows from a set and that all rows are there that do; rows that count 0 may be left.
func tagRowsFollow(t testing.TB, db *dynamo.DB) {
	t.Helper()
	want, tallies := map[dynamo.Key]dynamo.Attrs{}, map[dynamo.Key]filetag.Tally{}
	all := dynamotest.RowsOf(t, db, dynamo.TagsTable)
	for key, row := range all {
		if !strings.HasPrefix(key.PK, keys.FileIDPrefix) {
			continue
		}
		var s filetag.Set
		require.NoError(t, filetags.DecodeTagSet(dynamo.ItemOf(row), &s))
		want[key] = row
		for key, row := range filetags.FileTagRows(s.Key, s.Index) {
			want[key] = row
		}
		counted := s.Index
		if s.Counted != nil {
			counted = *s.Counted
		}
		for key, by := range filetags.TagTallies(s.Key, counted) {
			sum := tallies[key]
			tallies[key] = filetag.Tally{Tags: sum.Tags + by.Tags, Public: sum.Public + by.Public}
		}
	}
	for key, row := range all {
		switch {
		case key == filetags.LayoutKey:
		case strings.HasPrefix(key.PK, "~") && !strings.HasPrefix(key.PK, "~public#"):
			var t2 filetags.TagTally
			require.NoError(t, filetags.DecodeTally(dynamo.ItemOf(row), &t2))
			assert.Equal(t, tallies[key], t2.Tally, "%v", key)
			delete(tallies, key)
		default:
			assert.Equal(t, want[key], row, "%v", key)
		}
	}
	for key := range want {
		assert.NotNil(t, all[key], "%v is missing", key)
	}
	assert.Empty(t, tallies, "what is not counted")
}

// The rows of the document's table, with what is not in the document.
func TestFileTagRowsAreTheDocuments(t *testing.T) {
	t.Parallel()
	for _, set := range []struct {
		author, file, name string
		values             []string
	}{{"user-1", "fuid-1", "set-1", []string{"value-1", "value-2", "value-3"}}, {"user-2", "fuid-2", "set-2", []string{"value-3"}}} {
		k := filetag.Key{Item: score.ItemRef{Owner: filetag.UserID(set.author), Score: "s", ID: score.ItemID(set.file)}, Author: filetag.UserID(set.author)}
		x := filetag.Index{SetName: set.name, Via: "p", Shards: 1}
		want := map[dynamo.Key]dynamo.Attrs{}
		for _, v := range set.values {
			tag := filetag.Tag{Public: true}
			tag.Key, tag.Value = v, v
			x.Tags = append(x.Tags, tag)
			for _, author := range []string{set.author, ""} {
				queryID, letterID := "va", "v"
				if author != "" {
					queryID, letterID = "va#"+author, "v#"+author
				}
				key := dynamo.Key{PK: set.author + "#" + set.file, SK: keys.ValueHash(v, author)}
				row := dynamo.Attrs{
					"tagId": dynamo.Str(key.PK), "queryId": dynamo.Str(queryID), "valueHash": dynamo.Str(key.SK), "authorUserId": dynamo.Str(set.author), "fileUniqueId": dynamo.Str(set.file),
					"value": dynamo.Str(v), "setName": dynamo.Str(set.name),
					"letterId": dynamo.Str(letterID), "valueOrder": dynamo.Str(v + "\t" + set.file + "\t" + set.author), "owner": dynamo.Str(set.author), "score": dynamo.Str("s"), "via": dynamo.Str("p"),
				}
				if author == "" {
					row["fileId"] = dynamo.Str(set.file)
				}
				want[key] = row
			}
		}
		rows, shown := filetags.FileTagRows(k, x), dynamo.Key{PK: "~public#" + set.file, SK: set.author} // which is not in the document
		assert.Contains(t, rows, shown)
		delete(rows, shown)
		assert.Equal(t, want, rows)
		s := filetag.Set{Key: k, Index: x, Counted: &filetag.Index{Shards: 4}, Version: "v"}
		var back filetag.Set
		require.NoError(t, filetags.DecodeTagSet(dynamo.ItemOf(filetags.TagSetRow(s)), &back))
		assert.Equal(t, s, back)
	}
}
