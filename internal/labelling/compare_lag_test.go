package labelling_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// glanced is a queue in which something happens each time before it says what it knows.
type glanced struct {
	*post
	before func()
}

func (q glanced) Snapshot(ctx context.Context, p project.ID, u labelling.UserID, teams []string) (labelling.Snapshot, error) {
	q.before()
	return q.post.Snapshot(ctx, p, u, teams)
}

// What happened just before a comparison looks at Redis is not in the indexes yet when it scans.
func TestAComparisonKnowsThatIndexesAreBehind(t *testing.T) {
	t.Parallel()
	for name, compare := range map[string]func(w *watching, c *labelling.Comparison) error{
		"in a while": func(w *watching, c *labelling.Comparison) error { return c.Compare(w.t.Context(), w.project) },
		"in doubt": func(w *watching, c *labelling.Comparison) error {
			c.Doubt(w.project, "another")
			return c.Run(w.t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 100, queue.Options{}).watched()
			w.works()
			const settle = 200 * time.Millisecond
			var finished time.Time
			looked, options := 0, w.options
			options.Coordinator = glanced{w.queue, func() {
				if looked++; looked%2 == 0 {
					return
				}
				i := w.claim(ada, 1)[0]
				w.truth.lags(func(string) int {
					if time.Since(finished) < settle/2 {
						return 1 // as it was
					}
					return 2
				})
				w.finish(i)
				require.NoError(t, w.follows())
				finished = time.Now()
			}}
			epoch := w.state().Cursor.Epoch
			c := labelling.NewComparison(options, labelling.NewRebuilder(options, settle), 0, nil)
			require.NoError(t, compare(w, c))
			require.GreaterOrEqual(t, looked, 2)
			require.Equal(t, epoch, w.state().Cursor.Epoch, "nothing is lost")
		})
	}
}

// A transition that nobody can handle stays in the outbox, and keeps nobody from noticing what else is lost.
func TestALossIsNoticedBesideATransitionThatNobodyCanHandle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 60, queue.Options{}).watched()
	w.works()
	w.truth.mu.Lock()
	w.truth.outbox["poison"] = labelling.Transition{ID: "poison", Project: w.project, Item: "nothing", Cause: labelling.Reviewed, At: time.Now().Add(-time.Hour), Version: 7}
	w.truth.mu.Unlock()
	epoch := w.state().Cursor.Epoch
	require.NoError(t, w.client.HIncrBy(t.Context(), "taggie:team:statistics:{"+string(w.project)+"}:t0", "ada:finished", -1).Err())
	require.NoError(t, w.compare.Compare(t.Context(), w.project))
	s, err := w.queue.State(t.Context(), w.project)
	require.True(t, err != nil || s.Cursor.Epoch != epoch, "nobody notices")
}
