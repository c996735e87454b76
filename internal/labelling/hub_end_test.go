package labelling_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/queue"
)

func TestNothingRunsOnWhenNobodyListens(t *testing.T) {
	s := newStage(newWorld(t, 1, queue.Options{}))
	s.note(labelling.Event{})
	before := goleak.IgnoreCurrent()
	for range 2 {
		ctx, cancel := context.WithCancel(s.as(ada))
		var all []<-chan told
		for i := range 50 {
			c := s.listen(ctx, labelling.Listen{})
			if i%2 == 0 {
				begun(t, c) // the others never receive anything
			}
			all = append(all, c)
		}
		claims, err := s.hub.Claims(ctx, s.project, nil)
		require.NoError(t, err)
		online, err := s.hub.OnlineCount(ctx)
		require.NoError(t, err)
		s.note(labelling.Event{})
		s.note(labelling.Event{})
		cancel()
		for _, c := range all {
			drained(t, c)
		}
		drained(t, claims)
		drained(t, online)
		gone(t, before)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	s := newStage(newWorld(t, 1, queue.Options{}))
	s.note(labelling.Event{})
	before := goleak.IgnoreCurrent()
	var all []<-chan told
	for range 20 {
		all = append(all, s.listen(s.as(ada), labelling.Listen{}))
	}
	begun(t, all[0])
	claims, err := s.hub.Claims(s.as(ada), s.project, nil)
	require.NoError(t, err)
	online, err := s.hub.OnlineCount(s.as(ada))
	require.NoError(t, err)
	s.hub.Close()
	require.NoError(t, goleak.Find(before))
	for _, c := range all {
		over(t, c)
	}
	over(t, claims)
	over(t, online)
	for name, err := range map[string]error{
		"Listen": second(s.hub.Listen(s.as(ada), labelling.Listen{Project: s.project})),
		"Claims": second(s.hub.Claims(s.as(ada), s.project, nil)), "OnlineCount": second(s.hub.OnlineCount(s.as(ada))),
	} {
		assert.True(t, fault.Is(err, fault.Unavailable), "%s: %v", name, err)
	}
	s.hub.Close()
}

func TestAnEventIsReadOnceForAll(t *testing.T) {
	for _, n := range []int{1, 1000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			s := newStage(newWorld(t, 20, queue.Options{}))
			var all []<-chan told
			for range n {
				c := s.listen(s.as(ada), labelling.Listen{})
				begun(t, c)
				all = append(all, c)
			}
			before := s.reads()
			for range 20 {
				at := s.note(labelling.Event{Cause: labelling.Finished, User: grace, Item: "0"}).Cursor
				for _, c := range all {
					hears(t, c, at)
				}
			}
			assert.Equal(t, before+20, s.reads(), "one for each event")
			assert.EqualValues(t, 20, s.hydrated.Load())
		})
	}
}
