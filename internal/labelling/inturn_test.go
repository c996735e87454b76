package labelling_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// Whatever becomes of messages on their way, what is told of an item is in the order in which it happened, and nothing of it is left out.
func TestWhatIsToldOfAnItemIsInOrder(t *testing.T) {
	t.Parallel()
	for engine, start := range map[string]func(*testing.T) *world{
		"embedded":     func(t *testing.T) *world { return newWorld(t, 1, queue.Options{}) },
		"redis-server": func(t *testing.T) *world { return newWorldAt(t, embeddedtest.RealRedis(t).URL, 1, queue.Options{}) },
	} {
		for name, test := range map[string]func(*world) []string{
			"the first message is sent late":       (*world).sendsLate,
			"the first messages are sent late":     (*world).sendsSomeLate,
			"the first message was lost":           (*world).losesTheFirst,
			"the next message is handled at first": (*world).handlesBackwards,
			"a claim comes before the message":     (*world).claimsBeforeTheMessage,
			"Redis remembers nothing":              (*world).remembersNothing,
		} {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := start(t)
				before := w.state().Cursor
				want := test(w)
				w.relayed()
				w.relayed()
				events, err := w.queue.Read(t.Context(), w.project, before, 100, 0)
				require.NoError(t, err)
				var told []string
				for _, e := range events {
					told = append(told, string(e.Cause)+" "+string(e.Status))
				}
				assert.Equal(t, want, told)
				w.exact()
			})
		}
	}
}

// undoes takes an effort back and gives the item back; the messages of these are sent.
func (w *world) undoes(done project.FinishedItem) {
	w.t.Helper()
	back, err := w.service.Undo(w.as(ada), labelling.Undoing{Effort: done.Effort.EffortID})
	require.NoError(w.t, err)
	_, err = w.service.Release(w.as(ada), labelling.Held{Item: back.Item.ItemID, Token: back.Item.Claim.Token})
	require.NoError(w.t, err)
}

// misses has so many messages fail, and counts those that did.
func (w *world) misses(n int) *int {
	failed := 0
	w.queue.fails = func(what string) error {
		if what != "Publish" || failed == n {
			return nil
		}
		failed++
		return errors.New("Redis is away")
	}
	return &failed
}

var allInOrder = []string{"CLAIMED CLAIMED", "FINISHED FINISHED", "UNDONE CLAIMED", "RELEASED NEW"}

func (w *world) sendsLate() []string {
	failed := w.misses(1)
	w.undoes(w.finish(w.claim(ada, 1)[0]))
	require.Equal(w.t, 1, *failed)
	w.deliver()
	return allInOrder
}

func (w *world) sendsSomeLate() []string {
	failed := w.misses(2)
	w.undoes(w.finish(w.claim(ada, 1)[0]))
	require.Equal(w.t, 2, *failed)
	w.deliver()
	return allInOrder
}

func (w *world) losesTheFirst() []string {
	w.undoes(w.finish(w.claim(ada, 1)[0]))
	w.queue.mail = w.queue.mail[1:] // Redis lost what it had acknowledged
	w.deliver()
	return allInOrder
}

func (w *world) handlesBackwards() []string {
	w.undoes(w.finish(w.claim(ada, 1)[0]))
	mail := w.queue.mail
	mail[0], mail[2] = mail[2], mail[0]
	w.deliver()
	return allInOrder
}

// What a reviewer found incorrect is found in the truth, and claimed, before the message of the review is sent.
func (w *world) claimsBeforeTheMessage() []string {
	done := w.finish(w.claim(ada, 1)[0])
	w.deliver()
	failed := w.misses(1)
	_, err := w.service.Review(w.as(rev), labelling.Reviewing{Effort: done.Effort.EffortID, Verdict: project.Incorrect})
	require.NoError(w.t, err)
	require.Equal(w.t, 1, *failed)
	// As who fills the queue may find it, when others are NEW.
	require.NoError(w.t, w.client.RPush(w.t.Context(), "taggie:project:queue:{"+string(w.project)+"}", done.Item.ID).Err())
	require.NoError(w.t, w.client.SAdd(w.t.Context(), "taggie:project:queued:{"+string(w.project)+"}", done.Item.ID).Err())
	got := w.claim(grace, 1)
	require.Len(w.t, got, 1)
	_, err = w.service.Release(w.as(grace), labelling.Held{Item: got[0].ItemID, Token: got[0].Claim.Token})
	require.NoError(w.t, err)
	w.deliver()
	return []string{"CLAIMED CLAIMED", "FINISHED FINISHED", "REVIEWED NEW", "CLAIMED CLAIMED", "RELEASED NEW"}
}

// What was followed so long ago that it is forgotten holds nothing up.
func (w *world) remembersNothing() []string {
	done := w.finish(w.claim(ada, 1)[0])
	w.deliver()
	require.NoError(w.t, w.client.Del(w.t.Context(), "taggie:project:applied:{"+string(w.project)+"}").Err())
	require.NoError(w.t, w.client.SRem(w.t.Context(), "taggie:project:keys:{"+string(w.project)+"}", "taggie:project:applied:{"+string(w.project)+"}").Err())
	w.undoes(done)
	w.deliver()
	return allInOrder
}

// While Redis was away somebody finished an item and took it back again and again, and the last message comes first: what came before is
// not found one by one.
func TestManyTransitionsThatWereNotSent(t *testing.T) {
	t.Parallel()
	const pairs = 60
	w := newWorld(t, 1, queue.Options{})
	w.misses(2*pairs - 1)
	item := w.claim(ada, 1)[0]
	for range pairs {
		back, err := w.service.Undo(w.as(ada), labelling.Undoing{Effort: w.finish(item).Effort.EffortID})
		require.NoError(t, err)
		item = back.Item
	}
	require.Len(t, w.queue.mail, 1)
	found := w.truth.calls["FindOutbox"]
	require.NoError(t, labelling.NewConsumer(w.options, w.rebuild, "c").Handle(t.Context(), w.queue.mail[0]))
	assert.InDelta(t, 20, w.truth.calls["FindOutbox"]-found, 5)
	w.relayed()
	w.exact()
}
