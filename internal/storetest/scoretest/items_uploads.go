package scoretest

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

func postedForm(t *testing.T, w *ItemWorld) {
	content := jpegOf(picture(300, 100))
	ticket := w.ask(announce("photo.jpg", "image/jpg", content))
	wrong := bytes.Clone(content)
	wrong[len(wrong)-1] ^= 1
	status, _ := sendForm(t, ticket.Form, wrong)
	assert.GreaterOrEqual(t, status, 400, "another file of the same length")
	status, _ = sendForm(t, ticket.Form, append(bytes.Clone(content), 0))
	assert.GreaterOrEqual(t, status, 400, "a longer file")
	_, err := w.Complete(ticket.ItemRef)
	require.ErrorIs(t, err, score.ErrNotUploaded)
	for range 2 { // whoever has the form can post the same bytes again
		status, text := sendForm(t, ticket.Form, content)
		require.Equal(t, http.StatusNoContent, status, text)
	}
	i, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	assert.Equal(t, "image/jpeg", i.Type)
	status, text := sendForm(t, ticket.Form, content)
	require.Equal(t, http.StatusNoContent, status, text)
	assert.Equal(t, content, w.download(w.Rules.Download(w.As(w.Ada), i)), "not where it is read from")
	assert.Len(t, w.settle(), 1)
}

// large returns a file that comes in two parts, the same one to all: nobody changes it.
var large = sync.OnceValue(func() []byte { return bytes.Repeat([]byte("0123456789abcdef"), partSize/16+100) })

func uploadedInParts(t *testing.T, w *ItemWorld) {
	ctx, content := w.As(w.Ada), large()
	first, second := sumOf(content[:partSize]), sumOf(content[partSize:])
	composite := score.Composite([]score.Part{{SHA256: first}, {SHA256: second}})
	in := announce("film.mp4", "video/mp4", content)
	in.SHA256 = composite
	ticket := w.ask(in)
	assert.True(t, ticket.InParts())
	assert.Equal(t, 2, ticket.Parts())
	assert.Zero(t, ticket.Put)
	none, err := w.Rules.ListParts(ctx, ticket.ItemRef)
	require.NoError(t, err)
	assert.Empty(t, none)
	for _, number := range []int{0, 3, -1} {
		_, err = w.Rules.SignPart(ctx, score.SignPart{Upload: ticket.ItemRef, Number: number, SHA256: first})
		storetest.IsFault(t, err, fault.Invalid)
	}
	_, err = w.Rules.SignPart(ctx, score.SignPart{Upload: ticket.ItemRef, Number: 1, SHA256: "abc"})
	storetest.IsFault(t, err, fault.Invalid)
	r, err := w.Rules.SignPart(ctx, score.SignPart{Upload: ticket.ItemRef, Number: 2, SHA256: second})
	require.NoError(t, err)
	status, text := Send(t, r, content[partSize:])
	require.Equal(t, http.StatusOK, status, text)
	_, err = w.Complete(ticket.ItemRef)
	require.ErrorIs(t, err, score.ErrNotUploaded, "a part is missing")
	listed, err := w.Rules.ListParts(ctx, ticket.ItemRef)
	require.NoError(t, err)
	require.Len(t, listed, 1)
	assert.Equal(t, 2, listed[0].Number)

	w.Put(ticket, content) // all of it, once more
	_, err = w.Rules.Complete(ctx, score.CompleteUpload{Upload: ticket.ItemRef, Parts: []score.Part{{Number: 1, ETag: `"another"`}}})
	storetest.IsFault(t, err, fault.Conflict)
	i, err := w.Complete(ticket.ItemRef)
	require.NoError(t, err)
	assert.Equal(t, composite, i.SHA256)
	assert.Equal(t, "video/mp4", i.Type)
	assert.Zero(t, i.Thumbnail)
	assert.True(t, bytes.Equal(content, w.download(w.Rules.Download(ctx, i))))
	_, err = w.Rules.ListParts(ctx, ticket.ItemRef)
	storetest.IsFault(t, err, fault.NotFound)

	in.SHA256 = strings.TrimSuffix(score.Composite([]score.Part{{SHA256: second}, {SHA256: second}}), "-2")
	ticket = w.ask(in)
	w.Put(ticket, content)
	_, err = w.Complete(ticket.ItemRef)
	storetest.IsFault(t, err, fault.Invalid)
	_, err = w.Complete(ticket.ItemRef)
	require.ErrorIs(t, err, score.ErrUploadOver)
	single := w.ask(announce("a.txt", "text/plain", []byte("small")))
	_, err = w.Rules.ListParts(ctx, single.ItemRef)
	storetest.IsFault(t, err, fault.Conflict)
	assert.Len(t, w.settle(), 1)
}

