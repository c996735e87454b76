package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

const (
	group = "taggie"               // the consumer group of every stream of messages
	batch = 10                     // messages that one consumer takes at once
	rest  = 200 * time.Millisecond // before the next try when Redis does not answer
	grace = 5 * time.Second        // for settling a message when the context of its consumer has ended

	// unready is how long a message waits for the queue of its project: a rebuild takes some seconds.
	unready = 2 * time.Second
)

// Publish sends a message. Messages of one item travel through one stream, in order. One that waits already, or is being handled, is
// not sent a second time: whoever thinks that it is late need not know how much waits.
func (q *Queue) Publish(ctx context.Context, m labelling.Message) error {
	h := fnv.New32a()
	_, _ = h.Write([]byte(string(m.Project) + "/" + m.Item)) // never fails
	n := int(h.Sum32() % streams)
	_, err := q.run(ctx, "send a message", publishScript, []string{finishedKey(n), sentKey(n)}, fields(m)...)
	return err
}

func fields(m labelling.Message) []any {
	return []any{"id", m.ID, "project", string(m.Project), "item", m.Item, "body", m.Body}
}

func message(values map[string]any) labelling.Message {
	return labelling.Message{
		ID: text(values["id"]), Project: project.ID(text(values["project"])), Item: text(values["item"]), Body: []byte(text(values["body"])),
	}
}

// Consume hands messages to handle, one at a time from each of the streams, until the context ends; it then returns within about
// a second. Consumers share the streams: each has about as many as the others, and what one leaves behind that ends, or is killed, the next
// one has at once, or when its lease ends. A message is gone once handle returned no error. Otherwise it is tried again after a while, after
// a moment if the error is ErrNotReady; after too many tries it becomes a dead letter, which ErrNotReady alone does not make it. The name
// of a consumer is its own among all that run.
func (q *Queue) Consume(ctx context.Context, consumer string, handle func(context.Context, labelling.Message) error) {
	var workers sync.WaitGroup
	var all share
	for n := range streams {
		workers.Go(func() { (&worker{Queue: q, n: n, consumer: consumer, share: &all, handle: handle}).run(ctx) })
	}
	workers.Wait()
}

// worker consumes one stream while that is its consumer's.
type worker struct {
	*Queue
	lease
	n        int
	consumer string
	share    *share
	handle   func(context.Context, labelling.Message) error
	reclaim  time.Time // when to look for stuck messages next
	unready  []string  // messages whose queue was not ready,
	ready    time.Time // and when to try them again
	failing  bool      // Redis did not answer the last time, which was logged
}

func (w *worker) run(ctx context.Context) {
	defer w.disown(ctx)
	if err := w.forget(ctx); err != nil && ctx.Err() == nil {
		w.o.Log.WarnContext(ctx, "consumers of the past are not forgotten; the next one that starts tries again", "stream", w.n, "error", err)
	}
	for ctx.Err() == nil {
		err := w.step(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			w.failing = false
		case strings.HasPrefix(err.Error(), "NOGROUP"):
			// Nothing was ever sent, or Redis was emptied. From the beginning: what waits there has been handled by nobody.
			err = w.client.XGroupCreateMkStream(ctx, finishedKey(w.n), group, "0").Err()
			if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
				w.pause(ctx, err)
			}
		default:
			w.pause(ctx, err)
		}
	}
}

