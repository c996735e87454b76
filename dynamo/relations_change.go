package dynamo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/task"
)

// relationsChanged is what a change did under one predicate.
type relationsChanged struct{ Added, Removed []entity.Relation }

// changeRelations edits the relationships of a subject under one or more predicates, all of them or none, with the idempotency
// key and, when with is given, with further actions: these are carried out with the change, and once only.
//
// The subject has to exist, unless with writes its row: then the condition of that write takes the place of this check,
// and its fault of NotFound. *entity.UnknownObject when an object does not exist. A change that meets another one begins anew,
// until the deadline.
func (db Entities) changeRelations(ctx context.Context, subject entity.ID, edits map[string]relationsEdit, with []action, once idempotency.Key) (map[string]relationsChanged, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	met := watched{}
	for idle := 0; ; idle++ {
		c := &relationsChange{db: db, subject: subject, with: with, once: once, met: met}
		c.check, c.checked = subjectCheck(subject, with)
		err := c.plan(ctx, edits)
		if err == nil {
			err = db.tallies.spend(allowedRelations, subject.Scope, c.grows(), func() error { return c.carryOut(ctx) })
		}
		if !errors.Is(err, errMoved) {
			return c.changed(), err
		}
		if len(met) > 0 { // there is something to see soon
			idle = min(idle, 4)
		}
		if !db.pause(ctx, idle) {
			return nil, retry.Busy("these relations")
		}
	}
}

// quiet is for how long a change that is under way shows no transaction before it is taken back. Its server is lost then, or so slow
// that it has to begin anew, which it does by itself: it cannot do any harm, as its token does not fit any more.
const quiet = time.Second

// watched are the changes of others that a writer has met, by predicate, and since when it sees each at the same step. The time is
// the writer's own: clocks of servers are not compared.
type watched map[string]struct {
	token string
	step  int
	since time.Time
}

// isQuiet reports whether nothing has happened to a change since long enough.
func (w watched) isQuiet(predicate string, i *intent, within time.Duration) bool {
	seen, there := w[predicate]
	if !there || seen.token != i.Token || seen.step != i.Step {
		seen.token, seen.step, seen.since = i.Token, i.Step, time.Now()
		w[predicate] = seen
		return false
	}
	return time.Since(seen.since) > within
}

// subjectCheck is the condition under which the subject may be changed, as an action, and whether with has it already.
func subjectCheck(subject entity.ID, with []action) (check action, there bool) {
	key := entityKey(subject)
	for _, a := range with {
		if a.table == entitiesMaster && (a.key == key || (text(a.item[entitiesMaster.pk]) == key.PK && text(a.item[entitiesMaster.sk]) == key.SK)) {
			return action{table: a.table, key: key, condition: a.condition, names: a.names, values: a.values, failed: a.failed}, true
		}
	}
	return living(subject, noSubject()), false
}

// relationsChange is one attempt at a change.
type relationsChange struct {
	db      Entities
	subject entity.ID
	with    []action
	once    idempotency.Key
	met     watched
	mu      sync.Mutex // guards met
	check   action     // of the subject
	checked bool       // with has the check
	plans   []*predicatePlan
	token   string
	order   task.Task
}

// predicatePlan is what is to happen under one predicate.
type predicatePlan struct {
	*predicateState
	goes  []relationRecord
	comes []relationRecord
	rows  []attrs // of those that come
	// respelled is how many of those that go, the last ones, come again, before all others: their keys were another program's, whose
	// indexes do not sort as numbers.
	respelled int
}

// rowsChanged counts rows that are prepared for a generation that never came, too: the change removes them. While a change
// that is not committed is under way there is no plan.
func (p *predicatePlan) rowsChanged() int { return len(p.goes) + len(p.comes) + len(p.coming) }

