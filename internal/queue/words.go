package queue

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Top returns the words of a set that are used most, the first one first. ErrNotReady.
func (q *Queue) Top(ctx context.Context, p project.ID, w labelling.Words) ([]labelling.Used, error) {
	reply, err := q.words(ctx, p, keysOf(p).top(w), "top", labelling.TopUsed)
	if err != nil {
		return nil, err
	}
	var top []labelling.Used
	for word, score := range pairs(reply) {
		n, _ := strconv.ParseFloat(score, 64)
		top = append(top, labelling.Used{Value: word, Count: int(n)})
	}
	return top, nil
}

// Keywords returns up to n keywords that begin with the prefix, byte for byte, in the order of their bytes. ErrNotReady.
func (q *Queue) Keywords(ctx context.Context, p project.ID, prefix string, n int) ([]string, error) {
	// No text has the byte 255, so it stands after all that begin with the prefix.
	reply, err := q.words(ctx, p, keysOf(p).keywords(), "range", n, "["+prefix, "("+prefix+"\xff")
	return texts(reply), err
}

// Labels returns the categories or subcategories of a project, in their order. ErrNotReady.
func (q *Queue) Labels(ctx context.Context, p project.ID, w labelling.Words) ([]string, error) {
	if w == labelling.Keywords {
		return nil, errors.New("keywords are no labels")
	}
	reply, err := q.words(ctx, p, keysOf(p).labels(w), "list", math.MaxInt32)
	return texts(reply), err
}

func (q *Queue) words(ctx context.Context, p project.ID, key, how string, args ...any) (any, error) {
	reply, err := q.run(ctx, "read words", wordsScript, []string{keysOf(p).epoch(), key}, append([]any{how}, args...)...)
	if err != nil || len(reply) == 0 {
		return nil, err
	}
	return reply[0], nil
}

// Suggest adds keywords that can be completed from their beginnings, without having been used. ErrNotReady.
func (q *Queue) Suggest(ctx context.Context, p project.ID, keywords []string) error {
	args := make([]any, len(keywords))
	for i, word := range keywords {
		args[i] = word
	}
	k := keysOf(p)
	_, err := q.run(ctx, "suggest keywords", suggestScript, []string{k.epoch(), k.keywords()}, args...)
	return err
}
