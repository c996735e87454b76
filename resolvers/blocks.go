package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// BlockedUser returns the resolvers of BlockedUser.
func (r *Resolver) BlockedUser() graph.BlockedUserResolver { return blockedUsers{r} }

type blockedUsers struct{ *Resolver }

func (blockedUsers) User(ctx context.Context, b *user.Block) (*user.User, error) {
	return person(ctx, b.User)
}

func (r users) BlockedUsers(ctx context.Context, u *user.User, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[user.Block], error) {
	sel := selected(ctx, "BlockedUserConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.blockedUsers", string(u.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).BlockedBy.LoadNow(ctx, loaders.ListOf{User: u.ID, Window: o.Window})
	if err != nil {
		return nil, err
	}
	var people wave
	if sel.items("BlockedUserEdge", "BlockedUser").showsProfiles("user") {
		for _, b := range slice.Items {
			people.people = append(people.people, b.User)
		}
	}
	people.read(loaders.From(ctx))
	return page.Plain(o, slice), nil
}

// BlockUser blocks first: from then on there are no new shares that would have to end.
func (m mutation) BlockUser(ctx context.Context, in model.BlockUserInput) (*model.BlockUserPayload, error) {
	id, err := userID("input.userId", in.UserID)
	if err != nil {
		return nil, err
	}
	blocked, err := m.Users.Block(ctx, user.ChangeBlock{User: id, IdempotencyKey: in.IdempotencyKey.Value()})
	if err != nil {
		return nil, err
	}
	var ended []note.ID
	var more bool
	if blocked {
		if ended, more, err = m.Notes.EndShares(ctx, note.EndShares{By: id}); err != nil {
			return nil, err
		}
	}
	load := loaders.From(ctx)
	load.Clear()
	return &model.BlockUserPayload{User: besideLoaded(ctx, "user", load.Users, id), NoteIds: noteIDs(ended), More: &more}, nil
}

func (m mutation) UnblockUser(ctx context.Context, in model.UnblockUserInput) (*model.UnblockUserPayload, error) {
	id, err := userID("input.userId", in.UserID)
	if err != nil {
		return nil, err
	}
	if err := m.Users.Unblock(ctx, user.ChangeBlock{User: id, IdempotencyKey: in.IdempotencyKey.Value()}); err != nil {
		return nil, err
	}
	load := loaders.From(ctx)
	load.Clear()
	return &model.UnblockUserPayload{User: besideLoaded(ctx, "user", load.Users, id)}, nil
}
