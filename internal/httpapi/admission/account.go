package admission

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/caller"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/viewer"
)

// What an operation takes from the budget of its caller besides its cost, whatever comes of it.
const (
	operationCost = 100   // to receive, sign in and answer
	changeCost    = 100   // of a mutation's root field: it writes
	refusedCost   = 2_000 // of a document that was checked in vain, see docs/performance.md
	messageCost   = 50    // of a message of a subscription behind the first, besides its values
	messagesOwed  = 1_000 // of what messages cost, which is charged at once
)

// Budget keeps what each caller may spend, on all servers together. Operations have ids; both methods have their effect once
// for each.
type Budget interface {
	// Charge takes what an operation may cost, if that much is there. It returns what is left then, otherwise how long it takes
	// until it is there.
	Charge(ctx context.Context, who, operation string, cost int) (left int, wait time.Duration)
	// Settle ends an operation that has cost this much, charged or not, and returns what is left, below 0 when it was not there.
	Settle(ctx context.Context, who, operation string, cost int) (left int)
}

// refusalPause is how long a refusal for want of budget is held back at most, so that a client that asks again at once keeps
// nobody busy.
const refusalPause = time.Second

// statAccount is where the statistics of an operation keep its account.
const statAccount = "TaggieAccount"

// Watch counts what callers are charged, and their operations that are refused for want of budget.
type Watch interface {
	BudgetCharged(cost int)
	BudgetRefused()
}

// Spenders charges callers, and remembers for a moment who has overdrawn, so that checking documents of theirs costs nothing.
type Spenders struct {
	budget    Budget
	perSecond int
	watch     Watch
	now       func() time.Time

	mu       sync.Mutex
	overdrew map[string]time.Time // until when
}

// NewSpenders returns what charges callers, into whose budgets comes back so much each second.
func NewSpenders(budget Budget, perSecond int, watch Watch, now func() time.Time) *Spenders {
	return &Spenders{budget: budget, perSecond: perSecond, watch: watch, now: now, overdrew: make(map[string]time.Time)}
}

// Account is what one operation is charged.
type Account struct {
	who, id  string
	received int // of the charge, what it takes to receive it
	fixed    int // of the charge, what is not given back when it was carried out
	charge   int

	mu      sync.Mutex
	used    int // what it has cost in the end
	left    int // of the budget
	settled bool
}

// uses notes what an operation has cost, unless it is settled; that may be more than it was charged.
func (a *Account) uses(cost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.settled {
		a.used = cost
	}
}

// AccountOf is what an operation is charged, nil for one that is not.
func AccountOf(op *graphql.OperationContext) *Account {
	a, _ := op.Stats.GetExtension(statAccount).(*Account)
	return a
}

// Showed notes what the whole answer of an operation has cost: it is charged no more than that, and what is kept of each operation.
func (a *Account) Showed(cost int) { a.uses(a.fixed + cost) }

// ShowedAlready notes what the parts of an answer have cost that are there, when that is more than what is to be paid whatever comes.
func (a *Account) ShowedAlready(cost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.settled {
		a.used = max(a.used, a.fixed+cost)
	}
}

// Charged is what the operation was charged when it began.
func (a *Account) Charged() int { return a.charge }

// State is what an operation has cost, and what is left of the budget.
func (a *Account) State() (used, left int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used, a.left
}

// open charges an operation that costs this much at most, and of it kept whatever comes. Fault: Exhausted.
func (s *Spenders) open(ctx context.Context, who string, op *graphql.OperationContext, text int, p document.Price) (*Account, error) {
	received := operationCost + text/document.BytesPerUnit
	fixed := received + p.Kept
	if op.Operation.Operation == ast.Mutation {
		fixed += changeCost * len(op.Operation.SelectionSet)
	}
	whole := fixed + p.Total - p.Kept
	charge := whole
	if op.Operation.Operation != ast.Subscription { // whose messages are charged as they come
		charge = fixed + p.Charged()
	}
	a := &Account{who: who, id: rand.Text(), received: received, fixed: fixed, charge: charge, used: whole}
	left, wait := s.budget.Charge(ctx, who, a.id, charge)
	if wait > 0 {
		pause(ctx, wait)
		left, wait = s.budget.Charge(ctx, who, a.id, charge)
	}
	if a.left = left; wait > 0 {
		a.charge, a.used = 0, 0
		s.watch.BudgetRefused()
		return a, overdrawn(wait, "the operation may cost %d, and %d of your budget are left: try again later, or ask for less", charge, max(left, 0))
	}
	return a, nil
}

