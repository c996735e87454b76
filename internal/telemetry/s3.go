package telemetry

import (
	"context"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
)

// S3 returns the middleware that observes each call of an S3 client, with its retries. What is only signed for a browser is no call.
func (m *Metrics) S3() func(*middleware.Stack) error {
	observe := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		start := time.Now()
		out, metadata, err := next.HandleInitialize(ctx, in)
		attempts, _ := retry.GetAttemptResults(metadata)
		if len(attempts.Results) == 0 {
			return out, metadata, err // nothing was sent
		}
		operation, said, took := awsmiddleware.GetOperationName(ctx), outcome(err), time.Since(start)
		m.s3Calls.WithLabelValues(operation, said).Inc()
		m.s3Seconds.WithLabelValues(operation).Observe(took.Seconds())
		if parent := recorded(ctx); parent != nil {
			below(parent, operation, said, took, semconv.RPCMethod("S3/"+operation), attribute.Int("taggie.s3.retries", len(attempts.Results)-1))
		}
		return out, metadata, err
	}
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("TaggieTelemetry", observe), middleware.Before)
	}
}
