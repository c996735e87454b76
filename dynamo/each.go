package dynamo

import (
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/fault"
)

// Each does n things concurrently within the bound and returns the error of each. What panics has an error, too.
func (db *DB) Each(n int, do func(i int) error) []error {
	errs := make([]error, n)
	group := errgroup.Group{}
	group.SetLimit(db.Concurrency)
	for i := range n {
		group.Go(func() error {
			// A panic in a goroutine of our own would end the process.
			defer fault.Recovered(&errs[i])
			errs[i] = do(i)
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	return errs
}
