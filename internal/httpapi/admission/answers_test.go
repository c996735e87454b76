package admission

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

// One caller waits for its own answers, and is told to come again; others have room until the server has none.
func TestRoomForAnswers(t *testing.T) {
	t.Parallel()
	a := NewAnswers(100<<20, 20*time.Millisecond)
	light, err := a.reserve(t.Context(), "ada", lightAnswer)
	require.NoError(t, err)
	assert.Nil(t, light)
	first, err := a.reserve(t.Context(), "ada", 1<<30)
	require.NoError(t, err)
	_, err = a.reserve(t.Context(), "ada", lightAnswer+1)
	var refused *fault.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, fault.Exhausted, refused.Kind)
	assert.Positive(t, refused.RetryAfter)
	other, err := a.reserve(t.Context(), "bob", 50<<20)
	require.NoError(t, err)
	_, err = a.reserve(t.Context(), "eve", 30<<20)
	assert.True(t, fault.Is(err, fault.Exhausted), "the server has 100 MiB: %v", err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = a.reserve(ended, "ada", 1<<20)
	assert.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	require.NoError(t, first.resize(t.Context(), 1<<20)) // it turned out to be small
	second, err := a.reserve(t.Context(), "ada", 49<<20)
	require.NoError(t, err)
	for _, u := range []*unsent{first, second, other} {
		u.sent()
		u.sent()
		u.over()
	}
	assert.Empty(t, a.callers)
	assert.True(t, a.all.TryAcquire(100<<20))
}

// Whatever becomes of a message, nobody is remembered who has no room any more.
func TestRoomForMessages(t *testing.T) {
	t.Parallel()
	a := NewAnswers(2<<20, time.Millisecond)
	m := a.Messages("ada", 1<<20)
	m.Want()
	require.NoError(t, m.Admit(t.Context()))
	sent, err := m.Next(t.Context(), 1<<10)
	require.NoError(t, err)
	m.Want()
	waiting := make(chan error)
	go func() { waiting <- m.Admit(t.Context()) }()
	sent() // the rest of its room
	require.NoError(t, <-waiting)
	sent()
	m.End()
	assert.Empty(t, a.callers, "what was admitted is not built any more")
	m.Want()
	require.ErrorIs(t, m.Admit(t.Context()), context.Canceled)
	assert.Empty(t, a.callers)

	other := a.Messages("ada", 1<<20)
	first, err := other.Next(t.Context(), 1<<20)
	require.NoError(t, err)
	_, err = other.Next(t.Context(), 1)
	assert.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, other.Admit(ended), context.Canceled)
	other.Want()
	require.Error(t, other.Admit(ended), "there is no room")
	first()
	assert.Empty(t, a.callers)
}
