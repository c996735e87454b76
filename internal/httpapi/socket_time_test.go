package httpapi

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/viewer"
)

func TestSocketWithoutInitIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := newTheatre(t).open()
		c.send(`{"type":"ping"}`)
		c.expects(`{"type":"pong"}`)
		c.closed(4408)
		assert.Equal(t, 10*time.Second, time.Since(start))
	})
}

func TestSocketEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("brief")
		start := time.Now()
		c.subscribe("1", `subscription { ticks(source: "a") }`)
		for range 2 {
			require.Equal(t, "ping", c.read()["type"])
			c.send(`{"type":"pong"}`)
		}
		for {
			_, data, err := c.ws.Read(context.Background())
			if err != nil {
				assert.EqualValues(t, 4403, websocket.CloseStatus(err))
				break
			}
			require.Contains(t, string(data), "ping")
			c.send(`{"type":"pong"}`)
		}
		assert.Equal(t, time.Minute, time.Since(start))
		synctest.Wait()
		assert.Equal(t, 1, th.play.over())
	})
}

// TestFrozenPeer reads but does not answer, as a page does that is stopped behind a proxy.
func TestFrozenPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		start := time.Now()
		c.subscribe("1", `subscription { ticks(source: "a") }`)
		require.Equal(t, "ping", c.read()["type"])
		c.closed(1001)
		assert.Equal(t, 30*time.Second, time.Since(start))
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
		assert.Equal(t, 1, th.play.over())
	})
}

// TestMessageThatDoesNotEnd sends a message in parts, each of which is a sign of life.
func TestMessageThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).ready("ada")
		w, err := c.ws.Writer(context.Background(), websocket.MessageText)
		require.NoError(t, err)
		var sending sync.WaitGroup
		defer sending.Wait()
		sending.Go(func() {
			for err == nil {
				_, err = w.Write(make([]byte, 32<<10))
				time.Sleep(time.Second) // of the bubble's clock
			}
		})
		start := time.Now()
		assert.Contains(t, c.closed(connection.CodeNoPong), "whole message")
		assert.Equal(t, request.MaxReading, time.Since(start))
	})
}

// TestAnyMessageIsASignOfLife does without pongs.
func TestAnyMessageIsASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTheatre(t).ready("ada")
		for range 10 {
			require.Equal(t, "ping", c.read()["type"])
			time.Sleep(9 * time.Second) // of the bubble's clock
			c.complete("whatever")
		}
	})
}

// TestHalfOpenPeer is one of whom nothing more is heard, and that takes nothing more.
func TestHalfOpenPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.subscribe("1", `subscription { ticks(source: "a") }`)
		synctest.Wait()
		time.Sleep(45 * time.Second) // of the bubble's clock: 20 s to the ping, 10 s to write it, 15 s to spare
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
		assert.Equal(t, 1, th.play.over())
	})
}

// TestClientThatStopsReading holds back the source of its events, is given up, and costs no more than the queue meanwhile.
func TestClientThatStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.subscribe("1", `subscription { ticks(source: "a") }`)
		source, taken := th.play.source("a"), 0
		give := time.After(time.Minute)
		start := time.Now()
		for over := false; !over; {
			select {
			case source <- taken:
				taken++
			case <-give:
				over = true
			}
		}
		assert.LessOrEqual(t, taken, maxQueued+4) // one is being written, one waits, one is next
		assert.Zero(t, th.sockets.Open())
		assert.Equal(t, 1, th.play.over())
		end := th.logged("socket closed")[0]
		assert.Less(t, end["took"], float64(30*time.Second), "from %v", start)
	})
}

func TestFloodOfPingsWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		sent := 0
		for c.ws.Write(context.Background(), websocket.MessageText, []byte(`{"type":"ping"}`)) == nil {
			sent++
		}
		assert.Less(t, sent, maxQueued+5)
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
	})
}

func TestLargeAnswersAreWorkedOnAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		for i := range 50 {
			c.subscribe(strconv.Itoa(i), `{ big(size: 2000000) }`)
		}
		synctest.Wait()
		assert.LessOrEqual(t, th.play.bigs(), maxWorking+3, "that many are worked on, and three are written or wait for it")
		assert.GreaterOrEqual(t, th.play.bigs(), maxWorking)
		answered, late := 0, 0
		for answered+late < 50 {
			switch m := c.read(); m["type"] {
			case "next":
				answered++
			case "error":
				late++
			}
		}
		assert.Equal(t, 50, answered)
	})
}

