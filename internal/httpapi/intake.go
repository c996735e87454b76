package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/viewer"
)

// Requests of more bytes take long to read, or of a length that is not known: of a caller, this many are read at a time.
const (
	bulkyBody = 64 << 10
	maxBulky  = 2
)

// maxReading bounds the time to read a request, and before it the time that a large one waits for others to be read.
const maxReading = 15 * time.Second

// What was read takes up memory until its operation is over, numbers and short texts many times their bytes: of a caller, no more
// than maxRead at a time, besides what takes up less than bulkyBody.
const (
	valueSize = 50       // bytes, besides those of its text
	maxRead   = 32 << 20 // what the largest requests take up, twice or three times
)

// intake reads requests, and takes messages of sockets apart: of each caller a few large ones at a time, and as much as there is
// room for.
type intake struct {
	large *gate
	room  *gate   // of bytes
	exec  limited // charges the caller for what cannot be read
}

func newIntake(exec limited) intake {
	return intake{large: newGate(maxBulky), room: newScales(maxRead, exec.gate.all), exec: exec}
}

// read reads a request in its turn, or says with which status it is refused and why. One that waited in vain costs nothing. Whoever
// asks calls leave when the operation is over: what was read is in memory until then.
func (i intake) read(w http.ResponseWriter, r *http.Request) (params *graphql.RawParams, leave func(), status int, refused *gqlerror.Error) {
	leave = func() {}
	waiting := func(enter func(context.Context) (func(), error)) (func(), *gqlerror.Error) {
		ctx, cancel := context.WithTimeout(r.Context(), maxReading)
		defer cancel()
		left, err := enter(ctx)
		if err != nil {
			return func() {}, gqlerror.Wrap(err)
		}
		return left, nil
	}
	if r.ContentLength < 0 || r.ContentLength > bulkyBody {
		done, refused := waiting(i.turn)
		if refused != nil {
			w.Header().Set("Connection", "close") // rather than read the body
			return nil, leave, statusOfLimit(w.Header(), gqlerror.List{refused}), refused
		}
		defer done()
		// To wait is not to be slow. It fails for a connection that has gone, which reading finds out, and for what is none.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxReading))
	}
	params, status, refused = request.Read(w, r, func(text []byte) (full *gqlerror.Error) {
		leave, full = waiting(func(ctx context.Context) (func(), error) { return i.place(ctx, text) })
		return full
	})
	switch {
	case refused == nil:
	case status == 0:
		status = statusOfLimit(w.Header(), gqlerror.List{refused})
	default:
		bytes := r.ContentLength
		if bytes < 0 || bytes > request.MaxBody { // as much as may come
			bytes = request.MaxBody
		}
		i.exec.fine(r.Context(), int(bytes))
	}
	if status == http.StatusRequestEntityTooLarge || status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // rather than read the rest
	}
	return params, leave, status, refused
}

// turn waits until something large of the caller may be read. Faults: those of enter.
func (i intake) turn(ctx context.Context) (leave func(), err error) {
	return i.large.enter(ctx, caller.Name(viewer.From(ctx)), 1)
}

// place waits until there is room for what a text of the caller says. Faults: those of enter.
func (i intake) place(ctx context.Context, text []byte) (leave func(), err error) {
	size := len(text)
	if size > bulkyBody/(1+valueSize) { // with each value comes a byte at least
		size += valueSize * request.Values(text)
	}
	if size <= bulkyBody {
		return func() {}, nil
	}
	return i.room.enter(ctx, caller.Name(viewer.From(ctx)), size)
}
