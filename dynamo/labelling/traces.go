package labelling

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/user"
)

// farAhead is later than anything in the outbox, whatever the clocks of servers say.
const farAhead = 24 * time.Hour

// outboxPage is how many transitions are read together.
const outboxPage = 500

// EraseFromOutbox puts the pseudonym in the place of a user, in transitions that the queues have not followed yet, on one page of the outbox, from a position
// on. It returns how many it met, and where to go on; "" at the end. Messages that are on their way name the user still, and are followed under the old name:
// the queues are asked afterwards.
//
// Index: primary. Key: as in ListOutbox, one shard after another; each row on condition that it is there. Cost: 1 Query for up to 500 transitions or a megabyte, of
// which there is at least 1 for each shard (16), and 1 TransactWriteItems of 1 row for each transition that names the user.
func (db Store) EraseFromOutbox(ctx context.Context, id user.ID, position string, pseudonyms user.Pseudonyms) (met int, next string, err error) {
	shards := keys.OutboxSubjectKeys()
	s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: shards[0], Limit: outboxPage, Single: true}
	s.Low, s.High = keys.OutboxRange(db.Now().Add(farAhead))
	if position != "" {
		var behind string
		s.PK, behind, _ = strings.Cut(position, "\n")
		if behind != "" {
			s.Low = behind + "\x00"
		}
	}
	var found []labelling.Transition
	more, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
		var t labelling.Transition
		err := decodeOutbox(item, &t)
		if t.Names(id) {
			found = append(found, t)
		}
		return true, err
	})
	if err != nil {
		return 0, "", err
	}
	if err := errors.Join(db.Each(len(found), func(i int) error { return db.eraseTransition(ctx, id, found[i], pseudonyms) })...); err != nil {
		return 0, "", err
	}
	if more != nil {
		return len(found), s.PK + "\n" + dynamo.Text(more[dynamo.RelationshipEntries.SK]), nil
	}
	if n := slices.Index(shards, s.PK) + 1; n < len(shards) {
		next = shards[n]
	}
	return len(found), next, nil
}

// eraseTransition puts the pseudonym in the place of a user in a transition, unless the queues have followed that meanwhile.
func (db Store) eraseTransition(ctx context.Context, id user.ID, t labelling.Transition, pseudonyms user.Pseudonyms) error {
	by, err := pseudonyms(ctx, id, string(t.Project))
	if err != nil {
		return err
	}
	row, err := outboxRow(t.Renaming(id, by))
	if err != nil {
		return err
	}
	return dynamo.UnlessMoved(db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.RelationshipEntries, Key: outboxKey(t.Item, t.Ref()), Update: "SET #transition = :is", Condition: "attribute_exists(#transition)", Names: dynamo.Reserved("transition"),
		Values: dynamo.Attrs{":is": row["transition"]}, Failed: dynamo.Moved,
	}}, idempotency.Key{}))
}
