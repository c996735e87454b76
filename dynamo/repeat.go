package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/taggie/taggie/internal/retry"
)

// tick is about how long the first pause is before something is tried again; the pause doubles while nothing moves.
const (
	tick    = 4 * time.Millisecond
	longest = time.Second
)

// pause waits before the next try, with jitter so that callers do not come back together: about a tick while there is
// progress (idle 0), exponentially longer while there is none. It returns false when the context ends first.
func pause(ctx context.Context, idle int) bool {
	return retry.Pause(ctx, min(2*tick<<min(idle, 16), longest))
}

// Repeatable reports whether a call that failed with all the SDK's retries is worth another try before the deadline:
// throttling, server errors and lost connections are; wrong requests, cancelled contexts and full disks are not.
func Repeatable(err error) bool {
	return !DiskFull(err) && awsretry.IsErrorRetryables(awsretry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

// Lookups bounds how often a note that moves while it is read is looked for: once, and three times more with the locator
// read again.
const Lookups = 4
