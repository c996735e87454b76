package scoretest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

func othersItems(t *testing.T, w *ItemWorld) {
	grace := viewer.UserID(uuid.NewString())
	ctx := w.As(grace)
	i := w.upload("file", "text/plain", []byte("text"))
	open := w.ask(announce("open", "text/plain", []byte("open")))
	_, errs := w.Rules.ItemsByID(ctx, []score.ItemRequest{score.AnItem(i.ItemRef)})
	storetest.IsFault(t, errs[0], fault.NotFound)
	_, err := w.Rules.Complete(ctx, score.CompleteUpload{Upload: open.ItemRef})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.Complete(ctx, score.CompleteUpload{Upload: i.ItemRef})
	storetest.IsFault(t, err, fault.NotFound)
	storetest.IsFault(t, w.Rules.Abort(ctx, score.AbortUpload{Upload: open.ItemRef}), fault.NotFound)
	storetest.IsFault(t, w.Rules.Delete(ctx, score.DeleteItem{Item: i.ItemRef}), fault.NotFound)
	_, err = w.Rules.PutSetName(ctx, score.PutSetName{Item: i.ItemRef, SetName: "mine"})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.RequestUpload(ctx, w.Ada, announce("file", "text/plain", []byte("text")))
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.ListParts(ctx, open.ItemRef)
	storetest.IsFault(t, err, fault.NotFound)
	_, errs = w.Rules.ListItems(ctx, []score.ItemsRequest{score.LibraryItems(w.Ada, page.Window{Limit: 1})})
	storetest.IsFault(t, errs[0], fault.Forbidden)
	_, errs = w.Rules.ListUses(ctx, []score.UsesRequest{i.Uses(page.Window{Limit: 1})})
	storetest.IsFault(t, errs[0], fault.Forbidden)
	_, errs = w.Rules.Usages(ctx, []viewer.UserID{grace, w.Ada})
	require.NoError(t, errs[0])
	storetest.IsFault(t, errs[1], fault.Forbidden)
	_, err = w.Rules.PutQuota(ctx, score.PutQuota{Owner: grace, Quota: 1})
	storetest.IsFault(t, err, fault.Forbidden)
	_, err = w.Rules.Download(ctx, score.Item{ItemRef: i.ItemRef, Object: i.Object})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.RequestUpload(t.Context(), "", announce("file", "text/plain", []byte("text")))
	storetest.IsFault(t, err, fault.Unauthenticated)
	assert.Len(t, w.settle(), 1)
}

func itemsOfScores(t *testing.T, w *ItemWorld) {
	grace := viewer.UserID(uuid.NewString())
	i := w.upload("page", "image/png", pngOf(picture(10, 10)))
	for access, may := range map[score.Access]bool{score.Private: false, score.Limited: true, score.Public: true} {
		s := w.Score(access, i.ItemRef)
		scores, errs := w.ScoreRules().ListByID(w.As(grace), []score.Ref{s.Ref})
		if !may {
			storetest.IsFault(t, errs[0], fault.NotFound)
			_, errs = w.Rules.ItemsByID(w.As(grace), []score.ItemRequest{scores[0].Item(s.Pages[0])})
			require.Error(t, errs[0])
			continue
		}
		items, errs := w.Rules.ItemsByID(w.As(grace), []score.ItemRequest{scores[0].Item(scores[0].Pages[0]), score.AnItem(i.ItemRef)})
		require.NoError(t, errs[0])
		storetest.IsFault(t, errs[1], fault.NotFound)
		assert.Equal(t, i.Name, items[0].Name)
		_, err := w.Rules.Download(w.As(grace), items[0])
		require.NoError(t, err)
		_, errs = w.Rules.ListUses(w.As(grace), []score.UsesRequest{items[0].Uses(page.Window{Limit: 9})})
		storetest.IsFault(t, errs[0], fault.Forbidden)
	}
	var used *score.ItemInUse
	require.ErrorAs(t, w.Rules.Delete(w.As(w.Ada), score.DeleteItem{Item: i.ItemRef}), &used)
	assert.Equal(t, 3, used.Item.Refs)
	uses, errs := w.Rules.ListUses(w.As(w.Ada), []score.UsesRequest{used.Item.Uses(page.Window{Limit: 9})})
	require.NoError(t, errs[0])
	assert.Len(t, uses[0].Items, 3)
	assert.Len(t, storetest.Pages(t, 2, func(win page.Window) (page.Slice[score.Use], error) {
		lists, errs := w.Rules.ListUses(w.As(w.Ada), []score.UsesRequest{used.Item.Uses(win)})
		return lists[0], errs[0]
	}), 3)
	in := announce("file", "text/plain", []byte("text"))
	in.Score = score.ID(uuid.NewString())
	_, err := w.Rules.RequestUpload(w.As(w.Ada), w.Ada, in)
	storetest.IsFault(t, err, fault.NotFound)
}

