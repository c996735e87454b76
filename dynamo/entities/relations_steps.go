package entities

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// inSteps changes many rows.
func (c *relationsChange) inSteps(ctx context.Context) error {
	if len(c.final())+2*len(c.moving())+1 > dynamo.MaxActions {
		return fault.New(fault.Exhausted, "relations under so many predicates cannot be changed together with so much else: change some of them at a time")
	}
	c.token = uuid.NewString()
	now := c.DB.Now()
	c.order = task.Task{Kind: entity.ChangeRelations, ID: c.token, Scope: c.Subject.Scope, Due: now.Add(task.Lease).Truncate(time.Millisecond)}
	err := c.begin(ctx, now)
	if errors.Is(err, dynamo.ErrMoved) {
		return err
	}
	for _, actions := range c.chunks() {
		if err == nil {
			err = c.DB.Transact(ctx, actions, idempotency.Key{})
		}
	}
	if err == nil {
		err = c.commit(ctx)
	}
	ctx, cancel := dynamo.Detached(ctx)
	defer cancel()
	if err == nil {
		c.clear(ctx)
		return nil
	}
	if c.abandon(ctx) {
		return nil // it was committed, and only the answer was lost
	}
	return err
}

// moving are the predicates under which something changes.
func (c *relationsChange) moving() []*predicatePlan {
	return slices.DeleteFunc(slices.Clone(c.Plans), func(p *predicatePlan) bool { return p.rowsChanged() == 0 })
}

func (c *relationsChange) begin(ctx context.Context, now time.Time) error {
	moving := c.moving()
	actions := []dynamo.Action{c.Check, {Table: dynamo.RelationshipEntries, Item: relationsOrder(c.order.ID, c.Subject, moving)}, dynamo.TaskAction(c.order)}
	for _, p := range moving {
		actions = append(actions, p.unmoved(dynamo.Action{Item: p.head(p.generation, c.intent(p, now), p.single)}))
	}
	actions = append(actions, c.settledRows()...)
	return c.DB.Transact(ctx, actions, idempotency.Key{})
}

func (c *relationsChange) intent(p *predicatePlan, now time.Time) *intent {
	return &intent{Token: c.token, Since: now, Order: c.order.ID, Due: c.order.Due, Before: p.generation, Alone: len(c.moving()) == 1}
}

// chunks are the transactions that prepare. Each is conditional on the intents of the predicates that it touches, on the
// subject, and on the objects that come.
func (c *relationsChange) chunks() [][]dynamo.Action {
	b := chunkBuilder{always: []dynamo.Action{c.Check}, most: c.DB.Prepared}
	step := 0
	for _, p := range c.moving() {
		fenced := func() dynamo.Action { // the first one of a transaction tells how far it came
			step++
			fence := p.fenced(c.token, dynamo.Action{Update: "SET #intent.#step = :step"})
			fence.Names["#step"], fence.Values[":step"] = "step", dynamo.Number(int64(step))
			return fence
		}
		next := dynamo.Number(int64(p.generation + 1))
		for _, r := range p.coming { // as the change has begun, the generation is what was read, and these are nobody's
			b.add(dynamo.Action{Table: dynamo.RelationshipEntries, Key: r.Key, Remove: true}, fenced())
		}
		for _, r := range p.goes {
			b.add(dynamo.Action{
				Table: dynamo.RelationshipEntries, Key: r.Key, Update: "SET #until = :next", Condition: "attribute_exists(#pk)",
				Names: map[string]string{"#pk": dynamo.RelationshipEntries.PK, "#until": "_until"}, Values: dynamo.Attrs{":next": next}, Failed: dynamo.Moved,
			}, fenced())
		}
		for i, r := range p.comes {
			if r.Object == c.Subject || i < p.respelled {
				b.add(dynamo.Action{Table: dynamo.RelationshipEntries, Item: p.rows[i]}, fenced())
			} else {
				b.add(dynamo.Action{Table: dynamo.RelationshipEntries, Item: p.rows[i]}, fenced(), living(r.Object, &entity.UnknownObject{ID: r.Object}))
			}
		}
	}
	return b.chunks
}

// chunkBuilder cuts writes into transactions, each with the checks that its writes need.
type chunkBuilder struct {
	most   int
	always []dynamo.Action // checks of every transaction
	chunks [][]dynamo.Action
	has    map[dynamo.RowID]bool // checks of the last transaction
}

func (b *chunkBuilder) add(write dynamo.Action, checks ...dynamo.Action) {
	if n := len(b.chunks) - 1; n < 0 || len(b.chunks[n])+1+len(checks) > b.most {
		b.chunks, b.has = append(b.chunks, slices.Clone(b.always)), map[dynamo.RowID]bool{}
	}
	last := &b.chunks[len(b.chunks)-1]
	for _, check := range checks {
		if id := (dynamo.RowID{Table: check.Table, Key: check.Key}); !b.has[id] {
			b.has[id], *last = true, append(*last, check)
		}
	}
	*last = append(*last, write)
}

func (c *relationsChange) commit(ctx context.Context) error {
	actions := c.final()
	for _, p := range c.moving() {
		actions = append(actions, p.fenced(c.token, dynamo.Action{Item: p.head(p.generation+1, c.intent(p, c.order.Due.Add(-task.Lease)), single{})}))
	}
	for _, p := range c.moving() {
		actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Item: p.tail(p.generation + 1)})
	}
	return c.DB.Transact(ctx, actions, c.once)
}

// clear removes what has gone and the order. What it does not get done is done by the task, or by the next change.
func (c *relationsChange) clear(ctx context.Context) {
	moving := c.moving()
	for i, p := range moving {
		var then []dynamo.Action
		if i == len(moving)-1 {
			then = c.settled()
		}
		if err := c.DB.clear(ctx, p.predicateState, c.token, append(p.gone, p.goes...), nil, then, false); err != nil {
			return
		}
	}
}

// settled removes the order and the task.
func (c *relationsChange) settled() []dynamo.Action {
	return []dynamo.Action{
		{Table: dynamo.RelationshipEntries, Key: orderKey(c.order.ID), Remove: true},
		{Table: dynamo.RelationshipEntries, Key: dynamo.TaskKey(c.order), Remove: true},
	}
}

// abandon takes the change back and reports whether that was too late because it is committed.
func (c *relationsChange) abandon(ctx context.Context) (committed bool) {
	err := c.DB.settleOrder(ctx, c.order.ID, c.Subject, c.moving(), func(done bool) { committed = committed || done })
	if err == nil {
		_ = c.DB.Transact(ctx, c.settled(), idempotency.Key{}) // the task does it otherwise
	}
	return committed
}
