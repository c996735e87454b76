package entities

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/taggie/taggie/dynamo"
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
func (db Store) changeRelations(ctx context.Context, subject entity.ID, edits map[string]relationsEdit, with []dynamo.Action, once idempotency.Key) (map[string]relationsChanged, error) {
	ctx, cancel := dynamo.Within(ctx)
	defer cancel()
	met := watched{}
	for idle := 0; ; idle++ {
		c := &relationsChange{DB: db, Subject: subject, with: with, once: once, met: met}
		c.Check, c.Checked = subjectCheck(subject, with)
		err := c.Plan(ctx, edits)
		if err == nil {
			err = db.Spend(allowedRelations, subject.Scope, c.grows(), func() error { return c.CarryOut(ctx) })
		}
		if !errors.Is(err, dynamo.ErrMoved) {
			return c.changed(), err
		}
		if len(met) > 0 { // there is something to see soon
			idle = min(idle, 4)
		}
		if !db.Pause(ctx, idle) {
			return nil, retry.Busy("these relations")
		}
	}
}

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
func subjectCheck(subject entity.ID, with []dynamo.Action) (check dynamo.Action, there bool) {
	key := EntityKey(subject)
	for _, a := range with {
		if a.Table == dynamo.EntitiesMaster && (a.Key == key || (dynamo.Text(a.Item[dynamo.EntitiesMaster.PK]) == key.PK && dynamo.Text(a.Item[dynamo.EntitiesMaster.SK]) == key.SK)) {
			return dynamo.Action{Table: a.Table, Key: key, Condition: a.Condition, Names: a.Names, Values: a.Values, Failed: a.Failed}, true
		}
	}
	return living(subject, noSubject()), false
}

// relationsChange is one attempt at a change.
type relationsChange struct {
	DB      Store
	Subject entity.ID
	with    []dynamo.Action
	once    idempotency.Key
	met     watched
	mu      sync.Mutex    // guards met
	Check   dynamo.Action // of the subject
	Checked bool          // with has the check
	Plans   []*predicatePlan
	token   string
	order   task.Task
}

// predicatePlan is what is to happen under one predicate.
type predicatePlan struct {
	*predicateState
	goes  []RelationRecord
	comes []RelationRecord
	rows  []dynamo.Attrs // of those that come
	// respelled is how many of those that go, the last ones, come again, before all others: their keys were another program's, whose
	// indexes do not sort as numbers.
	respelled int
}

// rowsChanged counts rows that are prepared for a generation that never came, too: the change removes them. While a change
// that is not committed is under way there is no plan.
func (p *predicatePlan) rowsChanged() int { return len(p.goes) + len(p.comes) + len(p.coming) }

// Plan reads what there is and decides what goes and what comes. A change that a lost server left is settled first.
func (c *relationsChange) Plan(ctx context.Context, edits map[string]relationsEdit) error {
	predicates := slices.Sorted(maps.Keys(edits))
	c.Plans = make([]*predicatePlan, len(predicates))
	return errors.Join(c.DB.Each(len(predicates), func(i int) error {
		edit := edits[predicates[i]]
		state, err := c.DB.predicateState(ctx, c.Subject, predicates[i], edit.whole)
		if err != nil {
			return err
		}
		if state.Intent != nil && !state.Committed() {
			c.mu.Lock()
			lost := c.met.isQuiet(predicates[i], state.Intent, c.DB.Quiet)
			c.mu.Unlock()
			if lost {
				if _, err := c.DB.settle(ctx, state); err != nil {
					return err
				}
			}
			return dynamo.ErrMoved // or about to be
		}
		if slices.ContainsFunc(state.Held, RelationRecord.foreign) && !edit.whole { // what is written again is needed whole
			if state, err = c.DB.predicateState(ctx, c.Subject, predicates[i], true); err != nil {
				return err
			}
		}
		c.Plans[i], err = c.decide(state, edit)
		return err
	})...)
}

func (c *relationsChange) decide(state *predicateState, edit relationsEdit) (*predicatePlan, error) {
	p := &predicatePlan{predicateState: state}
	goes, comes := edit.of(state.Held)
	for _, i := range goes {
		p.goes = append(p.goes, state.Held[i])
	}
	if err := refused(p.goes, comes); err != nil {
		return nil, err
	}
	if len(comes) > 0 && len(state.Held)-len(goes)+len(comes) > entity.MaxRelations {
		return nil, fault.New(fault.Exhausted, "an entity has at most %d relations under one predicate: remove some first, or use another predicate", entity.MaxRelations)
	}
	now := c.DB.Now()
	if len(comes) > 0 {
		comes = append(p.respell(goes), comes...)
	}
	for n, o := range comes {
		r := entity.Relation{Subject: c.Subject, Predicate: state.predicate, Index: state.last + 1 + int64(n), Object: o.ID, Attributes: o.Attributes}
		attributes, err := own(o.Attributes)
		if err != nil {
			return nil, refusedValue(err)
		}
		row := RelationRow(r, now, attributes)
		row["_from"] = dynamo.Number(int64(state.generation + 1))
		p.comes, p.rows = append(p.comes, RelationRecord{Relation: r, Key: RelationKey(r)}), append(p.rows, row)
	}
	return p, nil
}

