package execution

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
)

// respond gives a response loaders of its own, counts it, logs its internal errors and adds the extensions asked for.
func (r *Runner) respond(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	start := time.Now()
	op := graphql.GetOperationContext(ctx)
	ctx = admission.Metered(ctx, op)
	if d := later(op); d != nil { // its loaders, and its place in the counts, are those of the part before
		resp := d.bound(ctx, within(ctx, next))
		if resp != nil {
			resp = r.current(ctx, op, r.weighed(ctx, op, resp))
			d.add(resp)
			r.cost(ctx, resp, d.tally)
			r.account(ctx, op, resp, d)
			r.tell(ctx, resp)
		}
		return resp
	}
	var tally *telemetry.Tally
	if asksFor(op, request.ExtensionDynamo) {
		ctx, tally = telemetry.WithTally(ctx)
	}
	of := ctx
	ctx = loaders.WhenAsked(ctx, func() *loaders.Loaders { return loaders.New(of, r.options.Loaders, shown(op)) })
	resp := within(ctx, next)
	if resp == nil {
		return nil
	}
	resp = r.current(ctx, op, r.weighed(ctx, op, resp))
	if event := TypeOf(op) == string(ast.Subscription) && resp.Data != nil; !event {
		// A subscription is counted once, by begun: most of the time before an event was spent waiting for it.
		r.options.Metrics.Operation(TypeOf(op), response.Outcome(resp), time.Since(start))
	}
	d := begins(op, resp, tally)
	r.cost(ctx, resp, tally)
	r.account(ctx, op, resp, d)
	r.tell(ctx, resp)
	return resp
}

// weighed returns a part of an answer, or what stands for it when there is no room for it. That of a query is like a refusal, since nothing was done.
func (r *Runner) weighed(ctx context.Context, op *graphql.OperationContext, resp *graphql.Response) *graphql.Response {
	err := r.options.Answers.Weigh(ctx, op, cap(resp.Data), response.GoesOn(resp))
	if err == nil {
		return resp
	}
	refused := &graphql.Response{Errors: gqlerror.List{present.Error(ctx, err)}}
	if TypeOf(op) != string(ast.Query) {
		refused.Data = []byte("null")
	}
	return refused
}

// current returns the response of a query, without its data when nobody can tell any more that the caller may have it. What a mutation has done
// is told: it rests upon what was known when it began. Messages of subscriptions are looked at by Follow.
func (r *Runner) current(ctx context.Context, op *graphql.OperationContext, resp *graphql.Response) *graphql.Response {
	if len(resp.Data) > 0 && TypeOf(op) == string(ast.Query) {
		if err := r.options.SignIn.Fresh(ctx); err != nil {
			withhold(ctx, resp, err)
		}
	}
	return resp
}

// cost adds what was asked of DynamoDB so far, if somebody counts it.
func (r *Runner) cost(ctx context.Context, resp *graphql.Response, tally *telemetry.Tally) {
	if tally == nil {
		return
	}
	told := spent(tally.Snapshot())
	if !r.options.Capacity && !viewer.From(ctx).Admin() {
		told.ConsumedCapacity, told.Keys = nil, nil // they tell how large and how many things are that the caller may not see
	}
	extend(resp, request.ExtensionDynamo, told)
}

// tell bounds the errors of a response and logs those that are ours.
func (r *Runner) tell(ctx context.Context, resp *graphql.Response) {
	if len(resp.Errors) > maxErrors {
		extend(resp, "omittedErrors", len(resp.Errors)-maxErrors)
		resp.Errors = resp.Errors[:maxErrors]
	}
	r.report(ctx, resp.Errors)
}

// begun counts a subscription by its first response, or its end without any; took is how long its set-up took.
func (r *Runner) begun(op *graphql.OperationContext, first *graphql.Response, took time.Duration) {
	said := "ok"
	if first != nil && first.Data == nil {
		said = response.Outcome(first)
	}
	r.options.Metrics.Operation(TypeOf(op), said, took)
}

// within gives up an answer that becomes too large while it is written.
func within(ctx context.Context, next graphql.ResponseHandler) (resp *graphql.Response) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface{ AnswerLimit() int }: // lean.TooLarge
			resp = tooLarge(ctx, p.AnswerLimit())
		default:
			panic(p)
		}
	}()
	return next(ctx)
}

// tooLarge stands for an answer that is given up.
func tooLarge(ctx context.Context, limit int) *graphql.Response {
	err := fault.New(fault.Exhausted, "the answer would have more than %d bytes: ask for less at a time", limit)
	return &graphql.Response{Data: []byte("null"), Errors: gqlerror.List{present.Error(ctx, err)}}
}

