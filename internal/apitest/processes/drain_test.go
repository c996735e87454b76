package processes

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

func TestDrainingEndsWhatIsUnderWay(t *testing.T) {
	s := apitest.NewServer(t, func(c *config.Config) { c.DrainDelay = 3 * time.Second })
	ada := s.User("ada@example.com")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ada.URL = "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.App.Serve(ctx, listener, func(context.Context) {}) }()
	status, _ := ada.Ready()
	require.Equal(t, http.StatusOK, status)

	gate := s.Faults.Hold(faultinject.Always, faultinject.Operation("TransactWriteItems"))
	answered := make(chan *apitest.Answer, 1)
	go func() {
		answered <- ada.Do(`mutation { createNote(input: {title: "late", content: "but kept"}) { note { title } } }`, nil)
	}()
	require.NoError(t, gate.Wait(t.Context(), 1))
	stop()

	require.Eventually(t, s.App.Draining.Load, 10*time.Second, time.Millisecond)
	status, checks := ada.Ready() // the listener is open, and stores were found well a moment ago
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
	assert.Equal(t, "late", (<-answered).Str("createNote.note.title"))
	require.NoError(t, <-ended)
}

func TestDrainingDoesNotWaitForADelayThatIsNotSet(t *testing.T) {
	s := apitest.NewServer(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	start := time.Now()
	require.NoError(t, s.App.Serve(ctx, listener, func(context.Context) {}))
	assert.Less(t, time.Since(start), 10*time.Second)
}
