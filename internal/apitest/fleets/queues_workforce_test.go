package fleets

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// workforce is many labellers at work in a project, each with every request at another server, and somebody who looks at the queue of
// each server all the time. They write down what they were told.
type workforce struct {
	*fleet
	apitest.Crew
	items int
	done  chan struct{} // closed when they were told of all items that these are finished

	mu       sync.Mutex
	holders  map[string]string // of items: the token by which somebody has it, or finished it
	told     map[string]effort // of items: what somebody was told is finished
	repeated int               // requests that were sent again
	lost     int               // finishes that came to nothing
	released int
	samples  []int // by server
	epochs   map[string]bool
	mistakes []string
}

// effort is what a labeller did with an item.
type effort struct{ id, user, category string }

func newWorkforce(f *fleet, l apitest.Crew, items int) *workforce {
	return &workforce{
		fleet: f, Crew: l, items: items, done: make(chan struct{}), holders: map[string]string{}, told: map[string]effort{},
		samples: make([]int, len(f.servers)), epochs: map[string]bool{},
	}
}

// work has all of them work until everything is finished, and meanwhile something else done. It returns when all have ended.
func (c *workforce) work(meanwhile func(ctx context.Context)) {
	t := c.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*apitest.Patience)
	defer cancel()
	var working, sampling sync.WaitGroup
	for i, u := range c.Labellers {
		l := &worker{workforce: c, user: u, rand: rand.New(rand.NewPCG(uint64(i), 7)), at: i}
		working.Go(func() { l.work(ctx) })
	}
	ended := make(chan struct{})
	for _, s := range c.servers {
		sampling.Go(func() { c.sample(ctx, s, ended) })
	}
	meanwhile(ctx)
	working.Wait()
	close(ended)
	sampling.Wait()
	require.Empty(t, c.mistakes)
	require.Len(t, c.told, c.items, "somebody was told of every item that it is finished")
	for i, n := range c.samples {
		assert.Positive(t, n, "samples of server %d", i)
	}
	t.Logf("samples %v, epochs %d, released %d, requests sent again %d, leases lost %d", c.samples, len(c.epochs), c.released, c.repeated, c.lost)
}

// wrong writes a mistake down. The first ones are enough.
func (c *workforce) wrong(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.mistakes) < 10 {
		c.mistakes = append(c.mistakes, fmt.Sprintf(format, args...))
	}
}

// known is how many items somebody was told of.
func (c *workforce) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.told)
}

// sample looks at the queue of a server until the workforce has ended.
func (c *workforce) sample(ctx context.Context, s *server, ended <-chan struct{}) {
	last := 0
	for {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond): // the labellers want to get on
		}
		q, _, err := look(c.Crew, ctx, s)
		if err != nil || q == nil {
			continue // it is away, or the queue is
		}
		if wrong := q.wrong(); wrong != "" {
			c.wrong("%s: %+v", wrong, *q)
		}
		if q.Counts.Total != c.items || q.Counts.Finished < last {
			c.wrong("items are lost: %+v, where %d were finished before", *q, last)
		}
		last = q.Counts.Finished
		c.alive(*q)
		c.mu.Lock()
		c.samples[s.number]++
		c.mu.Unlock()
	}
}

// alive writes down in which of its lives the queue was seen.
func (c *workforce) alive(q queueNow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epochs[apitest.GlobalKey(c.t, q.Cursor)[2]] = true
}

// lives is how many lives of the queue were seen.
func (c *workforce) lives() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.epochs)
}

// worker is a labeller at work.
type worker struct {
	*workforce
	user *apitest.Client
	rand *rand.Rand
	at   int // the server of the next request
}

// inHand is an item in the hands of a labeller.
type inHand struct {
	ID    string
	Claim *struct{ Token string }
}

func (w *worker) work(ctx context.Context) {
	for idle := 0; ctx.Err() == nil; idle++ {
		items := w.claim(ctx, 1+w.rand.IntN(10))
		if len(items) == 0 && idle%4 == 3 {
			items = w.holding(ctx) // an answer may have been lost, key and all
		}
		if len(items) > 0 {
			w.finish(ctx, w.release(ctx, items))
			idle = -1
			continue
		}
		// There is nothing left but what others have, or the queue has not heard yet of what the labeller did.
		select {
		case <-w.done:
			return
		case <-ctx.Done():
		case <-time.After(time.Duration(min(idle+1, 4)*(200+w.rand.IntN(200))) * time.Millisecond):
		}
	}
	w.wrong("%s has not come to an end", w.user.ID)
}

// sure sends a request until it is answered, always with the same idempotency key, and reads data. It reports whether it was.
func (w *worker) sure(ctx context.Context, query string, v apitest.Vars, data any) bool {
	const shortest, longest = 100, 2000 // ms to wait
	for wait := shortest; ctx.Err() == nil; wait = min(2*wait, longest) {
		s := w.servers[w.at%len(w.servers)]
		w.at++
		errs, err := s.ask(ctx, w.user.Token, query, v, data)
		if err == nil && len(errs) == 0 {
			return true
		}
		for _, e := range errs {
			if !e.Extensions.Retryable {
				w.wrong("%s: %+v", query, e)
				return false
			}
		}
		w.mu.Lock()
		w.repeated++
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(w.rand.IntN(wait)) * time.Millisecond):
		}
	}
	return false
}

