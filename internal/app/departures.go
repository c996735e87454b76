package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/archives"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

// lastManaged are the projects that others need a user for.
type lastManaged struct{ projects.Store }

// LastOf lists them.
func (m lastManaged) LastOf(ctx context.Context, id user.ID, limit int) ([]user.Left, error) {
	last, err := m.LastManaged(ctx, id, limit)
	left := make([]user.Left, len(last))
	for i, p := range last {
		left[i] = user.Left{Project: true, ID: string(p.ID), Name: p.Name}
	}
	return left, err
}

// lastOwned are the scopes that others need a user for.
type lastOwned struct{ entities.Store }

// LastOf lists them.
func (m lastOwned) LastOf(ctx context.Context, id user.ID, limit int) ([]user.Left, error) {
	last, err := m.LastOwned(ctx, id, limit)
	left := make([]user.Left, len(last))
	for i, s := range last {
		left[i] = user.Left{ID: s.ID, Name: s.Name}
	}
	return left, err
}

// departure removes what deleted users have, with the services and stores that remove each of these things one by one. The services are asked as the user.
type departure struct {
	users    users.Store
	notes    notes.Store
	tags     filetags.Store
	library  scores.Items
	kept     scores.Store
	entities entities.Store
	projects projects.Store
	archives archives.Store
	scopes   *entity.Service
	project  *project.Service
	scores   *score.Service
	items    *score.Items
	bucket   *blob.Bucket
	streams  queue.Streams
	traces   traces
	now      func() time.Time
}

// later is the error of a phase that waits for tasks.
func later() error { return &user.Later{} }

// phases are the steps of an erasure. What is found by something goes before that.
func (d departure) phases() []user.Phase {
	return slices.Concat([]user.Phase{
		{Name: "archives", Erase: d.eraseArchives},
		{Name: "shares", Erase: d.notes.EraseShares},
		{Name: "received", Erase: d.notes.EraseReceived},
		{Name: "notes", Erase: d.notes.EraseNotes},
		{Name: "tags", Erase: func(ctx context.Context, id user.ID, _ string) (string, error) { return "", d.tags.EraseSets(ctx, id) }},
		{Name: "kept scores", Erase: d.eraseKept},
		{Name: "scores", Erase: d.eraseScores},
		{Name: "items", Erase: d.eraseItems},
		{Name: "scopes", Erase: d.eraseScopes},
		{Name: "projects", Erase: d.eraseProjects},
	}, d.traces.phases(), []user.Phase{{Name: "rest", Erase: d.eraseRest}})
}

// as returns a context in which services are asked as the user.
func (departure) as(ctx context.Context, id user.ID) context.Context {
	return viewer.With(ctx, viewer.Viewer{Identity: viewer.Identity{Issuer: string(user.RunErasure), Subject: string(id)}, UserID: id})
}

// eraseArchives removes archives, and their files when who writes one has noticed.
func (d departure) eraseArchives(ctx context.Context, id user.ID, position string) (string, error) {
	if position == "" {
		if any, err := d.archives.EraseArchives(ctx, id); err != nil || !any {
			return "files", err
		}
		return "files", &user.Later{At: d.now().Add(task.Lease)}
	}
	return "", d.eraseFiles(ctx, archive.Key(archive.ID{User: id}))
}

// eraseFiles removes the objects that have a prefix.
func (d departure) eraseFiles(ctx context.Context, prefix string) error {
	keys, err := d.bucket.List(ctx, prefix)
	for _, key := range keys {
		err = errors.Join(err, d.bucket.Delete(ctx, key))
	}
	return err
}

// eraseKept removes the list of scores that a user keeps.
func (d departure) eraseKept(ctx context.Context, id user.ID, _ string) (string, error) {
	kept, err := d.kept.ListKept(ctx, id, page.Window{Limit: page.Max})
	if err != nil {
		return "", err
	}
	for _, k := range kept.Items {
		if err := d.kept.DropScore(ctx, id, k.Score, idempotency.Key{}); err != nil {
			return "", err
		}
	}
	return goOn(len(kept.Items), false)
}

// eraseScores removes scores with their snapshots. Tasks remove what is left of them, and end the uses of their items; their events go with the traces.
func (d departure) eraseScores(ctx context.Context, id user.ID, _ string) (string, error) {
	ctx = d.as(ctx, id)
	all, err := d.scores.List(ctx, id, page.Window{Limit: page.Max})
	removed := 0
	for _, s := range all.Items {
		err := d.scores.Delete(ctx, score.Delete{Score: s.Ref})
		if err == nil {
			removed++
		}
		if err := domain.IgnoreMissing(err); err != nil {
			return "", err
		}
	}
	if err != nil {
		return "", err
	}
	return goOn(len(all.Items), removed == 0 && len(all.Items) > 0) // what is gone is listed for a moment
}

