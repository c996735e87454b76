package project

import (
	"context"
	"fmt"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/retry"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// UndoRemoval is how long removed items can be brought back.
const UndoRemoval = 30 * 24 * time.Hour

// MaxRemovedItems is how many items a removal may name.
const MaxRemovedItems = 100

// RemovalState is where a removal stands.
type RemovalState string

// The states of a removal. Removing and Restoring begin at once, Purging when nothing can be brought back any more.
const (
	Removing  RemovalState = "REMOVING"
	Undoable  RemovalState = "REMOVED" // until UndoUntil
	Restoring RemovalState = "RESTORING"
	Restored  RemovalState = "RESTORED"
	Purging   RemovalState = "PURGING"
	Gone      RemovalState = "PURGED"
)

// Removal takes items out of a project: those that are named, those that an import brought, or those of a status. They can be
// brought back for [UndoRemoval], unless that is ended before.
type Removal struct {
	TransferID
	Items     []string // that are named; nil otherwise
	Import    string   // whose items are removed; "" otherwise
	Status    Status   // of the items that are removed; "" otherwise
	Purge     bool     // they go as soon as they are removed
	State     RemovalState
	CreatedBy UserID
	Team      string // of who created it
	CreatedAt time.Time
	EndedAt   time.Time // when all were removed
	UndoUntil time.Time // from then on nothing can be brought back
	Removed   int       // items that were removed
	Left      int       // of them, how many still are to be brought back, or to go
	Version   int
}

// Working reports whether items are still being removed.
func (r Removal) Working() bool { return r.State == Removing }

// Ended reports whether nothing changes any more until somebody asks for it, or the time to undo is over.
func (r Removal) Ended() bool { return r.State == Undoable || r.State == Restored || r.State == Gone }

// Next returns the removal in another state, at the next version.
func (r Removal) Next(state RemovalState) Removal {
	r.State = state
	r.Version++
	return r
}

// ImportID returns the import whose items the removal is about.
func (r Removal) ImportID() TransferID { return TransferID{Project: r.Project, ID: r.Import} }

// Removals keeps removals.
type Removals interface {
	// PutRemoval replaces before by after, and records the tasks with it, and who asked for it in the history; before nil stands for one that does not
	// exist, by "" for what runs by itself.
	// *[TransferConflict] when before is not the current version; Exhausted when [MaxTransfers] of the project are removing items,
	// and beyond [MaxTransfersEver].
	PutRemoval(ctx context.Context, by UserID, before *Removal, after Removal, follow []task.Task, once idempotency.Key) error
	// RemovalsByID returns the removal or the error of each id, in the order of ids. It sees every acknowledged write.
	RemovalsByID(ctx context.Context, ids []TransferID) ([]Removal, []error)
	// ListRemovals lists the removals of a project, the newest first. It sees every acknowledged write.
	ListRemovals(ctx context.Context, id ID, w page.Window) (page.Slice[Removal], error)
}

// RunRemoval is the kind of the tasks that remove items, bring them back, or have them go.
const RunRemoval task.Kind = "project-removal"

// soon distinguishes the task that brings items back or has them go from the one that removed them, which waits until then.
const soon = "-soon"

// RemovalOf returns the removal that a task is about.
func RemovalOf(t task.Task) TransferID {
	id := TransferOf(t)
	if n := len(id.ID) - len(soon); n > 0 && id.ID[n:] == soon {
		id.ID = id.ID[:n]
	}
	return id
}

// ErrImporting says that what an import brings cannot be removed yet.
var ErrImporting = &fault.Error{Kind: fault.Conflict, Message: "the import is not over: wait until it is done, or cancel it first"}

// ErrNoUndo says that a removal was undone, or that it is too late.
var ErrNoUndo = &fault.Error{Kind: fault.Conflict, Message: "what this removed was brought back, or is gone"}

// Remove is the input of [Service.Remove]: one of Items, Import and Status.
type Remove struct {
	Project        ID
	Items          []ItemID    // 1 to MaxRemovedItems
	Import         *TransferID // that is over
	Status         *Status
	Purge          bool
	IdempotencyKey *string `json:"-"`
}

// Remove has items of a project removed, for managers: a task does that, however many they are. Who has one of them is told so with the
// next request. Invalid unless exactly one of Items, Import and Status is given, or when it is of another project; [ErrImporting] while
// the import is under way; Exhausted when [MaxTransfers] removals of the project are.
func (s *Service) Remove(ctx context.Context, in Remove) (Removal, error) {
	given := 0
	for _, one := range []bool{in.Items != nil, in.Import != nil, in.Status != nil} {
		if one {
			given++
		}
	}
	switch {
	case given != 1:
		return Removal{}, fault.Invalidf("input", "give one of itemIds, importId and status")
	case in.Items != nil && (len(in.Items) < 1 || len(in.Items) > MaxRemovedItems):
		return Removal{}, fault.Invalidf("input.itemIds", "give 1 to %d items", MaxRemovedItems)
	case in.Import != nil && in.Import.Project != in.Project:
		return Removal{}, fault.Invalidf("input.importId", "this import is of another project")
	}
	var names []string
	for n, id := range in.Items {
		if id.Project != in.Project {
			return Removal{}, fault.Invalidf(fmt.Sprintf("input.itemIds.%d", n), "this item is of another project")
		}
		names = append(names, id.ID)
	}
	return once(ctx, s, "removeProjectItems", in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Removal, error) {
		p, err := s.get(ctx, in.Project, Manager)
		if err != nil {
			return Removal{}, err
		}
		now := domain.Later(s.o.Now, time.Time{})
		r := Removal{
			TransferID: TransferID{Project: p.ID, ID: s.o.NewID()}, Items: names, Purge: in.Purge, State: Removing,
			CreatedBy: p.Member.User, Team: p.Member.Team, CreatedAt: now, Version: 1,
		}
		if in.Status != nil {
			r.Status = *in.Status
		}
		if in.Import != nil {
			i, err := s.imported(ctx, *in.Import)
			if err != nil {
				return Removal{}, err
			}
			if !i.State.Ended() {
				return Removal{}, ErrImporting
			}
			r.Import = i.ID
		}
		return r, s.o.Store.PutRemoval(ctx, p.Member.User, nil, r, []task.Task{r.task(RunRemoval, now)}, key.With(r.ID))
	}, func(ctx context.Context, result []string) (Removal, error) {
		return domain.Gone(s.removal(ctx, TransferID{Project: in.Project, ID: result[0]}))
	})
}

