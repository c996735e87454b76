package dynamo

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// tick is about the shortest pause before something is tried again; the pause doubles while nothing moves.
const (
	tick    = 4 * time.Millisecond
	longest = time.Second
)

// pause waits before the next try, with jitter so that callers do not come back together: about a tick while there is
// progress (idle 0), exponentially longer while there is none. It returns false when the context ends first.
func pause(ctx context.Context, idle int) bool {
	bound := min(tick<<min(idle, 16), longest)
	timer := time.NewTimer(bound/4 + rand.N(bound))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// repeatable reports whether a call that failed with all the SDK's retries is worth another try before the deadline:
// throttling, server errors and lost connections are; wrong requests, cancelled contexts and full disks are not.
func repeatable(err error) bool {
	return !DiskFull(err) && retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}
