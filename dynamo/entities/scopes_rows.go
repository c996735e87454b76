package entities

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/entity"
)

// scopeID is a scope as an entity. Scopes and their members are entities and relationships of a scope of ours, which no client
// can name: theirs are UUIDs.
func scopeID(id string) entity.ID { return entity.ID{Scope: OurScope, Type: "Scope", ID: id} }

// scopeKey is sharded, so that no partition of entities_by_type carries all scopes there are.
func scopeKey(id string) dynamo.Key { return ShardedKey(scopeID(id)) }

// scopeMember is that a scope has a member. There is no order among members, so that the row can be read by its key.
func scopeMember(scope string, user entity.UserID) entity.Relation {
	return entity.Relation{Subject: scopeID(scope), Predicate: "member", Object: UserID(user)}
}

func scopeMemberKey(scope string, user entity.UserID) dynamo.Key {
	return RelationKey(scopeMember(scope, user))
}

// scopeOf is the same, seen from the user. The role is in one place only.
func scopeOf(user entity.UserID, scope string) entity.Relation {
	return entity.Relation{Subject: UserID(user), Predicate: "scope", Object: scopeID(scope)}
}

// erased is that a scope is being erased, since its time.
func erased(scope string) entity.Relation {
	return entity.Relation{Subject: entity.ID{Scope: OurScope, Type: "Erasures", ID: "scopes"}, Predicate: "scope", Object: scopeID(scope)}
}

// The spelling of roles in rows.
var roles = map[entity.Role]string{entity.ReaderRole: "READER", entity.WriterRole: "WRITER", entity.OwnerRole: "OWNER"}

func parseRole(s string) entity.Role {
	for role, spelled := range roles {
		if s == spelled {
			return role
		}
	}
	return entity.NoRole
}

// memberRows are the attributes that memberships have of their own.
var memberRows = dynamo.LayoutOf(
	dynamo.RowAttribute[entity.Member]{
		Name:  "role",
		Write: func(m *entity.Member) types.AttributeValue { return dynamo.Str(roles[m.Role]) },
		Read: func(m *entity.Member, v dynamo.Value) error {
			role, err := v.Str()
			m.Role = parseRole(role)
			return err
		},
	},
)

func scopeMemberRow(m entity.Member) dynamo.Attrs {
	return RelationRow(scopeMember(m.Scope, m.User), m.AddedAt, memberRows.Row(&m))
}

func decodeScopeMember(item dynamo.Item, m *entity.Member) error {
	r, err := DecodeOwnOf(memberRows, item, m)
	m.Scope, m.User, m.AddedAt = r.Subject.ID, entity.UserID(r.Object.ID), r.Created
	return err
}

// partRows are the attributes of a further part of the keys of an index.
var partRows = dynamo.LayoutOf(
	dynamo.OfTexts("path", func(p *entity.Part) *[]string { return &p.Path }),
	dynamo.OfText("kind", func(p *entity.Part) *entity.KeyKind { return &p.Kind }),
)

// whereRows are the attributes of a condition of an index: a path, and what is asked for there.
var whereRows = dynamo.LayoutOf(
	dynamo.OfTexts("path", func(w *entity.Where) *[]string { return &w.Path }),
	dynamo.RowAttribute[entity.Where]{
		Name: "equals",
		Write: func(w *entity.Where) types.AttributeValue {
			if w.Equals == nil {
				return nil
			}
			value, _ := dynamo.Attribute(w.Equals) // a text or a number, as the service has made sure
			return value
		},
		Read: func(w *entity.Where, v dynamo.Value) (err error) { w.Equals, err = v.Any(); return err },
	},
	maybeFlag("is", func(w *entity.Where) **bool { return &w.Is }),
	maybeFlag("exists", func(w *entity.Where) **bool { return &w.Exists }),
)

// maybeFlag is an attribute that is yes, no, or not there.
func maybeFlag(name string, of func(*entity.Where) **bool) dynamo.RowAttribute[entity.Where] {
	return dynamo.RowAttribute[entity.Where]{
		Name: name,
		Write: func(w *entity.Where) types.AttributeValue {
			if flag := *of(w); flag != nil {
				return &types.AttributeValueMemberBOOL{Value: *flag}
			}
			return nil
		},
		Read: func(w *entity.Where, v dynamo.Value) error {
			some, err := v.Any()
			if flag, ok := some.(bool); ok {
				*of(w) = &flag
			}
			return err
		},
	}
}

