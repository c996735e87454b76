// Package eventstream writes what an operation tells as an event stream, by the distinct connections mode of graphql-sse, whose PROTOCOL.md
// describes it.
//
// It knows text/event-stream and how long clients may take. It must not know how a stream is asked for, or how an operation is carried out.
// Start reading at [Stream].
package eventstream

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"

	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/response"
	"github.com/taggie/taggie/internal/viewer"
)

// Media is the media type of event streams.
const Media = "text/event-stream"

// retryAfter is how many milliseconds an EventSource waits before it connects again.
const retryAfter = 2000

// streamHeader tells everybody on the way what comes.
func streamHeader(h http.Header) {
	h.Set("Content-Type", Media+"; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would collect what comes
}

// retry has an EventSource wait so long before it connects again.
func retry(milliseconds int) string { return "retry: " + strconv.Itoa(milliseconds) + "\n\n" }

// WriteAgain refuses an EventSource for something that passes, after so many seconds perhaps: it gives up for ever after any other status
// than 200, and connects again after a stream that ends. Other clients get the status; some wait for ever for a stream that ends at once.
func WriteAgain(w http.ResponseWriter, seconds, why string) {
	wait, _ := strconv.Atoi(seconds) // ours
	streamHeader(w.Header())
	_, _ = io.WriteString(w, retry(max(wait*1000, retryAfter))+": "+oneLine(why)+"\n\n")
}

// oneLine keeps a comment from becoming more than that.
func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(text) }

// Stream is what is written of one operation. Nothing is queued: who has an event waits until the connection has taken
// it, and the source of a subscription notices that its events are not taken.
type Stream struct {
	w       http.ResponseWriter
	conn    *http.ResponseController
	ctx     context.Context // of the operation; carries the viewer
	cancel  context.CancelFunc
	expires time.Time // of the token; zero for none

	writing sync.Mutex // held while something is written
	begun   bool       // the header is
	broken  bool       // nothing more can be

	mu       sync.Mutex
	timer    *time.Timer
	draining bool
	waiting  bool   // of a subscription that is set up
	reason   string // why it ends before its operation does
}

// New returns the stream of a request whose context carries the viewer. Until Begin, another answer may be given.
func New(w http.ResponseWriter, r *http.Request) *Stream {
	s := &Stream{w: w, conn: http.NewResponseController(w)}
	s.expires = viewer.From(r.Context()).Identity.ExpiresAt
	s.ctx, s.cancel = context.WithCancel(r.Context())
	return s
}

// Context is that of the operation; it carries the viewer, and ends with the stream.
func (s *Stream) Context() context.Context { return s.ctx }

// Begin writes the header. From now on something is written again and again, so that nobody on the way takes the connection
// for a dead one, and a dead one is noticed.
func (s *Stream) Begin() {
	s.writing.Lock()
	defer s.writing.Unlock()
	streamHeader(s.w.Header())
	s.begun = true
	s.w.WriteHeader(http.StatusOK)
	s.write(retry(retryAfter))

	s.mu.Lock() // tick may come before timer is set
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(connection.UntilTick(s.expires), s.tick)
}

// Wait says that the stream is of a subscription that is set up: a shutdown need not let it end.
func (s *Stream) Wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = true
	s.leave()
}

// Next writes a response as an event, with an id if it has one. It reports false when nobody wants it any more.
func (s *Stream) Next(id string, resp *graphql.Response) bool {
	head, data, tail := response.Parts(resp)
	var b strings.Builder
	b.Grow(len(id) + len(head) + len(data) + len(tail) + 64)
	b.WriteString("event: next\n")
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("data: ")
	for _, part := range [][]byte{head, data, tail} {
		for _, c := range part {
			if c == '\n' || c == '\r' { // between the values of a scalar of ours; within texts they are escaped
				c = ' '
			}
			b.WriteByte(c)
		}
	}
	b.WriteString("\n\n")
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.write(b.String())
}

