package labelling

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// Guides reads the guidelines of projects.
type Guides interface {
	// GuidelinesOf is that of [project.Store].
	GuidelinesOf(ctx context.Context, ids []project.ID) ([]project.Guidelines, []error)
}

// Retell returns the handler of [project.RunTelling]. It tells the queue, and whoever follows the project, of the lists or the guidelines; nothing is told
// twice. If the queue is not there, a rebuild tells everybody to read the project again. Cost: 1 to 3 reads of few rows, and 1 script.
func (s *Service) Retell(guides Guides) task.Handler {
	return func(ctx context.Context, t task.Task) (time.Time, error) {
		id := project.ID(t.Scope)
		err := s.retell(ctx, guides, id, t)
		if err = s.ready(id, err); errors.Is(err, ErrNotReady) {
			return time.Time{}, nil
		}
		return time.Time{}, err
	}
}

func (s *Service) retell(ctx context.Context, guides Guides, id project.ID, t task.Task) error {
	version, is := project.GuidelinesTold(t)
	if !is {
		p, err := domain.First(s.Truth.ProjectsByID(ctx, "", []project.ID{id}))
		if err != nil {
			return domain.IgnoreMissing(err)
		}
		return s.setUp(ctx, p, "")
	}
	g, err := domain.First(guides.GuidelinesOf(ctx, []project.ID{id}))
	if err != nil || g.Version != version { // later ones have a task of their own
		return err
	}
	return s.guided(ctx, g)
}
