// Package document knows the documents that clients send: what they may ask for, what that may cost, which are known by an id, and how mistakes in them are told.
// All of it is found out before anything is carried out. Begin with [Bounds].
package document

import (
	"context"
	"fmt"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/httpapi/refusal"
)

// What one operation may cost. A field costs 1, and what is selected below a list as often as the list may have elements.
// The unit is about a microsecond and a hundred bytes of the answer.
const (
	MaxCost      = 250_000
	MaxEventCost = 25_000 // of a subscription: each event costs that anew, and many may be told of it at once
	ContentCost  = 200    // of a value of up to 350,000 bytes

	standardPage = 20
	maxPage      = 500
	expectedList = 5 // elements of a list without pages, unless expected says otherwise

	// Costs are cut off here, so that no product overflows.
	HugeCost = 1 << 30
)

// What the schema says of costs and lengths, by Type.field: see its directives @cost, @listSize and @atMost.
var (
	Large    = graph.ValueCosts   // of one value, all of which is in memory until the answer is written
	reads    = graph.ReadCosts    // besides what the field shows
	Expected = graph.AssumedSizes // of lists without pages: more than is usual, fewer than are allowed
	Longest  = graph.MostElements // of them: what counts where room for an answer is reserved
	Texts    = graph.MostBytes    // of values that are longer than most, besides those that large lists
)

// MutateOperationContext refuses an operation that may cost too much; it changes nothing. It runs after validation,
// because the lengths of lists may stand in the variables.
func (b Bounds) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	limit := MaxCost
	if op.Operation.Operation == ast.Subscription {
		limit = MaxEventCost
		// The specification's rule 5.2.3.1, which the validator does not check in full: after @skip and @include.
		if n := len(graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"})); n != 1 {
			return refusal.Of(model.ErrorCodeGraphqlValidationFailed, "a subscription selects one field, this one selects %d", n)
		}
	}
	p := b.price(op)
	op.Stats.SetExtension(StatPrice, p)
	if cost := p.Total; cost > limit {
		return refusal.Of(model.ErrorCodeBadRequest,
			"the operation may cost %d, and %d is the limit: ask for shorter lists (first, last) or nest fewer of them", cost, limit)
	}
	return nil
}

// StatPrice is where the statistics of an operation keep its price.
const StatPrice = "TaggiePrice"

// Price is what an operation may cost, and how much of it is for what is read besides what is shown. weight is what its answer may
// hold at most.
type Price struct {
	Total, Kept int
	Weight      Weight
}

// Charged is what is taken from the budget before the operation is carried out, besides what is kept: what the answer may weigh, when that
// is more than what it may cost, as far as any operation may cost as much.
func (p Price) Charged() int { return max(p.Total, min(p.Weight.cost()+p.Kept, MaxCost)) - p.Kept }

func (b Bounds) price(op *graphql.OperationContext) Price {
	c := NewCosts(op, b.Told)
	p := Price{Total: c.Set(op.Operation.SelectionSet), Weight: Weigh(op, b.Told)}
	if c.reads {
		c = NewCosts(op, b.Told)
		c.each = 0
		p.Kept = c.Set(op.Operation.SelectionSet)
	}
	return p
}

// costs adds up what an operation may cost. What a fragment costs does not depend on where it is spread, so that each is
// looked at once.
type costs struct {
	variables map[string]any
	told      map[string]int
	each      int  // of a field; 0 leaves only what is read besides
	reads     bool // something is
	fragments map[*ast.FragmentDefinition]int
}

// NewCosts returns what the fields of a schema cost.
func NewCosts(op *graphql.OperationContext, told map[string]int) *costs {
	return &costs{variables: op.Variables, told: told, each: 1, fragments: make(map[*ast.FragmentDefinition]int, len(op.Doc.Fragments))}
}

func (c *costs) Set(set ast.SelectionSet) int {
	sum := 0
	for _, selection := range set {
		switch selection := selection.(type) {
		case *ast.Field:
			sum += c.field(selection)
		case *ast.InlineFragment:
			sum += c.Set(selection.SelectionSet)
		case *ast.FragmentSpread:
			sum += c.spread(selection.Definition)
		}
		sum = min(sum, HugeCost)
	}
	return sum
}

