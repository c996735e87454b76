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
	limiter := edge.NewLimiter(client, "email", 60, time.Second, time.Now)

	allowed, err := limiter.Allow(context.Background(), "ada")
	fmt.Println(allowed, err != nil) // it is for the caller to decide what that means
	// Output: false true
}
