package campaign

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Listener listens to the events of the project at one of the servers, from after a cursor on if there is one, and tells what it hears until
// the stream ends or heard returns false. The error says why it ended.
type Listener interface {
	Listen(ctx context.Context, user string, after any, heard func(m Message) bool) error
}

// Message is what a subscription brings.
type Message struct {
	Told   Told
	Cursor any // nil for a gap
}

// What a stream may end with for which a client begins it again.
var (
	// ErrAgain says that the client is to come again.
	ErrAgain = errors.New("come again")
	// ErrOver says that the server completed the stream, or refused it for good.
	ErrOver = errors.New("the stream is over")
)

const streamEnded = "subscription"

// Subscriber listens to the project all the time, now at one server, now at another one.
type Subscriber struct {
	Work
	Name     string
	User     string
	Listener Listener
	Rand     *rand.Rand
	Moves    time.Duration // how long it stays with one server at most; 0: for ever
}

// Run listens until the last message, or the context ends.
func (s *Subscriber) Run(ctx context.Context, last func(m Message) bool) error {
	var cursor any
	over := false
	for !over && ctx.Err() == nil {
		stay, cancel := ctx, context.CancelFunc(func() {})
		if s.Moves > 0 {
			stay, cancel = context.WithTimeout(ctx, s.Moves/2+time.Duration(s.Rand.Int64N(int64(s.Moves))))
		}
		began := s.History.Now()
		err := s.Listener.Listen(stay, s.User, cursor, func(m Message) bool {
			m.Told.Subscriber, m.Told.Received = s.Name, s.History.Now()
			s.History.Told(m.Told)
			if m.Cursor != nil {
				cursor = m.Cursor
			}
			over = last(m)
			return !over
		})
		cancel()
		if errors.Is(err, ErrOver) {
			s.complain(asked{began: began, ended: s.History.Now()}, s.Name, streamEnded, err.Error())
		}
		if !over {
			pause(ctx, time.Duration(20+s.Rand.IntN(200))*time.Millisecond)
		}
	}
	return ctx.Err()
}
