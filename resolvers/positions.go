package resolvers

import (
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/fault"
)

// Positions is what a transport whose events have ids shares with the subscription that it carries out.
type Positions interface {
	// After is the id of the last event that the client has seen, "" for none.
	After() string
	// Reached is told the id of each message before the message is handed on, "" for one without.
	Reached(id string)
}

const positionsKey = "positions"

// WithPositions has the subscription begin after a position and tell that of each message, if its messages have any.
func WithPositions(op *graphql.OperationContext, p Positions) {
	op.Stats.SetExtension(positionsKey, p)
}

// positioned is a message with a position.
type positioned[C fmt.Stringer] interface{ Position() C }

// reached tells the transport of the position of a message, if it wants to know.
func reached[C fmt.Stringer](op *graphql.OperationContext, message any) {
	p, ok := op.Stats.GetExtension(positionsKey).(Positions)
	if !ok {
		return
	}
	id := ""
	if m, ok := message.(positioned[C]); ok {
		id = m.Position().String()
	}
	p.Reached(id)
}

// resumed reads the position after which the transport says that a subscription is to begin. It reports whether it says so.
func resumed(op *graphql.OperationContext, after interface{ UnmarshalGQL(v any) error }) (bool, error) {
	p, ok := op.Stats.GetExtension(positionsKey).(Positions)
	if !ok || p.After() == "" {
		return false, nil
	}
	if err := after.UnmarshalGQL(p.After()); err != nil {
		return false, fault.Invalidf("after", "Last-Event-ID: this is not a cursor of these events")
	}
	return true, nil
}
