package queue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// share is what the workers of a consumer have together.
type share struct {
	owned atomic.Int32 // streams

	handing sync.Mutex // held by the one that may hand its stream over
	handed  time.Time
}

// lease is what a worker knows of who owns its stream. A stream has one consumer at a time: only so are the messages of one item
// handled in the order they were sent.
type lease struct {
	ours  bool
	fresh bool      // what others left behind may not be taken over yet
	until time.Time // when it ends unless it is renewed, by the clock of this process
}

// own makes the stream this consumer's, if it is nobody else's, or keeps it so.
func (w *worker) own(ctx context.Context) error { return w.ask(ctx, false) }

// ownOrHandOver does the same, but the stream may be handed to a consumer that has fewer: one stream at a time, so that the other one has
// said anew how many it has.
func (w *worker) ownOrHandOver(ctx context.Context) error {
	if !w.share.handing.TryLock() {
		return w.ask(ctx, false)
	}
	defer w.share.handing.Unlock()
	had := w.ours
	err := w.ask(ctx, time.Since(w.share.handed) > w.o.Lease/2)
	if had && !w.ours {
		w.share.handed = time.Now()
	}
	return err
}

func (w *worker) ask(ctx context.Context, willing bool) error {
	asked := time.Now()
	ours, err := w.flag(ctx, "own a stream of messages", ownScript, []string{w.ownerKey(w.n), w.wantedKey(w.n)},
		w.consumer, w.o.Lease.Milliseconds(), w.share.owned.Load(), bit(willing))
	if err != nil {
		return err
	}
	if ours && time.Now().After(w.until) { // somebody else may have had it meanwhile
		w.fresh = true
	}
	w.note(ours)
	w.until = asked.Add(w.o.Lease)
	return nil
}

// note counts how many streams the consumer owns, and forgets what it took from one that it owns no more.
func (w *worker) note(ours bool) {
	switch {
	case ours && !w.ours:
		w.share.owned.Add(1)
		w.fresh = true
	case !ours && w.ours:
		w.share.owned.Add(-1)
		w.taken, w.unready = nil, nil
	}
	w.ours = ours
}

// still reports whether the stream is this consumer's for a while, and sees to it.
func (w *worker) still(ctx context.Context) (bool, error) {
	if time.Until(w.until) < w.o.Lease/2 {
		if err := w.own(ctx); err != nil {
			return false, err
		}
	}
	return w.ours, nil
}

// owning keeps the stream this consumer's while messages are handled, until the returned function is called: but not for ever, since whoever
// hangs must not keep others from it.
func (w *worker) owning(ctx context.Context) (end func()) {
	ctx, cancel := context.WithTimeout(ctx, w.o.Stuck)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(w.o.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = w.own(ctx) // the next one may succeed; who handles the message does so once, whoever else does
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// disown lets another consumer have the stream at once, also when the context has ended, and wants it no more.
func (w *worker) disown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	w.note(false)
	if _, err := w.flag(ctx, "give up a stream of messages", ownScript, []string{w.ownerKey(w.n), w.wantedKey(w.n)}, w.consumer, 0, 0, bit(false)); err != nil {
		w.o.Log.WarnContext(ctx, "a stream of messages was not given up; others can have it in a moment", "stream", w.n, "error", err)
	}
}
