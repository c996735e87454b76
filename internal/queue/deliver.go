package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// handleDue handles some messages at the same time. The error is Redis's; those of the messages are kept with them.
func (w *worker) handleDue(ctx context.Context) error {
	some, _ := w.due()
	if len(some) == 0 || ctx.Err() != nil {
		return nil //nolint:nilerr // nothing went wrong: the next one takes them over
	}
	if ours, err := w.still(ctx); err != nil || !ours {
		return err
	}
	results, settled := make([]error, len(some)), make([]bool, len(some))
	outcomes := make([]error, len(some))
	end := w.owning(ctx)
	var all sync.WaitGroup
	for i, t := range some {
		all.Go(func() { outcomes[i], settled[i], results[i] = w.deliver(ctx, t) })
	}
	all.Wait()
	end()
	for i, t := range some {
		switch {
		case settled[i]:
			delete(w.unready, t.message.Project)
		case results[i] != nil || outcomes[i] == nil: // Redis does not answer, or the consumer ends
			t.next = time.Now().Add(rest)
		case errors.Is(outcomes[i], labelling.ErrNotReady):
			if w.unready == nil {
				w.unready = map[project.ID]time.Time{}
			}
			w.unready[t.message.Project] = time.Now().Add(min(unready, w.o.Stuck))
		default:
			delete(w.unready, t.message.Project)
			t.begun, t.next = false, time.Now().Add(min(w.o.Stuck, time.Second<<min(t.message.Tries, 10)))
		}
	}
	w.taken = slices.DeleteFunc(w.taken, func(t *taken) bool {
		i := slices.Index(some, t)
		return i >= 0 && settled[i]
	})
	return errors.Join(results...)
}

// deliver hands a message over and settles it, if it was handled, or never will be. It returns what handling it came to, whether it is settled,
// and what Redis says.
func (w *worker) deliver(ctx context.Context, t *taken) (outcome error, settled bool, err error) {
	again := !t.begun
	if again {
		if t.message.Tries >= 2*w.o.Tries {
			err := w.settle(ctx, t, "whoever tried to handle it did not come to an end")
			return nil, err == nil, err
		}
		if err := w.count(ctx, t, t.message.Tries+1); err != nil {
			return nil, false, err
		}
		t.begun = true
	}
	outcome = w.try(ctx, t.message)
	switch {
	case outcome == nil:
		err := w.settle(ctx, t, "")
		return nil, err == nil, err
	case errors.Is(outcome, labelling.ErrNotReady) || fault.Is(outcome, fault.Outdated) || ctx.Err() != nil: // it is not its fault
		if again {
			err = w.count(ctx, t, t.message.Tries-1)
		}
		return outcome, false, err
	case t.message.Tries >= w.o.Tries:
		if err := w.settle(ctx, t, cmp.Or(outcome.Error(), "unknown")); err != nil {
			return outcome, false, err
		}
		w.o.Log.ErrorContext(ctx, "a message is dead", "id", t.message.ID, "project", t.message.Project, "item", t.message.Item, "tries", t.message.Tries, "error", outcome)
		return outcome, true, nil
	}
	w.o.Log.WarnContext(ctx, "a message was not handled; it is tried again", "id", t.message.ID, "project", t.message.Project, "item", t.message.Item, "tries", t.message.Tries, "error", outcome)
	return outcome, false, nil
}

// count has Redis count tries, for whoever comes next. go-redis has no method for that.
func (w *worker) count(ctx context.Context, t *taken, tries int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := w.client.Do(ctx, "XCLAIM", w.finishedKey(w.n), group, w.consumer, 0, t.entry, "RETRYCOUNT", tries, "JUSTID").Err()
	if err == nil {
		t.message.Tries = tries
	}
	return err
}

// try handles a message; a panic is an error of the message.
func (w *worker) try(ctx context.Context, m labelling.Message) (err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handle a message: panic: %v", r)
		}
	}()
	return w.handle(ctx, m)
}

// settle takes the message off the stream, and keeps it as a dead letter if there is a reason. What was done is done, so this goes on
// when the context has ended.
func (w *worker) settle(ctx context.Context, t *taken, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	args := append([]any{group, t.entry, reason, "tries", t.message.Tries}, fields(t.message)...)
	_, err := w.Queue.run(ctx, "settle a message", settleScript, []string{w.finishedKey(w.n), w.sentKey(w.n), w.deadKey(w.n)}, args...)
	return err
}
