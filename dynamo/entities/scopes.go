package entities

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

const noSuchScope = "there is no such scope"

// ScopesByID reads scopes, each together with the membership of the user.
//
// Index: primary. Key: _id = <scope> AND _scope_type_key = taggie:Scope~<shard>; _subject_key = taggie:Scope:<scope> AND
// _predicate_key = member:0000000000000000:User:<user>. Cost: ⌈2n/100⌉ BatchGetItem; for the user "", ⌈n/100⌉.
func (db Store) ScopesByID(ctx context.Context, user entity.UserID, ids []string) ([]entity.Scope, []error) {
	scopes, members := make([]entity.Scope, len(ids)), make([]entity.Member, len(ids))
	wants := make([]dynamo.Want, 0, 2*len(ids))
	for i, id := range ids {
		wants = append(wants, dynamo.Want{Table: dynamo.EntitiesMaster, Key: scopeKey(id), Decode: func(item dynamo.Item) error { return decodeScope(item, &scopes[i]) }})
	}
	for i := range ids {
		if user != "" {
			wants = append(wants, dynamo.Want{Table: dynamo.RelationshipEntries, Key: scopeMemberKey(ids[i], user), Decode: func(item dynamo.Item) error { return decodeScopeMember(item, &members[i]) }})
		}
	}
	all := db.BatchGet(ctx, wants)
	errs := all[:len(ids)]
	for i, err := range all[len(ids):] {
		if errs[i] == nil && err != dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			errs[i] = err
		}
	}
	for i := range scopes {
		if scopes[i].Role = members[i].Role; errs[i] != nil {
			scopes[i] = entity.Scope{}
		}
	}
	return scopes, dynamo.Missing(errs, noSuchScope)
}

// PutScope puts a scope with its first owner, or changes one on condition of its version; the counters of members, which
// others change meanwhile, stay. The tasks that follow are recorded with it.
//
// Index: primary. Key: _id = <scope> AND _scope_type_key = taggie:Scope~<shard>; of a new one also the two rows of the
// owner, as PutMember, and USER#<user>/PROFILE on condition that it exists and of its count; of one that begins to be erased also
// taggie:Erasures:scopes/scope:0000000000000000:Scope:<scope>. Cost: 1 TransactWriteItems of 1, 2 or 4 rows and 1 per task.
func (db Store) PutScope(ctx context.Context, before *entity.Scope, after entity.Scope, owner *entity.Member, follow []task.Task, once idempotency.Key) error {
	var actions []dynamo.Action
	switch {
	case before != nil:
		actions = append(actions, updateScope(*before, after))
		if after.Deletion.State == domain.Erasing && before.Deletion.State != domain.Erasing {
			actions = append(actions, dynamo.Action{Table: dynamo.RelationshipEntries, Item: RelationRow(erased(after.ID), after.UpdatedAt, nil)})
		}
	case owner != nil:
		actions = append(actions,
			dynamo.Action{Table: dynamo.EntitiesMaster, Item: scopeRow(after), Condition: "attribute_not_exists(#id)", Names: map[string]string{"#id": "_id"},
				Failed: scopeConflict(entity.NoRole)},
			dynamo.Action{Table: dynamo.RelationshipEntries, Item: scopeMemberRow(*owner)},
			dynamo.Action{Table: dynamo.RelationshipEntries, Item: RelationRow(scopeOf(owner.User, owner.Scope), owner.AddedAt, nil)},
			users.CreatesOne(owner.User, "scopes", entity.MaxScopes, &entity.UnknownUser{},
				fault.New(fault.Exhausted, "a user creates at most %d scopes: use those that are there, or have another user create one", entity.MaxScopes)),
		)
	default:
		return errors.New("a new scope has an owner")
	}
	for _, t := range follow {
		actions = append(actions, dynamo.TaskAction(t))
	}
	return db.Transact(ctx, actions, once)
}

// updateScope writes all attributes that a scope has of its own, and a mark by which an attempt whose answer was lost is known when it comes again.
func updateScope(before, after entity.Scope) dynamo.Action {
	a := dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: scopeKey(after.ID),
		Update:    "SET #_updated = :_updated, #meta.#version = :next, #meta.#change = :change",
		Condition: "#meta.#version = :version OR #meta.#change = :change",
		Names:     map[string]string{"#_updated": "_updated", "#meta": "_meta", "#version": "version", "#change": "change"},
		Values: dynamo.Attrs{":_updated": dynamo.Str(keys.Instant(after.UpdatedAt)), ":version": dynamo.Number(int64(before.Version)),
			":next": dynamo.Number(int64(after.Version)), ":change": dynamo.Str(uuid.NewString())},
		Failed: scopeConflict(before.Role),
	}
	if fresh := newlyFresh(before, after); fresh != "" {
		a.Condition = "#meta.#version = :version AND attribute_not_exists(#types.#fresh) OR #meta.#change = :change"
		a.Names["#types"], a.Names["#fresh"] = typesAttribute, fresh
	}
	row, removes := scopeRows.Row(&after), []string(nil)
	for _, name := range scopeRows.Names() {
		if name == typesAttribute { // others add to it meanwhile
			continue
		}
		a.Names["#"+name] = name
		if value, there := row[name]; there {
			a.Values[":"+name] = value
			a.Update += ", #" + name + " = :" + name
		} else {
			removes = append(removes, "#"+name)
		}
	}
	if len(removes) > 0 {
		a.Update += " REMOVE " + strings.Join(removes, ", ")
	}
	return a
}

