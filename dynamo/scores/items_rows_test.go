package scores_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/uses"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

func TestRowsOfItemsAreTheDocuments(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	ref := score.ItemRef{Owner: dynamotest.DocumentOwner, Score: dynamotest.DocumentScore, ID: dynamotest.DocumentItem}
	i := score.Item{
		ItemRef: ref, Name: "楽譜.png", SetName: "Suite", Type: "image/png", Size: 12345, Total: 24690, SHA256: "sum", Object: "items/o/i", Width: 600, Height: 800,
		Thumbnail: score.Thumbnail{Object: "items/o/i.thumbnail", Type: "image/jpeg", Size: 12345, Width: 240, Height: 320}, CreatedAt: at,
	}
	row := scores.ScoreItemRow(i)
	assert.Equal(t, dynamo.Attrs{
		"o": dynamo.Str("it:68yjpWHe5EOEnN6vv3UL1w=="), "s": dynamo.Str("a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ=="),
		"obj_name": dynamo.Str("items/o/i"), "size": dynamo.Number(12345), "t_size": dynamo.Number(24690), "at": dynamo.Str("2026-11-20T08:00:00.000Z"), "type": dynamo.Str("image"), "org_name": dynamo.Str("楽譜.png"),
		"thumbnail": &types.AttributeValueMemberM{Value: dynamo.Attrs{
			"obj_name": dynamo.Str("items/o/i.thumbnail"), "size": dynamo.Number(12345), "media_type": dynamo.Str("image/jpeg"), "width": dynamo.Number(240), "height": dynamo.Number(320),
		}},
		"refs": dynamo.Number(0), "media_type": dynamo.Str("image/png"), "set_name": dynamo.Str("Suite"), "sha256": dynamo.Str("sum"), "width": dynamo.Number(600), "height": dynamo.Number(800),
	}, row)
	var back score.Item
	require.NoError(t, scores.DecodeScoreItem(dynamo.ItemOf(row), &back))
	assert.Equal(t, i, back)
	i.Thumbnail, back = score.Thumbnail{}, score.Item{}
	require.NoError(t, scores.DecodeScoreItem(dynamo.ItemOf(scores.ScoreItemRow(i)), &back))
	assert.Equal(t, i, back, "an image without a thumbnail has its size")

	u := score.Upload{ItemRef: ref, Name: "a", SetName: "b", Type: "video/mp4", Size: 7, SHA256: "c", PartSize: 5, Multipart: "m", State: score.UploadOpen, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	row = scores.UploadRow(u)
	assert.Equal(t, dynamo.Str("upload:a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ=="), row["s"])
	var open score.Upload
	require.NoError(t, scores.DecodeUpload(dynamo.ItemOf(row), &open))
	assert.Equal(t, u, open)
	assert.Equal(t, dynamo.Key{PK: "it:68yjpWHe5EOEnN6vv3UL1w==", SK: "summary"}, scores.UsageKey(dynamotest.DocumentOwner))

	var use score.Use
	require.NoError(t, uses.Decode(dynamo.ItemOf(dynamo.Attrs{"o": dynamo.Str("si:68yjpWHe5EOEnN6vv3UL1w=="), "s": dynamo.Str("JO1kjyJx1kKuucbt3JOziQ==a62Xnv7FbkqPJQsmW1kBeg==")}), &use))
	assert.Equal(t, score.Use{Item: score.ItemRef{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentItem}, Kind: score.UsedByScore, By: dynamotest.DocumentScore}, use)
	var old score.Item
	require.NoError(t, scores.DecodeScoreItem(dynamo.ItemOf(dynamo.Attrs{"o": row["o"], "s": dynamo.Str("a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ=="), "type": dynamo.Str("image"), "size": dynamo.Number(1)}), &old))
	assert.Equal(t, score.Item{ItemRef: ref, Type: "image", Size: 1}, old, "a row of the document has no more")
}

// putItem puts an item as a completed upload does.
func putItem(t testing.TB, db scores.Items, now time.Time, of score.ID) score.Item {
	t.Helper()
	u := score.Upload{ItemRef: score.ItemRef{Owner: dynamotest.DocumentOwner, Score: of, ID: score.ItemID(uuid.NewString())}, Name: "n", Type: "text/plain", Size: 10,
		State: score.UploadOpen, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	i := score.Item{ItemRef: u.ItemRef, Name: "n", Type: u.Type, Size: 10, Total: 10, Object: "o", CreatedAt: now}
	require.NoError(t, db.OpenUpload(t.Context(), u, 1<<40, nil, idempotency.Key{}))
	require.NoError(t, db.CompleteUpload(t.Context(), u, i, 1<<40, idempotency.Key{}))
	return i
}

// While an upload is completed, row by row, whoever completes it as well gets the item.
func TestCompletingShownRowByRow(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	w := scoretest.NewItemWorld(t, dynamotest.ItemStores(t, db), clock)
	ticket := w.Ask("file", "text/plain", []byte("text"))
	w.Put(ticket, []byte("text"))
	var second sync.WaitGroup
	var over atomic.Bool
	look := sync.OnceFunc(func() {
		second.Go(func() {
			defer over.Store(true)
			i, err := w.Complete(ticket.ItemRef)
			assert.NoError(t, err)
			assert.Equal(t, "file", i.Name)
		})
		require.Eventually(t, func() bool { return over.Load() || inj.Recorder().Count(faultinject.Operation("TransactGetItems")) > 0 }, time.Minute, time.Millisecond)
	})
	inj.RowByRow(func(context.Context, int, int) { look() })
	_, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	second.Wait()
	assert.True(t, over.Load())
}

// removeItem deletes an item as the rules do.
func removeItem(t testing.TB, db scores.Items, i score.Item) error {
	t.Helper()
	closed := score.Upload{ItemRef: i.ItemRef, Size: i.Size, State: score.UploadClosed, CreatedAt: i.CreatedAt, ExpiresAt: i.CreatedAt}
	return db.DeleteItem(t.Context(), i, closed, nil, idempotency.Key{})
}

func TestAnItemInUseStays(t *testing.T) {
	t.Parallel()
	db, _ := dynamotest.OpenDB(t, storetest.NewClock().Now)
	items := scores.Items{DB: db}
	i := putItem(t, items, db.Now(), dynamotest.DocumentScore)
	ref := score.Ref{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentScore}
	snapshot := uuid.NewString()
	byScore, bySnapshot := uses.By{Score: ref, Version: 1}, uses.By{Score: ref, Snapshot: snapshot, Version: 1}
	for _, by := range []uses.By{byScore, bySnapshot} {
		require.NoError(t, scores.Store{DB: db}.Taking(t.Context(), by, []score.ItemRef{i.ItemRef}, nil, idempotency.Key{}))
		var used *score.ItemInUse
		require.ErrorAs(t, removeItem(t, items, i), &used)
		assert.Equal(t, i.ItemRef, used.Item.ItemRef)
	}
	lists, errs := items.ListUsesOf(t.Context(), []score.UsesRequest{i.Uses(page.Window{Limit: 10})})
	require.NoError(t, errs[0])
	assert.ElementsMatch(t, []score.Use{
		{Item: i.ItemRef, Kind: score.UsedByScore, By: dynamotest.DocumentScore},
		{Item: i.ItemRef, Kind: score.UsedBySnapshot, By: snapshot, Score: dynamotest.DocumentScore},
	}, lists[0].Items)
	for _, by := range []uses.By{byScore, bySnapshot} {
		var used *score.ItemInUse
		require.ErrorAs(t, removeItem(t, items, i), &used)
		require.NoError(t, scores.Store{DB: db}.Dropping(t.Context(), by, []score.ItemRef{i.ItemRef}))
	}
	require.NoError(t, removeItem(t, items, i))
	usages, _ := items.Usages(t.Context(), []score.UserID{dynamotest.DocumentOwner})
	assert.Zero(t, usages[0])
}

// The row of another program has no count of what uses its item: the uses are counted by whoever has to know. While it is used it
// stays, and then it can be deleted.
func TestAnItemWithoutACountIsCounted(t *testing.T) {
	t.Parallel()
	db, _ := dynamotest.OpenDB(t, storetest.NewClock().Now)
	items, scores := scores.Items{DB: db}, scores.Store{DB: db}
	by := uses.By{Score: score.Ref{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentScore}, Version: 1}
	uncount := func(i score.Item) {
		require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.ScoresTable, Key: uses.ItemKey(i.ItemRef), Update: "REMOVE #refs", Names: dynamo.Reserved(uses.RefsAttribute)}}, idempotency.Key{}))
	}
	for _, counted := range []bool{false, true} { // when it becomes a page
		i := putItem(t, items, db.Now(), dynamotest.DocumentScore)
		stays := func() {
			t.Helper()
			var used *score.ItemInUse
			require.ErrorAs(t, removeItem(t, items, i), &used)
		}
		if !counted {
			uncount(i)
		}
		require.NoError(t, scores.Taking(t.Context(), by, []score.ItemRef{i.ItemRef}, nil, idempotency.Key{}))
		if counted {
			uncount(i)
		}
		stays()
		uncount(i)
		require.NoError(t, scores.Dropping(t.Context(), by, []score.ItemRef{i.ItemRef}))
		uncount(i)
		require.NoError(t, removeItem(t, items, i))
	}
}

