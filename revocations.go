package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/taggie/taggie/internal/edge"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/jobs"
	"github.com/taggie/taggie/internal/user"
)

// revocations are what a server does about users whose tokens count no more: those who sign in are looked at anew, those who
// have sockets lose them.
type revocations struct {
	news    *edge.Revocations
	users   *user.Service
	sockets *httpapi.Sockets
}

// run follows the revocations of all servers until the context ends.
func (r revocations) run(ctx context.Context, log *slog.Logger) {
	jobs.Run(ctx, log, jobs.Job{Name: "follow revocations", Every: restartAfter, Do: lasting(func(ctx context.Context) error {
		return r.news.Follow(ctx, r.look, r.told)
	})})
}

// told closes what was opened with tokens that count no more.
func (r revocations) told(id string, by time.Time) {
	r.users.Forget(user.ID(id)) // first: who signs in at this moment has to find out
	r.sockets.CloseUser(user.ID(id), by)
}

// look does the same for what happened while nobody told.
func (r revocations) look(ctx context.Context) error {
	r.users.ForgetAll()
	ids := r.sockets.Users()
	if len(ids) == 0 {
		return nil
	}
	times, errs := r.users.RevokedByID(ctx, ids)
	for i, id := range ids {
		if !times[i].IsZero() {
			r.sockets.CloseUser(id, times[i])
		}
	}
	return errors.Join(errs...)
}