// The steps of the erasure of items. A position is a step, and where in the list it goes on.
const (
	itemsWithdrawn = "" // each item is removed, or withdrawn from the projects that use it
	itemsAwaited   = "awaited"
)

// eraseItems removes items and uploads with their files, a page at a time. Those that projects use are withdrawn first, and tasks end these uses side by side. Then
// it goes through the list once more, and waits at each page until nobody uses what is on it.
func (d departure) eraseItems(ctx context.Context, id user.ID, position string) (string, error) {
	ctx = d.as(ctx, id)
	step, from, _ := strings.Cut(position, " ")
	all, err := domain.First(d.items.ListItems(ctx, []score.ItemsRequest{{Of: score.Ref{Owner: id}, Window: page.Window{From: from, Limit: page.Max}}}))
	if err != nil {
		return "", err
	}
	waits := false
	for _, i := range all.Items {
		used, err := d.eraseItem(ctx, i)
		if err != nil {
			return "", err
		}
		waits = waits || used
	}
	switch {
	case waits && step == itemsAwaited:
		return position, later()
	case all.More && len(all.Positions) > 0:
		return step + " " + all.Positions[len(all.Positions)-1], nil
	case step == itemsWithdrawn:
		return itemsAwaited, d.eraseUploads(ctx, id)
	}
	left, err := d.library.EraseOwner(ctx, id)
	if err == nil && left {
		return itemsAwaited, later() // hardly anything is listed by now
	}
	return "", err
}

// eraseUploads removes uploads that are not completed.
func (d departure) eraseUploads(ctx context.Context, id user.ID) error {
	uploads, err := d.library.OpenUploads(ctx, id)
	if err != nil {
		return err
	}
	for _, ref := range uploads {
		if err := domain.IgnoreMissing(d.items.Abort(ctx, score.AbortUpload{Upload: ref})); err != nil {
			return err
		}
	}
	return nil
}

// eraseItem removes an item, or withdraws it while somebody uses it. It reports whether it is still there.
func (d departure) eraseItem(ctx context.Context, i score.Item) (used bool, err error) {
	if i.Refs == 0 {
		err := domain.IgnoreMissing(d.items.Delete(ctx, score.DeleteItem{Item: i.ItemRef}))
		if _, used := errors.AsType[*score.ItemInUse](err); !used {
			return false, err
		}
	}
	if !i.Withdrawn.IsZero() {
		return true, nil
	}
	_, err = d.items.Withdraw(ctx, score.WithdrawItem{Item: i.ItemRef})
	return err == nil, domain.IgnoreMissing(err)
}

// eraseScopes takes a user out of all scopes. A scope without an owner who is left is removed, unless members are: then one of them becomes the owner. It waits
// for members who can be brought back.
func (d departure) eraseScopes(ctx context.Context, id user.ID, _ string) (string, error) {
	ctx = d.as(ctx, id)
	all, err := d.entities.ListAllScopes(ctx, id, page.Window{Limit: page.Max})
	if err != nil {
		return "", err
	}
	waits, held := false, held{}
	for _, s := range all.Items {
		wait, err := d.leaveScope(ctx, id, s)
		if held.waits(err) {
			continue
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return "", err
		}
		waits = waits || wait || err != nil // what is gone is listed for a moment
	}
	next, err := goOn(len(all.Items)-held.things, waits)
	if err == nil && next == "" {
		err = held.later(d.now())
	}
	return next, err
}

// held are the things that wait for members who can be brought back.
type held struct {
	things int
	until  time.Time // the first of them
}

// waits adds a thing that somebody leaves, if the error is [user.Later].
func (h *held) waits(left error) bool {
	later, is := errors.AsType[*user.Later](left)
	if is && (h.things == 0 || later.At.Before(h.until)) {
		h.until = later.At
	}
	if is {
		h.things++
	}
	return is
}

// later is the error of a phase in which only these things are left; nil for none.
func (h *held) later(now time.Time) error {
	switch {
	case h.things == 0:
		return nil
	case h.until.After(now):
		return &user.Later{At: h.until}
	}
	return later() // their own erasures begin in a moment
}

