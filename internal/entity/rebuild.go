package entity

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/task"
)

// Settle is how long after a change of the declarations nobody works with the ones before: an operation, which reads them when
// it begins, ends within 30 seconds. The rest is for clocks that differ and indexes that lag.
const Settle = time.Minute

// Progress is stored, and the declarations are read anew, after so many entities or so much time.
const (
	progressEvery = 500
	progressAfter = 10 * time.Second
)

// Handlers returns what works on the tasks of this package.
func (s *Service) Handlers() map[task.Kind]task.Handler {
	return map[task.Kind]task.Handler{
		ChangeRelations: func(ctx context.Context, t task.Task) (time.Time, error) {
			return time.Time{}, s.o.Store.SettleRelations(ctx, t)
		},
		DeleteEntities: s.o.Store.FinishDelete,
		RebuildIndex:   s.rebuildIndex,
		EraseScope:     s.eraseScope,
	}
}

// errSuperseded says that the declaration was changed again: another task follows from that.
var errSuperseded = errors.New("the declaration of the index was changed again")

// errOvertaken says that the rebuild stands elsewhere than this run thought: two of them were under way for a moment, because
// one had lost its lease and did not know yet.
var errOvertaken = errors.New("another run of the rebuild is further on")

// rebuildIndex makes the entries of all entities what the declaration says.
//
// For an index that was declared at T, the first pass, at once, indexes the entities that exist. It ends where entities come
// that were updated after it began, and misses what was updated meanwhile and moved there: by who knew the declaration
// already, and emitted the entry, or by who had read the declarations before T. The latter operations end by T + 30 s, and
// what they stored was updated after T - 30 s. Hence a second pass, over what was updated since T - [Settle], that begins when
// they have all ended, at T + Settle, finds every one of them, and nobody can take away again what it does: two passes
// suffice. It, too, ends where entities come that were updated after it began, all of them by who knew the declaration. Only
// then the index is Ready.
//
// For an index that is Fresh, the first pass suffices. Who had read the declarations before T knows of no entity of the type, so its write is
// conditional on the scope, and is refused. Where the pass meets an entity from before T, an earlier version of Taggie or another program has put
// it, which knows of no such condition; then the index takes both passes.
//
// For an index that was removed at T, entries are emitted until T + 30 s: by operations, and by a rebuild that is going on,
// which stores no time of update. Hence one pass over all entities that begins at T + Settle; what is updated after that emits
// none. The declaration is kept until then, so that nobody takes the name for another one.
//
// All of this takes clocks, which tell when an entity was updated, to differ by less than 30 seconds.
//
// Both touch no entries but those of their index, so that any number of them go on at the same time. Each step can be
// repeated, also by a run that lost its lease: of the same pass everything up to the position that it stores is done, whoever
// did it, and a position of a pass that is over is not stored.
func (s *Service) rebuildIndex(ctx context.Context, t task.Task) (time.Time, error) {
	again, err := s.rebuild(ctx, t)
	switch {
	case errors.Is(err, errSuperseded):
		return time.Time{}, nil
	case errors.Is(err, errOvertaken):
		return s.o.Now(), nil // from where it stands; when the task is no longer ours, nothing comes of it
	}
	return again, err
}

func (s *Service) rebuild(ctx context.Context, t task.Task) (time.Time, error) {
	scope, x, err := s.ordered(ctx, t)
	if err != nil {
		return time.Time{}, err
	}
	if x.Ready {
		return time.Time{}, nil // by a run before, of which nobody knows that it came so far
	}
	removed := !x.RemovedAt.IsZero()
	if !removed && x.Pass == 0 {
		done, older, err := s.pass(ctx, t, scope, x, time.Time{})
		if err != nil {
			return time.Time{}, err
		}
		if x.Fresh && !older && x.At == "" { // a run before may have met an older one
			return time.Time{}, s.progress(ctx, t, 0, func(x *Index) { x.Ready, x.Pass, x.At, x.Done = true, 1, "", done })
		}
		if err := s.progress(ctx, t, 0, func(x *Index) { x.Pass, x.At, x.Done = 1, "", done }); err != nil {
			return time.Time{}, err
		}
		x.Pass, x.At = 1, ""
	}
	if settled := x.changedAt().Add(Settle); s.o.Now().Before(settled) {
		return settled, nil
	}
	since := x.changedAt().Add(-Settle)
	if removed {
		since = time.Time{}
	}
	if _, _, err := s.pass(ctx, t, scope, x, since); err != nil {
		return time.Time{}, err
	}
	if removed {
		return time.Time{}, s.change(ctx, t, x.Pass, func(after *Scope, i int) { after.Indexes = slices.Delete(after.Indexes, i, i+1) })
	}
	return time.Time{}, s.progress(ctx, t, x.Pass, func(x *Index) { x.Ready, x.At = true, "" })
}

