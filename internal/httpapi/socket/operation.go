package socket

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
	"github.com/taggie/taggie/internal/telemetry"
)

// maxWorking is how many operations of a socket are worked on at a time, subscriptions that wait aside: each may hold a
// large answer. The others wait within their own time.
const maxWorking = 8

// operation is one operation of a socket. The mutex of the socket guards what changes.
type operation struct {
	id        string
	payload   json.RawMessage // until it is read
	ctx       context.Context
	cancel    context.CancelFunc
	span      *telemetry.Span
	leave     func() // when what was read of it is in memory no more; nil before
	size      int    // bytes of the message it came in
	sent      func() // gives back the room of its answer, until that is in the queue; nil when it has none
	cancelled bool   // by the client: nothing more may be sent
	over      bool   // its last message is in the queue, or gone
	settled   bool   // it has ended, or is a subscription that waits
}

// subscribe begins an operation of any type. One that finds no place costs something, and keeps who has overdrawn from being read for a
// moment: a flood is at the expense of whoever sends it.
func (s *socket) subscribe(ctx context.Context, m message, size int) {
	op := &operation{id: *m.ID, payload: m.Payload, size: size}
	refused := s.begin(op)
	if op.ctx != nil {
		go s.run(op)
		return
	}
	if refused == nil {
		return
	}
	if refusal.CodeOf(refused[0]) == model.ErrorCodeExhausted {
		s.server.options.Runner.Fine(ctx, op.size)
		_ = s.server.options.Runner.Solvent(ctx) // it is refused anyway, after a moment
		s.wire.Excuse()
	}
	s.send(nil, false, errorMessage(op.id, refused))
}

// begin registers an operation, closes the socket, or tells why the operation is refused.
func (s *socket) begin(op *operation) gqlerror.List {
	most := s.server.options.Registry.Operations()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, taken := s.operations[op.id]
	switch {
	case s.stage != stageReady:
		s.closeLocked(connection.CodeNoAck, "subscribe came before connection_ack")
	case taken:
		s.closeLocked(connection.CodeSameID, "an operation with this id is under way")
	case s.leaving != 0: // clients send it again after the close, which is near; an error they would take for the end
	case len(s.operations) >= most || s.live >= 2*most: // cancelled ones may need a moment to end
		return refuseOperation(model.ErrorCodeExhausted, "a socket has at most %d operations under way: complete one first", most)
	case s.held > 0 && s.held+op.size > request.MaxBody:
		return refuseOperation(model.ErrorCodeExhausted, "the operations under way on a socket have at most %d bytes together: wait until one has ended", request.MaxBody)
	default:
		if s.operations == nil {
			s.operations = make(map[string]*operation, 1)
		}
		s.operations[op.id] = op
		s.begun++
		s.live++
		s.working++
		s.held += op.size
		op.ctx, op.cancel = context.WithCancel(telemetry.WithRequestID(s.ctx, s.requestOf(s.begun)))
		op.ctx, op.span = s.server.options.Traces.Message(op.ctx)
	}
	return nil
}

// complete ends an operation that the client does not want any more; messages that wait to be written are dropped.
func (s *socket) complete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	op, ok := s.operations[id]
	if !ok {
		return // its own complete was on its way
	}
	delete(s.operations, id)
	op.cancelled = true
	op.cancel()
	s.queue.drop(op)
	s.room.Broadcast()
}

// settle marks a subscription as set up, or an operation as ended. The caller holds the mutex.
func (s *socket) settle(op *operation) {
	if op.settled {
		return
	}
	op.settled = true
	s.working--
	s.leave()
}

