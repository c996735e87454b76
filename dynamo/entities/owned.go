package entities

import (
	"cmp"
	"context"
	"errors"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
)

// LastOwned lists up to so many scopes that have other members who are present, and of which nobody who is present but the user is an owner, by id. Who is deleted
// counts neither as a member nor as an owner.
//
// Index: primary. Key: as ListScopes; then as Others of each scope that the user owns. Cost: that of ListScopes for each 100 scopes, and that of Others for each
// that the user owns.
func (db Store) LastOwned(ctx context.Context, user entity.UserID, limit int) ([]entity.Scope, error) {
	var last []entity.Scope
	for w := (page.Window{Limit: ownedAtOnce}); ; {
		mine, err := db.ListScopes(ctx, user, w)
		if err != nil {
			return nil, err
		}
		needed := make([]bool, len(mine.Items))
		if err := errors.Join(db.Each(len(mine.Items), func(i int) error {
			if mine.Items[i].Role != entity.OwnerRole {
				return nil
			}
			others, err := db.Others(ctx, user, mine.Items[i].ID)
			needed[i] = others.Heir.User != "" && !others.Managed
			return err
		})...); err != nil {
			return nil, err
		}
		for i, s := range mine.Items {
			if needed[i] {
				last = append(last, s)
			}
			if len(last) == limit {
				return last, nil
			}
		}
		if !mine.More || len(mine.Positions) == 0 {
			return last, nil
		}
		w.From = mine.Positions[len(mine.Positions)-1]
	}
}

// ownedAtOnce is how many scopes are read together.
const ownedAtOnce = 100

// Others tells who is in a scope besides a user: of those with the highest role, who has been a member for longest inherits first. It looks for an owner who is
// present first, and then at nobody else.
//
// Index: primary. Key: _subject_key = taggie:Scope:<scope> AND begins_with(_predicate_key, member:0000000000000000:User:); PK = USER#<user_id> AND
// SK = PROFILE of each. Cost: 1 Query of 100, 200, 400, 500 … members, and 1 BatchGetItem for each 100 owners on them, until one is present; where none is,
// ⌈n/100⌉ BatchGetItem more for n other members.
func (db Store) Others(ctx context.Context, user entity.UserID, scope string) (users.Others[entity.Member], error) {
	return db.membership(scope).Others(ctx, user)
}

// membership are the members of a scope.
func (db Store) membership(scope string) users.Membership[entity.Member] {
	rows := dynamo.Span{Table: dynamo.RelationshipEntries, PK: RelationKey(scopeMember(scope, "")).PK}
	rows.Low, rows.High = dynamo.Prefixed(scopeMemberKey(scope, "").SK)
	return users.Membership[entity.Member]{
		DB: db.DB, Rows: rows, Decode: decodeScopeMember,
		User:    func(m entity.Member) entity.UserID { return m.User },
		Manages: func(m entity.Member) bool { return owners(m.Role) > 0 },
		Before:  func(a, b entity.Member) int { return cmp.Or(cmp.Compare(b.Role, a.Role), a.AddedAt.Compare(b.AddedAt)) },
	}
}

// ownedByOthers are the conditions that a scope keeps an owner besides one who leaves or owns it no more: see [users.Membership.Witness].
// [entity.ErrLastOwner] when it does not.
func (db Store) ownedByOthers(ctx context.Context, scope string, leaving entity.UserID) ([]dynamo.Action, error) {
	who, stays, found, err := db.membership(scope).Witness(ctx, []entity.UserID{leaving}, errMemberChanged)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, entity.ErrLastOwner
	}
	owns := dynamo.Action{Table: dynamo.RelationshipEntries, Key: scopeMemberKey(scope, who.User)}
	owns.Condition, owns.Names, owns.Values, owns.Failed = asMember(who)
	return []dynamo.Action{stays, owns}, nil
}

// Inherit makes a member, who must be as they were read, an owner. It reports whether nothing had changed.
//
// Index: primary. Key: _subject_key = taggie:Scope:<scope> AND _predicate_key = member:0000000000000000:User:<user> on condition of its role; the row of the
// scope; on condition that USER#<user>/PROFILE is not deleted. Cost: 1 TransactWriteItems of 3 rows.
func (db Store) Inherit(ctx context.Context, heir entity.Member) (bool, error) {
	after := heir
	after.Role = entity.OwnerRole
	put := dynamo.Action{Table: dynamo.RelationshipEntries, Item: scopeMemberRow(after)}
	put.Condition, put.Names, put.Values, put.Failed = asMember(heir)
	err := db.Transact(ctx, []dynamo.Action{put, countMembers(heir.Scope, 0, 1), users.There(heir.User, errMemberChanged)}, idempotency.Key{})
	if errors.Is(err, errMemberChanged) {
		return false, nil
	}
	return err == nil, err
}

// ListAllScopes lists the scopes of which a user is a member, by id, also those that are deleted.
//
// Index: primary. Key: as ListScopes. Cost: as ListScopes.
func (db Store) ListAllScopes(ctx context.Context, user entity.UserID, w page.Window) (page.Slice[entity.Scope], error) {
	return listMine(ctx, db, user, w, func(s entity.Scope) (entity.Scope, bool) { return s, s.Role != entity.NoRole })
}
