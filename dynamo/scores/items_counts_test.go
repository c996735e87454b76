package scores_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

func TestCallsOfItems(t *testing.T) {
	t.Parallel()
	db, inj := dynamotest.OpenDB(t, storetest.NewClock().Now)
	items, ctx, once := scores.Items{DB: db}, t.Context(), idempotency.Key{}
	refs := make([]score.ItemRef, 250)
	owners := make([]score.UserID, 120)
	for n := range refs {
		refs[n] = score.ItemRef{Owner: dynamotest.DocumentOwner, Score: dynamotest.DocumentScore, ID: score.ItemID(uuid.NewString())}
	}
	for n := range owners {
		owners[n] = score.UserID(uuid.NewString())
	}
	i := putItem(t, items, db.Now(), dynamotest.DocumentScore)
	refs[7] = i.ItemRef
	lists := make([]score.ItemsRequest, 5)
	uses := make([]score.UsesRequest, 5)
	for n := range lists {
		lists[n] = score.ItemsRequest{Of: score.Ref{Owner: dynamotest.DocumentOwner, ID: score.ID(uuid.NewString())}, Window: page.Window{Limit: 20}}
		uses[n] = i.Uses(page.Window{Limit: 20})
	}
	u := score.Upload{ItemRef: score.ItemRef{Owner: dynamotest.DocumentOwner, Score: score.Library, ID: score.ItemID(uuid.NewString())}, Name: "n", Type: "text/plain", Size: 10,
		State: score.UploadOpen, CreatedAt: db.Now(), ExpiresAt: db.Now().Add(time.Hour)}
	done := score.Item{ItemRef: u.ItemRef, Name: "n", Type: u.Type, Size: 10, Total: 10, CreatedAt: u.CreatedAt}
	for _, test := range []struct {
		what string
		do   func() error
		want map[string]int
	}{
		{"250 items", func() error { _, errs := items.ItemsByID(ctx, refs); return errs[7] }, map[string]int{"BatchGetItem": 3}},
		{"5 lists", func() error { _, errs := items.ListItemsOf(ctx, lists); return errs[0] }, map[string]int{"Query": 5}},
		{"5 lists of uses", func() error { _, errs := items.ListUsesOf(ctx, uses); return errs[0] }, map[string]int{"Query": 5}},
		{"120 usages", func() error { _, errs := items.Usages(ctx, owners); return errs[0] }, map[string]int{"BatchGetItem": 2}},
		{"open", func() error { return items.OpenUpload(ctx, u, 1<<40, nil, once) }, map[string]int{"TransactWriteItems": 1}},
		{"find", func() error { _, _, err := items.FindUpload(ctx, u.ItemRef); return err }, map[string]int{"GetItem": 1}},
		{"begin", func() error { return items.BeginUpload(ctx, u.ItemRef, "m") }, map[string]int{"TransactWriteItems": 1}},
		{"complete", func() error { return items.CompleteUpload(ctx, u, done, 1<<40, once) }, map[string]int{"TransactWriteItems": 1}},
		{"rename", func() error { _, err := items.RenameItem(ctx, u.ItemRef, "n", once); return err }, map[string]int{"TransactWriteItems": 1, "BatchGetItem": 1}},
		{"set name", func() error { _, err := items.PutSetName(ctx, u.ItemRef, "s", nil, once); return err }, map[string]int{"TransactWriteItems": 1, "BatchGetItem": 1}},
		{"delete", func() error { return removeItem(t, items, done) }, map[string]int{"TransactWriteItems": 1}},
		{"forget", func() error { return items.ForgetUpload(ctx, u.ItemRef) }, map[string]int{"TransactWriteItems": 2}},
	} {
		inj.Recorder().Reset()
		require.NoError(t, test.do(), test.what)
		assert.Equal(t, test.want, inj.Recorder().Operations(), test.what)
	}
	assert.Empty(t, inj.Recorder().Violations())
}

// A ticket costs 2 calls, completing it 3, and a download none.
func TestCallsOfAnUpload(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDB(t, clock.Now)
	w := scoretest.NewItemWorld(t, dynamotest.ItemStores(t, db), clock)
	content := []byte("text")
	ticket := w.Ask("file", "text/plain", content)
	assert.Equal(t, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, inj.Recorder().Operations())
	w.Put(ticket, content)
	inj.Recorder().Reset()
	i, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"BatchGetItem": 1, "GetItem": 1, "TransactWriteItems": 1}, inj.Recorder().Operations())
	inj.Recorder().Reset()
	for range 3 {
		_, err = w.Rules.Download(w.As(w.Ada), i)
		require.NoError(t, err)
	}
	assert.Empty(t, inj.Recorder().Operations())
}

