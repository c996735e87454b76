package scores_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

// All of the largest score: itself, its texts, the items of its pages and its snapshots.
func TestDetailsOfTheLargestScore(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	items := w.NewItems(w.Ada, score.MaxPages)
	inj.Recorder().Reset()
	s := w.Make(scoretest.LargeScore(items, "x"))
	assert.Equal(t, map[string]int{
		"BatchGetItem":       3,                     // whether the items exist
		"BatchWriteItem":     (1_000 + 1 + 24) / 25, // texts
		"TransactWriteItems": 1 + (250+43)/44 + 1,   // the intent, the uses of items, the score
	}, inj.Recorder().Operations())
	w.Snap(s.Ref, "one")
	inj.Recorder().Reset()
	seen := w.Seen(s.Ref)
	description, annotations := w.Texts(seen)
	require.Len(t, description, score.MaxDescription)
	require.Len(t, annotations, score.MaxAnnotations)
	_, errs := scores.Items{DB: db}.ItemsByID(t.Context(), seen.Items())
	require.Nil(t, errs)
	require.Len(t, w.Snapshots(s.Ref), 1)
	most := inj.Recorder().Count() - 1 // the helper reads the score once more
	t.Logf("%d calls: %v", most, inj.Recorder().Operations())
	assert.LessOrEqual(t, most, 16)
	assert.Empty(t, inj.Recorder().Violations())
	for _, row := range dynamotest.RowsOf(t, db, dynamo.ScoresTable) {
		assert.Less(t, len(dynamo.RowJSON(row)), 400_000)
	}
}

// What a small change costs, and one that changes nothing.
func TestCallsOfSmallChanges(t *testing.T) {
	t.Parallel()
	w, _, inj := openWorldOfScores(t)
	items := w.NewItems(w.Ada, 2)
	calls := func(want map[string]int, do func()) {
		t.Helper()
		inj.Recorder().Reset()
		do()
		assert.Equal(t, want, inj.Recorder().Operations())
	}
	var s score.Score
	calls(map[string]int{"TransactWriteItems": 1}, func() {
		s = w.Make(score.Create{Description: "d", Pages: scoretest.Pages(items...), Annotations: []string{"a", "a"}})
	})
	title := "new"
	calls(map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, func() {
		w.Update(score.Update{Score: s.Ref, Title: &title, Pages: []score.PagesChange{{Remove: &score.Range{Count: 1}}}})
	})
	calls(map[string]int{"BatchGetItem": 1}, func() { w.Update(score.Update{Score: s.Ref, Title: &title}) })
	var one score.Snapshot
	calls(map[string]int{"BatchGetItem": 2, "TransactWriteItems": 2}, func() { one = w.Snap(s.Ref, "one") })
	calls(map[string]int{"BatchGetItem": 2, "TransactWriteItems": 1}, func() {
		_, err := w.Rules.RenameSnapshot(w.Hers(), score.RenameSnapshot{Snapshot: one.SnapshotID, Name: "two"})
		require.NoError(t, err)
	})
	calls(map[string]int{"BatchGetItem": 3, "GetItem": 1, "TransactWriteItems": 3}, func() {
		require.NoError(t, w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: one.SnapshotID}))
	})
	// One Query looks for snapshots that another program put, which no intent names.
	calls(map[string]int{"BatchGetItem": 2, "GetItem": 1, "Query": 4, "TransactWriteItems": 3, "BatchWriteItem": 1}, func() {
		require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref}))
	})
	w.Settled()
}

