package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

const (
	// toldKept is how many events of a project are remembered, and toldFor how long at least.
	toldKept = 256
	toldFor  = 10 * time.Minute
)

// told remembers the last events that Redis has told this process of in answers to its own changes. When Redis has become another one, they
// show whether any of these changes was lost.
type told struct {
	mu    sync.Mutex
	of    map[string][]tale // by the key of the epoch
	sweep int               // how many projects there are when old ones are looked for
	lost  time.Time         // when the last event was told that is not remembered any more because its project was old
}

type tale struct {
	labelling.Cursor
	at time.Time // when it was told, by the clock of this process
}

// add remembers an event.
func (t *told) add(key string, c labelling.Cursor, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string][]tale{}
	}
	all := t.of[key]
	if len(all) == toldKept {
		all = slices.Delete(all, 0, 1)
	}
	t.of[key] = append(all, tale{Cursor: c, at: now})
	if len(t.of) > t.sweep {
		for key, all := range t.of {
			if last := all[len(all)-1].at; now.Sub(last) > toldFor {
				delete(t.of, key)
				if last.After(t.lost) {
					t.lost = last
				}
			}
		}
		t.sweep = max(1000, 2*len(t.of))
	}
}

// since returns the events of an epoch, and whether these are all that were told from a moment on.
func (t *told) since(key, epoch string, from time.Time) ([]string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.of[key]
	var ids []string
	for _, one := range all {
		if one.Epoch == epoch {
			ids = append(ids, one.ID)
		}
	}
	return ids, t.lost.Before(from) && (len(all) < toldKept || all[0].at.Before(from))
}

// Keeps reports whether Redis has each event of the epoch that it has told this process of since, in answer to a change that this process made. It
// is false, too, when these were more than are remembered. What was trimmed is not missed.
func (q *Queue) Keeps(ctx context.Context, p project.ID, epoch string, since time.Time) (bool, error) {
	k := keysOf(p)
	ids, all := q.told.since(k.epoch(), epoch, since)
	if !all || len(ids) == 0 {
		return all, nil
	}
	pipe := q.client.Pipeline()
	found := make([]*redis.XMessageSliceCmd, len(ids))
	for i, id := range ids {
		found[i] = pipe.XRange(ctx, k.events(), id, id)
	}
	oldest := pipe.XRangeN(ctx, k.events(), "-", "+", 1)
	if _, err := pipe.Exec(ctx); err != nil {
		return false, failed("look for events", err)
	}
	for i, id := range ids {
		if len(found[i].Val()) == 0 && (len(oldest.Val()) == 0 || !labelling.EntryAfter(oldest.Val()[0].ID, id)) {
			return false, nil
		}
	}
	return true, nil
}
