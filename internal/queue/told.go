package queue

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

const (
	// toldFor is how long an event is remembered: for longer than outages last after which a rebuild would be noticed.
	toldFor = 10 * time.Minute
	// toldKept is how many events of a project are remembered at most, which one with 2,000 changes a second on one server makes in eight seconds;
	// toldOfAll is how many of all projects together: some 25 MB of a thousand
	// projects, at most 80 MB of many.
	toldKept, toldOfAll = 1 << 14, 1 << 18
	// toldAtOnce is how many events are looked for in one round trip.
	toldAtOnce = 500
)

// told remembers the last events that Redis has told this process of in answers to its own changes. When Redis has become another one, they
// show whether any of these changes was lost.
type told struct {
	mu    sync.Mutex
	of    map[string]*tales // by the key of the epoch
	many  int               // events in all
	swept time.Time         // when old ones were last looked for in all projects
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

// forget forgets the first n events. What was a burst gives its room back.
func (t *tales) forget(n int) {
	if n > 0 {
		t.lost = t.all[n-1].at
		t.all = slices.Clone(t.all[n:])
	}
}

// add remembers an event. Old ones are forgotten a quarter at a time, so that this takes the same time however many there are.
func (t *tales) add(one tale) {
	if quarter := len(t.all) / 4; quarter > 0 && (len(t.all) >= toldKept || one.at.Sub(t.all[quarter].at) > toldFor) {
		t.forget(quarter)
	}
	if len(t.all) > 0 && t.all[len(t.all)-1].Epoch == one.Epoch {
		one.Epoch = t.all[len(t.all)-1].Epoch // one text for all
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
	of := t.of[key]
	if of == nil {
		of = &tales{}
		t.of[key] = of
	}
	before := len(of.all)
	of.add(tale{Cursor: labelling.Cursor{Epoch: c.Epoch, ID: strings.Clone(c.ID)}, at: now}) // not the whole answer
	t.many += len(of.all) - before
	if now.Sub(t.swept) > toldFor || t.many > toldOfAll {
		t.sweep(now)
	}
}

// sweep forgets what was told long ago, and when that leaves too many events, what was told less and less long ago, of all projects. The caller
// holds the mutex.
func (t *told) sweep(now time.Time) {
	many := t.many > toldOfAll
	t.swept = now
	for age := toldFor; ; age /= 2 {
		t.forget(now.Add(-age))
		if !many || t.many <= toldOfAll/2 || age == 0 {
			return
		}
	}
}

// forget forgets the events up to a moment.
func (t *told) forget(until time.Time) {
	t.many = 0
	for key, of := range t.of {
		n, _ := slices.BinarySearchFunc(of.all, until, func(one tale, until time.Time) int {
			if one.at.After(until) {
				return 1
			}
			return -1
		})
		if n < len(of.all) {
			of.forget(n)
			t.many += len(of.all)
			continue
		}
		if last := of.all[n-1].at; last.After(t.lost) {
			t.lost = last
		}
		delete(t.of, key)
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
	k := q.keysOf(p)
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
