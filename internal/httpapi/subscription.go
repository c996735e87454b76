package httpapi

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// follower is who is told of a subscription.
type follower struct {
	prepared func(inTime bool)            // the set-up has ended, with which the subscription waits
	first    func(*graphql.Response)      // with what it begins with; nil when it ends with nothing, or nobody wants it any more
	tell     func(*graphql.Response) bool // an event; false when nobody wants more
}

// follow carries a subscription out until it ends or ctx does. Only its set-up has a time limit, after which it cancels ctx.
// It returns the response that refuses the subscription, or ends it with errors, and otherwise whether it is complete.
func (a *api) follow(ctx context.Context, cancel context.CancelFunc, oc *graphql.OperationContext, start time.Time, f follower) (refusal *graphql.Response, complete bool) {
	limit := time.AfterFunc(a.options.OperationTimeout-time.Since(start), cancel)
	next, running := a.exec.DispatchOperation(graphql.StartOperationTrace(ctx), oc)
	took := time.Since(start)
	inTime := limit.Stop()
	f.prepared(inTime)
	if !inTime {
		resp := late(graphql.WithOperationContext(context.WithoutCancel(ctx), oc), a.exec, oc)
		if resp != nil {
			f.first(resp)
		}
		return resp, false
	}
	running = below(running, oc)
	owed := 0
	for counted := false; ; counted = true {
		if owed >= messagesOwed {
			a.ops.spenders.told(ctx, owed)
			owed = 0
		}
		resp := next(running)
		if !counted {
			first := resp
			if ctx.Err() != nil {
				first = nil // what it says is only that the client wants no more
			}
			a.ops.begun(oc, first, took)
			f.first(first)
		}
		switch {
		case resp == nil:
			return nil, ctx.Err() == nil
		case len(resp.Data) == 0: // the resolver refused; respond has not seen it
			a.ops.tell(ctx, resp)
			return resp, false
		case !f.tell(resp):
			return nil, false
		case counted && a.ops.spenders != nil: // the first one is paid for
			owed += messageCost + spentOn(resp.Data)
		}
	}
}

// below puts what comes of a subscription below its field: gqlgen leaves that out of the paths of errors.
func below(ctx context.Context, oc *graphql.OperationContext) context.Context {
	for _, field := range graphql.CollectFields(oc, oc.Operation.SelectionSet, []string{"Subscription"}) {
		return graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription", Field: field})
	}
	return ctx
}
