package scoretest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// ItemStores is one empty implementation of each store that items need.
type ItemStores struct {
	Items  score.ItemStore
	Scores score.Store
	Tasks  task.Store
	Files  score.Files
	// Kept returns the sizes of all objects by their keys, and how many uploads in parts are under way.
	Kept func() (sizes map[string]int64, parts int)
}

// OpenItems returns empty stores that take their time from now.
type OpenItems func(t *testing.T, now func() time.Time) ItemStores

// World opens stores, and returns a world over them.
func (open OpenItems) World(t *testing.T, clock *storetest.Clock) *ItemWorld {
	return NewItemWorld(t, open(t, clock.Now), clock)
}

// The sizes at which files come in parts in these tests. S3 takes no smaller parts.
const (
	single   = 1 << 20
	partSize = 5 << 20
	Quota    = 1 << 30
)

// ItemWorld is a set of stores with the rules of items above them, and one user.
type ItemWorld struct {
	ItemStores
	Clock *storetest.Clock
	Rules *score.Items
	Ada   viewer.UserID

	t testing.TB
}

// NewItemWorld returns a world over empty stores that show the time of the clock.
func NewItemWorld(t testing.TB, s ItemStores, clock *storetest.Clock) *ItemWorld {
	w := &ItemWorld{ItemStores: s, Clock: clock, Ada: viewer.UserID(uuid.NewString()), t: t}
	w.Rules = w.Over(s.Items, s.Files)
	return w
}

// Over returns the rules over other stores.
func (w *ItemWorld) Over(store score.ItemStore, files score.Files) *score.Items {
	return score.NewItems(score.ItemsOptions{Store: store, Scores: w.Scores, Files: files, Quota: Quota, Now: w.Clock.Now, NewID: uuid.NewString, Single: single, Part: partSize})
}

// As returns a context in which the user asks.
func (w *ItemWorld) As(id viewer.UserID) context.Context {
	return viewer.With(storetest.Patient(w.t), viewer.Viewer{Identity: viewer.Identity{Issuer: "issuer", Subject: string(id)}, UserID: id})
}

// picture returns an image with stripes.
func picture(width, height int) image.Image {
	m := image.NewGray(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = 0xff
		if i/width%20 < 3 {
			m.Pix[i] = 0x20
		}
	}
	return m
}

func pngOf(m image.Image) []byte {
	var out bytes.Buffer
	_ = png.Encode(&out, m) // a buffer takes everything
	return out.Bytes()
}

func jpegOf(m image.Image) []byte {
	var out bytes.Buffer
	_ = jpeg.Encode(&out, m, nil)
	return out.Bytes()
}

// transparent returns an image that one can see through.
func transparent(width, height int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			m.Set(x, y, color.NRGBA{R: 200, A: uint8(x)})
		}
	}
	return m
}

func sumOf(content []byte) string {
	s := sha256.Sum256(content)
	return base64.StdEncoding.EncodeToString(s[:])
}

// announce is the input for a file of the content.
func announce(name, mediaType string, content []byte) score.RequestUpload {
	in := score.RequestUpload{Name: name, Type: mediaType, Size: int64(len(content)), SHA256: sumOf(content)}
	if len(content) > single {
		in.SHA256 = ""
	}
	return in
}

// Send sends a request as a client would, and returns the status and the body.
func Send(t require.TestingT, r score.Request, body []byte) (status int, text string) {
	sent(t, r, body, func(answer *http.Response) {
		all, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		status, text = answer.StatusCode, string(all)
	})
	return status, text
}

