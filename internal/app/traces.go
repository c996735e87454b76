package app

import (
	"context"
	"time"

	"github.com/taggie/taggie/dynamo"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/user"
)

// traces erase from the rows of others what these say about a user. Each is repeated by itself, since a pass reads a whole table.
type traces struct {
	Notes user.TraceEraser
	Lists user.TraceEraser // invitations, and scores that others keep
	Work  user.TraceEraser // in projects, and all that is in Redis
}

// newTraces wires them. Redis comes last: events and statistics follow what is stored.
func newTraces(db *dynamo.DB, queues *queue.Queue, cfg config.Config, now func() time.Time) traces {
	as := users.Store{DB: db}.PseudonymOf
	moves := truth.Store{Store: projects.Store{DB: db}}
	eraser := func(sweeps ...user.Sweep) user.TraceEraser {
		return user.TraceEraser{Sweeps: sweeps, Settle: cfg.OperationTimeout + dynamo.CallWithin, Now: now}
	}
	return traces{
		Notes: eraser(notes.Store{DB: db}.EraseTraces),
		Lists: eraser(projects.Store{DB: db}.EraseFromInvitations, scores.Store{DB: db}.EraseKept),
		Work: eraser(
			func(ctx context.Context, id user.ID, position string) (int, string, error) {
				return moves.EraseTraces(ctx, id, position, as)
			},
			func(ctx context.Context, id user.ID, position string) (int, string, error) {
				return moves.EraseFromOutbox(ctx, id, position, as)
			},
			func(ctx context.Context, id user.ID, _ string) (int, string, error) {
				met, err := queues.EraseUser(ctx, id, as)
				return met, "", err
			},
		),
	}
}

// phases are the steps of an erasure that do so.
func (t traces) phases() []user.Phase {
	return []user.Phase{{Name: "traces in notes", Erase: t.Notes.EraseTraces}, {Name: "traces in lists", Erase: t.Lists.EraseTraces}, {Name: "traces", Erase: t.Work.EraseTraces}}
}
