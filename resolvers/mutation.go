package resolvers

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
)

type mutation struct{ *Resolver }

// problem turns an expected outcome into its type in the contract; other errors stay errors.
func (m mutation) problem(ctx context.Context, err error) (any, error) {
	if stale, ok := errors.AsType[*note.VersionConflict](err); ok {
		return model.NoteConflict{Message: stale.Error(), Current: stale.Current}, nil
	}
	if stale, ok := errors.AsType[*user.VersionConflict](err); ok {
		return model.UserConflict{Message: stale.Error(), Current: stale.Current}, nil
	}
	if needed, ok := errors.AsType[*user.StillNeeded](err); ok {
		return stillNeeded(needed), nil
	}
	if unknown, ok := errors.AsType[*note.UnknownUser](err); ok {
		return model.UnknownUser{Message: unknown.Error(), Field: unknown.Field}, nil
	}
	switch {
	case errors.Is(err, user.ErrEmailTaken):
		return model.EmailTaken{Message: user.ErrEmailTaken.Message, Field: user.ErrEmailTaken.Field}, nil
	case errors.Is(err, user.ErrAlreadySignedUp):
		existing, err := found(loaders.From(ctx).Users.Load(ctx, viewer.From(ctx).UserID))
		return model.AlreadySignedUp{Message: user.ErrAlreadySignedUp.Message, User: existing}, err
	case errors.Is(err, note.ErrTooManyTags):
		return model.TooManyTags{Message: note.ErrTooManyTags.Message, Limit: note.MaxTags}, nil
	}
	if outcome := m.entityProblem(ctx, err); outcome != nil {
		return outcome, nil
	}
	if outcome := m.projectProblem(ctx, err); outcome != nil {
		return outcome, nil
	}
	if outcome := m.labellingProblem(ctx, err); outcome != nil {
		return outcome, nil
	}
	if outcome := m.scoreProblem(ctx, err); outcome != nil {
		return outcome, nil
	}
	return nil, err
}

// done turns the result of a mutation into the parts of its payload.
func done[T any](ctx context.Context, m mutation, value T, err error) (*T, any, error) {
	loaders.From(ctx).Clear()
	if err != nil {
		problem, err := m.problem(ctx, err)
		return nil, problem, err
	}
	return &value, nil, nil
}

// doneNote is done for notes, of which there is none when a repeated request finds it gone.
func (m mutation) doneNote(ctx context.Context, n note.Note, err error) (*note.Note, any, error) {
	after, problem, err := done(ctx, m, n, err)
	if after != nil && after.ID == "" {
		after = nil
	}
	if after != nil {
		m.ahead(ctx, []note.Note{*after}, selected(ctx).in("note", "Note", "Node"))
	}
	return after, problem, err
}

// beside reads what a payload shows besides the change itself, if it is selected. The change is made and stands, whether or not
// that can be read: where it cannot, the field is null and has the error, wherever it is selected, and nobody takes the change
// for one that failed.
func beside[T any](ctx context.Context, field string, read func() (*T, error)) *T {
	var places []string
	for _, f := range payload(ctx).fields {
		if f.Name == field {
			places = append(places, f.Alias)
		}
	}
	if len(places) == 0 {
		return nil
	}
	value, err := read()
	if err == nil {
		return value
	}
	for _, place := range places {
		graphql.AddError(graphql.WithPathContext(ctx, graphql.NewPathWithField(place)), err)
	}
	return nil
}

// besideLoaded is beside for what a loader reads, null where there is none.
func besideLoaded[K comparable, T any](ctx context.Context, field string, l *loaders.Loader[K, T], key K) *T {
	return beside(ctx, field, func() (*T, error) { return found(l.Load(ctx, key)) })
}

// given returns a value that the client gave, and refuses null where absent means "as it is".
func given[T any](field string, in graphql.Omittable[*T]) (*T, error) {
	value, set := in.ValueOK()
	if set && value == nil {
		return nil, fault.Invalidf(field, "null is not allowed here; leave the field out to keep its value")
	}
	return value, nil
}

