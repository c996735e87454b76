package awsclient

import (
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

const (
	maxAttempts = 5
	firstDelay  = 25 * time.Millisecond // what AWS advises for DynamoDB
	longest     = time.Second
)

// newRetryer repeats what the SDK's standard retryer repeats (throttling, 5xx, lost connections), with two changes.
//
// It has no token bucket. The standard one is shared by all calls of a client: once a throttled table has emptied it,
// calls to other tables fail with "failed to get rate limit token" as well. What bounds the load here is the
// number of attempts, the caller's deadline and the bounded number of calls in flight.
//
// It waits up to 25, 50, 100 and 200 ms (full jitter) instead of up to 2, 4 and 8 s, which is longer than a query may take.
//
// Not repeated here: UnprocessedKeys and cancelled transactions, which only the caller can repeat rightly. A write
// may be carried out twice when its answer is lost; writes have to be safe to repeat.
func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxAttempts
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return rand.N(delayBound(attempt)), nil
		})
	})
}

// delayBound is the longest pause after the given attempt, counted from 1.
func delayBound(attempt int) time.Duration {
	// The exponent is bounded because AWS_MAX_ATTEMPTS may ask for many attempts.
	return min(firstDelay<<min(max(attempt-1, 0), 10), longest)
}
