package main

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
)

// sentEvent is one event of an event stream.
type sentEvent struct {
	name, id string
	*answer
}

// eventSource is an event stream, as the EventSource of a browser has it.
type eventSource struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  func()
}

// source begins an event stream after the event with this id, "" for none.
func (c *client) source(last, query string, v vars) *eventSource {
	c.t.Helper()
	s, err := c.sourceOver(http.DefaultTransport, last, query, v)
	require.NoError(c.t, err)
	return s
}

// sourceOver does the same in a way that may fail.
func (c *client) sourceOver(way http.RoundTripper, last, query string, v vars) (*eventSource, error) {
	c.t.Helper()
	text, err := json.Marshal(v)
	require.NoError(c.t, err)
	parameters := url.Values{"query": {query}, "variables": {string(text)}, "access_token": {c.token}}
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+"/graphql?"+parameters.Encode(), nil)
	require.NoError(c.t, err)
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	return c.listen(way, r)
}

// posted begins an event stream by POST, as graphql-sse does.
func (c *client) posted(query string, v vars) *eventSource {
	c.t.Helper()
	text, err := json.Marshal(vars{"query": query, "variables": v})
	require.NoError(c.t, err)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+"/graphql", bytes.NewReader(text))
	require.NoError(c.t, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.token)
	s, err := c.listen(http.DefaultTransport, r)
	require.NoError(c.t, err)
	return s
}

// listen begins the event stream that a request asks for.
func (c *client) listen(way http.RoundTripper, r *http.Request) (*eventSource, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	resp, err := way.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	s := &eventSource{t: c.t, lines: bufio.NewScanner(resp.Body), stop: func() {
		cancel()
		_ = resp.Body.Close()
	}}
	s.lines.Buffer(nil, 16<<20)
	c.t.Cleanup(s.stop)
	require.Equal(c.t, http.StatusOK, resp.StatusCode)
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
	e := sentEvent{answer: &answer{t: s.t}}
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case name == "event":
			e.name = value
		case name == "id":
			e.id = value
		case name == "data":
			e.body = value
			if json.Unmarshal([]byte(value), e.answer) != nil {
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
	s := newServer(t)
	s.works()
	l := s.labelled(6, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	const query = `subscription($p: ID!, $after: EventCursor) { projectEvents(projectId: $p, after: $after) {
		__typename ... on ProjectEvent { type status } } }` // without cursors
	whole, hers := l.listens(bob, nil), ada.source("", query, vars{"p": l.id})
	first := hers.next()
	assert.Equal(t, "ProjectSnapshot", first.str("projectEvents.__typename"))
	snapshot := whole.snapshot().str("cursor")
	assert.Equal(t, snapshot, first.id)

	seen := []string{first.id}
	goesOn := func(variables vars, n int) {
		t.Helper()
		last := seen[len(seen)-1]
		hers.stop()
		hers = ada.source(last, query, variables)
		for range n {
			e := hers.next()
			assert.Equal(t, "next", e.name)
			assert.Equal(t, "ProjectEvent", e.str("projectEvents.__typename"), e.body)
			seen = append(seen, e.id)
		}
	}
	for _, h := range l.claimed(ada, 3) {
		l.finished(ada, h)
	}
	for range 2 {
		seen = append(seen, hers.next().id)
	}
	goesOn(vars{"p": l.id}, 3)
	l.claimed(bob, 1)
	goesOn(vars{"p": l.id, "after": snapshot}, 2) // with what the first request said
	var all []string
	for range seen[1:] {
		all = append(all, whole.message().str("cursor"))
	}
	assert.Equal(t, append([]string{snapshot}, all...), seen)

	for _, last := range []string{"something", strings.Repeat("x", 10_000)} {
		e := ada.source(last, query, vars{"p": l.id}).next()
		e.fails("INVALID_INPUT", "after")
	}
}

// TestAnEventSourceOfWhoMayNotListen is told so, and that there is nothing more to come.
func TestAnEventSourceOfWhoMayNotListen(t *testing.T) {
	s := newServer(t)
	l := s.labelled(1, 0)
	stream := s.user("stranger@example.com").source("", projectEvents, vars{"p": l.id})
	stream.next().fails("NOT_FOUND", "")
	assert.Equal(t, "complete", stream.next().name)
}

// TestAnEventSourceThatIsCutOffMissesNothing cuts it off at random places, in the middle of events most of the time.
func TestAnEventSourceThatIsCutOffMissesNothing(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(12, 0)
	whole := l.listens(l.labellers[1], nil)
	last := whole.snapshot().str("cursor")
	for _, h := range l.claimed(l.labellers[0], 12) {
		l.finished(l.labellers[0], h)
	}
	var all, seen []string
	for range 24 {
		all = append(all, whole.message().str("cursor"))
	}
	cuts := 0
	for ; len(seen) < len(all); cuts++ {
		way := &http.Transport{DialContext: after(1_500 + rand.IntN(4_000)), DisableKeepAlives: true}
		source, err := l.labellers[2].sourceOver(way, last, projectEvents, vars{"p": l.id})
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
