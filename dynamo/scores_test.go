package dynamo

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

func scoreStores(db *DB) storetest.ScoreStores {
	return storetest.ScoreStores{Scores: Scores{db}, Tasks: Tasks{db},
		PutItem: func(ctx context.Context, item score.ItemRef) error {
			row := scoresTable.key(itemKey(item))
			row[refsAttribute] = number(0)
			return db.transact(ctx, []action{{table: scoresTable, item: row}}, idempotency.Key{})
		},
		DeleteItem: func(ctx context.Context, item score.ItemRef) (bool, error) {
			errStays := errors.New("it is used")
			err := db.transact(ctx, []action{{table: scoresTable, key: itemKey(item), remove: true, condition: "attribute_not_exists(o) OR #refs = :none",
				names: reserved(refsAttribute), values: attrs{":none": number(0)}, failed: func(attrs) error { return errStays }}}, idempotency.Key{})
			if errors.Is(err, errStays) {
				return false, nil
			}
			return err == nil, err
		},
		Check: func(t testing.TB, kept []string) { nothingLeft(t, db, kept) },
	}
}

func openScores(t *testing.T, now func() time.Time) storetest.ScoreStores {
	db, inj := openDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return scoreStores(db)
}

func openFaultyScores(t *testing.T, now func() time.Time) storetest.ScoreStores {
	return scoreStores(openFaultyDB(t, now))
}

// openRowByRowScores returns stores whose transactions are shown row by row.
func openRowByRowScores(t *testing.T, now func() time.Time) storetest.ScoreStores {
	db, inj := openDB(t, now)
	inj.RowByRow(func(context.Context, int, int) { runtime.Gosched() })
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return scoreStores(db)
}

// openSteppedScores returns stores that make nearly every change in steps.
func openSteppedScores(t *testing.T, now func() time.Time) storetest.ScoreStores {
	db, inj := openDB(t, now)
	db.prepared = 7
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return scoreStores(db)
}

func TestScores(t *testing.T) { storetest.ScoresSuite(t, openScores) }

func TestScoresAtTheirLimits(t *testing.T) { storetest.ScoreLimits(t, openScores) }

func TestScoresWithFaults(t *testing.T) { storetest.ScoresSuite(t, openFaultyScores) }

func TestScoresInSteps(t *testing.T) { storetest.ScoresSuite(t, openSteppedScores) }

func TestScoresRowByRow(t *testing.T) { storetest.ScoresSuite(t, openRowByRowScores) }

// openWorldOfScores returns a world on a DB of its own.
func openWorldOfScores(t testing.TB) (*storetest.ScoreWorld, *DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := openDB(t, clock.Now)
	w := storetest.NewScoreWorld(t, scoreStores(db), clock)
	inj.Recorder().Reset()
	return w, db, inj
}

// The contents of the largest score, of 10 MB, in S3.
func TestSnapshotsInS3(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfScores(t)
	stored := itemStores(t, db)
	bucket, ok := stored.Files.(*blob.Bucket)
	require.True(t, ok)
	rules := score.NewService(score.Options{Store: Scores{db}, Contents: bucket, Now: w.Clock.Now, NewID: uuid.NewString})
	in := storetest.LargeScore(w.NewItems(w.Ada, score.MaxPages), "<&>\u2028")
	s, err := rules.Create(w.Hers(), in)
	require.NoError(t, err)
	one, err := rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "one"})
	require.NoError(t, err)
	_, content, err := storetest.ScoreAt(w.Hers(), rules, one.SnapshotID)
	require.NoError(t, err)
	assert.Equal(t, score.Content{Title: s.Title, Description: in.Description, Pages: s.Pages, Annotations: in.Annotations}, content)
	sizes, _ := stored.Kept()
	keys := slices.Collect(maps.Keys(sizes))
	assert.Equal(t, []string{score.SnapshotKey(one.SnapshotID)}, keys)
	nothingLeft(t, db, keys)
	require.NoError(t, rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: one.SnapshotID}))
	_, _, err = storetest.ScoreAt(w.Hers(), rules, one.SnapshotID)
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	sizes, _ = stored.Kept()
	assert.Empty(t, sizes)
	nothingLeft(t, db, nil)
}

// nothingLeft checks all rows: each belongs to something that exists, and all counts are right. kept are the keys of contents.
func nothingLeft(t testing.TB, db *DB, kept []string) {
	t.Helper()
	rows := rowsOf(t, db, scoresTable)
	used := map[string]bool{}             // rows that have to be there
	refs := map[rowKey]int{}              // of items
	counts := map[string]int{}            // scores of owners
	scores := map[score.Ref]score.Score{} // by where they are
	snapshots := map[score.Ref]int{}
	contents := map[string]bool{}
	uses := func(items []score.ItemRef, by string) {
		for _, item := range items {
			key := itemUseKey(item, by)
			used[key.PK+key.SK] = true
			refs[itemKey(item)]++
			assert.Contains(t, rows, key, "an item is used, and nothing says so")
			assert.Contains(t, rows, itemKey(item), "a page without its item")
		}
	}
	needs := func(key rowKey) {
		used[key.PK+key.SK] = true
		assert.Contains(t, rows, key)
	}
	for key, row := range rows {
		switch {
		case strings.HasPrefix(key.SK, keys.ScorePrefix):
			var s score.Score
			require.NoError(t, decodeScore(rowJSON(row), &s))
			scores[s.Ref] = s
			counts[key.PK]++
			if s.Access == score.Public {
				needs(publicScoreKey(s.Ref))
			}
			uses(s.Items(), string(s.ID))
			for _, id := range s.Texts() {
				needs(textKey(id))
			}
			assert.Equal(t, []int{len(s.Pages), len(s.Annotations)}, []int{s.PageCount, s.AnnotationCount})
		case strings.HasPrefix(key.SK, keys.SnapshotPrefix):
			var s score.Snapshot
			require.NoError(t, decodeSnapshot(rowJSON(row), &s))
			snapshots[s.Score]++
			needs(snapshotNameKey(s.Score, s.Name))
			needs(intentKey(s.Score, s.ID))
			contents[score.SnapshotKey(s.SnapshotID)] = true
			var i intentRow
			require.NoError(t, decodeIntent(rowJSON(rows[intentKey(s.Score, s.ID)]), &i))
			assert.Equal(t, []string{existing, string(score.Snapshotting)}, []string{i.state, string(i.Kind)})
			uses(i.Items, s.ID)
		}
	}
	for ref, n := range snapshots {
		assert.Contains(t, scores, ref, "a snapshot without its score")
		assert.Equal(t, n, scores[ref].Snapshots)
	}
	for ref, s := range scores {
		assert.Equal(t, snapshots[ref], s.Snapshots)
	}
	for key, row := range rows {
		switch {
		case key.SK == keys.CountsSK:
			assert.Equal(t, counts[key.PK], count(row["score_count"]))
		case strings.HasPrefix(key.PK, "it:"):
			assert.Equal(t, refs[key], count(row[refsAttribute]), "uses of %v", key)
		case strings.HasPrefix(key.SK, keys.ScorePrefix), strings.HasPrefix(key.SK, keys.SnapshotPrefix):
		default:
			assert.True(t, used[key.PK+key.SK], "%v is left", key)
		}
	}
	wanted := []string{}
	for key := range contents {
		wanted = append(wanted, key)
	}
	assert.ElementsMatch(t, wanted, kept)
	for key := range rowsOf(t, db, relationshipEntries) {
		assert.Fail(t, "a task is left", "%v", key)
	}
}
