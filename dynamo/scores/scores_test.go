package scores_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

func TestMain(m *testing.M) { dynamotest.Main(m) }

func scoreStores(db *dynamo.DB) scoretest.Stores {
	return scoretest.Stores{Scores: scores.Store{DB: db}, Tasks: dynamo.Tasks{DB: db},
		PutItem: func(ctx context.Context, item score.ItemRef) error {
			row := dynamo.ScoresTable.Key(uses.ItemKey(item))
			row[uses.RefsAttribute] = dynamo.Number(0)
			return db.Transact(ctx, []dynamo.Action{{Table: dynamo.ScoresTable, Item: row}}, idempotency.Key{})
		},
		DeleteItem: func(ctx context.Context, item score.ItemRef) (bool, error) {
			errStays := errors.New("it is used")
			err := db.Transact(ctx, []dynamo.Action{{Table: dynamo.ScoresTable, Key: uses.ItemKey(item), Remove: true, Condition: "attribute_not_exists(o) OR #refs = :none",
				Names: dynamo.Reserved(uses.RefsAttribute), Values: dynamo.Attrs{":none": dynamo.Number(0)}, Failed: func(dynamo.Attrs) error { return errStays }}}, idempotency.Key{})
			if errors.Is(err, errStays) {
				return false, nil
			}
			return err == nil, err
		},
		Check: func(t testing.TB, kept []string) { nothingLeft(t, db, kept) },
	}
}

func openScores(t *testing.T, now func() time.Time) scoretest.Stores {
	db, inj := dynamotest.OpenDB(t, now)
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return scoreStores(db)
}

func openFaultyScores(t *testing.T, now func() time.Time) scoretest.Stores {
	return scoreStores(dynamotest.OpenFaultyDB(t, now))
}

// openSteppedScores returns stores that make nearly every change in steps.
func openSteppedScores(t *testing.T, now func() time.Time) scoretest.Stores {
	db, inj := dynamotest.OpenDB(t, now)
	db.Prepared = 7
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return scoreStores(db)
}

func TestScores(t *testing.T) { scoretest.Suite(t, openScores) }

func TestScoresAtTheirLimits(t *testing.T) { scoretest.ScoreLimits(t, openScores) }

func TestScoresWithFaults(t *testing.T) { scoretest.Suite(t, openFaultyScores) }

func TestScoresInSteps(t *testing.T) { scoretest.Suite(t, openSteppedScores) }

func TestScoresRowByRow(t *testing.T) {
	scoretest.Together(t, func(t *testing.T, now func() time.Time) scoretest.Stores {
		return scoreStores(dynamotest.OpenRowByRowDB(t, now))
	})
}

// openWorldOfScores returns a world on a DB of its own.
func openWorldOfScores(t testing.TB) (*scoretest.World, *dynamo.DB, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	w := scoretest.NewWorld(t, scoreStores(db), clock)
	inj.Recorder().Reset()
	return w, db, inj
}

// The contents of the largest score, of 10 MB, in S3.
func TestSnapshotsInS3(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfScores(t)
	stored := dynamotest.ItemStores(t, db)
	bucket, ok := stored.Files.(*blob.Bucket)
	require.True(t, ok)
	rules := score.NewService(score.Options{Store: scores.Store{DB: db}, Contents: bucket, Now: w.Clock.Now, NewID: uuid.NewString})
	in := scoretest.LargeScore(w.NewItems(w.Ada, score.MaxPages), "<&>\u2028")
	s, err := rules.Create(w.Hers(), in)
	require.NoError(t, err)
	one, err := rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "one"})
	require.NoError(t, err)
	_, content, err := scoretest.ScoreAt(w.Hers(), rules, one.SnapshotID)
	require.NoError(t, err)
	assert.Equal(t, score.Content{Title: s.Title, Description: in.Description, Pages: s.Pages, Annotations: in.Annotations}, content)
	sizes, _ := stored.Kept()
	keys := slices.Collect(maps.Keys(sizes))
	assert.Equal(t, []string{score.SnapshotKey(one.SnapshotID)}, keys)
	nothingLeft(t, db, keys)
	require.NoError(t, rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: one.SnapshotID}))
	_, _, err = scoretest.ScoreAt(w.Hers(), rules, one.SnapshotID)
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	sizes, _ = stored.Kept()
	assert.Empty(t, sizes)
	nothingLeft(t, db, nil)
}

