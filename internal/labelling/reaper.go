package labelling

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// Reaper takes items back from who had them for too long, and settles what servers left unsettled: reservations that never became
// claims, claims that the queue does not know. The truth decides; any number of servers do this at once.
type Reaper struct {
	Options
	rebuild *Rebuilder
	census  census
	mu      sync.Mutex
	scanned map[project.ID]scan
}

// scan is when the claims of a project were looked through in the truth, and what had happened by then.
type scan struct {
	at     time.Time
	cursor Cursor
}

const (
	lapsedAtOnce = 100
	// scanEvery is how often the truth is looked through where something happens, restEvery where nothing does.
	scanEvery, restEvery = time.Minute, time.Hour
	// grace is how long the end of a claim may be on its way to the queue.
	grace = time.Minute
)

// NewReaper returns the job.
func NewReaper(o Options, rebuild *Rebuilder) *Reaper {
	return &Reaper{Options: o, rebuild: rebuild, census: census{Options: o, every: listEvery}, scanned: map[project.ID]scan{}}
}

// Run looks through all projects once.
func (r *Reaper) Run(ctx context.Context) error {
	ids, _, err := r.census.projects(ctx)
	if err != nil {
		return err
	}
	now, err := r.Coordinator.Now(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, len(ids))
	each(len(ids), func(i int) {
		if ctx.Err() == nil {
			errs[i] = r.Reap(ctx, ids[i], now)
		}
	})
	return joined(errs)
}

// Reap looks through one project; now is the time of Redis.
func (r *Reaper) Reap(ctx context.Context, p project.ID, now time.Time) error {
	lapsed, err := r.Coordinator.Expired(ctx, p, lapsedAtOnce)
	if errors.Is(err, ErrNotReady) {
		r.rebuild.Want(p)
	}
	if err != nil {
		return err
	}
	ids := make([]project.ItemID, len(lapsed))
	for i, l := range lapsed {
		ids[i] = l.Item
	}
	errs := make([]error, len(ids))
	if len(ids) > 0 {
		items, _, failed := r.Truth.ItemsByID(ctx, "", ids)
		each(len(ids), func(i int) {
			var err error
			if failed != nil {
				err = failed[i]
			}
			errs[i] = r.settle(ctx, lapsed[i], items[i], err, now)
		})
	}
	return errors.Join(errors.Join(errs...), r.scan(ctx, p, now))
}

// settle does what the truth says about a claim whose time is over in the queue.
func (r *Reaper) settle(ctx context.Context, l Lapsed, item project.Item, err error, now time.Time) error {
	switch {
	case fault.Is(err, fault.NotFound):
		r.cancel(ctx, l.Claim, false)
		return nil
	case err != nil:
		return err
	case item.Status == project.Claimed && item.Claim.Token == l.Token:
		if !item.Claim.Until.After(now) {
			return r.expire(ctx, item)
		}
		if l.Reserved {
			r.hold(ctx, item, "", again(now))
		} else {
			r.extend(ctx, item, "")
		}
		return nil
	case !l.Reserved && r.Now().Sub(item.UpdatedAt) < grace:
		return nil // the end of the claim is on its way
	}
	r.cancel(ctx, l.Claim, item.Status == project.New)
	return nil
}

// expire takes an item back.
func (r *Reaper) expire(ctx context.Context, item project.Item) error {
	back := r.ended(item, "", Expired, project.New)
	err := r.move(ctx, &back, idempotency.Key{})
	if _, conflict := errors.AsType[*project.ItemConflict](err); conflict {
		return nil // somebody was faster; if it was to extend the claim, it is looked at again
	}
	return domain.IgnoreMissing(err)
}

// scan looks for claims that the queue does not know, now and then.
func (r *Reaper) scan(ctx context.Context, p project.ID, now time.Time) error {
	state, err := r.Coordinator.State(ctx, p)
	if err != nil {
		return err
	}
	r.mu.Lock()
	last, seen := r.scanned[p]
	r.mu.Unlock()
	if since := now.Sub(last.at); seen && (since < scanEvery || last.cursor == state.Cursor && since < restEvery) {
		return nil
	}
	for shard := range Shards {
		for after := (Place{}); ; {
			names, next, err := r.Truth.ListByStatus(ctx, p, project.Claimed, shard, after, lapsedAtOnce)
			if err != nil {
				return err
			}
			if err := r.compare(ctx, p, names, now); err != nil {
				return err
			}
			if after = next; next == (Place{}) {
				break
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scanned[p] = scan{at: now, cursor: state.Cursor}
	return nil
}

// compare tells the queue of claims that it does not know.
func (r *Reaper) compare(ctx context.Context, p project.ID, names []string, now time.Time) error {
	if len(names) == 0 {
		return nil
	}
	ids := make([]project.ItemID, len(names))
	for i, name := range names {
		ids[i] = project.ItemID{Project: p, ID: name}
	}
	items, _, failed := r.Truth.ItemsByID(ctx, "", ids)
	known := map[UserID]map[string]bool{}
	for i, item := range items {
		if failed != nil && failed[i] != nil {
			if fault.Is(failed[i], fault.NotFound) {
				continue
			}
			return failed[i]
		}
		if item.Status != project.Claimed || now.Sub(item.UpdatedAt) < Reservation { // those may be on their way
			continue
		}
		if !item.Claim.Until.After(now) {
			if err := r.expire(ctx, item); err != nil {
				return err
			}
			continue
		}
		user := item.Claim.User
		if known[user] == nil {
			claims, err := r.Coordinator.Claims(ctx, p, user)
			if err != nil {
				return err
			}
			known[user] = map[string]bool{}
			for _, c := range claims {
				known[user][c.Token] = true
			}
		}
		if !known[user][item.Claim.Token] {
			r.hold(ctx, item, "", again(now))
		}
	}
	return nil
}
