package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/edge"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/jobs"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

// revocations are what a server does about users whose tokens are revoked: those who sign in are looked at anew, those who
// have sockets lose them. Redis tells it at once; without it, DynamoDB tells it within some seconds.
type revocations struct {
	news    *edge.News
	Users   *user.Service
	sockets *connection.Registry
	Every   time.Duration // about how often DynamoDB is asked
}

// Run follows the revocations of all servers until the context ends.
func (r revocations) Run(ctx context.Context, log *slog.Logger) {
	jobs.Run(ctx, log,
		jobs.Job{Name: "follow revocations", Every: restartAfter, Do: lasting(func(ctx context.Context) error {
			return r.news.Follow(ctx, r.look, r.told)
		})},
		jobs.Job{Name: "look who was revoked", Every: r.Every, Do: r.read},
	)
}

// read does what [revocations.told] does for those of whom DynamoDB tells.
func (r revocations) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, user.LookEvery)
	defer cancel()
	err := r.Users.News(ctx, func(fresh []user.Revocation, all bool) error {
		if all {
			return r.look(ctx)
		}
		var errs []error
		for _, one := range fresh {
			errs = append(errs, r.told(ctx, string(one.User), one.At))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return fmt.Errorf("look who was revoked: %w", err)
	}
	return nil
}

// told closes what was opened with tokens that are revoked. Who had not signed up when it was opened may be this user now, which
// only the store can tell. They are listed before the others are closed: whoever becomes a user in between is among them.
func (r revocations) told(ctx context.Context, id string, by time.Time) error {
	r.Users.Forget(user.ID(id)) // first: who signs in at this moment has to find out
	strangers := r.sockets.Strangers()
	r.sockets.CloseUser(user.ID(id), by)
	return r.heed(ctx, strangers)
}

// look does the same for what happened while nobody told.
func (r revocations) look(ctx context.Context) error {
	r.Users.ForgetAll()
	strangers := r.sockets.Strangers()
	var errs []error
	if ids := r.sockets.Users(); len(ids) > 0 {
		var times []time.Time
		times, errs = r.Users.RevokedByID(ctx, ids)
		for i, id := range ids {
			if !times[i].IsZero() {
				r.sockets.CloseUser(id, times[i])
			}
		}
	}
	return errors.Join(errors.Join(errs...), r.heed(ctx, strangers))
}

// heed closes what those have open who signed up after they opened it, and whose tokens are revoked.
func (r revocations) heed(ctx context.Context, strangers []viewer.Identity) error {
	const atOnce = 16 // the next revocation waits for all of them
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, stranger := range strangers {
		group.Go(func() error {
			_, err := r.Users.SignIn(ctx, stranger)
			if fault.Is(err, fault.Unauthenticated) {
				r.sockets.CloseStranger(stranger)
				return nil
			}
			return err
		})
	}
	return group.Wait()
}
