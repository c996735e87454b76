package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Streamed is one result of a subscription.
type Streamed struct {
	Data   map[string]any `json:"data"`
	Errors []Error        `json:"errors"`
}

// Stream is a subscription on a WebSocket of its own, as a client has it that speaks graphql-transport-ws.
type Stream struct {
	T       *testing.T
	Ws      *websocket.Conn
	cancel  context.CancelFunc
	Results chan Streamed // closed when the stream ends
	Err     error         // why it ended; nil when the server completed it. To be read when results is closed
}

// FollowsRevocations has the server listen to revocations, as a server that runs does, until the test ends.
func (s *Server) FollowsRevocations() {
	ctx, cancel := context.WithCancel(s.T.Context())
	var running sync.WaitGroup
	running.Go(func() { s.App.Revoked.Run(ctx, slog.New(slog.DiscardHandler)) })
	s.T.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// Patience bounds what tests wait for; only a mistake makes them wait that long.
const Patience = time.Minute

// Subscribe opens a socket and begins a subscription. It fails the test when the socket cannot be opened.
func (c *Client) Subscribe(query string, v Vars) *Stream {
	c.T.Helper()
	s, err := c.Dial(c.T.Context(), nil, query, v)
	require.NoError(c.T, err)
	c.T.Cleanup(s.Close)
	return s
}

// Dial opens a socket, over connections that the given function makes (nil: as usual), and begins a subscription.
func (c *Client) Dial(ctx context.Context, connect func(ctx context.Context, network, addr string) (net.Conn, error), query string, v Vars) (*Stream, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	options := &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}
	if connect != nil {
		options.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: connect, DisableKeepAlives: true}}
	}
	opening, opened := context.WithTimeout(ctx, Patience)
	defer opened()
	ws, response, err := websocket.Dial(opening, strings.Replace(c.URL, "http", "ws", 1)+"/graphql", options)
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	ws.SetReadLimit(16 << 20)
	s := &Stream{T: c.T, Ws: ws, cancel: cancel, Results: make(chan Streamed, 1)}
	err = errors.Join(
		s.Write(opening, map[string]any{"type": "connection_init", "payload": c.credentials()}),
		s.acknowledged(opening),
		s.Write(opening, map[string]any{"type": "subscribe", "id": "1", "payload": map[string]any{"query": query, "variables": v}}),
	)
	if err != nil {
		s.Close()
		return nil, err
	}
	go s.read(ctx)
	return s, nil
}

// credentials are what a client introduces itself with; none for who is anonymous.
func (c *Client) credentials() map[string]any {
	if c.Token == "" {
		return nil
	}
	return map[string]any{"Authorization": "Bearer " + c.Token}
}

func (s *Stream) Write(ctx context.Context, message map[string]any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.Ws.Write(ctx, websocket.MessageText, text)
}

func (s *Stream) acknowledged(ctx context.Context) error {
	_, text, err := s.Ws.Read(ctx)
	if err == nil && !strings.Contains(string(text), `"connection_ack"`) {
		err = errors.New("no acknowledgement: " + string(text))
	}
	return err
}

// read hands on what comes until the stream ends.
func (s *Stream) read(ctx context.Context) {
	defer close(s.Results)
	for {
		_, text, err := s.Ws.Read(ctx)
		if err != nil {
			s.Err = err
			return
		}
		var m struct {
			Type    string          `json:"type"`
			Payload json.RawMessage `json:"payload"`
		}
		if s.Err = json.Unmarshal(text, &m); s.Err != nil {
			return
		}
		switch m.Type {
		case "ping":
			if s.Err = s.Write(ctx, map[string]any{"type": "pong"}); s.Err != nil {
				return
			}
		case "complete":
			return
		case "error":
			var r Streamed
			s.Err = errors.Join(errors.New(string(m.Payload)), json.Unmarshal(m.Payload, &r.Errors))
			return
		case "next":
			var r Streamed
			if s.Err = json.Unmarshal(m.Payload, &r); s.Err != nil {
				return
			}
			select {
			case s.Results <- r:
			case <-ctx.Done():
				s.Err = ctx.Err()
				return
			}
		}
	}
}