// forget removes consumers from the group that have not been heard of for long: each process that ever ran was one. Those that have
// messages stay until these are taken over.
func (w *worker) forget(ctx context.Context) error {
	consumers, err := w.client.XInfoConsumers(ctx, finishedKey(w.n), group).Result()
	if err != nil {
		if answer, ok := errors.AsType[redis.Error](err); ok && !passing(answer) {
			return nil // there is no such stream or group yet
		}
		return err
	}
	for _, c := range consumers {
		if c.Pending > 0 || c.Idle < w.o.Forget {
			continue
		}
		if err := w.client.XGroupDelConsumer(ctx, finishedKey(w.n), group, c.Name).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) pause(ctx context.Context, err error) {
	if !w.failing { // once, not at each try
		w.o.Log.WarnContext(ctx, "messages cannot be read; it is tried again", "stream", w.n, "error", err)
	}
	w.failing = true
	sleep(ctx, rest)
}

// sleep waits, but not longer than the context lasts.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// step takes over what is stuck, if it is time to, and then what is new.
func (w *worker) step(ctx context.Context) error {
	if err := w.ownOrHandOver(ctx); err != nil {
		return err
	}
	if !w.ours {
		sleep(ctx, w.o.Lease/4)
		return nil
	}
	if err := w.takeOver(ctx); err != nil {
		return err
	}
	wait := max(min(slice, w.o.Stuck/2, w.o.Lease/4), time.Millisecond) // 0 would be for ever
	got, err := w.blocking.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: w.consumer, Streams: []string{finishedKey(w.n), ">"}, Count: batch, Block: wait,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, stream := range got {
		for _, m := range stream.Messages {
			if err := w.deliver(ctx, m, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOver has what others, or earlier tries, left behind handled: everything when the stream has just become ours, since nobody else works
// on it; what is due otherwise.
func (w *worker) takeOver(ctx context.Context) error {
	now := time.Now()
	if w.fresh || !now.Before(w.reclaim) {
		idle := w.o.Stuck
		if w.fresh {
			idle, w.unready = 0, nil
		}
		if err := w.stuck(ctx, idle); err != nil {
			return err
		}
		w.fresh, w.reclaim = false, now.Add(w.o.Stuck/2)
	}
	if len(w.unready) == 0 || now.Before(w.ready) {
		return nil
	}
	ids := w.unready
	w.unready = nil
	for _, id := range ids {
		// Their tries do not count. go-redis has no method for that.
		err := w.client.Do(ctx, "XCLAIM", finishedKey(w.n), group, w.consumer, 0, id, "RETRYCOUNT", 1, "JUSTID").Err()
		if err == nil {
			err = w.again(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stuck has those messages handled that nobody has touched for so long. Redis scans in steps, so there may be more after an empty one;
// messages that are gone from the stream it forgets by itself.
func (w *worker) stuck(ctx context.Context, idle time.Duration) error {
	for start := "0-0"; ctx.Err() == nil; {
		found, next, err := w.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: finishedKey(w.n), Group: group, Consumer: w.consumer, MinIdle: idle, Start: start, Count: batch,
		}).Result()
		if err != nil {
			return err
		}
		for _, m := range found {
			if err := w.again(ctx, m.ID); err != nil {
				return err
			}
		}
		if start = next; next == "" || next == "0-0" {
			return nil
		}
	}
	return nil
}

// again delivers a message that was delivered before, if it is still there.
func (w *worker) again(ctx context.Context, id string) error {
	found, err := w.client.XRangeN(ctx, finishedKey(w.n), id, id, 1).Result()
	if err != nil {
		return err
	}
	pending, err := w.client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: finishedKey(w.n), Group: group, Start: id, End: id, Count: 1}).Result()
	if err != nil || len(found) == 0 || len(pending) == 0 {
		return err
	}
	return w.deliver(ctx, found[0], int(pending[0].RetryCount))
}

// deliver hands a message over and settles it. The error is Redis's; that of the message is kept with its dead letter.
func (w *worker) deliver(ctx context.Context, m redis.XMessage, tries int) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // nothing went wrong: the next one takes it over
	}
	if ours, err := w.still(ctx); err != nil || !ours {
		return err
	}
	msg := message(m.Values)
	msg.Tries = tries
	if tries > 2*w.o.Tries {
		return w.settle(ctx, m, msg, "whoever tried to handle it did not come to an end")
	}
	err := w.try(ctx, msg)
	switch {
	case err == nil:
		return w.settle(ctx, m, msg, "")
	case errors.Is(err, labelling.ErrNotReady):
		if len(w.unready) == 0 {
			w.ready = time.Now().Add(min(unready, w.o.Stuck))
		}
		w.unready = append(w.unready, m.ID)
		return nil
	case tries >= w.o.Tries && ctx.Err() == nil:
		w.o.Log.ErrorContext(ctx, "a message is dead", "id", msg.ID, "project", msg.Project, "item", msg.Item, "tries", tries, "error", err)
		return w.settle(ctx, m, msg, cmp.Or(err.Error(), "unknown"))
	}
	w.o.Log.WarnContext(ctx, "a message was not handled; it is tried again", "id", msg.ID, "project", msg.Project, "item", msg.Item, "tries", tries, "error", err)
	return nil
}

// try handles a message; a panic is an error of the message.
func (w *worker) try(ctx context.Context, m labelling.Message) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handle a message: panic: %v", r)
		}
	}()
	defer w.owning(ctx)()
	return w.handle(ctx, m)
}

