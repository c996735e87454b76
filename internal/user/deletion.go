package user

import (
	"context"
	"errors"
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

// DeletedUser is a user who was deleted, as administrators and the user see it.
type DeletedUser struct{ User }

// State is where the deletion stands: [domain.Deleted] or [domain.Erasing].
func (d DeletedUser) State() domain.DeletionState { return d.Deletion.State }

// DeletedAt is when the user was deleted.
func (d DeletedUser) DeletedAt() time.Time { return d.Deletion.At }

// UndoUntil is until when the user can be brought back.
func (d DeletedUser) UndoUntil() time.Time { return d.Deletion.UndoUntil }

// Access is what decides whether the tokens of a user count. The zero Access is that of who was never revoked.
type Access struct {
	Revoked  time.Time       // tokens that were issued by then are revoked
	Deletion domain.Deletion // By and At are not kept here
}

// RunErasure is the kind of task that looks again whether others need a deleted user, waits until the user cannot be brought back, and removes all that the
// user has.
const RunErasure task.Kind = "user-erasure"

// namedLeft is how many projects and scopes [StillNeeded] names.
const namedLeft = 100

// Left is a project or scope that others need somebody to manage.
type Left struct {
	Project bool // otherwise it is a scope
	ID      string
	Name    string // "" for who deletes another user, and need not know it
}

// StillNeeded says that a user cannot be deleted, because others are members of projects and scopes that nobody else manages or owns.
type StillNeeded struct{ Of []Left }

// Error says so, for people.
func (*StillNeeded) Error() string {
	return "others are members of projects or scopes that only this user manages: name another manager or owner first, or delete them"
}

// ErrErasing says that a deleted user cannot be brought back any more.
var ErrErasing = &fault.Error{Kind: fault.Conflict, Message: "it is too late: the user is being erased"}

// noDeletedUser is the fault of who is not deleted, or is nobody's business.
func noDeletedUser() error { return fault.New(fault.NotFound, "there is no such deleted user") }

// Deletions keeps users who were deleted. To everything else that asks the store they do not exist.
type Deletions interface {
	// DeletedByID returns the deleted user or the error of each id, in the order of ids; NotFound for one who is not deleted. It sees every
	// acknowledged write.
	DeletedByID(ctx context.Context, ids []ID) ([]DeletedUser, []error)
	// ListDeleted lists the deleted users, those first who can be brought back for the shortest time. It may miss a change that was acknowledged a moment ago.
	ListDeleted(ctx context.Context, w page.Window) (page.Slice[DeletedUser], error)
	// PutDeletion replaces before, which must be the current version, by after, whose Deletion is another one, together with the task that follows.
	// When the deletion begins, it revokes the tokens that were issued by then, as [Store.RevokeUser] does. Each change is atomic. *[VersionConflict].
	PutDeletion(ctx context.Context, before, after User, follow []task.Task, once idempotency.Key) error
}

// Managed finds what others need a user for. Others are those who are not deleted.
type Managed interface {
	// LastOf returns up to so many projects or scopes that have other members, and that nobody but the user manages. It sees every acknowledged write.
	LastOf(ctx context.Context, id ID, limit int) ([]Left, error)
}

// Delete is the input of [Service.Delete].
type Delete struct {
	User           ID // "" for the viewer
	IdempotencyKey *string
}

// Delete deletes the viewer, or any user for administrators. At once the user is signed out everywhere, as by [Service.Revoke], and nobody finds the user
// any more. The user can be brought back for [domain.UndoDeletion]; then a task removes all that the user has. *[StillNeeded] as an expected
// outcome. Who is deleted already is left as they are.
//
// Two who manage something together may be deleted at the same moment. So [Service.LookAgain] follows, also for a client who has left. A server that is
// lost before that leaves it to the task. Tokens from before are revoked then, too. With the idempotency key of a deletion that was taken back, it is said what
// others need the user for.
func (s *Service) Delete(ctx context.Context, in Delete) (DeletedUser, error) {
	id, err := s.whom(ctx, in.User)
	if err != nil {
		return DeletedUser{}, err
	}
	begins := false
	deleted, err := s.changeDeletion(ctx, "deleteUser", id, in.IdempotencyKey, func() (User, error) {
		u, err := s.reread(ctx, []string{string(id)})
		if fault.Is(err, fault.NotFound) {
			var gone DeletedUser
			gone, err = domain.First(s.o.Store.DeletedByID(ctx, []ID{id}))
			return gone.User, err
		}
		if err == nil {
			err = s.needed(ctx, id)
		}
		return u, err
	}, func(before User, now time.Time) (domain.Deletion, error) {
		if begins = before.Deletion.State == ""; !begins {
			return before.Deletion, nil
		}
		return domain.Deletion{State: domain.Deleted, By: viewer.From(ctx).UserID, At: now, UndoUntil: now.Add(domain.UndoDeletion)}, nil
	})
	switch {
	case err != nil:
	case begins:
		err = s.LookAgain(ctx, deleted)
	case deleted.ID == "" || deleted.Deletion.State == "": // a repeated request, and the user is there
		err = s.needed(ctx, id)
	}
	if err != nil {
		return DeletedUser{}, err
	}
	return deleted, nil
}

// lookTime is how long [Service.LookAgain] may take.
const lookTime = 10 * time.Second

// LookAgain looks once more what others need a user for whose deletion has begun, and brings the user back if there is something: *[StillNeeded]. It goes on
// when the context ends. Whose deletion was changed since stays as they are.
func (s *Service) LookAgain(ctx context.Context, deleted DeletedUser) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	err := s.needed(ctx, deleted.ID)
	if _, needed := errors.AsType[*StillNeeded](err); !needed {
		return err
	}
	if failed := s.takeBack(ctx, deleted); failed != nil {
		return failed
	}
	return err
}

