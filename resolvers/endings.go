package resolvers

import (
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
)

// Ending is how a subscription tells its transport why it ends.
type Ending struct{ finished atomic.Bool }

// Finished reports whether there is nothing more to follow. Otherwise a subscription that has ended was interrupted, as when a store is
// away: who subscribes again goes on.
func (e *Ending) Finished() bool { return e.finished.Load() }

const endingKey = "ending"

// WithEnding has the subscription tell why it ends.
func WithEnding(op *graphql.OperationContext, e *Ending) {
	op.Stats.SetExtension(endingKey, e)
}

// Finisher returns what tells the transport, before a channel is closed, that there is nothing more to follow.
func Finisher(op *graphql.OperationContext) func() {
	e, ok := op.Stats.GetExtension(endingKey).(*Ending)
	if !ok {
		return func() {}
	}
	return func() { e.finished.Store(true) }
}
