package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// few is the small set with less to draw, which takes long with the race detector.
var few = func() size { s := small; s.scores, s.postcards = 1, 2; return s }()

// larger has everything that the full set has, and less of it.
var larger = size{name: "larger", people: 9, own: 30, others: 6, items: 150, scope: catalogue{people: 8, works: 7, ensembles: 3}, scores: 2, postcards: 3}

func TestSmallLoadsSomethingOfEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var told bytes.Buffer
	o := w.options()
	o.Progress = &told
	require.NoError(t, Small(t.Context(), o))

	ada := w.ask(Email, `{ viewer {
	  notes(first: 500) { nodes { title } }
	  projects(first: 2) { nodes { name viewerMember { type } teams { name } items(first: 500) { nodes { externalId } }
	    finished: items(status: FINISHED, first: 50) { nodes { category { name } efforts { nodes { user { name } } } } }
	    skipped: items(status: SKIPPED, first: 50) { nodes { id } }
    returned: items(status: NEW, first: 500) { nodes { returnedTo { name } efforts { nodes { review { comment } } } } }
    imports { nodes { state imported mistakes } } } }
	  scopes(first: 2) { nodes { name indexes { name } entities(type: "work") { nodes { key } } } }
	} }`)
	assert.Len(t, at(ada, "viewer", "notes", "nodes"), 30)
	archive := projectOf(ada, projectName)
	assert.Equal(t, "MANAGER", at(archive, "viewerMember", "type"))
	assert.Len(t, at(archive, "teams"), 4)
	assert.Len(t, at(archive, "items", "nodes"), 100)
	assert.Len(t, at(archive, "finished", "nodes"), 5)
	assert.Len(t, at(archive, "skipped", "nodes"), 2)
	returned := slices.DeleteFunc(at(archive, "returned", "nodes").([]any), func(item any) bool { return at(item, "returnedTo") == nil })
	require.Len(t, returned, 1)
	assert.Equal(t, people[1].name, at(returned[0], "returnedTo", "name"))
	assert.NotEmpty(t, at(returned[0], "efforts", "nodes", 0, "review", "comment"))
	assert.NotEmpty(t, at(archive, "finished", "nodes", 0, "category", "name"))
	assert.NotEqual(t, Name, at(archive, "finished", "nodes", 0, "efforts", "nodes", 0, "user", "name"))
	assert.Equal(t, map[string]any{"state": "DONE", "imported": 100.0, "mistakes": 0.0}, at(archive, "imports", "nodes", 0))
	cards := projectOf(ada, postcardsName)
	assert.Len(t, at(cards, "items", "nodes"), small.postcards)
	pictures := w.ask(Email, `{ viewer { projects(first: 2) { nodes { name items(first: 50) { nodes { item { setName width thumbnailUrl } } } } } } }`)
	for _, node := range at(projectOf(pictures, postcardsName), "items", "nodes").([]any) {
		assert.Equal(t, postcardsSet, at(node, "item", "setName"))
		assert.Equal(t, float64(cardWidth), at(node, "item", "width"))
		assert.NotNil(t, at(node, "item", "thumbnailUrl"))
	}
	library := at(ada, "viewer", "scopes", "nodes", 0)
	assert.Len(t, at(library, "indexes"), 2)
	assert.Len(t, at(library, "entities", "nodes"), small.scope.works)
	scores, _ := at(w.ask(Email, `{ viewer { scores(first: 2) { nodes { title pages { item { thumbnailUrl width } } snapshots { changes { annotations { text } } } } } } }`),
		"viewer", "scores", "nodes").([]any)
	require.Len(t, scores, 2)
	for _, s := range scores {
		assert.NotNil(t, at(s, "pages", 1, "item", "thumbnailUrl"))
		assert.Equal(t, float64(pageWidth), at(s, "pages", 1, "item", "width"))
		assert.Empty(t, at(s, "snapshots", 0, "changes", "annotations"))
		assert.NotEmpty(t, at(s, "snapshots", 1, "changes", "annotations"))
	}
	assert.Contains(t, told.String(), "Loading items: 100%")
	assert.Contains(t, told.String(), "Loading scores: 100%")
	assert.Contains(t, told.String(), "Loading postcards: 100%")
	assert.Contains(t, told.String(), "is loaded")
}

// at returns what lies at the names and positions in a JSON value.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// projectOf returns the viewer's project of a name.
func projectOf(answer any, name string) any {
	projects, _ := at(answer, "viewer", "projects", "nodes").([]any)
	for _, p := range projects {
		if at(p, "name") == name {
			return p
		}
	}
	return nil
}

