package labelling

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/retry"
)

// Mark ties what Redis knows of a project to a point in the truth: Redis had this event, then.
type Mark struct {
	Cursor        // without an ID: the epoch alone
	Redis  string // which process of Redis that was; "" when it cannot be told
	At     time.Time
}

// Marks keeps the marks of projects, each in a row of its own that nothing else writes.
type Marks interface {
	// Marks returns the mark of each project, the zero Mark when it has none. It sees every acknowledged write.
	Marks(ctx context.Context, ids []project.ID) ([]Mark, error)
	// PutMark replaces the mark; *MarkMoved when it is not before any more.
	PutMark(ctx context.Context, p project.ID, before, after Mark) error
}

// MarkMoved says that somebody else has replaced a mark.
type MarkMoved struct{ Current Mark }

// Error says so.
func (*MarkMoved) Error() string { return "somebody else has marked where the project is" }

// Checks tell whether what Redis knows can be right.
type Checks interface {
	// Fits returns where the events of a project are, and whether an earlier position is still what it was. [ErrNotReady].
	Fits(ctx context.Context, p project.ID, was Cursor) (Cursor, bool, error)
	// Whole reports whether the keys of a project fit together; when they do not, it is not ready any more. [ErrNotReady].
	Whole(ctx context.Context, p project.ID) (bool, error)
	// Keeps reports whether each event of the epoch is still there that this process was told of since, as the answer to a change of its own;
	// false, too, when it cannot tell.
	Keeps(ctx context.Context, p project.ID, epoch string, since time.Time) (bool, error)
	// Condemn has a project be not ready, unless its epoch is another one by now.
	Condemn(ctx context.Context, p project.ID, epoch string) (bool, error)
	// Identities returns which process of Redis keeps each project; "" when that cannot be told.
	Identities(ctx context.Context, ids []project.ID) ([]string, error)
	// Turn reports whether it is this server's turn to do something that one of all servers does once in a while.
	Turn(ctx context.Context, what string, lasts time.Duration) (bool, error)
}

const (
	// markTurn is how long no other server marks a project: there is at most one write a second.
	markTurn = time.Second
	// wholeEvery is how often one of all servers looks whether the keys of a project fit together.
	wholeEvery = 4 * time.Second
	// lately is how long before Redis became another one a project may have been busy without its last mark saying so.
	lately = time.Hour
	// inFlight is how long what Redis told may be on its way.
	inFlight = 5 * time.Second
	// marksAtOnce is how many marks are read in one call.
	marksAtOnce = 100
)

// Watch notices that Redis has lost a part of what it knew, and has the projects concerned rebuilt: what Redis knows is tied to a point in
// the truth. Any number of servers do this at once.
//
//   - While a project has events, the last one is marked in the truth, at most once a second. A mark whose event Redis does not have any
//     more says that Redis went back: each next mark is written only when the one before still fits, so that none hides a loss.
//   - Between two marks events may be lost. That takes another process of Redis, which has another identity. Each server then looks whether
//     the events are still there that it was told of lately: one that is not has the project rebuilt. A server that was not there before cannot
//     tell, and has those projects rebuilt that were busy lately; others are compared with the truth.
//   - A key that is gone is missed by the scripts that use it, and by a look at all keys every few seconds.
type Watch struct {
	Options
	rebuild *Rebuilder
	compare *Comparison
	census  census
	asked   time.Time // by Run: when the identities were asked for that are known

	mu    sync.Mutex
	known map[project.ID]watched
}

// watched is what a server remembers of a project.
type watched struct {
	mark  Mark
	redis string // which keeps it; compared with the next one
	seen  bool
}

// NewWatch returns the job. What it doubts it has compared.
func NewWatch(o Options, rebuild *Rebuilder, compare *Comparison) *Watch {
	return &Watch{Options: o, rebuild: rebuild, compare: compare, census: census{Options: o, every: listEvery}, known: map[project.ID]watched{}}
}

// Run looks at all projects once.
func (w *Watch) Run(ctx context.Context) error {
	ids, _, err := w.census.projects(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	redis, err := w.Coordinator.Identities(ctx, ids)
	if err != nil {
		return err
	}
	if err := w.meet(ctx, ids, redis); err != nil {
		return err
	}
	w.asked = now
	errs := make([]error, len(ids))
	each(len(ids), func(i int) {
		if ctx.Err() == nil {
			errs[i] = w.look(ctx, ids[i], redis[i])
		}
	})
	return joined(errs)
}

func (w *Watch) of(p project.ID) watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[p]
}

func (w *Watch) remember(p project.ID, is watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is.seen = true
	w.known[p] = is
}

// meet reads the marks of projects that this server has not seen before, or that another Redis keeps now.
func (w *Watch) meet(ctx context.Context, ids []project.ID, redis []string) error {
	var met []int
	for i, p := range ids {
		if was := w.of(p); !was.seen || was.redis != redis[i] {
			met = append(met, i)
		}
	}
	for len(met) > 0 {
		some := met[:min(len(met), marksAtOnce)]
		met = met[len(some):]
		asked := make([]project.ID, len(some))
		for n, i := range some {
			asked[n] = ids[i]
		}
		marks, err := w.Truth.Marks(ctx, asked)
		if err != nil {
			return err
		}
		for n, i := range some {
			if err := w.doubt(ctx, ids[i], marks[n], redis[i]); err != nil && !errors.Is(err, ErrNotReady) {
				return err
			}
			w.remember(ids[i], watched{mark: marks[n], redis: redis[i]})
		}
	}
	return nil
}

