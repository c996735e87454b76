package queue_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/queue"
)

func ExampleQueue_Reserve() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1}) // nothing listens there
	defer func() { _ = client.Close() }()
	q := queue.New(client, queue.Options{})

	claims, err := q.Reserve(context.Background(), "p1", "ada", []string{"a random token"})
	switch {
	case errors.Is(err, labelling.ErrNotReady):
		fmt.Println("rebuild the project, then again")
	case fault.Is(err, fault.Unavailable):
		fmt.Println("later, perhaps")
	case err == nil:
		fmt.Println("store that the items are claimed:", claims)
	}
	// Output: later, perhaps
}
