package labelling

import (
	"context"
	"errors"
	"fmt"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/project"
)

// Importing has the queues count what imports bring: it is the [project.Counting] of importers.
type Importing struct {
	Options
	populate *Populate
	rebuild  *Rebuilder
}

var _ project.Counting = (*Importing)(nil)

// NewImporting returns one that has queues filled and rebuilt by the given ones.
func NewImporting(o Options, populate *Populate, rebuild *Rebuilder) *Importing {
	return &Importing{Options: o, populate: populate, rebuild: rebuild}
}

// Imported counts what an import has brought by now, and fills the queue with it. [ErrNotReady] while the queue of the project is
// being rebuilt, which it has done; Unavailable when Redis does not answer.
func (c *Importing) Imported(ctx context.Context, i project.Import, items int) error {
	added, err := c.count(ctx, i, items)
	if errors.Is(err, ErrNotReady) {
		c.rebuild.Want(i.Project)
	}
	if err != nil {
		return fmt.Errorf("count what was imported: %w", err)
	}
	if added {
		c.fill(ctx, i.Project)
	}
	return nil
}

func (c *Importing) count(ctx context.Context, i project.Import, items int) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, brief) // an import does not wait for a Redis that hangs
	defer cancel()
	return c.Coordinator.AddItems(ctx, i.Project, i.ID, items, i.CreatedBy)
}

// fill fills the queue at once. Failing does no harm: the job does it.
func (c *Importing) fill(ctx context.Context, p project.ID) {
	ctx, cancel := context.WithTimeout(ctx, prompt)
	defer cancel()
	if _, err := c.populate.Refill(ctx, p); err != nil && !errors.Is(err, ErrNotReady) {
		c.Log.WarnContext(ctx, "a queue was not filled after an import; the job does it", "project", p, "error", err)
	}
}

// Recount has the queue of a project made anew, also when it is there. [ErrRebuilding] when somebody else does that: what this one
// began with may be older than what is to be counted.
func (c *Importing) Recount(ctx context.Context, p project.ID) error {
	_, err := c.rebuild.Rebuild(ctx, p, true)
	return domain.IgnoreMissing(err) // of a project that is gone there is nothing to count
}
