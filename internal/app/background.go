package app

import (
	"context"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/jobs"
)

// work does what is done in the background, until the context ends and all of it has returned.
func (a *Application) work(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() {
		jobs.Run(ctx, a.Log, jobs.Job{Name: "clean up deleted notes", Every: time.Hour, Do: a.cleaning.Run})
	})
	running.Go(func() {
		jobs.Run(ctx, a.Log, jobs.Job{Name: "raise the shards of tags", Every: time.Hour, Do: a.raiseShards})
	})
	if a.Cfg.EmbeddedDynamoDB() {
		running.Go(func() {
			jobs.Run(ctx, a.Log, jobs.Job{Name: "remove expired rows", Every: time.Hour, Do: a.Stores.DB.SweepExpired})
		})
	}
	running.Go(func() {
		jobs.Run(ctx, a.Log,
			jobs.Job{Name: "tell what was left in the outbox", Every: leftEvery, Do: a.Following.Relay},
			jobs.Job{Name: "measure how late events are", Every: backlogEvery, Do: a.Following.countLate},
		)
	})
	running.Go(func() { a.Tasks.Run(ctx) })
	running.Go(func() { a.Labelling.Run(ctx, a.Log) })
	running.Wait()
}

// raiseShards has tags spread over as many shards as the settings say, should there be fewer. There are never fewer again.
func (a *Application) raiseShards(ctx context.Context) error {
	l, err := a.tags.Raise(ctx, a.Cfg.TagShards)
	if err == nil && l.Settled() && l.Shards > a.Cfg.TagShards {
		a.Log.DebugContext(ctx, "tags stay spread over more shards than TAGGIE_TAG_SHARDS says", "shards", l.Shards)
	}
	return err
}
