package admission

import (
	"context"

	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/viewer"
)

// Requests of more bytes take long to read, or of a length that is not known: of a caller, this many are read at a time.
const (
	// BulkyBody is how many bytes a request has at most that is no large one.
	BulkyBody = 64 << 10
	maxBulky  = 2
)

// What was read takes up memory until its operation is over, numbers and short texts many times their bytes: of a caller, no more
// than maxRead at a time, besides what takes up less than BulkyBody.
const (
	valueSize = 50       // bytes, besides those of its text
	maxRead   = 32 << 20 // what the largest requests take up, twice or three times
)

// Intake has requests, and messages of sockets, taken apart: of each caller a few large ones at a time, and as much as there is room for.
type Intake struct {
	large *gate
	room  *gate // of bytes
}

// Intake returns an intake for what the executor carries out.
func (e Executor) Intake() Intake {
	return Intake{large: newGate(maxBulky), room: newScales(maxRead, e.gate.all)}
}

// Turn waits until something large of the caller may be read. Faults: those of enter.
func (i Intake) Turn(ctx context.Context) (leave func(), err error) {
	return i.large.enter(ctx, caller.Name(viewer.From(ctx)), 1)
}

// Place waits until there is room for what a text of the caller says. Faults: those of enter.
func (i Intake) Place(ctx context.Context, text []byte) (leave func(), err error) {
	size := len(text)
	if size > BulkyBody/(1+valueSize) { // with each value comes a byte at least
		size += valueSize * request.Values(text)
	}
	if size <= BulkyBody {
		return func() {}, nil
	}
	return i.room.enter(ctx, caller.Name(viewer.From(ctx)), size)
}
