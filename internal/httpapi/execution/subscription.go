package execution

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
	"github.com/taggie/taggie/internal/httpapi/response"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/resolvers"
)

// Ending is how a subscription has ended.
type Ending uint8

// How a subscription ends.
const (
	Unwanted    Ending = iota // the client wants no more, or is gone
	Finished                  // there is nothing more to follow
	Refused                   // by its resolver, or for its errors
	Interrupted               // what it needs is away: the client is to begin again
	Revoked                   // its token does not count any more
)

// messageAge is how long ago that may have been read which says that the viewer may have a message of a subscription; internal/httpapi/signin
// says why.
const messageAge = 50 * time.Second

// firstWithin is how long a subscription keeps its turn without a first message: some have nothing to tell at first.
const firstWithin = 100 * time.Millisecond

// MessageInterrupted is why a connection is closed whose subscription was interrupted.
const MessageInterrupted = "the subscription was interrupted; connect again"

// Follower is who is told of a subscription.
type Follower struct {
	Prepared func(inTime bool)       // the set-up has ended, with which the subscription waits
	First    func(*graphql.Response) // with what it begins with; nil when it ends with nothing, or nobody wants it any more
	// Tell hands on an event, and calls sent when it is written, which gives its room back; false when nobody wants more.
	Tell func(_ *graphql.Response, sent func()) bool
}

// Follow carries a subscription out until it ends or ctx does. Only its set-up has a time limit, after which it cancels ctx.
// It returns how the subscription ended, and for Refused the response that says why. Clients begin again after a connection that was closed, and
// never after an error or the word that all is complete: hence what passes is neither of these.
func (r *Runner) Follow(ctx context.Context, cancel context.CancelFunc, oc *graphql.OperationContext, f Follower) (Ending, *graphql.Response) {
	leave, err := r.setUps.Enter(ctx, caller.Name(viewer.From(ctx)))
	if err != nil {
		return r.untimely(ctx, oc, err, f)
	}
	defer leave()
	start := time.Now() // to wait is not to be slow
	var end resolvers.Ending
	resolvers.WithEnding(oc, &end)
	asked, _ := oc.Stats.GetExtension(document.StatPrice).(document.Price)
	rooms := r.options.Answers.Messages(caller.Name(viewer.From(ctx)), asked.Weight.Bytes())
	defer rooms.End()
	resolvers.WithRoom(oc, rooms)
	var basis resolvers.Basis
	resolvers.WithBasis(oc, &basis)
	limit := time.AfterFunc(r.options.Timeout, cancel)
	setUp, span := r.options.Traces.Operation(ctx, TypeOf(oc))
	next, running := r.Executor.DispatchOperation(graphql.StartOperationTrace(setUp), oc)
	took := time.Since(start)
	ctx = telemetry.Untraced(ctx) // what follows may go on for days
	defer span.Ended(telemetry.Cancelled)
	inTime := limit.Stop()
	f.Prepared(inTime)
	if !inTime {
		span.Ended(string(model.ErrorCodeUnavailable))
		resp := r.Late(context.WithoutCancel(ctx), oc)
		if resp != nil {
			f.First(resp)
		}
		return Interrupted, nil
	}
	running = below(running, oc)
	// Its turn lasts until its first message is rendered, which is most of the work.
	silent := time.AfterFunc(firstWithin, func() {
		span.Ended("ok")
		leave()
	})
	defer silent.Stop()
	tab := r.spenders.Tab()
	for counted := false; ; counted = true {
		tab.Pay(ctx)
		rooms.Want()
		resp := next(running)
		if !counted {
			if resp != nil {
				span.Ended(response.Outcome(resp))
			}
			first := resp
			if ctx.Err() != nil {
				first = nil // what it says is only that the client wants no more
			}
			r.begun(oc, first, took)
			f.First(first)
		}
		switch {
		case ctx.Err() != nil:
			return Unwanted, nil
		case resp == nil && end.Finished():
			return Finished, nil
		case resp == nil:
			return Interrupted, nil
		case passing(resp):
			r.tell(ctx, resp)
			return Interrupted, nil
		case len(resp.Data) == 0: // the resolver refused; respond has not seen it
			r.tell(ctx, resp)
			return Refused, resp
		}
		sent, err := rooms.Next(ctx, cap(resp.Data))
		if err == nil {
			if how := r.still(ctx, &basis); how != Finished {
				sent()
				return how, nil
			}
		}
		switch {
		case err != nil && ctx.Err() == nil: // who comes back gets it, when there is room
			return Interrupted, nil
		case err != nil, !f.Tell(resp, sent):
			return Unwanted, nil
		case counted: // the first one is paid for
			tab.Add(resp.Data)
		}
		leave()
	}
}

// untimely ends a subscription that got no turn to be set up.
func (r *Runner) untimely(ctx context.Context, oc *graphql.OperationContext, err error, f Follower) (Ending, *graphql.Response) {
	admission.Forgo(oc)
	if ctx.Err() != nil {
		f.First(nil)
		return Unwanted, nil
	}
	resp := r.Refuse(ctx, oc, gqlerror.List{gqlerror.Wrap(err)})
	f.First(resp)
	return Refused, resp
}

// still says how a subscription ends whose next message its viewer may not have, Finished for one that goes on.
func (r *Runner) still(ctx context.Context, basis *resolvers.Basis) Ending {
	err := r.options.SignIn.Fresh(ctx)
	switch at := basis.Since(); {
	case ctx.Err() != nil:
		return Unwanted
	case fault.Is(err, fault.Unauthenticated):
		return Revoked
	case err != nil, !at.IsZero() && time.Since(at) > messageAge: // who comes back gets it, if that may be
		return Interrupted
	}
	return Finished
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