func TestLargerSetCompletesSmall(t *testing.T) {
	t.Parallel()
	w, whole := newWorld(t), newWorld(t)
	require.NoError(t, load(t.Context(), w.options(), few))
	o := w.later24()
	o.Now = noon.AddDate(0, 1, 3) // deadlines stay around the day of the first set
	require.NoError(t, load(t.Context(), o, larger))
	require.NoError(t, load(t.Context(), whole.options(), larger))
	assert.Equal(t, whole.state(larger), w.state(larger))
}

func TestSecondRunAddsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, load(t.Context(), w.options(), few))
	state := w.state(small)
	var told bytes.Buffer
	for _, o := range []Options{w.options(), w.later24()} {
		o.Progress, o.Now = &told, noon.AddDate(0, 0, 2)
		require.NoError(t, load(t.Context(), o, few))
		assert.Equal(t, state, w.state(small))
		assert.Contains(t, told.String(), "already loaded")
	}
	// Without the note that remembers, names and keys still do: within 24 hours it stays deleted, later it comes back.
	marker := at(w.ask(Email, `{ viewer { tag(value: "demo data") { notes { nodes { id } } } } }`), "viewer", "tag", "notes", "nodes", 0, "id")
	w.ask(Email, `mutation { deleteNote(input: { noteId: "`+marker.(string)+`" }) { problem { __typename } } }`)
	for _, o := range []Options{w.options(), w.later24()} {
		o.Progress = &told
		told.Reset()
		require.NoError(t, load(t.Context(), o, few))
		assert.Contains(t, told.String(), "is loaded")
		assert.Equal(t, state, w.state(small))
	}
	again := w.ask(Email, `{ viewer { tag(value: "demo scope: small") { notes { nodes { title } } } projects { nodes { name imports { nodes { id } } } } } }`)
	assert.Len(t, at(again, "viewer", "tag", "notes", "nodes"), 1)
	assert.Len(t, at(projectOf(again, projectName), "imports", "nodes"), 1, "the file was not imported again")
}

// whole is a run of few that nothing disturbed, once for all tests.
var whole struct {
	once     sync.Once
	state    string
	requests atomic.Int64
}

// uninterrupted returns what a run of few leaves, and how many requests it takes, when nothing disturbs it.
func uninterrupted(t *testing.T) (state string, requests int64) {
	t.Helper()
	whole.once.Do(func() {
		w := newWorld(t)
		require.NoError(t, load(t.Context(), w.through(func(_ string, r *http.Request) (*http.Response, error) {
			whole.requests.Add(1)
			return http.DefaultTransport.RoundTrip(r)
		}), few))
		whole.state = w.state(small)
	})
	require.NotEmpty(t, whole.state, "another test has failed to load it")
	return whole.state, whole.requests.Load()
}

func TestInterruptedRunIsCompleted(t *testing.T) {
	t.Parallel()
	state, requests := uninterrupted(t)
	const stops = 4
	for i := range stops {
		t.Run(fmt.Sprintf("after part %d of %d", i, stops), func(t *testing.T) { // each world ends with its test
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var left atomic.Int64
			left.Store(1 + requests*int64(i)/stops)
			err := load(ctx, w.through(func(_ string, r *http.Request) (*http.Response, error) {
				if left.Add(-1) < 0 {
					cancel()
				}
				return http.DefaultTransport.RoundTrip(r)
			}), few)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "run it again")
			again := w.options()
			if i%2 == 1 {
				again = w.later24()
			}
			require.NoError(t, load(t.Context(), again, few))
			require.Equal(t, state, w.state(small))
		})
	}
}

// A run that ends while people work on the project leaves items in their hands, or results that nobody has looked at: the next one
// goes on with them, also when the server has forgotten the keys of the first.
func TestInterruptedWorkIsCompleted(t *testing.T) {
	t.Parallel()
	state, _ := uninterrupted(t)
	for i, last := range []string{"ClaimProjectItems", "FinishProjectItem", "SkipProjectItem", "ReviewEffort"} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := load(ctx, w.through(func(operation string, r *http.Request) (*http.Response, error) {
				if operation != last {
					return http.DefaultTransport.RoundTrip(r)
				}
				response, err := http.DefaultTransport.RoundTrip(r.Clone(context.WithoutCancel(ctx))) // the server does it
				if err == nil {
					_ = response.Body.Close()
				}
				cancel()
				return nil, context.Canceled
			}), few)
			require.ErrorIs(t, err, context.Canceled)
			again := w.options()
			if i%2 == 0 {
				again = w.later24()
			}
			require.NoError(t, load(t.Context(), again, few))
			require.Equal(t, state, w.state(small))
		})
	}
}

