package labelling_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

func TestListenBeginsWithASnapshotAndGoesOn(t *testing.T) {
	onEngines(t, 10, queue.Options{}, func(t *testing.T, s *stage) {
		items := s.claim(ada, 2)
		c := s.listen(s.as(ada), labelling.Listen{Statistics: true})
		snapshot := begun(t, c)
		assert.Equal(t, s.state(), snapshot.State)
		assert.Len(t, snapshot.Claims, 2)
		require.Len(t, snapshot.Statistics, 3, "of all teams")
		assert.Equal(t, "t0", snapshot.Statistics[0].Team)

		s.finish(items[0])
		s.deliver()
		got := hears(t, c, s.state().Cursor)
		assert.Equal(t, labelling.Finished, got.Event.Cause)
		assert.Equal(t, labelling.Counts{Total: 10, New: 8, Claimed: 1, Finished: 1}, got.Event.Counts)
		assert.Equal(t, project.Finished, got.Hydrated.Status, "the item as it is")
		assert.Equal(t, s.shown(ada), got.Project)

		_, err := s.service.Pause(s.as(boss), labelling.Managed{Project: s.project})
		require.NoError(t, err)
		assert.Equal(t, labelling.Paused, hears(t, c, s.state().Cursor).Event.Cause)
	})
}

func TestListenGoesOnAfterACursor(t *testing.T) {
	onEngines(t, 1, queue.Options{}, func(t *testing.T, s *stage) {
		steady := s.listen(s.as(grace), labelling.Listen{})
		start := begun(t, steady).State.Cursor
		var events []labelling.Event
		for range 250 {
			events = append(events, s.note(labelling.Event{}))
			hears(t, steady, events[len(events)-1].Cursor)
		}
		after := func(h *labelling.Hub[project.Item], from labelling.Cursor, want []labelling.Event) {
			t.Helper()
			ctx, cancel := context.WithCancel(s.as(ada))
			c, err := h.Listen(ctx, labelling.Listen{Project: s.project, After: &from})
			require.NoError(t, err)
			for _, e := range want {
				hears(t, c, e.Cursor)
			}
			cancel()
			over(t, c)
		}
		hydrated := s.hydrated.Load()
		after(s.hub, start, events)
		after(s.hub, events[0].Cursor, events[1:])
		after(s.hub, events[248].Cursor, events[249:])
		assert.Equal(t, hydrated, s.hydrated.Load(), "what is in the ring is not read again")

		// Another server begins in the past, and replays what was before.
		other := s.server()
		ctx, cancel := context.WithCancel(s.as(grace))
		c, err := other.Listen(ctx, labelling.Listen{Project: s.project, After: &events[199].Cursor})
		require.NoError(t, err)
		for _, e := range events[200:] {
			hears(t, c, e.Cursor)
		}
		assert.Equal(t, hydrated+50, s.hydrated.Load())
		after(other, events[220].Cursor, events[221:])
		assert.Equal(t, hydrated+50, s.hydrated.Load(), "it was read for both")
		after(other, events[49].Cursor, events[50:])
		assert.Equal(t, hydrated+250, s.hydrated.Load(), "two batches, of which the second meets the ring")
		more := s.note(labelling.Event{})
		hears(t, c, more.Cursor)
		hears(t, steady, more.Cursor)
		cancel()
		over(t, c)
	})
}

