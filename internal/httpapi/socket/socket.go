// Package socket carries out what clients say over sockets, by the protocol graphql-transport-ws, which rfcs/GraphQLOverWebSocket.md of
// graphql/graphql-over-http describes.
//
// It knows WebSockets, and what messages ask for. It must not know how a socket is opened, or how an operation is carried out. Start reading
// at [Server.Serve]; then socket.handle, which takes each message.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/signin"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/viewer"
)

// maxBeforeInit bounds messages of strangers: a token has at most 8 KiB.
const maxBeforeInit = 16 << 10

// stage is how far a socket has come.
type stage uint8

const (
	stageOpened stage = iota
	stageSigningIn
	stageReady
	stageClosing // nothing that comes counts any more
)

// Server has what is said over sockets carried out.
type Server struct {
	options Options
	signIns *admission.Turns // of networks in place of callers
}

// Options are what a [Server] is made of.
type Options struct {
	Runner   *execution.Runner
	Intake   admission.Intake
	SignIn   signin.Service
	Registry *connection.Registry
	Timeout  time.Duration     // of each operation
	Traces   *telemetry.Traces // nil for none
	Log      *slog.Logger
}

// NewServer returns a server of sockets.
func NewServer(o Options) *Server { return &Server{options: o, signIns: admission.SignInTurns()} }

// Upgrade is what the request that opened a socket tells of it.
type Upgrade struct {
	Wire          *connection.Wire
	Network       string // that it came from
	RequestID     string
	Authorization []string    // for a connection_init without any
	Header        http.Header // as far as operations read it; nil for none
}

// Serve reads messages of a socket, for which the registry has made room, until it is closed. It returns at once.
func (s *Server) Serve(ws *websocket.Conn, u Upgrade) connection.Connection {
	opened := newSocket(s, ws, u)
	s.options.Registry.Welcome(opened, u.Network)
	go opened.serve()
	return opened
}

// socket is one connection. While nothing happens it has one goroutine, serve, and one for each subscription.
type socket struct {
	server        *Server
	ws            *websocket.Conn
	wire          *connection.Wire
	requestID     string
	network       string      // that the upgrade request came from
	authorization []string    // of the upgrade request, for an init without any
	header        http.Header // of the upgrade request, as far as operations read it; nil for none
	cancel        context.CancelFunc
	started       time.Time
	slots         chan struct{} // of operations that are worked on, without subscriptions that wait

	mu         sync.Mutex
	room       *sync.Cond      // in the queue, or nobody wants it any more
	ctx        context.Context // of all operations; carries the viewer once ready
	stage      stage
	owner      connection.Owner
	admitted   bool      // counted among the sockets of its owner
	expires    time.Time // of the token; zero for none
	operations map[string]*operation
	live       int                  // goroutines of operations
	held       int                  // bytes of the messages that these came in
	begun      int                  // operations so far
	working    int                  // operations that a shutdown lets end: all but subscriptions that wait
	leaving    websocket.StatusCode // with which it is closed as soon as nothing is worked on; 0 for not
	queue      queue
	timer      *time.Timer
	farewell   sync.WaitGroup       // with the client, when we close
	code       websocket.StatusCode // that it was closed with
}

func newSocket(server *Server, ws *websocket.Conn, u Upgrade) *socket {
	s := &socket{
		server: server, ws: ws, wire: u.Wire, network: u.Network, requestID: u.RequestID, authorization: u.Authorization, header: u.Header, started: time.Now(), code: websocket.StatusAbnormalClosure,
	}
	s.room = sync.NewCond(&s.mu)
	s.ctx, s.cancel = context.WithCancel(telemetry.WithRequestID(context.Background(), u.RequestID))
	s.slots = make(chan struct{}, maxWorking)
	s.ws.SetReadLimit(maxBeforeInit)
	s.mu.Lock() // tick may come before timer is set
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(connection.InitTime, s.tick)
	return s
}

// serve reads messages until the socket is to be closed, or the connection ends.
func (s *socket) serve() {
	defer s.end()
	for !s.closing() { // the library reads on, until the client has taken note
		kind, data, err := s.read()
		if err != nil {
			s.failed(err)
			return
		}
		if kind != websocket.MessageText {
			s.Close(connection.CodeBadMessage, "messages are text")
			return
		}
		s.guard(func() { s.handle(data) })
	}
}

// read reads a message, which has to come as fast as the body of a request.
func (s *socket) read() (kind websocket.MessageType, data []byte, err error) {
	// The wire has the deadlines; a context that may end would cost a goroutine for each message.
	kind, r, err := s.ws.Reader(context.Background())
	if err != nil {
		return kind, nil, err
	}
	s.wire.Comes(time.Now().Add(request.MaxReading))
	defer s.wire.Comes(time.Time{})
	data, err = io.ReadAll(r)
	return kind, data, err
}

// guard turns a panic, which would end the process here, into the end of the socket.
func (s *socket) guard(do func()) {
	defer func() {
		if p := recover(); p != nil {
			ctx := telemetry.WithRequestID(context.Background(), s.requestID)
			s.server.options.Log.ErrorContext(ctx, "panic", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			s.Close(connection.CodeInternal, present.Internal)
		}
	}()
	do()
}

// closing reports whether nothing more of the client is wanted.
func (s *socket) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stage == stageClosing
}