// ended forgets an operation.
func (s *socket) ended(op *operation) {
	op.span.Ended("ok")
	op.cancel()
	if op.leave != nil {
		op.leave()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operations[op.id] == op && !op.over {
		delete(s.operations, op.id)
	}
	s.live--
	s.held -= op.size
	s.settle(op)
}

// take takes the payload of an operation apart. A large one waits for others of its caller to be read, and for room. It returns nil
// when the payload is malformed, which closes the socket. Errors: that nobody wants it any more, faults of enter.
func (s *socket) take(op *operation) (*graphql.RawParams, error) {
	in := s.server.options.Intake
	ctx, cancel := context.WithTimeout(op.ctx, request.MaxReading)
	defer cancel()
	if op.size > admission.BulkyBody {
		done, err := in.Turn(ctx)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	leave, err := in.Place(ctx, op.payload)
	if err != nil {
		return nil, err
	}
	op.leave = leave
	if err := op.ctx.Err(); err != nil {
		return nil, err
	}
	payload := op.payload
	op.payload = nil
	params, wrong, err := readOperation(payload)
	if err != nil {
		return nil, err
	}
	if wrong != "" {
		s.malformed(op.ctx, wrong, request.Weight(payload))
		return nil, nil
	}
	params.Headers = s.header
	return params, nil
}

// run carries an operation out.
func (s *socket) run(op *operation) {
	a := s.server.options
	start := time.Now()
	var oc *graphql.OperationContext
	defer s.ended(op)
	defer func() {
		if p := recover(); p != nil { // gqlgen recovers resolvers only
			resp := a.Runner.Panicked(op.ctx, p)
			s.fail(op, oc, resp, start)
		}
	}()
	params, err := s.take(op)
	switch {
	case err == nil:
	case op.ctx.Err() != nil:
		a.Runner.ChargeReceipt(op.ctx, op.size)
	default:
		s.fail(op, oc, &graphql.Response{Errors: gqlerror.List{present.Error(op.ctx, err)}}, start)
	}
	if params == nil {
		return
	}
	held, release := admission.Holding(op.ctx)
	defer release()
	free, err := s.slot(op.ctx)
	if err != nil {
		if op.ctx.Err() == nil {
			s.fail(op, oc, &graphql.Response{Errors: gqlerror.List{present.Error(op.ctx, err)}}, start)
		}
		return
	}
	a.Runner.AwaitTurn(held)
	start = time.Now() // to wait is not to be slow
	ctx, stop := context.WithTimeout(graphql.StartOperationTrace(held), a.Timeout)
	defer stop()
	var errs gqlerror.List
	oc, errs = a.Runner.Create(ctx, params)
	if errs == nil && oc.Operation.Operation == ast.Subscription {
		stop() // it waits for long: keep nothing that it does not need
		s.stream(op, oc, start, free)
		return
	}
	defer free()
	var resp *graphql.Response
	if errs != nil {
		resp = a.Runner.Refuse(ctx, oc, errs)
	} else {
		next, ctx := a.Runner.DispatchOperation(ctx, oc)
		if resp = next(ctx); resp == nil && op.ctx.Err() == nil {
			resp = a.Runner.Late(ctx, oc)
		}
	}
	if resp == nil {
		return // nobody waits for it any more
	}
	s.logged(op.ctx, oc, resp, start)
	if len(resp.Data) == 0 {
		s.send(op, true, errorMessage(op.id, resp.Errors))
		return
	}
	op.sent = admission.KeepRoom(s.ctx, oc)
	if !s.send(op, true, nextMessage(op.id, resp), completeMessage(op.id)) && op.sent != nil {
		op.sent()
	}
}

// slot waits until an operation of the socket may be worked on, and returns what ends that. Faults: Exhausted.
func (s *socket) slot(ctx context.Context) (free func(), err error) {
	late := time.NewTimer(s.server.options.Timeout)
	defer late.Stop()
	select {
	case s.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-s.slots }), nil
	case <-late.C:
		return nil, admission.TooManyOperations(0)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fail ends an operation with errors that no executor has seen, and counts it.
func (s *socket) fail(op *operation, oc *graphql.OperationContext, resp *graphql.Response, start time.Time) {
	op.span.Ended(response.Outcome(resp))
	s.server.options.Runner.Count(oc, resp, time.Since(start))
	s.logged(op.ctx, oc, resp, start)
	s.send(op, true, errorMessage(op.id, resp.Errors))
}

// stream carries a subscription out.
func (s *socket) stream(op *operation, oc *graphql.OperationContext, start time.Time, free func()) {
	free() // while it waits for its turn to be set up, others of the socket are worked on
	how, refusal := s.server.options.Runner.Follow(op.ctx, op.cancel, oc, execution.Follower{
		Prepared: func(inTime bool) {
			op.leave()
			op.span.Ended("ok")
			if inTime {
				s.mu.Lock()
				s.settle(op)
				s.mu.Unlock()
			}
		},
		First: func(resp *graphql.Response) { s.logged(op.ctx, oc, resp, start) },
		Tell: func(resp *graphql.Response, sent func()) bool {
			op.sent = sent
			if s.send(op, false, nextMessage(op.id, resp)) {
				return true
			}
			sent()
			return false
		},
	})
	switch how {
	case execution.Refused:
		s.send(op, true, errorMessage(op.id, refusal.Errors))
	case execution.Finished:
		s.send(op, true, completeMessage(op.id))
	case execution.Interrupted:
		s.interrupt()
	case execution.Revoked:
		s.Close(connection.CodeForbidden, present.Revoked)
	}
}

// logged tells the log of an operation, as it is told of requests.
func (s *socket) logged(ctx context.Context, oc *graphql.OperationContext, resp *graphql.Response, start time.Time) {
	said := "ok"
	if resp != nil {
		said = response.Outcome(resp)
	}
	s.server.options.Log.LogAttrs(ctx, slog.LevelInfo, "socket operation", slog.String("operation", execution.TypeOf(oc)),
		slog.String("outcome", said), slog.Duration("took", time.Since(start)))
}
