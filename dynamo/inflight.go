package dynamo

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/sync/semaphore"
)

// bounded has a client wait for a place before each attempt at a call. The bound of [DB.Each] is one of a batch; this
// one is of the process, which a flood of small batches cannot get around. An attempt waits until one has ended or its
// context does; the pause between two attempts takes nobody's place, nor does an answer that begins: to read it may have to wait for room. All places are taken until then only where DynamoDB does not answer in
// time: callers have waited for their turn before, so that who waits here in vain is told that the store is away (Unavailable).
func bounded(o *dynamodb.Options, places *semaphore.Weighted) {
	wait := middleware.FinalizeMiddlewareFunc("TaggieMaxInFlight", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, metadata middleware.Metadata, err error) {
		if err = places.Acquire(ctx, 1); err != nil {
			return out, metadata, err
		}
		free := sync.OnceFunc(func() { places.Release(1); freePlace(ctx) }) // the client may have had a bound before
		defer free()
		return next.HandleFinalize(context.WithValue(ctx, placeKey{}, free), in)
	})
	o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], func(s *middleware.Stack) error {
		return s.Finalize.Insert(wait, "Retry", middleware.After)
	})
}

type placeKey struct{}

// freePlace frees the place of an attempt below [bounded], before the end of the attempt does.
func freePlace(ctx context.Context) {
	if free, ok := ctx.Value(placeKey{}).(func()); ok {
		free()
	}
}
