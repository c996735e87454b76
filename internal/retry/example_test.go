package retry_test

import (
	"context"
	"fmt"

	"github.com/taggie/taggie/internal/retry"
)

func ExampleUntil() {
	for n := range retry.Until(context.Background()) {
		if n == 2 { // nobody was faster this time
			fmt.Println("done")
			break
		}
	}
	// Output: done
}
