package labelling_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

func TestAReviewerCorrectsInOneStep(t *testing.T) {
	w := newWorld(t, 4, queue.Options{})
	items := w.claim(ada, 4)
	correction := func(i project.Item) *labelling.Correction {
		f := w.finishing(i)
		return &labelling.Correction{Category: f.Category, Subcategory: f.Subcategory, Keywords: []string{" Corrected "}}
	}
	done := w.finish(items[0])
	in := labelling.Reviewing{Effort: done.Effort.EffortID, Verdict: project.Incorrect, Comment: "a crow", Correction: correction(items[0])}
	w.deliver()
	reviewed, err := w.service.Review(w.as(rev), in)
	require.NoError(t, err)
	assert.Equal(t, project.Finished, reviewed.Item.Status)
	assert.Empty(t, reviewed.Item.ReturnedTo)
	assert.Equal(t, []string{"Corrected"}, reviewed.Item.Keywords)
	assert.Equal(t, 2, reviewed.Item.Efforts)
	assert.Equal(t, project.Incorrect, reviewed.Effort.Review.Verdict)
	w.deliver()
	w.exact()
	mine, err := domain.First(w.truth.EffortsByID(t.Context(), []project.EffortID{{Project: w.project, ID: reviewed.Item.LastEffort}}))
	require.NoError(t, err)
	assert.Equal(t, rev, mine.User)
	assert.False(t, mine.AwaitsReview(), "nobody has to look at what a reviewer found")

	// What waits for its author is corrected, too: the author does not get it any more.
	second := w.finish(items[1])
	w.deliver()
	in = labelling.Reviewing{Effort: second.Effort.EffortID, Verdict: project.Incorrect}
	_, err = w.service.Review(w.as(rev), in)
	require.NoError(t, err)
	w.deliver()
	in.Correction = correction(items[1])
	_, err = w.service.Review(w.as(boss), in)
	require.NoError(t, err)
	w.deliver()
	w.exact()
	assert.Empty(t, w.claim(ada, 1))

	// What has gone on since is not.
	third := w.finish(items[2])
	w.deliver()
	in = labelling.Reviewing{Effort: third.Effort.EffortID, Verdict: project.Incorrect}
	_, err = w.service.Review(w.as(rev), in)
	require.NoError(t, err)
	w.deliver()
	again := w.claim(ada, 1)
	require.Len(t, again, 1)
	in.Correction = correction(items[2])
	var moved *project.ItemConflict
	_, err = w.service.Review(w.as(boss), in)
	require.ErrorAs(t, err, &moved)
	assert.Equal(t, project.Claimed, moved.Current.Status)
	w.finish(again[0])
	w.deliver()
	_, err = w.service.Review(w.as(boss), in)
	require.ErrorAs(t, err, &moved)
	assert.Equal(t, project.Finished, moved.Current.Status)
	w.exact()
	w.flush()
	w.rebuilt()
	w.exact()
}

func TestReviewBringsAnItemBackToItsAuthorFirst(t *testing.T) {
	w := newWorld(t, 3, queue.Options{})
	done := w.finish(w.claim(ada, 1)[0])
	w.deliver()
	in := labelling.Reviewing{Effort: done.Effort.EffortID, Verdict: project.Incorrect, Comment: "That is a crow."}
	_, err := w.service.Review(w.as(grace), in)
	require.True(t, fault.Is(err, fault.Forbidden))
	reviewed, err := w.service.Review(w.as(rev), in)
	require.NoError(t, err)
	assert.Equal(t, project.New, reviewed.Item.Status)
	assert.Equal(t, ada, reviewed.Item.ReturnedTo)
	assert.Equal(t, "That is a crow.", reviewed.Effort.Review.Comment)
	w.deliver()
	w.exact()
	_, err = w.service.Undo(w.as(ada), labelling.Undoing{Effort: done.Effort.EffortID})
	require.ErrorIs(t, err, labelling.ErrReviewed)

	for _, i := range w.claim(grace, 3) {
		assert.NotEqual(t, done.Item.ID, i.ID, "it is kept for its author")
	}
	w.flush()
	w.rebuilt() // the truth knows for whom it is
	assert.Empty(t, w.claim(grace, 3))
	mine := w.claim(ada, 1)
	require.Len(t, mine, 1)
	assert.Equal(t, done.Item.ID, mine[0].ID)
	w.exact()

	own := w.finish(w.claimOne(rev, mine[0]))
	_, err = w.service.Review(w.as(rev), labelling.Reviewing{Effort: own.Effort.EffortID, Verdict: project.Correct})
	require.ErrorIs(t, err, labelling.ErrOwnWork)
}