func TestListenHearsWhatWasAskedFor(t *testing.T) {
	s := newStage(newWorld(t, 1, queue.Options{}))
	all := s.listen(s.as(ada), labelling.Listen{})
	types := s.listen(s.as(ada), labelling.Listen{Types: []labelling.Cause{labelling.Paused, labelling.Imported}})
	mine := s.listen(s.as(ada), labelling.Listen{Mine: true})
	both := s.listen(s.as(ada), labelling.Listen{Mine: true, Types: []labelling.Cause{labelling.Reviewed}})
	for _, c := range []<-chan told{all, types, mine, both} {
		begun(t, c)
	}
	for _, n := range []struct {
		event labelling.Event
		heard []<-chan told
	}{
		{labelling.Event{Cause: labelling.Paused, User: boss}, []<-chan told{all, types}},
		{labelling.Event{Cause: labelling.Finished, User: grace}, []<-chan told{all}},
		{labelling.Event{Cause: labelling.Finished, User: ada}, []<-chan told{all, mine}},
		{labelling.Event{Cause: labelling.Reviewed, User: rev, Author: grace}, []<-chan told{all}},
		{labelling.Event{Cause: labelling.Reviewed, User: rev, Author: ada}, []<-chan told{all, mine, both}},
		{labelling.Event{Cause: labelling.Members, User: grace}, []<-chan told{all}},
		{labelling.Event{Cause: labelling.GuidelinesChanged, User: boss}, []<-chan told{all}},
		{labelling.Event{Cause: labelling.Imported, User: ada}, []<-chan told{all, mine, types}},
		{labelling.Event{Cause: labelling.Reviewed, User: ada, Author: grace}, []<-chan told{all, mine, both}},
	} {
		at := s.note(n.event)
		for _, c := range n.heard {
			hears(t, c, at.Cursor)
		}
	}
	s.flush()
	s.rebuilt()
	for _, c := range []<-chan told{all, types, mine, both} {
		gap(t, c)
	}
}

func TestListenSaysThatEventsWereMissed(t *testing.T) {
	onEngines(t, 1, queue.Options{MaxEvents: 100}, func(t *testing.T, s *stage) {
		start := s.state().Cursor
		for range 500 {
			s.note(labelling.Event{})
		}
		last := s.state().Cursor
		steady := s.listen(s.as(grace), labelling.Listen{})
		begun(t, steady)
		for name, cursor := range map[string]labelling.Cursor{
			"trimmed": start, "empty": {}, "another epoch": {Epoch: "x", ID: last.ID}, "the future": {Epoch: last.Epoch, ID: "99999999999999-0"},
			"no id": {Epoch: last.Epoch, ID: "x"}, "half an id": {Epoch: last.Epoch, ID: "1"}, "the past": {Epoch: last.Epoch, ID: "1-1"},
		} {
			ctx, cancel := context.WithCancel(s.as(ada))
			c := s.listen(ctx, labelling.Listen{After: &cursor})
			assert.Equal(t, s.state().Cursor, gap(t, c).State.Cursor, name)
			hears(t, c, s.note(labelling.Event{}).Cursor)
			cancel()
			over(t, c)
		}
	})
}

func TestWhoIsTooSlowIsToldSo(t *testing.T) {
	s := newStage(newWorld(t, 1, queue.Options{}))
	slow := s.listen(s.as(ada), labelling.Listen{})
	begun(t, slow)
	fast := s.listen(s.as(grace), labelling.Listen{})
	begun(t, fast)
	pending := s.note(labelling.Event{})
	hears(t, fast, pending.Cursor)
	for n := range labelling.RingSize + 10 {
		_, err := s.queue.Note(t.Context(), s.project, strconv.Itoa(n), labelling.Event{Cause: labelling.Resized})
		require.NoError(t, err)
		require.NotNil(t, next(t, fast).Event)
	}
	hears(t, slow, pending.Cursor) // which was on its way
	assert.Equal(t, s.state().Cursor, gap(t, slow).State.Cursor)
	hears(t, slow, s.note(labelling.Event{}).Cursor)
}

func TestListenSurvivesTheLossOfRedis(t *testing.T) {
	onEngines(t, 5, queue.Options{}, func(t *testing.T, s *stage) {
		var listeners []<-chan told
		for _, u := range []project.UserID{ada, grace} {
			c := s.listen(s.as(u), labelling.Listen{})
			begun(t, c)
			listeners = append(listeners, c)
		}
		ctx, stop := context.WithCancel(t.Context())
		rebuilt := make(chan error)
		defer func() {
			stop()
			require.NoError(t, <-rebuilt)
		}()
		go func() { rebuilt <- s.rebuild.Run(ctx) }()
		for name, lose := range map[string]func(){
			"flushed": s.flush,
			"deleted": func() {
				keys, err := s.client.Keys(t.Context(), "*"+string(s.project)+"*").Result()
				require.NoError(t, err)
				require.NoError(t, s.client.Del(t.Context(), keys...).Err())
			},
			"rebuilt": s.world.rebuilt,
		} {
			before := s.state().Cursor
			lose()
			for _, c := range listeners {
				snapshot := gap(t, c)
				assert.NotEqual(t, before.Epoch, snapshot.State.Cursor.Epoch, name)
				assert.Equal(t, 5, snapshot.State.Counts.New)
			}
			// Who was away meanwhile is told the same.
			c := s.listen(s.as(rev), labelling.Listen{After: &before})
			gap(t, c)
			at := s.note(labelling.Event{})
			for _, c := range append(listeners, c) {
				hears(t, c, at.Cursor)
			}
		}
	})
}

