package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/refusal"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/telemetry"
)

const (
	// deferSpec is the form of the parts of an answer: the proposal for incremental delivery of August 2022, which is what gqlgen
	// speaks, and Apollo's clients on the web, on iOS and on Android.
	deferSpec = "20220824"
	// boundary stands between parts. JSON never has a line that begins with it.
	boundary = "-"
	// messageDefer refuses what cannot be answered in parts.
	messageDefer = "an operation with @defer is answered in parts: send it by POST or GET and accept " + mediaMultipart + ";deferSpec=" + deferSpec
)

// defers reports whether an operation defers anything, its variables considered.
func defers(op *graphql.OperationContext) bool {
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
	if op.Operation.Operation != ast.Query && defers(op) {
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
	if goesOn(resp) {
		op.Stats.SetExtension(extensionDelivery, d)
	}
	return d
}

// goesOn reports whether a response has parts that come later.
func goesOn(resp *graphql.Response) bool { return resp.HasNext != nil && *resp.HasNext }

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

// stream sends an answer in parts, each as soon as it is there. gqlgen's transport collects them in a second goroutine that
// writes to the same connection.
func (e endpoint) stream(ctx context.Context, w http.ResponseWriter, op *graphql.OperationContext, first *graphql.Response, next graphql.ResponseHandler) {
	h := w.Header()
	h.Set("Content-Type", mediaMultipart+`; boundary="`+boundary+`"; deferSpec=`+deferSpec)
	h.Set("X-Accel-Buffering", "no") // proxies would wait for the end
	w.WriteHeader(http.StatusOK)
	more := goesOn(first)
	sent := writePart(w, "\r\n--"+boundary+"\r\n", first, more)
	for more && sent {
		resp := next(ctx)
		switch {
		case resp == nil && errors.Is(ctx.Err(), context.Canceled):
			return // the client has gone
		case resp == nil: // the time is up
			writePart(w, "", late(context.WithoutCancel(ctx), e.exec, op), false)
			return
		case resp.HasNext == nil: // the part is too large, or all of them are
			writePart(w, "", &graphql.Response{Errors: resp.Errors}, false)
			return
		}
		more = *resp.HasNext
		sent = writePart(w, "", resp, more)
	}
}

// writePart sends one part and what separates it from the next, in the form that Apollo Server has given them. It is false when
// the client has gone.
func writePart(w http.ResponseWriter, before string, resp *graphql.Response, more bool) bool {
	head, data, tail := parts(resp)
	opening, closing := "", `,"hasNext":true}`+"\r\n--"+boundary+"\r\n"
	if !more {
		closing = `,"hasNext":false}` + "\r\n--" + boundary + "--\r\n"
	}
	tail = tail[:len(tail)-1] // the brace comes later
	if resp.HasNext != nil && before == "" {
		opening, closing = `{"incremental":[`, "}]"+closing
		tail = append(tail, position(resp)...)
	}
	before += "Content-Type: " + request.JSON + "; charset=utf-8\r\n\r\n" + opening
	for _, piece := range [][]byte{[]byte(before), head, data, tail, []byte(closing)} {
		if _, err := w.Write(piece); err != nil {
			return false
		}
	}
	return http.NewResponseController(w).Flush() == nil
}

// position says where a part belongs.
func position(resp *graphql.Response) []byte {
	path := resp.Path
	if path == nil {
		path = ast.Path{}
	}
	text := append([]byte(`,"path":`), encode(path)...)
	if resp.Label != "" {
		text = append(append(text, `,"label":`...), encode(resp.Label)...)
	}
	return text
}
