package connection

import (
	"net"
	"sync"
	"time"
)

// How long sockets and event streams wait for what.
const (
	InitTime     = 10 * time.Second // from the handshake to connection_init
	PingInterval = 20 * time.Second // between our pings
	TakenTime    = 5 * time.Minute  // until a client has taken what was ready for it, however large

	pongTime  = 10 * time.Second // from a ping to the next byte of the client
	writeTime = 10 * time.Second // until a client has taken Chunk bytes
	closeTime = 2 * time.Second  // what a shutdown keeps of its time for close frames
)

// Chunk is how much a slow client has to take in writeTime: 1.6 KB/s are enough to get an answer of 490 KB.
const Chunk = 16 << 10

// UntilTick is when there is something to do again for a connection whose token expires, if it has one: a ping, or the end.
func UntilTick(expires time.Time) time.Duration {
	if expires.IsZero() {
		return PingInterval
	}
	return max(min(PingInterval, time.Until(expires)), time.Millisecond)
}

// Wire is the connection of a socket, with the deadlines that the library has none for. They are those of net.Conn, which
// need neither a goroutine nor a context per message.
type Wire struct {
	net.Conn
	early []byte // came with the handshake

	mu    sync.Mutex
	due   bool      // a sign of life
	whole time.Time // by when the message that is coming has to be there; zero when none is
	until time.Time // what is being written has to be; zero for no such end
}

// NewWire returns the wire of a connection that was taken over, of which the handshake has read the first bytes already.
func NewWire(conn net.Conn, early []byte) *Wire { return &Wire{Conn: conn, early: early} }

// Read reads; whatever comes is a sign of life.
func (w *Wire) Read(p []byte) (int, error) {
	if len(w.early) > 0 {
		n := copy(p, w.early)
		w.early = w.early[n:]
		return n, nil
	}
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.due {
			w.due = false
			_ = w.SetReadDeadline(w.whole) // fails on closed connections only, as the next Read does
		}
	}
	return n, err
}

// Expect lets Read fail when no sign of life comes in time.
func (w *Wire) Expect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = true
	if by := time.Now().Add(pongTime); w.whole.IsZero() || by.Before(w.whole) {
		_ = w.SetReadDeadline(by)
	}
}

// Excuse takes back what Expect asks: nobody reads at this moment.
func (w *Wire) Excuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = false
	_ = w.SetReadDeadline(w.whole)
}

// Comes lets Read fail when the message that has begun is not there by that moment; zero says that it is.
func (w *Wire) Comes(by time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = by
	if !w.due {
		_ = w.SetReadDeadline(by)
	}
}

// Finish lets Write fail when what follows is not written by that moment; zero takes it back.
func (w *Wire) Finish(by time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = by
}

// ChunkBy is when a client has to have taken the next chunk of what it has to have taken wholly until then; zero for no such end.
func ChunkBy(until time.Time) time.Time {
	if next := time.Now().Add(writeTime); until.IsZero() || next.Before(until) {
		return next
	}
	return until
}

// Write writes chunk by chunk, each with a deadline of its own, and all with that of Finish.
func (w *Wire) Write(p []byte) (written int, err error) {
	w.mu.Lock()
	until := w.until
	w.mu.Unlock()
	for {
		part := p[:min(len(p), Chunk)]
		if err := w.SetWriteDeadline(ChunkBy(until)); err != nil {
			return written, err
		}
		n, err := w.Conn.Write(part)
		written += n
		if p = p[n:]; err != nil || len(p) == 0 {
			return written, err
		}
	}
}
