package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// DeletedUser returns the resolvers of DeletedUser.
func (r *Resolver) DeletedUser() graph.DeletedUserResolver { return deletedUsers{r} }

type deletedUsers struct{ *Resolver }

func (deletedUsers) DeletedBy(ctx context.Context, u *user.DeletedUser) (*user.User, error) {
	return person(ctx, u.Deletion.By)
}

func (q query) DeletedUsers(ctx context.Context, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[user.DeletedUser], error) {
	sel := selected(ctx, "DeletedUserConnection")
	o, err := q.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "Query.deletedUsers")
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).Deleted.LoadNow(ctx, loaders.DeletedUsers{Window: o.Window})
	if err != nil {
		return nil, err
	}
	q.deletedUsersAhead(ctx, slice.Items, sel.items("DeletedUserEdge", "DeletedUser"))
	return page.Plain(o, slice), nil
}

// deletedUsersAhead reads what is selected below deleted users.
func (r *Resolver) deletedUsersAhead(ctx context.Context, deleted []user.DeletedUser, sel selection) {
	var first wave
	if sel.showsProfiles("deletedBy") {
		for _, u := range deleted {
			first.people = append(first.people, u.Deletion.By)
		}
	}
	first.read(loaders.From(ctx))
}

// doneDeletedUser is done for deleted users, of whom there is none when a repeated request finds the user brought back or erased.
func (m mutation) doneDeletedUser(ctx context.Context, u user.DeletedUser, err error) (*user.DeletedUser, any, error) {
	after, problem, err := done(ctx, m, u, err)
	if after == nil || after.ID == "" || after.Deletion.State == "" {
		return nil, problem, err
	}
	m.deletedUsersAhead(ctx, []user.DeletedUser{*after}, payload(ctx).in("deleted", "DeletedUser"))
	return after, nil, nil
}

// maybeUser returns the user that an input names; "" for none.
func maybeUser(id *gid.ID) (user.ID, error) {
	if id == nil {
		return "", nil
	}
	return userID("input.userId", *id)
}

func (m mutation) DeleteUser(ctx context.Context, in model.DeleteUserInput) (*model.DeleteUserPayload, error) {
	id, err := maybeUser(in.UserID.Value())
	if err != nil {
		return nil, err
	}
	deleted, err := m.Users.Delete(ctx, user.Delete{User: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, problem, err := m.doneDeletedUser(ctx, deleted, err)
	return &model.DeleteUserPayload{Deleted: after, Problem: problem}, err
}

func (m mutation) UndoDeleteUser(ctx context.Context, in model.UndoDeleteUserInput) (*model.UndoDeleteUserPayload, error) {
	id, err := maybeUser(in.UserID.Value())
	if err != nil {
		return nil, err
	}
	u, err := m.Users.UndoDelete(ctx, user.ChangeDeletion{User: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := done(ctx, m, u, err)
	return &model.UndoDeleteUserPayload{User: after}, err
}

func (m mutation) PurgeDeletedUser(ctx context.Context, in model.PurgeDeletedUserInput) (*model.PurgeDeletedUserPayload, error) {
	id, err := maybeUser(in.UserID.Value())
	if err != nil {
		return nil, err
	}
	deleted, err := m.Users.PurgeDeleted(ctx, user.ChangeDeletion{User: id, IdempotencyKey: in.IdempotencyKey.Value()})
	after, _, err := m.doneDeletedUser(ctx, deleted, err)
	return &model.PurgeDeletedUserPayload{Deleted: after}, err
}

// stillNeeded says in the contract's words what others need a user for.
func stillNeeded(needed *user.StillNeeded) model.StillNeeded {
	problem := model.StillNeeded{Message: needed.Error(), Of: make([]model.ManagedAlone, len(needed.Of))}
	for i, left := range needed.Of {
		typ := "Scope"
		if left.Project {
			typ = "Project"
		}
		problem.Of[i] = model.ManagedAlone{NodeID: gid.Of(typ, left.ID)}
		if left.Name != "" {
			problem.Of[i].Name = &left.Name
		}
	}
	return problem
}