// doubt has a project rebuilt whose last events another Redis does not have, or may not have as far as this server knows; or compared.
func (w *Watch) doubt(ctx context.Context, p project.ID, mark Mark, redis string) error {
	at, fits, err := w.Coordinator.Fits(ctx, p, mark.Cursor)
	switch {
	case errors.Is(err, ErrNotReady):
		w.rebuild.Want(p)
		return err
	case err != nil:
		return err
	case !fits:
		return w.condemn(ctx, p, at.Epoch, "Redis went back to before what it had told")
	}
	was := w.of(p)
	if was.seen {
		if kept, err := w.Coordinator.Keeps(ctx, p, at.Epoch, w.asked.Add(-inFlight)); err != nil {
			return err
		} else if !kept {
			return w.condemn(ctx, p, at.Epoch, "Redis is another one, which lacks events that this server was told of")
		}
	}
	before := mark.Redis
	if was.seen {
		before = was.redis // others may have marked it since
	}
	busy := w.Now().Sub(mark.At) < lately
	switch {
	case before == "" || redis == "" || before == redis:
		return nil
	case busy && !was.seen:
		return w.condemn(ctx, p, at.Epoch, "Redis is another one, which may lack the last events")
	case busy: // a server that is gone with the other one may have been told of more
		w.compare.Doubt(p, redis)
	default:
		w.compare.Want(p)
	}
	return w.put(ctx, p, mark, Mark{Cursor: mark.Cursor, Redis: redis, At: mark.At})
}

// put replaces a mark, unless somebody else did.
func (w *Watch) put(ctx context.Context, p project.ID, before, after Mark) error {
	if before == after {
		return nil
	}
	err := w.Truth.PutMark(ctx, p, before, after)
	if _, moved := errors.AsType[*MarkMoved](err); moved {
		return nil
	}
	return err
}

func (w *Watch) condemn(ctx context.Context, p project.ID, epoch, why string) error {
	return condemn(ctx, w.Options, w.rebuild, p, epoch, why)
}

// condemn has the queue of a project rebuilt that is wrong.
func condemn(ctx context.Context, o Options, rebuild *Rebuilder, p project.ID, epoch, why string) error {
	gone, err := o.Coordinator.Condemn(ctx, p, epoch)
	if err != nil {
		return fmt.Errorf("give up a queue: %w", err)
	}
	if gone {
		o.Log.WarnContext(ctx, "what Redis knows of a project is not what is stored; it is rebuilt", "project", p, "reason", why)
	}
	rebuild.Want(p)
	return nil
}

// look compares where the project is with what is known, and marks it if it has moved.
func (w *Watch) look(ctx context.Context, p project.ID, redis string) error {
	was := w.of(p)
	at, fits, err := w.Coordinator.Fits(ctx, p, was.mark.Cursor)
	if errors.Is(err, ErrNotReady) {
		w.rebuild.Want(p)
	}
	if err != nil {
		return err
	}
	if whole, err := w.whole(ctx, p); err != nil || !whole {
		return err
	}
	if fits && at == was.mark.Cursor {
		return nil
	}
	w.compare.Active(p) // each server plans it: the one that marks it may be gone by then
	if mine, err := w.Coordinator.Turn(ctx, "mark:"+string(p), markTurn); err != nil || fits && !mine {
		return err
	}
	// Others may have marked it since, and it may have been rebuilt: the truth tells.
	marks, err := w.Truth.Marks(ctx, []project.ID{p})
	if err != nil {
		return err
	}
	mark := marks[0]
	if at, fits, err = w.Coordinator.Fits(ctx, p, mark.Cursor); err != nil {
		return err
	}
	if !fits {
		return w.condemn(ctx, p, at.Epoch, "Redis went back to before what it had told")
	}
	if at != mark.Cursor {
		next := Mark{Cursor: at, Redis: redis, At: w.Now().UTC().Truncate(time.Millisecond)}
		if err := w.Truth.PutMark(ctx, p, mark, next); err != nil {
			if _, moved := errors.AsType[*MarkMoved](err); moved {
				return nil // the next look sees where it is
			}
			return err
		}
		mark = next
	}
	w.remember(p, watched{mark: mark, redis: redis})
	return nil
}

// whole looks whether the keys of a project fit together, when it is this server's turn.
func (w *Watch) whole(ctx context.Context, p project.ID) (bool, error) {
	mine, err := w.Coordinator.Turn(ctx, "whole:"+string(p), wholeEvery)
	if err != nil || !mine {
		return true, err
	}
	whole, err := w.Coordinator.Whole(ctx, p)
	if err == nil && !whole {
		w.Log.WarnContext(ctx, "what Redis knows of a project does not fit together; it is rebuilt", "project", p)
		w.rebuild.Want(p)
	}
	return whole, err
}

// mark ties the queue that is about to be committed to the truth: whatever comes back of an older one does not fit.
func (o Options) mark(ctx context.Context, p project.ID, epoch string) error {
	redis, err := o.Coordinator.Identities(ctx, []project.ID{p})
	if err != nil {
		return err
	}
	next := Mark{Cursor: Cursor{Epoch: epoch}, Redis: redis[0], At: o.Now().UTC().Truncate(time.Millisecond)}
	marks, err := o.Truth.Marks(ctx, []project.ID{p})
	if err != nil {
		return err
	}
	before := marks[0]
	for range retry.Until(ctx) {
		var moved *MarkMoved
		if err = o.Truth.PutMark(ctx, p, before, next); !errors.As(err, &moved) {
			return err
		}
		before = moved.Current
	}
	return retry.Busy("this mark")
}
