package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

const (
	group  = "taggie"               // the consumer group of every stream of messages
	batch  = 20                     // messages that a worker takes at once,
	atOnce = 4                      // and handles at the same time
	most   = 10_000                 // messages that a worker has which wait for another try; above that it takes no new ones
	page   = 100                    // of what is pending
	rest   = 200 * time.Millisecond // before the next try when Redis does not answer
	grace  = 5 * time.Second        // for settling a message when the context of its consumer has ended
	within = 5 * time.Second        // for handling one: a slow one holds up others of its stream

	// unready is how long a message waits for the queue of its project: a rebuild takes some seconds.
	unready = 2 * time.Second
)

// Consume hands messages to handle until the context ends; it then returns within about a second if Redis answers. The messages of an item come one after
// the other, in the order they were sent, as long as no process is held up for longer than a lease between two of its steps: one that fails
// holds up those behind it, and no others. Consumers share the streams: each has about as many as the others, and what one leaves behind that
// ends, or is killed, another one has within a second, or when its lease has ended.
//
// A message is gone once handle returned no error. Otherwise it is tried again after a while, after a moment if the error is ErrNotReady; after
// too many tries it becomes a dead letter, which ErrNotReady alone does not make it. The name of a consumer is its own among all that run.
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

	taken   []*taken                 // what was taken from the stream and is not settled, in its order
	unready map[project.ID]time.Time // projects whose queues were not ready, and until when they are left alone
	counted time.Time                // when taken was last compared with what Redis has pending
	full    bool                     // there is no room for more, which was logged
	failing bool                     // Redis did not answer the last time, which was logged
}

// taken is a message that was taken from the stream.
type taken struct {
	entry   string
	message labelling.Message // Tries is how often it was taken or handed over again, as Redis has it
	item    string            // what the order of messages is kept for
	begun   bool              // this try is counted
	next    time.Time         // when it is to be tried
}

// put sets what the stream says.
func (t *taken) put(values map[string]any, tries int) {
	t.message = message(values)
	t.message.Tries = tries
	t.item = string(t.message.Project) + "/" + t.message.Item
}

func (w *worker) run(ctx context.Context) {
	defer w.disown(ctx)
	for ctx.Err() == nil {
		err := w.step(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			w.failing = false
		case strings.HasPrefix(err.Error(), "NOGROUP"):
			// Nothing was ever sent, or Redis was emptied. From the beginning: what waits there has been handled by nobody.
			err = w.client.XGroupCreateMkStream(ctx, w.finishedKey(w.n), group, "0").Err()
			if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
				w.pause(ctx, err)
			}
		default:
			w.pause(ctx, err)
		}
	}
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

// step takes what is new, and handles some of what is due.
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
	if err := w.take(ctx); err != nil {
		return err
	}
	return w.handleDue(ctx)
}

// takeOver takes, when the stream has just become ours, everything that was handed over and not settled: nobody else works on it. So it does
// when Redis has more of that than we know of: one that lost the stream without noticing may have taken something since.
func (w *worker) takeOver(ctx context.Context) error {
	if !w.fresh {
		if time.Since(w.counted) < w.o.Lease {
			return nil
		}
		pending, err := w.client.XPending(ctx, w.finishedKey(w.n), group).Result()
		if err != nil {
			return err
		}
		w.counted = time.Now()
		if int(pending.Count) <= len(w.taken) {
			return nil
		}
	}
	if err := w.forget(ctx); err != nil {
		return err
	}
	var all []*taken
	for start := "-"; ; {
		pending, err := w.client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: w.finishedKey(w.n), Group: group, Start: start, End: "+", Count: page}).Result()
		if err != nil {
			return err
		}
		for _, p := range pending {
			all = append(all, &taken{entry: p.ID, message: labelling.Message{Tries: int(p.RetryCount)}})
		}
		if len(pending) < page {
			break
		}
		start = behind(pending[len(pending)-1].ID)
	}
	known := make(map[string]*taken, len(w.taken))
	for _, t := range w.taken {
		known[t.entry] = t
	}
	for i, t := range all {
		if was := known[t.entry]; was != nil {
			all[i] = was
		}
	}
	if err := w.load(ctx, all); err != nil {
		return err
	}
	// What the stream has lost is nobody's any more.
	w.taken = slices.DeleteFunc(all, func(t *taken) bool { return t.message.ID == "" })
	w.fresh, w.counted = false, time.Now()
	return nil
}

