package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/viewer"
)

// limited is the executor of all transports: it lets nobody do more than the limits allow. An operation counts as carried out
// until the context ends that it was created with, or, below holding, until its answer is written.
type limited struct {
	graphql.GraphExecutor
	schema   *ast.Schema
	suggests bool
	fresh    func(context.Context) error // looks whether the token still counts
	gate     *gate
	patience time.Duration // with those that wait for it
	answers  *answers
	spenders *spenders                   // nil without a budget
	writable func(context.Context) error // nil when nothing speaks against changes
	// documents keeps those of operations that are carried out.
	documents document.Persisted
}

// CreateOperationContext makes an operation of the parameters of a request, or says why it is not carried out.
func (l limited) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	who := caller.Name(viewer.From(ctx))
	leave, err := l.enter(ctx, who)
	if err == nil {
		if l.spenders != nil {
			err = l.spenders.solvent(ctx, who)
		}
		if err == nil {
			err = l.fresh(ctx) // it may have waited for long, or be one of many on a socket
		}
	}
	text, _ := params.Extensions[document.ExtensionWeight].(int)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			l.unwanted(ctx, text)
		}
		return document.Unread(params), gqlerror.List{gqlerror.Wrap(err)}
	}
	op, errs := l.check(ctx, params)
	switch {
	case errs != nil && l.spenders != nil && (params.Query != "" || text > bulkyBody): // a hash that is not known is no mistake
		l.spenders.fine(ctx, who, text)
	case errs == nil && op.Operation.Operation == ast.Subscription:
		leave() // what waits is bounded by sockets
	}
	if errs != nil {
		if l.suggests {
			errs = document.Suggest(l.schema, op.RawQuery, errs)
		}
		return op, errs
	}
	if op.Operation.Operation == ast.Mutation && l.writable != nil {
		if err := l.writable(ctx); err != nil { // before anything of it is done
			return op, gqlerror.List{gqlerror.Wrap(err)}
		}
	}
	if errs = l.charge(ctx, who, op, text); errs != nil {
		return op, errs
	}
	if op.Operation.Operation != ast.Subscription {
		if err := l.answers.room(ctx, who, op); err != nil {
			forgo(op)
			return op, gqlerror.List{gqlerror.Wrap(err)}
		}
	}
	l.documents.Keep(ctx, op)
	return op, nil
}

// enter lets an operation in, unless turn has done so.
func (l limited) enter(ctx context.Context, who string) (leave func(), err error) {
	h, held := ctx.Value(holdKey{}).(*hold)
	if held && h.asked {
		return h.leave, h.err
	}
	leave, err = l.gate.enter(ctx, who, 1)
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
func (l limited) charge(ctx context.Context, who string, op *graphql.OperationContext, text int) gqlerror.List {
	if l.spenders == nil {
		return nil
	}
	asked, _ := op.Stats.GetExtension(document.StatPrice).(document.Price)
	a, err := l.spenders.open(ctx, who, op, text, asked)
	op.Stats.SetExtension(statAccount, a)
	if err != nil {
		return gqlerror.List{gqlerror.Wrap(err)}
	}
	context.AfterFunc(ctx, func() { l.spenders.close(ctx, a) })
	return nil
}

// check reads and validates a document, and counts what it may cost.
func (l limited) check(ctx context.Context, params *graphql.RawParams) (op *graphql.OperationContext, errs gqlerror.List) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case document.TooManyFound:
			op, errs = p.Failed(params)
		default:
			panic(p)
		}
	}()
	return l.GraphExecutor.CreateOperationContext(ctx, params)
}

// fine charges the caller for what could not be read, by its weight.
func (l limited) fine(ctx context.Context, weight int) {
	if l.spenders != nil {
		l.spenders.fine(ctx, caller.Name(viewer.From(ctx)), weight)
	}
}

// unwanted charges the caller for something of this weight that was received, and that nobody waits for any more.
func (l limited) unwanted(ctx context.Context, weight int) {
	if l.spenders != nil {
		l.spenders.receive(ctx, caller.Name(viewer.From(ctx)), weight)
	}
}

// brake holds back who has overdrawn, for a moment.
func (l limited) brake(ctx context.Context) {
	if l.spenders != nil {
		_ = l.spenders.solvent(ctx, caller.Name(viewer.From(ctx))) // whoever asks refuses anyway
	}
}

// statusOfLimit is the status of an operation that is not carried out, 0 when nothing but its media type says.
func statusOfLimit(h http.Header, errs gqlerror.List) int {
	for _, err := range errs {
		known, ok := errors.AsType[*fault.Error](err)
		if !ok {
			continue
		}
		switch {
		case known.RetryAfter > 0:
			h.Set("Retry-After", strconv.Itoa(present.Seconds(known.RetryAfter)))
			return http.StatusTooManyRequests
		case known.Kind == fault.Unavailable:
			h.Set("Retry-After", "1")
			return http.StatusServiceUnavailable
		}
	}
	return 0
}
