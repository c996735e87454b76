package httpapi

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/connection"
)

// BenchmarkIdleSubscription tells what a socket with one subscription costs while nothing happens. The clients are of the same
// process, but have no memory besides their connections.
func BenchmarkIdleSubscription(b *testing.B) {
	benchmarkIdle(b, subscribeRaw, func(b *testing.B, c net.Conn) { readRaw(b, bufio.NewReaderSize(c, 16)) })
}

// BenchmarkIdleEventStream tells the same of an event stream, which net/http serves with a goroutine and buffers of its own.
func BenchmarkIdleEventStream(b *testing.B) {
	benchmarkIdle(b, func(b *testing.B, address string) net.Conn {
		c, err := net.Dial("tcp", address)
		require.NoError(b, err)
		_, err = io.WriteString(c, "GET /graphql?access_token=ada&query=subscription%7Bticks(source:%22a%22)%7D HTTP/1.1\r\nHost: "+address+"\r\nAccept: text/event-stream\r\n\r\n")
		require.NoError(b, err)
		readUntil(b, c, "retry")
		return c
	}, func(b *testing.B, c net.Conn) { readUntil(b, c, "ticks") })
}

func benchmarkIdle(b *testing.B, subscribe func(*testing.B, string) net.Conn, read func(*testing.B, net.Conn)) {
	const sockets = 5000
	for range b.N {
		th := &theatre{play: newPlay()}
		th.server = newServer(&testing.T{}, func(o *Options) {
			o.Schema, o.Sockets = th.play, connection.NewRegistry(connection.Bounds{PerUser: sockets})
			th.sockets = o.Sockets
		})
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		server := Server(th.handler, "", time.Minute)
		go func() { _ = server.Serve(listener) }()

		conns := make([]net.Conn, 0, sockets)
		goroutines := runtime.NumGoroutine()
		heap, stacks := held()
		for range sockets {
			conns = append(conns, subscribe(b, listener.Addr().String()))
		}
		heapNow, stacksNow := held()
		b.ReportMetric(float64(heapNow-heap)/sockets, "heap-B/socket")
		b.ReportMetric(float64(stacksNow-stacks)/sockets, "stack-B/socket")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/sockets, "goroutines/socket")

		start := time.Now()
		go func() {
			source := th.play.source("a")
			for range sockets {
				source <- 1
			}
		}()
		for _, c := range conns {
			read(b, c)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/event-to-all")
		for _, c := range conns {
			_ = c.Close()
		}
		_ = server.Close()
	}
}

// held is how much memory is in use.
func held() (heap, stacks uint64) {
	for range 5 { // each halves stacks that are hardly used
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse
}

func subscribeRaw(b *testing.B, address string) net.Conn {
	c, err := net.Dial("tcp", address)
	require.NoError(b, err)
	_, err = io.WriteString(c, "GET /graphql HTTP/1.1\r\nHost: "+address+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: "+subprotocol+"\r\n\r\n")
	require.NoError(b, err)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	require.NoError(b, err)
	require.Equal(b, 101, resp.StatusCode)
	writeRaw(b, c, `{"type":"connection_init","payload":{"authorization":"Bearer ada"}}`)
	require.Contains(b, readRaw(b, r), "connection_ack")
	writeRaw(b, c, `{"type":"subscribe","id":"1","payload":{"query":"subscription { ticks(source: \"a\") }"}}`)
	writeRaw(b, c, `{"type":"ping"}`)
	require.Contains(b, readRaw(b, r), "pong")
	return c
}

// writeRaw writes a text frame whose mask changes nothing.
func writeRaw(b *testing.B, c net.Conn, text string) {
	frame := []byte{0x81, 0x80 | 126}
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(text)))
	frame = append(frame, 0, 0, 0, 0)
	_, err := c.Write(append(frame, text...))
	require.NoError(b, err)
}

// readRaw reads one short frame.
func readRaw(b *testing.B, r *bufio.Reader) string {
	var text strings.Builder
	head := make([]byte, 2)
	_, err := io.ReadFull(r, head)
	require.NoError(b, err)
	require.Less(b, head[1], byte(126))
	_, err = io.CopyN(&text, r, int64(head[1]))
	require.NoError(b, err)
	return text.String()
}

// readUntil reads lines until one has the word in it.
func readUntil(b *testing.B, c net.Conn, word string) {
	for r := bufio.NewReaderSize(c, 16); ; {
		line, err := r.ReadString('\n')
		require.NoError(b, err)
		if strings.Contains(line, word) {
			return
		}
	}
}
