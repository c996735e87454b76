package httpapi

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"
)

// What the executor notes of an operation, in its statistics.
const (
	statPrice   = "TaggiePrice"
	statAccount = "TaggieAccount"
)

// costShown is the response extension cost.
type costShown struct {
	Requested int            `json:"requested"`      // what the operation may cost
	Used      *int           `json:"used,omitempty"` // what it has cost
	Budget    *budgetShown   `json:"budget,omitempty"`
	Document  *documentShown `json:"document,omitempty"`
	Limits    limitsShown    `json:"limits"`
}

// budgetShown is the budget of the caller. An operation is charged what it may cost, and given back what it did not use.
type budgetShown struct {
	Capacity  int `json:"capacity"`
	PerSecond int `json:"perSecond"` // how much comes back
	Charged   int `json:"charged"`
	Kept      int `json:"kept"` // of what was charged
	Remaining int `json:"remaining"`
}

// documentShown is how large the document is, in the terms of its limits.
type documentShown struct {
	Bytes      int `json:"bytes"`
	Tokens     int `json:"tokens"`
	Depth      int `json:"depth"`
	RootFields int `json:"rootFields"`
	Fields     int `json:"fields"`
	Aliases    int `json:"aliases"`
	Directives int `json:"directives"`
	Fragments  int `json:"fragments"`
}

// limitsShown are the limits of one operation.
type limitsShown struct {
	Cost       int     `json:"cost"`
	Seconds    float64 `json:"seconds"`
	Operations int     `json:"operations"` // of the caller, at a time, on one server
	BodyBytes  int     `json:"bodyBytes"`
	documentShown
}

// account finds out what an operation has cost when its last part is there, and tells it with the first and the last one when it
// is asked for.
func (o operations) account(ctx context.Context, op *graphql.OperationContext, resp *graphql.Response, d *delivery) {
	a, charged := op.Stats.GetExtension(statAccount).(*account)
	event, last := typeOf(op) == string(ast.Subscription), !goesOn(resp)
	if charged && !event && last && !d.failed && ctx.Err() == nil {
		a.uses(a.fixed + d.cost)
	} else if charged && goesOn(resp) {
		a.usedAlready(a.fixed + d.cost)
	}
	if !asksFor(op, extensionCost) || d.parts > 1 && !last {
		return
	}
	asked, known := op.Stats.GetExtension(statPrice).(price)
	shown := costShown{Requested: asked.total, Limits: o.limits(op)}
	if known && resp.Data != nil {
		shown.Used = new(asked.kept + d.cost)
	}
	if op.Doc != nil {
		shown.Document = measured(op)
	}
	if charged {
		if !event && last && resp.Data != nil {
			o.spenders.close(ctx, a)
		}
		kept, left := a.state()
		shown.Budget = &budgetShown{
			Capacity: o.options.BudgetSize, PerSecond: o.options.BudgetRate, Charged: a.charge, Kept: kept, Remaining: max(left, 0),
		}
	}
	extend(resp, extensionCost, shown)
}

func (o operations) limits(op *graphql.OperationContext) limitsShown {
	l := limitsShown{
		Cost: maxCost, Seconds: o.options.OperationTimeout.Seconds(), Operations: o.options.Operations, BodyBytes: maxBody,
		documentShown: documentShown{
			Bytes: maxDocument, Tokens: maxTokens, Depth: maxDepth, RootFields: maxRootFields, Fields: maxFields,
			Aliases: maxAliases, Directives: maxDirectives, Fragments: maxFragments,
		},
	}
	if typeOf(op) == string(ast.Subscription) {
		l.Cost = maxEventCost
	}
	return l
}

func measured(op *graphql.OperationContext) *documentShown {
	s := newMeasure(op.Doc).document()
	d := &documentShown{
		Bytes: len(op.RawQuery), Depth: s.depth, RootFields: s.roots, Fields: s.fields,
		Aliases: s.aliases, Directives: s.directives, Fragments: len(op.Doc.Fragments),
	}
	words := lexer.New(&ast.Source{Input: op.RawQuery})
	for {
		token, err := words.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return d
		}
		if token.Kind != lexer.Comment {
			d.Tokens++
		}
	}
}
