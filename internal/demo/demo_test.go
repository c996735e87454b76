package demo_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/demo"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/tag"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func options(f *fakeServer) demo.Options {
	return demo.Options{URL: f.URL + "/", Now: noon, Client: f.inMemory(), Token: func(email, _ string) (string, error) { return email, nil }}
}

func Example() {
	server := "http://127.0.0.1:8080"
	err := demo.Small(context.Background(), demo.Options{
		URL:      server,
		Token:    func(email, name string) (string, error) { return "a token for " + email, nil },
		Progress: os.Stderr,
	})
	if err != nil {
		os.Exit(1) // the sentence of err says what to do
	}
}

func TestFullLoadsEverything(t *testing.T) {
	f := newFakeServer(t)
	var told bytes.Buffer
	o := options(f)
	o.Progress = &told
	require.NoError(t, demo.Full(t.Context(), o))
	require.Empty(t, f.problems)

	assert.GreaterOrEqual(t, len(f.users), 8)
	assert.Equal(t, 1, f.deleted)
	ada := f.users[demo.Email]
	var own, shared, versions, withDeadline, hash, emoji, kana, accessLists int
	owners, years := map[string]bool{}, map[string]bool{}
	for _, n := range f.notes {
		if n.owner == ada {
			own++
			if len(n.shares) > 0 {
				accessLists++
			}
		}
		if n.shares[ada] != "" {
			shared++
			owners[n.owner] = true
		}
		if n.version > 1 {
			versions++
		}
		if deadline, ok := n.deadline.(string); ok {
			withDeadline++
			years[deadline[:4]] = true
		}
		for _, value := range n.tags {
			hash += strings.Count(value, "#")
			emoji += strings.Count(value, "🎻")
			kana += strings.Count(value, "買い物")
		}
	}
	assert.Equal(t, 2000, own)
	assert.Equal(t, 300, shared)
	assert.Len(t, owners, 8)
	assert.Greater(t, len(years), 5)
	assert.Greater(t, len(f.notes)-withDeadline, 100, "notes without a deadline")
	assert.Greater(t, versions, 150)
	assert.Greater(t, accessLists, 200)
	assert.Greater(t, min(hash, emoji, kana), 10)
	assert.Contains(t, told.String(), "100%")
	_, effects := f.counts()
	require.NoError(t, demo.Full(t.Context(), o))
	require.NoError(t, demo.Small(t.Context(), o))
	_, after := f.counts()
	assert.Equal(t, effects, after, "a second run changed something")
	assert.Contains(t, told.String(), "is loaded")

	assertValidInput(t, f)
}

// assertValidInput holds what was loaded against the rules of the domain, which the fake server does not know.
func assertValidInput(t *testing.T, f *fakeServer) {
	titles := map[[2]string]bool{}
	for _, n := range f.notes {
		assert.LessOrEqual(t, len([]rune(n.title)), note.MaxTitle)
		assert.NotEmpty(t, n.content)
		assert.LessOrEqual(t, len(n.tags), note.MaxTags)
		folded := map[string]bool{}
		for _, value := range n.tags {
			word, err := tag.Parse("tags", value)
			require.NoError(t, err)
			assert.False(t, folded[word.Key], "%s twice on %s", value, n.title)
			folded[word.Key] = true
		}
		key := [2]string{n.owner, n.title}
		assert.False(t, titles[key], "%s twice", n.title)
		titles[key] = true
	}
}

func TestSmallIsSmall(t *testing.T) {
	f := newFakeServer(t)
	o := options(f)
	o.Client = nil // its own, over HTTP
	require.NoError(t, demo.Small(t.Context(), o))
	require.Empty(t, f.problems)
	shares, versions := 0, 0
	for _, n := range f.notes {
		shares += len(n.shares)
		versions += n.version - 1
	}
	assert.Len(t, f.users, 3)
	assert.Len(t, f.notes, 40)
	assert.Equal(t, 12, shares)
	assert.Greater(t, versions, 3)
	assert.Equal(t, 1, f.deleted)
}

