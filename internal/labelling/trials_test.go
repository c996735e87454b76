package labelling

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Redis that is mute takes a second or two for each attempt, which is a part of the time that somebody has waited.
func TestPatienceIncludesWhatAttemptsTake(t *testing.T) {
	for _, takes := range []time.Duration{0, 1100 * time.Millisecond, 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var failing trials
			mute := errors.New("mute")
			start, err := time.Now(), error(nil)
			for err == nil {
				time.Sleep(takes) // of the bubble's clock
				err = failing.again(t.Context(), Patience, mute)
			}
			require.ErrorIs(t, err, mute)
			assert.InDelta(t, Patience, time.Since(start), float64(2*takes+2*time.Second))
		})
	}
}

// A project that is not ready is no failure: it is waited for, and what fails afterwards has all of the time.
func TestPatienceBeginsAgainWhenAProjectIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failing trials
		mute := errors.New("mute")
		for range 25 {
			require.NoError(t, failing.again(t.Context(), Patience, mute))
		}
		for range 100 {
			require.NoError(t, failing.again(t.Context(), Patience, ErrNotReady))
		}
		for range 25 {
			require.NoError(t, failing.again(t.Context(), Patience, mute))
		}
	})
}
