package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

const (
	// slice is how long one blocking command waits: a command that waits in Redis does not notice that its context ends.
	slice = time.Second
	// overdue is how long after that its answer may come. The library would wait ten seconds for a Redis that is there and mute.
	overdue = 2 * time.Second
)

// Read returns up to n events after a cursor, the oldest first. While there are none it waits, up to block (0: not at all), and
// then returns none. It looks whether the context has ended once a second. ErrGap when the cursor is of another epoch, or its event
// is no longer kept: take a new Snapshot then, and go on from its cursor. ErrNotReady.
func (q *Queue) Read(ctx context.Context, p project.ID, after labelling.Cursor, n int, block time.Duration) ([]labelling.Event, error) {
	if !entryID(after.ID) {
		return nil, fmt.Errorf("read events: %w", labelling.ErrGap)
	}
	k := q.keysOf(p)
	for end := time.Now().Add(block); ; {
		reply, err := q.run(ctx, "read events", readScript, []string{k.epoch(), k.events()}, after.Epoch, after.ID, n)
		if err != nil {
			return nil, err
		}
		if len(reply) > 0 && len(list(reply[0])) > 0 {
			return events(after.Epoch, list(reply[0])), nil
		}
		rest := min(time.Until(end), slice)
		if rest < time.Millisecond {
			return nil, nil
		}
		if err := q.arrives(ctx, k.events(), after.ID, rest); err != nil {
			return nil, failed("wait for events", err)
		}
	}
}

// arrives waits until there is an event after one, or the time is over. What arrives is read by the script once more, which sees in the same
// step that no event was missed. Without a place it only waits: whoever has taken all places, nobody is refused.
func (q *Queue) arrives(ctx context.Context, stream, after string, wait time.Duration) error {
	if q.places != nil {
		select {
		case q.places <- struct{}{}:
			defer func() { <-q.places }()
		default:
			over := time.NewTimer(wait)
			defer over.Stop()
			select {
			case <-over.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	bounded, cancel := context.WithTimeout(ctx, wait+overdue)
	defer cancel()
	err := q.blocking.XRead(bounded, &redis.XReadArgs{Streams: []string{stream, after}, Count: 1, Block: wait}).Err()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

func events(epoch string, entries []any) []labelling.Event {
	all := make([]labelling.Event, 0, len(entries))
	for _, entry := range entries {
		e := list(entry)
		if len(e) != 2 {
			continue
		}
		all = append(all, eventOf(labelling.Cursor{Epoch: epoch, ID: text(e[0])}, e[1]))
	}
	return all
}

func eventOf(at labelling.Cursor, fields any) labelling.Event {
	e := labelling.Event{Cursor: at}
	for name, value := range pairs(fields) {
		n, _ := strconv.Atoi(value) // of those that are numbers
		switch name {
		case "cause":
			e.Cause = labelling.Cause(value)
		case "item":
			e.Item = value
		case "user":
			e.User = labelling.UserID(value)
		case "author":
			e.Author = labelling.UserID(value)
		case "team":
			e.Team = value
		case "status":
			e.Status = project.Status(value)
		case "at":
			e.At = instant(value)
		case "total":
			e.Counts.Total = n
		case "new":
			e.Counts.New = n
		case "claimed":
			e.Counts.Claimed = n
		case "finished":
			e.Counts.Finished = n
		case "skipped":
			e.Counts.Skipped = n
		case "queued":
			e.Queued = n
		}
	}
	return e
}

// Note appends an event that concerns no single item; its cursor, counts and length of the queue are filled in, and its time when
// it has none. The same id a second time does nothing. It reports whether the id was new. ErrNotReady.
func (q *Queue) Note(ctx context.Context, p project.ID, id string, e labelling.Event) (bool, error) {
	body, err := json.Marshal(transition{
		Cause: e.Cause, Item: e.Item, User: e.User, Author: e.Author, Team: e.Team, Status: e.Status, At: millis(e.At),
	})
	if err != nil {
		return false, fmt.Errorf("write down an event: %w", err)
	}
	k := q.keysOf(p)
	return q.flag(ctx, "append an event", noteScript, []string{k.epoch(), k.applied(), k.metadata(), k.queue(), k.events(), k.present()},
		id, body, q.o.MaxEvents, labelling.Remembered.Milliseconds())
}

// AddItems is told how many items an import has brought so far, all of them together. Those above what was counted of it are
// counted as NEW, and the event is appended; a number that is not above does nothing. What a rebuild has seen of the import is
// counted already. It reports whether anything was added. ErrNotReady.
func (q *Queue) AddItems(ctx context.Context, p project.ID, importID string, imported int, by labelling.UserID) (bool, error) {
	k := q.keysOf(p)
	return q.flag(ctx, "count imported items", addScript, []string{k.epoch(), k.imports(), k.metadata(), k.queue(), k.events(), k.present()},
		importID, imported, string(by), q.o.MaxEvents)
}