func listedItems(t *testing.T, w *ItemWorld) {
	one, other := w.Score(score.Private).ID, w.Score(score.Private).ID
	var refs []score.ItemRef
	for n := range 7 {
		in := announce(fmt.Sprint("file ", n), "text/plain", []byte("text"))
		if in.Score = one; n == 6 {
			in.Score = other
		}
		ticket := w.ask(in)
		w.Put(ticket, []byte("text"))
		_, err := w.Complete(ticket.ItemRef)
		require.NoError(t, err)
		refs = append(refs, ticket.ItemRef)
	}
	w.ask(announce("open", "text/plain", []byte("open"))) // is no item
	list := func(of score.ID) func(page.Window) (page.Slice[score.Item], error) {
		return func(win page.Window) (page.Slice[score.Item], error) {
			lists, errs := w.Rules.ListItems(w.As(w.Ada), []score.ItemsRequest{{Of: score.Ref{Owner: w.Ada, ID: of}, Window: win}})
			return lists[0], errs[0]
		}
	}
	assert.Len(t, storetest.Pages(t, 2, list(one)), 6)
	assert.Equal(t, []string{string(refs[6].ID)}, storetest.Pages(t, 2, list(other)))
	assert.Empty(t, storetest.Pages(t, 2, list(score.Library)))
	assert.Empty(t, storetest.Pages(t, 2, list("no UUID")))
	all := storetest.Pages(t, 2, list(""))
	assert.Len(t, all, 7)
	for n := range 30 { // in the way
		w.ask(announce(fmt.Sprint("open", n), "text/plain", []byte("open")))
	}
	assert.Equal(t, all, storetest.Pages(t, 2, list("")))

	missing := score.ItemRef{Owner: w.Ada, Score: other, ID: refs[0].ID} // of another score
	items, errs := w.Items.ItemsByID(t.Context(), []score.ItemRef{refs[3], missing, refs[3], refs[0]})
	assert.Equal(t, "file 3", items[0].Name)
	storetest.IsFault(t, errs[1], fault.NotFound)
	assert.Equal(t, items[0], items[2])
	assert.Equal(t, "file 0", items[3].Name)
	uses, errs := w.Rules.ListUses(w.As(w.Ada), []score.UsesRequest{items[0].Uses(page.Window{Limit: 2})})
	require.NoError(t, errs[0])
	assert.Empty(t, uses[0].Items)
}

func renamed(t *testing.T, w *ItemWorld) {
	i := w.upload("file", "text/plain", []byte("text"))
	after, err := w.Rules.Rename(w.As(w.Ada), score.RenameItem{Item: i.ItemRef, Name: " Suite 組曲.txt "})
	require.NoError(t, err)
	i.Name = "Suite 組曲.txt"
	assert.Equal(t, i, after)
	_, err = w.Rules.Rename(w.As("grace"), score.RenameItem{Item: i.ItemRef, Name: "mine"})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.Rename(w.As(w.Ada), score.RenameItem{Item: score.ItemRef{Owner: w.Ada, Score: score.Library, ID: "nothing"}, Name: "x"})
	storetest.IsFault(t, err, fault.NotFound)
	require.NoError(t, w.Rules.Delete(w.As(w.Ada), score.DeleteItem{Item: i.ItemRef}))
	_, err = w.Rules.Rename(w.As(w.Ada), score.RenameItem{Item: i.ItemRef, Name: "x"})
	storetest.IsFault(t, err, fault.NotFound)
}

func changedSet(t *testing.T, w *ItemWorld) {
	i := w.upload("file", "text/plain", []byte("text"))
	for _, name := range []string{"Suite No. 1", "組曲 🎼", ""} {
		after, err := w.Rules.PutSetName(w.As(w.Ada), score.PutSetName{Item: i.ItemRef, SetName: " " + name})
		require.NoError(t, err)
		i.SetName = name
		assert.Equal(t, i, after)
	}
	_, err := w.Rules.PutSetName(w.As(w.Ada), score.PutSetName{Item: score.ItemRef{Owner: w.Ada, Score: score.Library, ID: "nothing"}})
	storetest.IsFault(t, err, fault.NotFound)
}

// setQuota sets Ada's quota, 0 for that of everybody.
func (w *ItemWorld) setQuota(bytes int64) {
	admin := viewer.With(w.t.Context(), viewer.Viewer{Identity: viewer.Identity{Subject: "root", Admin: true}, UserID: "root"})
	_, err := w.Rules.PutQuota(admin, score.PutQuota{Owner: w.Ada, Quota: bytes})
	require.NoError(w.t, err)
}