// refused returns what a change fails with that relates the subject to a refused object more often than before.
func refused(goes []RelationRecord, comes []entity.Object) error {
	left := map[entity.ID]int{}
	for _, r := range goes {
		left[r.Object]++
	}
	for _, o := range comes {
		if o.Refused != nil && left[o.ID] == 0 {
			return o.Refused
		}
		left[o.ID]--
	}
	return nil
}

// respell lets those that another program put, and that stay, go and come again under keys like ours, in the order of their indexes.
func (p *predicatePlan) respell(goes []int) (again []entity.Object) {
	var stay []RelationRecord
	for i, r := range p.Held {
		if r.foreign() && !slices.Contains(goes, i) {
			stay = append(stay, r)
		}
	}
	slices.SortStableFunc(stay, func(a, b RelationRecord) int { return cmp.Compare(a.Index, b.Index) })
	for _, r := range stay {
		again = append(again, entity.Object{ID: r.Object, Attributes: r.Attributes})
	}
	p.goes, p.respelled = append(p.goes, stay...), len(stay)
	return again
}

// grows returns how many relations more there are behind the change.
func (c *relationsChange) grows() (n int) {
	for _, p := range c.Plans {
		n += len(p.comes) - len(p.goes)
	}
	return n
}

func (c *relationsChange) changed() map[string]relationsChanged {
	all := map[string]relationsChanged{}
	for _, p := range c.Plans {
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

func (c *relationsChange) CarryOut(ctx context.Context) error {
	rows := 0
	for _, p := range c.Plans {
		rows += p.rowsChanged()
	}
	if rows <= 1 && !slices.ContainsFunc(c.Plans, func(p *predicatePlan) bool { return len(p.coming) > 0 }) {
		return c.atOnce(ctx)
	}
	return c.inSteps(ctx)
}

// settledRows checks what the plans take for granted besides the heads.
func (c *relationsChange) settledRows() []dynamo.Action {
	var actions []dynamo.Action
	for _, p := range c.Plans {
		actions = append(actions, p.settledRow()...)
	}
	return actions
}

// final are the actions that make the change, apart from those on the rows and on the heads of what changes.
func (c *relationsChange) final() []dynamo.Action {
	actions := slices.Clone(c.with)
	if !c.Checked {
		actions = append(actions, c.Check)
	}
	for _, p := range c.Plans {
		if p.rowsChanged() == 0 { // what is right already has to stay so
			actions = append(actions, p.unmoved(dynamo.Action{}))
		}
	}
	return actions
}

// atOnce changes one row or none. It shows the old state or the new one whichever of its rows are seen.
func (c *relationsChange) atOnce(ctx context.Context) error {
	actions := append(c.final(), c.settledRows()...)
	for _, p := range c.Plans {
		if p.rowsChanged() == 0 {
			continue
		}
		var of single
		for _, r := range p.goes {
			of.Went = r.Key.SK
			of.of(r)
		}
		for _, r := range p.comes {
			of.Came = r.Key.SK
			of.of(r)
		}
		// An intent may be there still: of a change that is committed and not cleared.
		actions = append(actions, p.unmoved(dynamo.Action{Item: p.head(p.generation+1, p.Intent, of)}))
		for _, r := range p.goes {
			actions = append(actions, dynamo.Action{
				Table: dynamo.RelationshipEntries, Key: r.Key, Remove: true, Condition: "attribute_exists(#pk)",
				Names: map[string]string{"#pk": dynamo.RelationshipEntries.PK}, Failed: dynamo.Moved,
			})
		}
		for i, r := range p.comes {
			actions = append(actions, dynamo.Action{
				Table: dynamo.RelationshipEntries, Item: p.rows[i], Condition: "attribute_not_exists(#pk)",
				Names: map[string]string{"#pk": dynamo.RelationshipEntries.PK}, Failed: dynamo.Moved,
			})
			if r.Object != c.Subject {
				actions = append(actions, living(r.Object, &entity.UnknownObject{ID: r.Object}))
			}
		}
		actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Item: p.tail(p.generation + 1)})
	}
	return c.DB.Transact(ctx, actions, c.once)
}