// leaveScope has a user no longer be in a scope, and reports whether that is still to come. *[user.Later] when nobody is left but those who can be brought back
// until then.
func (d departure) leaveScope(ctx context.Context, id user.ID, s entity.Scope) (waits bool, err error) {
	if s.Deletion.State == domain.Erasing {
		return true, nil
	}
	if s.Role == entity.OwnerRole {
		others, err := d.entities.Others(ctx, id, s.ID)
		switch {
		case err != nil:
			return false, err
		case others.Managed, others.Awaited && (others.Heir.User == "" || s.Deletion.State != ""):
		case s.Deletion.State != "": // nobody else can bring it back
			_, err = d.scopes.PurgeDeletedScope(ctx, entity.ChangeDeletion{Scope: s.ID})
			return true, err
		case others.Heir.User == "" && !others.Until.IsZero():
			return true, &user.Later{At: others.Until}
		case others.Heir.User == "":
			_, err = d.scopes.DeleteScope(ctx, entity.DeleteScope{Scope: s.ID, Purge: true})
			return true, err
		default:
			if is, err := d.entities.Inherit(ctx, others.Heir); err != nil || !is {
				return true, err
			}
		}
	}
	return false, d.entities.DeleteMember(ctx, s.ID, id, idempotency.Key{})
}

// eraseProjects does the same for projects.
func (d departure) eraseProjects(ctx context.Context, id user.ID, _ string) (string, error) {
	ctx = d.as(ctx, id)
	deleted, err := domain.First(d.users.DeletedByID(ctx, []user.ID{id}))
	if err != nil {
		return "", err
	}
	all, err := d.projects.ListAll(ctx, id, page.Window{Limit: page.Max})
	if err != nil {
		return "", err
	}
	waits, held := false, held{}
	for _, p := range all.Items {
		wait, err := d.leaveProject(ctx, deleted, p)
		if held.waits(err) {
			continue
		}
		missed := errors.Is(err, projects.ErrStale) || fault.Is(err, fault.NotFound) // somebody else was faster
		if err != nil && !missed {
			return "", err
		}
		waits = waits || wait || missed
	}
	next, err := goOn(len(all.Items)-held.things, waits)
	if err == nil && next == "" {
		err = held.later(d.now())
	}
	return next, err
}

// leaveProject has a user no longer be in a project, and reports whether that is still to come. Who has joined since the user was deleted, by an invitation, does
// not inherit. *[user.Later] as leaveScope.
func (d departure) leaveProject(ctx context.Context, deleted user.DeletedUser, p project.Project) (waits bool, err error) {
	id := deleted.ID
	if s := p.Deletion.State; s == project.Deleting || s == project.Reinstating || s == project.Erasing || p.Member.Team == "" {
		return true, nil
	}
	if p.Member.Type.May(project.Manager) {
		others, err := d.projects.Others(ctx, id, p)
		if others.Heir.AddedAt.After(deleted.DeletedAt()) {
			others.Heir = project.Member{}
		}
		switch {
		case err != nil:
			return false, err
		case others.Managed, others.Awaited && (others.Heir.User == "" || p.Deletion.State != ""):
		case p.Deletion.State != "": // nobody else can bring it back
			_, err = d.project.PurgeDeleted(ctx, project.ChangeDeletion{ID: p.ID})
			return true, err
		case others.Heir.User == "" && !others.Until.IsZero():
			return true, &user.Later{At: others.Until}
		case others.Heir.User == "":
			_, err = d.project.Delete(ctx, project.Delete{ID: p.ID, Purge: true})
			return true, err
		default:
			if err := d.projects.Inherit(ctx, others.Heir, p.Member.Team); err != nil {
				return false, err
			}
		}
	}
	if p.Deletion.State != "" {
		return false, d.projects.LeaveDeleted(ctx, p)
	}
	return false, d.project.RemoveMember(ctx, project.RemoveMember{Project: p.ID, User: id})
}

// goOn returns how a phase goes on that takes a page of things at a time: later if some of them need others to end first.
func goOn(things int, waits bool) (string, error) {
	switch {
	case waits:
		return "", later()
	case things > 0:
		return "more", nil
	}
	return "", nil
}

// eraseRest removes what is counted of a user, the stream of events, and tasks of earlier deletions, when tasks that are about the user have ended.
func (d departure) eraseRest(ctx context.Context, id user.ID, _ string) (string, error) {
	working, err := d.users.AnyTaskOf(ctx, string(id), user.RunErasure)
	if err != nil {
		return "", err
	}
	if working {
		return "", later()
	}
	deleted, err := domain.First(d.users.DeletedByID(ctx, []user.ID{id}))
	if err == nil {
		err = d.users.ForgetEarlier(ctx, deleted.Erasure())
	}
	if err != nil {
		return "", err
	}
	for _, a := range allowances() {
		if err := d.users.ForgetTally(ctx, dynamo.Allowed{Kind: a.Kind, Of: string(id)}); err != nil {
			return "", err
		}
	}
	if err := d.streams.Forget(ctx, follow.NotesOf(id)); err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "the events of the user could not be removed")
	}
	return "", nil
}
