package entity

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

// DeletedScope is a scope that was deleted, as its owners see it.
type DeletedScope struct{ Scope }

// State is where its deletion stands: [domain.Deleted] or [domain.Erasing].
func (d DeletedScope) State() domain.DeletionState { return d.Deletion.State }

// DeletedAt is when somebody deleted it.
func (d DeletedScope) DeletedAt() time.Time { return d.Deletion.At }

// UndoUntil is until when it can be brought back.
func (d DeletedScope) UndoUntil() time.Time { return d.Deletion.UndoUntil }

// ErrErasing says that a deleted scope cannot be brought back any more.
var ErrErasing = &fault.Error{Kind: fault.Conflict, Message: "it is too late: the scope is being erased"}

// noDeletedScope is the fault of what only owners of a deleted scope may do.
func noDeletedScope() error { return fault.New(fault.NotFound, "there is no such deleted scope") }

// DeleteScope is the input of [Service.DeleteScope].
type DeleteScope struct {
	Scope           string
	Purge           bool // it cannot be brought back
	ExpectedVersion *int
	IdempotencyKey  *string `json:"-"`
}

// DeleteScope deletes a scope; owners only. At once nobody sees it any more. It can be brought back for [domain.UndoDeletion], unless
// Purge is set; then a task removes all that it has. *[ScopeConflict] as an expected outcome.
func (s *Service) DeleteScope(ctx context.Context, in DeleteScope) (DeletedScope, error) {
	return domain.Once(ctx, s.guard(), "deleteScope", in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (DeletedScope, error) {
		after, err := s.editScope(ctx, in.Scope, in.ExpectedVersion, once, func(after *Scope) ([]task.Task, error) {
			now := after.UpdatedAt
			after.Deletion = domain.Deletion{State: domain.Deleted, By: viewer.From(ctx).UserID, At: now, UndoUntil: now.Add(domain.UndoDeletion)}
			if in.Purge {
				after.Deletion.State, after.Deletion.UndoUntil = domain.Erasing, now
			}
			return []task.Task{after.erase()}, nil
		})
		return DeletedScope{after}, err
	}, func(ctx context.Context, _ []string) (DeletedScope, error) {
		return domain.Gone(s.deletedScope(ctx, in.Scope))
	})
}

// deletedScope returns a deleted scope; owners only, NotFound for others.
func (s *Service) deletedScope(ctx context.Context, id string) (DeletedScope, error) {
	me, err := domain.Self(ctx)
	if err != nil {
		return DeletedScope{}, err
	}
	if checkID("", id) != nil {
		return DeletedScope{}, noDeletedScope()
	}
	scope, err := domain.First(s.o.Store.ScopesByID(ctx, me, []string{id}))
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && (scope.Role != OwnerRole || scope.Deletion.State == ""):
		return DeletedScope{}, noDeletedScope()
	case err != nil:
		return DeletedScope{}, err
	}
	return DeletedScope{scope}, nil
}

// ListDeletedScopes lists the deleted scopes of which the user is an owner, by id. Forbidden for everybody else.
func (s *Service) ListDeletedScopes(ctx context.Context, user UserID, w page.Window) (page.Slice[DeletedScope], error) {
	if !viewer.From(ctx).Is(user) {
		return page.Slice[DeletedScope]{}, fault.New(fault.Forbidden, "only the user may see this")
	}
	return s.o.Store.ListDeletedScopes(ctx, user, w)
}

// ChangeDeletion is the input of [Service.UndoDeleteScope] and [Service.PurgeDeletedScope].
type ChangeDeletion struct {
	Scope          string
	IdempotencyKey *string `json:"-"`
}

// UndoDeleteScope brings a deleted scope back with all that it has; owners only. It never fails for a limit. One that is not deleted is
// left as it is. NotFound for others, and once it is erased; [ErrErasing] when it is too late.
func (s *Service) UndoDeleteScope(ctx context.Context, in ChangeDeletion) (Scope, error) {
	undone, err := s.changeDeletion(ctx, "undoDeleteScope", in, func(before Scope, now time.Time) (domain.Deletion, error) {
		if before.Deletion.Over(now) {
			return before.Deletion, ErrErasing
		}
		return domain.Deletion{}, nil
	})
	if fault.Is(err, fault.NotFound) || err == nil && (undone.ID == "" || undone.Deletion.State != "") { // it may be there already, or deleted again
		return s.scope(ctx, in.Scope, OwnerRole)
	}
	return undone.Scope, err
}

