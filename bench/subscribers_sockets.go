package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// audience is everybody who subscribes.
type audience struct {
	sockets []*websocket.Conn
	heardAt chan time.Time // one for each message that each of them gets
	failed  chan error
}

// dialWidth is how many connect at a time.
const dialWidth = 32

// subscribe opens n sockets, of as many members as that needs, and returns when each has its snapshot.
func (c *crowd) subscribe(ctx context.Context, n int) (*audience, error) {
	a := &audience{sockets: make([]*websocket.Conn, n), heardAt: make(chan time.Time, n), failed: make(chan error, n)}
	slots := make(chan struct{}, dialWidth)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			ws, err := c.open(ctx, c.people[i/perUser], nil)
			if err != nil {
				a.failed <- err
				return
			}
			a.sockets[i] = ws
			go a.read(ctx, ws)
		})
	}
	all.Wait()
	_, err := a.heard(ctx) // the snapshots
	return a, err
}

// open connects a member and subscribes, behind a cursor unless that is nil.
func (c *crowd) open(ctx context.Context, token string, after *string) (*websocket.Conn, error) {
	ws, _, err := websocket.Dial(ctx, strings.Replace(c.server.url, "http", "ws", 1)+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}) //nolint:bodyclose // the library does
	if err != nil {
		return nil, err
	}
	query, err := json.Marshal(map[string]any{"query": watch, "variables": vars{"p": c.id, "after": after}})
	if err != nil {
		return nil, err
	}
	err = ws.Write(ctx, websocket.MessageText, []byte(`{"type":"connection_init","payload":{"authorization":"Bearer `+token+`"}}`))
	if err == nil {
		_, _, err = ws.Read(ctx)
	}
	if err == nil {
		err = ws.Write(ctx, websocket.MessageText, []byte(`{"type":"subscribe","id":"1","payload":`+string(query)+`}`))
	}
	return ws, err
}

func (a *audience) read(ctx context.Context, ws *websocket.Conn) {
	for {
		_, text, err := ws.Read(ctx)
		now := time.Now()
		switch {
		case err != nil:
			a.failed <- err
			return
		case strings.Contains(string(text), `"type":"ping"`):
			_ = ws.Write(ctx, websocket.MessageText, []byte(`{"type":"pong"}`)) // it will be noticed
		case strings.Contains(string(text), `"type":"next"`) && !strings.Contains(string(text), `"errors"`):
			a.heardAt <- now
		default:
			a.failed <- fmt.Errorf("a subscriber was told %.200s", text)
			return
		}
	}
}

// heard returns when the last one got the next message, which all have got then.
func (a *audience) heard(ctx context.Context) (time.Time, error) {
	var last time.Time
	for range a.sockets {
		select {
		case at := <-a.heardAt:
			if at.After(last) {
				last = at
			}
		case err := <-a.failed:
			return last, err
		case <-time.After(time.Minute):
			return last, errors.New("a message did not reach everybody within a minute")
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
	return last, nil
}

func (a *audience) close() {
	for _, ws := range a.sockets {
		if ws != nil {
			_ = ws.CloseNow()
		}
	}
}

// stalled is how many events happen while a subscriber does not read: more than a server keeps for those who are slow, and than
// the buffers of a connection hold.
const stalled = 12_000

// stall measures what a subscriber costs that stops reading, and what it is told when it reads again.
func (c *crowd) stall(ctx context.Context, out *crowdReport) error {
	ws, err := c.open(ctx, c.people[0], nil)
	if err != nil {
		return err
	}
	defer func() { _ = ws.CloseNow() }()
	if _, _, err := ws.Read(ctx); err != nil { // its snapshot
		return err
	}
	before, err := c.server.resident()
	if err != nil {
		return err
	}
	most := peak(c.server.resident)
	for n := 0; n < stalled; n += 2 * perClaim {
		if err := c.many(ctx); err != nil {
			return err
		}
	}
	peak, err := most()
	if err != nil {
		return err
	}
	read, last, gap := catchUp(ctx, ws)
	out.stalled(peak-before, read, gap)
	if gap || last == "" {
		return nil
	}
	if ws, err = c.open(ctx, c.people[0], &last); err != nil {
		return err
	}
	defer func() { _ = ws.CloseNow() }()
	read, _, gap = catchUp(ctx, ws)
	out.resumed(read, gap)
	return nil
}

// catchUp reads messages until one tells of a gap, the socket is closed or nothing more comes, and returns how many, and the last cursor.
func catchUp(ctx context.Context, ws *websocket.Conn) (read int, last string, gap bool) {
	for {
		quiet, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, text, err := ws.Read(quiet)
		cancel()
		if err != nil {
			return read, last, false
		}
		var m struct {
			Payload struct {
				Data struct {
					Message struct{ Cursor, Message string } `json:"projectEvents"`
				}
			}
		}
		if err := json.Unmarshal(text, &m); err != nil {
			return read, last, false
		}
		switch message := m.Payload.Data.Message; {
		case message.Message != "":
			return read, last, true
		case message.Cursor != "":
			read, last = read+1, message.Cursor
		}
	}
}

// perClaim is how many items one request claims.
const perClaim = 25 // whose release fits the 1,000 tokens that a document may have

// many makes an event for each of perClaim items that are claimed, and one for each that is released.
func (c *crowd) many(ctx context.Context) error {
	a, err := c.api.ask(ctx, c.owner, `mutation($p: ID!, $n: Int!) { claimProjectItems(input: {projectId: $p, count: $n}) { items { id claim { token } } } }`, vars{"p": c.id, "n": perClaim})
	if err != nil {
		return err
	}
	items := a.list("claimProjectItems", "items")
	var release strings.Builder
	v := vars{}
	for i, item := range items {
		v[fmt.Sprintf("i%d", i)], v[fmt.Sprintf("t%d", i)] = item.text("id"), item.text("claim", "token")
		fmt.Fprintf(&release, "r%d: releaseProjectItem(input: {itemId: $i%d, token: $t%d}) { item { id } }\n", i, i, i)
	}
	if len(items) == 0 {
		return errors.New("no item was handed out")
	}
	var declared strings.Builder
	for name := range v {
		typ := "ID!"
		if name[0] == 't' {
			typ = "String!"
		}
		fmt.Fprintf(&declared, "$%s: %s, ", name, typ)
	}
	_, err = c.api.ask(ctx, c.owner, "mutation("+declared.String()+") {\n"+release.String()+"}", v)
	return err
}
