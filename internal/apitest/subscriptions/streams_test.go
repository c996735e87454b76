package subscriptions

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// sentEvent is one event of an event stream.
type sentEvent struct {
	name, id string
	*apitest.Answer
}

// eventSource is an event stream, as the EventSource of a browser has it.
type eventSource struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  func()
}

// source begins an event stream after the event with this id, "" for none.
func source(c *apitest.Client, last, query string, v apitest.Vars) *eventSource {
	c.T.Helper()
	s, err := sourceOver(c, http.DefaultTransport, last, query, v)
	require.NoError(c.T, err)
	return s
}

// sourceOver does the same in a way that may fail.
func sourceOver(c *apitest.Client, way http.RoundTripper, last, query string, v apitest.Vars) (*eventSource, error) {
	c.T.Helper()
	text, err := json.Marshal(v)
	require.NoError(c.T, err)
	parameters := url.Values{"query": {query}, "variables": {string(text)}, "access_token": {c.Token}}
	r, err := http.NewRequestWithContext(c.T.Context(), http.MethodGet, c.URL+"/graphql?"+parameters.Encode(), nil)
	require.NoError(c.T, err)
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	return listen(c, way, r)
}

// posted begins an event stream by POST, as graphql-sse does.
func posted(c *apitest.Client, query string, v apitest.Vars) *eventSource {
	c.T.Helper()
	text, err := json.Marshal(apitest.Vars{"query": query, "variables": v})
	require.NoError(c.T, err)
	r, err := http.NewRequestWithContext(c.T.Context(), http.MethodPost, c.URL+"/graphql", bytes.NewReader(text))
	require.NoError(c.T, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.Token)
	s, err := listen(c, http.DefaultTransport, r)
	require.NoError(c.T, err)
	return s
}

// listen begins the event stream that a request asks for.
func listen(c *apitest.Client, way http.RoundTripper, r *http.Request) (*eventSource, error) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), apitest.Patience)
	resp, err := way.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	s := &eventSource{t: c.T, lines: bufio.NewScanner(resp.Body), stop: func() {
		cancel()
		_ = resp.Body.Close()
	}}
	s.lines.Buffer(nil, 16<<20)
	c.T.Cleanup(s.stop)
	require.Equal(c.T, http.StatusOK, resp.StatusCode)
	return s, nil
}

// next is the next event, which has to come.
func (s *eventSource) next() sentEvent {
	s.t.Helper()
	e, ok := s.read()
	require.True(s.t, ok, "the stream has ended: %v", s.lines.Err())
	return e
}

// read reads an event; comments and other fields are left out. It reports false when the stream ends before the event does.
func (s *eventSource) read() (sentEvent, bool) {
	s.t.Helper()
	e := sentEvent{Answer: &apitest.Answer{T: s.t}}
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case name == "event":
			e.name = value
		case name == "id":
			e.id = value
		case name == "data":
			e.Body = value
			if json.Unmarshal([]byte(value), e.Answer) != nil {
				return e, false // cut off, which only the end tells
			}
		case name == "" && e.name != "":
			return e, true
		}
	}
	return e, false
}

// TestAnEventSourceGoesOnByItself repeats its first request with the id of the last event, as browsers do.
func TestAnEventSourceGoesOnByItself(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(6, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	const query = `subscription($p: ID!, $after: EventCursor) { projectEvents(projectId: $p, after: $after) {
		__typename ... on ProjectEvent { type status } } }` // without cursors
	whole, hers := l.Listens(bob, nil), source(ada, "", query, apitest.Vars{"p": l.ID})
	first := hers.next()
	assert.Equal(t, "ProjectSnapshot", first.Str("projectEvents.__typename"))
	snapshot := whole.Snapshot().Str("cursor")
	assert.Equal(t, snapshot, first.id)

	seen := []string{first.id}
	goesOn := func(variables apitest.Vars, n int) {
		t.Helper()
		last := seen[len(seen)-1]
		hers.stop()
		hers = source(ada, last, query, variables)
		for range n {
			e := hers.next()
			assert.Equal(t, "next", e.name)
			assert.Equal(t, "ProjectEvent", e.Str("projectEvents.__typename"), e.Body)
			seen = append(seen, e.id)
		}
	}
	for _, h := range l.Claimed(ada, 3) {
		l.Finished(ada, h)
	}
	for range 2 {
		seen = append(seen, hers.next().id)
	}
	goesOn(apitest.Vars{"p": l.ID}, 3)
	l.Claimed(bob, 1)
	goesOn(apitest.Vars{"p": l.ID, "after": snapshot}, 2) // with what the first request said
	var all []string
	for range seen[1:] {
		all = append(all, whole.Message().Str("cursor"))
	}
	assert.Equal(t, append([]string{snapshot}, all...), seen)

	for _, last := range []string{"something", strings.Repeat("x", 10_000)} {
		e := source(ada, last, query, apitest.Vars{"p": l.ID}).next()
		e.Fails("INVALID_INPUT", "after")
	}
}

// TestAnEventSourceOfWhoMayNotListen is told so, and that there is nothing more to come.
func TestAnEventSourceOfWhoMayNotListen(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(1, 0)
	stream := source(s.User("stranger@example.com"), "", apitest.ProjectEvents, apitest.Vars{"p": l.ID})
	stream.next().Fails("NOT_FOUND", "")
	assert.Equal(t, "complete", stream.next().name)
}

// TestAnEventSourceThatIsCutOffMissesNothing cuts it off at random places, in the middle of events most of the time.
func TestAnEventSourceThatIsCutOffMissesNothing(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(12, 0)
	whole := l.Listens(l.Labellers[1], nil)
	last := whole.Snapshot().Str("cursor")
	for _, h := range l.Claimed(l.Labellers[0], 12) {
		l.Finished(l.Labellers[0], h)
	}
	var all, seen []string
	for range 24 {
		all = append(all, whole.Message().Str("cursor"))
	}
	cuts := 0
	for ; len(seen) < len(all); cuts++ {
		way := &http.Transport{DialContext: apitest.After(1_500 + rand.IntN(4_000)), DisableKeepAlives: true}
		source, err := sourceOver(l.Labellers[2], way, last, apitest.ProjectEvents, apitest.Vars{"p": l.ID})
		if err != nil {
			continue
		}
		for len(seen) < len(all) {
			e, ok := source.read()
			if !ok {
				break
			}
			last = e.id
			seen = append(seen, last)
		}
		source.stop()
	}
	assert.Equal(t, all, seen)
	assert.Greater(t, cuts, 3)
}
