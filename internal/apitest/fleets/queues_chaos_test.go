package fleets

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fullSize makes the tests of load as large as what is promised, which takes minutes.
const fullSize = "TAGGIE_TEST_FULL"

// load is how many items how many labellers work on: at full size in `make test-long`.
func load() (items, labellers int) {
	if os.Getenv(fullSize) != "" {
		return 10_000, 100
	}
	return 1_000, 40
}

// often is after how long the next server is killed at the latest.
const often = 5 * time.Second

func TestManyLabellersFinishEveryItemOnce(t *testing.T) {
	items, labellers := load()
	f := newFastFleet(t, 3)
	c := newWorkforce(f, f.servers[0].queued(items, 200, labellers), items)
	began := time.Now()
	c.work(func(context.Context) {})
	t.Logf("%d labellers finished %d items in %s", labellers, items, time.Since(began))
	assert.Zero(t, c.lost, "nobody was too late")
	assert.Equal(t, 1, c.lives(), "nothing was lost")
	c.settle()
}

func TestWhatWasFinishedStaysFinishedWhenServersDieAndRedisIsEmptied(t *testing.T) {
	items, labellers := load()
	f := newFastFleet(t, 3)
	c := newWorkforce(f, f.servers[0].queued(items, 200, labellers), items)
	began := time.Now()
	kills, flushes := 0, 0
	c.work(func(ctx context.Context) {
		for emptied := 0; flushes < 2 || c.known() < items*3/4; kills++ {
			c.until(ctx, c.known()+items/10, often)
			require.NoError(t, ctx.Err(), "%d items are finished, Redis was emptied %d times", c.known(), flushes)
			s := f.servers[kills%len(f.servers)]
			require.Error(t, s.kill())
			// Only when there is something to lose again.
			if n := c.known(); flushes < 2 && n >= min(emptied+items/4, items) && c.lives() > flushes {
				require.Less(t, n, items, "there is something to lose")
				require.NoError(t, f.redis.FlushAll(ctx).Err())
				flushes, emptied = flushes+1, n
			}
			require.NoError(t, s.start())
		}
	})
	t.Logf("%d labellers finished %d items in %s; %d servers were killed", labellers, items, time.Since(began), kills)
	c.settle()
	assert.GreaterOrEqual(t, c.lives(), 3, "each time Redis was emptied the queue was made anew")
}

// until waits until so many items are finished, but not longer than that: servers also die while little happens.
func (c *workforce) until(ctx context.Context, finished int, longest time.Duration) {
	end := time.After(longest)
	for c.known() < finished {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}
