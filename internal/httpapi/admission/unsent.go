package admission

import (
	"context"
	"errors"
	"sync"

	"github.com/99designs/gqlgen/graphql"
)

// unsent is the room of one answer.
type unsent struct {
	of     *Answers
	who    string
	weighs int64 // at most, as far as the estimate goes
	told   bool  // whether there is room for it or not: it is a mutation's

	reserving sync.Mutex // by the first of those who want more than a small answer has

	mu       sync.Mutex
	own      *holder // of the caller; nil while the answer needs no room
	kept     bool    // it is sent later than its operation ends
	given    bool    // back: there is no more of it
	reserved bool    // room for what it may weigh
	held     int64   // room that was reserved
	small    int64   // room of small answers that it holds
	taken    int64   // bytes that were made for it
	refused  error   // there was no room for it
}

// take waits until there is room for n bytes more, which are made by a part of an operation, each with its context. An answer that is told
// does without. Faults: those of refusedRoom.
func (u *unsent) take(operation, part context.Context, n int64) error {
	if u.fits(n) {
		return nil
	}
	u.reserving.Lock()
	defer u.reserving.Unlock()
	u.mu.Lock()
	to, refused, fits := u.wantedLocked(), u.refused, u.fitsLocked()
	u.mu.Unlock()
	if refused != nil || fits {
		return refused
	}
	bounded, cancel := context.WithTimeout(operation, u.of.waiting)
	defer cancel()
	stop := context.AfterFunc(part, cancel)
	defer stop()
	err := u.resize(bounded, to)
	switch {
	case err == nil:
		return nil
	case errors.Is(bounded.Err(), context.Canceled) && operation.Err() == nil:
		return refusedRoom(part, err) // others of the operation may find room
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refused = refusedRoom(operation, err)
	return u.refused
}

// fits takes room for n bytes more in steps, if there is some, and reports whether that is enough.
func (u *unsent) fits(n int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.taken += n
	return u.refused == nil && (u.fitsLocked() || u.stepLocked(u.taken))
}

// fitsLocked reports whether there is room for all that was made, as much as an answer can have.
func (u *unsent) fitsLocked() bool {
	return u.given || u.taken <= lightAnswer || u.reserved && u.held >= min(u.taken, u.of.share)
}

// wantedLocked is the room to be reserved for what was made: more than that, so that not each further byte waits for its own.
func (u *unsent) wantedLocked() int64 {
	if u.reserved {
		return u.taken + smallAnswer
	}
	return max(u.weighs, u.taken)
}

// stepLocked brings the room of a small answer up to what so many bytes need, if there is room, and reports whether there is.
func (u *unsent) stepLocked(bytes int64) bool {
	more := roomOf(bytes) - u.small
	switch {
	case u.reserved || bytes > smallAnswer:
		return false
	case more <= 0:
		return true
	}
	own := u.ownLocked()
	if !own.steps.TryAcquire(more) {
		return false
	}
	if !u.of.small.TryAcquire(more) {
		own.steps.Release(more)
		return false
	}
	u.small += more
	return true
}

// roomOf is the room of a small answer for which so many bytes were made: in whole steps, the first of which every operation has.
func roomOf(bytes int64) int64 { return max(0, bytes-1) / lightAnswer * lightAnswer }

// ownLocked is the room of the caller.
func (u *unsent) ownLocked() *holder {
	if u.own == nil {
		u.own = u.of.enter(u.who)
	}
	return u.own
}

// weigh brings the room of an answer in line with the size of a part of it, the last one or not, and waits for what is missing. Faults: those of
// refusedRoom.
func (u *unsent) weigh(ctx context.Context, size int64, last bool) error {
	if enough, err := u.enough(size, last); enough || err != nil {
		return err
	}
	u.reserving.Lock() // what another part waits for may be enough for this one
	defer u.reserving.Unlock()
	if enough, err := u.enough(size, last); enough || err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, u.of.waiting)
	defer cancel()
	if err := u.resize(bounded, size); err != nil {
		return refusedRoom(ctx, err)
	}
	return nil
}

// enough reports whether an answer of this size has its room, as much as it can have, and gives back what is left over with the last part.
func (u *unsent) enough(size int64, last bool) (enough bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.refused != nil:
		return false, u.refused
	case u.given:
		return true, nil
	case u.reserved:
		if last {
			u.shrinkLocked(min(size, u.of.share))
		}
		return u.held >= min(size, u.of.share), nil
	case last:
		u.shrinkSmallLocked(roomOf(size))
	}
	return size <= lightAnswer || u.stepLocked(size), nil
}

// resize reserves what an answer of this weight needs, and waits for what is missing until the context ends; an answer that is told
// waits for nothing. No room is larger than the share of its caller. Error: the context's.
func (u *unsent) resize(ctx context.Context, weight int64) error {
	to := min(weight, u.of.share)
	u.mu.Lock()
	more := to - u.held
	if more <= 0 {
		u.shrinkLocked(to)
	}
	if more <= 0 || u.given {
		u.mu.Unlock()
		return nil
	}
	own := u.ownLocked()
	u.mu.Unlock()
	got, err := u.acquire(ctx, own, more)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.held += got
	u.reserved = true
	u.shrinkSmallLocked(0)
	if u.given { // meanwhile: nobody waits for the answer
		u.shrinkLocked(0)
	}
	return nil
}

// acquire waits for room in the share of the caller, and then in that of all. It returns how much it got: nothing, when there is none for an
// answer that is told anyway.
func (u *unsent) acquire(ctx context.Context, own *holder, more int64) (got int64, err error) {
	if u.told {
		if !own.inside.TryAcquire(more) {
			return 0, nil
		}
		if !u.of.all.TryAcquire(more) {
			own.inside.Release(more)
			return 0, nil
		}
		return more, nil
	}
	if err := own.inside.Acquire(ctx, more); err != nil {
		return 0, err
	}
	if err := u.of.all.Acquire(ctx, more); err != nil {
		own.inside.Release(more)
		return 0, err
	}
	return more, nil
}

func (u *unsent) shrinkSmallLocked(to int64) {
	if less := u.small - to; less > 0 {
		u.own.steps.Release(less)
		u.of.small.Release(less)
		u.small = to
	}
}

func (u *unsent) shrinkLocked(to int64) {
	if less := u.held - to; less > 0 {
		u.own.inside.Release(less)
		u.of.all.Release(less)
		u.held = to
	}
}

// keep keeps the room when the operation ends, and reports whether there is any.
func (u *unsent) keep() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = u.held+u.small > 0
	return u.kept
}

// sent gives everything back, once.
func (u *unsent) sent() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.given {
		return
	}
	u.given = true
	u.shrinkLocked(0)
	u.shrinkSmallLocked(0)
	if u.own != nil {
		u.of.leave(u.who, u.own)
	}
}

// over gives everything back when the operation ends, unless its answer is sent later.
func (u *unsent) over() {
	u.mu.Lock()
	kept := u.kept
	u.mu.Unlock()
	if !kept {
		u.sent()
	}
}

// belongsTo gives the room to the answer of an operation, until that is over.
func (u *unsent) belongsTo(ctx context.Context, op *graphql.OperationContext) {
	op.Stats.SetExtension(statUnsent, u)
	if h, ok := ctx.Value(holdKey{}).(*hold); ok {
		leave := h.leave
		h.leave = func() { u.over(); leave() }
	} else {
		context.AfterFunc(ctx, u.over)
	}
}
