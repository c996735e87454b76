package project

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/task"
)

// Observer hears of what changes in projects, after it is stored. It never fails: what it misses it
// finds out later, by looking; of other lists and guidelines, by a task of [RunTelling]; of other teams, at the next change of the project.
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

// RunTelling is the kind of the tasks that tell once more of other lists or guidelines, in case the server that changed them was lost before it told.
const RunTelling task.Kind = "project-telling"

// The changes that such tasks tell of.
const (
	toldLists      = "lists"       // as they are
	toldGuidelines = "guidelines-" // and the version
)

// telling returns the task that tells of a change. By then the server that made it has told, or is lost.
func (s *Service) telling(id ID, change string) []task.Task {
	return []task.Task{{Kind: RunTelling, ID: string(id) + "-" + change, Scope: string(id), Due: domain.Later(s.o.Now, time.Time{}).Add(task.Lease)}}
}

// GuidelinesTold returns the version of the guidelines of which a task of [RunTelling] tells; false when it tells of the lists.
func GuidelinesTold(t task.Task) (version int, is bool) {
	text, is := strings.CutPrefix(t.ID, t.Scope+"-"+toldGuidelines)
	version, err := strconv.Atoi(text)
	return version, is && err == nil
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
