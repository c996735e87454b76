// Package execution carries out operations, whatever they come over: it reads and validates documents, has the executor that gqlgen generates
// carry out what is admitted, and surrounds each response with loaders of its own, counts, logs and the extensions that were asked for.
//
// It knows gqlgen, loaders and what operations cost. It must not know HTTP or sockets. Start reading at [New]; then [Runner.Create], and
// [Runner.Follow] for subscriptions.
package execution

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/response"
	"github.com/taggie/taggie/internal/httpapi/signin"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/loaders"
)

// Options are what a [Runner] is made of. Writable, Documents, Trusted and Budget may be left out.
type Options struct {
	Schema  graphql.ExecutableSchema
	Loaders loaders.Sources
	SignIn  signin.Service
	Metrics *telemetry.Metrics
	Traces  *telemetry.Traces // nil for none
	Log     *slog.Logger
	Timeout time.Duration // of each operation, and of the set-up of a subscription
	// Writable is asked before a mutation begins; nil where nothing speaks against it. Faults: Unavailable with the reason.
	Writable func(context.Context) error
	// Documents keeps the documents that clients register by their hash; without it none are kept.
	Documents document.Documents
	Trusted   document.Trusted
	// Operations is how many of a caller are carried out at a time; 32 when 0.
	Operations int
	Answers    *admission.Answers
	// Budget bounds what a caller spends; nil for none. BudgetSize and BudgetRate are what it holds and how much comes back each
	// second.
	Budget                 admission.Budget
	BudgetSize, BudgetRate int
	Capacity               bool // everybody is told what was consumed, not only administrators
	// HideSchema refuses introspection, HideSuggestions leaves out of errors what the client may have meant.
	HideSchema, HideSuggestions bool
}

// Runner carries operations out. Its executor is that of all transports.
type Runner struct {
	admission.Executor
	options  Options
	spenders *admission.Spenders // nil without a budget
	setUps   *admission.Turns    // of subscriptions
}

// New returns what carries operations out.
func New(o Options) *Runner {
	if o.Operations == 0 {
		o.Operations = 32
	}
	r := &Runner{options: o, setUps: admission.SetUpTurns()}
	if o.Budget != nil {
		r.spenders = admission.NewSpenders(o.Budget, o.BudgetRate, o.Metrics, time.Now)
	}
	cache, documents := document.NewDocuments(), document.NewPersisted(o.Trusted, o.Documents, o.Log)
	exec := executor.New(o.Schema)
	exec.SetQueryCache(cache)
	exec.SetParserTokenLimit(document.MaxTokens)
	exec.SetErrorPresenter(present.Error)
	exec.SetRecoverFunc(r.recovered)
	exec.SetDefaultRulesFn(document.QuietRules)
	exec.Use(documents)
	exec.Use(document.Bounds{Known: cache, Hidden: o.HideSchema, Told: document.Introspected(o.Schema.Schema())})
	exec.Use(extension.Introspection{})
	exec.AroundResponses(r.respond)
	r.Executor = admission.NewExecutor(admission.Options{
		Inner: exec, Schema: o.Schema.Schema(), Suggests: !o.HideSuggestions, Fresh: o.SignIn.Fresh, Operations: o.Operations, Patience: o.Timeout,
		Answers: o.Answers, Spenders: r.spenders, Writable: o.Writable, Documents: documents,
	})
	return r
}

// Create makes an operation of the parameters of a request that is answered in one piece, or says why it is refused.
func (r *Runner) Create(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	op, errs := r.Prepare(ctx, params)
	if errs == nil && Defers(op) {
		errs = gqlerror.List{refusal.Of(model.ErrorCodeBadRequest, MessageDefer)}
		admission.Forgo(op)
	}
	return op, errs
}

// Prepare makes an operation, which may be answered in parts, of the parameters of a request, or says why it is refused.
func (r *Runner) Prepare(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	op, errs := r.CreateOperationContext(ctx, params)
	if errs != nil && op.Doc != nil && op.Operation == nil {
		errs = gqlerror.List{refusal.Of(model.ErrorCodeBadRequest, "the document has no operation of that name, or several and no operationName")}
	}
	if errs == nil {
		refused := deferrable(op)
		if refused == nil {
			refused = deletedViewer(ctx, op)
		}
		if refused != nil {
			errs = gqlerror.List{refused}
			admission.Forgo(op)
		}
	}
	return op, errs
}

// DispatchOperation carries a query or mutation out, within a span of its own.
func (r *Runner) DispatchOperation(ctx context.Context, op *graphql.OperationContext) (graphql.ResponseHandler, context.Context) {
	ctx, span := r.options.Traces.Operation(ctx, TypeOf(op))
	next, within := r.Executor.DispatchOperation(ctx, op)
	if span == nil {
		return next, within
	}
	context.AfterFunc(ctx, func() { // what is cut off before its last part has an end, too
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			span.Ended(string(model.ErrorCodeUnavailable))
		}
		span.Ended(telemetry.Cancelled)
	})
	return func(ctx context.Context) *graphql.Response {
		outcome := string(model.ErrorCodeInternal) // of a panic
		defer func() {
			if outcome != "" {
				span.Ended(outcome)
			}
		}()
		resp := next(ctx)
		if outcome = ""; resp != nil && !response.GoesOn(resp) {
			outcome = response.Outcome(resp)
		}
		return resp
	}, within
}

// Refuse is the answer of an operation that is not carried out for these reasons.
func (r *Runner) Refuse(ctx context.Context, op *graphql.OperationContext, errs gqlerror.List) *graphql.Response {
	return r.DispatchError(graphql.WithOperationContext(ctx, op), errs)
}

// Late is the answer of an operation whose time was up before anything was read.
func (r *Runner) Late(ctx context.Context, op *graphql.OperationContext) *graphql.Response {
	return r.Refuse(ctx, op, gqlerror.List{gqlerror.Wrap(fault.New(fault.Unavailable, present.Late))})
}

// Panicked logs a panic with its stack, and is the answer of the operation that it ended: gqlgen recovers resolvers only.
func (r *Runner) Panicked(ctx context.Context, value any) *graphql.Response {
	return &graphql.Response{Errors: gqlerror.List{present.Error(ctx, r.recovered(ctx, value))}}
}

// Count counts an operation that ended with a response which no executor has seen.
func (r *Runner) Count(op *graphql.OperationContext, resp *graphql.Response, took time.Duration) {
	r.options.Metrics.Operation(TypeOf(op), response.Outcome(resp), took)
}