func (c *costs) spread(fragment *ast.FragmentDefinition) int {
	if fragment == nil {
		return 0
	}
	cost, ok := c.fragments[fragment]
	if !ok {
		cost = c.Set(fragment.SelectionSet)
		c.fragments[fragment] = cost
	}
	return cost
}

func (c *costs) field(field *ast.Field) int {
	if cost, is := Large[qualified(field)]; is {
		return c.each * cost
	}
	if len(field.SelectionSet) == 0 {
		if field.Definition != nil && field.Definition.Arguments.ForName("first") != nil {
			return c.each * (1 + c.page(field)) // texts
		}
		return c.each
	}
	besides, is := reads[qualified(field)]
	c.reads = c.reads || is
	return min(c.each+besides+c.elements(field)*c.Set(field.SelectionSet), HugeCost)
}

// elements is how many objects a field may stand for.
func (c *costs) elements(field *ast.Field) int {
	definition := field.Definition
	switch {
	case definition == nil:
		return 1
	case definition.Arguments.ForName("first") != nil:
		return c.page(field)
	case definition.Type.Elem == nil:
		return 1
	case definition.Arguments.ForName("ids") != nil:
		return c.given(field.Arguments.ForName("ids"))
	case field.ObjectDefinition != nil && field.ObjectDefinition.Fields.ForName("pageInfo") != nil:
		return 1 // the edges and nodes of a connection, which counted them
	}
	if n, is := Expected[qualified(field)]; is {
		return n
	}
	if n, is := c.told[qualified(field)]; is {
		return n
	}
	return expectedList
}

// Introspected is how long the lists are, on average, in which a schema tells itself.
func Introspected(schema *ast.Schema) map[string]int {
	var fields, args, inputs, values, interfaces, possible int
	for _, t := range schema.Types {
		switch t.Kind {
		case ast.InputObject:
			inputs += len(t.Fields)
		default:
			fields += len(t.Fields)
		}
		for _, field := range t.Fields {
			args += len(field.Arguments)
		}
		values += len(t.EnumValues)
		interfaces += len(t.Interfaces)
		if t.IsAbstractType() {
			possible += len(schema.PossibleTypes[t.Name])
		}
	}
	each := func(n, of int) int { return max(1, (n+of-1)/max(1, of)) }
	types := len(schema.Types)
	return map[string]int{
		"__Schema.types":       types,
		"__Schema.directives":  len(schema.Directives),
		"__Type.fields":        each(fields, types),
		"__Type.inputFields":   each(inputs, types),
		"__Type.enumValues":    each(values, types),
		"__Type.interfaces":    each(interfaces, types),
		"__Type.possibleTypes": each(possible, types),
		"__Field.args":         each(args, fields),
		"__Directive.args":     2,
	}
}

// qualified is the name of a field with its type.
func qualified(field *ast.Field) string {
	if field.ObjectDefinition == nil {
		return field.Name
	}
	return field.ObjectDefinition.Name + "." + field.Name
}

// page is the length of a page of a connection.
func (c *costs) page(field *ast.Field) int {
	length := 0
	for _, name := range []string{"first", "last"} {
		value := c.argument(field, name)
		if value == nil {
			continue
		}
		n, err := strconv.Atoi(fmt.Sprint(value))
		if err != nil {
			n = maxPage // whatever else it may be: the resolver takes no more
		}
		length = max(length, min(max(n, 1), maxPage))
	}
	if length == 0 {
		return standardPage
	}
	return length
}

// argument is what a field is given, or what stands for it when it is not.
func (c *costs) argument(field *ast.Field, name string) any {
	if argument := field.Arguments.ForName(name); argument != nil {
		return c.value(argument.Value)
	}
	if declared := field.Definition.Arguments.ForName(name); declared != nil && declared.DefaultValue != nil {
		return c.value(declared.DefaultValue)
	}
	return nil
}

// given is the number of values in an argument that is a list.
func (c *costs) given(argument *ast.Argument) int {
	if argument == nil {
		return 1
	}
	list, ok := c.value(argument.Value).([]any)
	if !ok {
		return 1 // one value stands for a list of one
	}
	return min(max(len(list), 1), maxPage)
}

// value is what a literal or a variable says, nil when nothing.
func (c *costs) value(value *ast.Value) any {
	v, err := value.Value(c.variables)
	if err != nil {
		return nil
	}
	return v
}
