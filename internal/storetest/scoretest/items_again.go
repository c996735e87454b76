package scoretest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

// signatureOver is when the storage refuses what was signed with the first ticket, whatever its clock shows.
const signatureOver = score.PutTime + time.Minute

// again sends the file once more in both ways. A policy has no condition that nothing is there: the form works for as long as its
// signature does.
func (w *ItemWorld) again(ticket score.Ticket, content []byte) {
	w.t.Helper()
	status, text := Send(w.t, ticket.Put, content)
	assert.Equal(w.t, http.StatusPreconditionFailed, status, text)
	status, text = sendForm(w.t, ticket.Form, content)
	assert.Equal(w.t, http.StatusNoContent, status, text)
}

// left checks how many bytes are kept, and how many of the quota are taken.
func (w *ItemWorld) left(kept, claimed int64, why string) {
	w.t.Helper()
	bytes, parts := w.bytes()
	assert.Equal(w.t, kept, bytes, "bytes kept %s", why)
	assert.Zero(w.t, parts, "uploads in parts %s", why)
	assert.Equal(w.t, claimed, w.usage().Claimed, "bytes claimed %s", why)
}

func abortedUpload(t *testing.T, w *ItemWorld) {
	content := []byte("small")
	ticket := w.ask(announce("file", "text/plain", content))
	w.Put(ticket, content)
	for range 2 {
		require.NoError(t, w.Rules.Abort(w.As(w.Ada), score.AbortUpload{Upload: ticket.ItemRef}))
		w.left(0, 5, "at once")
	}
	assert.Zero(t, w.usage().Uploads)
	w.again(ticket, content)
	w.left(5, 5, "after the form")
	w.Clock.Advance(signatureOver - time.Millisecond)
	w.work()
	w.left(0, 5, "until the signature has ended")
	w.again(ticket, content)
	w.Clock.Advance(time.Millisecond)
	w.work()
	w.left(0, 0, "when it has")
	_, err := w.Complete(ticket.ItemRef)
	require.ErrorIs(t, err, score.ErrUploadOver)
	w.again(ticket, content) // a request that took its time
	done := w.upload("done", "text/plain", []byte("done"))
	storetest.IsFault(t, w.Rules.Abort(w.As(w.Ada), score.AbortUpload{Upload: done.ItemRef}), fault.NotFound)
	assert.Len(t, w.settle(), 1)
}

func abortedParts(t *testing.T, w *ItemWorld) {
	content := large()
	sign := func(ref score.ItemRef) score.Request {
		r, err := w.Rules.SignPart(w.As(w.Ada), score.SignPart{Upload: ref, Number: 2, SHA256: sumOf(content[partSize:])})
		require.NoError(t, err)
		return r
	}
	ticket := w.ask(announce("file", "text/plain", content))
	part := sign(ticket.ItemRef)
	w.Put(ticket, content)
	require.NoError(t, w.Rules.Abort(w.As(w.Ada), score.AbortUpload{Upload: ticket.ItemRef}))
	w.left(0, int64(len(content)), "at once")
	status, text := Send(t, part, content[partSize:])
	assert.Equal(t, http.StatusNotFound, status, text)
	w.work()
	w.left(0, 0, "when it was swept")

	ticket = w.ask(announce("file", "text/plain", content))
	part = sign(ticket.ItemRef)
	w.Put(ticket, content)
	_, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	status, text = Send(t, part, content[partSize:])
	assert.Equal(t, http.StatusNotFound, status, text)
	w.left(int64(len(content)), int64(len(content)), "when it was completed")
	assert.Len(t, w.settle(), 1)
}