// plan reads what there is and decides what goes and what comes. A change that a lost server left is settled first.
func (c *relationsChange) plan(ctx context.Context, edits map[string]relationsEdit) error {
	predicates := slices.Sorted(maps.Keys(edits))
	c.plans = make([]*predicatePlan, len(predicates))
	return errors.Join(c.db.each(len(predicates), func(i int) error {
		edit := edits[predicates[i]]
		state, err := c.db.predicateState(ctx, c.subject, predicates[i], edit.whole)
		if err != nil {
			return err
		}
		if state.intent != nil && !state.committed() {
			c.mu.Lock()
			lost := c.met.isQuiet(predicates[i], state.intent, c.db.quiet)
			c.mu.Unlock()
			if lost {
				if _, err := c.db.settle(ctx, state); err != nil {
					return err
				}
			}
			return errMoved // or about to be
		}
		if slices.ContainsFunc(state.held, relationRecord.foreign) && !edit.whole { // what is written again is needed whole
			if state, err = c.db.predicateState(ctx, c.subject, predicates[i], true); err != nil {
				return err
			}
		}
		c.plans[i], err = c.decide(state, edit)
		return err
	})...)
}

func (c *relationsChange) decide(state *predicateState, edit relationsEdit) (*predicatePlan, error) {
	p := &predicatePlan{predicateState: state}
	goes, comes := edit.of(state.held)
	for _, i := range goes {
		p.goes = append(p.goes, state.held[i])
	}
	if len(comes) > 0 && len(state.held)-len(goes)+len(comes) > entity.MaxRelations {
		return nil, fault.New(fault.Exhausted, "an entity has at most %d relations under one predicate: remove some first, or use another predicate", entity.MaxRelations)
	}
	now := c.db.now()
	if len(comes) > 0 {
		comes = append(p.respell(goes), comes...)
	}
	for n, o := range comes {
		r := entity.Relation{Subject: c.subject, Predicate: state.predicate, Index: state.last + 1 + int64(n), Object: o.ID, Attributes: o.Attributes}
		attributes, err := own(o.Attributes)
		if err != nil {
			return nil, refusedValue(err)
		}
		row := relationRow(r, now, attributes)
		row["_from"] = number(int64(state.generation + 1))
		p.comes, p.rows = append(p.comes, relationRecord{Relation: r, Key: relationKey(r)}), append(p.rows, row)
	}
	return p, nil
}

// respell lets those that another program put, and that stay, go and come again under keys like ours, in the order of their indexes.
func (p *predicatePlan) respell(goes []int) (again []entity.Object) {
	var stay []relationRecord
	for i, r := range p.held {
		if r.foreign() && !slices.Contains(goes, i) {
			stay = append(stay, r)
		}
	}
	slices.SortStableFunc(stay, func(a, b relationRecord) int { return cmp.Compare(a.Index, b.Index) })
	for _, r := range stay {
		again = append(again, entity.Object{ID: r.Object, Attributes: r.Attributes})
	}
	p.goes, p.respelled = append(p.goes, stay...), len(stay)
	return again
}

// grows returns how many relations more there are behind the change.
func (c *relationsChange) grows() (n int) {
	for _, p := range c.plans {
		n += len(p.comes) - len(p.goes)
	}
	return n
}

func (c *relationsChange) changed() map[string]relationsChanged {
	all := map[string]relationsChanged{}
	for _, p := range c.plans {
		if p == nil {
			continue
		}
		var done relationsChanged
		for _, r := range p.comes[p.respelled:] {
			done.Added = append(done.Added, r.Relation)
		}
		for _, r := range p.goes[:len(p.goes)-p.respelled] {
			done.Removed = append(done.Removed, r.Relation)
		}
		all[p.predicate] = done
	}
	return all
}

func (c *relationsChange) carryOut(ctx context.Context) error {
	rows := 0
	for _, p := range c.plans {
		rows += p.rowsChanged()
	}
	if rows <= 1 && !slices.ContainsFunc(c.plans, func(p *predicatePlan) bool { return len(p.coming) > 0 }) {
		return c.atOnce(ctx)
	}
	return c.inSteps(ctx)
}