// Uploads lie between the items of an owner, however many there are: lists of all items do not read through them.
func TestListsOfAllItemsReadAroundUploads(t *testing.T) {
	t.Parallel()
	db, inj := dynamotest.OpenDB(t, storetest.NewClock().Now)
	items := scores.Items{DB: db}
	const behind = "000000bc-0000-4000-8000-000000000000" // its key is greater than those of uploads
	for range 3 {
		putItem(t, items, db.Now(), score.Library)
		putItem(t, items, db.Now(), behind)
	}
	var writes []dynamo.Put
	for range 700 {
		u := score.Upload{ItemRef: score.ItemRef{Owner: dynamotest.DocumentOwner, Score: score.Library, ID: score.ItemID(uuid.NewString())}, State: score.UploadClosed}
		writes = append(writes, dynamo.Put{Table: dynamo.ScoresTable, Item: scores.UploadRow(u)})
	}
	require.NoError(t, db.BatchPut(t.Context(), writes))
	for _, backward := range []bool{false, true} {
		var found []score.Item
		for w := (page.Window{Limit: 2, Backward: backward}); ; {
			inj.Recorder().Reset()
			lists, errs := items.ListItemsOf(t.Context(), []score.ItemsRequest{score.AllItems(dynamotest.DocumentOwner, w)})
			require.NoError(t, errs[0])
			assert.LessOrEqual(t, inj.Recorder().Count(), 2)
			found = append(found, lists[0].Items...)
			if !lists[0].More {
				break
			}
			if w.From = lists[0].Positions[len(lists[0].Positions)-1]; backward {
				w.From = lists[0].Positions[0]
			}
		}
		assert.Len(t, found, 6)
	}
}

// Uploads that have ended count until they are forgotten, once each.
func TestEndedUploadsCountUntilTheyAreForgotten(t *testing.T) {
	t.Parallel()
	db, _ := dynamotest.OpenDB(t, storetest.NewClock().Now)
	items := scores.Items{DB: db}
	ctx, u := t.Context(), score.Upload{Size: 1, State: score.UploadOpen}
	open := func() error {
		u.ItemRef = score.ItemRef{Owner: dynamotest.DocumentOwner, Score: score.Library, ID: score.ItemID(uuid.NewString())}
		return items.OpenUpload(ctx, u, 1<<40, nil, idempotency.Key{})
	}
	require.NoError(t, open())
	require.NoError(t, items.CloseUpload(ctx, u, nil, idempotency.Key{}))
	ended := u
	require.NoError(t, db.Transact(ctx, []dynamo.Action{scores.CountedItems(dynamotest.DocumentOwner, scores.ItemCounts{Kept: score.MaxUploads - 1})}, idempotency.Key{}))
	for range 2 {
		busy, ok := errors.AsType[*fault.Error](open())
		require.True(t, ok)
		assert.Equal(t, fault.Exhausted, busy.Kind)
		assert.Equal(t, score.UploadsEvery, busy.RetryAfter, "it passes")
	}
	i := score.Item{ItemRef: score.ItemRef{Owner: dynamotest.DocumentOwner, Score: score.Library, ID: score.ItemID(uuid.NewString())}}
	require.NoError(t, db.Transact(ctx, []dynamo.Action{{Table: dynamo.ScoresTable, Item: scores.ScoreItemRow(i)}}, idempotency.Key{}))
	require.NoError(t, removeItem(t, items, i))
	require.NoError(t, items.ForgetUpload(ctx, i.ItemRef), "what was deleted does not count")
	assert.True(t, fault.Is(open(), fault.Exhausted))
	require.ErrorIs(t, items.ForgetUpload(ctx, ended.ItemRef), score.ErrUploadOver, "it claims something")
	ended.Claim = ended.Size
	for range 3 {
		require.NoError(t, items.ReleaseUpload(ctx, ended))
	}
	for range 3 {
		require.NoError(t, items.ForgetUpload(ctx, ended.ItemRef))
	}
	require.NoError(t, open())
	assert.True(t, fault.Is(open(), fault.Exhausted))
}
