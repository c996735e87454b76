package project

import (
	"context"
	"strconv"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

type (
	// Deletion is that a project was deleted; the zero value, that it was not.
	Deletion = domain.Deletion
	// DeletionState is where the deletion of a project stands.
	DeletionState = domain.DeletionState
)

// The states of a deletion.
const (
	Deleting    = domain.Deleting
	Deleted     = domain.Deleted
	Reinstating = domain.Reinstating
	Erasing     = domain.Erasing
)

// DeletedProject is a project that was deleted, as those see it who were its managers.
type DeletedProject struct{ Project }

// State is where its deletion stands.
func (d DeletedProject) State() DeletionState { return d.Deletion.State }

// DeletedAt is when somebody deleted it.
func (d DeletedProject) DeletedAt() time.Time { return d.Deletion.At }

// UndoUntil is until when it can be brought back.
func (d DeletedProject) UndoUntil() time.Time { return d.Deletion.UndoUntil }

// Deletions keeps projects that were deleted. Nobody is a member of one: who was is a former member, so that whatever needs a member, writes
// under way included, ends with the membership.
type Deletions interface {
	// PutDeletion replaces before by after, whose Deletion is another one, and records the tasks. The member of before becomes a former member
	// with it when the project is being deleted, and a member again when it is being brought back. *[VersionConflict] when before is not the
	// current version, or the member not as it was read.
	PutDeletion(ctx context.Context, before, after Project, follow []task.Task, once idempotency.Key) error
	// MoveMembers makes some members of a project that is being deleted former members, and some former members of one that is being
	// brought back members again. It returns them as they are then, nobody when all are. *[VersionConflict] when neither is going on.
	MoveMembers(ctx context.Context, p Project) ([]Member, error)
	// DeletedByID returns the project, with the former membership of the user, or the error of each id, in the order of ids; NotFound for one that is
	// not deleted. It sees every acknowledged write.
	DeletedByID(ctx context.Context, user UserID, ids []ID) ([]Project, []error)
	// ListDeleted lists the deleted projects of which the user was a manager, by id. It sees every acknowledged write.
	ListDeleted(ctx context.Context, user UserID, w page.Window) (page.Slice[DeletedProject], error)
}

// The kinds of the tasks that end memberships and bring them back, which is soon done, and of those that remove all that a project has.
const (
	RunDeletion task.Kind = "project-deletion"
	RunErasure  task.Kind = "project-erasure"
)

// Task is what goes on with the deletion of a project. Each change of it has one of its own.
func (p Project) Task(kind task.Kind, due time.Time) task.Task {
	return task.Task{Kind: kind, ID: string(p.ID) + "-" + strconv.Itoa(p.Version), Scope: string(p.ID), Due: due}
}

// ErrErasing says that a deleted project cannot be brought back any more.
var ErrErasing = &fault.Error{Kind: fault.Conflict, Message: "it is too late: the project is being erased"}

// Delete is the input of [Service.Delete].
type Delete struct {
	ID              ID
	Purge           bool // it cannot be brought back
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// Delete deletes a project, for managers: at once nobody is a member of it any more, which a task sees to. It can be brought back for
// [domain.UndoDeletion], unless Purge is set; then all that it has is removed. *[VersionConflict] as an expected outcome.
func (s *Service) Delete(ctx context.Context, in Delete) (DeletedProject, error) {
	return once(ctx, s, "deleteProject", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (DeletedProject, error) {
		p, err := s.edit(ctx, in.ID, in.ExpectedVersion, func(before Project) (Project, error) {
			now := domain.Later(s.o.Now, before.UpdatedAt)
			if d := before.Deletion; d.State == Deleting && (!in.Purge || d.Over(now)) { // by another manager, a moment ago
				return before, nil
			}
			after := before
			after.Deletion = Deletion{State: Deleting, By: before.Member.User, At: now, UndoUntil: now.Add(domain.UndoDeletion)}
			if in.Purge {
				after.Deletion.UndoUntil = now
			}
			return s.putDeletion(ctx, before, after, now, key)
		})
		if err == nil {
			s.tellMoved(ctx, p.ID, p.Member.User, "")
		}
		return DeletedProject{p}, err
	}, func(ctx context.Context, _ []string) (DeletedProject, error) {
		return domain.Gone(s.deleted(ctx, in.ID))
	})
}

// putDeletion stores a project whose deletion is another one, at its next version, with the task that goes on with it.
func (s *Service) putDeletion(ctx context.Context, before, after Project, now time.Time, key idempotency.Key) (Project, error) {
	after.Version, after.UpdatedAt = before.Version+1, now
	return after, s.o.Store.PutDeletion(ctx, before, after, []task.Task{after.Task(RunDeletion, now)}, key.With(string(after.ID)))
}

// deleted returns a deleted project, for who was a manager of it.
func (s *Service) deleted(ctx context.Context, id ID) (DeletedProject, error) {
	me, err := domain.Self(ctx)
	if err != nil {
		return DeletedProject{}, err
	}
	p, err := domain.First(s.o.Store.DeletedByID(ctx, me, []ID{id}))
	if err == nil && !p.Member.Type.May(Manager) {
		err = notFound("deleted project")
	}
	if err != nil {
		return DeletedProject{}, err
	}
	return DeletedProject{p}, nil
}

// ListDeleted lists the deleted projects of which the user was a manager. Forbidden for everybody else.
func (s *Service) ListDeleted(ctx context.Context, user UserID, w page.Window) (page.Slice[DeletedProject], error) {
	if !viewer.From(ctx).Is(user) {
		return page.Slice[DeletedProject]{}, fault.New(fault.Forbidden, "only the user may see this")
	}
	return s.o.Store.ListDeleted(ctx, user, w)
}

// ChangeDeletion is the input of [Service.UndoDelete] and [Service.PurgeDeleted].
type ChangeDeletion struct {
	ID             ID
	IdempotencyKey *string `json:"-"`
}

// UndoDelete brings a deleted project back, for who was a manager of it: the viewer is a member at once, all others follow by a task. It never
// fails for a limit. One that is there is left as it is. NotFound for others, and once it is erased; [ErrErasing] when it is too late.
func (s *Service) UndoDelete(ctx context.Context, in ChangeDeletion) (Project, error) {
	undone, err := s.changeDeletion(ctx, "undoDeleteProject", in, func(before Project, now time.Time) (Project, error) {
		switch {
		case before.Deletion.State == Reinstating:
			return before, nil
		case before.Deletion.Over(now):
			return before, ErrErasing
		}
		before.Deletion.State = Reinstating
		return before, nil
	})
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && undone.Deletion.State != Reinstating: // it may be there already, or deleted again
		return s.get(ctx, in.ID, Manager)
	case err != nil:
		return Project{}, err
	}
	s.tellMoved(ctx, undone.ID, undone.Member.User, undone.Member.Team)
	return shownTo(undone.Project), nil
}

// PurgeDeleted ends the time in which a deleted project can be brought back, for who was a manager of it: all that it has is removed.
// One that is being erased is left as it is.
func (s *Service) PurgeDeleted(ctx context.Context, in ChangeDeletion) (DeletedProject, error) {
	return s.changeDeletion(ctx, "purgeDeletedProject", in, func(before Project, now time.Time) (Project, error) {
		switch {
		case before.Deletion.State == Reinstating:
			return before, notFound("deleted project")
		case !before.Deletion.Over(now):
			before.Deletion.UndoUntil = now
		}
		return before, nil
	})
}

// changeDeletion stores the next deletion of a project; one that is the same is not stored.
func (s *Service) changeDeletion(ctx context.Context, mutation string, in ChangeDeletion, change func(Project, time.Time) (Project, error)) (DeletedProject, error) {
	return once(ctx, s, mutation, in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (DeletedProject, error) {
		return domain.Edit[*VersionConflict](retry.Until(ctx), "this project", func() (DeletedProject, error) { return s.deleted(ctx, in.ID) }, func(before DeletedProject) (DeletedProject, error) {
			now := domain.Later(s.o.Now, before.UpdatedAt)
			after, err := change(before.Project, now)
			if err != nil || after.Deletion == before.Deletion {
				return DeletedProject{after}, err
			}
			after, err = s.putDeletion(ctx, before.Project, after, now, key)
			return DeletedProject{after}, err
		})
	}, func(ctx context.Context, _ []string) (DeletedProject, error) {
		return domain.Gone(s.deleted(ctx, in.ID))
	})
}
