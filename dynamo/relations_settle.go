package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

// relationsOrder is what the task of a change needs to know.
func relationsOrder(id string, subject entity.ID, plans []*predicatePlan) attrs {
	row := relationshipEntries.key(orderKey(id))
	row["scope"], row["type"], row["id"] = str(subject.Scope), str(subject.Type), str(subject.ID)
	var predicates []types.AttributeValue
	for _, p := range plans {
		predicates = append(predicates, str(p.predicate))
	}
	row["predicates"] = &types.AttributeValueMemberL{Value: predicates}
	return row
}

// SettleRelations takes back a change that was not committed, and removes what has gone where it was.
//
// Index: primary. Key: _subject_key = taggie:Orders:<id> AND _predicate_key = order; then _subject_key = <scope>:<type>:<id> AND
// _predicate_key between <predicate>:! and <predicate>:~. Cost: 1 GetItem, 1 TransactWriteItems; for each predicate of the change
// that is not settled 2 Query, 1 TransactWriteItems to take it over and one per 89 rows that are left.
func (db Entities) SettleRelations(ctx context.Context, t task.Task) error {
	var subject entity.ID
	var plans []*predicatePlan
	found, err := db.get(ctx, relationshipEntries, orderKey(t.ID), func(item []byte) error {
		return attributes(item, func(name []byte, v value) (err error) {
			switch string(name) {
			case "scope":
				subject.Scope, err = v.str()
			case "type":
				subject.Type, err = v.str()
			case "id":
				subject.ID, err = v.str()
			case "predicates":
				err = v.list(func(s string) error {
					plans = append(plans, &predicatePlan{predicateState: &predicateState{predicate: s}})
					return nil
				})
			default:
				err = v.skip()
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
	return db.transact(ctx, []action{{table: relationshipEntries, key: orderKey(t.ID), remove: true}}, idempotency.Key{})
}

// settleOrder settles the change under each of its predicates where that is still to be done, and reports whether it is
// committed.
func (db Entities) settleOrder(ctx context.Context, order string, subject entity.ID, plans []*predicatePlan, report func(committed bool)) error {
	for _, p := range plans {
		for idle := 0; ; idle++ {
			state, err := db.predicateState(ctx, subject, p.predicate, false)
			if err != nil {
				return err
			}
			if state.intent == nil || state.intent.Order != order {
				break // somebody has settled it
			}
			committed, err := db.settle(ctx, state)
			if err == nil {
				report(committed)
				break
			}
			if !errors.Is(err, errMoved) || !db.pause(ctx, idle) {
				return fmt.Errorf("settle the relations of an entity: %w", err)
			}
		}
	}
	return nil
}

// settle takes the change over whose intent was read, and finishes it where it is committed or else takes it back.
func (db Entities) settle(ctx context.Context, p *predicateState) (committed bool, err error) {
	i := *p.intent
	i.Token, i.Since = uuid.NewString(), db.now()
	if err := db.transact(ctx, []action{p.unmoved(action{item: p.head(p.generation, &i, p.single)})}, idempotency.Key{}); err != nil {
		return false, err
	}
	// Nobody else writes from here on, except single rows after a commit.
	p, err = db.predicateState(ctx, p.subject, p.predicate, false)
	if err != nil {
		return false, err
	}
	if p.intent == nil || p.intent.Token != i.Token {
		return false, errMoved
	}
	var then []action
	if i.Alone {
		then = []action{
			{table: relationshipEntries, key: orderKey(i.Order), remove: true},
			{table: relationshipEntries, key: taskKey(task.Task{Kind: entity.ChangeRelations, ID: i.Order, Due: i.Due}), remove: true},
		}
	}
	if p.committed() {
		// What is coming is somebody's single row, whose head was not shown yet when it was read.
		return true, db.clear(ctx, p, i.Token, p.gone, nil, then, false)
	}
	var unmark []relationRecord
	for _, r := range p.held {
		if r.Until != 0 {
			unmark = append(unmark, r)
		}
	}
	return false, db.clear(ctx, p, i.Token, append(p.gone, p.coming...), unmark, then, p.generation == 0)
}

// clear removes and unmarks rows, then the intent, or the whole head, with the further actions.
func (db Entities) clear(ctx context.Context, p *predicateState, token string, remove, unmark []relationRecord, then []action, head bool) error {
	var actions []action
	for _, r := range remove {
		actions = append(actions, action{table: relationshipEntries, key: r.Key, remove: true})
	}
	for _, r := range unmark {
		actions = append(actions, action{
			table: relationshipEntries, key: r.Key, update: "REMOVE #until", condition: "attribute_exists(#pk)",
			names: map[string]string{"#pk": relationshipEntries.pk, "#until": "_until"}, failed: moved,
		})
	}
	for len(actions) > db.prepared {
		step := append([]action{p.fenced(token, action{})}, actions[:db.prepared]...)
		if err := db.transact(ctx, step, idempotency.Key{}); err != nil {
			return err
		}
		actions = actions[db.prepared:]
	}
	end := action{update: "REMOVE #intent"}
	if head {
		end = action{remove: true}
	}
	return db.transact(ctx, append(append([]action{p.fenced(token, end)}, actions...), then...), idempotency.Key{})
}