// takeBack brings a user back whose deletion has begun, unless somebody has changed it since.
func (s *Service) takeBack(ctx context.Context, deleted DeletedUser) error {
	_, err := s.changeDeletion(ctx, "deleteUser", deleted.ID, nil, func() (User, error) {
		now, err := domain.First(s.o.Store.DeletedByID(ctx, []ID{deleted.ID}))
		return now.User, err
	}, func(before User, _ time.Time) (domain.Deletion, error) {
		if before.Version != deleted.Version {
			return before.Deletion, nil
		}
		return domain.Deletion{}, nil
	})
	return domain.IgnoreMissing(err)
}

// whom returns who is to be deleted, if the viewer may do that. Faults: Unauthenticated, Forbidden.
func (s *Service) whom(ctx context.Context, id ID) (ID, error) {
	v := viewer.From(ctx)
	if id == "" || v.Is(id) {
		return domain.Self(ctx)
	}
	return id, domain.AdminsOnly(ctx)
}

// needed refuses to delete a user whom others need: *[StillNeeded].
func (s *Service) needed(ctx context.Context, id ID) error {
	var left []Left
	for _, m := range s.o.Managed {
		some, err := m.LastOf(ctx, id, namedLeft-len(left))
		if err != nil {
			return err
		}
		if left = append(left, some...); len(left) >= namedLeft {
			break
		}
	}
	if len(left) == 0 {
		return nil
	}
	if !viewer.From(ctx).Is(id) { // an administrator need not be a member of these
		for i := range left {
			left[i].Name = ""
		}
	}
	return &StillNeeded{left}
}

// ChangeDeletion is the input of [Service.UndoDelete] and [Service.PurgeDeleted].
type ChangeDeletion struct {
	User           ID // "" for the user whose token this is
	IdempotencyKey *string
}

// UndoDelete brings a deleted user back with all that the user has: for administrators, and for the user with a token that was issued after the
// deletion. It never fails for a limit. Who is not deleted is left as they are. NotFound for others, and once the user is erased; [ErrErasing] when it
// is too late.
func (s *Service) UndoDelete(ctx context.Context, in ChangeDeletion) (User, error) {
	id, err := s.deletedWhom(ctx, in.User)
	if err != nil {
		return User{}, err
	}
	undone, err := s.changeDeletion(ctx, "undoDeleteUser", id, in.IdempotencyKey, func() (User, error) {
		deleted, err := domain.First(s.o.Store.DeletedByID(ctx, []ID{id}))
		return deleted.User, err
	}, func(before User, now time.Time) (domain.Deletion, error) {
		if before.Deletion.Over(now) {
			return before.Deletion, ErrErasing
		}
		return domain.Deletion{}, nil
	})
	u := undone.User
	if fault.Is(err, fault.NotFound) || err == nil && (u.ID == "" || u.Deletion.State != "") { // the user may be there already, or deleted again
		u, err = s.reread(ctx, []string{string(id)})
	}
	if err == nil && viewer.From(ctx).Deletion.User == id {
		viewer.SignedUp(ctx, id)
	}
	return u, err
}

