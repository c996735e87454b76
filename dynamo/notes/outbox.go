package notes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
)

func outboxKey(e note.Event) dynamo.Key {
	return dynamo.Key{PK: keys.NoteOutboxPK(string(e.Note)), SK: keys.NoteOutboxSK(e.At, string(e.Note), string(e.Type), string(e.With))}
}

// outboxRecord is a row of an event on its way to those who follow the note. No index has it.
type outboxRecord struct {
	note.Event
	key dynamo.Key
}

var outboxRows = dynamo.LayoutOf(
	dynamo.OfText("PK", func(r *outboxRecord) *string { return &r.key.PK }),
	dynamo.OfText("SK", func(r *outboxRecord) *string { return &r.key.SK }),
	dynamo.OfText("type", func(r *outboxRecord) *note.EventType { return &r.Type }),
	dynamo.OfText("note_id", func(r *outboxRecord) *note.ID { return &r.Note }),
	dynamo.Optional(dynamo.OfText("user_id", func(r *outboxRecord) *note.UserID { return &r.Owner })),
	dynamo.OfText("by", func(r *outboxRecord) *note.UserID { return &r.By }),
	dynamo.Optional(dynamo.OfText("with", func(r *outboxRecord) *note.UserID { return &r.With })),
	dynamo.Optional(dynamo.OfWhole("version", func(r *outboxRecord) *int { return &r.Version })),
	dynamo.OfInstant("at", func(r *outboxRecord) *time.Time { return &r.At }),
)

// change carries out the actions and puts the event of it into the outbox, in one transaction. Then it is told; should this process end before,
// others find it in the outbox.
func (db Store) change(ctx context.Context, e note.Event, actions []dynamo.Action, once idempotency.Key) error {
	row := outboxRows.Row(&outboxRecord{Event: e, key: outboxKey(e)})
	err := db.Transact(ctx, append(actions, dynamo.Action{Table: dynamo.NotesTable, Item: row}), once)
	if err == nil && db.Tell != nil {
		db.Tell(e)
	}
	return err
}

// ListOutbox reads the shards concurrently. Whose a note is that its reader has left, its locator tells.
//
// Index: primary. Key: PK = NOTE_OUTBOX#<shard> AND SK < <before>, for each shard; NOTE#<id>/LOCATOR where the owner is not known. Cost: 1 Query
// per shard (16), one more per started megabyte; ⌈n/100⌉ BatchGetItem for n shares that their readers ended.
func (db Store) ListOutbox(ctx context.Context, before time.Time, limit int) ([]note.Event, error) {
	shards := keys.NoteOutboxPKs()
	found := make([][]note.Event, len(shards))
	errs := db.Each(len(shards), func(i int) error {
		s := dynamo.Span{Table: dynamo.NotesTable, PK: shards[i], Low: "0", High: keys.Instant(before), Limit: limit}
		_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			r := outboxRecord{}
			err := outboxRows.Decode(item, &r)
			found[i] = append(found[i], r.Event)
			return true, err
		})
		return err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b note.Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Note, b.Note), cmp.Compare(a.Version, b.Version))
	})
	return all, db.fillOwners(ctx, all)
}

// fillOwners tells whose the notes are of which that is not known. Of a note that is gone it stays unknown.
func (db Store) fillOwners(ctx context.Context, events []note.Event) error {
	var of []*note.Event
	var left []*located
	for i := range events {
		if e := &events[i]; e.Owner == "" {
			of, left = append(of, e), append(left, &located{note: note.Note{ID: e.Note}, known: true, sought: true})
		}
	}
	if len(of) == 0 {
		return nil
	}
	db.readLocators(ctx, left)
	for i, l := range left {
		if l.err != nil && !fault.Is(l.err, fault.NotFound) {
			return l.err
		}
		of[i].Owner = l.note.Owner
	}
	return nil
}

// DeleteOutbox removes the rows of events.
//
// Index: primary. Key: PK = NOTE_OUTBOX#<shard> AND SK = <at>#<note_id>#<type>#<user_id>. Cost: ⌈n/25⌉ BatchWriteItem.
func (db Store) DeleteOutbox(ctx context.Context, told []note.Event) error {
	writes := make([]dynamo.RowID, 0, len(told))
	seen := make(map[dynamo.Key]bool, len(told))
	for _, e := range told {
		if key := outboxKey(e); !seen[key] {
			seen[key] = true
			writes = append(writes, dynamo.RowID{Table: dynamo.NotesTable, Key: key})
		}
	}
	return db.BatchDelete(ctx, writes)
}
