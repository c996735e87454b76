package labelling_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

func TestALaterReviewTakesThePlaceOfTheEarlierOne(t *testing.T) {
	verdicts := []project.Verdict{project.Correct, project.Incorrect}
	for n := range 16 { // all sequences of four reviews
		for _, finishedAgain := range []bool{false, true} {
			t.Run(strconv.Itoa(n)+"/"+strconv.FormatBool(finishedAgain), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 3, queue.Options{})
				one := w.finish(w.claim(ada, 1)[0])
				w.deliver()
				for round := range 4 {
					verdict := verdicts[n>>round&1]
					done, err := w.service.Review(w.as(rev), labelling.Reviewing{Effort: one.Effort.EffortID, Verdict: verdict})
					require.NoError(t, err)
					w.deliver()
					w.exact()
					if again := done.Item.ReturnedTo == ada && finishedAgain; again {
						two := w.finish(w.claim(ada, 1)[0])
						require.Equal(t, one.Item.ID, two.Item.ID)
						w.deliver()
						w.exact()
						continue
					}
					if done.Item.Efforts == 1 {
						want := map[project.Verdict]project.Status{project.Correct: project.Finished, project.Incorrect: project.New}[verdict]
						assert.Equal(t, want, done.Item.Status)
					}
				}
				s := w.state()
				if s.Counts.Finished == 1 {
					for _, i := range w.claim(ada, 3) {
						assert.NotEqual(t, one.Item.ID, i.ID, "it is not handed out any more")
					}
				}
				w.exact()
				w.flush()
				w.rebuilt()
				w.exact()
			})
		}
	}
}
