package note

import (
	"context"
	"fmt"
	"time"
)

// Cleaning is the background work that removes what deleted notes left behind.
type Cleaning struct {
	store Cleaner
	now   func() time.Time
	since time.Time // days before this one are known to be clean
}

// Settle is how long after the first clean-up of a note the second one comes: an index lags seconds, not hours.
const Settle = time.Hour

// lookBack is how far the first run of a process looks for orders that no server carried out. Those that are left behind
// longer, because no server ran for two months, stay; they take space and nothing else.
const lookBack = 60 * 24 * time.Hour

// lateOrders is how far later runs look back: clocks of servers differ, and an order may be written across midnight.
const lateOrders = 48 * time.Hour

// NewCleaning returns the work over the store.
func NewCleaning(store Cleaner, now func() time.Time) *Cleaning {
	return &Cleaning{store: store, now: now, since: now().Add(-lookBack)}
}

// Run carries out all orders that are due. One that fails does not keep the others waiting; it is left for the next run.
func (c *Cleaning) Run(ctx context.Context) error {
	now := c.now().UTC()
	since := now.Add(-lateOrders)
	var first error
	var last Cleanup
	tried, failed := 0, 0
	for {
		due, err := c.store.ListCleanups(ctx, c.since, now, last)
		if err != nil {
			return err
		}
		if len(due) == 0 {
			break
		}
		for _, order := range due {
			if err := ctx.Err(); err != nil {
				return err
			}
			tried++
			if err := c.store.CleanUp(ctx, order, now.Add(Settle)); err != nil {
				if failed++; failed == 1 {
					first = err
				}
				if order.Due.Before(since) {
					since = order.Due
				}
			}
		}
		last = due[len(due)-1]
	}
	c.since = since
	if first != nil {
		return fmt.Errorf("%d of %d deleted notes could not be cleaned up, the first: %w", failed, tried, first)
	}
	return nil
}