func TestWhoMovesGoesOnAndWhoLeavesDoesNot(t *testing.T) {
	s := newStage(newWorld(t, 1, queue.Options{}))
	moved := func(u project.UserID, team string) labelling.Cursor {
		s.service.Moved(t.Context(), s.project, uuid.NewString(), u, team)
		return s.state().Cursor
	}
	start := s.state().Cursor
	var adas, others []<-chan told
	for range 3 {
		adas = append(adas, s.listen(s.as(ada), labelling.Listen{}))
	}
	for _, u := range []project.UserID{grace, rev, boss} {
		others = append(others, s.listen(s.as(u), labelling.Listen{}))
	}
	var left atomic.Int64
	deaf := s.listen(s.as(ada), labelling.Listen{Types: []labelling.Cause{labelling.Finished}, Left: func() { left.Add(1) }})
	for _, c := range append(append([]<-chan told{deaf}, adas...), others...) {
		begun(t, c)
	}
	claims, err := s.hub.Claims(s.as(ada), s.project, func() { left.Add(1) })
	require.NoError(t, err)
	next(t, claims)

	at := moved(ada, "t0") // says what is so already
	for _, c := range append(adas, others...) {
		hears(t, c, at)
	}
	s.truth.mu.Lock()
	s.join(ada, 1)
	s.truth.mu.Unlock()
	at = moved(ada, "t1")
	for _, c := range adas {
		got := hears(t, c, at)
		assert.Equal(t, ada, got.Event.User)
		assert.Equal(t, project.Reviewer, got.Project.Member.Type, "as what she is now")
	}
	for _, c := range others {
		hears(t, c, at)
	}

	// She comes back as what she is now, and does not stumble over the past.
	again := s.listen(s.as(ada), labelling.Listen{After: &start})
	assert.Equal(t, "t0", next(t, again).Event.Team)
	assert.Equal(t, project.Reviewer, hears(t, again, at).Project.Member.Type)
	assert.Zero(t, left.Load())

	s.truth.mu.Lock()
	delete(s.truth.members, ada)
	s.truth.mu.Unlock()
	at = moved(ada, "")
	for _, c := range append(adas, again, deaf) { // also who asked for other events is told why it ends
		hears(t, c, at)
		over(t, c)
	}
	over(t, claims)
	assert.EqualValues(t, 2, left.Load(), "nothing more follows")
	later := s.note(labelling.Event{}).Cursor
	for _, c := range others {
		hears(t, c, at)
		hears(t, c, later)
	}
	_, err = s.hub.Listen(s.as(ada), labelling.Listen{Project: s.project, After: &at})
	assert.True(t, fault.Is(err, fault.NotFound))
	for _, u := range []project.UserID{"stranger", ""} {
		_, err = s.hub.Listen(s.as(u), labelling.Listen{Project: s.project})
		assert.True(t, fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated), err)
		_, err = s.hub.Claims(s.as(u), s.project, nil)
		assert.Error(t, err)
	}
	_, err = s.hub.Listen(s.as(ada), labelling.Listen{Project: "unknown"})
	assert.True(t, fault.Is(err, fault.NotFound))
	_, err = s.hub.OnlineCount(s.as(""))
	assert.True(t, fault.Is(err, fault.Unauthenticated))

	// The event that says so may be lost.
	s.truth.mu.Lock()
	delete(s.truth.members, grace)
	s.truth.mu.Unlock()
	s.flush()
	s.rebuilt()
	assert.True(t, next(t, others[0]).Gap)
	over(t, others[0])
	gap(t, others[1])
}
