package app

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/user"
)

// newTraces wires what erases from the rows of others what these say about a user, and then from Redis, so that statistics follow what is stored.
func newTraces(db *dynamo.DB, queues *queue.Queue, cfg config.Config) user.TraceEraser {
	as := users.Store{DB: db}.PseudonymOf
	moves := truth.Store{Store: projects.Store{DB: db}}
	return user.TraceEraser{
		Sweeps: []user.Sweep{
			notes.Store{DB: db}.EraseTraces,
			func(ctx context.Context, id user.ID, position string) (int, string, error) {
				return moves.EraseTraces(ctx, id, position, as)
			},
			func(ctx context.Context, id user.ID, _ string) (int, string, error) {
				met, err := moves.EraseFromOutbox(ctx, id, as)
				return met, "", err
			},
			func(ctx context.Context, id user.ID, _ string) (int, string, error) {
				met, err := queues.EraseUser(ctx, id, as)
				return met, "", err
			},
		},
		Settle: cfg.OperationTimeout + dynamo.CallWithin, Rest: dynamo.Rest,
	}
}