// nothingLeft checks all rows: each belongs to something that exists, and all counts are right. kept are the keys of contents.
func nothingLeft(t testing.TB, db *dynamo.DB, kept []string) {
	t.Helper()
	rows := dynamotest.RowsOf(t, db, dynamo.ScoresTable)
	used := map[string]bool{}             // rows that have to be there
	refs := map[dynamo.Key]int{}          // of items
	counts := map[string]int{}            // scores of owners
	keeping := map[string]int{}           // how many scores of others users keep
	stored := map[score.Ref]score.Score{} // by where they are
	snapshots := map[score.Ref]int{}
	contents := map[string]bool{}
	needs := func(key dynamo.Key) {
		used[key.PK+key.SK] = true
		assert.NotNil(t, rows[key], "%v is missing", key) // to look for it with Contains would take too long
	}
	using := func(items []score.ItemRef, by string) {
		for _, item := range items {
			refs[uses.ItemKey(item)]++
			needs(uses.Key(item, by))
			needs(uses.ItemKey(item))
		}
	}
	for key, row := range rows {
		switch {
		case strings.HasPrefix(key.SK, keys.ScorePrefix):
			var s score.Score
			require.NoError(t, scores.DecodeScore(dynamo.ItemOf(row), &s))
			stored[s.Ref] = s
			counts[key.PK]++
			if s.Access == score.Public {
				needs(scores.PublicScoreKey(s.Ref))
			}
			using(s.Items(), string(s.ID))
			for _, id := range s.Texts() {
				needs(scores.TextKey(id))
			}
			assert.Equal(t, []int{len(s.Pages), len(s.Annotations)}, []int{s.PageCount, s.AnnotationCount})
		case strings.HasPrefix(key.SK, keys.KeptAtPrefix):
			var k score.Kept
			require.NoError(t, scores.DecodeKept(dynamo.ItemOf(row), &k))
			keeping[key.PK]++
			needs(key)
			needs(dynamo.Key{PK: key.PK, SK: keys.KeptSK(string(k.Score.Owner), string(k.Score.ID))})
		case strings.HasPrefix(key.SK, keys.SnapshotPrefix):
			var s score.Snapshot
			require.NoError(t, scores.DecodeSnapshot(dynamo.ItemOf(row), &s))
			snapshots[s.Score]++
			needs(scores.SnapshotNameKey(s.Score, s.Name))
			needs(scores.IntentKey(s.Score, s.ID))
			contents[score.SnapshotKey(s.SnapshotID)] = true
			var i scores.IntentRow
			require.NoError(t, scores.DecodeIntent(dynamo.ItemOf(rows[scores.IntentKey(s.Score, s.ID)]), &i))
			assert.Equal(t, []string{scores.Existing, string(score.Snapshotting)}, []string{i.State, string(i.Kind)})
			using(i.Items, s.ID)
		}
	}
	for ref, n := range snapshots {
		assert.Contains(t, stored, ref, "a snapshot without its score")
		assert.Equal(t, n, stored[ref].Snapshots)
	}
	for ref, s := range stored {
		assert.Equal(t, snapshots[ref], s.Snapshots)
	}
	for key, row := range rows {
		switch {
		case key.SK == keys.CountsSK:
			assert.Equal(t, counts[key.PK], dynamo.Count(row["score_count"]))
			assert.Equal(t, keeping[key.PK], dynamo.Count(row["kept_count"]))
		case strings.HasPrefix(key.PK, "it:"):
			assert.Equal(t, refs[key], dynamo.Count(row[uses.RefsAttribute]), "uses of %v", key)
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
	for key := range dynamotest.RowsOf(t, db, dynamo.RelationshipEntries) {
		assert.Fail(t, "a task is left", "%v", key)
	}
}
