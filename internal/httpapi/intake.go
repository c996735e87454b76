package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/internal/viewer"
)

// Requests of more bytes take long to read, or of a length that is not known: of a caller, this many are read at a time.
const (
	bulkyBody = 64 << 10
	maxBulky  = 2
)

// maxReading bounds the time to read a request, and before it the time that a large one waits for others to be read.
const maxReading = 15 * time.Second

// intake reads requests, and takes messages of sockets apart: of each caller a few large ones at a time.
type intake struct {
	large *gate
	exec  limited // charges the caller for what cannot be read
}

// read reads a request in its turn, or says with which status it is refused and why. One that waited in vain costs nothing.
func (i intake) read(w http.ResponseWriter, r *http.Request) (*graphql.RawParams, int, *gqlerror.Error) {
	if r.ContentLength < 0 || r.ContentLength > bulkyBody {
		leave, err := i.wait(r.Context(), viewer.From(r.Context()), maxReading)
		if err != nil {
			refused := gqlerror.Wrap(err)
			w.Header().Set("Connection", "close") // rather than read the body
			return nil, statusOfLimit(w.Header(), gqlerror.List{refused}), refused
		}
		defer leave()
		// To wait is not to be slow. It fails for a connection that has gone, which reading finds out, and for what is none.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxReading))
	}
	params, status, refused := read(w, r)
	if refused != nil {
		i.exec.fine(r)
	}
	if status == http.StatusRequestEntityTooLarge || status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // rather than read the rest
	}
	return params, status, refused
}

// wait waits, no longer than that, until something large of a caller may be read. Faults: those of enter.
func (i intake) wait(ctx context.Context, who viewer.Viewer, most time.Duration) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return i.large.enter(ctx, spender(who))
}
