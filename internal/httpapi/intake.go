package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/request"
)

// intake reads requests when there is room for them.
type intake struct {
	admission.Intake
	run *execution.Runner // charges the caller for what cannot be read
}

// read reads a request in its turn, or says with which status it is refused and why. One that waited in vain costs nothing. Whoever
// asks calls leave when the operation is over: what was read is in memory until then.
func (i intake) read(w http.ResponseWriter, r *http.Request) (params *graphql.RawParams, leave func(), status int, refused *gqlerror.Error) {
	leave = func() {}
	waiting := func(enter func(context.Context) (func(), error)) (func(), *gqlerror.Error) {
		ctx, cancel := context.WithTimeout(r.Context(), request.MaxReading)
		defer cancel()
		left, err := enter(ctx)
		if err != nil {
			return func() {}, gqlerror.Wrap(err)
		}
		return left, nil
	}
	if r.ContentLength < 0 || r.ContentLength > admission.BulkyBody {
		done, refused := waiting(i.Turn)
		if refused != nil {
			w.Header().Set("Connection", "close") // rather than read the body
			return nil, leave, statusOfLimit(w.Header(), gqlerror.List{refused}), refused
		}
		defer done()
		// To wait is not to be slow. It fails for a connection that has gone, which reading finds out, and for what is none.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(request.MaxReading))
	}
	params, status, refused = request.Read(w, r, func(text []byte) (full *gqlerror.Error) {
		leave, full = waiting(func(ctx context.Context) (func(), error) { return i.Place(ctx, text) })
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
		i.run.Fine(r.Context(), int(bytes))
	}
	if status == http.StatusRequestEntityTooLarge || status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // rather than read the rest
	}
	return params, leave, status, refused
}