// webpBytes is an image of one pixel, without loss.
var webpBytes = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")

// bmpBytes begins an image of a type that nobody looks into.
var bmpBytes = []byte("BM............\x28\x00\x00\x00")

func thumbnails(t *testing.T, w *ItemWorld) {
	var moving bytes.Buffer
	frame := image.NewPaletted(image.Rect(0, 0, 40, 20), color.Palette{color.White, color.Black})
	require.NoError(t, gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}))
	for _, test := range []struct {
		said, found, thumbnail string
		content                []byte
		width, height          int
	}{
		{"image/jpeg", "image/jpeg", "image/jpeg", jpegOf(picture(2000, 3)), 320, 1},
		{"image/png", "image/png", "image/jpeg", pngOf(picture(3, 2000)), 1, 320},
		{"IMAGE/PNG; x=y", "image/png", "image/png", pngOf(transparent(200, 10)), 200, 10},
		{"application/octet-stream", "image/png", "image/jpeg", pngOf(picture(10, 10)), 10, 10},
		{"image/gif", "image/gif", "image/jpeg", moving.Bytes(), 40, 20},
		{"image/webp", "image/webp", "", webpBytes, 1, 1},
		{"image/x-bmp", "image/bmp", "", bmpBytes, 0, 0},
	} {
		i := w.upload("file", test.said, test.content)
		assert.Equal(t, test.found, i.Type)
		if test.thumbnail != "" {
			assert.Equal(t, test.thumbnail, i.Thumbnail.Type, test.said)
		}
		assert.Equal(t, image.Pt(test.width, test.height), image.Pt(i.Thumbnail.Width, i.Thumbnail.Height), test.said)
	}
	w.settle()
}

func refusedUploads(t *testing.T, w *ItemWorld) {
	ctx := w.As(w.Ada)
	good := announce("a.txt", "text/plain", []byte("text"))
	for field, change := range map[string]func(*score.RequestUpload){
		"input.size":     func(in *score.RequestUpload) { in.Size = 0 },
		"input.size ":    func(in *score.RequestUpload) { in.Size = -1 },
		"input.size  ":   func(in *score.RequestUpload) { in.Size = score.MaxItem + 1 },
		"input.size   ":  func(in *score.RequestUpload) { in.Size, in.Type = single+1, "image/png" },
		"input.name":     func(in *score.RequestUpload) { in.Name = " " },
		"input.name ":    func(in *score.RequestUpload) { in.Name = strings.Repeat("🎼", score.MaxItemName+1) },
		"input.name  ":   func(in *score.RequestUpload) { in.Name = "a\nb" },
		"input.name   ":  func(in *score.RequestUpload) { in.Name = "a\xff" },
		"input.setName":  func(in *score.RequestUpload) { in.SetName = strings.Repeat("x", 65) },
		"input.type":     func(in *score.RequestUpload) { in.Type = "png" },
		"input.type ":    func(in *score.RequestUpload) { in.Type = "" },
		"input.type  ":   func(in *score.RequestUpload) { in.Type = "a/" + strings.Repeat("x", 200) },
		"input.sha256":   func(in *score.RequestUpload) { in.SHA256 = "" },
		"input.sha256 ":  func(in *score.RequestUpload) { in.SHA256 = "d2hhdA==" },
		"input.sha256  ": func(in *score.RequestUpload) { in.SHA256 = strings.Repeat("a", 64) },
	} {
		in := good
		change(&in)
		_, err := w.Rules.RequestUpload(ctx, w.Ada, in)
		storetest.IsFault(t, err, fault.Invalid)
		var f *fault.Error
		require.ErrorAs(t, err, &f)
		assert.Equal(t, strings.TrimSpace(field), f.Field)
	}
	good.Name, good.SetName = strings.Repeat("🎼", score.MaxItemName), strings.Repeat("🎼", 64)
	_, err := w.Rules.RequestUpload(ctx, w.Ada, good)
	require.NoError(t, err)
	nothing := score.ItemRef{Owner: w.Ada, Score: score.Library, ID: score.ItemID(uuid.NewString())}
	_, err = w.Complete(nothing)
	storetest.IsFault(t, err, fault.NotFound)
	storetest.IsFault(t, w.Rules.Abort(ctx, score.AbortUpload{Upload: nothing}), fault.NotFound)
	nothing.ID = "no UUID"
	_, err = w.Complete(nothing)
	storetest.IsFault(t, err, fault.NotFound)
	assert.Empty(t, w.settle())
}