// settledRows checks what the plans take for granted besides the heads.
func (c *relationsChange) settledRows() []action {
	var actions []action
	for _, p := range c.plans {
		actions = append(actions, p.settledRow()...)
	}
	return actions
}

// final are the actions that make the change, apart from those on the rows and on the heads of what changes.
func (c *relationsChange) final() []action {
	actions := slices.Clone(c.with)
	if !c.checked {
		actions = append(actions, c.check)
	}
	for _, p := range c.plans {
		if p.rowsChanged() == 0 { // what is right already has to stay so
			actions = append(actions, p.unmoved(action{}))
		}
	}
	return actions
}

// atOnce changes one row or none. It shows the old state or the new one whichever of its rows are seen.
func (c *relationsChange) atOnce(ctx context.Context) error {
	actions := append(c.final(), c.settledRows()...)
	for _, p := range c.plans {
		if p.rowsChanged() == 0 {
			continue
		}
		var of single
		for _, r := range p.goes {
			of.Went = r.Key.SK
		}
		for _, r := range p.comes {
			of.Came = r.Key.SK
		}
		// An intent may be there still: of a change that is committed and not cleared.
		actions = append(actions, p.unmoved(action{item: p.head(p.generation+1, p.intent, of)}))
		for _, r := range p.goes {
			actions = append(actions, action{
				table: relationshipEntries, key: r.Key, remove: true, condition: "attribute_exists(#pk)",
				names: map[string]string{"#pk": relationshipEntries.pk}, failed: moved,
			})
		}
		for i, r := range p.comes {
			actions = append(actions, action{
				table: relationshipEntries, item: p.rows[i], condition: "attribute_not_exists(#pk)",
				names: map[string]string{"#pk": relationshipEntries.pk}, failed: moved,
			})
			if r.Object != c.subject {
				actions = append(actions, living(r.Object, &entity.UnknownObject{ID: r.Object}))
			}
		}
		actions = append(actions, action{table: relationshipEntries, item: p.tail(p.generation + 1)})
	}
	return c.db.transact(ctx, actions, c.once)
}

// inSteps changes many rows.
func (c *relationsChange) inSteps(ctx context.Context) error {
	if len(c.final())+2*len(c.moving())+1 > maxActions {
		return fault.New(fault.Exhausted, "relations under so many predicates cannot be changed together with so much else: change some of them at a time")
	}
	c.token = uuid.NewString()
	now := c.db.now()
	c.order = task.Task{Kind: entity.ChangeRelations, ID: c.token, Scope: c.subject.Scope, Due: now.Add(task.Lease).Truncate(time.Millisecond)}
	err := c.begin(ctx, now)
	if errors.Is(err, errMoved) {
		return err
	}
	for _, actions := range c.chunks() {
		if err == nil {
			err = c.db.transact(ctx, actions, idempotency.Key{})
		}
	}
	if err == nil {
		err = c.commit(ctx)
	}
	ctx, cancel := detached(ctx)
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
	return slices.DeleteFunc(slices.Clone(c.plans), func(p *predicatePlan) bool { return p.rowsChanged() == 0 })
}

func (c *relationsChange) begin(ctx context.Context, now time.Time) error {
	moving := c.moving()
	actions := []action{c.check, {table: relationshipEntries, item: relationsOrder(c.order.ID, c.subject, moving)}, taskAction(c.order)}
	for _, p := range moving {
		actions = append(actions, p.unmoved(action{item: p.head(p.generation, c.intent(p, now), p.single)}))
	}
	actions = append(actions, c.settledRows()...)
	return c.db.transact(ctx, actions, idempotency.Key{})
}

func (c *relationsChange) intent(p *predicatePlan, now time.Time) *intent {
	return &intent{Token: c.token, Since: now, Order: c.order.ID, Due: c.order.Due, Before: p.generation, Alone: len(c.moving()) == 1}
}

