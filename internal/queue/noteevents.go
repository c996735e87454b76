package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/note"
)

// NoteEvents are the events of users' notes. They begin with an entry that is none, so that there is one at each position: where there is none
// any more, events were trimmed or lost.
type NoteEvents struct{ *Queue }

var _ follow.Streams = NoteEvents{}

// noteEventRemembered is how long it is known that an event was appended: for longer than one stays in the outbox that was.
const noteEventRemembered = time.Hour

// begin is the type of the entry that is no event.
const begin = "BEGIN"

func (s space) noteEventsKey(of note.UserID) string { // stream
	return string(s) + "note:events:{" + escape(string(of)) + "}"
}

func (s space) noteEventKey(of note.UserID, e note.Event) string { // string: the entry of the event
	return fmt.Sprintf("%snote:event:{%s}:%s:%s:%s:%s", s, escape(string(of)), escape(string(e.Note)), e.Type, escape(string(e.With)), millis(e.At))
}

// Append implements [follow.Streams].
func (q NoteEvents) Append(ctx context.Context, of note.UserID, e follow.Entry, always bool) (string, error) {
	reply, err := q.run(ctx, "append an event of a note", appendScript, []string{q.noteEventsKey(of), q.noteEventKey(of, e.Event)},
		bit(always), follow.MaxEvents, follow.KeptFor.Milliseconds(), noteEventRemembered.Milliseconds(),
		"type", string(e.Type), "note", string(e.Note), "owner", string(e.Owner), "by", string(e.By), "with", string(e.With),
		"version", e.Version, "at", millis(e.At), "from", e.From)
	if err != nil || len(reply) == 0 {
		return "", err
	}
	return text(reply[0]), nil
}

// End implements [follow.Streams]. Events that somebody is about to follow are kept for longer.
func (q NoteEvents) End(ctx context.Context, of note.UserID) (string, error) {
	key := q.noteEventsKey(of)
	pipe := q.client.Pipeline()
	last := pipe.XRevRangeN(ctx, key, "+", "-", 1)
	pipe.PExpire(ctx, key, follow.KeptFor)
	if _, err := pipe.Exec(ctx); err != nil {
		return "", failed("look for the last event of notes", err)
	}
	if found := last.Val(); len(found) > 0 {
		return found[0].ID, nil
	}
	pipe = q.client.Pipeline() // two that do this at once leave two such entries, and nobody minds
	id := pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []any{"type", begin}})
	pipe.PExpire(ctx, key, follow.KeptFor)
	if _, err := pipe.Exec(ctx); err != nil {
		return "", failed("begin the events of notes", err)
	}
	return id.Val(), nil
}

// Read implements [follow.Streams]. Events that are read are kept for longer.
func (q NoteEvents) Read(ctx context.Context, of note.UserID, after string, n int) ([]follow.Entry, error) {
	if !entryID(after) {
		return nil, fmt.Errorf("read events of notes: %w", follow.ErrGap)
	}
	key := q.noteEventsKey(of)
	pipe := q.client.Pipeline()
	found := pipe.XRangeN(ctx, key, after, "+", int64(n)+1)
	pipe.PExpire(ctx, key, follow.KeptFor)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failed("read events of notes", err)
	}
	messages := found.Val()
	if len(messages) == 0 || messages[0].ID != after {
		return nil, fmt.Errorf("read events of notes: %w", follow.ErrGap)
	}
	entries := make([]follow.Entry, 0, len(messages)-1)
	for _, m := range messages[1:] {
		of := func(name string) string { return text(m.Values[name]) }
		version, _ := strconv.Atoi(of("version"))
		entries = append(entries, follow.Entry{ID: m.ID, From: of("from"), Event: note.Event{
			Type: note.EventType(of("type")), Note: note.ID(of("note")), Owner: note.UserID(of("owner")), By: note.UserID(of("by")), With: note.UserID(of("with")),
			Version: version, At: instant(of("at")),
		}})
	}
	return entries, nil
}
