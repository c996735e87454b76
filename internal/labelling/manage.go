package labelling

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
)

// Managed is the input of what managers do to a whole project.
type Managed struct {
	Project        project.ID
	IdempotencyKey *string `json:"-"`
}

// Pause stops the handing out of items, for managers; who has items can go on.
func (s *Service) Pause(ctx context.Context, in Managed) (project.Project, error) {
	return s.pause(ctx, "pauseProject", in, true)
}

// Resume undoes [Service.Pause].
func (s *Service) Resume(ctx context.Context, in Managed) (project.Project, error) {
	return s.pause(ctx, "resumeProject", in, false)
}

func (s *Service) pause(ctx context.Context, mutation string, in Managed, paused bool) (project.Project, error) {
	return s.set(ctx, mutation, in.Project, in.IdempotencyKey, in, func(p *project.Project) { p.Paused = paused }, func(ctx context.Context, p project.Project) error {
		return s.setPaused(ctx, p, p.Member.User)
	})
}

func (o Options) setPaused(ctx context.Context, p project.Project, by UserID) error {
	set := o.Coordinator.Resume
	if p.Paused {
		set = o.Coordinator.Pause
	}
	_, err := set(ctx, p.ID, by)
	return err
}

// set changes the project, and then what the queue knows of it. The truth decides: when the queue does not hear of it, the job
// that fills it sees the difference.
func (s *Service) set(ctx context.Context, mutation string, id project.ID, key *string, in any, change func(*project.Project), follow func(context.Context, project.Project) error) (project.Project, error) {
	return once(ctx, s, mutation, key, in, func(ctx context.Context, key idempotency.Key) (project.Project, error) {
		return domain.Edit[*project.VersionConflict](s.turns.Until(ctx, string(id)), "this project", func() (project.Project, error) {
			return s.project(ctx, id, project.Manager)
		}, func(before project.Project) (project.Project, error) {
			after := before
			if change(&after); after.Paused != before.Paused {
				after.Version++
				after.UpdatedAt = domain.Later(s.Now, before.UpdatedAt)
			}
			if err := s.Truth.UpdateProject(ctx, before, after, key.With(string(id))); err != nil {
				return project.Project{}, err
			}
			s.follow(ctx, after, follow)
			return after, nil
		})
	}, func(ctx context.Context, _ []string) (project.Project, error) {
		return domain.Gone(s.project(ctx, id, project.Taggie))
	})
}

func (s *Service) follow(ctx context.Context, p project.Project, how func(context.Context, project.Project) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), brief)
	defer cancel()
	if err := s.ready(p.ID, how(ctx, p)); err != nil && !errors.Is(err, ErrNotReady) {
		s.Log.WarnContext(ctx, "the queue did not hear of a change to its project; it will", "project", p.ID, "error", err)
	}
}

// setUp tells the queue what it knows of the project itself. Nobody is named as the user when nobody has just changed it.
func (o Options) setUp(ctx context.Context, p project.Project, by UserID) error {
	settings, err := o.settings(ctx, p)
	if err != nil {
		return err
	}
	if settings.Teams, err = domain.First(o.Truth.ListTeams(ctx, []project.ID{p.ID})); err != nil {
		return err
	}
	return o.Coordinator.SetSettings(ctx, p.ID, settings, by)
}

func (o Options) settings(ctx context.Context, p project.Project) (Settings, error) {
	labels, err := domain.First(o.Truth.ListLabels(ctx, []project.ID{p.ID}))
	if err != nil {
		return Settings{}, err
	}
	s := Settings{Version: p.Version, Name: p.Name, Size: p.QueueSize, Paused: p.Paused}
	for _, l := range project.Category.Of(project.InUse(labels)) {
		s.Categories = append(s.Categories, l.Name)
	}
	for _, l := range project.Subcategory.Of(project.InUse(labels)) {
		s.Subcategories = append(s.Subcategories, l.Name)
	}
	return s, nil
}

var _ project.Observer = (*Service)(nil)

// Created is to be told after a project was created, which has no items yet: its queue is there at once. When it cannot be, it is
// rebuilt as any other.
func (s *Service) Created(ctx context.Context, p project.Project) {
	s.follow(ctx, p, s.rebuild.begin)
}

// Changed is to be told after name, size of the queue, the lists or the teams of a project were changed by the member it is shown to.
func (s *Service) Changed(ctx context.Context, p project.Project) {
	s.follow(ctx, p, func(ctx context.Context, p project.Project) error { return s.setUp(ctx, p, p.Member.User) })
}

// Moved is to be told after somebody joined a project, moved to another team or left, as an event for the others. id is the same
// for each attempt to tell it.
func (s *Service) Moved(ctx context.Context, p project.ID, id string, user UserID, team string) {
	s.note(ctx, p, id, Event{Cause: Members, User: user, Team: team, At: s.Now().UTC().Truncate(time.Millisecond)})
}

// Guided is to be told after the guidelines of a project were changed.
func (s *Service) Guided(ctx context.Context, g project.Guidelines) {
	s.follow(ctx, project.Project{ID: g.Project}, func(ctx context.Context, _ project.Project) error { return s.guided(ctx, g) })
}

// guided tells of guidelines, once however often it is called.
func (s *Service) guided(ctx context.Context, g project.Guidelines) error {
	_, err := s.Coordinator.Note(ctx, g.Project, "guidelines-"+strconv.Itoa(g.Version), Event{Cause: GuidelinesChanged, User: g.UpdatedBy, At: g.UpdatedAt})
	return err
}

// note has subscribers told of an event that concerns no single item.
func (s *Service) note(ctx context.Context, p project.ID, id string, e Event) {
	s.follow(ctx, project.Project{ID: p}, func(ctx context.Context, _ project.Project) error {
		_, err := s.Coordinator.Note(ctx, p, id, e)
		return err
	})
}

// rebuildAnswer is how long a rebuild is waited for: that of a small project is done by then.
const rebuildAnswer = Settle + 2*time.Second

// Rebuild has the queue and the statistics of a project made anew from the truth, for managers. It returns when that is done, or after
// some seconds: the rebuild of a large project goes on then. [ErrRebuilding] is an expected outcome.
func (s *Service) Rebuild(ctx context.Context, id project.ID) (project.Project, error) {
	p, err := s.project(ctx, id, project.Manager)
	if err != nil {
		return project.Project{}, err
	}
	done := make(chan error, 1)
	s.rebuild.all.Go(func() { done <- s.rebuild.now(id) })
	patience := time.NewTimer(rebuildAnswer)
	defer patience.Stop()
	select {
	case err = <-done:
	case <-patience.C:
	case <-ctx.Done():
	}
	return p, err
}
