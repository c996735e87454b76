package telemetry

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// DynamoDB returns the middleware that observes each call of a DynamoDB client.
//
// It stands outside the SDK's retries and reads everything from the call's typed input and output and from the SDK's
// own record of its attempts. A response deserializer that replaces the SDK's keeps capacity and leftovers
// counted by filling ConsumedCapacity and UnprocessedKeys of the output.
func (m *Metrics) DynamoDB() func(*middleware.Stack) error {
	observe := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		start := time.Now()
		out, metadata, err := next.HandleInitialize(ctx, in)
		c := Call{Operation: awsmiddleware.GetOperationName(ctx), Took: time.Since(start), Err: err}
		c.readInput(in.Parameters)
		if err == nil {
			c.readOutput(out.Result)
		}
		c.readAttempts(metadata)
		m.ObserveCall(ctx, &c)
		return out, metadata, err
	}
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("TaggieTelemetry", observe), middleware.Before)
	}
}

// ReadAnswered observes a read that was answered at its first attempt and did not go through the client's middleware.
func (m *Metrics) ReadAnswered(ctx context.Context, operation string, in, out any, took time.Duration) {
	c := Call{Operation: operation, Attempts: 1, Took: took}
	c.readInput(in)
	c.readOutput(out)
	m.ObserveCall(ctx, &c)
}

// ReadRefused observes a first attempt past the client's middleware that failed: an attempt more of the call that the client goes on with.
func (m *Metrics) ReadRefused(ctx context.Context, operation string, in any, err error) {
	c := Call{Operation: operation}
	c.readInput(in)
	m.retries.WithLabelValues(operation).Inc()
	if throttled(err) {
		c.Throttled = 1
		m.throttles.WithLabelValues(strings.Join(c.Tables, ","), operation).Inc()
	}
	TallyFrom(ctx).again(c.Throttled)
	if span := recorded(ctx); span != nil {
		span.AddEvent("the first attempt was refused", trace.WithAttributes(semconv.DBOperationName(operation), semconv.ErrorTypeKey.String(outcome(err))))
	}
}

func (c *Call) readInput(input any) {
	switch in := input.(type) {
	case *dynamodb.GetItemInput:
		c.one(in.TableName, 1)
	case *dynamodb.PutItemInput:
		c.one(in.TableName, 1)
	case *dynamodb.UpdateItemInput:
		c.one(in.TableName, 1)
	case *dynamodb.DeleteItemInput:
		c.one(in.TableName, 1)
	case *dynamodb.QueryInput:
		c.one(in.TableName, 0)
	case *dynamodb.ScanInput:
		c.one(in.TableName, 0)
	case *dynamodb.BatchGetItemInput:
		for table, asked := range in.RequestItems {
			c.one(&table, len(asked.Keys))
		}
	case *dynamodb.BatchWriteItemInput:
		for table, writes := range in.RequestItems {
			c.one(&table, len(writes))
		}
	case *dynamodb.TransactWriteItemsInput:
		for _, action := range in.TransactItems {
			c.one(tableOf(action), 1)
		}
	case *dynamodb.TransactGetItemsInput:
		for _, action := range in.TransactItems {
			if action.Get != nil {
				c.one(action.Get.TableName, 1)
			}
		}
	}
	slices.Sort(c.Tables)
}

func (c *Call) one(table *string, keys int) {
	if name := aws.ToString(table); !slices.Contains(c.Tables, name) {
		c.Tables = append(c.Tables, name)
	}
	c.Keys += keys
}

func tableOf(action types.TransactWriteItem) *string {
	switch {
	case action.Put != nil:
		return action.Put.TableName
	case action.Update != nil:
		return action.Update.TableName
	case action.Delete != nil:
		return action.Delete.TableName
	case action.ConditionCheck != nil:
		return action.ConditionCheck.TableName
	}
	return nil
}

func (c *Call) readOutput(output any) {
	switch out := output.(type) {
	case *dynamodb.GetItemOutput:
		c.consumed(out.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		c.consumed(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		c.consumed(out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		c.consumed(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		c.consumed(out.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		c.consumed(out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		c.consumedAll(out.ConsumedCapacity)
		for _, left := range out.UnprocessedKeys {
			c.Unprocessed += len(left.Keys)
		}
	case *dynamodb.BatchWriteItemOutput:
		c.consumedAll(out.ConsumedCapacity)
		for _, left := range out.UnprocessedItems {
			c.Unprocessed += len(left)
		}
	case *dynamodb.TransactWriteItemsOutput:
		c.consumedAll(out.ConsumedCapacity)
	case *dynamodb.TransactGetItemsOutput:
		c.consumedAll(out.ConsumedCapacity)
	}
}

func (c *Call) consumed(capacity *types.ConsumedCapacity) {
	if capacity != nil {
		c.Capacity = append(c.Capacity, Consumed{aws.ToString(capacity.TableName), aws.ToFloat64(capacity.CapacityUnits)})
	}
}

func (c *Call) consumedAll(capacities []types.ConsumedCapacity) {
	for i := range capacities {
		c.consumed(&capacities[i])
	}
}

func (c *Call) readAttempts(metadata middleware.Metadata) {
	attempts, _ := retry.GetAttemptResults(metadata)
	for _, a := range attempts.Results {
		// The retry loop returns the context's bare error when it finds it ended before sending.
		if a.Err == context.Canceled || a.Err == context.DeadlineExceeded { //nolint:errorlint // only the bare error means "not sent"
			continue
		}
		c.Attempts++
		if throttled(a.Err) {
			c.Throttled++
		}
	}
}

// trace adds the span of a call.
func (c *Call) trace(ctx context.Context) {
	parent := recorded(ctx)
	if parent == nil {
		return
	}
	units := 0.0
	for _, consumed := range c.Capacity {
		units += consumed.Units
	}
	below(parent, c.Operation, outcome(c.Err), c.Took,
		semconv.DBSystemNameAWSDynamoDB, semconv.DBOperationName(c.Operation), semconv.AWSDynamoDBTableNames(c.Tables...),
		attribute.Int("taggie.dynamodb.keys", c.Keys), attribute.Float64("taggie.dynamodb.consumed_capacity", units),
		attribute.Int("taggie.dynamodb.retries", max(c.Attempts-1, 0)), attribute.Int("taggie.dynamodb.throttled", c.Throttled),
		attribute.Int("taggie.dynamodb.unprocessed", c.Unprocessed))
}
