package execution

import (
	"context"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/response"
	"github.com/taggie/taggie/internal/telemetry"
)

const (
	// Multipart is the media type of answers in parts.
	Multipart = "multipart/mixed"
	// DeferSpec is the form of the parts of an answer: the proposal for incremental delivery of August 2022, which is what gqlgen
	// speaks, and Apollo's clients on the web, on iOS and on Android.
	DeferSpec = "20220824"
	// MessageDefer refuses what cannot be answered in parts.
	MessageDefer = "an operation with @defer is answered in parts: send it by POST or GET and accept " + Multipart + ";deferSpec=" + DeferSpec
)

// Defers reports whether an operation defers anything, its variables considered.
func Defers(op *graphql.OperationContext) bool {
	if !strings.Contains(op.RawQuery, "defer") {
		return false
	}
	seen := map[*ast.FragmentDefinition]bool{}
	var in func(ast.SelectionSet) bool
	in = func(set ast.SelectionSet) bool {
		for _, s := range set {
			switch s := s.(type) {
			case *ast.Field:
				if in(s.SelectionSet) {
					return true
				}
			case *ast.InlineFragment:
				if active(s.Directives, op.Variables) || in(s.SelectionSet) {
					return true
				}
			case *ast.FragmentSpread:
				if active(s.Directives, op.Variables) {
					return true
				}
				if s.Definition != nil && !seen[s.Definition] {
					seen[s.Definition] = true
					if in(s.Definition.SelectionSet) {
						return true
					}
				}
			}
		}
		return false
	}
	return in(op.Operation.SelectionSet)
}

// active reports whether directives have one @defer that is not switched off.
func active(list ast.DirectiveList, variables map[string]any) bool {
	d := list.ForName("defer")
	if d == nil {
		return false
	}
	condition := d.Arguments.ForName("if")
	if condition == nil {
		return true
	}
	value, err := condition.Value.Value(variables)
	return err != nil || value == true
}

// deferrable refuses to defer what gqlgen would lose: only queries have parts that come later.
func deferrable(op *graphql.OperationContext) *gqlerror.Error {
	if op.Operation.Operation != ast.Query && Defers(op) {
		return refusal.Of(model.ErrorCodeBadRequest, "@defer is for queries; a %s is answered at once", op.Operation.Operation)
	}
	return nil
}

// extensionDelivery is where an operation that is answered in parts keeps what has come so far.
const extensionDelivery = "delivery"

// delivery is what has come so far of an answer, in one part or several.
type delivery struct {
	tally  *telemetry.Tally // counts the calls to DynamoDB; nil when nobody does
	parts  int
	bytes  int
	cost   int  // of the values and texts that came
	failed bool // of some part, everything
}

// later returns what has come so far when a response is a part of one that has begun, else nil.
func later(op *graphql.OperationContext) *delivery {
	d, _ := op.Stats.GetExtension(extensionDelivery).(*delivery)
	return d
}

// begins counts the first part of a response, and remembers it when others follow.
func begins(op *graphql.OperationContext, resp *graphql.Response, tally *telemetry.Tally) *delivery {
	d := &delivery{tally: tally}
	d.add(resp)
	if response.GoesOn(resp) {
		op.Stats.SetExtension(extensionDelivery, d)
	}
	return d
}

// add counts a part.
func (d *delivery) add(resp *graphql.Response) {
	d.parts++
	d.bytes += len(resp.Data)
	d.cost += admission.CostOf(resp.Data)
	d.failed = d.failed || len(resp.Data) == 0 || string(resp.Data) == "null"
}

// bound gives an answer up whose parts become too large together.
func (d *delivery) bound(ctx context.Context, resp *graphql.Response) *graphql.Response {
	if resp != nil && d.bytes+len(resp.Data) > maxAnswer {
		return tooLarge(ctx, maxAnswer)
	}
	return resp
}