// What was lost on the way, came too early or could not be done at that moment is asked for again, with the same key.
func TestFaultsAreAskedAgain(t *testing.T) {
	t.Parallel()
	state, _ := uninterrupted(t)
	w := newWorld(t)
	var calls, uploads, lost, refused atomic.Int64
	var asked sync.Map // how often each request was sent: the third time it gets through, however many others are sent beside it
	require.NoError(t, load(t.Context(), w.through(func(operation string, r *http.Request) (*http.Response, error) {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		firstUpload := operation == "upload" && uploads.Add(1) == 1
		times, _ := asked.LoadOrStore(r.URL.Path+r.Header.Get("Authorization")+string(raw), new(atomic.Int64))
		if times.(*atomic.Int64).Add(1) > 2 {
			return http.DefaultTransport.RoundTrip(r)
		}
		switch n := calls.Add(1); {
		case n%5 == 0 || firstUpload:
			response, err := http.DefaultTransport.RoundTrip(r)
			if err == nil {
				lost.Add(1)
				_ = response.Body.Close()
			}
			return nil, &net.OpError{Op: "read", Err: net.ErrClosed}
		case n%11 == 0, n%13 == 0 && operation == "upload":
			refused.Add(1)
			status := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[n%2]
			return &http.Response{StatusCode: status, Body: readCloser{strings.NewReader("")}, Request: r}, nil
		case n%13 == 0:
			refused.Add(1)
			body := `{"data":null,"errors":[{"message":"late","extensions":{"code":"UNAVAILABLE","retryable":true}}]}`
			return &http.Response{StatusCode: http.StatusOK, Body: readCloser{strings.NewReader(body)}, Request: r}, nil
		}
		return http.DefaultTransport.RoundTrip(r)
	}), few))
	assert.Greater(t, uploads.Load(), int64(1))
	assert.Greater(t, lost.Load(), int64(10), "of %d", calls.Load())
	assert.Greater(t, refused.Load(), int64(10))
	assert.Equal(t, state, w.state(small))
}

// An import that failed is no reason to stop for the 24 hours for which its key is remembered.
func TestCancelledImportIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := load(ctx, w.through(func(operation string, r *http.Request) (*http.Response, error) {
		if operation == "StartProjectImport" {
			cancel()
			return nil, context.Canceled
		}
		return http.DefaultTransport.RoundTrip(r)
	}), few)
	require.ErrorIs(t, err, context.Canceled)
	id := at(projectOf(w.ask(Email, `{ viewer { projects { nodes { name imports { nodes { id } } } } } }`), projectName), "imports", "nodes", 0, "id")
	w.ask(Email, `mutation { cancelProjectImport(input: { importId: "`+id.(string)+`" }) { import { state } } }`)
	require.NoError(t, load(t.Context(), w.options(), few))
	items := w.ask(Email, `{ viewer { projects { nodes { name items(first: 200) { nodes { id } } } } } }`)
	assert.Len(t, at(projectOf(items, projectName), "items", "nodes"), 100)
}

func TestNoServerIsSaidPlainly(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	err = Full(t.Context(), Options{URL: "http://" + listener.Addr().String(), Token: func(email, _ string) (string, error) { return email, nil }})
	require.ErrorIs(t, err, ErrNoServer)
	assert.ErrorContains(t, err, "make run")
}

func TestOtherIssuerIsSaidPlainly(t *testing.T) {
	err := Small(t.Context(), answering(http.StatusUnauthorized, `{"errors":[{"message":"the token is not valid","extensions":{"code":"UNAUTHENTICATED"}}]}`))
	assert.ErrorContains(t, err, "issues its own tokens")
}

func TestTakenAddressIsSaidPlainly(t *testing.T) {
	err := Small(t.Context(), answering(http.StatusOK, `{"data":{"createUser":{"problem":{"__typename":"EmailTaken","message":"taken"}}}}`))
	assert.ErrorContains(t, err, "another user has this address")
}

// answering are options for a server that always says the same.
func answering(status int, body string) Options {
	return Options{
		URL: "http://127.0.0.1:1", Now: noon.Truncate(24 * time.Hour), Token: func(email, _ string) (string, error) { return email, nil },
		Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: readCloser{strings.NewReader(body)}, Request: r}, nil
		})},
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
