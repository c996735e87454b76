package telemetry_test

import (
	"context"
	"fmt"

	"github.com/taggie/taggie/internal/telemetry"
)

func ExampleWithTally() {
	ctx, tally := telemetry.WithTally(context.Background())
	metrics := telemetry.NewMetrics()
	metrics.ObserveCall(ctx, &telemetry.Call{Operation: "BatchGetItem", Tables: []string{"notes"}, Keys: 100, Attempts: 2})

	spent := tally.Snapshot()
	fmt.Println(spent.Calls, "call,", spent.Keys, "keys,", spent.Retries, "retry")
	// Output: 1 call, 100 keys, 1 retry
}
