package note

import (
	"context"
	"errors"
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

// lookBack is how far the first run looks for orders that no server carried out: longer than any outage.
const lookBack = 400 * 24 * time.Hour

// NewCleaning returns the work over the store.
func NewCleaning(store Cleaner, now func() time.Time) *Cleaning {
	return &Cleaning{store: store, now: now, since: now().Add(-lookBack)}
}

// Run carries out all orders that are due. What fails is left for the next run.
func (c *Cleaning) Run(ctx context.Context) error {
	now := c.now().UTC()
	var failed []error
	for {
		due, err := c.store.ListCleanups(ctx, c.since, now)
		if err != nil {
			return err
		}
		for _, order := range due {
			if err := c.store.CleanUp(ctx, order, now.Add(Settle)); err != nil {
				failed = append(failed, err)
			}
		}
		if len(due) == 0 || len(failed) > 0 {
			break
		}
	}
	if len(failed) == 0 {
		c.since = now.Add(-48 * time.Hour)
	}
	return errors.Join(failed...)
}