// bomb returns a PNG that says it has so many pixels.
func bomb(width, height uint32) []byte {
	b := bytes.Clone(pngOf(picture(1, 1)))
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

func lyingFiles(t *testing.T, w *ItemWorld) {
	png := pngOf(picture(10, 10))
	for why, test := range map[string]struct {
		said    string
		content []byte
	}{
		"a PNG as JPEG":           {"image/jpeg", png},
		"an image in parts":       {"application/octet-stream", append(bytes.Clone(bmpBytes), large()...)},
		"a page as PNG":           {"image/png", []byte("<!DOCTYPE html><script>alert(1)</script>")},
		"a picture as text":       {"text/plain", png},
		"a drawing as PNG":        {"image/png", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)},
		"half an image":           {"image/png", png[:len(png)-20]},
		"no more than a header":   {"image/png", png[:30]},
		"a bomb":                  {"image/png", bomb(50_000, 50_000)},
		"a bomb of one dimension": {"image/png", bomb(40_000_001, 1)},
		"an image of nothing":     {"image/png", bomb(0, 10)},
		"a bomb of another type":  {"image/gif", []byte("GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff")},
	} {
		ticket := w.ask(announce("file", test.said, test.content))
		w.Put(ticket, test.content)
		_, err := w.Complete(ticket.ItemRef)
		storetest.IsFault(t, err, fault.Invalid)
		_, err = w.Complete(ticket.ItemRef)
		require.ErrorIs(t, err, score.ErrUploadOver, why)
		w.work()
		left, _ := w.bytes()
		assert.Zero(t, left, "%s leaves nothing", why)
	}
	html := w.upload("page.html", "text/html", []byte("<script>alert(1)</script>"))
	url, err := w.Rules.Download(w.As(w.Ada), html)
	require.NoError(t, err)
	assert.Contains(t, url, "response-content-disposition=attachment")
	drawing := w.upload("drawing.svg", "image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`))
	url, err = w.Rules.Download(w.As(w.Ada), drawing)
	require.NoError(t, err)
	assert.Contains(t, url, "response-content-disposition=attachment", "scripts can be in it")
	assert.Len(t, w.settle(), 2)
}

func expiredUpload(t *testing.T, w *ItemWorld) {
	content := []byte("late")
	ticket := w.ask(announce("late", "text/plain", content))
	w.Put(ticket, content)
	w.Clock.Advance(score.UploadTime - time.Millisecond)
	w.work()
	left, _ := w.bytes()
	assert.EqualValues(t, 4, left)
	w.Clock.Advance(time.Millisecond)
	_, err := w.Complete(ticket.ItemRef)
	require.ErrorIs(t, err, score.ErrUploadOver)
	w.work()
	left, _ = w.bytes()
	assert.Zero(t, left)
	assert.Zero(t, w.usage())
	status, _ := Send(t, ticket.Put, content) // a request that took its time
	assert.Equal(t, http.StatusPreconditionFailed, status)
	status, _ = sendForm(t, ticket.Form, content)
	assert.Equal(t, http.StatusNoContent, status)
	assert.Empty(t, w.settle())
}

// during is a storage that does something else before it copies.
type during struct {
	score.Files
	copying func()
}

func (d during) Copy(ctx context.Context, from, to, etag string) error {
	d.copying()
	return d.Files.Copy(ctx, from, to, etag)
}

// Two uploads of an owner are completed at a time. Who waits for his turn is told so, and completes later; others are not kept waiting.
func completedInTurns(t *testing.T, w *ItemWorld) {
	content := pngOf(picture(10, 10))
	put := func() score.Ticket {
		ticket := w.ask(announce("page", "image/png", content))
		w.Put(ticket, content)
		return ticket
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := w.Over(w.Items, during{w.Files, func() { entered <- struct{}{}; <-leave }})
	ended := make(chan error, score.MaxCompleting)
	for range score.MaxCompleting {
		ticket := put()
		go func() {
			_, err := slow.Complete(w.As(w.Ada), score.CompleteUpload{Upload: ticket.ItemRef})
			ended <- err
		}()
		<-entered
	}
	waits := put()
	short, cancel := context.WithTimeout(w.As(w.Ada), 4*time.Second)
	defer cancel()
	_, err := slow.Complete(short, score.CompleteUpload{Upload: waits.ItemRef})
	var busy *fault.Error
	require.ErrorAs(t, err, &busy)
	assert.Equal(t, fault.Exhausted, busy.Kind)
	assert.Positive(t, busy.RetryAfter)
	require.NoError(t, short.Err(), "it waits for half of its time")
	close(leave)
	for range score.MaxCompleting {
		require.NoError(t, <-ended)
	}
	i, err := w.Complete(waits.ItemRef)
	require.NoError(t, err)
	assert.Equal(t, waits.ItemRef, i.ItemRef)
}

func endedWhileCompleted(t *testing.T, w *ItemWorld) {
	content := pngOf(picture(10, 10))
	for _, test := range []struct {
		ends  func(score.Ticket)
		stays int
		want  error
	}{
		{func(ticket score.Ticket) { // and is swept
			require.NoError(t, w.Rules.Abort(w.As(w.Ada), score.AbortUpload{Upload: ticket.ItemRef}))
			w.work()
			status, text := sendForm(t, ticket.Form, content) // so that there is something to copy
			require.Equal(t, http.StatusNoContent, status, text)
		}, 0, score.ErrUploadOver},
		{func(ticket score.Ticket) {
			w.Clock.Advance(score.UploadTime)
			w.work()
			status, text := sendForm(t, ticket.Form, content)
			require.Equal(t, http.StatusNoContent, status, text)
		}, 0, score.ErrUploadOver},
		{func(ticket score.Ticket) {
			w.Clock.Advance(score.UploadTime)
			w.work()
		}, 0, score.ErrUploadOver},
		{func(ticket score.Ticket) { // somebody else completes it
			_, err := w.Complete(ticket.ItemRef)
			require.NoError(t, err)
		}, 1, nil},
	} {
		ticket := w.ask(announce("page", "image/png", content))
		w.Put(ticket, content)
		slow := w.Over(w.Items, during{w.Files, func() { test.ends(ticket) }})
		_, err := slow.Complete(w.As(w.Ada), score.CompleteUpload{Upload: ticket.ItemRef})
		require.ErrorIs(t, err, test.want)
		assert.Len(t, w.settle(), test.stays)
	}
}
