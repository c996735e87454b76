package labelling

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/project"
)

const (
	// glances is how often numbers that moved are looked at, glancePause the pause between.
	glances, glancePause = 10, 100 * time.Millisecond
	// eventsAtOnce is how many events one call reads.
	eventsAtOnce = 1000
	// unitsPerItem is what reading an item with its efforts takes, about, in read units.
	unitsPerItem = 2.0
)

// unfollowed are the numbers that change without a transition in the outbox, by claims and imports: nobody can tell what of them is on its way.
var unfollowed = []string{"total", "new", "claimed"}

// moving compares the numbers that changed while a project was scanned, and takes those out of names that it has compared. Those of unfollowed are
// not.
//
// A scan is not of one moment, so each glance brings it up to date: items that had an event since are read again, each at one moment. By then a
// number is what Redis makes of these items, and of nothing else, when
//
//   - no event since is about it: Redis has followed nothing of it that was not read, and
//   - the outbox, listed after the reads, has no transition of it: what was read and is not in the outbox was followed before.
//
// This takes some milliseconds, where a scan takes seconds or minutes. A number for which even this is too long stays in names.
func (c *Comparison) moving(ctx context.Context, w *rebuilding, teams []string, from Cursor, names map[string]bool) (numbers, error) {
	for _, name := range unfollowed {
		delete(names, name)
	}
	differ := numbers{}
	var since []Event // not read again yet
	for glance := 0; glance < glances && len(names) > 0; glance++ {
		if glance > 0 {
			if err := pause(ctx, min(c.settle, glancePause)); err != nil {
				return nil, err
			}
		}
		more, err := c.since(ctx, w.project, &from)
		if errors.Is(err, ErrGap) {
			break // more happened than is kept
		}
		if err != nil {
			return nil, err
		}
		if err := c.refresh(ctx, w, append(since, more...)); err != nil {
			return nil, err
		}
		listed := w.listed
		pending, err := c.awaited(ctx, w)
		c.spend(2 * unitsPerRow * float64(w.listed-listed)) // consistent reads
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(pending, func(t Transition) bool { return c.Now().Sub(t.At) > inFlight }) {
			break // the queue is behind: looking again soon takes much, and tells nothing
		}
		now, err := c.Coordinator.Snapshot(ctx, w.project, "", teams)
		if err != nil {
			return nil, err
		}
		if since, err = c.since(ctx, w.project, &from); errors.Is(err, ErrGap) {
			break
		} else if err != nil {
			return nil, err
		}
		is, stored := numbersOf(now.State, now.Statistics), numbersOf(w.tally.numbers(teams))
		maps.DeleteFunc(names, func(name string, _ bool) bool {
			if slices.ContainsFunc(pending, func(t Transition) bool { return concerns(name, t.Cause, t.Team, t.User, t.Author) }) ||
				slices.ContainsFunc(since, func(e Event) bool { return concerns(name, e.Cause, e.Team, e.User, e.Author) }) {
				return false
			}
			if is[name] != stored[name] {
				differ[name] = is[name] - stored[name]
			}
			return true
		})
	}
	return differ, nil
}

// since returns the events after a cursor, and moves it. [ErrGap].
func (c *Comparison) since(ctx context.Context, p project.ID, at *Cursor) ([]Event, error) {
	var all []Event
	for {
		events, err := c.Coordinator.Read(ctx, p, *at, eventsAtOnce, 0)
		if err != nil {
			return nil, err
		}
		if all = append(all, events...); len(events) > 0 {
			*at = events[len(events)-1].Cursor
		}
		if len(events) < eventsAtOnce {
			return all, nil
		}
	}
}

// refresh reads the items of events again.
func (c *Comparison) refresh(ctx context.Context, w *rebuilding, events []Event) error {
	items := map[string]bool{}
	for _, e := range events {
		if e.Item != "" {
			items[e.Item] = true
		}
	}
	c.spend(unitsPerScan + unitsPerItem*float64(len(items)))
	return w.replace(ctx, items)
}

// concerns reports whether what a user did, for an author or for nobody, may change a number. Of an author the team is not known.
func concerns(name string, cause Cause, team string, user, author UserID) bool {
	if cause == Removed || cause == Restored {
		return true // whoever has worked on the item
	}
	if !slices.Contains([]Cause{Finished, Undone, Reviewed, Skipped, Returns}, cause) {
		return false // those of unfollowed at most
	}
	_, of, someone := strings.Cut(name, " of ")
	switch {
	case !someone:
		return true
	case author != "":
		return strings.HasPrefix(of, "team ") || strings.HasSuffix(of, "/"+string(author)) || strings.HasSuffix(of, "/"+string(user))
	}
	return of == "team "+team || of == team+"/"+string(user)
}