func putOnceMore(t *testing.T, w *ItemWorld) {
	content := pngOf(picture(30, 30))
	ticket := w.ask(announce("page", "image/png", content))
	w.Put(ticket, content)
	i, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	w.left(i.Total, i.Total, "at once")
	w.again(ticket, content)
	w.left(i.Total+i.Size, i.Total, "after the form: what is there twice counts once")
	again, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	assert.Equal(t, i, again)
	storetest.IsFault(t, w.Rules.Abort(w.As(w.Ada), score.AbortUpload{Upload: ticket.ItemRef}), fault.NotFound)
	w.Clock.Advance(signatureOver)
	w.work()
	w.left(i.Total, i.Total, "when the signature has ended")
	assert.Equal(t, content, w.download(w.Rules.Download(w.As(w.Ada), i)))
	assert.Len(t, w.settle(), 1)
}

func putWhenDeleted(t *testing.T, w *ItemWorld) {
	content := pngOf(picture(30, 30))
	ticket := w.ask(announce("page", "image/png", content))
	w.Put(ticket, content)
	i, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	w.again(ticket, content)
	require.NoError(t, w.Rules.Delete(w.As(w.Ada), score.DeleteItem{Item: i.ItemRef}))
	assert.Equal(t, score.Usage{Claimed: i.Size}, w.usage(), "the thumbnail is free at once")
	w.work()
	w.left(0, i.Size, "when it was swept")
	w.again(ticket, content)
	w.Clock.Advance(signatureOver)
	w.work()
	w.left(0, 0, "when the signature has ended")
	assert.Empty(t, w.settle())
}

func signedOnceMore(t *testing.T, w *ItemWorld) {
	content := []byte("small")
	in := announce("file", "text/plain", content)
	in.IdempotencyKey = storetest.Ptr("request")
	first := w.ask(in)
	w.Clock.Advance(score.PutTime - 5*time.Minute)
	assert.Equal(t, first.Signed, w.ask(in).Signed)
	w.Clock.Advance(time.Second)
	second := w.ask(in)
	assert.Equal(t, first.Signed.Add(score.PutTime-5*time.Minute+time.Second), second.Signed)
	w.Put(second, content)
	require.NoError(t, w.Rules.Abort(w.As(w.Ada), score.AbortUpload{Upload: first.ItemRef}))
	w.Clock.Advance(signatureOver - time.Millisecond)
	w.work()
	w.again(second, content)
	w.left(5, 5, "until the second signature has ended")
	w.Clock.Advance(time.Millisecond)
	w.work()
	w.left(0, 0, "when it has")

	in.IdempotencyKey = storetest.Ptr("late")
	first = w.ask(in)
	w.Clock.Advance(score.UploadTime - time.Minute)
	assert.Equal(t, first.ExpiresAt, w.ask(in).Signed, "nothing that is signed outlives the upload")
	w.Clock.Advance(time.Minute)
	_, err := w.Complete(first.ItemRef)
	require.ErrorIs(t, err, score.ErrUploadOver)
	assert.Empty(t, w.settle())
}

// All of a quota can be filled within the time of one signature: files that were put count once, with their thumbnails.
func filledInOneGo(t *testing.T, w *ItemWorld) {
	const quota = 1000
	w.setQuota(quota)
	content := make([]byte, quota/10)
	for n := range 9 {
		content[0] = byte(n)
		w.upload(fmt.Sprint("file ", n), "application/octet-stream", content)
	}
	assert.Equal(t, score.Usage{Items: 9, Size: 900, Claimed: 900, Quota: quota}, w.usage())
	last := w.upload("the last file", "application/octet-stream", content)
	require.NoError(t, w.Rules.Delete(w.As(w.Ada), score.DeleteItem{Item: last.ItemRef}))
	var reached *score.QuotaReached
	_, err := w.Rules.RequestUpload(w.As(w.Ada), w.Ada, announce("file", "application/octet-stream", content[:1]))
	require.ErrorAs(t, err, &reached, "it can still be put once more")
	assert.EqualValues(t, quota, reached.Usage.Claimed)
	w.Clock.Advance(signatureOver)
	w.work()
	w.upload("file", "application/octet-stream", content)
	w.setQuota(0)
	assert.Len(t, w.settle(), 10)
}
