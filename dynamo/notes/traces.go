package notes

import (
	"context"
	"strings"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/user"
)

// tracedNotes are the rows of others that name a user: notes, tombstones and versions of what the user wrote, what counts what the user shared with
// others, blocks, events that are not told yet, profiles of users whom the user deleted, changes in the histories of projects, and the user's identities.
func tracedNotes(id user.ID) dynamo.Traced {
	return dynamo.Traced{
		Table: dynamo.NotesTable, Attributes: []string{"author", "updated_by", "deleted_by", outbox.ByAttribute, keys.HistoryMember}, // the outbox and histories have the same keys.HistoryBy
		Or: "SK = :given OR SK = :blocked OR begins_with(PK, :outbox) AND (user_id = :id OR #with = :id)" +
			" OR SK = :subject AND begins_with(PK, :subjects) AND user_id = :id",
		Names: map[string]string{"#with": outbox.WithAttribute},
		Values: dynamo.Attrs{":given": dynamo.Str(keys.GivenSK(string(id))), ":blocked": dynamo.Str(keys.BlockedSK(string(id))),
			":outbox": dynamo.Str(keys.OutboxPrefix), ":subject": dynamo.Str(keys.SubjectSK), ":subjects": dynamo.Str(keys.SubjectPrefix)},
	}
}

// toldWithin is how long events have until they are told to those who follow. Those that are older are removed with their user: nobody waits for them.
const toldWithin = time.Minute

// EraseTraces removes on one page of the table, from a position on, what the rows of others say about a user, and returns how many such rows it met, and
// where to go on; "" at the end. The user's own rows stay. [user.Erased] takes the user's place as who wrote a note or a version, who deleted another user, and
// in histories of projects; no version or event is made of that. What the user shared with others is not counted any more, and nobody blocks the user. Events about what the user had, or was given, are removed when
// they are [toldWithin] old, and met until then. Identities are noted for EraseUser, which no other read finds; they are not met.
//
// Index: primary, by Scan. Key: all rows of the notes table. Each row is changed on condition that it names the user still; identities as in NoteIdentity. Cost: 1
// consistent Scan of up to 1 MB, and 1 TransactWriteItems of 1 row for each that it shows; of 2 for a block and an identity.
func (db Store) EraseTraces(ctx context.Context, id user.ID, position string) (met int, next string, err error) {
	found, next, err := db.Traces(ctx, tracedNotes(id), string(id), position)
	if err != nil {
		return 0, "", err
	}
	others := found[:0]
	for _, t := range found {
		switch {
		case t.Key.PK == keys.UserPK(string(id)):
		case strings.HasPrefix(t.Key.PK, keys.SubjectPrefix):
			if err := (users.Store{DB: db.DB}).NoteIdentity(ctx, id, t.Key.PK); err != nil {
				return 0, "", err
			}
		default:
			others = append(others, t)
		}
	}
	return len(others), next, dynamo.EraseEach(db.DB, others, func(t dynamo.Trace) error {
		gone := dynamo.Action{Table: dynamo.NotesTable, Key: t.Key, Remove: true}
		switch {
		case t.Key.SK == keys.BlockedSK(string(id)):
			return users.Store{DB: db.DB}.EraseBlock(ctx, t.Key)
		case len(t.Attributes) > 0:
			gone = t.Replacing(dynamo.NotesTable, string(id), string(user.Erased))
		case t.Key.SK != keys.GivenSK(string(id)) && t.Key.SK > keys.Instant(db.Now().Add(-toldWithin)):
			return nil // it is on its way
		}
		return db.Transact(ctx, []dynamo.Action{gone}, idempotency.Key{})
	})
}
