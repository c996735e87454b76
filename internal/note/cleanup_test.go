package note

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// orders is a store of orders, two of which it lists at a time.
type orders struct {
	all    []Cleanup
	broken map[ID]bool
	asked  []time.Time // since
	tried  []ID
}

func (o *orders) ListCleanups(_ context.Context, since, due time.Time, after Cleanup) ([]Cleanup, error) {
	o.asked = append(o.asked, since)
	var list []Cleanup
	for _, c := range o.all {
		if !c.Due.After(due) && c.Note > after.Note && len(list) < 2 {
			list = append(list, c)
		}
	}
	return list, nil
}

func (o *orders) CleanUp(_ context.Context, c Cleanup, _ time.Time) error {
	o.tried = append(o.tried, c.Note)
	if o.broken[c.Note] {
		return errors.New("broken: " + string(c.Note))
	}
	return nil
}

func TestOrdersThatFailDoNotStarveTheOthers(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	o := &orders{broken: map[ID]bool{}}
	for i := range 7 {
		id := ID(fmt.Sprint(i))
		o.all = append(o.all, Cleanup{Note: id, Due: now.AddDate(0, 0, i-10)})
		o.broken[id] = i < 4
	}
	c := NewCleaning(o, func() time.Time { return now })
	err := c.Run(t.Context())
	require.ErrorContains(t, err, "4 of 7")
	require.ErrorContains(t, err, "broken: 0")
	assert.Equal(t, []ID{"0", "1", "2", "3", "4", "5", "6"}, o.tried, "each once")
	assert.Equal(t, now.AddDate(0, 0, -60), o.asked[0], "the first run looks back")

	o.broken, o.asked = map[ID]bool{"2": true}, nil
	require.Error(t, c.Run(t.Context()))
	assert.Equal(t, now.AddDate(0, 0, -10), o.asked[0], "the next one to the oldest that failed")
	o.broken, o.asked = nil, nil
	require.NoError(t, c.Run(t.Context()))
	assert.Equal(t, now.AddDate(0, 0, -8), o.asked[0])
	o.asked = nil
	require.NoError(t, c.Run(t.Context()))
	assert.Equal(t, now.AddDate(0, 0, -2), o.asked[0], "and then only to what may come late")
}

func TestCleaningEndsWithItsContext(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	o := &orders{all: []Cleanup{{Note: "1", Due: now}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := NewCleaning(o, func() time.Time { return now })
	require.ErrorIs(t, c.Run(ctx), context.Canceled)
	assert.Empty(t, o.tried)
	require.NoError(t, c.Run(t.Context()))
	assert.Equal(t, o.asked[0], o.asked[len(o.asked)-1], "what was not tried is looked for again")
}
