package dynamo

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

func fileTagStores(db *DB) storetest.FileTagStores {
	return storetest.FileTagStores{
		Tags: FileTags{db}, Items: ScoreItems{db}, Scores: Scores{db}, Tasks: Tasks{db},
		PutItem: func(ctx context.Context, ref score.ItemRef, setName string) error {
			row := scoreItemRow(score.Item{ItemRef: ref, Name: "n", SetName: setName, CreatedAt: db.now()})
			return db.transact(ctx, []action{{table: scoresTable, item: row}}, idempotency.Key{})
		},
		Check: func(t testing.TB) { tagRowsFollow(t, db) },
	}
}

func openFileTags(t *testing.T, now func() time.Time) storetest.FileTagStores {
	db, inj := openDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return fileTagStores(db)
}

func TestFileTags(t *testing.T) { storetest.FileTagsSuite(t, openFileTags) }

func TestFileTagsWithFaults(t *testing.T) {
	storetest.FileTagsSuite(t, func(t *testing.T, now func() time.Time) storetest.FileTagStores {
		return fileTagStores(openFaultyDB(t, now))
	})
}

func TestFileTagsRowByRow(t *testing.T) {
	storetest.FileTagsSuite(t, func(t *testing.T, now func() time.Time) storetest.FileTagStores {
		db, inj := openDB(t, now)
		inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
		t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
		return fileTagStores(db)
	})
}

// openTagWorld returns a world on a DB of its own.
func openTagWorld(t testing.TB) (*storetest.FileTagWorld, *DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := openDB(t, clock.Now)
	w := storetest.NewFileTagWorld(t, fileTagStores(db), clock)
	inj.Recorder().Reset()
	return w, db, inj
}

// tagRowsFollow checks that each row follows from a set and that all rows are there that do; rows that count 0 may be left.
func tagRowsFollow(t testing.TB, db *DB) {
	t.Helper()
	want, tallies := map[rowKey]attrs{}, map[rowKey]filetag.Tally{}
	all := rowsOf(t, db, tagsTable)
	for key, row := range all {
		if !strings.HasPrefix(key.PK, keys.FileIDPrefix) {
			continue
		}
		var s filetag.Set
		require.NoError(t, decodeTagSet(rowJSON(row), &s))
		want[key] = row
		for key, row := range fileTagRows(s.Key, s.Index) {
			want[key] = row
		}
		counted := s.Index
		if s.Counted != nil {
			counted = *s.Counted
		}
		for key, by := range tagTallies(s.Key, counted) {
			sum := tallies[key]
			tallies[key] = filetag.Tally{Tags: sum.Tags + by.Tags, Public: sum.Public + by.Public}
		}
	}
	for key, row := range all {
		switch {
		case key == layoutKey:
		case strings.HasPrefix(key.PK, "~") && !strings.HasPrefix(key.PK, "~public#"):
			var t2 tagTally
			require.NoError(t, decodeTally(rowJSON(row), &t2))
			assert.Equal(t, tallies[key], t2.Tally, "%v", key)
			delete(tallies, key)
		default:
			assert.Equal(t, want[key], row, "%v", key)
		}
	}
	for key := range want {
		assert.Contains(t, all, key)
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
		want := map[rowKey]attrs{}
		for _, v := range set.values {
			tag := filetag.Tag{Public: true}
			tag.Key, tag.Value = v, v
			x.Tags = append(x.Tags, tag)
			for _, author := range []string{set.author, ""} {
				queryID, letterID := "va", "v"
				if author != "" {
					queryID, letterID = "va#"+author, "v#"+author
				}
				key := rowKey{set.author + "#" + set.file, keys.ValueHash(v, author)}
				row := attrs{
					"tagId": str(key.PK), "queryId": str(queryID), "valueHash": str(key.SK), "authorUserId": str(set.author), "fileUniqueId": str(set.file),
					"value": str(v), "setName": str(set.name),
					"letterId": str(letterID), "valueOrder": str(v + "\t" + set.file + "\t" + set.author), "owner": str(set.author), "score": str("s"), "via": str("p"),
				}
				if author == "" {
					row["fileId"] = str(set.file)
				}
				want[key] = row
			}
		}
		rows, shown := fileTagRows(k, x), rowKey{"~public#" + set.file, set.author} // which is not in the document
		assert.Contains(t, rows, shown)
		delete(rows, shown)
		assert.Equal(t, want, rows)
		s := filetag.Set{Key: k, Index: x, Counted: &filetag.Index{Shards: 4}, Version: "v"}
		var back filetag.Set
		require.NoError(t, decodeTagSet(rowJSON(tagSetRow(s)), &back))
		assert.Equal(t, s, back)
	}
}
