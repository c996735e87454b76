// Package jobs runs what runs in the background.
//
// It knows when work is due, to whom it belongs, and that it must not end the process. It must not
// know engines or the graph: the work itself is the domain's. Start reading at
// [Run] for what is done again and again, at [Tasks] for what is done once.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"
)

// Job is work that is done again and again. Any number of servers may do it at once.
type Job struct {
	Name  string
	Every time.Duration
	Do    func(context.Context) error
}

// toldAgain is how often the same error of a job is logged, when each round ends with it.
const toldAgain = time.Minute

// Run does each job at once and then in its interval, until the context ends and the work under way has returned. An error
// or a panic is logged, and the job comes again; the same one again and again is logged once a minute.
func Run(ctx context.Context, log *slog.Logger, jobs ...Job) {
	var running sync.WaitGroup
	for _, job := range jobs {
		running.Go(func() {
			told, at := "", time.Time{}
			for {
				err := attempt(ctx, job)
				switch {
				case err == nil:
					told = ""
				case ctx.Err() == nil && (err.Error() != told || time.Since(at) >= toldAgain):
					told, at = err.Error(), time.Now()
					log.ErrorContext(ctx, "background job failed; it will run again", "job", job.Name, "error", err)
				}
				// Jitter keeps servers that were started together from working at the same moments.
				timer := time.NewTimer(job.Every/2 + rand.N(job.Every))
				select {
				case <-timer.C:
				case <-ctx.Done():
					timer.Stop()
					return
				}
			}
		})
	}
	running.Wait()
}

func attempt(ctx context.Context, job Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return job.Do(ctx)
}