func TestFullCompletesSmall(t *testing.T) {
	f := newFakeServer(t)
	require.NoError(t, demo.Small(t.Context(), options(f)))
	f.forgetKeys()
	before := f.state()
	o := options(f)
	o.Now = noon.AddDate(0, 1, 3) // deadlines stay around the day of the first set
	require.NoError(t, demo.Full(t.Context(), o))
	require.Empty(t, f.problems)

	after := f.state()
	assert.Len(t, after, 2000+8*40)
	kept := 0
	for _, note := range before { // the full set shares some of them with more people
		note = note[:strings.LastIndexByte(note, '[')]
		if slices.ContainsFunc(after, func(line string) bool { return strings.HasPrefix(line, note) }) {
			kept++
		}
	}
	assert.Equal(t, len(before)-1, kept, "all but the marker, which has one tag more")
}

func TestSecondRunAddsNothing(t *testing.T) {
	for name, between := range map[string]func(*fakeServer){
		"within 24 hours": func(*fakeServer) {},
		"after 24 hours":  (*fakeServer).forgetKeys,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeServer(t)
			require.NoError(t, demo.Small(t.Context(), options(f)))
			state := f.state()
			_, effects := f.counts()
			between(f)
			var told bytes.Buffer
			o := options(f)
			o.Progress, o.Now = &told, noon.AddDate(0, 0, 2)
			require.NoError(t, demo.Small(t.Context(), o))
			_, after := f.counts()
			assert.Equal(t, effects, after)
			assert.Equal(t, state, f.state())
			assert.Contains(t, told.String(), "already loaded")
			assert.Empty(t, f.problems)
		})
	}
}

// Keys come from what is asked for alone: another process, on another day, makes the same.
func TestKeysAreStable(t *testing.T) {
	var runs [2]map[string]usedKey
	for i := range runs {
		f := newFakeServer(t)
		o := options(f)
		o.Concurrency, o.Now = 1, noon.Add(time.Duration(i)*time.Hour)
		require.NoError(t, demo.Small(t.Context(), o))
		require.Empty(t, f.problems, "a key was used for two inputs, or none was given")
		_, effects := f.counts()
		assert.Len(t, f.keys, effects, "every change has a key of its own")
		runs[i] = f.keys
	}
	assert.Equal(t, runs[0], runs[1])
}

// Without the note that remembers, titles and keys still do.
func TestSecondRunWithoutMarkerAddsOnlyTheMarker(t *testing.T) {
	f := newFakeServer(t)
	require.NoError(t, demo.Small(t.Context(), options(f)))
	f.forgetKeys()
	for id, n := range f.notes {
		if strings.HasPrefix(n.title, "Welcome to Taggie") {
			delete(f.notes, id)
			f.deleted++
		}
	}
	notes, _ := f.counts()
	require.NoError(t, demo.Small(t.Context(), options(f)))
	after, _ := f.counts()
	assert.Equal(t, notes+1, after)
	assert.Empty(t, f.problems)
}

func TestInterruptedRunIsCompleted(t *testing.T) {
	whole := newFakeServer(t)
	require.NoError(t, demo.Small(t.Context(), options(whole)))
	_, effects := whole.counts()
	for name, between := range map[string]func(*fakeServer){
		"within 24 hours": func(*fakeServer) {},
		"after 24 hours":  (*fakeServer).forgetKeys,
	} {
		t.Run(name, func(t *testing.T) {
			for stop := 1; stop < effects+3; stop += 7 {
				f := newFakeServer(t)
				changes := 0
				f.before = func(operation string) int {
					if !strings.HasPrefix(operation, "Find") && !strings.HasPrefix(operation, "List") {
						changes++
					}
					if changes > stop {
						return http.StatusInternalServerError
					}
					return 0
				}
				err := demo.Small(t.Context(), options(f))
				if stop < effects {
					require.ErrorContains(t, err, "500")
				}
				f.set(func() { f.before = nil })
				between(f)
				require.NoError(t, demo.Small(t.Context(), options(f)))
				require.Empty(t, f.problems)
				require.Equal(t, whole.state(), f.state(), "stopped after %d changes", stop)
			}
		})
	}
}

