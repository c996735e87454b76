package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/eventstream"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/resolvers"
)

// headerLastEventID is what a client sends that was cut off: the id of the last event that it has seen.
const headerLastEventID = "Last-Event-ID"

// streamMethods are those of /graphql for who prefers an event stream.
const streamMethods = "GET, POST, OPTIONS"

// streamer carries out one operation a request and answers with an event stream: the distinct connections mode of
// graphql-sse, whose PROTOCOL.md describes it. gqlgen's own transport knows no GET, and nothing of ids.
type streamer struct{ api }

// or hands requests that do not prefer an event stream to next.
func (a *streamer) or(next http.Handler) http.Handler {
	streams := crossOrigin(a.options.AllowedOrigins, a.signedIn(solvent(a.run, a)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case preferred(r, request.JSON, mediaResponse, eventstream.Media) != eventstream.Media:
			next.ServeHTTP(w, r)
		case r.Method == http.MethodHead: // a stream has no header that would be worth an operation
			w.Header().Set("Allow", streamMethods)
			writeError(w, r, http.StatusMethodNotAllowed, refusal.Of(model.ErrorCodeBadRequest, "event streams are begun by GET or POST"))
		case !a.trusts(r):
			writeError(w, r, http.StatusForbidden, refusal.Of(model.ErrorCodeForbidden, "pages of this origin may not begin streams"))
		default:
			streams.ServeHTTP(w, authorized(r))
		}
	})
}

// tokenParameter has the token of an event stream that an EventSource begins.
const tokenParameter = "access_token"

// inPlace refuses tokens in the address of what is no event stream: else whoever sends one takes the answer for one to the bearer.
func inPlace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !forSource(r) && strings.Contains(r.URL.RawQuery, tokenParameter) && r.URL.Query().Has(tokenParameter) {
			writeError(w, r, http.StatusBadRequest, refusal.Of(model.ErrorCodeBadRequest, tokenParameter+" is for event streams begun by GET: send the token in the header Authorization"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forSource reports whether a request begins an event stream as an EventSource does.
func forSource(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Pattern == "/graphql" && r.Header.Get("Upgrade") == "" &&
		preferred(r, request.JSON, mediaResponse, eventstream.Media) == eventstream.Media
}

// authorized puts the token of a query string where tokens are looked for (RFC 6750, section 2.3): the EventSource of
// browsers cannot set a header. Whoever sends both is refused, as with two headers.
func authorized(r *http.Request) *http.Request {
	if r.Method != http.MethodGet {
		return r
	}
	for _, token := range r.URL.Query()[tokenParameter] {
		r = r.Clone(r.Context())
		r.Header.Add("Authorization", "Bearer "+token)
	}
	return r
}

// ServeHTTP answers one request, of a viewer who is known. What is no well-formed request is refused as without a stream; what
// is wrong with the operation is told in the stream, because an EventSource cannot read anything else.
func (a *streamer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := viewer.From(r.Context())
	who := connection.OwnerOf(v)
	if err := a.sockets.Reserve(); err != nil {
		w.Header().Set("Retry-After", "5")
		writeError(w, r, http.StatusServiceUnavailable, err)
		return
	}
	if !a.sockets.Admit(who) {
		a.sockets.GiveBack()
		w.Header().Set("Retry-After", "5")
		writeError(w, r, 0, &fault.Error{Kind: fault.Exhausted, Message: "too many sockets and event streams of one user are open: close one, or connect again later", RetryAfter: connection.FullFor})
		return
	}
	defer a.sockets.Dismiss(who)
	s := eventstream.New(w, r)
	a.sockets.Add(s)
	defer a.sockets.Remove(s)
	defer func() {
		reason := s.End()
		if rec, ok := w.(*recorder); ok {
			rec.ended = reason
		}
	}()
	// It is in the registry: a revocation from now on finds it there.
	if err := a.signIn.Again(r.Context(), v); err != nil {
		refuseSignIn(w, r, err)
		return
	}

	params, leave, status, refused := a.intake.read(w, r.WithContext(s.Context()))
	defer leave()
	if refused != nil {
		writeError(w, r, status, refused)
		return
	}
	held, release := admission.Holding(s.Context())
	defer release()
	a.run.AwaitTurn(held)
	start := time.Now() // only now: sending the body, and to wait, have time limits of their own
	ctx, cancel := context.WithTimeout(graphql.StartOperationTrace(held), a.options.OperationTimeout)
	defer cancel()
	oc, errs := a.run.Create(ctx, params)
	if errs == nil && r.Method != http.MethodPost && oc.Operation.Operation == ast.Mutation {
		admission.Forgo(oc)
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, r, http.StatusMethodNotAllowed, refusal.Of(model.ErrorCodeBadRequest, "over GET no mutations are carried out: use POST"))
		return
	}
	s.Begin()
	if rec, ok := w.(*recorder); ok {
		rec.began = new(time.Now())
	}
	defer func() {
		if p := recover(); p != nil { // gqlgen recovers resolvers only
			resp := a.run.Panicked(s.Context(), p)
			a.run.Count(oc, resp, time.Since(start))
			describe(w, oc, resp)
			s.Complete(resp)
		}
	}()
	switch {
	case errs != nil:
		resp := a.run.Refuse(ctx, oc, errs)
		describe(w, oc, resp)
		s.Complete(resp)
	case oc.Operation.Operation == ast.Subscription:
		cancel() // it waits for long: keep nothing that it does not need
		leave()
		if rec, ok := w.(*recorder); ok {
			rec.span.Answered(knownMethod(r.Method), r.Pattern, http.StatusOK)
		}
		a.subscribe(w, r, s, oc, start)
	default:
		next, ctx := a.run.DispatchOperation(ctx, oc)
		resp := next(ctx)
		if resp == nil && s.Context().Err() == nil {
			resp = a.run.Late(ctx, oc)
		}
		if resp != nil { // else nobody waits for it any more
			describe(w, oc, resp)
			s.Complete(resp)
		}
	}
}

// subscribe carries a subscription out.
func (a *streamer) subscribe(w http.ResponseWriter, r *http.Request, s *eventstream.Stream, oc *graphql.OperationContext, start time.Time) {
	at := eventstream.NewPositions(r.Header.Get(headerLastEventID))
	resolvers.WithPositions(oc, at)
	ctx, cancel := context.WithCancel(s.Context()) // when it was not set up in time, the stream has to tell yet
	defer cancel()
	how, refusal := a.run.Follow(ctx, cancel, oc, execution.Follower{
		Prepared: func(bool) { s.Wait() },
		First: func(first *graphql.Response) {
			if first == nil {
				first = &graphql.Response{}
			}
			describe(w, oc, first)
		},
		Tell: func(resp *graphql.Response, sent func()) bool {
			defer sent()
			return s.Next(at.Next(), resp)
		},
	})
	switch how {
	case execution.Finished, execution.Refused:
		s.Complete(refusal)
	case execution.Interrupted:
		s.Close(connection.CodeLater, execution.MessageInterrupted)
	case execution.Revoked:
		s.Close(connection.CodeForbidden, present.Revoked)
	}
}
