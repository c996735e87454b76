package notes

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
)

// change carries out the actions and puts the event of it into the outbox, in one transaction. Then it is told; should this process end before,
// others find it in the outbox. There they also find out whose the note is, if that is not known.
func (db Store) change(ctx context.Context, e event.Event, actions []dynamo.Action, once idempotency.Key) error {
	err := db.Transact(ctx, append(actions, outbox.Put(e)), once)
	if err == nil && db.Tell != nil && e.Owner != "" {
		db.Tell(e)
	}
	return err
}

// OwnersOf fills in whose the notes of events are, and returns the error of each. Of a note that is gone it stays unknown, without an error.
//
// Index: primary. Key: NOTE#<id>/LOCATOR. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) OwnersOf(ctx context.Context, events []*event.Event) []error {
	left := make([]*located, len(events))
	for i, e := range events {
		left[i] = &located{note: note.Note{ID: note.ID(e.Of)}, known: true, sought: true}
	}
	db.readLocators(ctx, left)
	errs := make([]error, len(events))
	for i, l := range left {
		if l.err != nil && !fault.Is(l.err, fault.NotFound) {
			errs[i] = l.err
			continue
		}
		events[i].Owner = l.note.Owner
	}
	return errs
}
