package user_test

import (
	"context"
	"errors"
	"fmt"
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
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	e := user.TraceEraser{
		Sweeps: []user.Sweep{sweep("a", func() int { return 0 }), sweep("b", func() int { left--; return max(left+1, 0) })},
		Settle: time.Minute, Now: func() time.Time { return now },
	}
	for position, first := "", true; first || position != ""; first = false {
		next, err := e.EraseTraces(t.Context(), "ada", position)
		if later, is := errors.AsType[*user.Later](err); is {
			did = append(did, "rest "+later.At.Sub(now).String())
			now = later.At.Add(-time.Second)
			still, early := e.EraseTraces(t.Context(), "ada", next)
			require.ErrorAs(t, early, new(*user.Later))
			assert.Equal(t, next, still, "it is too early")
			now = later.At
		} else {
			require.NoError(t, err)
		}
		position = next
	}
	pass := []string{"a", "ahalf", "b", "bhalf"}
	var want []string
	for n := range 3 {
		if n > 0 {
			want = append(want, fmt.Sprintf("rest %dm0s", n)) // 1, and twice as long
		}
		want = append(want, pass...)
	}
	assert.Equal(t, want, did)
}

func TestThereAreTwoPassesWhereNothingIsMet(t *testing.T) {
	t.Parallel()
	passes := 0
	e := user.TraceEraser{Now: time.Now, Sweeps: []user.Sweep{func(context.Context, user.ID, string) (int, string, error) {
		passes++
		return 0, "", nil
	}}}
	position, err := e.EraseTraces(t.Context(), "ada", "")
	require.ErrorAs(t, err, new(*user.Later))
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
	e := user.TraceEraser{Now: time.Now, Sweeps: []user.Sweep{func(context.Context, user.ID, string) (int, string, error) { return 0, "", broken }}}
	_, err := e.EraseTraces(t.Context(), "ada", "")
	require.ErrorIs(t, err, broken)
	_, err = e.EraseTraces(t.Context(), "ada", "no position")
	require.Error(t, err)
}

func TestPassesThatAlwaysMeetSomethingAreAnHourApartAtMost(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	e := user.TraceEraser{Settle: time.Minute, Now: func() time.Time { return now }, Sweeps: []user.Sweep{func(context.Context, user.ID, string) (int, string, error) { return 1, "", nil }}}
	var last time.Duration
	for position, passes := "", 0; passes < 20; passes++ {
		var err error
		position, err = e.EraseTraces(t.Context(), "ada", position)
		later, is := errors.AsType[*user.Later](err)
		require.True(t, is, "%v", err)
		last = later.At.Sub(now)
		require.LessOrEqual(t, last, time.Hour)
		now = later.At
	}
	assert.Equal(t, time.Hour, last)
}
