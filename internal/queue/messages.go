package queue

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

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

// Backlog returns how many messages wait or are being handled, and how many are dead.
func (q *Queue) Backlog(ctx context.Context) (waiting, dead int, err error) {
	for n := range streams {
		w, err := q.client.XLen(ctx, q.finishedKey(n)).Result()
		if err != nil {
			return 0, 0, failed("count messages", err)
		}
		d, err := q.client.XLen(ctx, q.deadKey(n)).Result()
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
