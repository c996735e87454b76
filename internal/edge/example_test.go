package edge_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/edge"
)

func ExampleLimiter() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1}) // nothing listens there
	defer func() { _ = client.Close() }()
	limiter := edge.NewLimiter(edge.Redis{Client: client}, "email", 60, time.Second, time.Now)

	allowed, err := limiter.Allow(context.Background(), "ada")
	fmt.Println(allowed, err != nil) // it is for the caller to decide what that means
	// Output: false true
}

func ExampleBudget() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1}) // nothing listens there: the server keeps it itself
	defer func() { _ = client.Close() }()
	noon := func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }
	budget := edge.NewBudget(edge.Redis{Client: client}, "cost", edge.Rate{Capacity: 1000, PerSecond: 100}, noon)

	left, _ := budget.Charge(context.Background(), "ada", "operation 1", 800)
	fmt.Println(left)
	_, wait := budget.Charge(context.Background(), "ada", "operation 2", 400)
	fmt.Println(wait)
	fmt.Println(budget.Settle(context.Background(), "ada", "operation 1", 50))
	// Output:
	// 200
	// 2s
	// 950
}
