package httpapi

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/viewer"
)

// What an answer rests upon is never older than a minute, whatever is away: whether the token counts is looked at when somebody signs in,
// before an operation begins and before its answer, or each message of a subscription, is handed on. The age counts from when reading began.
// Up to half a minute may pass from the beginning of an operation until then; what waits for a client that is slow is not counted.
const (
	// tokenAge is how long ago it may have been looked at whether a token was revoked.
	tokenAge = 20 * time.Second
	// messageAge is how long ago that may have been read which says that the viewer may have a message of a subscription.
	messageAge = 50 * time.Second
)

// fresh looks again whether the token of a viewer still counts, if that is due. Faults: those of again.
func (o Options) fresh(ctx context.Context) error {
	v := viewer.From(ctx)
	if v.Anonymous() || time.Since(v.Looked) <= tokenAge {
		return nil
	}
	return o.again(ctx, v)
}

// again looks whether the token of a viewer, who has signed in, still counts. Faults: Unauthenticated when it does not, Unavailable when
// nobody can tell.
func (o Options) again(ctx context.Context, v viewer.Viewer) error {
	bounded, cancel := context.WithTimeout(ctx, o.OperationTimeout)
	defer cancel()
	bounded, _ = telemetry.WithTally(bounded) // what it costs is not the operation's
	began := time.Now()
	now, err := o.SignIn(bounded, v.Identity)
	switch {
	case err == nil:
		viewer.LookedAgain(ctx, lookedAt(now, began))
		return nil
	case fault.Is(err, fault.Unauthenticated):
		return fault.Wrap(fault.Unauthenticated, err, present.Revoked)
	case ctx.Err() == nil: // else it is the client's affair
		o.Log.WarnContext(ctx, "sign-in unavailable", "error", err)
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

// withhold takes the data out of a response that its caller may not have any more.
func withhold(ctx context.Context, resp *graphql.Response, err error) {
	resp.Data, resp.Errors = []byte("null"), gqlerror.List{present.Error(ctx, err)}
}