// Forgo notes that an operation is not carried out: all but what it takes to receive it is given back.
func Forgo(op *graphql.OperationContext) {
	if a := AccountOf(op); a != nil {
		a.uses(a.received)
	}
}

// Close gives back what an operation did not use.
func (s *Spenders) Close(ctx context.Context, a *Account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.settled {
		a.settled = true
		a.left = s.settle(ctx, a.who, a.id, a.used)
	}
}

// settle charges for what has cost this much, though nobody may wait for it any more, and returns what is left.
func (s *Spenders) settle(ctx context.Context, who, id string, cost int) (left int) {
	s.watch.BudgetCharged(cost)
	return s.budget.Settle(context.WithoutCancel(ctx), who, id, cost)
}

// receive charges a caller for what it takes to receive an operation, and nothing else of it.
func (s *Spenders) receive(ctx context.Context, who string, text int) {
	s.settle(ctx, who, rand.Text(), operationCost+text/document.BytesPerUnit)
}

// fine charges a caller for a request that was looked at in vain.
func (s *Spenders) fine(ctx context.Context, who string, text int) {
	left := s.settle(ctx, who, rand.Text(), refusedCost+text/document.BytesPerUnit)
	if left >= 0 {
		return
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, until := range s.overdrew {
		if !now.Before(until) {
			delete(s.overdrew, other)
		}
	}
	s.overdrew[who] = now.Add(time.Duration(-left) * time.Second / time.Duration(s.perSecond))
}

// solvent refuses callers who have overdrawn. Fault: Exhausted.
func (s *Spenders) solvent(ctx context.Context, who string) error {
	s.mu.Lock()
	until, has := s.overdrew[who]
	s.mu.Unlock()
	if !has {
		return nil
	}
	pause(ctx, until.Sub(s.now()))
	if wait := until.Sub(s.now()); wait > 0 {
		s.watch.BudgetRefused()
		return overdrawn(wait, "your budget is overdrawn: too many requests could not be carried out; try again later")
	}
	return nil
}

// Tab is what messages of one subscription have cost and is not charged yet.
type Tab struct {
	of   *Spenders
	owed int
}

// Tab begins to count what messages of a subscription cost; without a budget they cost nothing.
func (s *Spenders) Tab() *Tab { return &Tab{of: s} }

// Add notes what a message has cost.
func (t *Tab) Add(data []byte) {
	if t.of != nil {
		t.owed += messageCost + CostOf(data)
	}
}

// Pay charges what is owed when that is much.
func (t *Tab) Pay(ctx context.Context) {
	if t.owed >= messagesOwed {
		t.of.told(ctx, t.owed)
		t.owed = 0
	}
}

// told charges what messages of a subscription have cost, and slows it down when that is more than comes back. Others cause them, so
// that they have a budget of their own, as large as that of operations.
func (s *Spenders) told(ctx context.Context, cost int) {
	left := s.settle(ctx, "messages:"+caller.Name(viewer.From(ctx)), rand.Text(), cost)
	if left < 0 {
		sleep(ctx, time.Duration(-left)*time.Second/time.Duration(s.perSecond))
	}
}

// pause waits for as long as a refusal is held back, or until nobody waits for it.
func pause(ctx context.Context, wait time.Duration) { sleep(ctx, min(wait, refusalPause)) }

func sleep(ctx context.Context, wait time.Duration) {
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}

func overdrawn(wait time.Duration, format string, args ...any) error {
	err := fault.New(fault.Exhausted, format, args...)
	err.RetryAfter = wait
	return err
}

// CostOf is what an answer has cost: one for each value in it, and what its texts are worth; or what it weighs, when that is more.
func CostOf(data []byte) int {
	return max(request.Values(data)+len(data)/document.TextPerUnit, len(data)/document.BytesPerUnit)
}