// Close ends the stream and its socket.
func (s *Stream) Close() {
	s.cancel()
	_ = s.Ws.CloseNow()
}

// Next returns the next result, which has to come.
func (s *Stream) Next() Streamed {
	s.T.Helper()
	select {
	case r, ok := <-s.Results:
		if !ok { // only then is the error to be read
			require.Fail(s.T, "the stream has ended", "%v", s.Err)
		}
		return r
	case <-time.After(Patience):
		require.Fail(s.T, "nothing came")
	}
	return Streamed{}
}

// Ended waits for the end of the stream, whatever comes before, and returns why it ended.
func (s *Stream) Ended() error {
	s.T.Helper()
	end := time.After(Patience)
	for {
		select {
		case _, ok := <-s.Results:
			if !ok {
				return s.Err
			}
		case <-end:
			require.Fail(s.T, "the stream does not end")
		}
	}
}

const (
	// ProjectEvents follows a project.
	ProjectEvents = `subscription($p: ID!, $after: EventCursor, $types: [ProjectEventType!], $mine: Boolean! = false) {
		projectEvents(projectId: $p, after: $after, types: $types, mine: $mine) { __typename ...snapshot ...event ... on ProjectGap { message } } }` + messageFragments
	messageFragments = `
		fragment snapshot on ProjectSnapshot { cursor project { id name } queue { cursor queued size paused counts { ...counts } }
			claims { id claim { token user { id } } } statistics { team { id name } statistics { finished incorrect users { user { id name } finished incorrect } } } }
		fragment event on ProjectEvent { cursor type at status queued counts { ...counts } user { id name } author { id name } team { id name type }
			item { id name status version claim { token user { id } } category { name } subcategory { name } keywords
				efforts(first: 1) { nodes { id user { name } review { verdict } } } } }
		fragment counts on ProjectItemCounts { total new claimed finished skipped remaining }`
)

// Message is what a subscription brings: the first field of its data.
func (s *Stream) Message() *Answer {
	s.T.Helper()
	r := s.Next()
	require.Empty(s.T, r.Errors)
	text, err := json.Marshal(r.Data)
	require.NoError(s.T, err)
	for _, value := range r.Data {
		object, _ := value.(map[string]any)
		return &Answer{T: s.T, Body: string(text), Data: object}
	}
	require.Fail(s.T, "no data")
	return nil
}

// Event is the next message, which has to be an event of this type.
func (s *Stream) Event(typ string) *Answer {
	s.T.Helper()
	m := s.Message()
	require.Equal(s.T, "ProjectEvent "+typ, fmt.Sprint(m.At("__typename"), " ", m.At("type")), "%s", m.Body)
	require.NotEmpty(s.T, m.Str("cursor"))
	require.WithinDuration(s.T, time.Now(), m.Time("at"), Patience)
	return m
}

// Snapshot is the next message, which has to be one.
func (s *Stream) Snapshot() *Answer {
	s.T.Helper()
	m := s.Message()
	require.Equal(s.T, "ProjectSnapshot", m.At("__typename"), "%s", m.Body)
	return m
}

// Refused asserts that the subscription was refused, or ended, with an error of this code and field.
func (s *Stream) Refused(code, field string) {
	s.T.Helper()
	for {
		select {
		case r, open := <-s.Results:
			if open && len(r.Errors) == 0 {
				require.Fail(s.T, "it was not refused", "%v", r.Data)
			}
			if open {
				(&Answer{T: s.T, Errors: r.Errors}).Fails(code, field)
				return
			}
			require.Error(s.T, s.Err)
			_, text, _ := strings.Cut(s.Err.Error(), "")
			assert.Contains(s.T, text, code)
			if field != "" {
				assert.Contains(s.T, text, `"`+field+`"`)
			}
			return
		case <-time.After(Patience):
			require.Fail(s.T, "nothing came")
		}
	}
}

// Listens begins to listen to the project.
func (l Crew) Listens(who *Client, v Vars) *Stream {
	l.T.Helper()
	all := Vars{"p": l.ID}
	for name, value := range v {
		all[name] = value
	}
	return who.Subscribe(ProjectEvents, all)
}
