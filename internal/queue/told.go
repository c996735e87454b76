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
	// toldFor is how long an event is remembered: for several elections. toldKept is how many of a project are remembered at most, which a
	// project with 2,000 changes a second on one server takes eight seconds for.
	toldFor  = 2 * time.Minute
	toldKept = 1 << 14
	// toldAtOnce is how many events are looked for in one round trip.
	toldAtOnce = 500
)

// told remembers the last events that Redis has told this process of in answers to its own changes. When Redis has become another one, they
// show whether any of these changes was lost.
type told struct {
	mu    sync.Mutex
	of    map[string]*tales // by the key of the epoch
	sweep int               // how many projects there are when old ones are looked for
	lost  time.Time         // when the last event was told of the projects that are forgotten
}

// tales are the events of one project, in the order in which they were told.
type tales struct {
	all  []tale
	lost time.Time // when the last event was told of those that are forgotten
}

type tale struct {
	labelling.Cursor
	at time.Time // when it was told, by the clock of this process
}

// last is when the last event was told.
func (t *tales) last() time.Time { return t.all[len(t.all)-1].at }

// add remembers an event. Old ones are forgotten a quarter at a time, so that this takes the same time however many there are.
func (t *tales) add(one tale) {
	if quarter := len(t.all) / 4; quarter > 0 && (len(t.all) >= toldKept || one.at.Sub(t.all[quarter].at) > toldFor) {
		t.lost = t.all[quarter-1].at
		t.all = slices.Clone(t.all[quarter:]) // what was a burst gives its room back
	}
	t.all = append(t.all, one)
}

// add remembers an event.
func (t *told) add(key string, c labelling.Cursor, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]*tales{}
	}
	if t.of[key] == nil {
		t.of[key] = &tales{}
	}
	t.of[key].add(tale{Cursor: c, at: now})
	if len(t.of) > t.sweep {
		for key, of := range t.of {
			if last := of.last(); now.Sub(last) > toldFor {
				delete(t.of, key)
				if last.After(t.lost) {
					t.lost = last
				}
			}
		}
		t.sweep = max(1000, 2*len(t.of))
	}
}

// since returns the events of an epoch that were told from a moment on, and whether these are all.
func (t *told) since(key, epoch string, from time.Time) (ids []string, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all = t.lost.Before(from)
	if of := t.of[key]; of != nil {
		all = all && of.lost.Before(from)
		for _, one := range of.all {
			if one.Epoch == epoch && !one.at.Before(from) {
				ids = append(ids, one.ID)
			}
		}
	}
	return ids, all
}

// Keeps reports whether Redis has each event of the epoch that it has told this process of since, in answer to a change that this process made. It
// is false, too, when these were more than are remembered. What was trimmed is not missed.
func (q *Queue) Keeps(ctx context.Context, p project.ID, epoch string, since time.Time) (bool, error) {
	k := keysOf(p)
	ids, all := q.told.since(k.epoch(), epoch, since)
	if !all {
		return false, nil
	}
	for some := range slices.Chunk(ids, toldAtOnce) {
		pipe := q.client.Pipeline()
		found := make([]*redis.XMessageSliceCmd, len(some))
		for i, id := range some {
			found[i] = pipe.XRange(ctx, k.events(), id, id)
		}
		oldest := pipe.XRangeN(ctx, k.events(), "-", "+", 1)
		if _, err := pipe.Exec(ctx); err != nil {
			return false, failed("look for events", err)
		}
		for i, id := range some {
			if len(found[i].Val()) == 0 && (len(oldest.Val()) == 0 || !labelling.EntryAfter(oldest.Val()[0].ID, id)) {
				return false, nil
			}
		}
	}
	return true, nil
}