// settle takes the message off the stream, and keeps it as a dead letter if there is a reason. What was done is done, so this goes on
// when the context has ended.
func (w *worker) settle(ctx context.Context, m redis.XMessage, msg labelling.Message, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	args := append([]any{group, m.ID, reason, "tries", msg.Tries}, fields(msg)...)
	_, err := w.Queue.run(ctx, "settle a message", settleScript, []string{finishedKey(w.n), sentKey(w.n), deadKey(w.n)}, args...)
	return err
}

// Backlog returns how many messages wait or are being handled, and how many are dead.
func (q *Queue) Backlog(ctx context.Context) (waiting, dead int, err error) {
	for n := range streams {
		w, err := q.client.XLen(ctx, finishedKey(n)).Result()
		if err != nil {
			return 0, 0, failed("count messages", err)
		}
		d, err := q.client.XLen(ctx, deadKey(n)).Result()
		if err != nil {
			return 0, 0, failed("count dead letters", err)
		}
		waiting, dead = waiting+int(w), dead+int(d)
	}
	return waiting, dead, nil
}

// DeadLetters returns the n youngest dead letters, the youngest first.
func (q *Queue) DeadLetters(ctx context.Context, n int) ([]labelling.DeadLetter, error) {
	var letters []labelling.DeadLetter
	for stream := range streams {
		entries, err := q.client.XRevRangeN(ctx, deadKey(stream), "+", "-", int64(n)).Result()
		if err != nil {
			return nil, failed("read dead letters", err)
		}
		for _, e := range entries {
			l := labelling.DeadLetter{
				ID: fmt.Sprintf("%d/%s", stream, e.ID), Message: message(e.Values), Reason: text(e.Values["reason"]), At: instant(text(e.Values["died"])),
			}
			l.Message.Tries = number(e.Values["tries"])
			letters = append(letters, l)
		}
	}
	slices.SortStableFunc(letters, func(a, b labelling.DeadLetter) int { return b.At.Compare(a.At) })
	return letters[:min(n, len(letters))], nil
}

// RetryDeadLetter sends the message of a dead letter again. ErrNoDeadLetter.
func (q *Queue) RetryDeadLetter(ctx context.Context, id string) error { return q.raise(ctx, id, true) }

// DropDeadLetter forgets a dead letter. ErrNoDeadLetter.
func (q *Queue) DropDeadLetter(ctx context.Context, id string) error { return q.raise(ctx, id, false) }

func (q *Queue) raise(ctx context.Context, id string, again bool) error {
	n, entry, ok := streamOf(id)
	if !ok {
		return labelling.ErrNoDeadLetter
	}
	_, err := q.run(ctx, "settle a dead letter", retryScript, []string{finishedKey(n), sentKey(n), deadKey(n)}, entry, bit(again))
	return err
}
