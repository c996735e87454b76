package lean

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/memory"
)

// purse gives room as long as there is some.
type purse struct{ left int }

func (p *purse) Take(_ context.Context, n int) error {
	if p.left -= n; p.left < 0 {
		return errors.New("no room")
	}
	return nil
}

// Room is asked for as an answer grows, in large steps, and nothing is written for which there is none.
func TestAnswersTakeRoomAsTheyGrow(t *testing.T) {
	room := &purse{left: 1 << 20}
	a := AnswerOf(memory.Metered(t.Context(), room))
	for range 100 {
		_, err := io.WriteString(&a, strings.Repeat("x", 1000))
		require.NoError(t, err)
	}
	assert.Equal(t, 100_000, a.Len())
	assert.InDelta(t, 1<<20-100_000, room.left, takenAtOnce)
	_, err := a.Write(make([]byte, 2<<20))
	require.NoError(t, err)
	_, err = a.WriteString("more")
	require.NoError(t, err)
	assert.Equal(t, 100_000, a.Len())
}

// What plans write takes room once, and values that are large by themselves do as well.
func TestPlansTakeRoom(t *testing.T) {
	large := &person{name: strings.Repeat("x", 100_000), friend: &person{name: "Bo"}}
	for left, whole := range map[int]bool{1 << 20: true, 150_000: false} {
		room := &purse{left: left}
		ctx, sel := selecting(t, "name", nil)
		ctx = memory.Metered(ctx, room)
		written := writePeople(ctx, new(Plans), sel, large, large)
		if !whole {
			assert.Equal(t, graphql.Null, written)
			continue
		}
		a := AnswerOf(ctx)
		written.MarshalGQL(&a)
		assert.Greater(t, a.Len(), 200_000)
		assert.Equal(t, left-a.Len(), room.left)
	}
}
