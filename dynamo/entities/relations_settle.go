package entities

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// relationsOrder is what the task of a change needs to know.
func relationsOrder(id string, subject entity.ID, plans []*predicatePlan) dynamo.Attrs {
	row := dynamo.RelationshipEntries.Key(orderKey(id))
	row["scope"], row["type"], row["id"] = dynamo.Str(subject.Scope), dynamo.Str(subject.Type), dynamo.Str(subject.ID)
	var predicates []types.AttributeValue
	for _, p := range plans {
		predicates = append(predicates, dynamo.Str(p.predicate))
	}
	row["predicates"] = &types.AttributeValueMemberL{Value: predicates}
	return row
}

// SettleRelations takes back a change that was not committed, and removes what has gone where it was.
//
// Index: primary. Key: _subject_key = taggie:Orders:<id> AND _predicate_key = order; then _subject_key = <scope>:<type>:<id> AND
// _predicate_key between <predicate>:! and <predicate>:~. Cost: 1 GetItem, 1 TransactWriteItems; for each predicate of the change
// that is not settled 2 Query, 1 TransactWriteItems to take it over and one per 89 rows that are left.
func (db Store) SettleRelations(ctx context.Context, t task.Task) error {
	var subject entity.ID
	var plans []*predicatePlan
	found, err := db.Get(ctx, dynamo.RelationshipEntries, orderKey(t.ID), func(item dynamo.Item) error {
		return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
			switch string(name) {
			case "scope":
				subject.Scope, err = v.Str()
			case "type":
				subject.Type, err = v.Str()
			case "id":
				subject.ID, err = v.Str()
			case "predicates":
				err = v.List(func(s string) error {
					plans = append(plans, &predicatePlan{predicateState: &predicateState{predicate: s}})
					return nil
				})
			}
			return err
		})
	})
	if err != nil || !found {
		return err
	}
	if err := db.settleOrder(ctx, t.ID, subject, plans, func(bool) {}); err != nil {
		return err
	}
	return db.Transact(ctx, []dynamo.Action{{Table: dynamo.RelationshipEntries, Key: orderKey(t.ID), Remove: true}}, idempotency.Key{})
}

// settleOrder settles the change under each of its predicates where that is still to be done, and reports whether it is
// committed.
func (db Store) settleOrder(ctx context.Context, order string, subject entity.ID, plans []*predicatePlan, report func(committed bool)) error {
	for _, p := range plans {
		for idle := 0; ; idle++ {
			state, err := db.predicateState(ctx, subject, p.predicate, false)
			if err != nil {
				return err
			}
			if state.Intent == nil || state.Intent.Order != order {
				break // somebody has settled it
			}
			committed, err := db.settle(ctx, state)
			if err == nil {
				report(committed)
				break
			}
			if !errors.Is(err, dynamo.ErrMoved) || !db.Pause(ctx, idle) {
				return fmt.Errorf("settle the relations of an entity: %w", err)
			}
		}
	}
	return nil
}

// settle takes the change over whose intent was read, and finishes it where it is committed or else takes it back.
func (db Store) settle(ctx context.Context, p *predicateState) (committed bool, err error) {
	i := *p.Intent
	i.Token, i.Since = uuid.NewString(), db.Now()
	if err := db.Transact(ctx, []dynamo.Action{p.unmoved(dynamo.Action{Item: p.head(p.generation, &i, p.single)})}, idempotency.Key{}); err != nil {
		return false, err
	}
	// Nobody else writes from here on, except single rows after a commit.
	p, err = db.predicateState(ctx, p.subject, p.predicate, false)
	if err != nil {
		return false, err
	}
	if p.Intent == nil || p.Intent.Token != i.Token {
		return false, dynamo.ErrMoved
	}
	var then []dynamo.Action
	if i.Alone {
		then = []dynamo.Action{
			{Table: dynamo.RelationshipEntries, Key: orderKey(i.Order), Remove: true},
			{Table: dynamo.RelationshipEntries, Key: dynamo.TaskKey(task.Task{Kind: entity.ChangeRelations, ID: i.Order, Due: i.Due}), Remove: true},
		}
	}
	if p.Committed() {
		// What is coming is somebody's single row, whose head was not shown yet when it was read.
		return true, db.clear(ctx, p, i.Token, p.gone, nil, then, false)
	}
	var unmark []RelationRecord
	for _, r := range p.Held {
		if r.Until != 0 {
			unmark = append(unmark, r)
		}
	}
	return false, db.clear(ctx, p, i.Token, append(p.gone, p.coming...), unmark, then, p.generation == 0)
}

// clear removes and unmarks rows, then the intent, or the whole head, with the further actions.
func (db Store) clear(ctx context.Context, p *predicateState, token string, remove, unmark []RelationRecord, then []dynamo.Action, head bool) error {
	var actions []dynamo.Action
	for _, r := range remove {
		actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Key: r.Key, Remove: true})
	}
	for _, r := range unmark {
		actions = append(actions, dynamo.Action{
			Table: dynamo.RelationshipEntries, Key: r.Key, Update: "REMOVE #until", Condition: "attribute_exists(#pk)",
			Names: map[string]string{"#pk": dynamo.RelationshipEntries.PK, "#until": "_until"}, Failed: dynamo.Moved,
		})
	}
	for len(actions) > db.Prepared {
		step := append([]dynamo.Action{p.fenced(token, dynamo.Action{})}, actions[:db.Prepared]...)
		if err := db.Transact(ctx, step, idempotency.Key{}); err != nil {
			return err
		}
		actions = actions[db.Prepared:]
	}
	end := dynamo.Action{Update: "REMOVE #intent"}
	if head {
		end = dynamo.Action{Remove: true}
	}
	return db.Transact(ctx, append(append([]dynamo.Action{p.fenced(token, end)}, actions...), then...), idempotency.Key{})
}
