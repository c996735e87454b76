package filetag

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/task"
)

// MaxShards is how many shards there may be: a search asks all of them.
const MaxShards = 64

// Reshard is the task of spreading the tags of everybody over more shards.
const Reshard task.Kind = "reshard-tags"

// Settle is how long after a change of the layout nobody works with the one before: a server reads it again after layoutFor, and an
// operation ends within 30 seconds. The rest is for clocks that differ and indexes that lag.
const Settle = time.Minute

// layoutFor is how long a server takes the layout for the current one.
const layoutFor = 5 * time.Second

// Settled reports whether all tags are spread so.
func (l Layout) Settled() bool { return l.Before == 0 }

// Task returns the task that goes on with the layout, at the given time.
func (l Layout) Task(due time.Time) task.Task {
	return task.Task{Kind: Reshard, ID: "tags", Scope: "tags", Due: due}
}

// written is over how many shards a new tag is spread.
func (l Layout) written() int {
	if l.Settled() || l.Writing {
		return l.Shards
	}
	return l.Before
}

// shown is what a search has to look at. A tag goes from the layout before into the new one, so that looking in this order misses
// none that moves meanwhile.
func (l Layout) shown() []int {
	if l.Settled() {
		return []int{l.Shards}
	}
	return []int{l.Before, l.Shards}
}

// layoutWithin bounds how long the layout may take to be read.
const layoutWithin = 5 * time.Second

// currentLayout returns the layout, which may be as old as layoutFor. It is read for all requests that follow, hence not on behalf of
// the one that comes first: neither does it cost it anything, nor ends with it.
func (s *Service) currentLayout() (Layout, error) {
	s.mu.Lock()
	layout, fresh := s.layout, !s.read.IsZero() && s.Now().Sub(s.read).Abs() < layoutFor
	s.mu.Unlock()
	if fresh {
		return layout, nil
	}
	at := s.Now()
	ctx, cancel := context.WithTimeout(context.Background(), layoutWithin)
	defer cancel()
	layout, err := s.Store.FindLayout(ctx)
	if err != nil {
		return Layout{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layout, s.read = layout, at
	return layout, nil
}

// Raise has the tags of everybody spread over so many shards, in the background, while the system serves. First all servers look at both
// layouts, then they write the new one, and at last what is there is spread anew. A number that is not greater than the
// current one changes nothing, nor does any while tags are being spread. It returns the layout as it is then.
func (s *Service) Raise(ctx context.Context, shards int) (Layout, error) {
	for {
		now, err := s.Store.FindLayout(ctx)
		if err != nil || !now.Settled() || min(shards, MaxShards) <= now.Shards {
			return now, err
		}
		next := Layout{Shards: min(shards, MaxShards), Before: now.Shards, Since: s.instant(), Version: s.NewID()}
		err = s.Store.PutLayout(ctx, now, next)
		if !errors.Is(err, ErrMoved) {
			return next, err
		}
	}
}

func (s *Service) instant() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// Spread is the handler of [Reshard]: it goes on with spreading tags, from where it stopped.
func (s *Service) Spread(ctx context.Context, _ task.Task) (time.Time, error) {
	l, err := s.Store.FindLayout(ctx)
	if err != nil || l.Settled() {
		return time.Time{}, err
	}
	if settled := l.Since.Add(Settle); s.Now().Before(settled) {
		return settled, nil
	}
	if !l.Writing {
		next := l
		next.Writing, next.Since = true, s.instant()
		if _, err := s.replace(ctx, l, next); err != nil {
			return time.Time{}, err
		}
		return next.Since.Add(Settle), nil
	}
	err = s.Store.ScanSets(ctx, l.Position, func(ctx context.Context, sets []Set, position string) error {
		if err := s.spread(ctx, sets, l.Shards); err != nil || position == "" {
			return err
		}
		next := l
		next.Position = position
		l, err = s.replace(ctx, l, next)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	// All are spread. Who read the layout until now looks at both, where the one before is empty.
	_, err = s.replace(ctx, l, Layout{Shards: l.Shards, Since: s.instant()})
	return time.Time{}, err
}

// replace keeps another state of the layout, and returns it.
func (s *Service) replace(ctx context.Context, before, after Layout) (Layout, error) {
	after.Version = s.NewID()
	return after, s.Store.PutLayout(ctx, before, after)
}

// spread spreads the rows of the sets over the shards.
func (s *Service) spread(ctx context.Context, sets []Set, shards int) error {
	return each(sets, func(set Set) error {
		if set.Shards == shards || set.Via == "" { // of what not everybody may see there is nothing to spread
			return nil
		}
		_, err := s.followSet(ctx, set, "")
		return err
	})
}
