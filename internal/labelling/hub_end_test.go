package labelling_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
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

// TestWhoHasLeftUnnoticedIsToldNothingMore takes memberships away without a word in Redis, as happens while Redis is away.
func TestWhoHasLeftUnnoticedIsToldNothingMore(t *testing.T) {
	s := newStage(newWorld(t, 2, queue.Options{}))
	s.hub.Doubt(100 * time.Millisecond)
	left := make(chan string, 3)
	leaves := func(who string) func() { return func() { left <- who } }
	prompt := s.listen(s.as(ada), labelling.Listen{Left: leaves("prompt")})
	begun(t, prompt)
	slow := s.listen(s.as(ada), labelling.Listen{Left: leaves("slow")})
	begun(t, slow)
	s.note(labelling.Event{})
	assert.NotNil(t, next(t, prompt).Event) // slow does not take it
	claims, err := s.hub.Claims(s.as(ada), s.project, leaves("claims"))
	require.NoError(t, err)
	next(t, claims)
	steady := s.listen(s.as(grace), labelling.Listen{})
	begun(t, steady)

	s.truth.mu.Lock()
	delete(s.truth.members, ada)
	s.truth.mu.Unlock()
	assert.Equal(t, "slow", <-left, "what nobody took meanwhile is not told any more")
	over(t, slow)
	time.Sleep(100 * time.Millisecond) // the last looks are too old now
	_, err = s.queue.Note(t.Context(), s.project, "n", labelling.Event{Cause: labelling.Claimed, User: ada})
	require.NoError(t, err)
	over(t, prompt)
	over(t, claims)
	assert.NotNil(t, next(t, steady).Event)
	assert.ElementsMatch(t, []string{"prompt", "claims"}, []string{<-left, <-left})
}

// TestAUserListensToSoManyProjects has two users who want all that there is, and a third one.
func TestAUserListensToSoManyProjects(t *testing.T) {
	s := newStage(newWorld(t, 1, queue.Options{}))
	s.hub.Bound(2)
	for _, greedy := range []project.UserID{"greedy", "greedier"} {
		var of []project.ID
		for i := range 3 {
			id := project.ID(string(greedy) + strconv.Itoa(i))
			s.truth.mu.Lock()
			s.truth.projects[id] = project.Project{ID: id, Member: project.Member{Project: id, User: greedy, Team: "t", Type: project.Taggie}}
			s.truth.mu.Unlock()
			of = append(of, id)
		}
		listen := func(p project.ID) (end func(), err error) {
			ctx, cancel := context.WithCancel(s.as(greedy))
			c, err := s.hub.Listen(ctx, labelling.Listen{Project: p})
			return func() { cancel(); drained(t, c) }, err
		}
		end, err := listen(of[0])
		require.NoError(t, err)
		for _, p := range []project.ID{of[0], of[1], of[1]} { // as many times as one likes
			_, err = listen(p)
			require.NoError(t, err)
		}
		_, err = listen(of[2])
		assert.True(t, fault.Is(err, fault.Exhausted), "%v", err)
		end()
		_, err = listen(of[2])
		assert.True(t, fault.Is(err, fault.Exhausted), "the other one is still there: %v", err)
	}
	c := s.listen(s.as(ada), labelling.Listen{})
	begun(t, c)
	hears(t, c, s.note(labelling.Event{}).Cursor)
}
