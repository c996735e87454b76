package resolvers

import (
	"context"

	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
	"github.com/taggie/taggie/loaders"
)

type query struct{ *Resolver }

func (q query) Viewer(ctx context.Context) (*user.User, error) {
	id := viewer.From(ctx).UserID
	if id == "" {
		return nil, nil
	}
	return person(ctx, id)
}

func (q query) User(ctx context.Context, id gid.ID) (*user.User, error) {
	key, err := userID("id", id)
	if err != nil {
		return nil, err
	}
	return found(loaders.From(ctx).Users.Load(ctx, key))
}

func (q query) UserByEmail(ctx context.Context, email string) (*user.User, error) {
	id, err := q.Resolver.Users.FindByEmail(ctx, email)
	if err != nil {
		return found(user.User{}, err)
	}
	return found(loaders.From(ctx).Users.Load(ctx, id))
}

func (q query) Users(ctx context.Context, prefix *string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[user.User], error) {
	var begin string
	if prefix != nil {
		begin = *prefix
	}
	o, err := q.open(ctx, selected(ctx, "UserConnection"), page.Args{First: first, After: after, Last: last, Before: before}, "Query.users", begin)
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).AllUsers.LoadNow(ctx, loaders.AllUsers{Window: o.Window, Prefix: begin})
	if err != nil {
		return nil, err
	}
	return page.Plain(o, slice), nil
}

func (q query) Note(ctx context.Context, id gid.ID) (*note.Note, error) {
	key, err := noteID("id", id)
	if err != nil {
		return nil, err
	}
	n, err := found(loaders.From(ctx).Notes.Load(ctx, key))
	if n != nil {
		q.ahead(ctx, []note.Note{*n}, selected(ctx, "Note", "Node"))
	}
	return n, err
}
