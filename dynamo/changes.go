package dynamo

import (
	"context"
	"errors"
	"time"
)

// ErrMoved says that somebody else changed the relationships since they were read.
var ErrMoved = errors.New("the relationships were changed by somebody else")

// Moved is [ErrMoved] for an action whose condition fails.
func Moved(Attrs) error { return ErrMoved }

// Detached bounds what is done although the request may be over: to leave no half state to others. It has as long as a call, or
// half the time that the caller still has, if that is more.
func Detached(ctx context.Context) (context.Context, context.CancelFunc) {
	bound := CallWithin
	if deadline, ok := ctx.Deadline(); ok {
		bound = max(bound, time.Until(deadline)/2)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), bound)
}

// UnlessMoved leaves out that somebody else has done the same meanwhile.
func UnlessMoved(err error) error {
	if errors.Is(err, ErrMoved) {
		return nil
	}
	return err
}

// Quiet is for how long a change that is under way shows no transaction before it is taken back. Its server is lost then, or so slow
// that it has to begin anew, which it does by itself: it cannot do any harm, as its token does not fit any more.
const Quiet = time.Second

// maxPrepared is how many actions of a change go into one transaction; see [DB].Prepared.
const maxPrepared = 90

// ErrDone says that a condition failed because the same change was made by an attempt whose answer was lost.
var ErrDone = errors.New("the change was made before")
