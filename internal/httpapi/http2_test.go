package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Frames of HTTP/2 and their codes (RFC 9113, sections 6 and 7).
const (
	frameHeaders, frameReset, frameSettings, frameGoAway = 1, 3, 4, 7

	codeProtocol, codeCancel, codeCalm = 1, 8, 11
)

// peer is a client that writes the frames of HTTP/2 as it likes.
type peer struct {
	t    *testing.T
	conn net.Conn
}

// listening returns the address of a server, which ends with the test.
func listening(t *testing.T, h http.Handler) (*http.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := Server(h, "", time.Minute)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return server, l.Addr().String()
}

func newPeer(t *testing.T, address string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute))) // a test that waits for nothing fails
	p := &peer{t, conn}
	_, err = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, p.write(frameSettings, 0, 0, nil))
	require.NoError(t, p.write(frameSettings, 1, 0, nil)) // those of the server are known
	return p
}

func (p *peer) write(kind, flags byte, stream uint32, payload []byte) error {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	frame = binary.BigEndian.AppendUint32(append(frame, flags), stream)
	_, err := p.conn.Write(append(frame, payload...))
	return err
}

// ask begins GET / on a stream: three fields of the static table, and the host.
func (p *peer) ask(stream uint32) error {
	return p.write(frameHeaders, 4|1, stream, append([]byte{0x82, 0x86, 0x84, 0x01, 4}, "host"...))
}

func (p *peer) reset(stream uint32) error {
	return p.write(frameReset, 0, stream, []byte{0, 0, 0, codeCancel})
}

// read returns the next frame of one of the kinds.
func (p *peer) read(kinds ...byte) (kind byte, stream uint32, payload []byte) {
	p.t.Helper()
	for {
		var head [9]byte
		_, err := io.ReadFull(p.conn, head[:])
		require.NoError(p.t, err)
		payload = make([]byte, binary.BigEndian.Uint32(head[:4])>>8)
		_, err = io.ReadFull(p.conn, payload)
		require.NoError(p.t, err)
		if bytes.IndexByte(kinds, head[3]) >= 0 {
			return head[3], binary.BigEndian.Uint32(head[5:]), payload
		}
	}
}

// refused waits until the server has answered without a handler, or closes the connection.
func (p *peer) refused() {
	p.t.Helper()
	var head [9]byte
	for head[3] != frameHeaders && head[3] != frameGoAway {
		if _, err := io.ReadFull(p.conn, head[:]); err != nil {
			require.NotErrorIs(p.t, err, os.ErrDeadlineExceeded)
			return
		}
		if _, err := io.CopyN(io.Discard, p.conn, int64(binary.BigEndian.Uint32(head[:4])>>8)); err != nil {
			return
		}
	}
}

// gated answers when the gate opens, and counts the requests that came.
func gated() (h http.Handler, gate chan struct{}, begun *atomic.Int64) {
	gate, begun = make(chan struct{}), new(atomic.Int64)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun.Add(1)
		<-gate
		_, _ = io.WriteString(w, r.Proto)
	}), gate, begun
}

func TestAConnectionHasAsManyStreamsAsItMay(t *testing.T) {
	h, gate, begun := gated()
	_, address := listening(t, h)
	p := newPeer(t, address)
	for i := range uint32(maxStreams + 1) {
		require.NoError(t, p.ask(2*i+1))
	}
	_, stream, payload := p.read(frameReset)
	assert.Equal(t, uint32(2*maxStreams+1), stream, "the one above the limit")
	assert.Equal(t, uint32(codeProtocol), binary.BigEndian.Uint32(payload))
	require.Eventually(t, func() bool { return begun.Load() == maxStreams }, time.Minute, time.Millisecond)
	close(gate)
	answered := map[uint32]bool{}
	for len(answered) < maxStreams {
		kind, stream, _ := p.read(frameHeaders, frameReset, frameGoAway)
		require.Equal(t, byte(frameHeaders), kind, "the others are answered")
		answered[stream] = true
	}
	assert.Equal(t, int64(maxStreams), begun.Load())
}

