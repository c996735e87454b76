package queue

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Publish sends a message. Messages of one item travel through one stream, in order. One that waits already, or is being handled, is
// not sent a second time: whoever thinks that it is late need not know how much waits.
func (q *Queue) Publish(ctx context.Context, m labelling.Message) error {
	n := streamFor(m)
	_, err := q.run(ctx, "send a message", publishScript, []string{q.finishedKey(n), q.sentKey(n)}, fields(m)...)
	return err
}

// streamFor returns the number of the stream of a message: that of its item.
func streamFor(m labelling.Message) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(string(m.Project) + "/" + m.Item)) // never fails
	return int(h.Sum32() % streams)
}

func fields(m labelling.Message) []any {
	return []any{"id", m.ID, "project", string(m.Project), "item", m.Item, "body", m.Body}
}

func message(values map[string]any) labelling.Message {
	return labelling.Message{
		ID: text(values["id"]), Project: project.ID(text(values["project"])), Item: text(values["item"]), Body: []byte(text(values["body"])),
	}
}

// Backlog returns how many messages wait or are being handled, for how long the oldest of them has, and how many are dead.
func (q *Queue) Backlog(ctx context.Context) (labelling.Backlog, error) {
	var b labelling.Backlog
	now, err := q.Now(ctx)
	if err != nil {
		return b, err
	}
	for n := range streams {
		waiting, err := q.client.XLen(ctx, q.finishedKey(n)).Result()
		if err != nil {
			return b, failed("count messages", err)
		}
		dead, err := q.client.XLen(ctx, q.deadKey(n)).Result()
		if err != nil {
			return b, failed("count dead letters", err)
		}
		first, err := q.client.XRangeN(ctx, q.finishedKey(n), "-", "+", 1).Result()
		if err != nil {
			return b, failed("look for the oldest message", err)
		}
		b.Waiting, b.Dead = b.Waiting+int(waiting), b.Dead+int(dead)
		for _, m := range first {
			b.Oldest = max(b.Oldest, now.Sub(sentAt(m.ID)))
		}
	}
	return b, nil
}

// sentAt is when the entry of a stream was added, by the clock of Redis: its id begins with that.
func sentAt(entry string) time.Time {
	ms, _, _ := strings.Cut(entry, "-")
	n, _ := strconv.ParseInt(ms, 10, 64) // Redis's own spelling
	return time.UnixMilli(n)
}

// DeadLetters returns the n youngest dead letters, the youngest first.
func (q *Queue) DeadLetters(ctx context.Context, n int) ([]labelling.DeadLetter, error) {
	var letters []labelling.DeadLetter
	for stream := range streams {
		entries, err := q.client.XRevRangeN(ctx, q.deadKey(stream), "+", "-", int64(n)).Result()
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
	_, err := q.run(ctx, "settle a dead letter", retryScript, []string{q.finishedKey(n), q.sentKey(n), q.deadKey(n)}, entry, bit(again))
	return err
}
