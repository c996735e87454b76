package httpapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/request"
)

func TestEventStreamOutlivesEveryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		l := th.stream(`subscription { ticks(source: "a") }`).opened()
		source := th.play.source("a")
		go func() {
			time.Sleep(605 * time.Second) // of the bubble's clock
			source <- 1
			close(source)
		}()
		comments := 0
		text := l.read()
		for ; text == ":"; text = l.read() {
			comments++
		}
		assert.Equal(t, 30, comments)
		assert.Contains(t, text, `{"ticks": 1}`)
		l.completes()
		synctest.Wait()
		assert.Contains(t, th.get("/metrics").Body.String(), `taggie_http_request_duration_seconds_bucket{route="/graphql",le="0.0005"} 1`)
	})
}

func TestEventStreamQueryHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTheatre(t).stream(`{ slow }`).opened()
		start := time.Now()
		assert.Contains(t, l.read(), present.Late)
		assert.Equal(t, 5*time.Second, time.Since(start))
		l.completes()
	})
}

// TestSlowBodyTakesNothingFromItsSubscription sends a body for longer than the subscription has to begin.
func TestSlowBodyTakesNothingFromItsSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		body, send := io.Pipe()
		go func() {
			time.Sleep(6 * time.Second) // of the bubble's clock
			_, _ = io.WriteString(send, `{"query":"subscription { stuck }"}`)
			_ = send.Close()
		}()
		l := th.beginFrom(http.MethodPost, "/graphql", body, "Content-Type", "application/json").opened()
		start := time.Now()
		l.cut(execution.MessageInterrupted) // so that clients begin again
		assert.Equal(t, th.options.OperationTimeout, time.Since(start))
	})
}

func TestEventStreamEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		l := th.begin(http.MethodGet, "/graphql?access_token=brief&query=subscription%7Bticks(source:%22a%22)%7D", "").opened()
		start := time.Now()
		l.expects(":")
		l.expects(":")
		l.cut("the token has expired")
		assert.Equal(t, time.Minute, time.Since(start))
		synctest.Wait()
		assert.Equal(t, 1, th.play.over())
		assert.Zero(t, th.sockets.Open())
		assert.Equal(t, "the token has expired", th.logged("request")[0]["ended"])
	})
}

// TestHalfOfAnEventIsNotMadeOne ends a stream in the middle of an event: what is cut off must not look complete.
func TestHalfOfAnEventIsNotMadeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		dial := th.dial
		th.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &slow{Conn: conn}, err
		}
		l := th.begin(http.MethodGet, "/graphql?access_token=brief&query=%7Bbig(size:9000000)%7D", "").opened()
		text, err := l.block()
		require.ErrorIs(t, err, io.EOF)
		assert.Greater(t, len(text), 1_000_000)
		assert.True(t, strings.HasSuffix(text, "xxx"), "%.100q", text[len(text)-50:])
		synctest.Wait()
		assert.Equal(t, "the token has expired", th.logged("request")[0]["ended"])
	})
}

func TestDroppedEventStreamCancelsItsOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		for _, query := range []string{`subscription { ticks(source: "a") }`, `{ slow }`, `subscription { stuck }`} {
			l := th.stream(query).opened()
			synctest.Wait()
			l.close()
			synctest.Wait()
			assert.Zero(t, th.sockets.Open(), query)
		}
		assert.Equal(t, 2, th.play.over()) // of the subscriptions
		assert.NotContains(t, th.counted(), `"subscription",outcome="UNAVAILABLE"`)
	})
}

// TestListenerThatStopsReading holds back the source of its events, and is given up.
func TestListenerThatStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.stream(`subscription { ticks(source: "a") }`).opened()
		source, taken := th.play.source("a"), 0
		give, start := time.After(time.Minute), time.Now()
		var last time.Time
		for over := false; !over; {
			select {
			case source <- taken:
				taken++
				last = time.Now()
			case <-give:
				over = true
			}
		}
		assert.Less(t, taken, 1000) // what the buffers of the client take
		assert.Less(t, last.Sub(start), time.Second)
		assert.Zero(t, th.sockets.Open())
		assert.Equal(t, 1, th.play.over())
		assert.Less(t, th.logged("request")[0]["took"], float64(15*time.Second))
	})
}