// sent sends a request, and has the answer read.
func sent(t require.TestingT, r score.Request, body []byte, read func(answer *http.Response)) {
	request, err := http.NewRequest(r.Method, r.URL, bytes.NewReader(body))
	require.NoError(t, err)
	for name, value := range r.Headers {
		if name != "Content-Length" { // net/http sets it from the body
			request.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	read(answer)
}

// sendForm posts the form as a browser would.
func sendForm(t require.TestingT, f score.Form, content []byte) (int, string) {
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for name, value := range f.Fields {
		require.NoError(t, m.WriteField(name, value))
	}
	file, err := m.CreateFormFile("file", "file")
	require.NoError(t, err)
	_, err = file.Write(content)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	return Send(t, score.Request{Method: http.MethodPost, URL: f.URL, Headers: map[string]string{"Content-Type": m.FormDataContentType()}}, body.Bytes())
}

// ask requests an upload by Ada.
func (w *ItemWorld) ask(in score.RequestUpload) score.Ticket {
	w.t.Helper()
	ticket, err := w.Rules.RequestUpload(w.As(w.Ada), w.Ada, in)
	require.NoError(w.t, err)
	return ticket
}

// Put sends the content as the ticket says.
func (w *ItemWorld) Put(ticket score.Ticket, content []byte) {
	w.t.Helper()
	if !ticket.InParts() {
		status, text := Send(w.t, ticket.Put, content)
		require.Equal(w.t, http.StatusOK, status, text)
		return
	}
	for n := range ticket.Parts() {
		part := content[n*partSize : min((n+1)*partSize, len(content))]
		r, err := w.Rules.SignPart(w.As(w.Ada), score.SignPart{Upload: ticket.ItemRef, Number: n + 1, SHA256: sumOf(part)})
		require.NoError(w.t, err)
		status, text := Send(w.t, r, part)
		require.Equal(w.t, http.StatusOK, status, text)
	}
}

// Complete completes an upload by Ada.
func (w *ItemWorld) Complete(ref score.ItemRef) (score.Item, error) {
	return w.Rules.Complete(w.As(w.Ada), score.CompleteUpload{Upload: ref})
}

// upload makes an item of the content.
func (w *ItemWorld) upload(name, mediaType string, content []byte) score.Item {
	w.t.Helper()
	ticket := w.ask(announce(name, mediaType, content))
	w.Put(ticket, content)
	i, err := w.Complete(ticket.ItemRef)
	require.NoError(w.t, err)
	return i
}

// download returns what is at the URL.
func (w *ItemWorld) download(url string, err error) []byte {
	w.t.Helper()
	require.NoError(w.t, err)
	status, text := Send(w.t, score.Request{Method: http.MethodGet, URL: url}, nil)
	require.Equal(w.t, http.StatusOK, status, text)
	return []byte(text)
}

// downloaded returns how many bytes are at the URL, and keeps none of them.
func (w *ItemWorld) downloaded(url string, err error) (n int64) {
	w.t.Helper()
	require.NoError(w.t, err)
	sent(w.t, score.Request{Method: http.MethodGet, URL: url}, nil, func(answer *http.Response) {
		require.Equal(w.t, http.StatusOK, answer.StatusCode)
		n, err = io.Copy(io.Discard, answer.Body)
		require.NoError(w.t, err)
	})
	return n
}

// usage returns what Ada's items take up.
func (w *ItemWorld) usage() score.Usage {
	w.t.Helper()
	usages, errs := w.Items.Usages(w.t.Context(), []viewer.UserID{w.Ada})
	if errs != nil {
		require.NoError(w.t, errs[0])
	}
	return usages[0]
}

// library returns all items of Ada's library.
func (w *ItemWorld) library() []score.Item {
	w.t.Helper()
	lists, errs := w.Items.ListItemsOf(w.t.Context(), []score.ItemsRequest{score.LibraryItems(w.Ada, page.Window{Limit: page.Max})})
	require.NoError(w.t, errs[0])
	return lists[0].Items
}

// work carries out all tasks that are due.
func (w *ItemWorld) work() {
	w.t.Helper()
	ctx := w.t.Context()
	for {
		due, err := w.Tasks.ListDueTasks(ctx, w.Clock.Now(), 100)
		require.NoError(w.t, err)
		if len(due) == 0 {
			return
		}
		for _, one := range due {
			claimed, ok, err := w.Tasks.ClaimTask(ctx, one, uuid.NewString(), w.Clock.Now().Add(task.Lease))
			require.NoError(w.t, err)
			require.True(w.t, ok)
			again, err := handled(ctx, w.Rules, claimed)
			require.NoError(w.t, err)
			require.NoError(w.t, w.Tasks.FinishTask(ctx, claimed, again))
		}
	}
}

// handled carries out a task of items.
func handled(ctx context.Context, s *score.Items, t task.Task) (time.Time, error) {
	if t.Kind == score.FollowItem {
		return s.Follow(ctx, t)
	}
	return s.Sweep(ctx, t)
}

// bytes returns how many bytes the storage keeps, those of parts apart, and how many uploads in parts are under way.
func (w *ItemWorld) bytes() (sum int64, parts int) {
	sizes, parts := w.Kept()
	for _, size := range sizes {
		sum += size
	}
	return sum, parts
}

// settle lets the time of all uploads pass, and checks that nothing is left but what belongs to items, and that all of it is
// counted.
func (w *ItemWorld) settle() []score.Item {
	w.t.Helper()
	for range 3 {
		w.Clock.Advance(score.UploadTime)
		w.work()
	}
	far, err := w.Tasks.ListDueTasks(w.t.Context(), w.Clock.Now().AddDate(1, 0, 0), 100)
	require.NoError(w.t, err)
	assert.Empty(w.t, far, "nothing is left to be done")
	items := w.library()
	wanted := []string{}
	var size int64
	for _, i := range items {
		wanted = append(wanted, i.Object)
		if i.Thumbnail.Object != "" {
			wanted = append(wanted, i.Thumbnail.Object)
		}
		size += i.Size + i.Thumbnail.Size
		assert.Equal(w.t, i.Size+i.Thumbnail.Size, i.Total)
	}
	sizes, parts := w.Kept()
	assert.ElementsMatch(w.t, wanted, slices.Collect(maps.Keys(sizes)))
	assert.Zero(w.t, parts, "uploads in parts are under way")
	assert.Equal(w.t, score.Usage{Items: len(items), Size: size, Claimed: size}, w.usage())
	return items
}

// Score creates a score of Ada's that whoever has the access may read.
func (w *ItemWorld) Score(access score.Access, items ...score.ItemRef) score.Score {
	w.t.Helper()
	s, err := w.ScoreRules().Create(w.As(w.Ada), score.Create{Title: "t", Access: access, Pages: Pages(items...)})
	require.NoError(w.t, err)
	return s
}

// ScoreRules returns the rules of scores.
func (w *ItemWorld) ScoreRules() *score.Service {
	return score.NewService(score.Options{Store: w.Scores, Contents: &Contents{Kept: map[string][]byte{}}, Now: w.Clock.Now, NewID: uuid.NewString})
}

// Ask requests an upload of the content by Ada.
func (w *ItemWorld) Ask(name, mediaType string, content []byte) score.Ticket {
	w.t.Helper()
	return w.ask(announce(name, mediaType, content))
}
