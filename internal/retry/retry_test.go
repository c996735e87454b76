package retry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/fault"
)

func TestTriesGoOnUntilTheDeadlineAndLeaveTimeToAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, has := range []time.Duration{800 * time.Millisecond, 20 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), has)
			began, tries := time.Now(), 0
			for n := range Until(ctx) {
				assert.Equal(t, tries, n)
				tries++
			}
			cancel()
			assert.Equal(t, has-min(has/8, time.Second), time.Since(began))
			assert.Greater(t, tries, 5)
		}
		began := time.Now()
		for range Until(t.Context()) {
		}
		assert.Equal(t, within-time.Second, time.Since(began), "without a deadline")
	})
}

func TestTheFirstTryIsMadeWhateverTheTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tries := 0
	for range Until(ctx) {
		tries++
	}
	assert.Equal(t, 1, tries)
}

func TestPausesDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		short, long := 0, 0
		for range 400 {
			began := time.Now()
			assert.True(t, Pause(t.Context(), longest))
			switch took := time.Since(began); {
			case took < longest/4:
				short++
			case took > 3*longest/4:
				long++
			}
		}
		assert.Greater(t, short, 40)
		assert.Greater(t, long, 40)
	})
}

func TestBusyMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	assert.True(t, fault.Is(Busy("this note"), fault.Unavailable))
}
