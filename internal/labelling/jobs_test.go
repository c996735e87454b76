package labelling_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

func TestClaimersNeverShareAnItem(t *testing.T) {
	const claimers, items = 50, 400
	w := newWorld(t, items, queue.Options{})
	w.resize(40)
	for i := range claimers {
		w.join(project.UserID(fmt.Sprint("u", i)), 0)
	}
	// Three servers, each of which fills the queue for itself.
	services := make([]*labelling.Service, 3)
	for i := range services {
		services[i] = labelling.NewService(w.options, labelling.NewPopulate(w.options, w.rebuild), w.rebuild)
	}
	ctx, stop := context.WithCancel(t.Context())
	var consuming sync.WaitGroup
	consuming.Go(func() { w.queue.Consume(ctx, "c", w.consumer.Handle) })
	var mu sync.Mutex
	finished := map[string]int{}
	var all sync.WaitGroup
	for n := range claimers {
		all.Go(func() {
			user := project.UserID(fmt.Sprint("u", n))
			for empty := 0; empty < 5; {
				got, err := services[n%3].Claim(w.as(user), labelling.ClaimItems{Project: w.project, Count: 3})
				if !assert.NoError(t, err) {
					return
				}
				if len(got) == 0 {
					empty++
				}
				for _, i := range got {
					_, err := services[(n+1)%3].Finish(w.as(user), w.finishing(i))
					assert.NoError(t, err)
					mu.Lock()
					finished[i.ID]++
					mu.Unlock()
				}
				w.queue.mu.Lock()
				mail := w.queue.mail
				w.queue.mail = nil
				w.queue.mu.Unlock()
				for _, m := range mail {
					assert.NoError(t, w.queue.Queue.Publish(t.Context(), m))
				}
				s, err := w.queue.State(t.Context(), w.project)
				assert.NoError(t, err)
				assert.Equal(t, s.Counts.Total, s.Counts.New+s.Counts.Claimed+s.Counts.Finished+s.Counts.Skipped, "in every sample")
				assert.LessOrEqual(t, s.Queued, 40)
			}
		})
	}
	all.Wait()
	assert.Len(t, finished, items)
	for id, n := range finished {
		assert.Equal(t, 1, n, id)
	}
	assert.Len(t, w.truth.efforts, items)
	require.Eventually(t, func() bool {
		waiting, err := w.truth.ListOutbox(t.Context(), w.now(), 1)
		return err == nil && len(waiting) == 0
	}, 10*time.Second, 10*time.Millisecond)
	stop()
	consuming.Wait()
	w.exact()
}

func TestAnythingMayBeLost(t *testing.T) {
	for name, lose := range map[string]func(w *world, item project.Item){
		"the message": func(w *world, item project.Item) {
			w.finish(item)
			w.queue.mail = nil
			w.relayed()
		},
		"the answer to the move, and the message": func(w *world, item project.Item) {
			w.truth.setAfter(func(what string) error {
				if what == "MoveItem" {
					return errLost
				}
				return nil
			})
			_, err := w.service.Finish(w.as(ada), w.finishing(item))
			require.Error(w.t, err)
			w.truth.setAfter(nil)
			w.relayed()
		},
		"the answer to the queue's following": func(w *world, item project.Item) {
			w.finish(item)
			_, err := w.queue.Queue.Apply(w.t.Context(), body(w.t, w.queue.mail[0]))
			require.NoError(w.t, err)
			w.deliver()
		},
		"who deletes it from the outbox": func(w *world, item project.Item) {
			w.finish(item)
			w.truth.setBefore(func(what string) error {
				if what == "DeleteOutbox" {
					return errLost
				}
				return nil
			})
			m := w.queue.mail[0]
			require.Error(w.t, w.consumer.Handle(w.t.Context(), m))
			w.truth.setBefore(nil)
			require.NoError(w.t, w.consumer.Handle(w.t.Context(), m))
			require.NoError(w.t, w.consumer.Handle(w.t.Context(), m), "and once more")
			w.queue.mail = nil
		},
		"what Redis remembered, but not a message": func(w *world, item project.Item) {
			w.finish(item)
			m := w.queue.mail[0]
			w.deliver()
			w.flush()
			w.rebuilt()
			require.NoError(w.t, w.consumer.Handle(w.t.Context(), m))
		},
		"everything in Redis": func(w *world, item project.Item) {
			w.finish(item)
			w.flush()
			w.rebuilt()
			w.exact()
			w.relayed()
		},
		"everything in Redis, while transitions are on their way": func(w *world, item project.Item) {
			done := w.finish(item)
			mail := w.queue.mail
			w.flush()
			w.rebuilt()
			_, err := w.service.Undo(w.as(ada), labelling.Undoing{Effort: done.Effort.EffortID})
			require.NoError(w.t, err)
			for _, m := range append(w.queue.mail, mail...) { // the wrong way round
				require.NoError(w.t, w.consumer.Handle(w.t.Context(), m))
			}
			w.queue.mail = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3, queue.Options{})
			lose(w, w.claim(ada, 1)[0])
			w.relayed()
			w.exact()
			w.flush()
			w.rebuilt()
			w.exact()
		})
	}
}

