package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/eventstream"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
)

// endpoint carries one query or mutation over POST or GET. gqlgen's own transports echo the body in errors, ignore what
// follows the first JSON value, and have other status codes.
type endpoint struct {
	run     *execution.Runner
	intake  intake
	timeout time.Duration
}

// ServeHTTP answers one request.
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	media, inParts := accepted(r), acceptsParts(r)
	if media == "" && !inParts {
		writeError(w, r, http.StatusNotAcceptable, refusal.Of(model.ErrorCodeBadRequest, "the answer is %s or %s", request.JSON, mediaResponse))
		return
	}
	params, leave, status, refused := e.intake.read(w, r)
	defer leave()
	if refused != nil {
		writeError(w, r, status, refused)
		return
	}
	held, release := admission.Holding(r.Context())
	defer release()
	e.run.AwaitTurn(held)
	ctx, cancel := context.WithTimeout(graphql.StartOperationTrace(held), e.timeout)
	defer cancel()

	op, errs := e.run.Prepare(ctx, params)
	if errs == nil && op.Operation.Operation == ast.Subscription {
		admission.Forgo(op)
		const hint = "subscriptions are carried out over a WebSocket with the subprotocol " + subprotocol + ", or as " + eventstream.Media
		writeError(w, r, http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, hint))
		return
	}
	if r.Method != http.MethodPost && op.Operation != nil && op.Operation.Operation == ast.Mutation {
		admission.Forgo(op)
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, r, http.StatusMethodNotAllowed, refusal.Of(model.ErrorCodeBadRequest, "over GET only queries are carried out: use POST"))
		return
	}
	if errs != nil {
		resp := e.run.Refuse(ctx, op, errs)
		describe(w, op, resp)
		timings(w.Header(), &op.Stats, 0)
		if status = statusOfLimit(w.Header(), errs); status == 0 {
			status = statusOfRefusal(media, resp)
		}
		write(w, media, status, resp)
		return
	}
	if !inParts && execution.Defers(op) {
		admission.Forgo(op)
		writeError(w, r, http.StatusNotAcceptable, refusal.Of(model.ErrorCodeBadRequest, execution.MessageDefer))
		return
	}
	start := time.Now()
	next, ctx := e.run.DispatchOperation(ctx, op)
	resp := next(ctx)
	timings(w.Header(), &op.Stats, time.Since(start))
	status = statusOfResult(media, resp)
	limited := 0
	switch {
	case resp == nil: // the time was up before anything was read
		resp, status = e.run.Late(ctx, op), http.StatusServiceUnavailable
	case len(resp.Data) == 0: // it was given up, as when there was no room for it
		if limited = statusOfLimit(w.Header(), resp.Errors); limited != 0 {
			status = limited
		}
	}
	describe(w, op, resp)
	if response.GoesOn(resp) || media == "" && limited == 0 {
		e.stream(ctx, w, op, resp, next)
		return
	}
	write(w, media, status, resp)
}

// describe tells the access log what the request was.
func describe(w http.ResponseWriter, op *graphql.OperationContext, resp *graphql.Response) {
	if rec, ok := w.(*recorder); ok {
		rec.operation, rec.code = execution.TypeOf(op), response.Outcome(resp)
	}
}
