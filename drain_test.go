package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

// ready asks /readyz on a connection of its own.
func (s *testServer) ready() (status int, checks map[string]string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/readyz", nil)
	require.NoError(s.t, err)
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err, "the server still accepts")
	defer func() { _ = resp.Body.Close() }()
	var body struct{ Checks map[string]string }
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&body))
	return resp.StatusCode, body.Checks
}

func TestDrainingEndsWhatIsUnderWay(t *testing.T) {
	s := newServer(t, func(c *config.Config) { c.DrainDelay = 3 * time.Second })
	ada := s.user("ada@example.com")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ada.url = "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.app.serve(ctx, listener, func(context.Context) {}) }()
	status, _ := ada.ready()
	require.Equal(t, http.StatusOK, status)

	gate := s.faults.Hold(faultinject.Always, faultinject.Operation("TransactWriteItems"))
	answered := make(chan *answer, 1)
	go func() {
		answered <- ada.do(`mutation { createNote(input: {title: "late", content: "but kept"}) { note { title } } }`, nil)
	}()
	require.NoError(t, gate.Wait(t.Context(), 1))
	stop()

	require.Eventually(t, s.app.draining.Load, 10*time.Second, time.Millisecond)
	status, checks := ada.ready() // the listener is open, and stores were found well a moment ago
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "failed", checks["server"])
	assert.Equal(t, "ok", checks["dynamodb"])
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 30*time.Second, 10*time.Millisecond, "after the delay nothing new is accepted")
	select {
	case err := <-ended:
		t.Fatalf("the server did not wait: %v", err)
	case <-answered:
		t.Fatal("the request was not held")
	default:
	}
	gate.Open()
	assert.Equal(t, "late", (<-answered).str("createNote.note.title"))
	require.NoError(t, <-ended)
}

func TestDrainingDoesNotWaitForADelayThatIsNotSet(t *testing.T) {
	s := newServer(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	start := time.Now()
	require.NoError(t, s.app.serve(ctx, listener, func(context.Context) {}))
	assert.Less(t, time.Since(start), s.app.cfg.OperationTimeout)
}
