// Package admission bounds the work that clients cause: how many operations of a caller are carried out at a time, who waits for a turn, what
// is charged to the budget of a caller, and how much memory requests and answers take up.
//
// It knows operations of gqlgen, callers and the prices of documents. It must not know HTTP, sockets or what is in an answer. Start reading
// at [Executor], through which every operation goes.
package admission

import (
	"context"
	"errors"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/viewer"
)

// Options are what an [Executor] is made of. Spenders and Writable may be left out.
type Options struct {
	Inner    graphql.GraphExecutor // carries out what may be
	Schema   *ast.Schema
	Suggests bool                        // errors say what the client may have meant
	Fresh    func(context.Context) error // looks whether the token still counts
	// Operations is how many of a caller are carried out at a time.
	Operations int
	Patience   time.Duration // with those that wait for it
	Answers    *Answers
	Spenders   *Spenders                   // nil without a budget
	Writable   func(context.Context) error // nil when nothing speaks against changes
	// Documents keeps those of operations that are carried out.
	Documents document.Persisted
}

// Executor is the executor of all transports: it lets nobody do more than the limits allow. An operation counts as carried out
// until the context ends that it was created with, or, below [Holding], until its answer is written.
type Executor struct {
	graphql.GraphExecutor
	options Options
	gate    *gate
}

// NewExecutor returns an executor that has another one carry out what it admits.
func NewExecutor(o Options) Executor {
	return Executor{GraphExecutor: o.Inner, options: o, gate: newGate(o.Operations)}
}

// CreateOperationContext makes an operation of the parameters of a request, or says why it is not carried out.
func (e Executor) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	who := caller.Name(viewer.From(ctx))
	leave, err := e.enter(ctx, who)
	if err == nil {
		if e.options.Spenders != nil {
			err = e.options.Spenders.solvent(ctx, who)
		}
		if err == nil {
			err = e.options.Fresh(ctx) // it may have waited for long, or be one of many on a socket
		}
	}
	text, _ := params.Extensions[document.ExtensionWeight].(int)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			e.ChargeReceipt(ctx, text)
		}
		return document.Unread(params), gqlerror.List{gqlerror.Wrap(err)}
	}
	op, errs := e.check(ctx, params)
	switch {
	case errs != nil && e.options.Spenders != nil && (params.Query != "" || text > BulkyBody): // a hash that is not known is no mistake
		e.options.Spenders.fine(ctx, who, text)
	case errs == nil && op.Operation.Operation == ast.Subscription:
		leave() // what waits is bounded by the number of connections
	}
	if errs != nil {
		if e.options.Suggests {
			errs = document.Suggest(e.options.Schema, op.RawQuery, errs)
		}
		return op, errs
	}
	if op.Operation.Operation == ast.Mutation && e.options.Writable != nil {
		if err := e.options.Writable(ctx); err != nil { // before anything of it is done
			return op, gqlerror.List{gqlerror.Wrap(err)}
		}
	}
	if errs = e.charge(ctx, who, op, text); errs != nil {
		return op, errs
	}
	if op.Operation.Operation != ast.Subscription {
		if err := e.options.Answers.room(ctx, who, op); err != nil {
			Forgo(op)
			return op, gqlerror.List{gqlerror.Wrap(err)}
		}
	}
	e.options.Documents.Keep(ctx, op)
	return op, nil
}

// enter lets an operation in, unless AwaitTurn has done so.
func (e Executor) enter(ctx context.Context, who string) (leave func(), err error) {
	h, held := ctx.Value(holdKey{}).(*hold)
	if held && h.asked {
		return h.leave, h.err
	}
	leave, err = e.gate.enter(ctx, who, 1)
	switch {
	case err != nil:
	case held:
		h.leave = leave
	default:
		context.AfterFunc(ctx, leave)
	}
	return leave, err
}

// charge takes what an operation may cost from the budget of its caller.
func (e Executor) charge(ctx context.Context, who string, op *graphql.OperationContext, text int) gqlerror.List {
	if e.options.Spenders == nil {
		return nil
	}
	asked, _ := op.Stats.GetExtension(document.StatPrice).(document.Price)
	a, err := e.options.Spenders.open(ctx, who, op, text, asked)
	op.Stats.SetExtension(statAccount, a)
	if err != nil {
		return gqlerror.List{gqlerror.Wrap(err)}
	}
	context.AfterFunc(ctx, func() { e.options.Spenders.Close(ctx, a) })
	return nil
}

// check reads and validates a document, and counts what it may cost.
func (e Executor) check(ctx context.Context, params *graphql.RawParams) (op *graphql.OperationContext, errs gqlerror.List) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case document.TooManyFound:
			op, errs = p.Failed(params)
		default:
			panic(p)
		}
	}()
	return e.GraphExecutor.CreateOperationContext(ctx, params)
}

// Fine charges the caller for what could not be read, by its weight.
func (e Executor) Fine(ctx context.Context, weight int) {
	if e.options.Spenders != nil {
		e.options.Spenders.fine(ctx, caller.Name(viewer.From(ctx)), weight)
	}
}

// ChargeReceipt charges the caller for something of this weight that was received, and that nobody waits for any more.
func (e Executor) ChargeReceipt(ctx context.Context, weight int) {
	if e.options.Spenders != nil {
		e.options.Spenders.receive(ctx, caller.Name(viewer.From(ctx)), weight)
	}
}

// Solvent refuses a caller who has overdrawn, after a moment. Fault: Exhausted.
func (e Executor) Solvent(ctx context.Context) error {
	if e.options.Spenders == nil {
		return nil
	}
	return e.options.Spenders.solvent(ctx, caller.Name(viewer.From(ctx)))
}