// TestSlowReaderGetsALargeAnswer takes two minutes for 4 MB.
func TestSlowReaderGetsALargeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		dial := th.dial
		th.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &slow{Conn: conn}, err
		}
		c := th.ready("ada")
		start := time.Now()
		c.subscribe("1", `{ big(size: 4000000) }`)
		m := c.read()
		assert.Len(t, m["payload"].(map[string]any)["data"].(map[string]any)["big"], 4_000_000)
		assert.Greater(t, time.Since(start), time.Minute)
	})
}

// TestReaderThatIsTooSlow takes some of each chunk in time, and not what was ready for it.
func TestReaderThatIsTooSlow(t *testing.T) {
	crawling := func(th *theatre) {
		dial := th.dial
		th.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &slow{Conn: conn, pause: 8 * time.Second}, err
		}
	}
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		crawling(th)
		c := th.ready("ada")
		start := time.Now()
		for _, id := range []string{"1", "2"} { // four minutes each
			c.subscribe(id, `{ big(size: 1000000) }`)
		}
		for _, want := range []string{"next", "complete"} {
			require.Equal(t, want, c.read()["type"])
		}
		_, _, err := c.ws.Read(context.Background())
		require.Error(t, err)
		assert.InDelta(t, connection.TakenTime, time.Since(start), float64(20*time.Second))
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
	})
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		crawling(th)
		start := time.Now()
		_, err := th.stream(`{ big(size: 4000000) }`).opened().block()
		require.Error(t, err)
		assert.InDelta(t, connection.TakenTime, time.Since(start), float64(20*time.Second))
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
	})
}

// slow reads 32 KiB, and pauses, for a second when nothing else is said. It writes pings meanwhile.
type slow struct {
	net.Conn
	pause time.Duration
	read  int
}

func (s *slow) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if s.read += n; s.read > 32<<10 {
		s.read = 0
		time.Sleep(cmp.Or(s.pause, time.Second)) // of the bubble's clock
	}
	return n, err
}

func TestShutdownClosesIdleSocketsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		stranger, idle, subscribed := th.open(), th.ready("ada"), th.ready("ada")
		subscribed.subscribe("1", `subscription { ticks(source: "a") }`)
		synctest.Wait()
		ended := make(chan error, 1)
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		go func() { ended <- th.sockets.Shutdown(ctx) }()
		for _, c := range []*client{stranger, idle, subscribed} {
			c.closed(1012)
		}
		require.NoError(t, <-ended)
		assert.Zero(t, time.Since(start))
		_, resp, err := th.try([]string{subprotocol})
		require.Error(t, err)
		assert.Equal(t, 503, resp.StatusCode)
		require.NoError(t, th.sockets.Shutdown(ctx)) // again
	})
}

func TestShutdownLetsAMutationEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		c := th.ready("ada")
		c.subscribe("s", `subscription { ticks(source: "a") }`)
		c.subscribe("m", `mutation { slow }`)
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- th.sockets.Shutdown(context.Background()) }()
		synctest.Wait()
		c.subscribe("more", `{ hello }`)
		close(th.play.gate) // nothing is said of the one that came too late: clients send it again
		c.expects(`{"type":"next","id":"m","payload":{"data":{"slow":"done"}}}`)
		c.expects(`{"type":"complete","id":"m"}`)
		c.closed(1012)
		require.NoError(t, <-ended)
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.OperationTimeout = time.Hour })
		reading, frozen := th.ready("ada"), th.ready("ada")
		reading.subscribe("m", `mutation { slow }`)
		frozen.subscribe("m", `mutation { slow }`)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		ended := make(chan error, 1)
		start := time.Now()
		go func() { ended <- th.sockets.Shutdown(ctx) }()
		reading.closed(1012)
		assert.Equal(t, 13*time.Second, time.Since(start))
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		assert.Equal(t, 15*time.Second, time.Since(start))
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
	})
}

func TestLongReasonsAreCutBetweenCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) {
			o.SignIn = func(context.Context, viewer.Identity) (viewer.Viewer, error) {
				return viewer.Viewer{}, fault.New(fault.Forbidden, "%s", strings.Repeat("ä", 100))
			}
		})
		c := th.open()
		c.send(`{"type":"connection_init"}`)
		assert.Equal(t, strings.Repeat("ä", 61), c.closed(4403))
	})
}
