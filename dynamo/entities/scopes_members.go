package entities

import (
	"context"
	"errors"
	"strings"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/retry"
)

// errMemberChanged says that a membership is not what it was when it was read.
var errMemberChanged = errors.New("the membership was changed by somebody else")

// MemberByID reads the membership of a user.
//
// Index: primary. Key: _subject_key = taggie:Scope:<scope> AND _predicate_key = member:0000000000000000:User:<user>.
// Cost: 1 GetItem.
func (db Store) MemberByID(ctx context.Context, scope string, user entity.UserID) (entity.Member, error) {
	var m entity.Member
	there, err := db.Get(ctx, dynamo.RelationshipEntries, scopeMemberKey(scope, user), func(item dynamo.Item) error { return decodeScopeMember(item, &m) })
	if err == nil && !there {
		err = fault.New(fault.NotFound, "there is no such member")
	}
	return m, err
}

// PutMember puts the membership in both directions, and counts members and owners in the row of the scope, on condition of
// which there are not too many, and one owner stays.
//
// Index: primary. Key: _subject_key = taggie:Scope:<scope> AND _predicate_key = member:0000000000000000:User:<user>;
// _subject_key = taggie:User:<user> AND _predicate_key = scope:0000000000000000:Scope:<scope>; the row of the scope; on condition
// that USER#<user>/PROFILE exists and USER#<user>/BLOCKED#<by> does not. Cost: 1 GetItem and 1 TransactWriteItems of 5 rows; of 1 or 2 for another
// role; where an owner gets another role, 1 Query and 1 BatchGetItem more, on condition of an owner who stays.
func (db Store) PutMember(ctx context.Context, by entity.UserID, m entity.Member, once idempotency.Key) error {
	return db.changeMember(ctx, m.Scope, m.User, once, func(is *entity.Member) ([]dynamo.Action, error) {
		switch {
		case is == nil:
			return []dynamo.Action{
				{Table: dynamo.RelationshipEntries, Item: scopeMemberRow(m), Condition: "attribute_not_exists(#key)", Names: map[string]string{"#key": "_subject_key"}, Failed: memberChanged},
				countMembers(m.Scope, 1, owners(m.Role)),
				userExists(m.User),
				users.NotBlocked(by, m.User, &entity.UnknownUser{}),
				{Table: dynamo.RelationshipEntries, Item: RelationRow(scopeOf(m.User, m.Scope), m.AddedAt, nil)},
			}, nil
		case is.Role == m.Role:
			return nil, nil
		}
		put := dynamo.Action{Table: dynamo.RelationshipEntries, Item: scopeMemberRow(m)}
		put.Condition, put.Names, put.Values, put.Failed = asMember(*is)
		actions := []dynamo.Action{put}
		if more := owners(m.Role) - owners(is.Role); more != 0 {
			actions = append(actions, countMembers(m.Scope, 0, more))
		}
		if owners(is.Role) == 0 {
			return actions, nil
		}
		stays, err := db.ownedByOthers(ctx, m.Scope, m.User)
		return append(actions, stays...), err
	})
}

// DeleteMember removes the membership in both directions, if there is one, on condition that an owner stays.
//
// Index: primary. Key: as PutMember. Cost: 1 GetItem and 1 TransactWriteItems of 3 rows; none where there is no membership. For an owner 1 Query
// and 1 BatchGetItem more, on condition of an owner who stays.
func (db Store) DeleteMember(ctx context.Context, scope string, user entity.UserID, once idempotency.Key) error {
	return db.changeMember(ctx, scope, user, once, func(is *entity.Member) ([]dynamo.Action, error) {
		if is == nil {
			return nil, nil
		}
		remove := dynamo.Action{Table: dynamo.RelationshipEntries, Key: scopeMemberKey(scope, user), Remove: true}
		remove.Condition, remove.Names, remove.Values, remove.Failed = asMember(*is)
		actions := []dynamo.Action{
			remove,
			countMembers(scope, -1, -owners(is.Role)),
			{Table: dynamo.RelationshipEntries, Key: RelationKey(scopeOf(user, scope)), Remove: true},
		}
		if owners(is.Role) == 0 {
			return actions, nil
		}
		stays, err := db.ownedByOthers(ctx, scope, user)
		return append(actions, stays...), err
	})
}

// changeMember reads a membership, nil for none, and carries out what follows on condition that it still is the same.
func (db Store) changeMember(ctx context.Context, scope string, user entity.UserID, once idempotency.Key, change func(is *entity.Member) ([]dynamo.Action, error)) error {
	for range retry.Until(ctx) {
		var is entity.Member
		there, err := db.Get(ctx, dynamo.RelationshipEntries, scopeMemberKey(scope, user), func(item dynamo.Item) error { return decodeScopeMember(item, &is) })
		if err != nil {
			return err
		}
		before := &is
		if !there {
			before = nil
		}
		actions, err := change(before)
		if err == nil {
			err = db.Transact(ctx, actions, once)
		}
		if !errors.Is(err, errMemberChanged) {
			return err
		}
	}
	return retry.Busy("this member")
}

func memberChanged(dynamo.Attrs) error { return errMemberChanged }

// asMember is the condition that a membership is as it was read.
func asMember(is entity.Member) (condition string, names map[string]string, values dynamo.Attrs, failed func(dynamo.Attrs) error) {
	return "#role = :role", dynamo.Reserved("role"), dynamo.Attrs{":role": dynamo.Str(roles[is.Role])}, memberChanged
}

func owners(r entity.Role) int {
	if r == entity.OwnerRole {
		return 1
	}
	return 0
}

// countMembers changes the counters of a scope, which must exist.
func countMembers(scope string, members, owners int) dynamo.Action {
	a := dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: scopeKey(scope), Update: "SET #meta.#members = #meta.#members + :members, #meta.#owners = #meta.#owners + :owners",
		Names:  map[string]string{"#meta": "_meta", "#members": "members", "#owners": "owners", "#id": "_id"},
		Values: dynamo.Attrs{":members": dynamo.Number(int64(members)), ":owners": dynamo.Number(int64(owners))},
	}
	conditions := []string{"attribute_exists(#id)"}
	if members > 0 {
		conditions = append(conditions, "#meta.#members < :most")
		a.Values[":most"] = dynamo.Number(entity.MaxMembers)
	}
	if owners < 0 {
		conditions = append(conditions, "#meta.#owners > :last")
		a.Values[":last"] = dynamo.Number(1)
	}
	a.Condition = strings.Join(conditions, " AND ")
	a.Failed = func(row dynamo.Attrs) error {
		switch {
		case row == nil:
			return fault.New(fault.NotFound, noSuchScope)
		case owners < 0:
			return entity.ErrLastOwner
		}
		return fault.New(fault.Exhausted, "a scope has at most %d members: remove some first", entity.MaxMembers)
	}
	return a
}
