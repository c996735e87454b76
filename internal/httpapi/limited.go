package httpapi

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// limited is the executor of all transports: it lets nobody do more than the limits allow.
type limited struct {
	graphql.GraphExecutor
	schema   *ast.Schema
	suggests bool
}

// CreateOperationContext makes an operation of the parameters of a request, or says why it is not carried out.
func (l limited) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	op, errs := l.check(ctx, params)
	if errs != nil && l.suggests {
		errs = suggest(l.schema, op.RawQuery, errs)
	}
	return op, errs
}

// check reads and validates a document, and counts what it may cost.
func (l limited) check(ctx context.Context, params *graphql.RawParams) (op *graphql.OperationContext, errs gqlerror.List) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case tooManyFound:
			op, errs = p.failed(params)
		default:
			panic(p)
		}
	}()
	return l.GraphExecutor.CreateOperationContext(ctx, params)
}