// maxPrepared is how many actions of a change go into one transaction; see [DB].prepared.
const maxPrepared = 90

// chunks are the transactions that prepare. Each is conditional on the intents of the predicates that it touches, on the
// subject, and on the objects that come.
func (c *relationsChange) chunks() [][]action {
	b := chunkBuilder{always: []action{c.check}, most: c.db.prepared}
	step := 0
	for _, p := range c.moving() {
		fenced := func() action { // the first one of a transaction tells how far it came
			step++
			fence := p.fenced(c.token, action{update: "SET #intent.#step = :step"})
			fence.names["#step"], fence.values[":step"] = "step", number(int64(step))
			return fence
		}
		next := number(int64(p.generation + 1))
		for _, r := range p.coming { // as the change has begun, the generation is what was read, and these are nobody's
			b.add(action{table: relationshipEntries, key: r.Key, remove: true}, fenced())
		}
		for _, r := range p.goes {
			b.add(action{
				table: relationshipEntries, key: r.Key, update: "SET #until = :next", condition: "attribute_exists(#pk)",
				names: map[string]string{"#pk": relationshipEntries.pk, "#until": "_until"}, values: attrs{":next": next}, failed: moved,
			}, fenced())
		}
		for i, r := range p.comes {
			if r.Object == c.subject || i < p.respelled {
				b.add(action{table: relationshipEntries, item: p.rows[i]}, fenced())
			} else {
				b.add(action{table: relationshipEntries, item: p.rows[i]}, fenced(), living(r.Object, &entity.UnknownObject{ID: r.Object}))
			}
		}
	}
	return b.chunks
}

// chunkBuilder cuts writes into transactions, each with the checks that its writes need.
type chunkBuilder struct {
	most   int
	always []action // checks of every transaction
	chunks [][]action
	has    map[rowID]bool // checks of the last transaction
}

func (b *chunkBuilder) add(write action, checks ...action) {
	if n := len(b.chunks) - 1; n < 0 || len(b.chunks[n])+1+len(checks) > b.most {
		b.chunks, b.has = append(b.chunks, slices.Clone(b.always)), map[rowID]bool{}
	}
	last := &b.chunks[len(b.chunks)-1]
	for _, check := range checks {
		if id := (rowID{check.table, check.key}); !b.has[id] {
			b.has[id], *last = true, append(*last, check)
		}
	}
	*last = append(*last, write)
}

func (c *relationsChange) commit(ctx context.Context) error {
	actions := c.final()
	for _, p := range c.moving() {
		actions = append(actions, p.fenced(c.token, action{item: p.head(p.generation+1, c.intent(p, c.order.Due.Add(-task.Lease)), single{})}))
	}
	for _, p := range c.moving() {
		actions = append(actions, action{table: relationshipEntries, item: p.tail(p.generation + 1)})
	}
	return c.db.transact(ctx, actions, c.once)
}

// clear removes what has gone and the order. What it does not get done is done by the task, or by the next change.
func (c *relationsChange) clear(ctx context.Context) {
	moving := c.moving()
	for i, p := range moving {
		var then []action
		if i == len(moving)-1 {
			then = c.settled()
		}
		if err := c.db.clear(ctx, p.predicateState, c.token, append(p.gone, p.goes...), nil, then, false); err != nil {
			return
		}
	}
}

// settled removes the order and the task.
func (c *relationsChange) settled() []action {
	return []action{
		{table: relationshipEntries, key: orderKey(c.order.ID), remove: true},
		{table: relationshipEntries, key: taskKey(c.order), remove: true},
	}
}

// abandon takes the change back and reports whether that was too late because it is committed.
func (c *relationsChange) abandon(ctx context.Context) (committed bool) {
	err := c.db.settleOrder(ctx, c.order.ID, c.subject, c.moving(), func(done bool) { committed = committed || done })
	if err == nil {
		_ = c.db.transact(ctx, c.settled(), idempotency.Key{}) // the task does it otherwise
	}
	return committed
}
