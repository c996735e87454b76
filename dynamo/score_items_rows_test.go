package dynamo

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

// The ids of the source document's examples.
const (
	documentOwner = "a5a3cceb-de61-43e4-849c-deafbf750bd7"
	documentScore = "9e97ad6b-c5fe-4a6e-8f25-0b265b59017a"
	documentItem  = "8f64ed24-7122-42d6-aeb9-c6eddc93b389"
)

func TestRowsOfItemsAreTheDocuments(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	ref := score.ItemRef{Owner: documentOwner, Score: documentScore, ID: documentItem}
	i := score.Item{
		ItemRef: ref, Name: "楽譜.png", SetName: "Suite", Type: "image/png", Size: 12345, Total: 24690, SHA256: "sum", Object: "items/o/i", Width: 600, Height: 800,
		Thumbnail: score.Thumbnail{Object: "items/o/i.thumbnail", Type: "image/jpeg", Size: 12345, Width: 240, Height: 320}, CreatedAt: at,
	}
	row := scoreItemRow(i)
	assert.Equal(t, attrs{
		"o": str("it:68yjpWHe5EOEnN6vv3UL1w=="), "s": str("a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ=="),
		"obj_name": str("items/o/i"), "size": number(12345), "t_size": number(24690), "at": str("2026-11-20T08:00:00.000Z"), "type": str("image"), "org_name": str("楽譜.png"),
		"thumbnail": &types.AttributeValueMemberM{Value: attrs{
			"obj_name": str("items/o/i.thumbnail"), "size": number(12345), "media_type": str("image/jpeg"), "width": number(240), "height": number(320),
		}},
		"refs": number(0), "media_type": str("image/png"), "set_name": str("Suite"), "sha256": str("sum"), "width": number(600), "height": number(800),
	}, row)
	var back score.Item
	require.NoError(t, decodeScoreItem(rowJSON(row), &back))
	assert.Equal(t, i, back)
	i.Thumbnail, back = score.Thumbnail{}, score.Item{}
	require.NoError(t, decodeScoreItem(rowJSON(scoreItemRow(i)), &back))
	assert.Equal(t, i, back, "an image without a thumbnail has its size")

	u := score.Upload{ItemRef: ref, Name: "a", SetName: "b", Type: "video/mp4", Size: 7, SHA256: "c", PartSize: 5, Multipart: "m", State: score.UploadOpen, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	row = uploadRow(u)
	assert.Equal(t, str("upload:a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ=="), row["s"])
	var open score.Upload
	require.NoError(t, decodeUpload(rowJSON(row), &open))
	assert.Equal(t, u, open)
	assert.Equal(t, rowKey{"it:68yjpWHe5EOEnN6vv3UL1w==", "summary"}, usageKey(documentOwner))

	var use score.Use
	require.NoError(t, decodeUse(rowJSON(attrs{"o": str("si:68yjpWHe5EOEnN6vv3UL1w=="), "s": str("JO1kjyJx1kKuucbt3JOziQ==a62Xnv7FbkqPJQsmW1kBeg==")}), &use))
	assert.Equal(t, score.Use{Item: score.ItemRef{Owner: documentOwner, ID: documentItem}, Kind: score.UsedByScore, By: documentScore}, use)
	var old score.Item
	require.NoError(t, decodeScoreItem(rowJSON(attrs{"o": row["o"], "s": str("a62Xnv7FbkqPJQsmW1kBeg==JO1kjyJx1kKuucbt3JOziQ=="), "type": str("image"), "size": number(1)}), &old))
	assert.Equal(t, score.Item{ItemRef: ref, Type: "image", Size: 1}, old, "a row of the document has no more")
}

// put puts an item as a completed upload does.
func (db ScoreItems) put(t testing.TB, now time.Time, of score.ID) score.Item {
	t.Helper()
	u := score.Upload{ItemRef: score.ItemRef{Owner: documentOwner, Score: of, ID: score.ItemID(uuid.NewString())}, Name: "n", Type: "text/plain", Size: 10,
		State: score.UploadOpen, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	i := score.Item{ItemRef: u.ItemRef, Name: "n", Type: u.Type, Size: 10, Total: 10, Object: "o", CreatedAt: now}
	require.NoError(t, db.OpenUpload(t.Context(), u, 1<<40, nil, idempotency.Key{}))
	require.NoError(t, db.CompleteUpload(t.Context(), u, i, 1<<40, idempotency.Key{}))
	return i
}

// remove deletes an item as the rules do.
func (db ScoreItems) remove(t testing.TB, i score.Item) error {
	t.Helper()
	closed := score.Upload{ItemRef: i.ItemRef, Size: i.Size, State: score.UploadClosed, CreatedAt: i.CreatedAt, ExpiresAt: i.CreatedAt}
	return db.DeleteItem(t.Context(), i, closed, nil, idempotency.Key{})
}

func TestAnItemInUseStays(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, storetest.NewClock().Now)
	items := ScoreItems{db}
	i := items.put(t, db.now(), documentScore)
	ref := score.Ref{Owner: documentOwner, ID: documentScore}
	snapshot := uuid.NewString()
	byScore, bySnapshot := usedBy{score: ref, version: 1}, usedBy{score: ref, snapshot: snapshot, version: 1}
	for _, by := range []usedBy{byScore, bySnapshot} {
		require.NoError(t, Scores{db}.taking(t.Context(), by, []score.ItemRef{i.ItemRef}, nil, idempotency.Key{}))
		var used *score.ItemInUse
		require.ErrorAs(t, items.remove(t, i), &used)
		assert.Equal(t, i.ItemRef, used.Item.ItemRef)
	}
	lists, errs := items.ListUsesOf(t.Context(), []score.UsesRequest{i.Uses(page.Window{Limit: 10})})
	require.NoError(t, errs[0])
	assert.ElementsMatch(t, []score.Use{
		{Item: i.ItemRef, Kind: score.UsedByScore, By: documentScore},
		{Item: i.ItemRef, Kind: score.UsedBySnapshot, By: snapshot, Score: documentScore},
	}, lists[0].Items)
	for _, by := range []usedBy{byScore, bySnapshot} {
		var used *score.ItemInUse
		require.ErrorAs(t, items.remove(t, i), &used)
		require.NoError(t, Scores{db}.dropping(t.Context(), by, []score.ItemRef{i.ItemRef}))
	}
	require.NoError(t, items.remove(t, i))
	usages, _ := items.Usages(t.Context(), []score.UserID{documentOwner})
	assert.Zero(t, usages[0])
}

// The row of another program has no count of what uses its item: the uses are counted by whoever has to know. While it is used it
// stays, and then it can be deleted.
func TestAnItemWithoutACountIsCounted(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, storetest.NewClock().Now)
	items, scores := ScoreItems{db}, Scores{db}
	by := usedBy{score: score.Ref{Owner: documentOwner, ID: documentScore}, version: 1}
	uncount := func(i score.Item) {
		require.NoError(t, db.transact(t.Context(), []action{{table: scoresTable, key: itemKey(i.ItemRef), update: "REMOVE #refs", names: reserved(refsAttribute)}}, idempotency.Key{}))
	}
	for _, counted := range []bool{false, true} { // when it becomes a page
		i := items.put(t, db.now(), documentScore)
		stays := func() {
			t.Helper()
			var used *score.ItemInUse
			require.ErrorAs(t, items.remove(t, i), &used)
		}
		if !counted {
			uncount(i)
		}
		require.NoError(t, scores.taking(t.Context(), by, []score.ItemRef{i.ItemRef}, nil, idempotency.Key{}))
		if counted {
			uncount(i)
		}
		stays()
		uncount(i)
		require.NoError(t, scores.dropping(t.Context(), by, []score.ItemRef{i.ItemRef}))
		uncount(i)
		require.NoError(t, items.remove(t, i))
	}
}

