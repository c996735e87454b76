package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
)

// Room is what a transport shares with the subscription that it carries out: how much of what was told may wait for its client.
type Room interface {
	// Admit waits until there is room for one more message. Error: the context's.
	Admit(ctx context.Context) error
}

const roomKey = "room"

// WithRoom has each message of the subscription wait for room before it is handed on, and thus built.
func WithRoom(op *graphql.OperationContext, r Room) {
	op.Stats.SetExtension(roomKey, r)
}

// Admit waits until a message may be handed on. Error: the context's.
func Admit(ctx context.Context, op *graphql.OperationContext) error {
	if r, ok := op.Stats.GetExtension(roomKey).(Room); ok {
		return r.Admit(ctx)
	}
	return nil
}
