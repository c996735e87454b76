package queue

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Top returns the words of a set that are used most, the first one first. ErrNotReady.
func (q *Queue) Top(ctx context.Context, p project.ID, w labelling.Words) ([]labelling.Used, error) {
	reply, err := q.words(ctx, p, q.keysOf(p).top(w), "top", labelling.TopUsed)
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

// Keywords returns up to n keywords that somebody uses and that begin with the prefix, whatever its case, in the order of their folded forms. ErrNotReady.
func (q *Queue) Keywords(ctx context.Context, p project.ID, prefix string, n int) ([]string, error) {
	prefix = labelling.Fold(prefix)
	first := "[" + prefix
	if prefix == "+" || prefix == "-" { // which the embedded Redis takes for an end of the set: what follows all that stand before it
		first = "(" + string(prefix[0]-1) + "\xff"
	}
	// No text has the byte 255, so it stands after all that begin with the prefix.
	reply, err := q.words(ctx, p, q.keysOf(p).keywords(), "range", n, first, "("+prefix+"\xff")
	found := texts(reply)
	for i, member := range found {
		_, found[i], _ = strings.Cut(member, completes)
	}
	return found, err
}

// completes stands between what a keyword is found by and the keyword itself; no keyword has it.
const completes = "\x00"

// completions returns the members of the set of keywords that stand for some.
func completions(keywords []string) []string {
	members := make([]string, len(keywords))
	for i, word := range keywords {
		members[i] = labelling.Fold(word) + completes + word
	}
	return members
}

// Labels returns the categories or subcategories of a project, in their order. ErrNotReady.
func (q *Queue) Labels(ctx context.Context, p project.ID, w labelling.Words) ([]string, error) {
	if w == labelling.Keywords {
		return nil, errors.New("keywords are no labels")
	}
	reply, err := q.words(ctx, p, q.keysOf(p).labels(w), "list", math.MaxInt32)
	return texts(reply), err
}

func (q *Queue) words(ctx context.Context, p project.ID, key, how string, args ...any) (any, error) {
	reply, err := q.run(ctx, "read words", wordsScript, []string{q.keysOf(p).epoch(), key}, append([]any{how}, args...)...)
	if err != nil || len(reply) == 0 {
		return nil, err
	}
	return reply[0], nil
}