// PurgeDeletedScope ends the time in which a deleted scope can be brought back; owners only. One that is being erased is left as it is.
func (s *Service) PurgeDeletedScope(ctx context.Context, in ChangeDeletion) (DeletedScope, error) {
	return s.changeDeletion(ctx, "purgeDeletedScope", in, func(before Scope, now time.Time) (domain.Deletion, error) {
		after := before.Deletion
		if !after.Over(now) {
			after.UndoUntil = now
		}
		after.State = domain.Erasing
		return after, nil
	})
}

// changeDeletion stores the next deletion of a scope; one that is the same is not stored.
func (s *Service) changeDeletion(ctx context.Context, mutation string, in ChangeDeletion, change func(Scope, time.Time) (domain.Deletion, error)) (DeletedScope, error) {
	return domain.Once(ctx, s.guard(), mutation, in.IdempotencyKey, in, func(ctx context.Context, once idempotency.Key) (DeletedScope, error) {
		return domain.Edit[*ScopeConflict](s.turns.Until(ctx, "scope "+in.Scope), "this scope", func() (DeletedScope, error) { return s.deletedScope(ctx, in.Scope) }, func(before DeletedScope) (DeletedScope, error) {
			now := domain.Later(s.o.Now, before.UpdatedAt)
			deletion, err := change(before.Scope, now)
			if err != nil || deletion == before.Deletion {
				return before, err
			}
			after, err := s.putDeletion(ctx, before.Scope, deletion, now, once.With(in.Scope))
			return DeletedScope{after}, err
		})
	}, func(ctx context.Context, _ []string) (DeletedScope, error) {
		return domain.Gone(s.deletedScope(ctx, in.Scope))
	})
}

// putDeletion stores a scope whose deletion is another one, at its next version, with the task that goes on with it.
func (s *Service) putDeletion(ctx context.Context, before Scope, deletion domain.Deletion, now time.Time, once idempotency.Key) (Scope, error) {
	after := before
	after.Deletion, after.Version, after.UpdatedAt = deletion, before.Version+1, now
	var follow []task.Task
	if deletion.State != "" {
		follow = append(follow, after.erase())
	}
	return after, s.o.Store.PutScope(ctx, &before, after, nil, follow, once)
}

// erase returns the task that goes on with the deletion when the scope cannot be brought back.
func (s Scope) erase() task.Task {
	until := s.Deletion.UndoUntil
	return task.Task{Kind: EraseScope, ID: s.ID + "/" + strconv.FormatInt(until.UnixMilli(), 10), Scope: s.ID, Due: until}
}

// eraseScope removes all that a scope has which cannot be brought back any more: [Settle] after nobody can do that, when whoever had
// found the scope there has ended, and what the indexes of the scope rebuilds has noticed.
func (s *Service) eraseScope(ctx context.Context, t task.Task) (time.Time, error) {
	for range retry.Until(ctx) {
		scope, err := domain.First(s.o.Store.ScopesByID(ctx, "", []string{t.Scope}))
		switch {
		case fault.Is(err, fault.NotFound):
			return s.o.Store.EraseScopes(ctx, t.Scope) // which other tasks may wait for
		case err != nil:
			return time.Time{}, err
		case scope.Deletion.State == "" || scope.erase().ID != t.ID:
			return time.Time{}, nil // it was brought back, or another task follows from what was done since
		case scope.Deletion.State == domain.Erasing:
			if settled := scope.UpdatedAt.Add(Settle); s.o.Now().Before(settled) {
				return settled, nil
			}
			return s.o.Store.EraseScopes(ctx, t.Scope)
		case s.o.Now().Before(scope.Deletion.UndoUntil):
			return scope.Deletion.UndoUntil, nil
		}
		deletion := scope.Deletion
		deletion.State = domain.Erasing
		if _, err := s.putDeletion(ctx, scope, deletion, domain.Later(s.o.Now, scope.UpdatedAt), idempotency.Key{}); err != nil {
			if conflict := (*ScopeConflict)(nil); !errors.As(err, &conflict) {
				return time.Time{}, err
			}
		}
	}
	return time.Time{}, retry.Busy("the scope")
}
