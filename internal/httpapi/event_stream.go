package httpapi

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

// retryAfter is how many milliseconds an EventSource waits before it connects again.
const retryAfter = 2000

// streamHeader tells everybody on the way what comes.
func streamHeader(h http.Header) {
	h.Set("Content-Type", mediaStream+"; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would collect what comes
}

// retry has an EventSource wait so long before it connects again.
func retry(milliseconds int) string { return "retry: " + strconv.Itoa(milliseconds) + "\n\n" }

// writeAgain refuses an EventSource for something that passes, after so many seconds perhaps: it gives up for ever after any other status
// than 200, and connects again after a stream that ends. Other clients get the status; some wait for ever for a stream that ends at once.
func writeAgain(w http.ResponseWriter, seconds, why string) {
	wait, _ := strconv.Atoi(seconds) // ours
	streamHeader(w.Header())
	if rec, ok := w.(*recorder); ok {
		rec.ended = why
	}
	_, _ = io.WriteString(w, retry(max(wait*1000, retryAfter))+": "+oneLine(why)+"\n\n")
}

// oneLine keeps a comment from becoming more than that.
func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(text) }

// eventStream is what is written of one operation. Nothing is queued: who has an event waits until the connection has taken
// it, and the source of a subscription notices that its events are not taken.
type eventStream struct {
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

// newEventStream returns the stream of a request whose context carries the viewer. Until begin, another answer may be given.
func newEventStream(w http.ResponseWriter, r *http.Request) *eventStream {
	s := &eventStream{w: w, conn: http.NewResponseController(w)}
	s.expires = viewer.From(r.Context()).Identity.ExpiresAt
	s.ctx, s.cancel = context.WithCancel(r.Context())
	return s
}

// begin writes the header. From now on something is written again and again, so that nobody on the way takes the connection
// for a dead one, and a dead one is noticed.
func (s *eventStream) begin() {
	s.writing.Lock()
	defer s.writing.Unlock()
	streamHeader(s.w.Header())
	if rec, ok := s.w.(*recorder); ok {
		rec.began = new(time.Now())
	}
	s.begun = true
	s.w.WriteHeader(http.StatusOK)
	s.write(retry(retryAfter))

	s.mu.Lock() // tick may come before timer is set
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(connection.UntilTick(s.expires), s.tick)
}

// wait says that the stream is of a subscription that is set up: a shutdown need not let it end.
func (s *eventStream) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = true
	s.leave()
}

// next writes a response as an event, with an id if it has one. It reports false when nobody wants it any more.
func (s *eventStream) next(id string, resp *graphql.Response) bool {
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

// complete says that nothing more comes, after a last response if there is one.
func (s *eventStream) complete(last *graphql.Response) {
	if last != nil && !s.next("", last) {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.write("event: complete\ndata:\n\n") // without data an EventSource would not tell the page
}

// write writes chunk by chunk, each with a deadline of its own, and all with one, unless the stream ends. The caller holds writing.
func (s *eventStream) write(text string) bool {
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

func (s *eventStream) put(text string, until time.Time) bool {
	s.broken = s.broken || s.conn.SetWriteDeadline(connection.ChunkBy(until)) != nil
	if s.broken {
		return false
	}
	_, err := s.w.Write([]byte(text))
	s.broken = err != nil || s.conn.Flush() != nil
	return !s.broken
}

// tick is what happens by the clock: a token that expires, a comment that keeps the connection alive.
func (s *eventStream) tick() {
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
func (s *eventStream) Close(_ websocket.StatusCode, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked(reason)
}

func (s *eventStream) closeLocked(reason string) {
	if s.reason == "" && s.ctx.Err() == nil {
		s.reason = reason
		s.cancel()
	}
}

// Drain lets a query or mutation end, and ends the stream of a subscription.
func (s *eventStream) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	s.leave()
}

// leave ends a stream that is to be ended and waits only. The caller holds mu.
func (s *eventStream) leave() {
	if s.draining && s.waiting {
		s.closeLocked("the server shuts down")
	}
}

// CutOff gives up what is being written.
func (s *eventStream) CutOff() {
	s.cancel()
	_ = s.conn.SetWriteDeadline(time.Now())
}

// Viewer is the viewer that the stream belongs to, signed up perhaps since a moment ago.
func (s *eventStream) Viewer() viewer.Viewer { return viewer.From(s.ctx) }

// end is the last that is done with the stream: what it is written to is gone afterwards. The client of a stream that was
// closed reads why, if it reads comments, and connects again.
func (s *eventStream) end() {
	s.cancel()
	s.mu.Lock()
	reason := s.reason
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.writing.Lock() // tick may write a last time
	defer s.writing.Unlock()
	if rec, ok := s.w.(*recorder); ok {
		rec.ended = reason
	}
	if s.begun && reason != "" {
		s.put(": "+reason+"\n\n", time.Time{})
	}
}

// positions are those of the messages that a subscription has handed on, and that are not written yet.
type positions struct {
	after string // of the last message that the client has seen

	mu     sync.Mutex
	handed []string
}

// After is the position of the last message that the client has seen, "" for none.
func (p *positions) After() string { return p.after }

// Reached adds the position of the next message.
func (p *positions) Reached(position string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handed = append(p.handed, position)
}

// next is the position of the message that is written next, "" when it has none.
func (p *positions) next() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.handed) == 0 {
		return ""
	}
	position := p.handed[0]
	p.handed = p.handed[1:]
	return position
}
