package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/note"
)

// Streams are the events of users' notes and of scores. Each stream begins with an entry that is no event, so that there is one at each position: where
// there is none any more, events were trimmed or lost.
type Streams struct{ *Queue }

var _ follow.Streams = Streams{}

// eventRemembered is how long it is known that an event was appended: for longer than one stays in the outbox that was.
const eventRemembered = time.Hour

// begin is the type of the entry that is no event.
const begin = "BEGIN"

func (s space) streamKey(of follow.Stream) string { // stream
	return string(s) + string(of.Kind) + ":events:{" + escape(of.Of) + "}"
}

func (s space) eventKey(of follow.Stream, e event.Event) string { // string: the entry of the event
	return fmt.Sprintf("%s%s:event:{%s}:%s:%s:%s:%s", s, of.Kind, escape(of.Of), escape(e.Of), e.Type, escape(e.About()), millis(e.At))
}

// Append implements [follow.Streams].
func (q Streams) Append(ctx context.Context, to follow.Stream, e follow.Entry, always bool) (string, error) {
	reply, err := q.run(ctx, "append an event", appendScript, []string{q.streamKey(to), q.eventKey(to, e.Event)},
		bit(always), follow.MaxEvents, follow.KeptFor.Milliseconds(), eventRemembered.Milliseconds(),
		"type", string(e.Type), "of", e.Of, "owner", string(e.Owner), "by", string(e.By), "with", string(e.With), "snapshot", e.Snapshot,
		"parts", e.Parts, "private", bit(e.Private), "version", e.Version, "at", millis(e.At), "from", e.From)
	if err != nil || len(reply) == 0 {
		return "", err
	}
	return text(reply[0]), nil
}

// End implements [follow.Streams]. Events that somebody is about to follow are kept for longer.
func (q Streams) End(ctx context.Context, of follow.Stream) (string, error) {
	key := q.streamKey(of)
	pipe := q.client.Pipeline()
	last := pipe.XRevRangeN(ctx, key, "+", "-", 1)
	pipe.PExpire(ctx, key, follow.KeptFor)
	if _, err := pipe.Exec(ctx); err != nil {
		return "", failed("look for the last event", err)
	}
	if found := last.Val(); len(found) > 0 {
		return found[0].ID, nil
	}
	pipe = q.client.Pipeline() // two that do this at once leave two such entries, and nobody minds
	id := pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []any{"type", begin}})
	pipe.PExpire(ctx, key, follow.KeptFor)
	if _, err := pipe.Exec(ctx); err != nil {
		return "", failed("begin a stream of events", err)
	}
	return id.Val(), nil
}

// Read implements [follow.Streams]. Events that are read are kept for longer.
func (q Streams) Read(ctx context.Context, of follow.Stream, after string, n int) ([]follow.Entry, error) {
	if !entryID(after) {
		return nil, fmt.Errorf("read events: %w", follow.ErrGap)
	}
	key := q.streamKey(of)
	pipe := q.client.Pipeline()
	found := pipe.XRangeN(ctx, key, after, "+", int64(n)+1)
	pipe.PExpire(ctx, key, follow.KeptFor)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failed("read events", err)
	}
	messages := found.Val()
	if len(messages) == 0 || messages[0].ID != after {
		return nil, fmt.Errorf("read events: %w", follow.ErrGap)
	}
	entries := make([]follow.Entry, 0, len(messages)-1)
	for _, m := range messages[1:] {
		entries = append(entries, entryOf(of.Kind, m))
	}
	return entries, nil
}

// entryOf reads an entry. Of one that is no event it is not known what it is of.
func entryOf(kind event.Kind, m redis.XMessage) follow.Entry {
	of := func(name string) string { return text(m.Values[name]) }
	version, _ := strconv.Atoi(of("version"))
	return follow.Entry{ID: m.ID, From: of("from"), Event: event.Event{
		Kind: kind, Type: event.Type(of("type")), Of: of("of"), Owner: note.UserID(of("owner")), By: note.UserID(of("by")), With: note.UserID(of("with")),
		Snapshot: of("snapshot"), Parts: of("parts"), Private: of("private") == "1", Version: version, At: instant(of("at")),
	}}
}
