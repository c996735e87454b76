package lean

import (
	"bytes"
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
)

type comparing struct{}

type alone struct{}

// Comparing has gqlgen's executor resolve what plans wrote once more, and tells both. It is for tests.
func Comparing(ctx context.Context, tell func(plan, executor []byte)) context.Context {
	return context.WithValue(ctx, comparing{}, tell)
}

// byExecutor returns what gqlgen's executor makes of an object or a list without any plan, with its errors, of which there should be none.
func byExecutor(ctx context.Context, executor func(context.Context) graphql.Marshaler) []byte {
	ctx = context.WithValue(graphql.WithFreshResponseContext(ctx), alone{}, true)
	var b bytes.Buffer
	executor(ctx).MarshalGQL(&b)
	if errs := graphql.GetErrors(ctx); len(errs) > 0 {
		_, _ = fmt.Fprint(&b, errs)
	}
	return b.Bytes()
}