// declarationRows are the attributes of the declaration of an index.
var declarationRows = dynamo.LayoutOf(
	dynamo.OfText("name", func(x *entity.Index) *string { return &x.Name }),
	dynamo.OfText("type", func(x *entity.Index) *string { return &x.Type }),
	dynamo.OfTexts("path", func(x *entity.Index) *[]string { return &x.Path }),
	dynamo.OfText("kind", func(x *entity.Index) *entity.KeyKind { return &x.Kind }),
	dynamo.Optional(dynamo.OfMaps("then_by", func(x *entity.Index) *[]entity.Part { return &x.ThenBy }, partRows)),
	dynamo.Optional(dynamo.OfMaps("where", func(x *entity.Index) *[]entity.Where { return &x.Where }, whereRows)),
	dynamo.Optional(dynamo.OfTexts("carries", func(x *entity.Index) *[]string { return &x.Carries })),
	dynamo.OfInstant("declared_at", func(x *entity.Index) *time.Time { return &x.DeclaredAt }),
	dynamo.Optional(dynamo.OfFlag("fresh", func(x *entity.Index) *bool { return &x.Fresh })),
	dynamo.OfFlag("ready", func(x *entity.Index) *bool { return &x.Ready }),
	dynamo.OfWhole("done", func(x *entity.Index) *int { return &x.Done }),
	dynamo.OfWhole("pass", func(x *entity.Index) *int { return &x.Pass }),
	dynamo.OfText("at", func(x *entity.Index) *string { return &x.At }),
	dynamo.Optional(dynamo.OfInstant("removed_at", func(x *entity.Index) *time.Time { return &x.RemovedAt })),
)

// scopeRows are the attributes that scopes have of their own. They change.
var scopeRows = dynamo.LayoutOf(
	dynamo.OfText("name", func(s *entity.Scope) *string { return &s.Name }),
	dynamo.OfMaps("indexes", func(s *entity.Scope) *[]entity.Index { return &s.Indexes }, declarationRows),
	dynamo.RowAttribute[entity.Scope]{Name: typesAttribute, Read: readTypes},
	dynamo.Optional(dynamo.OfText("created_by", func(s *entity.Scope) *entity.UserID { return &s.CreatedBy })),
	dynamo.Optional(dynamo.OfText("deletion", func(s *entity.Scope) *domain.DeletionState { return &s.Deletion.State })),
	dynamo.Optional(dynamo.OfText("deleted_by", func(s *entity.Scope) *entity.UserID { return &s.Deletion.By })),
	dynamo.Optional(dynamo.OfInstant("deleted_at", func(s *entity.Scope) *time.Time { return &s.Deletion.At })),
	dynamo.Optional(dynamo.OfInstant("undo_until", func(s *entity.Scope) *time.Time { return &s.Deletion.UndoUntil })),
)

// typesAttribute of a scope has the types of its entities as a map. Only [Store.PutFirstEntity] writes it after the scope was made.
const typesAttribute = "types"

func readTypes(s *entity.Scope, v dynamo.Value) error {
	s.Types = map[string]bool{}
	return v.Object(func(name []byte, _ dynamo.Value) error {
		s.Types[string(name)] = true
		return nil
	})
}

func typesOf(s *entity.Scope) types.AttributeValue {
	noted := dynamo.Attrs{}
	for typ := range s.Types {
		noted[typ] = &types.AttributeValueMemberBOOL{Value: true}
	}
	return &types.AttributeValueMemberM{Value: noted}
}

// noteType adds a type to those of a scope that is as it was read. The version stays: nobody sees the types.
func noteType(in entity.Scope, typ string) dynamo.Action {
	return dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: scopeKey(in.ID), Update: "SET #types.#type = :yes", Condition: "#meta.#version = :version",
		Names:  map[string]string{"#types": typesAttribute, "#type": typ, "#meta": "_meta", "#version": "version"},
		Values: dynamo.Attrs{":yes": &types.AttributeValueMemberBOOL{Value: true}, ":version": dynamo.Number(int64(in.Version))},
		Failed: func(dynamo.Attrs) error { return &entity.VersionConflict{} },
	}
}

// scopeRow is the row of a new scope, whose first member is its first owner.
func scopeRow(s entity.Scope) dynamo.Attrs {
	row := EntityRow(scopeKey(s.ID), Header{ID: scopeID(s.ID), Version: s.Version, Created: s.CreatedAt, Updated: s.UpdatedAt}, scopeRows.Row(&s))
	row["_meta"] = &types.AttributeValueMemberM{Value: dynamo.Attrs{"version": dynamo.Number(int64(s.Version)), "members": dynamo.Number(1), "owners": dynamo.Number(1)}}
	if s.Types != nil {
		row[typesAttribute] = typesOf(&s)
	}
	return row
}

// decodeScope reads the row of a scope that is not being deleted.
func decodeScope(item dynamo.Item, s *entity.Scope) error {
	s.Indexes, s.Types = nil, nil
	h, err := DecodeOwn(scopeRows, item, s)
	if err == nil && !h.Deleting.IsZero() {
		err = dynamo.ErrMissing
	}
	s.ID, s.Version, s.CreatedAt, s.UpdatedAt = h.ID.ID, h.Version, h.Created, h.Updated
	return err
}
