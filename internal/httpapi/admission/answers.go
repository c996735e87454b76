package admission

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/memory"
	"github.com/taggie/taggie/internal/viewer"
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
	statUnsent  = "TaggieUnsent"
)

// Answers gives room to answers while they are built and until they are sent. Most turn out to be small, whatever they may weigh: a query takes
// room for what was read and written for it, in small steps. As soon as it is not small any more, or there is no more room for small ones,
// it waits until it has room for all that it may weigh. What waits for that holds nothing that somebody else waits for.
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
	inside *semaphore.Weighted
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

// unsent is the room of one answer.
type unsent struct {
	of  *Answers
	who string
	own *holder

	mu      sync.Mutex
	held    int64
	kept    bool  // it is sent later than its operation ends
	given   bool  // back: there is no more of it
	taken   int64 // bytes that were made for it
	small   int64 // room of small answers that it holds
	refused error // there was no room for what it may weigh

	weighs    int         // at most, as far as the estimate goes
	reserving sync.Mutex  // by the first of those who want more than a small answer has
	reserved  atomic.Bool // room for what it may weigh
}

// begin makes room for nothing yet.
func (a *Answers) begin(who string) *unsent {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.callers[who]
	if own == nil {
		own = &holder{inside: semaphore.NewWeighted(a.share)}
		a.callers[who] = own
	}
	own.all++
	return &unsent{of: a, who: who, own: own}
}

