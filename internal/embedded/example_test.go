package embedded_test

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/taggie/taggie/internal/embedded"
)

func ExampleStart() {
	dir, err := os.MkdirTemp("", "taggie-data-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx := context.Background()
	engines, err := embedded.Start(ctx, embedded.Options{Dir: dir, Redis: true})
	if err != nil {
		panic(err)
	}
	address, err := url.Parse(engines.Redis.URL)
	if err != nil {
		panic(err)
	}
	fmt.Println(address.Scheme, address.Hostname())
	if err := engines.Stop(ctx); err != nil {
		panic(err)
	}
	// Output: redis 127.0.0.1
}
