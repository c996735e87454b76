package dynamo

import (
	"context"
	"errors"
	"strings"

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
func (db Entities) MemberByID(ctx context.Context, scope string, user entity.UserID) (entity.Member, error) {
	var m entity.Member
	there, err := db.get(ctx, relationshipEntries, scopeMemberKey(scope, user), func(item []byte) error { return decodeScopeMember(item, &m) })
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
// that USER#<user>/PROFILE exists. Cost: 1 GetItem and 1 TransactWriteItems of 4 rows; of 1 or 2 for another role.
func (db Entities) PutMember(ctx context.Context, m entity.Member, once idempotency.Key) error {
	return db.changeMember(ctx, m.Scope, m.User, once, func(is *entity.Member) []action {
		switch {
		case is == nil:
			return []action{
				{table: relationshipEntries, item: scopeMemberRow(m), condition: "attribute_not_exists(#key)", names: map[string]string{"#key": "_subject_key"}, failed: memberChanged},
				countMembers(m.Scope, 1, owners(m.Role)),
				userExists(m.User),
				{table: relationshipEntries, item: relationRow(scopeOf(m.User, m.Scope), m.AddedAt, nil)},
			}
		case is.Role == m.Role:
			return nil
		}
		put := action{table: relationshipEntries, item: scopeMemberRow(m)}
		put.condition, put.names, put.values, put.failed = asMember(*is)
		actions := []action{put}
		if more := owners(m.Role) - owners(is.Role); more != 0 {
			actions = append(actions, countMembers(m.Scope, 0, more))
		}
		return actions
	})
}

// DeleteMember removes the membership in both directions, if there is one, on condition that an owner stays.
//
// Index: primary. Key: as PutMember. Cost: 1 GetItem and 1 TransactWriteItems of 3 rows; none where there is no membership.
func (db Entities) DeleteMember(ctx context.Context, scope string, user entity.UserID, once idempotency.Key) error {
	return db.changeMember(ctx, scope, user, once, func(is *entity.Member) []action {
		if is == nil {
			return nil
		}
		remove := action{table: relationshipEntries, key: scopeMemberKey(scope, user), remove: true}
		remove.condition, remove.names, remove.values, remove.failed = asMember(*is)
		return []action{
			remove,
			countMembers(scope, -1, -owners(is.Role)),
			{table: relationshipEntries, key: relationKey(scopeOf(user, scope)), remove: true},
		}
	})
}

// changeMember reads a membership, nil for none, and carries out what follows on condition that it still is the same.
func (db Entities) changeMember(ctx context.Context, scope string, user entity.UserID, once idempotency.Key, change func(is *entity.Member) []action) error {
	for range retry.Until(ctx) {
		var err error
		var is entity.Member
		there, failed := db.get(ctx, relationshipEntries, scopeMemberKey(scope, user), func(item []byte) error { return decodeScopeMember(item, &is) })
		switch {
		case failed != nil:
			return failed
		case there:
			err = db.transact(ctx, change(&is), once)
		default:
			err = db.transact(ctx, change(nil), once)
		}
		if !errors.Is(err, errMemberChanged) {
			return err
		}
	}
	return retry.Busy("this member")
}

func memberChanged(attrs) error { return errMemberChanged }

// asMember is the condition that a membership is as it was read.
func asMember(is entity.Member) (condition string, names map[string]string, values attrs, failed func(attrs) error) {
	return "#role = :role", reserved("role"), attrs{":role": str(roles[is.Role])}, memberChanged
}

func owners(r entity.Role) int {
	if r == entity.OwnerRole {
		return 1
	}
	return 0
}

// countMembers changes the counters of a scope, which must exist.
func countMembers(scope string, members, owners int) action {
	a := action{
		table: entitiesMaster, key: scopeKey(scope), update: "SET #meta.#members = #meta.#members + :members, #meta.#owners = #meta.#owners + :owners",
		names:  map[string]string{"#meta": "_meta", "#members": "members", "#owners": "owners", "#id": "_id"},
		values: attrs{":members": number(int64(members)), ":owners": number(int64(owners))},
	}
	conditions := []string{"attribute_exists(#id)"}
	if members > 0 {
		conditions = append(conditions, "#meta.#members < :most")
		a.values[":most"] = number(entity.MaxMembers)
	}
	if owners < 0 {
		conditions = append(conditions, "#meta.#owners > :last")
		a.values[":last"] = number(1)
	}
	a.condition = strings.Join(conditions, " AND ")
	a.failed = func(row attrs) error {
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
