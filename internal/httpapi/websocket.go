package httpapi

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/socket"
	"github.com/taggie/taggie/internal/telemetry"
)

// subprotocol is the only one that sockets speak; internal/httpapi/socket has the messages.
const subprotocol = "graphql-transport-ws"

// upgrader turns requests for a WebSocket into sockets. gqlgen's own transport closes with other codes than the protocol
// asks for, and writes without a deadline.
type upgrader struct {
	api
	server *socket.Server
}

// or hands requests that ask for no socket to next.
func (u *upgrader) or(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forSocket(r) {
			u.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forSocket reports whether a request is to become a socket.
func forSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && listed(r.Header, "Upgrade", strings.ToLower, "websocket")
}

// ServeHTTP opens a socket. It returns as soon as the handshake is done, so that nothing of net/http outlives it: an idle
// socket is held by the thousands.
func (u *upgrader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !u.trusts(r) {
		writeError(w, r, http.StatusForbidden, refusal.Of(model.ErrorCodeForbidden, "pages of this origin may not open sockets"))
		return
	}
	offers := len(r.Header.Values("Sec-WebSocket-Protocol")) > 0
	if offers && !listed(r.Header, "Sec-WebSocket-Protocol", strings.Clone, subprotocol) {
		// A browser would drop the connection anyway when none of its subprotocols is chosen.
		writeError(w, r, http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, "the subprotocol of sockets is %s", subprotocol))
		return
	}
	if err := u.sockets.Reserve(); err != nil {
		w.Header().Set("Retry-After", "5")
		writeError(w, r, http.StatusServiceUnavailable, err)
		return
	}
	h := &handshake{ResponseWriter: w}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}, InsecureSkipVerify: true})
	if err != nil {
		u.sockets.GiveBack()
		if h.refused != 0 {
			writeError(w, r, h.refused, refusal.Of(model.ErrorCodeBadRequest, "this is no well-formed WebSocket handshake"))
		}
		return
	}
	if rec, ok := w.(*recorder); ok {
		rec.status = http.StatusSwitchingProtocols
	}
	upgrade := socket.Upgrade{
		Wire: h.wire, Network: caller.Proxies(u.options.TrustedProxies).Network(r), RequestID: telemetry.RequestID(r.Context()),
		Authorization: slices.Clone(r.Header.Values("Authorization")),
	}
	if wanted := r.Header.Values(request.HeaderExtensions); len(wanted) > 0 {
		upgrade.Header = http.Header{request.HeaderExtensions: slices.Clone(wanted)}
	}
	s := u.server.Serve(ws, upgrade)
	if !offers {
		s.Close(connection.CodeSubprotocol, "the subprotocol is "+subprotocol)
	}
}

// listed reports whether a header that is a list of words has this one.
func listed(h http.Header, name string, form func(string) string, word string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if form(strings.TrimSpace(part)) == word {
				return true
			}
		}
	}
	return false
}

// handshake is what the library writes its answer to. It keeps back the text of refusals, which we give another form, and
// hands out the connection with small buffers: those of net/http are 8 KiB a socket.
type handshake struct {
	http.ResponseWriter
	refused int // the status
	wire    *connection.Wire
}

// WriteHeader keeps back the status of a refusal.
func (h *handshake) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		h.refused = status
		return
	}
	h.ResponseWriter.WriteHeader(status)
}

// Write keeps back the text of a refusal.
func (h *handshake) Write(b []byte) (int, error) {
	if h.refused != 0 {
		return len(b), nil
	}
	return h.ResponseWriter.Write(b)
}

// Hijack takes the connection over.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	const reading, writing = 512, 1024 // what is larger is read and written without a copy
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered()) // cannot fail: it is there
	h.wire = connection.NewWire(conn, bytes.Clone(early))
	return h.wire, bufio.NewReadWriter(bufio.NewReaderSize(h.wire, reading), bufio.NewWriterSize(h.wire, writing)), nil
}