// behind returns the first id behind that of an entry.
func behind(entry string) string {
	ms, seq, _ := strings.Cut(entry, "-")
	n, _ := strconv.ParseUint(seq, 10, 64) // Redis's own spelling
	return ms + "-" + strconv.FormatUint(n+1, 10)
}

// load reads the messages that are not known yet.
func (w *worker) load(ctx context.Context, all []*taken) error {
	for some := range slices.Chunk(slices.DeleteFunc(slices.Clone(all), func(t *taken) bool { return t.message.ID != "" }), page) {
		found := make([]*redis.XMessageSliceCmd, len(some))
		if _, err := w.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, t := range some {
				found[i] = p.XRangeN(ctx, w.finishedKey(w.n), t.entry, t.entry, 1)
			}
			return nil
		}); err != nil {
			return err
		}
		for i, t := range some {
			if entries := found[i].Val(); len(entries) == 1 {
				t.put(entries[0].Values, t.message.Tries)
			} else if err := w.client.XAck(ctx, w.finishedKey(w.n), group, t.entry).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget removes consumers from the group that have not been heard of for long: each process that ever ran was one. Those that have
// messages stay until these are taken over.
func (w *worker) forget(ctx context.Context) error {
	consumers, err := w.client.XInfoConsumers(ctx, w.finishedKey(w.n), group).Result()
	if err != nil {
		if answer, ok := errors.AsType[redis.Error](err); ok && !passing(answer) {
			return nil // there is no such stream or group yet
		}
		return err
	}
	for _, c := range consumers {
		if c.Pending > 0 || c.Idle < w.o.Forget || c.Name == w.consumer {
			continue
		}
		if err := w.client.XGroupDelConsumer(ctx, w.finishedKey(w.n), group, c.Name).Err(); err != nil {
			return err
		}
	}
	return nil
}

// take takes new messages, and waits for some as long as nothing else is due.
func (w *worker) take(ctx context.Context) error {
	some, wait := w.due()
	wait = max(min(wait, slice, w.o.Lease/4), time.Millisecond) // 0 would be for ever
	if len(w.taken) >= most {
		if !w.full {
			w.o.Log.WarnContext(ctx, "too many messages cannot be handled; no more are taken", "stream", w.n, "messages", len(w.taken))
		}
		if w.full = true; len(some) == 0 {
			sleep(ctx, wait)
		}
		return nil
	}
	w.full = false
	args := &redis.XReadGroupArgs{Group: group, Consumer: w.consumer, Streams: []string{w.finishedKey(w.n), ">"}, Count: batch, Block: wait}
	if len(some) > 0 { // as many as are handled
		args.Count, args.Block = atOnce, -1
	}
	bounded, cancel := context.WithTimeout(ctx, max(args.Block, 0)+overdue)
	defer cancel()
	got, err := w.blocking.XReadGroup(bounded, args).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		w.fresh = true // it may have taken some all the same
		return err
	}
	for _, stream := range got {
		for _, m := range stream.Messages {
			t := &taken{entry: m.ID, begun: true}
			t.put(m.Values, 1)
			w.taken = append(w.taken, t)
		}
	}
	return nil
}

// due returns messages that are to be handled now, those that wait longest, or how long nothing is. They are of different items, each the first
// one of its item; and of a project that was not ready there is one: if it still is not, the others need not try.
func (w *worker) due() (some []*taken, wait time.Duration) {
	now := time.Now()
	wait = time.Hour
	held, probed := map[string]bool{}, map[project.ID]bool{}
	for _, t := range w.taken {
		if held[t.item] {
			continue
		}
		held[t.item] = true
		next, unsure := w.unready[t.message.Project]
		if next.Before(t.next) {
			next = t.next
		}
		switch {
		case next.After(now):
			wait = min(wait, next.Sub(now))
		case !unsure || !probed[t.message.Project]:
			some, probed[t.message.Project] = append(some, t), true
		}
	}
	slices.SortStableFunc(some, func(a, b *taken) int { return a.next.Compare(b.next) })
	return some[:min(atOnce, len(some))], wait
}
