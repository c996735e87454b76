package execution

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/httpapi/admission"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/httpapi/request"
	"github.com/taggie/taggie/internal/httpapi/response"
)

// costShown is the response extension cost.
type costShown struct {
	Requested int              `json:"requested"`      // what the operation may cost
	Used      *int             `json:"used,omitempty"` // what it has cost
	Budget    *budgetShown     `json:"budget,omitempty"`
	Document  *document.Extent `json:"document,omitempty"`
	Limits    limitsShown      `json:"limits"`
}

// budgetShown is the budget of the caller. An operation is charged what it may cost, and given back what it did not use.
type budgetShown struct {
	Capacity  int `json:"capacity"`
	PerSecond int `json:"perSecond"` // how much comes back
	Charged   int `json:"charged"`
	Kept      int `json:"kept"` // of what was charged
	Remaining int `json:"remaining"`
}

// limitsShown are the limits of one operation.
type limitsShown struct {
	Cost       int     `json:"cost"`
	Seconds    float64 `json:"seconds"`
	Operations int     `json:"operations"` // of the caller, at a time, on one server
	BodyBytes  int     `json:"bodyBytes"`
	document.Extent
}

// account finds out what an operation has cost when its last part is there, and tells it with the first and the last one when it
// is asked for.
func (r *Runner) account(ctx context.Context, op *graphql.OperationContext, resp *graphql.Response, d *delivery) {
	a := admission.AccountOf(op)
	charged := a != nil
	event, last := TypeOf(op) == string(ast.Subscription), !response.GoesOn(resp)
	if charged && !event && last && !d.failed && ctx.Err() == nil {
		a.Showed(d.cost)
	} else if charged && response.GoesOn(resp) {
		a.ShowedAlready(d.cost)
	}
	if !asksFor(op, request.ExtensionCost) || d.parts > 1 && !last {
		return
	}
	asked, known := op.Stats.GetExtension(document.StatPrice).(document.Price)
	shown := costShown{Requested: asked.Total, Limits: r.limits(op)}
	if known && resp.Data != nil {
		shown.Used = new(asked.Kept + d.cost)
	}
	if op.Doc != nil {
		shown.Document = document.ExtentOf(op)
	}
	if charged {
		if !event && last && resp.Data != nil {
			r.spenders.Close(ctx, a)
		}
		kept, left := a.State()
		shown.Budget = &budgetShown{
			Capacity: r.options.BudgetSize, PerSecond: r.options.BudgetRate, Charged: a.Charged(), Kept: kept, Remaining: max(left, 0),
		}
	}
	extend(resp, request.ExtensionCost, shown)
}

func (r *Runner) limits(op *graphql.OperationContext) limitsShown {
	l := limitsShown{
		Cost: document.MaxCost, Seconds: r.options.Timeout.Seconds(), Operations: r.options.Operations, BodyBytes: request.MaxBody,
		Extent: document.Largest(),
	}
	if TypeOf(op) == string(ast.Subscription) {
		l.Cost = document.MaxEventCost
	}
	return l
}