func TestAcknowledgementsMayBeLost(t *testing.T) {
	for name, reserved := range map[string]time.Duration{"and the reservation is over": time.Millisecond, "and the truth is looked through": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3, queue.Options{Reservation: reserved})
			w.queue.fails = func(what string) error {
				if what == "Apply" {
					return errLost
				}
				return nil
			}
			item := w.claim(ada, 1)[0]
			w.queue.fails = nil
			assert.Equal(t, 0, w.state().Counts.Claimed)
			assert.Eventually(t, func() bool {
				at, err := w.queue.Now(t.Context())
				require.NoError(t, err)
				require.NoError(t, labelling.NewReaper(w.options, w.rebuild).Reap(t.Context(), w.project, at.Add(labelling.Reservation+time.Second)))
				return w.state().Counts.Claimed == 1
			}, 5*time.Second, time.Millisecond)
			w.exact()
			w.finish(item)
			w.deliver()
			w.exact()
		})
	}
}

func TestAClaimThatTheQueueForgotIsToldAgain(t *testing.T) {
	w := newWorld(t, 3, queue.Options{})
	w.claim(ada, 1)
	claims, err := w.queue.Claims(t.Context(), w.project, ada)
	require.NoError(t, err)
	gone, err := w.queue.Cancel(t.Context(), claims[0], true)
	require.NoError(t, err)
	require.True(t, gone)
	require.NoError(t, w.reaper.Reap(t.Context(), w.project, w.now().Add(labelling.Reservation+time.Second)))
	w.exact()
}

func TestNothingIsPassedOver(t *testing.T) {
	w := newWorld(t, 0, queue.Options{})
	n := 0
	w.resize(10)
	for i := 0; n < 300; i++ { // all in one shard
		if id := project.ItemIDOf(w.project, strconv.Itoa(i)); shard(id.ID) == 7 {
			w.truth.items[id.ID] = project.Item{ItemID: id, Status: project.New, Seq: fmt.Sprintf("%08d", n), Version: 1, UpdatedAt: time.Now().UTC()}
			n++
		}
	}
	_, err := w.queue.AddItems(t.Context(), w.project, "import", n, boss)
	require.NoError(t, err)
	for next := 0; next < n; {
		require.NoError(t, w.populate.Run(t.Context()))
		items := w.claim(ada, 10)
		require.NotEmpty(t, items)
		for _, i := range items {
			require.Equal(t, fmt.Sprintf("%08d", next), i.Seq, "in the order of the import")
			next++
			w.finish(i)
		}
		w.deliver()
	}
}