// Complete says that nothing more comes, after a last response if there is one.
func (s *Stream) Complete(last *graphql.Response) {
	if last != nil && !s.Next("", last) {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.write("event: complete\ndata:\n\n") // without data an EventSource would not tell the page
}

// write writes chunk by chunk, each with a deadline of its own, and all with one, unless the stream ends. The caller holds writing.
func (s *Stream) write(text string) bool {
	until := time.Now().Add(connection.TakenTime)
	for rest := text; len(rest) > 0; {
		if s.ctx.Err() != nil {
			s.broken = s.broken || len(rest) < len(text) // nothing may follow half of an event, which clients drop
			return false
		}
		n := min(len(rest), connection.Chunk)
		if !s.put(rest[:n], until) {
			s.cancel()
			return false
		}
		rest = rest[n:]
	}
	return s.ctx.Err() == nil
}

func (s *Stream) put(text string, until time.Time) bool {
	s.broken = s.broken || s.conn.SetWriteDeadline(connection.ChunkBy(until)) != nil
	if s.broken {
		return false
	}
	_, err := s.w.Write([]byte(text))
	s.broken = err != nil || s.conn.Flush() != nil
	return !s.broken
}

// tick is what happens by the clock: a token that expires, a comment that keeps the connection alive.
func (s *Stream) tick() {
	if !s.expires.IsZero() && !time.Now().Before(s.expires) {
		s.Close(connection.CodeForbidden, "the token has expired")
		return
	}
	if s.writing.TryLock() { // otherwise something is being written
		s.write(":\n\n")
		s.writing.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.timer.Reset(connection.UntilTick(s.expires))
	}
}

// Close ends the stream before its operation does; event streams have no codes.
func (s *Stream) Close(_ websocket.StatusCode, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked(reason)
}

func (s *Stream) closeLocked(reason string) {
	if s.reason == "" && s.ctx.Err() == nil {
		s.reason = reason
		s.cancel()
	}
}

// Drain lets a query or mutation end, and ends the stream of a subscription.
func (s *Stream) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	s.leave()
}

// leave ends a stream that is to be ended and waits only. The caller holds mu.
func (s *Stream) leave() {
	if s.draining && s.waiting {
		s.closeLocked("the server shuts down")
	}
}

// CutOff gives up what is being written.
func (s *Stream) CutOff() {
	s.cancel()
	_ = s.conn.SetWriteDeadline(time.Now())
}

// Viewer is the viewer that the stream belongs to, signed up perhaps since a moment ago.
func (s *Stream) Viewer() viewer.Viewer { return viewer.From(s.ctx) }

// End is the last that is done with the stream: what it is written to is gone afterwards. It returns why the stream ended before its operation
// did, "" when it did not. The client of a stream that was closed reads why, if it reads comments, and connects again.
func (s *Stream) End() (reason string) {
	s.cancel()
	s.mu.Lock()
	reason = s.reason
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.writing.Lock() // tick may write a last time
	defer s.writing.Unlock()
	if s.begun && reason != "" {
		s.put(": "+reason+"\n\n", time.Time{})
	}
	return reason
}

// Positions are those of the messages that a subscription has handed on, and that are not written yet.
type Positions struct {
	after string // of the last message that the client has seen

	mu     sync.Mutex
	handed []string
}

// NewPositions returns the positions of a subscription whose client has seen the message at this one last.
func NewPositions(after string) *Positions { return &Positions{after: after} }

// After is the position of the last message that the client has seen, "" for none.
func (p *Positions) After() string { return p.after }

// Reached adds the position of the next message.
func (p *Positions) Reached(position string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handed = append(p.handed, position)
}

// Next is the position of the message that is written next, "" when it has none.
func (p *Positions) Next() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.handed) == 0 {
		return ""
	}
	position := p.handed[0]
	p.handed = p.handed[1:]
	return position
}