func (m mutation) CreateUser(ctx context.Context, in model.CreateUserInput) (*model.CreateUserPayload, error) {
	u, err := m.Users.Create(ctx, user.Create{Name: in.Name, Email: in.Email, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, u, err)
	return &model.CreateUserPayload{User: after, Problem: problem}, err
}

func (m mutation) UpdateUser(ctx context.Context, in model.UpdateUserInput) (*model.UpdateUserPayload, error) {
	name, err := given("input.name", in.Name)
	if err != nil {
		return nil, err
	}
	email, err := given("input.email", in.Email)
	if err != nil {
		return nil, err
	}
	u, err := m.Users.Update(ctx, user.Update{Name: name, Email: email, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, u, err)
	return &model.UpdateUserPayload{User: after, Problem: problem}, err
}

func (m mutation) RevokeUser(ctx context.Context, in model.RevokeUserInput) (*model.RevokeUserPayload, error) {
	who, err := userID("input.userId", in.UserID)
	if err != nil {
		return nil, err
	}
	at, err := m.Users.Revoke(ctx, user.Revoke{User: who, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := done(ctx, m, at, err)
	return &model.RevokeUserPayload{RevokedAt: after}, err
}

func (m mutation) CreateNote(ctx context.Context, in model.CreateNoteInput) (*model.CreateNotePayload, error) {
	create := note.Create{Title: in.Title, Content: in.Content, Tags: in.Tags.Value(), IdempotencyKey: in.IdempotencyKey.Value()}
	if deadline := in.Deadline.Value(); deadline != nil {
		create.Deadline = *deadline
	}
	n, err := m.Notes.Create(ctx, create)
	after, _, err := m.doneNote(ctx, n, err)
	return &model.CreateNotePayload{Note: after}, err
}

func (m mutation) UpdateNote(ctx context.Context, in model.UpdateNoteInput) (*model.UpdateNotePayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	title, err := given("input.title", in.Title)
	if err != nil {
		return nil, err
	}
	content, err := given("input.content", in.Content)
	if err != nil {
		return nil, err
	}
	n, err := m.Notes.Update(ctx, note.Update{ID: id, Title: title, Content: content, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneNote(ctx, n, err)
	return &model.UpdateNotePayload{Note: after, Problem: problem}, err
}

func (m mutation) ChangeNoteDeadline(ctx context.Context, in model.ChangeNoteDeadlineInput) (*model.ChangeNoteDeadlinePayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	deadline, set := in.Deadline.ValueOK()
	if !set {
		return nil, fault.Invalidf("input.deadline", "give the new deadline, or null to remove it")
	}
	change := note.ChangeDeadline{ID: id, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()}
	if deadline != nil {
		change.Deadline = *deadline
	}
	n, err := m.Notes.ChangeDeadline(ctx, change)
	after, problem, err := m.doneNote(ctx, n, err)
	return &model.ChangeNoteDeadlinePayload{Note: after, Problem: problem}, err
}

func (m mutation) DeleteNote(ctx context.Context, in model.DeleteNoteInput) (*model.DeleteNotePayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	deleted, err := m.Notes.Delete(ctx, note.Delete{ID: id, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := done(ctx, m, deleted, err)
	if after != nil && after.ID == "" {
		after = nil
	}
	return &model.DeleteNotePayload{DeletedNote: after, Problem: problem}, err
}

func (m mutation) UndeleteNote(ctx context.Context, in model.UndeleteNoteInput) (*model.UndeleteNotePayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	n, err := m.Notes.Undelete(ctx, note.Undelete{ID: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneNote(ctx, n, err)
	return &model.UndeleteNotePayload{Note: after}, err
}

func (m mutation) RestoreVersion(ctx context.Context, in model.RestoreVersionInput) (*model.RestoreVersionPayload, error) {
	id, err := versionID("input.versionId", in.VersionID)
	if err != nil {
		return nil, err
	}
	n, err := m.Notes.Restore(ctx, note.Restore{Version: id, ExpectedVersion: in.ExpectedVersion.Value(), IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneNote(ctx, n, err)
	return &model.RestoreVersionPayload{Note: after, Problem: problem}, err
}

func (m mutation) AddNoteTags(ctx context.Context, in model.AddNoteTagsInput) (*model.AddNoteTagsPayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	n, err := m.Notes.AddTags(ctx, note.ChangeTags{ID: id, Tags: in.Tags, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneNote(ctx, n, err)
	return &model.AddNoteTagsPayload{Note: after, Problem: problem}, err
}

func (m mutation) RemoveNoteTags(ctx context.Context, in model.RemoveNoteTagsInput) (*model.RemoveNoteTagsPayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	n, err := m.Notes.RemoveTags(ctx, note.ChangeTags{ID: id, Tags: in.Tags, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneNote(ctx, n, err)
	return &model.RemoveNoteTagsPayload{Note: after}, err
}

func (m mutation) ShareNote(ctx context.Context, in model.ShareNoteInput) (*model.ShareNotePayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	put := note.PutShare{Note: id, Email: in.Email.Value(), Permission: in.Permission, ShowEarlier: in.ShowEarlierVersions, IdempotencyKey: in.IdempotencyKey.Value()}
	if with := in.UserID.Value(); with != nil {
		if put.User, err = userID("input.userId", *with); err != nil {
			return nil, err
		}
	}
	share, err := m.Notes.Share(ctx, put)
	after, problem, err := done(ctx, m, share, err)
	if after == nil {
		return &model.ShareNotePayload{Problem: problem}, err
	}
	o, err := m.openAccessList(ctx, selection{}, note.Note{ID: id}, page.Args{})
	if err != nil {
		return nil, err
	}
	edge := accessEdgeOf(o.At(string(share.User)), share)
	return &model.ShareNotePayload{Note: besideLoaded(ctx, "note", loaders.From(ctx).Notes, id), AccessEdge: &edge}, nil
}

func (m mutation) UnshareNote(ctx context.Context, in model.UnshareNoteInput) (*model.UnshareNotePayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	with, err := userID("input.userId", in.UserID)
	if err != nil {
		return nil, err
	}
	if err := m.Notes.Unshare(ctx, note.DeleteShare{Note: id, User: with, IdempotencyKey: in.IdempotencyKey.Value()}); err != nil {
		return nil, err
	}
	load := loaders.From(ctx)
	load.Clear()
	return &model.UnshareNotePayload{
		Note: besideLoaded(ctx, "note", load.Notes, id), User: besideLoaded(ctx, "user", load.Users, with),
	}, nil
}

func (m mutation) OpenSharedNote(ctx context.Context, in model.OpenSharedNoteInput) (*model.OpenSharedNotePayload, error) {
	id, err := noteID("input.noteId", in.NoteID)
	if err != nil {
		return nil, err
	}
	at, err := m.Notes.Open(ctx, note.OpenShare{Note: id, IdempotencyKey: in.IdempotencyKey.Value()})
	if err != nil {
		return nil, err
	}
	load := loaders.From(ctx)
	load.Clear()
	return &model.OpenSharedNotePayload{Note: besideLoaded(ctx, "note", load.Notes, id), OpenedAt: &at}, nil
}

func (m mutation) EndShares(ctx context.Context, in model.EndSharesInput) (*model.EndSharesPayload, error) {
	by, err := userID("input.byUserId", in.ByUserID)
	if err != nil {
		return nil, err
	}
	ended, more, err := m.Notes.EndShares(ctx, note.EndShares{By: by})
	if err != nil {
		return nil, err
	}
	loaders.From(ctx).Clear()
	return &model.EndSharesPayload{NoteIds: noteIDs(ended), More: &more}, nil
}

// noteIDs are the global ids of notes.
func noteIDs(notes []note.ID) []gid.ID {
	ids := make([]gid.ID, len(notes))
	for n, id := range notes {
		ids[n] = gid.Of("Note", string(id))
	}
	return ids
}