func TestRapidResetsCloseTheConnection(t *testing.T) {
	h, gate, begun := gated()
	_, address := listening(t, h)
	defer close(gate)
	p := newPeer(t, address)
	go func() {
		for i := range uint32(100_000) {
			if p.ask(2*i+1) != nil || p.reset(2*i+1) != nil {
				return // the connection is closed
			}
		}
	}()
	_, _, payload := p.read(frameGoAway)
	assert.Equal(t, uint32(codeCalm), binary.BigEndian.Uint32(payload[4:]), "ENHANCE_YOUR_CALM")
	assert.Less(t, binary.BigEndian.Uint32(payload), uint32(2*(5*maxStreams+2)), "the last stream that was looked at")
	assert.LessOrEqual(t, begun.Load(), int64(maxStreams), "what was reset keeps its place")

	_, other := listening(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	q := newPeer(t, other)
	require.NoError(t, q.ask(1))
	kind, _, _ := q.read(frameHeaders, frameReset, frameGoAway)
	assert.Equal(t, byte(frameHeaders), kind, "a client without resets is answered")
}

// overHTTP2 returns a client that begins with HTTP/2 without TLS, as proxies do.
func overHTTP2() *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: &protocols}}
}

func TestHeadersAreBoundedInHTTP2(t *testing.T) {
	for size, carriedOut := range map[int]bool{60 << 10: true, 70 << 10: false, 90 << 10: false, 900 << 10: false} {
		var begun atomic.Int64
		_, address := listening(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { begun.Add(1) }))
		p := newPeer(t, address)
		fields := append([]byte{0x82, 0x86, 0x84, 0x01, 4}, "host"...)
		fields = append(fields, 0, 1, 'x', 127) // one field more, x, that is not indexed
		fields = append(binary.AppendUvarint(fields, uint64(size-127)), bytes.Repeat([]byte{'x'}, size)...)
		_ = p.write(frameHeaders, 4|1, 1, fields) // which the server may cut short
		if carriedOut {
			p.read(frameHeaders)
			assert.Equal(t, int64(1), begun.Load(), "%d bytes", size)
			continue
		}
		p.refused()
		assert.Zero(t, begun.Load(), "%d bytes", size)
	}
}

func TestHTTP2WithoutTLSEndsItsRequestsBeforeTheServer(t *testing.T) {
	h, gate, begun := gated()
	server, address := listening(t, h)
	answers := make(chan string, 1)
	go func() {
		resp, err := overHTTP2().Get("http://" + address)
		if !assert.NoError(t, err) {
			close(answers)
			return
		}
		body, err := io.ReadAll(resp.Body)
		assert.NoError(t, err)
		_ = resp.Body.Close()
		answers <- string(body)
	}()
	require.Eventually(t, func() bool { return begun.Load() == 1 }, time.Minute, time.Millisecond)
	told := make(chan struct{})
	server.RegisterOnShutdown(func() { close(told) })
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(context.WithoutCancel(t.Context())) }()
	<-told
	close(gate)
	assert.Equal(t, "HTTP/2.0", <-answers)
	assert.NoError(t, <-ended)
}

func TestSocketsAndEventStreamsWorkBesideHTTP2OverTLS(t *testing.T) {
	p := newPlay()
	s := newServer(t, func(o *Options) { o.Schema = p })
	front := httptest.NewUnstartedServer(nil)
	front.Config = Server(s.handler, "", time.Minute)
	front.EnableHTTP2 = true
	front.StartTLS()
	t.Cleanup(front.Close)

	post := func(accept, query string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/graphql", strings.NewReader(`{"query":"`+query+`"}`))
		require.NoError(t, err)
		resp, err := front.Client().Do(with(r, "Content-Type", "application/json", "Authorization", "Bearer ada", "Accept", accept))
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		assert.Equal(t, 2, resp.ProtoMajor)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		return resp
	}
	body, err := io.ReadAll(post("application/json", "{ hello }").Body)
	require.NoError(t, err)
	assert.Contains(t, string(body), `"hello":"world"`)

	roots := front.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	plain := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}} // as browsers do for sockets
	conn, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(front.URL, "https")+"/graphql",
		&websocket.DialOptions{HTTPClient: plain, Subprotocols: []string{"graphql-transport-ws"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	send := func(text string) { require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(text))) }
	receive := func() string {
		_, text, err := conn.Read(t.Context())
		require.NoError(t, err)
		return string(text)
	}
	send(`{"type":"connection_init","payload":{"Authorization":"Bearer ada"}}`)
	assert.Contains(t, receive(), "connection_ack")
	send(`{"id":"1","type":"subscribe","payload":{"query":"subscription { ticks(source: \"socket\") }"}}`)
	p.source("socket") <- 7
	assert.Contains(t, receive(), `7`)

	stream := post("text/event-stream", `subscription { ticks(source: \"stream\") }`).Body
	p.source("stream") <- 8
	var seen strings.Builder
	buf := make([]byte, 1024)
	for !strings.Contains(seen.String(), `8}`) { // before the stream ends
		n, err := stream.Read(buf)
		require.NoError(t, err, seen.String())
		seen.Write(buf[:n])
	}
}
