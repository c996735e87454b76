package user_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/user"
)

func TestTracesAreErasedUntilAPassMeetsNone(t *testing.T) {
	t.Parallel()
	var did []string
	left := 2 // passes in which the second sweep meets something
	sweep := func(name string, met func() int) user.Sweep {
		return func(_ context.Context, id user.ID, position string) (int, string, error) {
			assert.Equal(t, user.ID("ada"), id)
			did = append(did, name+position)
			if position == "" {
				return 0, "half", nil
			}
			return met(), "", nil
		}
	}
	e := user.TraceEraser{
		Sweeps: []user.Sweep{sweep("a", func() int { return 0 }), sweep("b", func() int { left--; return max(left+1, 0) })},
		Settle: time.Minute,
		Rest: func(_ context.Context, d time.Duration) error {
			assert.Equal(t, time.Minute, d)
			did = append(did, "rest")
			return nil
		},
	}
	for position, first := "", true; first || position != ""; first = false {
		next, err := e.EraseTraces(t.Context(), "ada", position)
		require.NoError(t, err)
		position = next
	}
	pass := []string{"a", "ahalf", "b", "bhalf"}
	var want []string
	for n := range 3 {
		if n > 0 {
			want = append(want, "rest")
		}
		want = append(want, pass...)
	}
	assert.Equal(t, want, did)
}

func TestThereAreTwoPassesWhereNothingIsMet(t *testing.T) {
	t.Parallel()
	passes := 0
	e := user.TraceEraser{Rest: func(context.Context, time.Duration) error { return nil }, Sweeps: []user.Sweep{func(context.Context, user.ID, string) (int, string, error) {
		passes++
		return 0, "", nil
	}}}
	position, err := e.EraseTraces(t.Context(), "ada", "")
	require.NoError(t, err)
	end, err := e.EraseTraces(t.Context(), "ada", position)
	require.NoError(t, err)
	assert.Empty(t, end)
	assert.Equal(t, 2, passes)
	again, err := e.EraseTraces(t.Context(), "ada", position)
	require.NoError(t, err)
	assert.Empty(t, again)
}

func TestAnErasureOfTracesThatFailsStaysWhereItIs(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	e := user.TraceEraser{Sweeps: []user.Sweep{func(context.Context, user.ID, string) (int, string, error) { return 0, "", broken }}}
	_, err := e.EraseTraces(t.Context(), "ada", "")
	require.ErrorIs(t, err, broken)
	_, err = e.EraseTraces(t.Context(), "ada", "no position")
	require.Error(t, err)
}
