package telemetry

import (
	"context"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
)

// S3 returns the middleware that observes each call of an S3 client, with its retries. What is only signed for a browser is no call.
func (m *Metrics) S3() func(*middleware.Stack) error {
	observe := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		start := time.Now()
		out, metadata, err := next.HandleInitialize(ctx, in)
		if attempts, _ := retry.GetAttemptResults(metadata); len(attempts.Results) == 0 {
			return out, metadata, err // nothing was sent
		}
		operation := awsmiddleware.GetOperationName(ctx)
		m.s3Calls.WithLabelValues(operation, outcome(err)).Inc()
		m.s3Seconds.WithLabelValues(operation).Observe(time.Since(start).Seconds())
		return out, metadata, err
	}
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("TaggieTelemetry", observe), middleware.Before)
	}
}
