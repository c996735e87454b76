package labelling

import (
	"context"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/project"
)

// census knows the projects there are. Listing them costs as much as many refills, so it is not done in every round of a job.
type census struct {
	Options
	every time.Duration
	mu    sync.Mutex
	next  time.Time
	ids   []project.ID
}

// projects returns the projects, and whether they were listed just now.
func (c *census) projects(ctx context.Context) ([]project.ID, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	if now.Before(c.next) {
		return c.ids, false, nil
	}
	const page = 100
	var all []project.ID
	for after := project.ID(""); ; {
		ids, err := c.Truth.ListAllProjects(ctx, after, page)
		if err != nil {
			return nil, false, err
		}
		all = append(all, ids...)
		if len(ids) < page {
			break
		}
		after = ids[len(ids)-1]
	}
	c.ids, c.next = all, now.Add(c.every)
	return all, true, nil
}
