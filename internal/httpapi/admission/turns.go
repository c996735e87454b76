package admission

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
)

const (
	// maxSetUpWait is how long a subscription may wait to be set up.
	maxSetUpWait = 2 * time.Minute
	// setUpsPerCore is how many are set up at a time, for each core: enough to wait for stores, and not so many that all of them are late.
	setUpsPerCore = 16
	// maxSignInWait is how long a socket may wait to sign in.
	maxSignInWait = time.Minute
	// signInsPerCore is how many sockets sign in at a time, for each core. They are twice as many as set-ups: who has not signed in takes up a
	// place of those that are few.
	signInsPerCore = 32
	// paceKnown is how many turns have to end until they tell how long those who come have to wait.
	paceKnown = 32
	// paceMean is how many of the last turns make up the pace: one that was held up, as by a pause of a store, must not refuse thousands.
	paceMean = 512
)

// Turns have a number of things done at a time. Others wait: those of one caller in their order, and callers one after the other, so that
// who has thousands waiting holds nobody else up. Who would wait for too long, as far as the pace of the last turns tells, is refused at once.
type Turns struct {
	most     int
	patience time.Duration

	mu      sync.Mutex
	inside  int
	waiting int
	lines   map[string]*line
	order   []*line // those with somebody who waits; the first one is next
	pace    pacer
}

// line are those of one caller who wait, the first one first.
type line struct {
	who   string
	first []*ticket
}

// ticket is the place of one who waits.
type ticket struct {
	called chan struct{} // closed when it is its turn
}

// pacer measures how long it takes from the end of one turn to that of the next while somebody waits.
type pacer struct {
	last time.Time
	each time.Duration // a mean of the last ones
	many int
}

// ended takes note of the end of a turn.
func (p *pacer) ended(now time.Time) {
	if !p.last.IsZero() {
		p.many++
		p.each += (now.Sub(p.last) - p.each) / time.Duration(min(p.many, paceMean))
	}
	p.last = now
}

// wait is about how long it takes until so many turns have ended, 0 when that is not known.
func (p *pacer) wait(turns int) time.Duration {
	if p.many < paceKnown {
		return 0
	}
	return time.Duration(turns) * p.each
}

// SetUpTurns are the turns of subscriptions that are set up on this server.
func SetUpTurns() *Turns { return newTurns(setUpsPerCore*runtime.GOMAXPROCS(0), maxSetUpWait) }

// SignInTurns are the turns of sockets that sign in on this server.
func SignInTurns() *Turns { return newTurns(signInsPerCore*runtime.GOMAXPROCS(0), maxSignInWait) }

func newTurns(most int, patience time.Duration) *Turns {
	return &Turns{most: most, patience: patience, lines: make(map[string]*line)}
}

// Enter waits for a turn of who, and returns what ends it. Faults: Exhausted for who waits too long, or would; the context's error.
func (t *Turns) Enter(ctx context.Context, who string) (leave func(), err error) {
	t.mu.Lock()
	if t.inside < t.most && t.waiting == 0 {
		t.inside++
		t.mu.Unlock()
		return t.leaver(), nil
	}
	own := t.lines[who]
	if own == nil {
		own = &line{who: who}
	}
	// Before it come its own, and of the others no more each than its own.
	ahead := min(t.waiting, (len(own.first)+1)*max(len(t.order), 1))
	if wait := t.pace.wait(ahead + 1); wait >= t.patience {
		t.mu.Unlock()
		return nil, tooManyWait(wait - t.patience)
	}
	mine := &ticket{called: make(chan struct{})}
	if len(own.first) == 0 {
		t.lines[who] = own
		t.order = append(t.order, own)
	}
	own.first = append(own.first, mine)
	t.waiting++
	t.mu.Unlock()

	late := time.NewTimer(t.patience)
	defer late.Stop()
	select {
	case <-mine.called:
		return t.leaver(), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-mine.called: // meanwhile
		t.inside--
		t.call()
	default:
		t.drop(own, mine)
	}
	if err == nil {
		err = tooManyWait(max(t.pace.wait(t.waiting), time.Second))
	}
	return nil, err
}

func tooManyWait(longer time.Duration) error {
	return &fault.Error{Kind: fault.Exhausted, Message: "too many wait for their turn: try again later", RetryAfter: max(longer, time.Second)}
}

// leaver returns what ends a turn, once.
func (t *Turns) leaver() func() {
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.inside--
		if t.waiting > 0 {
			t.pace.ended(time.Now())
		} else {
			t.pace.last = time.Time{}
		}
		t.call()
	})
}

// drop takes a ticket out of its line: nobody waits any more. The caller holds the mutex.
func (t *Turns) drop(from *line, mine *ticket) {
	at := slices.Index(from.first, mine)
	from.first = slices.Delete(from.first, at, at+1)
	t.waiting--
	if len(from.first) > 0 {
		return
	}
	delete(t.lines, from.who)
	at = slices.Index(t.order, from)
	t.order = slices.Delete(t.order, at, at+1)
}

// call calls those whose turn it is. The caller holds the mutex.
func (t *Turns) call() {
	for t.inside < t.most && len(t.order) > 0 {
		next := t.order[0]
		t.order[0] = nil
		t.order = t.order[1:]
		mine := next.first[0]
		next.first = next.first[1:]
		if len(next.first) > 0 {
			t.order = append(t.order, next)
		} else {
			delete(t.lines, next.who)
		}
		t.waiting--
		t.inside++
		close(mine.called)
	}
}
