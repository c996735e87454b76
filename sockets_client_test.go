package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// streamed is one result of a subscription.
type streamed struct {
	Data   map[string]any `json:"data"`
	Errors []gqlError     `json:"errors"`
}

// stream is a subscription on a WebSocket of its own, as a client has it that speaks graphql-transport-ws.
type stream struct {
	t       *testing.T
	ws      *websocket.Conn
	cancel  context.CancelFunc
	results chan streamed // closed when the stream ends
	err     error         // why it ended; nil when the server completed it. To be read when results is closed
}

// patience bounds what tests wait for; only a mistake makes them wait that long.
const patience = time.Minute

// subscribe opens a socket and begins a subscription. It fails the test when the socket cannot be opened.
func (c *client) subscribe(query string, v vars) *stream {
	c.t.Helper()
	s, err := c.dial(c.t.Context(), nil, query, v)
	require.NoError(c.t, err)
	c.t.Cleanup(s.close)
	return s
}

// dial opens a socket, over connections that the given function makes (nil: as usual), and begins a subscription.
func (c *client) dial(ctx context.Context, connect func(ctx context.Context, network, addr string) (net.Conn, error), query string, v vars) (*stream, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	options := &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}
	if connect != nil {
		options.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: connect, DisableKeepAlives: true}}
	}
	opening, opened := context.WithTimeout(ctx, patience)
	defer opened()
	ws, response, err := websocket.Dial(opening, strings.Replace(c.url, "http", "ws", 1)+"/graphql", options)
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	ws.SetReadLimit(16 << 20)
	s := &stream{t: c.t, ws: ws, cancel: cancel, results: make(chan streamed, 1)}
	err = errors.Join(
		s.write(opening, map[string]any{"type": "connection_init", "payload": c.credentials()}),
		s.acknowledged(opening),
		s.write(opening, map[string]any{"type": "subscribe", "id": "1", "payload": map[string]any{"query": query, "variables": v}}),
	)
	if err != nil {
		s.close()
		return nil, err
	}
	go s.read(ctx)
	return s, nil
}

// credentials are what a client introduces itself with; none for who is anonymous.
func (c *client) credentials() map[string]any {
	if c.token == "" {
		return nil
	}
	return map[string]any{"Authorization": "Bearer " + c.token}
}

func (s *stream) write(ctx context.Context, message map[string]any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.ws.Write(ctx, websocket.MessageText, text)
}

func (s *stream) acknowledged(ctx context.Context) error {
	_, text, err := s.ws.Read(ctx)
	if err == nil && !strings.Contains(string(text), `"connection_ack"`) {
		err = errors.New("no acknowledgement: " + string(text))
	}
	return err
}

// read hands on what comes until the stream ends.
func (s *stream) read(ctx context.Context) {
	defer close(s.results)
	for {
		_, text, err := s.ws.Read(ctx)
		if err != nil {
			s.err = err
			return
		}
		var m struct {
			Type    string          `json:"type"`
			Payload json.RawMessage `json:"payload"`
		}
		if s.err = json.Unmarshal(text, &m); s.err != nil {
			return
		}
		switch m.Type {
		case "ping":
			if s.err = s.write(ctx, map[string]any{"type": "pong"}); s.err != nil {
				return
			}
		case "complete":
			return
		case "error":
			var r streamed
			s.err = errors.Join(errors.New(string(m.Payload)), json.Unmarshal(m.Payload, &r.Errors))
			return
		case "next":
			var r streamed
			if s.err = json.Unmarshal(m.Payload, &r); s.err != nil {
				return
			}
			select {
			case s.results <- r:
			case <-ctx.Done():
				s.err = ctx.Err()
				return
			}
		}
	}
}

// close ends the stream and its socket.
func (s *stream) close() {
	s.cancel()
	_ = s.ws.CloseNow()
}

// next returns the next result, which has to come.
func (s *stream) next() streamed {
	s.t.Helper()
	select {
	case r, ok := <-s.results:
		if !ok { // only then is the error to be read
			require.Fail(s.t, "the stream has ended", "%v", s.err)
		}
		return r
	case <-time.After(patience):
		require.Fail(s.t, "nothing came")
	}
	return streamed{}
}

// ended waits for the end of the stream, whatever comes before, and returns why it ended.
func (s *stream) ended() error {
	s.t.Helper()
	end := time.After(patience)
	for {
		select {
		case _, ok := <-s.results:
			if !ok {
				return s.err
			}
		case <-end:
			require.Fail(s.t, "the stream does not end")
		}
	}
}
