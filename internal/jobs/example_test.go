package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/taggie/taggie/internal/jobs"
)

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	jobs.Run(ctx, slog.Default(), jobs.Job{Name: "greet", Every: time.Hour, Do: func(context.Context) error {
		fmt.Println("hello")
		stop() // the server shuts down
		return nil
	}})
	// Output: hello
}
