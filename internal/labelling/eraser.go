package labelling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// Erasable keeps projects that are deleted, and removes what they have step by step, each of which can be done again.
type Erasable interface {
	// PutDeletion and MoveMembers are those of [project.Deletions].
	PutDeletion(ctx context.Context, before, after project.Project, follow []task.Task, once idempotency.Key) error
	MoveMembers(ctx context.Context, p project.Project) ([]project.Member, error)
	// EraseTransfers removes the imports, exports and removals of a project: who runs one ends when he stores how far it is.
	EraseTransfers(ctx context.Context, p project.ID) error
	// EraseItems removes the items and efforts that are found, with all that belongs to them, and returns how many things these were. It is eventually
	// consistent: what was written seconds ago may be missing.
	EraseItems(ctx context.Context, p project.ID) (found int, err error)
	// EraseProject removes what is left of a project that has no items any more, itself last. It is eventually consistent.
	EraseProject(ctx context.Context, p project.Project) error
	// EraseTasks removes all tasks that are about a project, also the one that asks for this.
	EraseTasks(ctx context.Context, p project.ID) error
}

// Forgetter keeps the queues of projects.
type Forgetter interface {
	// Forget removes all that the queue keeps of a project.
	Forget(ctx context.Context, p project.ID) error
}

// Files are objects in a bucket.
type Files interface {
	// List lists the keys that have a prefix.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete removes an object, if there.
	Delete(ctx context.Context, key string) error
}

// Eraser ends the memberships of projects that are deleted, brings them back, and removes all that a project has when that cannot be any more. Its
// Run is the [task.Handler] of [project.RunDeletion].
//
// A deleted project is one without members, and nothing else about it is different: its queue is kept, leases end, imports go on. So it is brought back
// exactly as it was.
type Eraser struct {
	EraserOptions
	settle time.Duration // how long indexes may lag behind, and who began something before may go on
}

// EraserOptions are what an [Eraser] works with.
type EraserOptions struct {
	Options
	Projects Erasable
	Queues   Forgetter
	Files    Files
}

// NewEraser returns one that waits as long for indexes to settle; 0 for [Settle].
func NewEraser(o EraserOptions, settle time.Duration) *Eraser {
	return &Eraser{EraserOptions: o, settle: cmp.Or(settle, Settle)}
}

// Run goes on with a deletion from where it stands, and returns when it goes on then.
func (e *Eraser) Run(ctx context.Context, t task.Task) (time.Time, error) {
	for {
		p, err := domain.First(e.Truth.ProjectsByID(ctx, "", []project.ID{project.ID(t.Scope)}))
		if err != nil {
			return time.Time{}, domain.IgnoreMissing(err)
		}
		switch p.Deletion.State {
		case project.Deleting:
			err = e.moveMembers(ctx, p, project.Deleted)
		case project.Deleted:
			if until := p.Deletion.UndoUntil; e.Now().Before(until) {
				return until, nil
			}
			err = e.put(ctx, p, project.Erasing)
		case project.Reinstating:
			err = e.moveMembers(ctx, p, "")
		default:
			return time.Time{}, nil
		}
		if _, changed := errors.AsType[*project.VersionConflict](err); err != nil && !changed {
			return time.Time{}, fmt.Errorf("deletion of project %s, %s: %w", p.ID, p.Deletion.State, err)
		}
	}
}

// Erase removes all that a project has which cannot be brought back, and what is behind it when it is gone itself. Of another project it removes nothing.
// It is the [task.Handler] of [project.RunErasure].
func (e *Eraser) Erase(ctx context.Context, t task.Task) (time.Time, error) {
	id := project.ID(t.Scope)
	p, err := domain.First(e.Truth.ProjectsByID(ctx, "", []project.ID{id}))
	switch {
	case fault.Is(err, fault.NotFound):
		err = nil
	case err != nil || p.Deletion.State != project.Erasing:
		return time.Time{}, err
	default:
		err = e.erase(ctx, p)
	}
	if err == nil {
		err = e.forget(ctx, id)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("erase project %s: %w", id, err)
	}
	return time.Time{}, nil
}

// put stores a project in another state of its deletion; "" when it is not deleted any more.
func (e *Eraser) put(ctx context.Context, p project.Project, state project.DeletionState) error {
	after := p
	after.Deletion.State = state
	if state == "" {
		after.Deletion = project.Deletion{}
	}
	after.Version++
	after.UpdatedAt = domain.Later(e.Now, p.UpdatedAt)
	var follow []task.Task
	if state == project.Erasing {
		follow = append(follow, after.Task(project.RunErasure, after.UpdatedAt))
	}
	return e.Projects.PutDeletion(ctx, p, after, follow, idempotency.Key{})
}

// moveMembers ends the memberships of a project, or brings them back, and has it in the next state then. Who is online is told.
func (e *Eraser) moveMembers(ctx context.Context, p project.Project, next project.DeletionState) error {
	for {
		moved, err := e.Projects.MoveMembers(ctx, p)
		if err != nil {
			return err
		}
		if len(moved) == 0 {
			return e.put(ctx, p, next)
		}
		each(len(moved), func(i int) {
			told := Event{Cause: Members, User: moved[i].User, Team: moved[i].Team, At: e.Now().UTC().Truncate(time.Millisecond)}
			if p.Deletion.State == project.Deleting {
				told.Team = ""
			}
			ctx, cancel := context.WithTimeout(ctx, brief)
			defer cancel()
			id := derived("deletion", string(p.ID), fmt.Sprint(p.Version), string(told.User))
			if _, err := e.Coordinator.Note(ctx, p.ID, id, told); err != nil {
				e.Log.WarnContext(ctx, "nobody was told of a membership; subscribers find out by looking", "project", p.ID, "user", told.User, "error", err)
			}
		})
	}
}

// erase removes all that a project has. What was under way when it began may add something for a while, and indexes show it later: passes go over all of it
// until one finds nothing, a while after the one before.
func (e *Eraser) erase(ctx context.Context, p project.Project) error {
	if err := e.Projects.EraseTransfers(ctx, p.ID); err != nil {
		return err
	}
	for {
		if err := pause(ctx, e.settle); err != nil {
			return err
		}
		found, err := e.Projects.EraseItems(ctx, p.ID)
		if err != nil {
			return err
		}
		if found == 0 {
			break
		}
	}
	// Without their rows in the outbox, messages are not followed any more. Those under way may be, for as long.
	waiting, err := e.Truth.ListOutbox(ctx, e.Now().Add(farAhead), wholeOutbox)
	if err != nil {
		return err
	}
	if err := e.Truth.DeleteOutbox(ctx, slices.DeleteFunc(waiting, func(t Transition) bool { return t.Project != p.ID })); err != nil {
		return err
	}
	if err := pause(ctx, e.settle); err != nil {
		return err
	}
	return e.Projects.EraseProject(ctx, p)
}

// forget removes what is not in the store, a while after the project went: what was under way until then may leave something there.
func (e *Eraser) forget(ctx context.Context, id project.ID) error {
	if err := pause(ctx, e.settle); err != nil {
		return err
	}
	for _, prefix := range project.FilesOf(id) {
		keys, err := e.Files.List(ctx, prefix)
		if err != nil {
			return err
		}
		failed := make([]error, len(keys))
		each(len(keys), func(i int) { failed[i] = e.Files.Delete(ctx, keys[i]) })
		if err := errors.Join(failed...); err != nil {
			return err
		}
	}
	if err := e.Queues.Forget(ctx, id); err != nil {
		return err
	}
	return e.Projects.EraseTasks(ctx, id)
}
