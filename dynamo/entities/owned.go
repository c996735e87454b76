package entities

import (
	"context"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
)

// LastOwned lists up to so many scopes that have other members, and of which nobody but the user is an owner, by id.
//
// Index: primary. Key: as ListScopes; then _subject_key = taggie:Scope:<scope> AND begins_with(_predicate_key, member:0000000000000000:User:) of each scope
// that the user owns. Cost: that of ListScopes for each 100 scopes, and 1 Query for each that the user owns.
func (db Store) LastOwned(ctx context.Context, user entity.UserID, limit int) ([]entity.Scope, error) {
	var last []entity.Scope
	for w := (page.Window{Limit: ownedAtOnce}); ; {
		mine, err := db.ListScopes(ctx, user, w)
		if err != nil {
			return nil, err
		}
		for _, s := range mine.Items {
			if s.Role != entity.OwnerRole {
				continue
			}
			heir, owned, err := db.Heir(ctx, user, s.ID)
			if err != nil {
				return nil, err
			}
			if heir.User != "" && !owned {
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

// Heir returns who of those with the highest role has been a member of a scope for longest besides a user, nobody where there is no other member, and whether there is
// another owner.
//
// Index: primary. Key: _subject_key = taggie:Scope:<scope> AND begins_with(_predicate_key, member:0000000000000000:User:). Cost: 1 Query.
func (db Store) Heir(ctx context.Context, user entity.UserID, scope string) (heir entity.Member, owned bool, err error) {
	s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: RelationKey(scopeMember(scope, "")).PK}
	s.Low, s.High = dynamo.Prefixed(scopeMemberKey(scope, "").SK)
	_, err = db.Query(ctx, s, func(row dynamo.Item) (bool, error) {
		var m entity.Member
		err := decodeScopeMember(row, &m)
		if m.User == user {
			return true, err
		}
		if heir.User == "" || m.Role > heir.Role || m.Role == heir.Role && m.AddedAt.Before(heir.AddedAt) {
			heir = m
		}
		owned = owned || m.Role == entity.OwnerRole
		return true, err
	})
	return heir, owned, err
}

// ListAllScopes lists the scopes of which a user is a member, by id, also those that are deleted.
//
// Index: primary. Key: as ListScopes. Cost: as ListScopes.
func (db Store) ListAllScopes(ctx context.Context, user entity.UserID, w page.Window) (page.Slice[entity.Scope], error) {
	return listMine(ctx, db, user, w, func(s entity.Scope) (entity.Scope, bool) { return s, s.Role != entity.NoRole })
}
