package admission

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

func TestGate(t *testing.T) {
	g := newGate(2)
	var leave []func()
	for range 2 {
		l, err := g.enter(t.Context(), "ada", 1)
		require.NoError(t, err)
		leave = append(leave, l)
	}
	_, err := g.enter(t.Context(), "grace", 1)
	require.NoError(t, err, "she has operations of her own")

	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.enter(over, "ada", 1)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	entered := make(chan func())
	var waiting sync.WaitGroup
	for range 2 * waitingPer {
		waiting.Go(func() {
			if l, err := g.enter(t.Context(), "ada", 1); assert.NoError(t, err) {
				entered <- l
			}
		})
	}
	require.Eventually(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.callers["ada"].all == 2*(1+waitingPer)
	}, 10*time.Second, time.Millisecond)
	_, err = g.enter(t.Context(), "ada", 1)
	require.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	leave[0]()
	leave[0]() // has no effect
	leave[1]()
	for range 2 * waitingPer {
		(<-entered)()
	}
	waiting.Wait()
	assert.NotContains(t, g.callers, "ada")
}
