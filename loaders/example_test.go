package loaders

import (
	"context"
	"fmt"
	"strings"
)

// A list resolver that knows which keys will be asked for reads them at once; whoever asks later finds them.
func ExampleLoader() {
	read := func(_ context.Context, keys []string) ([]string, []error) {
		fmt.Println("reading", keys)
		values := make([]string, len(keys))
		for i, key := range keys {
			values[i] = strings.ToUpper(key)
		}
		return values, nil
	}
	l := newLoader(context.Background(), "words", unobserved, read)
	l.Prefetch([]string{"a", "b"})
	fmt.Println(l.Load(context.Background(), "b"))
	// Output:
	// reading [a b]
	// B <nil>
}
