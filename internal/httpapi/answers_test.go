package httpapi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

// One caller waits for its own answers, and is told to come again; others have room until the server has none.
func TestRoomForAnswers(t *testing.T) {
	t.Parallel()
	a := newAnswers(100<<20, 20*time.Millisecond)
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

// What was written is charged, by its bytes when these say more than its values.
func TestLargeAnswersCostTheirBytes(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 3_500, spentOn([]byte(`"`+strings.Repeat("x", 349_998)+`"`)))
	a := &account{charge: 100, used: 100}
	a.uses(620_000)
	assert.Equal(t, 620_000, a.used)
}
