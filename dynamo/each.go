package dynamo

import (
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/fault"
)

// Each does n things concurrently within the bound and returns the error of each. What panics has an error, too.
func (db *DB) Each(n int, do func(i int) error) []error {
	errs := make([]error, n)
	one := func(i int) {
		// A panic in a goroutine of our own would end the process.
		defer fault.Recovered(&errs[i])
		errs[i] = do(i)
	}
	if n == 1 { // a goroutine would have to grow a stack of its own
		one(0)
		return errs
	}
	group := errgroup.Group{}
	group.SetLimit(db.Concurrency)
	for i := range n {
		group.Go(func() error {
			one(i)
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	return errs
}
