package labelling

import (
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/user"
)

// wholeOutbox is more than the outbox of all projects holds, and farAhead later than anything in it, whatever the clocks of servers say.
const (
	wholeOutbox = 1_000_000
	farAhead    = 24 * time.Hour
)

// EraseFromOutbox puts the pseudonym in the place of a user, in transitions that the queues have not followed yet. It returns how many it met.
// Messages that are on their way name the user still, and are followed under the old name: the queues are asked afterwards.
//
// Index: primary. Key: as in ListOutbox; each row on condition that it is there. Cost: 1 Query per shard (16), one more per started
// megabyte, and 1 TransactWriteItems of 1 row for each transition that names the user.
func (db Store) EraseFromOutbox(ctx context.Context, id user.ID, pseudonyms user.Pseudonyms) (met int, err error) {
	all, err := db.ListOutbox(ctx, db.Now().Add(farAhead), wholeOutbox)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(t labelling.Transition) bool { return !t.Names(id) })
	for _, t := range all {
		by, err := pseudonyms(ctx, id, string(t.Project))
		if err != nil {
			return 0, err
		}
		row, err := outboxRow(t.Renaming(id, by))
		if err != nil {
			return 0, err
		}
		err = db.Transact(ctx, []dynamo.Action{{
			Table: dynamo.RelationshipEntries, Key: outboxKey(t.Item, t.Ref()), Update: "SET #transition = :is", Condition: "attribute_exists(#transition)", Names: dynamo.Reserved("transition"),
			Values: dynamo.Attrs{":is": row["transition"]}, Failed: dynamo.Moved,
		}}, idempotency.Key{})
		if dynamo.UnlessMoved(err) != nil {
			return 0, err
		}
	}
	return len(all), nil
}