func TestReservationsThatCameToNothingGoBack(t *testing.T) {
	w := newWorld(t, 3, queue.Options{Reservation: time.Millisecond})
	w.truth.setBefore(func(what string) error {
		if what == "MoveItem" {
			return errLost
		}
		return nil
	})
	_, err := w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 3})
	require.ErrorIs(t, err, errLost)
	w.truth.setBefore(nil)
	assert.Equal(t, 0, w.state().Queued)
	assert.Eventually(t, func() bool {
		require.NoError(t, w.reaper.Run(t.Context()))
		return w.state().Queued == 3
	}, 5*time.Second, time.Millisecond)
	w.exact()
	assert.Len(t, w.claim(grace, 3), 3)
}

func TestReaper(t *testing.T) {
	w := newWorld(t, 4, queue.Options{})
	items := w.claim(ada, 3)
	w.finish(items[0]) // the queue does not hear of it yet
	require.NoError(t, w.reaper.Run(t.Context()))
	assert.Equal(t, project.Claimed, w.truth.items[items[1].ID].Status, "it is not over")
	// In the queue all three end now; in the truth one of them was extended since.
	for _, i := range items {
		c := labelling.Claim{Item: i.ItemID, User: ada, Token: i.Claim.Token, Since: i.Claim.Since, Until: time.Now().Add(-time.Second)}
		known, err := w.queue.Extend(t.Context(), c, "t0")
		require.NoError(t, err)
		require.True(t, known)
	}
	over := w.truth.items[items[1].ID]
	over.Claim.Until = time.Now().Add(-time.Second)
	w.truth.items[over.ID] = over
	require.NoError(t, w.reaper.Run(t.Context()))
	assert.Equal(t, project.New, w.truth.items[items[1].ID].Status)
	assert.Equal(t, project.Claimed, w.truth.items[items[2].ID].Status)
	w.deliver()
	w.exact()
	lapsed, err := w.queue.Expired(t.Context(), w.project, 10)
	require.NoError(t, err)
	assert.Empty(t, lapsed)
	assert.Equal(t, 2, w.state().Queued)
}

func TestReaperFindsClaimsOfThePastInTheTruth(t *testing.T) {
	w := newWorld(t, 4, queue.Options{})
	w.claim(ada, 2)
	w.flush()
	w.rebuilt()
	w.exact()
	w.expire()
	w.deliver()
	w.exact()
	assert.Equal(t, 4, w.state().Counts.New)
}

func TestConsumerDoesNotFollowWhatIsNotTrue(t *testing.T) {
	w := newWorld(t, 1, queue.Options{})
	done := w.finish(w.claim(ada, 1)[0])
	tr := body(t, w.queue.mail[0])
	for name, change := range map[string]func(*labelling.Transition){
		"version": func(tr *labelling.Transition) { tr.Version++ },
		"status":  func(tr *labelling.Transition) { tr.Status = project.Skipped },
		"user":    func(tr *labelling.Transition) { tr.User = grace },
	} {
		forged := tr
		change(&forged)
		m := labelling.Message{ID: forged.ID, Project: w.project, Item: done.Item.ID, Body: encoded(t, forged)}
		require.ErrorIs(t, w.consumer.Handle(t.Context(), m), labelling.ErrUntrue, name)
	}
	require.Error(t, w.consumer.Handle(t.Context(), labelling.Message{Body: []byte("{")}))
	w.deliver()
	w.exact()
}

func TestRelayBacksOff(t *testing.T) {
	w := newWorld(t, 1, queue.Options{})
	w.finish(w.claim(ada, 1)[0])
	w.queue.mail = nil
	var times []int
	for second := range 100 {
		w.later(time.Second)
		require.NoError(t, w.relay.Run(t.Context()))
		if len(w.queue.mail) > len(times) {
			times = append(times, second)
		}
	}
	assert.Len(t, times, 7, "after 1.5, 3, 6, 12, 24, 48 and 96 seconds, about: %v", times)
	w.deliver()
	w.exact()
}

func encoded(t *testing.T, tr labelling.Transition) []byte {
	t.Helper()
	b, err := json.Marshal(tr)
	require.NoError(t, err)
	return b
}
