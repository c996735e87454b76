package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// itemsEach is how many items each labeller claims and finishes in a run, one after the other.
const itemsEach = 10

// claims compares labellers at a server with the bare transactions that their work ends in.
type claims struct {
	crowd
	category string
	notes    []string          // one of each labeller
	store    labelling.Store   // of the bare transactions
	todo     chan project.Item // that they have not changed yet
}

// compareClaims has labellers claim and finish items, in alternation with the two transactions of each on an engine of the
// same kind, and with changes of as many notes at the same server, and prints what it finds. The server runs as under `make run` but with one core.
func compareClaims(ctx context.Context, o options) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as when queries are compared
	dir, err := os.MkdirTemp("", "taggie-bench-claims-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := startAlone(ctx, o, "TAGGIE_DATA="+dir, "TAGGIE_LOG_LEVEL=warn", "TAGGIE_COST_BUDGET=1000000000", "TAGGIE_COST_RATE=1000000")
	if err != nil {
		return err
	}
	defer server.stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.claims}}
	defer client.CloseIdleConnections()
	total := o.runs * o.claims * itemsEach
	c := claims{crowd: crowd{options: o, server: server, api: &api{url: server.url, client: client}, items: total}}
	if err := c.found(ctx, dir, o.claims); err != nil {
		return fmt.Errorf("make a project for labellers: %w", err)
	}
	found, err := c.api.ask(ctx, c.owner, `query($p: ID!) { project(id: $p) { categories { id } } }`, vars{"p": c.id})
	if err != nil {
		return err
	}
	c.category = found.list("project", "categories")[0].text("id")
	if err := c.write(ctx); err != nil {
		return fmt.Errorf("make notes of labellers: %w", err)
	}
	bare, err := imports{dir: dir}.startEngine(ctx, nil)
	if err != nil {
		return err
	}
	defer bare.stop()
	c.store = labelling.Store{Store: projects.Store{DB: bare.db}}
	if err := c.fill(ctx, total); err != nil {
		return fmt.Errorf("write items for bare transactions: %w", err)
	}
	out := newClaimsReport(os.Stdout)
	out.begin(o)
	for n := 1; n <= o.runs; n++ {
		var results [3]labelled
		for i := range results {
			j := (i + n - 1) % len(results) // 0 1 2, 1 2 0, 2 0 1, …
			if results[j], err = c.measure(ctx, [3]func(context.Context, int) (int, error){c.label, c.move, c.change}[j]); err != nil {
				return err
			}
		}
		out.add(n, results)
	}
	return out.end()
}

// fill writes items that are not claimed yet.
func (c *claims) fill(ctx context.Context, n int) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	id, source := project.ID(uuid.NewString()), uuid.NewString()
	items := make([]project.Item, n)
	c.todo = make(chan project.Item, n)
	for i := range items {
		external := fmt.Sprintf("item-%05d", i)
		items[i] = project.Item{
			ItemID: project.ItemIDOf(id, external), ExternalID: external, Name: fmt.Sprint("Item ", i), Status: project.New,
			Seq: fmt.Sprintf("%013d%07d", now.UnixMilli(), i), Version: 1, CreatedAt: now, UpdatedAt: now, Import: source, Line: i + 1,
		}
		c.todo <- items[i]
	}
	for part := range slices.Chunk(items, 50) {
		if _, _, err := c.store.ImportItems(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// labelled is what it took to claim and finish all items of a run.
type labelled struct {
	items  int
	failed int // requests that were answered with an error, such as that it is not known what they did
	took   time.Duration
	server time.Duration // CPU time
	engine time.Duration // CPU time of the engines, the gate before them included
	calls  float64       // of DynamoDB by the server, jobs included
}

func (l labelled) perSecond() float64 { return float64(l.items) / l.took.Seconds() }

// measure has all labellers do their items with one way of doing so, each after the other.
func (c *claims) measure(ctx context.Context, each func(ctx context.Context, labeller int) (int, error)) (labelled, error) {
	before, err := c.used()
	if err != nil {
		return labelled{}, err
	}
	began := time.Now()
	errs := make([]error, c.claims)
	var group sync.WaitGroup
	var done atomic.Int64
	for n := range errs {
		group.Go(func() {
			items, err := each(ctx, n)
			done.Add(int64(items))
			errs[n] = err
		})
	}
	group.Wait()
	took := time.Since(began)
	after, err := c.used()
	items := int(done.Load())
	return labelled{
		items: items, failed: c.claims*itemsEach - items, took: took,
		server: after.server - before.server, engine: after.engine - before.engine, calls: after.calls - before.calls,
	}, errors.Join(append(errs, err)...)
}

// used returns the CPU time and the calls until now. Only one of the two ways is under way, so all engines count for it.
func (c *claims) used() (l labelled, err error) {
	if l.server, err = c.server.cpu(); err != nil {
		return l, err
	}
	own, _, err := cpuTimes("self")
	if err != nil {
		return l, err
	}
	all, err := cpuOfFamily(os.Getpid())
	if err != nil {
		return l, err
	}
	l.engine = all - own - l.server
	l.calls, err = c.server.metric("taggie_dynamodb_calls_total")
	return l, err
}

// label claims and finishes items at the server, and returns how many. What fails is not tried again.
func (c *claims) label(ctx context.Context, labeller int) (done int, err error) {
	for left := itemsEach; left > 0; {
		item, err := c.claimAs(ctx, c.people[labeller])
		if err == nil && item == nil {
			continue // what others took, or what is being put into the queue
		}
		left--
		if err == nil {
			err = c.finishAs(ctx, c.people[labeller], item)
		}
		if _, failed := errors.AsType[refused](err); err != nil && !failed {
			return done, err
		}
		if err == nil {
			done++
		}
	}
	return done, nil
}

// claimAs claims an item; nil when there is none at the moment.
func (c *claims) claimAs(ctx context.Context, token string) (data, error) {
	a, err := c.api.ask(ctx, token, `mutation($p: ID!) { claimProjectItems(input: {projectId: $p}) { items { id claim { token } } problem { ... on Problem { message } } } }`, vars{"p": c.id})
	if items := a.list("claimProjectItems", "items"); err == nil && len(items) > 0 {
		return items[0], nil
	}
	return nil, err
}

func (c *claims) finishAs(ctx context.Context, token string, item data) error {
	a, err := c.api.ask(ctx, token, `mutation($in: FinishProjectItemInput!) { finishProjectItem(input: $in) { effort { id } problem { ... on Problem { message } } } }`,
		vars{"in": vars{"itemId": item.text("id"), "token": item.text("claim", "token"), "categoryId": c.category}})
	if err == nil && a.text("finishProjectItem", "effort", "id") == "" {
		err = fmt.Errorf("the item was not finished: %v", a)
	}
	return err
}

// move makes the two transactions of each item, and nothing else.
func (c *claims) move(ctx context.Context, labeller int) (int, error) {
	by := project.UserID(fmt.Sprintf("00000000-0000-4000-8000-%012d", labeller))
	for range itemsEach {
		claim := claiming(<-c.todo, by)
		if err := c.store.MoveItem(ctx, claim, idempotency.Key{}); err != nil {
			return 0, err
		}
		if err := c.store.MoveItem(ctx, finishing(claim.After, by), idempotency.Key{}); err != nil {
			return 0, err
		}
	}
	return itemsEach, nil
}
