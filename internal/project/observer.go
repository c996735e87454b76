package project

import "context"

// Observer hears of what changes in projects, after it is stored. It never fails: what it misses it
// finds out later, by looking; of other lists or teams, at the next change of the project.
type Observer interface {
	// Created is told of a project that has no items yet.
	Created(ctx context.Context, p Project)
	// Changed is told that the name, the size of the queue, the lists or the teams of a project are different.
	Changed(ctx context.Context, p Project)
	// Left is told that a user is no member any more, after Moved is.
	Left(ctx context.Context, p ID, user UserID)
	// Moved is told that a user joined, moved to another team, or left: then team is "". id names this one change.
	Moved(ctx context.Context, p ID, id string, user UserID, team string)
	// Guided is told of new guidelines.
	Guided(ctx context.Context, g Guidelines)
}

func (s *Service) tellCreated(ctx context.Context, p Project) {
	if s.o.Observer != nil {
		s.o.Observer.Created(ctx, p)
	}
}

func (s *Service) tellChanged(ctx context.Context, p Project) {
	if s.o.Observer != nil {
		s.o.Observer.Changed(ctx, p)
	}
}

func (s *Service) tellMoved(ctx context.Context, p ID, user UserID, team string) {
	if s.o.Observer != nil {
		s.o.Observer.Moved(ctx, p, s.o.NewID(), user, team)
	}
}

func (s *Service) tellGuided(ctx context.Context, g Guidelines) {
	if s.o.Observer != nil {
		s.o.Observer.Guided(ctx, g)
	}
}

func (s *Service) tellLeft(ctx context.Context, p ID, user UserID) {
	s.tellMoved(ctx, p, user, "") // first: who is gone sees nothing more of what follows
	if s.o.Observer != nil {
		s.o.Observer.Left(ctx, p, user)
	}
}