// reserve waits until there is room for an answer of this weight, nil for a light one. Faults: those of resize.
func (a *Answers) reserve(ctx context.Context, who string, weight int) (*unsent, error) {
	if weight <= lightAnswer {
		return nil, nil
	}
	u := a.begin(who)
	bounded, cancel := context.WithTimeout(ctx, a.waiting)
	defer cancel()
	if err := u.resize(bounded, weight); err != nil {
		u.sent()
		return nil, refusedRoom(ctx, err)
	}
	return u, nil
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

// resize makes the room as large as an answer of this weight needs it, and waits for what is missing until the context ends. No room is
// larger than the share of its caller. Error: the context's.
func (u *unsent) resize(ctx context.Context, weight int) error {
	to := min(int64(weight), u.of.share)
	u.mu.Lock()
	more := to - u.held
	if more <= 0 {
		u.shrinkLocked(to)
	}
	u.mu.Unlock()
	if more <= 0 {
		return nil
	}
	if err := u.own.inside.Acquire(ctx, more); err != nil {
		return err
	}
	if err := u.of.all.Acquire(ctx, more); err != nil {
		u.own.inside.Release(more)
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.held += more
	u.shrinkSmallLocked(0)
	if u.given { // meanwhile: nobody waits for the answer
		u.shrinkLocked(0)
	}
	return nil
}

// Take waits until there is room for n bytes more that are made for the answer. It implements [memory.Meter]. Faults: those of reserve, for
// this and whatever is made for it then.
func (u *unsent) Take(ctx context.Context, n int) error {
	if u.reserved.Load() || u.fits(int64(n)) {
		return nil
	}
	u.reserving.Lock()
	defer u.reserving.Unlock()
	if u.reserved.Load() {
		return nil
	}
	u.mu.Lock()
	refused := u.refused
	u.mu.Unlock()
	if refused != nil {
		return refused
	}
	bounded, cancel := context.WithTimeout(ctx, u.of.waiting)
	defer cancel()
	err := u.resize(bounded, max(u.weighs, n))
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.refused = refusedRoom(ctx, err)
		return u.refused
	}
	u.reserved.Store(true)
	return nil
}

// fits takes room for n bytes more of a small answer, if there is some.
func (u *unsent) fits(n int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.taken += n
	more := roomOf(u.taken) - u.small
	switch {
	case more <= 0:
		return true
	case u.given || u.refused != nil || u.taken > smallAnswer || !u.of.small.TryAcquire(more):
		return false
	}
	u.small += more
	return true
}

// roomOf is the room of a small answer for which so many bytes were made: in whole steps, the first of which every operation has.
func roomOf(bytes int64) int64 { return max(0, bytes-1) / lightAnswer * lightAnswer }

func (u *unsent) shrinkSmallLocked(to int64) {
	if less := u.small - to; less > 0 {
		u.of.small.Release(less)
		u.small = to
	}
}

func (u *unsent) shrinkLocked(to int64) {
	if less := u.held - to; less > 0 {
		u.own.inside.Release(less)
		u.of.all.Release(less)
		u.held = to
	}
}

// sent gives everything back, once.
func (u *unsent) sent() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.given {
		return
	}
	u.given = true
	u.shrinkLocked(0)
	u.shrinkSmallLocked(0)
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if u.own.all--; u.own.all == 0 {
		delete(u.of.callers, u.who)
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

// KeepRoom keeps the room of an answer until what it returns is called, or the context ends; nil for a light one.
func KeepRoom(ctx context.Context, op *graphql.OperationContext) (sent func()) {
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

// belongsTo gives the room to the answer of an operation, until that is over.
func (u *unsent) belongsTo(ctx context.Context, op *graphql.OperationContext) {
	op.Stats.SetExtension(statUnsent, u)
	if h, ok := ctx.Value(holdKey{}).(*hold); ok {
		leave := h.leave
		h.leave = func() { u.over(); leave() }
	} else {
		context.AfterFunc(ctx, u.over)
	}
}

// room gives the answer of an operation its room: to a query as much as it needs while it is carried out, to a mutation at once as much as its
// answer may weigh, since what a mutation did must be told. Faults: those of reserve, of mutations only.
func (a *Answers) room(ctx context.Context, who string, op *graphql.OperationContext) (err error) {
	asked, _ := op.Stats.GetExtension(document.StatPrice).(document.Price)
	weight := asked.Weight.Bytes()
	var u *unsent
	switch {
	case weight <= lightAnswer:
		return nil
	case op.Operation.Operation == ast.Query:
		u = a.begin(who)
		u.weighs = weight
	default:
		if u, err = a.reserve(ctx, who, weight); err != nil {
			return err
		}
		u.reserved.Store(true)
	}
	u.belongsTo(ctx, op)
	return nil
}

// Metered returns a context in which what is made for an operation takes room.
func Metered(ctx context.Context, op *graphql.OperationContext) context.Context {
	if u := unsentOf(op); u != nil {
		return memory.Metered(ctx, u)
	}
	return ctx
}

// enough reports whether an answer of this size has its room, as much as it can have, and gives back what is left of that of a small one with the last part.
func (u *unsent) enough(size int64, last bool) (enough bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.refused != nil:
		return false, u.refused
	case u.reserved.Load():
		return !last && u.held >= min(size, u.of.share), nil
	}
	more := roomOf(size) - u.small
	switch {
	case more < 0 && last:
		u.shrinkSmallLocked(roomOf(size))
	case more > 0 && (u.given || size > smallAnswer || !u.of.small.TryAcquire(more)):
		return false, nil
	case more > 0:
		u.small += more
	}
	return true, nil
}

// Weigh brings the room of an answer in line with the size of a part of it, after which come others or not. Its estimate may have been too
// low. Room is given back with the last part; messages of subscriptions have room of their own. Faults: those of refusedRoom, for a part that
// nobody has room for.
func (a *Answers) Weigh(ctx context.Context, op *graphql.OperationContext, size int, goesOn bool) error {
	if op.Operation != nil && op.Operation.Operation == ast.Subscription {
		return nil
	}
	u := unsentOf(op)
	if u == nil {
		if size <= lightAnswer {
			return nil
		}
		u = a.begin(caller.Name(viewer.From(ctx)))
		u.belongsTo(ctx, op)
	}
	enough, err := u.enough(int64(size), !goesOn)
	if err == nil && !enough {
		bounded, cancel := context.WithTimeout(ctx, a.waiting)
		defer cancel()
		if err = u.resize(bounded, size); err != nil {
			err = refusedRoom(ctx, err)
		}
	}
	return err
}
