package labelling_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/viewer"
)

func TestClaimsAreToldWheneverTheyChange(t *testing.T) {
	onEngines(t, 10, queue.Options{}, func(t *testing.T, s *stage) {
		c, err := s.hub.Claims(s.as(ada), s.project, nil)
		require.NoError(t, err)
		now := next(t, c)
		assert.Empty(t, now.Claims)
		assert.Equal(t, s.shown(ada), now.Project)
		// until receives until the items are those that are given: what was told on the way there may be more or less.
		until := func(want ...project.Item) {
			t.Helper()
			for {
				now = next(t, c)
				same := len(now.Claims) == len(want)
				for i := range min(len(now.Claims), len(want)) {
					same = same && now.Claims[i].Item == want[i].ItemID && now.Claims[i].Until.Equal(want[i].Claim.Until)
				}
				if same {
					return
				}
			}
		}
		s.claim(grace, 2) // is not told
		one := s.claim(ada, 1)[0]
		until(one)
		two := s.claim(ada, 1)[0]
		until(one, two)
		more, err := s.service.Extend(s.as(ada), labelling.Held{Item: one.ItemID, Token: one.Claim.Token})
		require.NoError(t, err)
		until(more, two)
		done := s.finish(more)
		s.deliver()
		until(two)
		_, err = s.service.Release(s.as(ada), labelling.Held{Item: two.ItemID, Token: two.Claim.Token})
		require.NoError(t, err)
		s.deliver()
		until()
		back, err := s.service.Undo(s.as(ada), labelling.Undoing{Effort: done.Effort.EffortID})
		require.NoError(t, err)
		s.deliver()
		until(back.Item)
		s.flush()
		s.rebuilt()
		three := s.claim(ada, 1)[0]
		until(back.Item, three)
	})
}

func TestClaimsThatCannotBeReadAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t)
		defer s.hub.Close()
		c, err := s.hub.Claims(viewer.With(t.Context(), viewer.Viewer{UserID: ada}), s.p, nil)
		require.NoError(t, err)
		assert.Empty(t, next(t, c).Claims)
		claims := []labelling.Claim{{Token: "1"}}
		s.tape.change(func() {
			s.tape.claims = claims
			tries := 3
			s.tape.fails = func(what string) error {
				if what != "Claims" || tries == 0 {
					return nil
				}
				tries--
				return errDown
			}
			s.tape.append(labelling.Event{Cause: labelling.Claimed, User: ada})
		})
		assert.Equal(t, claims, next(t, c).Claims)
		s.tape.note(labelling.Event{Cause: labelling.Claimed, User: ada}, labelling.Event{Cause: labelling.Claimed, User: grace})
		synctest.Wait()
		select {
		case now := <-c:
			assert.Fail(t, "nothing has changed", "%+v", now)
		default:
		}
		// Who does not receive is told what is so in the end, not what was on the way.
		for n := range 100 {
			s.tape.change(func() {
				s.tape.claims = []labelling.Claim{{Token: fmt.Sprint(n)}}
				s.tape.append(labelling.Event{Cause: labelling.Claimed, User: ada})
			})
			if n%10 == 0 {
				synctest.Wait()
			}
		}
		assert.Equal(t, "0", next(t, c).Claims[0].Token, "which was on its way")
		assert.Equal(t, "99", next(t, c).Claims[0].Token)
	})
}

func TestOnlineCountIsToldWhenItChanges(t *testing.T) {
	s := newStage(newWorld(t, 1, queue.Options{}))
	s.hub.Hurry(time.Minute, time.Millisecond)
	one, err := s.hub.OnlineCount(s.as(ada))
	require.NoError(t, err)
	assert.Zero(t, next(t, one))
	require.NoError(t, s.service.Heartbeat(s.as(ada), nil))
	assert.Equal(t, 1, next(t, one))
	two, err := s.hub.OnlineCount(s.as(grace))
	require.NoError(t, err)
	assert.Equal(t, 1, next(t, two))
	require.NoError(t, s.service.Heartbeat(s.as(grace), nil))
	assert.Equal(t, 2, next(t, one))
	assert.Equal(t, 2, next(t, two))
}

func TestOnlineCountIsAskedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t)
		defer s.hub.Close()
		asked := 0
		s.tape.fails = func(string) error { asked++; return nil }
		ctx, cancel := context.WithCancel(viewer.With(t.Context(), viewer.Viewer{UserID: ada}))
		var all []<-chan int
		for range 100 {
			c, err := s.hub.OnlineCount(ctx)
			require.NoError(t, err)
			assert.Zero(t, next(t, c))
			all = append(all, c)
		}
		for n := range 10 {
			s.tape.change(func() { s.tape.online = n / 2 })
			time.Sleep(time.Second)
		}
		synctest.Wait()
		s.tape.mu.Lock()
		assert.Equal(t, 11, asked)
		s.tape.mu.Unlock()
		for _, c := range all {
			assert.Equal(t, 1, next(t, c), "which was on its way")
			assert.Equal(t, 4, next(t, c), "the latest")
		}
		cancel()
		for _, c := range all {
			over(t, c)
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		assert.Equal(t, 11, asked, "nobody wants to know any more")

		s.tape.fails = func(string) error { return errDown }
		c, err := s.hub.OnlineCount(viewer.With(t.Context(), viewer.Viewer{UserID: ada}))
		require.NoError(t, err)
		time.Sleep(labelling.Patience / 2)
		s.tape.change(func() { s.tape.fails = nil })
		assert.Equal(t, 4, next(t, c), "it waited for Redis as those do who have been told a number")
		s.tape.change(func() { s.tape.fails = func(string) error { return errDown } })
		began := time.Now()
		_, open := <-c
		assert.False(t, open)
		assert.InDelta(t, 30, time.Since(began).Seconds(), 10)
	})
}
