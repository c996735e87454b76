package signin

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/viewer"
)

// tokenAge is how long ago it may have been looked at whether a token was revoked. What an answer rests upon is never older than a minute,
// whatever is away: whether the token counts is looked at when somebody signs in, before an operation begins and before its answer, or each
// message of a subscription, is handed on. The age counts from when reading began. Up to half a minute may pass from the beginning of an
// operation until then; what waits for a client that is slow is not counted.
const tokenAge = 20 * time.Second

// Fresh looks again whether the token of a viewer still counts, if that is due. Faults: those of Again.
func (s Service) Fresh(ctx context.Context) error {
	v := viewer.From(ctx)
	if v.Anonymous() || time.Since(v.Looked) <= tokenAge {
		return nil
	}
	return s.Again(ctx, v)
}

// Again looks whether the token of a viewer, who has signed in, still counts. Faults: Unauthenticated when it does not, Unavailable when
// nobody can tell.
func (s Service) Again(ctx context.Context, v viewer.Viewer) error {
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	bounded, _ = telemetry.WithTally(bounded) // what it costs is not the operation's
	began := time.Now()
	now, err := s.SignIn(bounded, v.Identity)
	switch {
	case err == nil && v.UserID != "" && now.UserID != v.UserID: // the user was deleted, and the token is from a clock that is ahead
		return fault.New(fault.Unauthenticated, present.Revoked)
	case err == nil:
		viewer.LookedAgain(ctx, lookedAt(now, began))
		return nil
	case fault.Is(err, fault.Unauthenticated):
		return fault.Wrap(fault.Unauthenticated, err, present.Revoked)
	case ctx.Err() == nil: // else it is the client's affair
		s.Log.WarnContext(ctx, "sign-in unavailable", "error", err)
	}
	return fault.Wrap(fault.Unavailable, err, "whether the token still counts could not be found out: try again")
}

// lookedAt is since when it is known that the token of a viewer counts: at the latest since this was asked for.
func lookedAt(v viewer.Viewer, asked time.Time) time.Time {
	if v.Looked.IsZero() {
		return asked
	}
	return v.Looked
}
