package resolvers

import (
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// Basis is how a subscription tells its transport since when it is known that the viewer may have the message that is handed on.
type Basis struct{ at atomic.Pointer[time.Time] }

// Since is when reading that began; zero for what rests upon nothing of ours.
func (b *Basis) Since() time.Time {
	if at := b.at.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

const basisKey = "basis"

// WithBasis has the subscription tell what its messages rest upon.
func WithBasis(op *graphql.OperationContext, b *Basis) {
	op.Stats.SetExtension(basisKey, b)
}

// rests tells the transport since when what the next message rests upon is known.
func rests(op *graphql.OperationContext, at time.Time) {
	if b, ok := op.Stats.GetExtension(basisKey).(*Basis); ok {
		b.at.Store(&at)
	}
}
