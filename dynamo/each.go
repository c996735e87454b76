package dynamo

import "golang.org/x/sync/errgroup"

// each does n things concurrently within the bound. A panic in one of them is returned as an error.
func (db *DB) each(n int, do func(i int)) error {
	group := errgroup.Group{}
	group.SetLimit(db.concurrency)
	for i := range n {
		group.Go(func() (err error) {
			defer recovered(&err)
			do(i)
			return nil
		})
	}
	return group.Wait()
}