func ownersQuota(t *testing.T, w *ItemWorld) {
	set := w.setQuota
	usages, _ := w.Rules.Usages(w.As(w.Ada), []viewer.UserID{w.Ada})
	assert.EqualValues(t, Quota, usages[0].Quota)
	set(9)
	var reached *score.QuotaReached
	_, err := w.Rules.RequestUpload(w.As(w.Ada), w.Ada, announce("10", "text/plain", []byte("0123456789")))
	require.ErrorAs(t, err, &reached)
	assert.EqualValues(t, 9, reached.Quota)
	first := w.ask(announce("5", "text/plain", []byte("01234")))
	_, err = w.Rules.RequestUpload(w.As(w.Ada), w.Ada, announce("5", "text/plain", []byte("01234")))
	require.ErrorAs(t, err, &reached, "what may still come is counted")
	assert.EqualValues(t, 5, reached.Usage.Claimed)
	w.Put(first, []byte("01234"))
	_, err = w.Complete(first.ItemRef)
	require.NoError(t, err)

	content := pngOf(picture(100, 100))
	set(5 + int64(len(content)))
	image := w.ask(announce("image", "image/png", content))
	w.Put(image, content)
	_, err = w.Complete(image.ItemRef)
	require.ErrorAs(t, err, &reached, "there is no room for the thumbnail")
	set(0)
	_, err = w.Complete(image.ItemRef)
	require.NoError(t, err, "it can be completed when there is")
	require.NoError(t, w.Rules.Delete(w.As(w.Ada), score.DeleteItem{Item: first.ItemRef}))
	assert.Len(t, w.settle(), 1)
}

// files is how many uploads are completed at the same time.
const files = 50

func completedTogether(t *testing.T, w *ItemWorld) {
	tickets := make([]score.Ticket, files)
	var group errgroup.Group
	group.SetLimit(16)
	for n := range tickets {
		group.Go(func() error {
			content := pngOf(picture(20+n, 30))
			tickets[n] = w.ask(announce(fmt.Sprint("page ", n), "image/png", content))
			w.Put(tickets[n], content)
			return nil
		})
	}
	require.NoError(t, group.Wait())
	var together sync.WaitGroup
	for n := range 2 * files { // each of them twice
		together.Go(func() {
			i, err := w.Complete(tickets[n/2].ItemRef)
			assert.NoError(t, err)
			assert.Equal(t, fmt.Sprint("page ", n/2), i.Name)
		})
	}
	together.Wait()
	assert.Len(t, w.settle(), files)
}

func quotaTogether(t *testing.T, w *ItemWorld) {
	const room = 120
	content := []byte("0123456789")
	var stored, refused atomic.Int64
	var together sync.WaitGroup
	for n := range 40 {
		together.Go(func() {
			u := score.Upload{ItemRef: score.ItemRef{Owner: w.Ada, Score: score.Library, ID: score.ItemID(uuid.NewString())}, Name: "n", Type: "text/plain",
				Size: int64(len(content)), State: score.UploadOpen, CreatedAt: w.Clock.Now(), ExpiresAt: w.Clock.Now().Add(time.Hour)}
			i := score.Item{ItemRef: u.ItemRef, Name: "n", Type: u.Type, Size: u.Size, Total: u.Size + int64(n%3), CreatedAt: u.CreatedAt}
			var reached *score.QuotaReached
			err := w.Items.OpenUpload(t.Context(), u, room, nil, idempotency.Key{})
			if err == nil {
				if err = w.Items.CompleteUpload(t.Context(), u, i, room, idempotency.Key{}); err == nil {
					stored.Add(i.Total)
					return
				}
			}
			assert.True(t, errors.As(err, &reached), "%v", err)
			refused.Add(1)
		})
	}
	together.Wait()
	usage := w.usage()
	assert.LessOrEqual(t, usage.Claimed, int64(room))
	assert.Equal(t, stored.Load(), usage.Size)
	assert.Positive(t, refused.Load())
	assert.Positive(t, stored.Load())
	var sum int64
	for _, i := range w.library() {
		sum += i.Total
	}
	assert.Equal(t, sum, usage.Size)
}

func itemsOncePerKey(t *testing.T, w *ItemWorld) {
	ctx := w.As(w.Ada)
	for _, content := range [][]byte{[]byte("text"), large()} {
		in := announce("file", "text/plain", content)
		in.IdempotencyKey = storetest.Ptr(fmt.Sprint("request ", len(content)))
		first, err := w.Rules.RequestUpload(ctx, w.Ada, in)
		require.NoError(t, err)
		again, err := w.Rules.RequestUpload(ctx, w.Ada, in)
		require.NoError(t, err)
		assert.Equal(t, first.Upload, again.Upload)
		assert.Equal(t, 1, w.usage().Uploads)
		w.Put(again, content)
		complete := score.CompleteUpload{Upload: first.ItemRef, IdempotencyKey: storetest.Ptr(fmt.Sprint("complete ", len(content)))}
		i, err := w.Rules.Complete(ctx, complete)
		require.NoError(t, err)
		same, err := w.Rules.Complete(ctx, complete)
		require.NoError(t, err)
		assert.Equal(t, i, same)
		remove := score.DeleteItem{Item: i.ItemRef, IdempotencyKey: storetest.Ptr(fmt.Sprint("delete ", len(content)))}
		require.NoError(t, w.Rules.Delete(ctx, remove))
		require.NoError(t, w.Rules.Delete(ctx, remove))
	}
	in := announce("aborted", "text/plain", []byte("text"))
	ticket := w.ask(in)
	abort := score.AbortUpload{Upload: ticket.ItemRef, IdempotencyKey: storetest.Ptr("abort")}
	require.NoError(t, w.Rules.Abort(ctx, abort))
	require.NoError(t, w.Rules.Abort(ctx, abort))
	assert.Empty(t, w.settle())
}
