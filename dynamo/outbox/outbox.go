// Package outbox keeps the events of notes and scores, from the transaction of each change until they were told.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not know who is told of an event. Start reading at [Put] and [Store].
package outbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/viewer"
)

// Store lists and removes events.
type Store struct{ *dynamo.DB }

func keyOf(e event.Event) dynamo.Key {
	return dynamo.Key{PK: keys.OutboxPK(e.Of), SK: keys.OutboxSK(e.At, string(e.Kind), e.Of, string(e.Type), e.About())}
}

// The attributes that name who did something, and whose share an event is about.
const (
	ByAttribute   = "by"
	WithAttribute = "with"
)

// record is the row of an event. No index has it.
type record struct {
	event.Event
	key dynamo.Key
}

var rows = dynamo.LayoutOf(
	dynamo.OfText("PK", func(r *record) *string { return &r.key.PK }),
	dynamo.OfText("SK", func(r *record) *string { return &r.key.SK }),
	dynamo.OfText("kind", func(r *record) *event.Kind { return &r.Kind }),
	dynamo.OfText("of", func(r *record) *string { return &r.Of }),
	dynamo.OfText("type", func(r *record) *event.Type { return &r.Type }),
	dynamo.Optional(dynamo.OfText("user_id", func(r *record) *viewer.UserID { return &r.Owner })),
	dynamo.OfText(ByAttribute, func(r *record) *viewer.UserID { return &r.By }),
	dynamo.Optional(dynamo.OfText(WithAttribute, func(r *record) *viewer.UserID { return &r.With })),
	dynamo.Optional(dynamo.OfText("snapshot", func(r *record) *string { return &r.Snapshot })),
	dynamo.Optional(dynamo.OfText("parts", func(r *record) *string { return &r.Parts })),
	dynamo.Optional(dynamo.OfFlag("private", func(r *record) *bool { return &r.Private })),
	dynamo.Optional(dynamo.OfWhole("version", func(r *record) *int { return &r.Version })),
	dynamo.OfInstant("at", func(r *record) *time.Time { return &r.At }),
)

// Put is the action that puts an event into the outbox, for the transaction of its change.
func Put(e event.Event) dynamo.Action {
	return dynamo.Action{Table: dynamo.NotesTable, Item: rows.Row(&record{Event: e, key: keyOf(e)})}
}

// ListOutbox returns events that happened before an instant and were not told yet, the oldest first, up to limit in each partition. It reads the
// partitions concurrently. The owner of a note that its reader has left is not known.
//
// Index: primary. Key: PK = OUTBOX#<shard> AND SK < <before>, for each shard. Cost: 1 Query per shard (16), one more per started megabyte.
func (db Store) ListOutbox(ctx context.Context, before time.Time, limit int) ([]event.Event, error) {
	shards := keys.OutboxPKs()
	found := make([][]event.Event, len(shards))
	errs := db.Each(len(shards), func(i int) error {
		s := dynamo.Span{Table: dynamo.NotesTable, PK: shards[i], Low: "0", High: keys.Instant(before), Limit: limit}
		_, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var r record
			err := rows.Decode(item, &r)
			found[i] = append(found[i], r.Event)
			return true, err
		})
		return err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b event.Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Of, b.Of), cmp.Compare(a.Version, b.Version))
	})
	return all, nil
}

// DeleteOutbox removes the rows of events. One that is not there does no harm.
//
// Index: primary. Key: PK = OUTBOX#<shard> AND SK = <at>#<kind>#<id>#<type>#<about>. Cost: ⌈n/25⌉ BatchWriteItem.
func (db Store) DeleteOutbox(ctx context.Context, told []event.Event) error {
	writes := make([]dynamo.RowID, 0, len(told))
	seen := make(map[dynamo.Key]bool, len(told))
	for _, e := range told {
		if key := keyOf(e); !seen[key] {
			seen[key] = true
			writes = append(writes, dynamo.RowID{Table: dynamo.NotesTable, Key: key})
		}
	}
	return db.BatchDelete(ctx, writes)
}