// Summaries have everything but pages and annotations; snapshots of many scores are read concurrently within the bound.
func TestListsOfScores(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	db.Concurrency = 4
	item := w.NewItems(w.Ada, 1)[0]
	for n := range 30 {
		s := w.Make(score.Create{Title: fmt.Sprint(n), Description: "d", Access: score.Access(n % 3), Pages: scoretest.Pages(item, item), Annotations: []string{"a"}})
		w.Snap(s.Ref, "one")
	}
	inj.Recorder().Reset()
	whole, err := w.Rules.List(w.Hers(), w.Ada, page.Window{Limit: 30})
	require.NoError(t, err)
	light, err := w.Rules.Showing(scores.Store{DB: db}.WithoutPages()).List(w.Hers(), w.Ada, page.Window{Limit: 30})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"Query": 2}, inj.Recorder().Operations())
	require.Len(t, light.Items, 30)
	inj.Recorder().Reset()
	public, err := w.Rules.ListPublic(w.As(dynamotest.DocumentOwner), w.Ada, page.Window{Limit: 30})
	require.NoError(t, err)
	assert.Len(t, public.Items, 10)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, inj.Recorder().Operations())
	assert.Len(t, inj.Recorder().Calls(faultinject.Operation("BatchGetItem"))[0].Keys, 10, "private scores are not read")
	var requests []score.SnapshotsRequest
	var refs []score.Ref
	for n, s := range whole.Items {
		requests, refs = append(requests, s.ListSnapshots()), append(refs, s.Ref)
		assert.Equal(t, []int{2, 1}, []int{s.PageCount, s.AnnotationCount})
		s.Pages, s.Annotations = nil, nil
		assert.Equal(t, s, light.Items[n])
	}
	inj.Recorder().Reset()
	lists, errs := w.Rules.Showing(scores.Store{DB: db}.WithoutPages()).ListSnapshots(w.Hers(), requests)
	for n, err := range errs {
		require.NoError(t, err)
		require.Len(t, lists[n], 1)
		assert.Equal(t, "one", lists[n][0].Name)
	}
	assert.Equal(t, map[string]int{"Query": 30}, inj.Recorder().Operations())
	assert.LessOrEqual(t, inj.Recorder().MaxConcurrent(faultinject.Operation("Query")), 4)
	inj.Recorder().Reset()
	_, errs = w.Rules.Showing(scores.Store{DB: db}.WithoutPages()).ListByID(w.Hers(), append(refs, refs...))
	assert.Nil(t, errs)
	assert.Equal(t, map[string]int{"BatchGetItem": 1}, inj.Recorder().Operations(), "each once")
}

// A row that lists a score may be seen when the score is not public any more, or gone. Pages are full without it.
func TestPublicListsLeaveOutWhatIsTorn(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	shown := map[score.ID]bool{}
	torn := func(ref score.Ref) {
		row := dynamo.Action{Table: dynamo.ScoresTable, Item: dynamo.ScoresTable.Key(scores.PublicScoreKey(ref))}
		require.NoError(t, db.Transact(t.Context(), []dynamo.Action{row}, idempotency.Key{}))
	}
	for n := range 9 {
		s := w.Make(score.Create{Access: score.Access(n % 3)})
		if s.Access == score.Public {
			shown[s.ID] = true
			continue
		}
		torn(s.Ref)
		torn(score.Ref{Owner: w.Ada, ID: score.ID(uuid.NewString())})
	}
	inj.Recorder().Reset()
	list, err := w.Rules.ListPublic(w.As(dynamotest.DocumentOwner), w.Ada, page.Window{Limit: 3, Probe: true})
	require.NoError(t, err)
	require.Len(t, list.Items, 3)
	assert.False(t, list.More)
	for _, s := range list.Items {
		assert.True(t, shown[s.ID])
	}
	assert.LessOrEqual(t, inj.Recorder().Count(), 4)
}

// Nobody has more scores than are allowed, however they are made. Nothing is left of one that is too many.
func TestAnOwnerHasSoManyScores(t *testing.T) {
	t.Parallel()
	w, db, _ := openWorldOfScores(t)
	db.Prepared = 5
	counted := func(by int64) {
		require.NoError(t, db.Transact(t.Context(), []dynamo.Action{scores.CountScores(w.Ada, by)}, idempotency.Key{}))
	}
	counted(score.MaxScores - 2)
	w.Make(score.Create{})
	s := w.Make(score.Create{Annotations: []string{"1", "2", "3", "4", "5", "6"}})
	for _, annotations := range [][]string{nil, {"1", "2", "3", "4", "5", "6"}} {
		_, err := w.Rules.Create(w.Hers(), score.Create{Title: "one too many", Access: score.Public, Annotations: annotations})
		assert.True(t, fault.Is(err, fault.Exhausted), "%v", err)
		assert.ErrorContains(t, err, "at most 5000 scores")
	}
	require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref}))
	w.Make(score.Create{})
	counted(2 - score.MaxScores)
	w.Settled()
}