// shown says what an operation may show of what may be large.
func shown(op *graphql.OperationContext) loaders.Shows {
	types := largeTypes(op)
	return loaders.Shows{
		Content: types["Note"] || types["Version"], Attributes: types["Entity"], Metadata: types["ProjectItem"], Pages: types["Score"],
	}
}

// largeTypes are the types of which the document names a large field anywhere, in a fragment that is not used too: an answer with a type too
// many costs bytes, one that lacks a type would cost data.
func largeTypes(op *graphql.OperationContext) map[string]bool {
	if op.Doc == nil || op.Operation == nil {
		return nil // refused before there was an operation
	}
	var found map[string]bool
	var in func(ast.SelectionSet)
	in = func(selections ast.SelectionSet) {
		for _, s := range selections {
			switch s := s.(type) {
			case *ast.Field:
				for _, typ := range graph.Large[s.Name] {
					if s.ObjectDefinition == nil || s.ObjectDefinition.IsAbstractType() || s.ObjectDefinition.Name == typ {
						if found == nil {
							found = map[string]bool{}
						}
						found[typ] = true
					}
				}
				in(s.SelectionSet)
			case *ast.InlineFragment:
				in(s.SelectionSet)
			}
		}
	}
	for _, fragment := range op.Doc.Fragments {
		in(fragment.SelectionSet)
	}
	in(op.Operation.SelectionSet)
	return found
}

// report logs, once, what the client is not told.
func (r *Runner) report(ctx context.Context, errs gqlerror.List) {
	for _, err := range errs {
		cause, ok := errors.AsType[*present.Cause](err.Err)
		if !ok {
			continue
		}
		if _, done := errors.AsType[*panicked](cause.Err); done || errors.Is(cause.Err, context.Canceled) {
			continue // in the log already, or of a client that has gone
		}
		switch refusal.CodeOf(err) {
		case model.ErrorCodeInternal:
			r.options.Log.ErrorContext(ctx, "internal error", "field", cause.At, "error", cause.Err)
		case model.ErrorCodeUnavailable:
			r.options.Log.WarnContext(ctx, "unavailable", "field", cause.At, "error", cause.Err)
		case model.ErrorCodeServerOutdated:
			r.options.Log.WarnContext(ctx, "this server is older than what it reads", "field", cause.At, "error", cause.Err)
		}
	}
}

// panicked is the error of a panic, which is in the log already.
type panicked struct{ value any }

// Error says what the panic was about.
func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// recovered logs a panic with its stack and turns it into an error.
func (r *Runner) recovered(ctx context.Context, value any) error {
	r.options.Log.ErrorContext(ctx, "panic", "field", present.Coordinate(ctx), "error", value, "stack", string(debug.Stack()))
	return fault.Wrap(fault.Internal, &panicked{value}, present.Internal)
}

// asksFor reports whether the request wants a response extension: by the header Taggie-Extensions or by its extensions.
func asksFor(op *graphql.OperationContext, name string) bool {
	if op.Extensions[name] == true {
		return true
	}
	for _, line := range op.Headers.Values(request.HeaderExtensions) {
		for word := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(word), name) {
				return true
			}
		}
	}
	return false
}

// dynamo is the response extension of that name.
type dynamo struct {
	Calls            int            `json:"calls"`
	Keys             *int           `json:"keys,omitempty"`
	ConsumedCapacity *float64       `json:"consumedCapacity,omitempty"`
	Retries          int            `json:"retries"`
	Throttled        int            `json:"throttled,omitempty"`
	Unprocessed      int            `json:"unprocessed,omitempty"`
	Operations       map[string]int `json:"operations"`
}

func spent(s telemetry.Spent) dynamo {
	if s.Operations == nil {
		s.Operations = map[string]int{}
	}
	return dynamo{
		Calls: s.Calls, Keys: &s.Keys, ConsumedCapacity: &s.Capacity, Retries: s.Retries,
		Throttled: s.Throttled, Unprocessed: s.Unprocessed, Operations: s.Operations,
	}
}

func extend(resp *graphql.Response, name string, value any) {
	if resp.Extensions == nil {
		resp.Extensions = make(map[string]any, 1)
	}
	resp.Extensions[name] = value
}

// TypeOf is "query", "mutation", "subscription", or "unknown" for a document that has no such operation.
func TypeOf(op *graphql.OperationContext) string {
	if op == nil || op.Operation == nil {
		return "unknown"
	}
	return string(op.Operation.Operation)
}

// withhold takes the data out of a response that its caller may not have any more.
func withhold(ctx context.Context, resp *graphql.Response, err error) {
	resp.Data, resp.Errors = []byte("null"), gqlerror.List{present.Error(ctx, err)}
}