// claim asks for items.
func (w *worker) claim(ctx context.Context, n int) []inHand {
	var data struct {
		ClaimProjectItems struct {
			Items   []inHand
			Problem *struct {
				Typename string `json:"__typename"`
			}
		}
	}
	if !w.sure(ctx, apitest.ClaimItems, apitest.Vars{"in": apitest.Vars{"projectId": w.Crew.ID, "count": n, "idempotencyKey": uuid.NewString()}}, &data) {
		return nil
	}
	if p := data.ClaimProjectItems.Problem; p != nil && p.Typename != "TooManyClaims" {
		w.wrong("a claim's problem: %s", p.Typename)
	}
	return w.mine(data.ClaimProjectItems.Items)
}

// holding asks for the items that the labeller has.
func (w *worker) holding(ctx context.Context) []inHand {
	var data struct {
		Project struct{ ViewerClaims []inHand }
	}
	if !w.sure(ctx, `query($p: ID!) { project(id: $p) { viewerClaims { id claim { token } } } }`, apitest.Vars{"p": w.Crew.ID}, &data) {
		return nil
	}
	return w.mine(data.Project.ViewerClaims)
}

// mine writes down who has items, and finds those that somebody else has.
func (w *worker) mine(items []inHand) []inHand {
	for _, i := range items {
		if i.Claim == nil { // it was the labeller's when the claim was made, and the answer was read later
			w.wrong("item %s is in nobody's hands", i.ID)
			return nil
		}
		w.mu.Lock()
		other := w.holders[i.ID]
		w.holders[i.ID] = i.Claim.Token
		w.mu.Unlock()
		if other != "" && other != i.Claim.Token {
			w.wrong("item %s was handed out twice", i.ID)
		}
	}
	return items
}

// release gives back one item of many, and returns the others.
func (w *worker) release(ctx context.Context, items []inHand) []inHand {
	if w.rand.IntN(5) > 0 {
		return items
	}
	first := items[0]
	w.mu.Lock()
	delete(w.holders, first.ID) // before the next one can have it
	w.released++
	w.mu.Unlock()
	var data struct {
		ReleaseProjectItem struct{ Problem *struct{ Message string } }
	}
	w.sure(ctx, `mutation($i: ID!, $t: String!, $k: String) { releaseProjectItem(input: {itemId: $i, token: $t, idempotencyKey: $k}) { item { id } problem { ... on Problem { message } } } }`,
		apitest.Vars{"i": first.ID, "t": first.Claim.Token, "k": uuid.NewString()}, &data)
	if p := data.ReleaseProjectItem.Problem; p != nil {
		w.wrong("a release's problem: %s", p.Message)
	}
	return items[1:]
}

// outcome is what became of a finish.
type outcome struct {
	Item    *struct{ ID, Status string }
	Effort  *struct{ ID string }
	Problem *struct {
		Typename string `json:"__typename"`
		Effort   *struct{ ID string }
	}
}

const outcomeFields = `{ item { id status } effort { id } problem { __typename ... on AlreadyFinished { effort { id } } } }`

// finish finishes items: all with one request, or each with one.
func (w *worker) finish(ctx context.Context, items []inHand) {
	finishes := make([]apitest.Vars, len(items))
	for i, item := range items {
		finishes[i] = apitest.Vars{
			"itemId": item.ID, "token": item.Claim.Token, "categoryId": w.Categories[w.rand.IntN(len(w.Categories))],
			"keywords": []string{fmt.Sprintf("k%d", w.rand.IntN(20)), "all"},
		}
	}
	outcomes := make([]outcome, 0, len(items))
	if w.rand.IntN(3) > 0 && len(items) > 0 {
		var data struct{ FinishProjectItems struct{ Outcomes []outcome } }
		if w.sure(ctx, `mutation($f: [ProjectItemFinish!]!, $k: String) { finishProjectItems(input: {finishes: $f, idempotencyKey: $k}) { outcomes `+outcomeFields+` } }`,
			apitest.Vars{"f": finishes, "k": uuid.NewString()}, &data) {
			outcomes = data.FinishProjectItems.Outcomes
		}
	} else {
		for _, f := range finishes {
			var data struct{ FinishProjectItem outcome }
			f["idempotencyKey"] = uuid.NewString()
			if !w.sure(ctx, `mutation($in: FinishProjectItemInput!) { finishProjectItem(input: $in) `+outcomeFields+` }`, apitest.Vars{"in": f}, &data) {
				return
			}
			outcomes = append(outcomes, data.FinishProjectItem)
		}
	}
	for i, o := range outcomes {
		w.note(finishes[i], o)
	}
}

// note writes down what the labeller was told.
func (w *worker) note(f apitest.Vars, o outcome) {
	item := f["itemId"].(string)
	e := effort{user: w.user.ID, category: f["categoryId"].(string)}
	switch {
	case o.Item != nil && o.Effort != nil && o.Item.ID == item && o.Item.Status == "FINISHED":
		e.id = o.Effort.ID
	case o.Problem != nil && o.Problem.Effort != nil:
		e.id = o.Problem.Effort.ID
	case o.Problem != nil && o.Problem.Typename == "LeaseLost":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lost++
		return
	default:
		w.wrong("an outcome: %+v", o)
		return
	}
	w.mu.Lock()
	before, twice := w.told[item]
	w.told[item] = e
	all := len(w.told) == w.items
	w.mu.Unlock()
	if twice {
		w.wrong("item %s was finished as %+v, and then as %+v", item, before, e)
	} else if all {
		close(w.done)
	}
}
