package httpapi

import (
	"net"
	"sync"
	"time"
)

// pace is how long sockets wait for what.
type pace struct {
	init  time.Duration // from the handshake to connection_init
	ping  time.Duration // between our pings
	pong  time.Duration // from a ping to the next byte of the client
	write time.Duration // until a client has taken chunk bytes
	whole time.Duration // until it has taken what was ready for it, however large
	close time.Duration // what a shutdown keeps of its time for close frames
}

var standardPace = pace{init: 10 * time.Second, ping: 20 * time.Second, pong: 10 * time.Second, write: 10 * time.Second, whole: 5 * time.Minute, close: 2 * time.Second}

// chunk is how much a slow client has to take in pace.write: 1.6 KB/s are enough to get an answer of 490 KB.
const chunk = 16 << 10

// wire is the connection of a socket, with the deadlines that the library has none for. They are those of net.Conn, which
// need neither a goroutine nor a context per message.
type wire struct {
	net.Conn
	early []byte // came with the handshake
	pace  pace

	mu    sync.Mutex
	due   bool      // a sign of life
	whole time.Time // by when the message that is coming has to be there; zero when none is
	until time.Time // what is being written has to be; zero for no such end
}

// Read reads; whatever comes is a sign of life.
func (w *wire) Read(p []byte) (int, error) {
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

// expect lets Read fail when no sign of life comes in time.
func (w *wire) expect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = true
	if by := time.Now().Add(w.pace.pong); w.whole.IsZero() || by.Before(w.whole) {
		_ = w.SetReadDeadline(by)
	}
}

// excuse takes back what expect asks: nobody reads at this moment.
func (w *wire) excuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = false
	_ = w.SetReadDeadline(w.whole)
}

// comes lets Read fail when the message that has begun is not there by that moment; zero says that it is.
func (w *wire) comes(by time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = by
	if !w.due {
		_ = w.SetReadDeadline(by)
	}
}

// finish lets Write fail when what follows is not written by that moment; zero takes it back.
func (w *wire) finish(by time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = by
}

// by is when a client has to have taken the next chunk of what it has to have taken wholly until then.
func (p pace) by(until time.Time) time.Time {
	if next := time.Now().Add(p.write); until.IsZero() || next.Before(until) {
		return next
	}
	return until
}

// Write writes chunk by chunk, each with a deadline of its own, and all with that of finish.
func (w *wire) Write(p []byte) (written int, err error) {
	w.mu.Lock()
	until := w.until
	w.mu.Unlock()
	for {
		part := p[:min(len(p), chunk)]
		if err := w.SetWriteDeadline(w.pace.by(until)); err != nil {
			return written, err
		}
		n, err := w.Conn.Write(part)
		written += n
		if p = p[n:]; err != nil || len(p) == 0 {
			return written, err
		}
	}
}
