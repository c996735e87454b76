package admission

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/memory"
)

const (
	// maxUnsent is how many bytes the answers of one caller may take up that are not sent yet, on one server; half of what there is for
	// all callers, where that is less.
	maxUnsent = 64 << 20
	// defaultUnsent is the same of all callers together, unless somebody says otherwise.
	defaultUnsent = 256 << 20
	// lightAnswer is what every operation in its gate may answer without asking for room.
	lightAnswer = 64 << 10
	// smallAnswer is how much room a query takes as it needs it. One that needs more reserves what it may weigh.
	smallAnswer = 1 << 20
	// shareOfSteps is which part of the share of a caller, besides it, the small answers of the caller may take up: at the usual number of
	// operations of a caller all of them can be small answers.
	shareOfSteps = 2
	statUnsent   = "TaggieUnsent"
)

// Answers gives room to answers while they are built and until they are sent. Most turn out to be small, whatever they may weigh: a query takes
// room for what was read and written for it, in small steps. As soon as it is not small any more, or there is no more room for small ones,
// it waits until it has room for all that it may weigh. What waits for that holds nothing that somebody else waits for. What turns out to be
// larger than its estimate holds its room while it waits for more, for no longer than an answer waits.
type Answers struct {
	most, share int64 // of all, and of one caller
	waiting     time.Duration
	all         *semaphore.Weighted // three quarters, for reservations
	small       *semaphore.Weighted // a quarter, for steps

	mu      sync.Mutex
	callers map[string]*holder
}

// holder is whose answers take up room, and how many there are.
type holder struct {
	inside *semaphore.Weighted // reservations
	steps  *semaphore.Weighted // small answers
	all    int
}

// NewAnswers returns room of so many bytes for all answers together, the usual number when most is 0; waiting is how long an answer waits for room.
func NewAnswers(most int64, waiting time.Duration) *Answers {
	if most <= 0 {
		most = defaultUnsent
	}
	share := max(1, min(maxUnsent, most/2))
	return &Answers{most: most, share: share, waiting: waiting, all: semaphore.NewWeighted(most - most/4), small: semaphore.NewWeighted(most / 4), callers: make(map[string]*holder)}
}

// enter returns the room of a caller, which leave gives back.
func (a *Answers) enter(who string) *holder {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.callers[who]
	if own == nil {
		own = &holder{inside: semaphore.NewWeighted(a.share), steps: semaphore.NewWeighted(a.share / shareOfSteps)}
		a.callers[who] = own
	}
	own.all++
	return own
}

// leave forgets a caller who has no answers.
func (a *Answers) leave(who string, own *holder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if own.all--; own.all == 0 {
		delete(a.callers, who)
	}
}

// refusedRoom is why there was no room before a bounded wait was over: others did not read, or nobody waits any more. Faults: Exhausted,
// Unavailable for the latter.
func refusedRoom(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fault.Wrap(fault.Unavailable, err, present.Late)
	}
	return &fault.Error{
		Kind: fault.Exhausted, RetryAfter: time.Second,
		Message: "too many bytes of answers are not taken yet: read those of yours, or ask for less at a time",
	}
}

// KeepRoom keeps the room of an answer until what it returns is called, or the context ends; nil for an answer that has none.
func KeepRoom(ctx context.Context, op *graphql.OperationContext) (sent func()) {
	u := unsentOf(op)
	if u == nil || !u.keep() {
		return nil
	}
	stop := context.AfterFunc(ctx, u.sent)
	return func() { stop(); u.sent() }
}

// unsentOf is the room of an operation's answer, nil for a subscription.
func unsentOf(op *graphql.OperationContext) *unsent {
	if op == nil {
		return nil
	}
	u, _ := op.Stats.GetExtension(statUnsent).(*unsent)
	return u
}

// room gives the answer of an operation its room: to a query as much as it needs while it is carried out, to a mutation at once as much as its
// answer may weigh, since what a mutation did must be told. Faults: those of refusedRoom, of mutations only.
func (a *Answers) room(ctx context.Context, who string, op *graphql.OperationContext) error {
	asked, _ := op.Stats.GetExtension(document.StatPrice).(document.Price)
	u := &unsent{of: a, who: who, weighs: int64(asked.Weight.Bytes())}
	if op.Operation.Operation == ast.Mutation {
		if u.weighs > lightAnswer {
			bounded, cancel := context.WithTimeout(ctx, a.waiting)
			defer cancel()
			if err := u.resize(bounded, u.weighs); err != nil {
				u.sent()
				return refusedRoom(ctx, err)
			}
		}
		u.told = true
	}
	u.belongsTo(ctx, op)
	return nil
}

// Metered returns a context in which what is made for an operation takes room. It ends no later than that of the operation.
func Metered(ctx context.Context, op *graphql.OperationContext) context.Context {
	if u := unsentOf(op); u != nil {
		return memory.Metered(ctx, meter{u, ctx})
	}
	return ctx
}

// meter takes room for an answer.
type meter struct {
	*unsent
	operation context.Context
}

// Take waits until there is room for n bytes more that are made for the answer. It implements [memory.Meter]. Faults: those of refusedRoom. They
// stand for this and whatever is made for the answer then, unless the context is that of a part whose time was over.
func (m meter) Take(ctx context.Context, n int) error { return m.take(m.operation, ctx, int64(n)) }

// Weigh brings the room of an answer in line with the size of a part of it, after which come others or not. Its estimate may have been too
// low. Room is given back with the last part; messages of subscriptions have room of their own. Faults: those of refusedRoom, for a part of a query that
// has no room.
func (a *Answers) Weigh(ctx context.Context, op *graphql.OperationContext, size int, goesOn bool) error {
	if u := unsentOf(op); u != nil {
		return u.weigh(ctx, int64(size), !goesOn)
	}
	return nil
}
