package httpapi

import (
	"bytes"
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/resolvers"
)

// ending is how a subscription has ended.
type ending uint8

const (
	unwanted    ending = iota // the client wants no more, or is gone
	finished                  // there is nothing more to follow
	refused                   // by its resolver, or for its errors
	interrupted               // what it needs is away: the client is to begin again
	revoked                   // its token does not count any more
)

// firstWithin is how long a subscription keeps its turn without a first message: some have nothing to tell at first.
const firstWithin = 100 * time.Millisecond

// messageInterrupted is why a connection is closed whose subscription was interrupted.
const messageInterrupted = "the subscription was interrupted; connect again"

// follower is who is told of a subscription.
type follower struct {
	prepared func(inTime bool)       // the set-up has ended, with which the subscription waits
	first    func(*graphql.Response) // with what it begins with; nil when it ends with nothing, or nobody wants it any more
	// tell hands on an event, and calls sent when it is written, which gives its room back; false when nobody wants more.
	tell func(_ *graphql.Response, sent func()) bool
}

// follow carries a subscription out until it ends or ctx does. Only its set-up has a time limit, after which it cancels ctx.
// It returns how the subscription ended, and for refused the response that says why. Clients begin again after a connection that was closed, and
// never after an error or the word that all is complete: hence what passes is neither of these.
func (a *api) follow(ctx context.Context, cancel context.CancelFunc, oc *graphql.OperationContext, f follower) (ending, *graphql.Response) {
	leave, err := a.setUps.Enter(ctx, caller.Name(viewer.From(ctx)))
	if err != nil {
		return a.untimely(ctx, oc, err, f)
	}
	defer leave()
	start := time.Now() // to wait is not to be slow
	var end resolvers.Ending
	resolvers.WithEnding(oc, &end)
	asked, _ := oc.Stats.GetExtension(document.StatPrice).(document.Price)
	rooms := a.ops.answers.Messages(caller.Name(viewer.From(ctx)), asked.Weight.Bytes())
	defer rooms.End()
	resolvers.WithRoom(oc, rooms)
	var basis resolvers.Basis
	resolvers.WithBasis(oc, &basis)
	limit := time.AfterFunc(a.options.OperationTimeout, cancel)
	next, running := a.exec.DispatchOperation(graphql.StartOperationTrace(ctx), oc)
	took := time.Since(start)
	inTime := limit.Stop()
	f.prepared(inTime)
	if !inTime {
		resp := late(graphql.WithOperationContext(context.WithoutCancel(ctx), oc), a.exec, oc)
		if resp != nil {
			f.first(resp)
		}
		return interrupted, nil
	}
	running = below(running, oc)
	// Its turn lasts until its first message is rendered, which is most of the work.
	silent := time.AfterFunc(firstWithin, leave)
	defer silent.Stop()
	tab := a.ops.spenders.Tab()
	for counted := false; ; counted = true {
		tab.Pay(ctx)
		rooms.Want()
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
		case ctx.Err() != nil:
			return unwanted, nil
		case resp == nil && end.Finished():
			return finished, nil
		case resp == nil:
			return interrupted, nil
		case passing(resp):
			a.ops.tell(ctx, resp)
			return interrupted, nil
		case len(resp.Data) == 0: // the resolver refused; respond has not seen it
			a.ops.tell(ctx, resp)
			return refused, resp
		}
		sent, err := rooms.Next(ctx, cap(resp.Data))
		if err == nil {
			if how := a.still(ctx, &basis); how != finished {
				sent()
				return how, nil
			}
		}
		switch {
		case err != nil && ctx.Err() == nil: // who comes back gets it, when there is room
			return interrupted, nil
		case err != nil, !f.tell(resp, sent):
			return unwanted, nil
		case counted: // the first one is paid for
			tab.Add(resp.Data)
		}
		leave()
	}
}

// untimely ends a subscription that got no turn to be set up.
func (a *api) untimely(ctx context.Context, oc *graphql.OperationContext, err error, f follower) (ending, *graphql.Response) {
	admission.Forgo(oc)
	if ctx.Err() != nil {
		f.first(nil)
		return unwanted, nil
	}
	resp := a.exec.DispatchError(graphql.WithOperationContext(ctx, oc), gqlerror.List{gqlerror.Wrap(err)})
	f.first(resp)
	return refused, resp
}

// still says how a subscription ends whose next message its viewer may not have, finished for one that goes on.
func (a *api) still(ctx context.Context, basis *resolvers.Basis) ending {
	err := a.options.fresh(ctx)
	switch at := basis.Since(); {
	case ctx.Err() != nil:
		return unwanted
	case fault.Is(err, fault.Unauthenticated):
		return revoked
	case err != nil, !at.IsZero() && time.Since(at) > messageAge: // who comes back gets it, if that may be
		return interrupted
	}
	return finished
}

// passing reports whether a response has nothing to tell but that something is away at the moment. To send it would end the subscription, or
// lose the message that it should have been.
func passing(resp *graphql.Response) bool {
	for _, err := range resp.Errors {
		if refusal.CodeOf(err) != model.ErrorCodeUnavailable {
			return false
		}
	}
	if len(resp.Errors) == 0 {
		return false
	}
	_, value, _ := bytes.Cut(resp.Data, []byte(":")) // of the only field, whose name has none
	return len(resp.Data) == 0 || string(resp.Data) == "null" || string(bytes.TrimSpace(value)) == "null}"
}

// below puts what comes of a subscription below its field: gqlgen leaves that out of the paths of errors.
func below(ctx context.Context, oc *graphql.OperationContext) context.Context {
	for _, field := range graphql.CollectFields(oc, oc.Operation.SelectionSet, []string{"Subscription"}) {
		return graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription", Field: field})
	}
	return ctx
}
