package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
)

const (
	// maxUnsent is how many bytes the answers of one caller may take up that are not sent yet, on one server.
	maxUnsent = 64 << 20
	// defaultUnsent is the same of all callers together, unless Options say otherwise.
	defaultUnsent = 256 << 20
	// lightAnswer is what every operation in its gate may answer without asking for room.
	lightAnswer = 64 << 10
	statUnsent  = "TaggieUnsent"
)

// answers gives room to answers before they are built: to each as much as it may weigh, until it is known what it does, and of that until
// it is sent.
type answers struct {
	most    int64 // of all
	waiting time.Duration
	all     *semaphore.Weighted

	mu      sync.Mutex
	callers map[string]*callers
}

func newAnswers(most int64, waiting time.Duration) *answers {
	if most <= 0 {
		most = defaultUnsent
	}
	return &answers{most: most, waiting: waiting, all: semaphore.NewWeighted(most), callers: make(map[string]*callers)}
}

// unsent is the room of one answer.
type unsent struct {
	of   *answers
	who  string
	own  *callers
	mu   sync.Mutex
	held int64
	kept bool // it is sent later than its operation ends
}

// reserve waits until there is room for an answer of this weight, nil for a light one. Faults: Exhausted when it waited in vain,
// Unavailable when the operation's time is up.
func (a *answers) reserve(ctx context.Context, who string, weight int) (*unsent, error) {
	if weight <= lightAnswer {
		return nil, nil
	}
	held := min(int64(weight), maxUnsent, a.most)
	a.mu.Lock()
	own := a.callers[who]
	if own == nil {
		own = &callers{inside: semaphore.NewWeighted(maxUnsent)}
		a.callers[who] = own
	}
	own.all++
	a.mu.Unlock()
	u := &unsent{of: a, who: who, own: own}
	bounded, cancel := context.WithTimeout(ctx, a.waiting)
	defer cancel()
	err := own.inside.Acquire(bounded, held)
	if err == nil {
		if err = a.all.Acquire(bounded, held); err != nil {
			own.inside.Release(held)
		}
	}
	if err == nil {
		u.held = held
		return u, nil
	}
	u.forget()
	if ctx.Err() != nil {
		return nil, fault.Wrap(fault.Unavailable, err, messageLate)
	}
	return nil, &fault.Error{
		Kind: fault.Exhausted, RetryAfter: time.Second,
		Message: "too many bytes of answers are not taken yet: read those of yours, or ask for less at a time",
	}
}

func (u *unsent) forget() {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if u.own.all--; u.own.all == 0 {
		delete(u.of.callers, u.who)
	}
}

// shrink gives back what an answer does not take up.
func (u *unsent) shrink(to int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shrinkLocked(int64(to))
}

func (u *unsent) shrinkLocked(to int64) {
	if less := u.held - to; less > 0 {
		u.own.inside.Release(less)
		u.of.all.Release(less)
		u.held = to
	}
}

// sent gives everything back.
func (u *unsent) sent() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held > 0 {
		u.shrinkLocked(0)
		u.forget()
	}
}

// over gives everything back when the operation ends, unless its answer is sent later.
func (u *unsent) over() {
	u.mu.Lock()
	kept := u.kept
	u.mu.Unlock()
	if !kept {
		u.sent()
	}
}

// keepUnsent keeps the room of an answer until what it returns is called, or the context ends.
func keepUnsent(ctx context.Context, op *graphql.OperationContext) (sent func()) {
	u := unsentOf(op)
	if u == nil {
		return nil
	}
	u.mu.Lock()
	u.kept = true
	u.mu.Unlock()
	stop := context.AfterFunc(ctx, u.sent)
	return func() { stop(); u.sent() }
}

// unsentOf is the room that an operation's answer has, nil for a light one.
func unsentOf(op *graphql.OperationContext) *unsent {
	if op == nil {
		return nil
	}
	u, _ := op.Stats.GetExtension(statUnsent).(*unsent)
	return u
}

// room reserves what the answer of an operation may weigh. Faults: those of reserve.
func (l limited) room(ctx context.Context, who string, op *graphql.OperationContext) error {
	asked, _ := op.Stats.GetExtension(statPrice).(price)
	u, err := l.answers.reserve(ctx, who, asked.bytes)
	if u == nil {
		return err
	}
	op.Stats.SetExtension(statUnsent, u)
	if h, ok := ctx.Value(holdKey{}).(*hold); ok {
		leave := h.leave
		h.leave = func() { u.over(); leave() }
	} else {
		context.AfterFunc(ctx, u.over)
	}
	return nil
}