// An answer that was lost is asked for again, with the same key.
func TestLostAnswersAreAskedForAgain(t *testing.T) {
	whole, f := newFakeServer(t), newFakeServer(t)
	require.NoError(t, demo.Small(t.Context(), options(whole)))
	calls, lost := 0, 0
	o := options(f)
	o.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := http.DefaultTransport.RoundTrip(r)
		if calls++; err == nil && calls%5 == 0 {
			lost++
			_ = response.Body.Close()
			return nil, &net.OpError{Op: "read", Err: net.ErrClosed}
		}
		return response, err
	})}
	o.Concurrency = 1
	require.NoError(t, demo.Small(t.Context(), o))
	assert.Greater(t, lost, 10)
	assert.Empty(t, f.problems)
	assert.Equal(t, whole.state(), f.state())
}

func TestBusyServerIsAskedAgain(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		f := newFakeServer(t)
		refused := 0
		f.before = func(operation string) int {
			if operation == "ShareNote" && refused < 4 {
				refused++
				return status
			}
			return 0
		}
		require.NoError(t, demo.Small(t.Context(), options(f)))
		assert.Equal(t, 4, refused)
	}
}

func TestRetryableErrorIsAskedAgain(t *testing.T) {
	f := newFakeServer(t)
	unavailable := 0
	o := options(f)
	next := o.Client.Transport
	o.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if unavailable < 3 {
			unavailable++
			body := `{"data":{"createUser":null},"errors":[{"message":"late","extensions":{"code":"UNAVAILABLE","retryable":true}}]}`
			return &http.Response{StatusCode: http.StatusOK, Body: readCloser{strings.NewReader(body)}, Request: r}, nil
		}
		return next.RoundTrip(r)
	})}
	require.NoError(t, demo.Small(t.Context(), o))
	assert.Equal(t, 3, unavailable)
}

func TestNoServerIsSaidPlainly(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	err = demo.Full(t.Context(), demo.Options{URL: "http://" + listener.Addr().String(), Token: func(email, _ string) (string, error) { return email, nil }})
	require.ErrorIs(t, err, demo.ErrNoServer)
	assert.ErrorContains(t, err, "make run")
}

func TestOtherIssuerIsSaidPlainly(t *testing.T) {
	server := newFakeServer(t)
	o := options(server)
	o.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body := `{"errors":[{"message":"The token is not valid.","extensions":{"code":"UNAUTHENTICATED"}}]}`
		return &http.Response{StatusCode: http.StatusUnauthorized, Status: "401 Unauthorized", Body: readCloser{strings.NewReader(body)}, Request: r}, nil
	})}
	assert.ErrorContains(t, demo.Small(t.Context(), o), "issues its own tokens")
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func TestTakenAddressIsSaidPlainly(t *testing.T) {
	f := newFakeServer(t)
	o := options(f)
	o.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body := `{"data":{"createUser":{"problem":{"__typename":"EmailTaken","message":"taken"}}}}`
		return &http.Response{StatusCode: http.StatusOK, Body: readCloser{strings.NewReader(body)}, Request: r}, nil
	})}
	assert.ErrorContains(t, demo.Small(t.Context(), o), "another user has this address")
}

func TestCancelledRunSaysHowToGoOn(t *testing.T) {
	f := newFakeServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.answered = func(operation string) {
		if operation == "ShareNote" {
			cancel()
		}
	}
	err := demo.Small(ctx, options(f))
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "run it again")
	f.set(func() { f.answered = nil })
	require.NoError(t, demo.Small(t.Context(), options(f)))
	notes, _ := f.counts()
	assert.Equal(t, 40, notes)
}