// scopeConflict says what a scope is, for somebody of that role, instead of what was expected.
func scopeConflict(role entity.Role) func(row dynamo.Attrs) error {
	return func(row dynamo.Attrs) error {
		if row == nil {
			return fault.New(fault.NotFound, noSuchScope)
		}
		current := entity.Scope{Role: role}
		if err := decodeScope(dynamo.ItemOf(row), &current); err != nil {
			return err
		}
		return &entity.ScopeConflict{Current: current}
	}
}

// userExists is a check of the profile.
func userExists(user entity.UserID) dynamo.Action {
	return users.There(user, &entity.UnknownUser{})
}

// ListMembers lists the members of a scope by user id.
//
// Index: primary. Key: _subject_key = taggie:Scope:<scope> AND begins_with(_predicate_key, member:0000000000000000:User:).
// Cost: 1 Query.
func (db Store) ListMembers(ctx context.Context, scope string, w page.Window) (page.Slice[entity.Member], error) {
	s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: RelationKey(scopeMember(scope, "")).PK}
	s.Low, s.High = dynamo.Prefixed(scopeMemberKey(scope, "").SK)
	return dynamo.Listing[entity.Member]{
		Span: s, Decode: decodeScopeMember,
		Position: func(m entity.Member) string { return string(m.User) },
		SortKey:  func(user string) string { return scopeMemberKey(scope, entity.UserID(user)).SK },
	}.Read(ctx, db.DB, w)
}

// ListScopes lists the scopes of which the user is a member, by id. The membership in the scope decides, and those without
// one are left out, as are those that are deleted.
//
// Index: primary. Key: _subject_key = taggie:User:<user> AND begins_with(_predicate_key, scope:0000000000000000:Scope:); then
// as ScopesByID. Cost: 1 Query and ⌈2n/100⌉ BatchGetItem.
func (db Store) ListScopes(ctx context.Context, user entity.UserID, w page.Window) (page.Slice[entity.Scope], error) {
	return listMine(ctx, db, user, w, func(s entity.Scope) (entity.Scope, bool) {
		return s, s.Role != entity.NoRole && s.Deletion.State == ""
	})
}

// ListDeletedScopes lists the deleted scopes of which the user is an owner, by id.
//
// Index: primary. Key: as ListScopes. Cost: as ListScopes, more where most scopes of the user are not deleted.
func (db Store) ListDeletedScopes(ctx context.Context, user entity.UserID, w page.Window) (page.Slice[entity.DeletedScope], error) {
	return listMine(ctx, db, user, w, func(s entity.Scope) (entity.DeletedScope, bool) {
		return entity.DeletedScope{Scope: s}, s.Role == entity.OwnerRole && s.Deletion.State != ""
	})
}

// listMine lists what keep makes of the scopes of a user, and leaves out those that it does not keep.
func listMine[T interface{ GlobalID() entity.ScopeID }](ctx context.Context, db Store, user entity.UserID, w page.Window, keep func(entity.Scope) (T, bool)) (page.Slice[T], error) {
	s := dynamo.Span{Table: dynamo.RelationshipEntries, PK: RelationKey(scopeOf(user, "")).PK}
	s.Low, s.High = dynamo.Prefixed(RelationKey(scopeOf(user, "")).SK)
	l := dynamo.Listing[RelationRecord]{
		Span: s, Decode: func(item dynamo.Item, r *RelationRecord) error { return DecodeRelation(item, r, nil) },
		SortKey: func(scope string) string { return RelationKey(scopeOf(user, scope)).SK },
	}
	return dynamo.Filtered(ctx, db.DB, l, w, func(ctx context.Context, rows []RelationRecord) ([]T, error) {
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = r.Object.ID
		}
		scopes, errs := db.ScopesByID(ctx, user, ids)
		var kept []T
		for i, s := range scopes {
			if errs != nil && errs[i] != nil {
				if !fault.Is(errs[i], fault.NotFound) {
					return nil, errs[i]
				}
				continue
			}
			if mine, is := keep(s); is {
				kept = append(kept, mine)
			}
		}
		return kept, nil
	}, func(s T) string { return string(s.GlobalID()) })
}

// newlyFresh returns the type of the index that a change declares as fresh, "" for none.
func newlyFresh(before, after entity.Scope) string {
	for _, x := range after.Indexes {
		if x.Fresh && !slices.ContainsFunc(before.Indexes, func(was entity.Index) bool { return was.Name == x.Name }) {
			return x.Type
		}
	}
	return ""
}