// TestHalfOpenListener is one of whom nothing more is heard while nothing happens.
func TestHalfOpenListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		dial := th.dial
		frozen := make(chan struct{})
		th.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &freezing{Conn: conn, frozen: frozen}, err
		}
		th.stream(`subscription { ticks(source: "a") }`).opened()
		synctest.Wait()
		close(frozen)
		time.Sleep(55 * time.Second) // of the bubble's clock: 20 s to a comment that is read yet, 20 s to the next, 10 s to write it
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
		assert.Equal(t, 1, th.play.over())
	})
}

// freezing reads no more once it is frozen.
type freezing struct {
	net.Conn
	frozen chan struct{}
}

func (f *freezing) Read(p []byte) (int, error) {
	select {
	case <-f.frozen:
		select {}
	default:
		return f.Conn.Read(p)
	}
}

func TestSlowListenerGetsALargeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		dial := th.dial
		th.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &slow{Conn: conn}, err
		}
		start := time.Now()
		l := th.stream(`{ big(size: 4000000) }`).opened()
		assert.Greater(t, len(l.read()), 4_000_000)
		l.completes()
		assert.Greater(t, time.Since(start), time.Minute)
	})
}

func TestEventStreamsAreLimitedWithSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.Sockets = connection.NewRegistry(connection.Bounds{Sockets: 4, PerUser: 2}) })
		const query = `subscription { ticks(source: "a") }`
		first := th.stream(query).opened()
		th.ready("ada")
		th.stream(query).refused(http.StatusTooManyRequests, "EXHAUSTED")
		refused := th.open()
		refused.send(`{"type":"connection_init","payload":{"authorization":"Bearer ada"}}`)
		refused.closed(1013)
		synctest.Wait()
		th.stream(query, "Authorization", "Bearer ada2").opened()
		th.open()
		synctest.Wait()
		assert.Equal(t, 4, th.sockets.Open())
		l := th.stream(query, "Authorization", "Bearer ada2")
		assert.Equal(t, "5", l.resp.Header.Get("Retry-After"))
		l.refused(http.StatusServiceUnavailable, "EXHAUSTED")
		first.close()
		synctest.Wait()
		th.stream(query).opened()
	})
}

func TestShutdownEndsEventStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		waiting := th.stream(`subscription { ticks(source: "a") }`).opened()
		working := th.stream(`mutation { slow }`).opened()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- th.sockets.Shutdown(context.Background()) }()
		waiting.cut("the server shuts down")
		synctest.Wait()
		th.stream(`{ hello }`).refused(http.StatusServiceUnavailable, "UNAVAILABLE")
		close(th.play.gate)
		assert.Contains(t, working.read(), `{"slow":"done"}`)
		working.completes()
		require.NoError(t, <-ended)
	})
}

// TestShutdownGivesUpFrozenListeners ends with its context whatever listeners do.
func TestShutdownGivesUpFrozenListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.OperationTimeout = time.Hour })
		frozen := th.stream(`{ big(size: 9000000) }`)
		working := th.stream(`mutation { slow }`).opened()
		_ = frozen
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		start := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- th.sockets.Shutdown(ctx) }()
		working.cut("the server shuts down")
		assert.Equal(t, 3*time.Second, time.Since(start))
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(start))
		synctest.Wait()
		assert.Zero(t, th.sockets.Open())
	})
}

// Strangers have a half of all sockets and event streams, and those of one network a sixteenth: what they take, nobody who has a token misses.
func TestStrangersHaveAShareOfTheSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const networkShare, anonymousShare = 16, 2
		const all = 2 * networkShare
		th := newTheatre(t, func(o *Options) {
			o.Sockets, o.TrustedProxies = connection.NewRegistry(connection.Bounds{Sockets: all}), []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		})
		stranger := func(network int) *listener {
			return th.begin(http.MethodPost, "/graphql", `{"query":"subscription { ticks(source: \"a\") }"}`, "Content-Type", request.JSON, "X-Forwarded-For", fmt.Sprintf("192.0.%d.1", network))
		}
		for network := range all / anonymousShare / 2 {
			stranger(network).opened()
			stranger(network).opened()
			stranger(network).refused(http.StatusTooManyRequests, "EXHAUSTED")
		}
		stranger(200).refused(http.StatusTooManyRequests, "EXHAUSTED")
		th.stream(`subscription { ticks(source: "a") }`).opened()
	})
}
