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
// a second. A message is gone once handle returned no error. Otherwise it is tried again, by whichever consumer looks first, when
// it has been stuck for a while; after too many tries it becomes a dead letter, which no error of the kind ErrNotReady alone
// does. The name of a consumer is its own among all that run.
func (q *Queue) Consume(ctx context.Context, consumer string, handle func(context.Context, labelling.Message) error) {
	var workers sync.WaitGroup
	for n := range streams {
		workers.Go(func() { (&worker{Queue: q, n: n, consumer: consumer, handle: handle}).run(ctx) })
	}
	workers.Wait()
}

// worker consumes one stream.
type worker struct {
	*Queue
	n        int
	consumer string
	handle   func(context.Context, labelling.Message) error
	reclaim  time.Time // when to look for stuck messages next
	failing  bool      // Redis did not answer the last time, which was logged
}

func (w *worker) run(ctx context.Context) {
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
	select {
	case <-ctx.Done():
	case <-time.After(rest):
	}
}

// step takes over what is stuck, if it is time to, and then what is new.
func (w *worker) step(ctx context.Context) error {
	if now := time.Now(); !now.Before(w.reclaim) {
		if err := w.takeOver(ctx); err != nil {
			return err
		}
		w.reclaim = now.Add(w.o.Stuck / 2)
	}
	got, err := w.blocking.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: w.consumer, Streams: []string{finishedKey(w.n), ">"}, Count: batch, Block: max(min(slice, w.o.Stuck/2), time.Millisecond), // 0 would be for ever
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

// takeOver claims what others, or earlier tries, left behind. Redis scans in steps, so there may be more after an empty one; messages that
// are gone from the stream it forgets by itself.
func (w *worker) takeOver(ctx context.Context) error {
	key := finishedKey(w.n)
	for start := "0-0"; ; {
		stuck, next, err := w.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: key, Group: group, Consumer: w.consumer, MinIdle: w.o.Stuck, Start: start, Count: batch,
		}).Result()
		if err != nil {
			return err
		}
		for _, m := range stuck {
			pending, err := w.client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: key, Group: group, Start: m.ID, End: m.ID, Count: 1}).Result()
			if err != nil {
				return err
			}
			if len(pending) == 1 {
				if err := w.deliver(ctx, m, int(pending[0].RetryCount)); err != nil {
					return err
				}
			}
		}
		if start = next; next == "" || next == "0-0" {
			return nil
		}
	}
}

// deliver hands a message over and settles it. The error is Redis's; that of the message is kept with its dead letter.
func (w *worker) deliver(ctx context.Context, m redis.XMessage, tries int) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // nothing went wrong: the next one takes it over
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
	case tries >= w.o.Tries && ctx.Err() == nil && !errors.Is(err, labelling.ErrNotReady):
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
