package lean

import (
	"bytes"
	"context"

	"github.com/taggie/taggie/internal/memory"
)

// takenAtOnce is how many bytes are written between two questions for room.
const takenAtOnce = 64 << 10

// rest is about how many bytes come behind what a plan wrote.
const rest = 128

// Answer is the text of an answer that is being written. Room for it is taken as it grows. Where there is none, nothing more is written; whoever
// gives the room knows that, and what was written counts for nothing.
type Answer struct {
	text  bytes.Buffer
	ctx   context.Context
	taken int // bytes for which there is room
	full  bool
}

// AnswerOf returns an empty answer of the operation of a context.
func AnswerOf(ctx context.Context) Answer { return Answer{ctx: ctx} }

// Len is how many bytes were written.
func (a *Answer) Len() int { return a.text.Len() }

// Bytes are what was written.
func (a *Answer) Bytes() []byte { return a.text.Bytes() }

// Write adds to the answer. It never fails.
func (a *Answer) Write(b []byte) (int, error) {
	if a.fits(len(b)) {
		a.text.Write(b)
	}
	return len(b), nil
}

// WriteString is Write without a copy.
func (a *Answer) WriteString(s string) (int, error) {
	if a.fits(len(s)) {
		a.text.WriteString(s)
	}
	return len(s), nil
}

// fits reports whether there is room for n bytes more.
func (a *Answer) fits(n int) bool {
	if more := a.text.Len() + n - a.taken; more > takenAtOnce {
		a.taken += more
		a.full = a.full || memory.Take(a.ctx, more) != nil
	}
	return !a.full
}

// add adds what there is room for already.
func (a *Answer) add(b []byte) {
	a.taken += len(b)
	a.text.Grow(len(b) + rest) // at once with what closes it: to grow again would copy everything
	a.text.Write(b)
}