// pass makes the entries of the index right in each entity that was updated since, from where x stands. It returns how many
// entities were looked at, with those of an earlier run, and whether one of this run is older than the declaration.
func (s *Service) pass(ctx context.Context, t task.Task, scope Scope, x Index, since time.Time) (done int, older bool, err error) {
	var met atomic.Bool
	// The entries of other indexes stay as they are: their own rebuilds, which may be further on, make them right.
	emit := func(e Entity) []IndexEntry {
		if e.CreatedAt.Before(x.DeclaredAt) {
			met.Store(true)
		}
		entries := slices.DeleteFunc(slices.Clone(e.Index), func(entry IndexEntry) bool {
			return entry.Name == x.Name || entry.Name == LeftOutIndex
		})
		mine, _ := x.entries(e)
		return scope.counted(e, append(entries, mine[:max(0, min(len(mine), MaxIndexEntries-len(entries)))]...))
	}
	stored, at := 0, s.o.Now()
	pass := x.Pass
	done = x.Done
	err = s.o.Store.Reindex(ctx, t.Scope, x.Type, since, x.At, emit, func(ctx context.Context, position string, entities int) error {
		done = x.Done + entities
		if entities-stored < progressEvery && s.o.Now().Sub(at) < progressAfter {
			return nil
		}
		stored, at = entities, s.o.Now()
		return s.progress(ctx, t, pass, func(x *Index) {
			x.At = position
			if pass == 0 {
				x.Done = done
			}
		})
	})
	return done, met.Load(), err
}

// ordered returns the scope and the declaration that the task is about; errSuperseded when there is no such declaration any
// more. A scope that can be brought back is rebuilt like any other.
func (s *Service) ordered(ctx context.Context, t task.Task) (Scope, Index, error) {
	scopes, errs := s.o.Store.ScopesByID(ctx, "", []string{t.Scope})
	if errs != nil && fault.Is(errs[0], fault.NotFound) {
		return Scope{}, Index{}, errSuperseded
	}
	if errs != nil && errs[0] != nil {
		return Scope{}, Index{}, errs[0]
	}
	for _, x := range scopes[0].Indexes {
		if x.rebuild(t.Scope).ID == t.ID && scopes[0].Deletion.State != domain.Erasing {
			return scopes[0], x, nil
		}
	}
	return Scope{}, Index{}, errSuperseded
}

// progress changes the declaration that the task is about, as long as it is in that pass.
func (s *Service) progress(ctx context.Context, t task.Task, pass int, change func(*Index)) error {
	return s.change(ctx, t, pass, func(after *Scope, i int) { change(&after.Indexes[i]) })
}

// change stores the next state of the scope, whose i-th index the task is about; errOvertaken when that is not in that pass.
func (s *Service) change(ctx context.Context, t task.Task, pass int, change func(after *Scope, i int)) error {
	var conflict *ScopeConflict
	for range retry.Until(ctx) {
		before, x, err := s.ordered(ctx, t)
		if err != nil {
			return err
		}
		if x.Ready || x.Pass != pass {
			return errOvertaken
		}
		after := before
		after.Version++
		after.Indexes = slices.Clone(before.Indexes)
		change(&after, slices.IndexFunc(after.Indexes, func(of Index) bool { return of.Name == x.Name }))
		err = s.o.Store.PutScope(ctx, &before, after, nil, nil, idempotency.Key{})
		if !errors.As(err, &conflict) {
			return err
		}
	}
	return retry.Busy("the scope")
}
