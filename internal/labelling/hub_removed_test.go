package labelling_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

// replayed returns what a subscriber is told of an item behind a cursor, up to the event of a cause.
func (s *stage) replayed(h *labelling.Hub[project.Item], after labelling.Cursor, item string, until labelling.Cause) (told []told) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.as(grace))
	defer cancel()
	c, err := h.Listen(ctx, labelling.Listen{Project: s.project, After: &after})
	require.NoError(s.t, err)
	for {
		got := next(s.t, c)
		require.NotNil(s.t, got.Event, "%+v", got)
		if got.Event.Item == item {
			told = append(told, got)
			if got.Event.Cause == until {
				return told
			}
		}
	}
}

// What was read of an item for an event is not told again after the item was removed: neither from the memory of a server, nor to somebody for
// whom it was read from Redis.
func TestAReplayDoesNotShowARemovedItem(t *testing.T) {
	onEngines(t, 4, queue.Options{}, func(t *testing.T, s *stage) {
		start := s.state().Cursor
		steady := s.listen(s.as(ada), labelling.Listen{})
		begun(t, steady)
		items := s.claim(ada, 2)
		for _, i := range items {
			next(t, steady)
			s.finish(i)
		}
		s.deliver()
		// Somebody reads from Redis, beside the server's memory, which begins later.
		slow := s.server()
		other, err := slow.Listen(s.as(boss), labelling.Listen{Project: s.project})
		require.NoError(t, err)
		begun(t, other)
		late, err := slow.Listen(s.as(grace), labelling.Listen{Project: s.project, After: &start})
		require.NoError(t, err)
		for range items { // claimed
			assert.NotEmpty(t, next(t, late).Hydrated.ID)
		}
		for range items {
			assert.NotEmpty(t, next(t, steady).Hydrated.ID)
		}

		job := s.removal(named(items[1]))
		s.ran(job)
		s.deliver()
		assert.Equal(t, labelling.Removed, next(t, steady).Event.Cause)
		assert.Equal(t, labelling.Removed, next(t, other).Event.Cause)
		shown := func(all []told) (shown []bool) {
			for _, one := range all {
				shown = append(shown, one.Hydrated.ID != "")
			}
			return shown
		}
		all := s.replayed(s.hub, start, items[1].ID, labelling.Removed)
		assert.Equal(t, []bool{false, false, false}, shown(all), "from memory")
		assert.Equal(t, []bool{true, true}, shown(s.replayed(s.hub, start, items[0].ID, labelling.Finished)), "the others are shown")
		assert.Equal(t, []bool{false, false, false}, shown(s.replayed(s.server(), start, items[1].ID, labelling.Removed)), "from Redis")
		assert.Equal(t, items[0].ID, next(t, late).Hydrated.ID)
		assert.Empty(t, next(t, late).Hydrated.ID, "read before, told now")

		s.becomes(job, project.Restoring)
		s.ran(job)
		s.deliver()
		assert.Equal(t, items[1].ID, next(t, steady).Hydrated.ID)
		assert.Equal(t, []bool{false, false, false, true}, shown(s.replayed(s.hub, start, items[1].ID, labelling.Restored)), "who wants to know reads it")
	})
}