// A page is removed although nothing says that it uses its item, and although there is no such item. Neither is tried again and
// again.
func TestPagesAreRemovedWhateverTheirItemsAre(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	all := w.NewItems(w.Ada, 3)
	s := w.Make(score.Create{Pages: storetest.Pages(all[:2]...)})
	by := usedBy{score: s.Ref}
	require.NoError(t, db.transact(t.Context(), []action{
		{table: scoresTable, key: itemUseKey(all[0], by.id()), remove: true},
		{table: scoresTable, key: itemKey(all[0]), update: "SET #refs = :none", names: reserved(refsAttribute), values: attrs{":none": number(0)}},
		{table: scoresTable, key: itemKey(all[1]), remove: true},
	}, idempotency.Key{}))
	inj.Recorder().Reset()
	s = w.Update(score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 2}}, {Insert: &score.InsertPages{Pages: storetest.Pages(all[2])}}}})
	assert.Equal(t, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 3}, inj.Recorder().Operations())
	assert.Len(t, s.Pages, 1)
	w.Settled()
}

// An item is deleted while something begins to use it: one of them happens.
func TestAnItemIsDeletedOrUsed(t *testing.T) {
	t.Parallel()
	db, _ := openDB(t, storetest.NewClock().Now)
	items := ScoreItems{db}
	by := usedBy{score: score.Ref{Owner: documentOwner, ID: documentScore}, version: 1}
	deleted := 0
	for range 200 {
		i := items.put(t, db.now(), documentScore)
		var both sync.WaitGroup
		var taken, removed error
		both.Go(func() {
			taken = Scores{db}.taking(t.Context(), by, []score.ItemRef{i.ItemRef}, nil, idempotency.Key{})
		})
		both.Go(func() { removed = items.remove(t, i) })
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
