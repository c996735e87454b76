package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// rushed is within how long all of them begin.
	rushed = 10 * time.Second
	// rushPatience is how long one of them waits.
	rushPatience = 3 * time.Minute
)

// rush has n subscribe within ten seconds, whether the server is done with those before or not, and measures how long it takes from the
// beginning of the first one until each has its snapshot.
func (c *crowd) rush(ctx context.Context, n int, out *crowdReport) error {
	ctx, cancel := context.WithTimeout(ctx, rushPatience)
	defer cancel()
	var mu sync.Mutex
	var up []time.Duration
	refused := map[string]int{}
	sockets := make([]*websocket.Conn, n)
	var all sync.WaitGroup
	began := time.Now()
	for i := range n {
		time.Sleep(time.Until(began.Add(rushed * time.Duration(i) / time.Duration(n))))
		all.Go(func() {
			var err error
			if sockets[i], err = c.open(ctx, c.people[i/perUser], nil); err == nil {
				err = first(ctx, sockets[i])
			}
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused[fmt.Sprintf("%.120s", err)]++
				return
			}
			up = append(up, took)
		})
	}
	all.Wait()
	out.rushed(n, up, refused)
	for _, ws := range sockets {
		if ws != nil {
			_ = ws.CloseNow()
		}
	}
	return nil
}

// first waits for the first message of a subscription.
func first(ctx context.Context, ws *websocket.Conn) error {
	for {
		_, text, err := ws.Read(ctx)
		switch {
		case err != nil:
			return err
		case strings.Contains(string(text), `"type":"ping"`):
			if err := ws.Write(ctx, websocket.MessageText, []byte(`{"type":"pong"}`)); err != nil {
				return err
			}
		case strings.Contains(string(text), `"type":"next"`) && !strings.Contains(string(text), `"errors"`):
			return nil
		default:
			return fmt.Errorf("told %.100s", text)
		}
	}
}
