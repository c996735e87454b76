package socket

import (
	"context"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/taggie/taggie/internal/httpapi/connection"
)

// What waits for a client that is slower than its answers. Whoever has more to say waits too: an operation with its
// answer, the reader of messages with a pong. The source of a subscription then notices that its events are not taken.
const (
	maxQueued      = 64
	maxQueuedBytes = 1 << 20 // or one message, however large
)

// outgoing is a message in the queue.
type outgoing struct {
	data  []byte
	of    *operation // nil for messages that are of none
	last  bool       // of the operation
	ping  bool
	ready time.Time // since when it waits for the client
	sent  func()    // gives back its room; nil when it has none
}

// queue holds what is to be written. The mutex of its socket guards it.
type queue struct {
	messages []outgoing
	bytes    int
	writing  bool // a goroutine writes, until nothing is left
}

// gone gives back the room of a message.
func (m outgoing) gone() {
	if m.sent != nil {
		m.sent()
	}
}

func (q *queue) full() bool { return len(q.messages) >= maxQueued || q.bytes >= maxQueuedBytes }

func (q *queue) pop() (outgoing, bool) {
	if len(q.messages) > 0 {
		m := q.messages[0]
		q.messages[0] = outgoing{}
		q.messages = q.messages[1:]
		q.bytes -= len(m.data)
		return m, true
	}
	q.messages = nil // an idle socket keeps no memory
	return outgoing{}, false
}

// drop takes the messages of an operation out that nobody wants any more.
func (q *queue) drop(of *operation) {
	q.messages = slices.DeleteFunc(q.messages, func(m outgoing) bool {
		if m.of != of {
			return false
		}
		q.bytes -= len(m.data)
		m.gone()
		return true
	})
}

// clear drops everything.
func (q *queue) clear() {
	for _, m := range q.messages {
		m.gone()
	}
	q.messages, q.bytes = nil, 0
}

// send queues messages of an operation, or of none, when there is room. It reports false when nobody wants them any more.
// With last, the id is free again before the client can see the last message.
func (s *socket) send(of *operation, last bool, messages ...[]byte) bool {
	ready := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	unwanted := func() bool { return s.stage == stageClosing || of != nil && of.cancelled }
	for s.queue.full() && !unwanted() {
		s.room.Wait()
	}
	if unwanted() {
		return false
	}
	if last {
		of.over = true
	}
	for i, data := range messages {
		m := outgoing{data: data, of: of, last: last && i == len(messages)-1, ready: ready}
		if of != nil && i == 0 {
			m.sent, of.sent = of.sent, nil
		}
		s.push(m)
	}
	return true
}

// push queues a message and sees to it that it is written. The caller holds the mutex.
func (s *socket) push(m outgoing) {
	s.queue.messages = append(s.queue.messages, m)
	s.queue.bytes += len(m.data)
	if !s.queue.writing {
		s.queue.writing = true
		go s.flush()
	}
}

// flush writes until the queue is empty. An idle socket has no goroutine that writes.
func (s *socket) flush() {
	for {
		s.mu.Lock()
		m, ok := s.queue.pop()
		s.room.Broadcast()
		if !ok {
			s.queue.writing = false
			s.leave()
			s.mu.Unlock()
			return
		}
		if m.last {
			delete(s.operations, m.of.id)
		}
		s.mu.Unlock()
		if m.ping {
			s.wire.Expect()
		}
		// The wire has the deadlines.
		if !m.ready.IsZero() {
			s.wire.Finish(m.ready.Add(connection.TakenTime))
		}
		err := s.ws.Write(context.Background(), websocket.MessageText, m.data)
		m.gone()
		if err != nil {
			s.cut()
			return
		}
		s.wire.Finish(time.Time{})
	}
}
