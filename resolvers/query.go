package resolvers

import (
	"context"

	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
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
	id, err := q.Users.FindByEmail(ctx, email)
	if err != nil {
		return found(user.User{}, err)
	}
	return found(loaders.From(ctx).Users.Load(ctx, id))
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
