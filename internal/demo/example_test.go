package demo_test

import (
	"context"
	"os"

	"github.com/taggie/taggie/internal/demo"
)

func Example() {
	server := "http://127.0.0.1:8080"
	err := demo.Small(context.Background(), demo.Options{
		URL:      server,
		Token:    func(email, name string) (string, error) { return "a token for " + email, nil },
		Progress: os.Stderr,
	})
	if err != nil {
		os.Exit(1) // the sentence of err says what to do
	}
}