// handle does what a message asks for.
func (s *socket) handle(data []byte) {
	s.mu.Lock()
	now, ctx := s.stage, s.ctx
	s.mu.Unlock()
	if now == stageClosing {
		return
	}
	m, wrong := readMessage(data)
	if wrong == "" && m.Type != "subscribe" && len(data) > admission.BulkyBody {
		wrong = "only subscribe may be that long"
	}
	if wrong != "" {
		s.malformed(ctx, wrong, request.Weight(data))
		return
	}
	switch m.Type {
	case "connection_init":
		s.initialise(m)
	case "ping":
		s.send(nil, false, pongMessage(m.Payload))
	case "pong": // the wire has taken note of it
	case "subscribe":
		s.subscribe(ctx, m, len(data))
	case "complete":
		s.complete(*m.ID)
	}
}

// malformed closes the socket of somebody who sent what is no message, and charges for having looked at it.
func (s *socket) malformed(ctx context.Context, wrong string, weight int) {
	s.server.options.Runner.Fine(ctx, weight)
	s.Close(connection.CodeBadMessage, wrong)
}

// tick is what happens by the clock: a client that does not introduce itself, a token that expires, a ping.
func (s *socket) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.stage {
	case stageOpened:
		s.closeLocked(connection.CodeNoInit, "connection_init did not come in time")
	case stageSigningIn: // has a time limit of its own
		s.timer.Reset(connection.PingInterval)
	case stageReady:
		if !s.expires.IsZero() && !time.Now().Before(s.expires) {
			s.closeLocked(connection.CodeForbidden, "the token has expired")
			return
		}
		if !s.queue.full() { // otherwise the write deadline finds out whether somebody reads
			s.push(outgoing{data: pingMessage(), ping: true})
		}
		s.timer.Reset(connection.UntilTick(s.expires))
	}
}

// Close ends the socket with a code. It does not wait for the client to take note.
func (s *socket) Close(code websocket.StatusCode, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked(code, reason)
}

func (s *socket) closeLocked(code websocket.StatusCode, reason string) {
	if !s.shut(code) {
		return
	}
	const maxReason = 123
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	s.farewell.Go(func() { _ = s.ws.Close(code, reason) }) // at most 5 s to write, and 5 s for the answer
}

// shut stops everything but the connection, once. The caller holds the mutex.
func (s *socket) shut(code websocket.StatusCode) bool {
	if s.stage == stageClosing {
		return false
	}
	s.stage, s.code = stageClosing, code
	s.queue.clear()
	s.timer.Stop()
	s.room.Broadcast()
	s.cancel()
	return true
}

// cut ends the socket without a word: the client does not read, or is not there.
func (s *socket) cut() {
	s.mu.Lock()
	s.shut(websocket.StatusAbnormalClosure)
	s.mu.Unlock()
	_ = s.ws.CloseNow()
}

// CutOff closes the connection of a socket that is given up.
func (s *socket) CutOff() { _ = s.wire.Close() }

// failed ends the socket after a failed read.
func (s *socket) failed(err error) {
	_, broken := errors.AsType[net.Error](err)
	switch code := websocket.CloseStatus(err); {
	case code != -1: // the client closed it; the library has answered
		s.mu.Lock()
		s.shut(code)
		s.mu.Unlock()
	case errors.Is(err, websocket.ErrMessageTooBig):
		s.Close(websocket.StatusMessageTooBig, "")
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.Close(connection.CodeNoPong, "no pong, or no whole message, came in time")
	case broken, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		s.cut()
	default:
		s.Close(connection.CodeProtocol, "")
	}
}

// end waits until the connection is closed and forgets the socket.
func (s *socket) end() {
	s.farewell.Wait() // every failed read has shut the socket: no other can begin
	_ = s.ws.CloseNow()
	s.mu.Lock()
	who, admitted, code, begun, ctx := s.owner, s.admitted, s.code, s.begun, s.ctx
	s.mu.Unlock()
	if admitted {
		s.server.options.Registry.Dismiss(who)
	}
	s.server.options.Registry.Remove(s)
	s.server.options.Log.LogAttrs(ctx, slog.LevelInfo, "socket closed", slog.Int("code", int(code)),
		slog.Int("operations", begun), slog.Duration("took", time.Since(s.started)))
}

// Drain lets operations under way end, subscriptions aside, and then closes the socket.
func (s *socket) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = connection.CodeRestart
	s.leave()
}

// interrupt does the same because a subscription cannot go on: clients begin all of them again on another socket.
func (s *socket) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving == 0 {
		s.leaving = connection.CodeLater
	}
	s.leave()
}

// leave closes a socket that is to be closed and has nothing more to do. The caller holds the mutex.
func (s *socket) leave() {
	if s.leaving == 0 || s.working > 0 || s.queue.writing || len(s.queue.messages) > 0 {
		return
	}
	reason := "the server shuts down"
	if s.leaving == connection.CodeLater {
		reason = execution.MessageInterrupted
	}
	s.closeLocked(s.leaving, reason)
}

// Viewer is the viewer that the socket belongs to, signed up perhaps since a moment ago.
func (s *socket) Viewer() viewer.Viewer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return viewer.From(s.ctx)
}

// requestOf is the request id of an operation: that of the upgrade, and which operation it is.
func (s *socket) requestOf(n int) string { return s.requestID + "." + strconv.Itoa(n) }