// PurgeDeleted ends the time in which a deleted user can be brought back; for those who may do that. Who is being erased is left as they are.
func (s *Service) PurgeDeleted(ctx context.Context, in ChangeDeletion) (DeletedUser, error) {
	id, err := s.deletedWhom(ctx, in.User)
	if err != nil {
		return DeletedUser{}, err
	}
	return s.changeDeletion(ctx, "purgeDeletedUser", id, in.IdempotencyKey, func() (User, error) {
		deleted, err := domain.First(s.o.Store.DeletedByID(ctx, []ID{id}))
		return deleted.User, err
	}, func(before User, now time.Time) (domain.Deletion, error) {
		after := before.Deletion
		if !after.Over(now) {
			after.UndoUntil = now
		}
		after.State = domain.Erasing
		return after, nil
	})
}

// deletedWhom returns which deleted user is meant, if the viewer may bring that one back. Faults: Unauthenticated, NotFound.
func (s *Service) deletedWhom(ctx context.Context, id ID) (ID, error) {
	v := viewer.From(ctx)
	switch {
	case v.Deletion.User != "": // also an administrator has no other power then
		if id == "" || id == v.Deletion.User {
			return v.Deletion.User, nil
		}
		return "", noDeletedUser()
	case id == "":
		return domain.Self(ctx)
	case v.Admin(), v.Is(id):
		return id, nil
	case v.Anonymous():
		return "", fault.New(fault.Unauthenticated, "sign in first: send a token")
	}
	return "", noDeletedUser()
}

// changeDeletion stores the next deletion of a user, and tells all servers; one that is the same is not stored.
func (s *Service) changeDeletion(ctx context.Context, mutation string, id ID, key *string, read func() (User, error), change func(User, time.Time) (domain.Deletion, error)) (DeletedUser, error) {
	by := viewer.From(ctx).UserID
	if by == "" {
		by = viewer.From(ctx).Deletion.User
	}
	request := idempotency.Request{Viewer: string(by), Mutation: mutation, Key: key, Input: id}
	changed, err := idempotency.Do(ctx, s.guard(), request, func(ctx context.Context, once idempotency.Key) (User, error) {
		return domain.Edit[*VersionConflict](retry.Until(ctx), "this user", read, func(before User) (User, error) {
			now := domain.Later(s.o.Now, before.UpdatedAt)
			deletion, err := change(before, now)
			if err != nil || deletion == before.Deletion {
				return before, err
			}
			return s.putDeletion(ctx, before, deletion, now, once)
		})
	}, func(ctx context.Context, _ []string) (User, error) {
		deleted, err := domain.Gone(domain.First(s.o.Store.DeletedByID(ctx, []ID{id})))
		return deleted.User, err
	})
	if err != nil {
		return DeletedUser{}, err
	}
	s.Forget(id)
	if s.o.Announcer != nil {
		if access, err := s.access(ctx, id); err == nil {
			_ = s.o.Announcer.Announce(ctx, string(id), access.Revoked) // the others look
		}
	}
	return DeletedUser{changed}, nil
}

// putDeletion stores a user whose deletion is another one, at the next version, with the task that goes on with it.
func (s *Service) putDeletion(ctx context.Context, before User, deletion domain.Deletion, now time.Time, once idempotency.Key) (User, error) {
	after := before
	after.Deletion, after.Version, after.UpdatedAt = deletion, before.Version+1, now
	var follow []task.Task
	if deletion.State != "" {
		follow = append(follow, DeletedUser{after}.Erasure())
	}
	return after, s.o.Store.PutDeletion(ctx, before, after, follow, once.With(string(after.ID)))
}

// Erasure is the task that goes on with the deletion: [Settle] after its beginning, when who asked for it has looked again, or as soon as the user cannot be
// brought back.
func (d DeletedUser) Erasure() task.Task {
	due, until := d.Deletion.At.Add(Settle), d.Deletion.UndoUntil
	if until.Before(due) {
		due = until
	}
	return task.Task{Kind: RunErasure, ID: string(d.ID) + "/" + strconv.FormatInt(until.UnixMilli(), 10), Scope: string(d.ID), Due: due}
}

// ListDeleted lists the deleted users, those first who can be brought back for the shortest time. Unauthenticated or Forbidden for everybody but
// administrators.
func (s *Service) ListDeleted(ctx context.Context, w page.Window) (page.Slice[DeletedUser], error) {
	if err := domain.AdminsOnly(ctx); err != nil {
		return page.Slice[DeletedUser]{}, err
	}
	return s.o.Store.ListDeleted(ctx, w)
}