// A page is removed although nothing says that it uses its item, and although there is no such item. Neither is tried again and
// again.
func TestPagesAreRemovedWhateverTheirItemsAre(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	all := w.NewItems(w.Ada, 3)
	s := w.Make(score.Create{Pages: scoretest.Pages(all[:2]...)})
	by := uses.By{Score: s.Ref}
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{
		{Table: dynamo.ScoresTable, Key: uses.Key(all[0], by.ID()), Remove: true},
		{Table: dynamo.ScoresTable, Key: uses.ItemKey(all[0]), Update: "SET #refs = :none", Names: dynamo.Reserved(uses.RefsAttribute), Values: dynamo.Attrs{":none": dynamo.Number(0)}},
		{Table: dynamo.ScoresTable, Key: uses.ItemKey(all[1]), Remove: true},
	}, idempotency.Key{}))
	inj.Recorder().Reset()
	s = w.Update(score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 2}}, {Insert: &score.InsertPages{Pages: scoretest.Pages(all[2])}}}})
	assert.Equal(t, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 3}, inj.Recorder().Operations())
	assert.Len(t, s.Pages, 1)
	w.Settled()
}

// An item is deleted while something begins to use it: one of them happens.
func TestAnItemIsDeletedOrUsed(t *testing.T) {
	t.Parallel()
	db, _ := dynamotest.OpenDB(t, storetest.NewClock().Now)
	items := scores.Items{DB: db}
	by := uses.By{Score: score.Ref{Owner: dynamotest.DocumentOwner, ID: dynamotest.DocumentScore}, Version: 1}
	deleted := 0
	for range 200 {
		i := putItem(t, items, db.Now(), dynamotest.DocumentScore)
		var both sync.WaitGroup
		var taken, removed error
		both.Go(func() {
			taken = scores.Store{DB: db}.Taking(t.Context(), by, []score.ItemRef{i.ItemRef}, nil, idempotency.Key{})
		})
		both.Go(func() { removed = removeItem(t, items, i) })
		both.Wait()
		var unknown *score.UnknownItem
		var used *score.ItemInUse
		found, errs := items.ItemsByID(t.Context(), []score.ItemRef{i.ItemRef})
		if removed == nil {
			deleted++
			require.True(t, errors.As(taken, &unknown), "%v", taken)
			require.Error(t, errs[0])
			continue
		}
		require.NoError(t, taken)
		require.ErrorAs(t, removed, &used)
		require.Nil(t, errs)
		require.Equal(t, 1, found[0].Refs)
	}
	t.Logf("%d of 200 were deleted", deleted)
}
