package scoretest

import (
	"bytes"
	"image"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

// ItemsSuite is the contract of a store of items, with the rules above it and the storage beside it.
func ItemsSuite(t *testing.T, open OpenItems) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *ItemWorld){
		"an image becomes an item":              uploadedImage,
		"a form does what a request does":       postedForm,
		"a large file comes in parts":           uploadedInParts,
		"images of all types get thumbnails":    thumbnails,
		"bad input is refused":                  refusedUploads,
		"files that are not what they say":      lyingFiles,
		"items are their owner's":               othersItems,
		"an upload is aborted":                  abortedUpload,
		"an upload in parts is aborted":         abortedParts,
		"a file is put once more":               putOnceMore,
		"a file of a deleted item is put":       putWhenDeleted,
		"an upload is signed once more":         signedOnceMore,
		"a quota is filled in one go":           filledInOneGo,
		"an upload is over when its time is up": expiredUpload,
		"items are read through scores":         itemsOfScores,
		"an upload ends while it is completed":  endedWhileCompleted,
		"lists of items":                        listedItems,
		"an item is renamed":                    renamed,
		"the set of an item":                    changedSet,
		"the quota of an owner":                 ownersQuota,
		"mutations happen once per key":         itemsOncePerKey,
	})
	ItemsTogether(t, open)
}

// ItemsTogether tests what [ItemsSuite] does at the same time. See [Together].
func ItemsTogether(t *testing.T, open OpenItems) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *ItemWorld){
		"items are completed at the same time": completedTogether,
		"uploads are completed in turns":       completedInTurns,
		"the quota holds under many writers":   quotaTogether,
	})
}

func uploadedImage(t *testing.T, w *ItemWorld) {
	content := pngOf(picture(640, 900))
	in := announce("page 1 🎼.png", "image/png", content)
	in.SetName = "Suite"
	ticket := w.ask(in)
	assert.EqualValues(t, len(content), w.usage().Claimed)
	_, err := w.Complete(ticket.ItemRef)
	require.ErrorIs(t, err, score.ErrNotUploaded)
	w.Put(ticket, content)
	i, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	assert.Equal(t, ticket.ItemRef, i.ItemRef)
	assert.Equal(t, "page 1 🎼.png", i.Name)
	assert.Equal(t, "Suite", i.SetName)
	assert.Equal(t, "image/png", i.Type)
	assert.Equal(t, image.Pt(640, 900), image.Pt(i.Width, i.Height))
	assert.Equal(t, image.Pt(227, 320), image.Pt(i.Thumbnail.Width, i.Thumbnail.Height))
	assert.Equal(t, sumOf(content), i.SHA256)

	again, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	assert.Equal(t, i, again)

	ctx := w.As(w.Ada)
	items, errs := w.Rules.ItemsByID(ctx, []score.ItemRequest{score.AnItem(i.ItemRef)})
	require.NoError(t, errs[0])
	assert.Equal(t, i, items[0])
	assert.Equal(t, content, w.download(w.Rules.Download(ctx, i)))
	small, format, err := image.Decode(bytes.NewReader(w.download(w.Rules.ThumbnailURL(ctx, i))))
	require.NoError(t, err)
	assert.Equal(t, "jpeg", format)
	assert.Equal(t, image.Rect(0, 0, 227, 320), small.Bounds())

	status, text := Send(t, ticket.Put, content)
	assert.Equal(t, http.StatusPreconditionFailed, status, text)
	assert.Len(t, w.settle(), 1)
	require.NoError(t, w.Rules.Delete(ctx, score.DeleteItem{Item: i.ItemRef}))
	assert.True(t, fault.Is(w.Rules.Delete(ctx, score.DeleteItem{Item: i.ItemRef}), fault.NotFound))
	w.work()
	keys, _ := w.Kept()
	assert.Empty(t, keys, "at once")
	assert.Empty(t, w.settle())
	assert.False(t, strings.Contains(i.Object, i.Name), "the name of an object is ours")
}