// removal returns the removal, for managers.
func (s *Service) removal(ctx context.Context, id TransferID) (Removal, error) {
	if _, err := domain.Self(ctx); err != nil {
		return Removal{}, err
	}
	return domain.First(s.RemovalsByID(ctx, []TransferID{id}))
}

// RemovalsByID returns the removal or the error of each id, in the order of ids. NotFound for who is no member of the project,
// Forbidden for who is no manager.
func (s *Service) RemovalsByID(ctx context.Context, ids []TransferID) ([]Removal, []error) {
	return byRef(ctx, s, bare(ids), Manager, "removal", s.o.Store.RemovalsByID, func(*Removal, proof) {})
}

// ListRemovals lists the removals of a project that the viewer was shown. NotFound for others, Forbidden for who is no manager.
func (s *Service) ListRemovals(ctx context.Context, r TransfersRequest) (page.Slice[Removal], error) {
	if err := allow(r.as, Manager, "project"); err != nil {
		return page.Slice[Removal]{}, err
	}
	return s.o.Store.ListRemovals(ctx, r.Project, r.Window)
}

// ChangeRemoval is the input of [Service.UndoRemoval] and [Service.PurgeRemoval].
type ChangeRemoval struct {
	Removal        TransferID
	IdempotencyKey *string `json:"-"`
}

// UndoRemoval brings back what was removed, for managers, also while it is being removed: a task does that. It never fails for the number
// of items of the project. One that is undone already is left as it is. [ErrNoUndo] when it is too late.
func (s *Service) UndoRemoval(ctx context.Context, in ChangeRemoval) (Removal, error) {
	return s.changeRemoval(ctx, "undoProjectRemoval", in, func(before Removal) (Removal, error) {
		switch {
		case before.State == Restoring || before.State == Restored:
			return before, nil
		case before.State != Removing && before.State != Undoable, before.State == Undoable && !s.o.Now().Before(before.UndoUntil):
			return before, ErrNoUndo
		}
		after := before.Next(Restoring)
		after.Left = after.Removed
		return after, nil
	})
}

// PurgeRemoval ends the time in which a removal can be undone, for managers: what it removed goes. One that is purged already is left as it
// is. [ErrNoUndo] when it was undone.
func (s *Service) PurgeRemoval(ctx context.Context, in ChangeRemoval) (Removal, error) {
	return s.changeRemoval(ctx, "purgeProjectRemoval", in, func(before Removal) (Removal, error) {
		switch before.State {
		case Purging, Gone:
			return before, nil
		case Removing: // all of it is removed first
			if before.Purge {
				return before, nil
			}
			after := before.Next(Removing)
			after.Purge = true
			return after, nil
		case Undoable:
			after := before.Next(Purging)
			after.Left = after.Removed
			return after, nil
		}
		return before, ErrNoUndo
	})
}

// changeRemoval stores the next state of a removal. What is removing items notices by itself; what waits gets a task of its own.
func (s *Service) changeRemoval(ctx context.Context, mutation string, in ChangeRemoval, change func(Removal) (Removal, error)) (Removal, error) {
	return once(ctx, s, mutation, in.IdempotencyKey, in, func(ctx context.Context, key idempotency.Key) (Removal, error) {
		return domain.Edit[*TransferConflict](retry.Until(ctx), "this removal", func() (Removal, error) { return s.removal(ctx, in.Removal) }, func(before Removal) (Removal, error) {
			after, err := change(before)
			if err != nil || after.Version == before.Version {
				return after, err
			}
			var follow []task.Task
			if !before.Working() {
				t := after.task(RunRemoval, domain.Later(s.o.Now, time.Time{}))
				t.ID += soon
				follow = append(follow, t)
			}
			return after, s.o.Store.PutRemoval(ctx, viewer.From(ctx).UserID, &before, after, follow, key.With(after.ID))
		})
	}, func(ctx context.Context, _ []string) (Removal, error) { return domain.Gone(s.removal(ctx, in.Removal)) })
}
