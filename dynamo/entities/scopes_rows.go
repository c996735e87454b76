package entities

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
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

func scopeMemberRow(m entity.Member) dynamo.Attrs {
	return RelationRow(scopeMember(m.Scope, m.User), m.AddedAt, dynamo.Attrs{"role": dynamo.Str(roles[m.Role])})
}

func decodeScopeMember(item []byte, m *entity.Member) error {
	var r RelationRecord
	err := DecodeRelation(item, &r, func(name []byte, v dynamo.Value) error {
		if string(name) != "role" {
			return v.Skip()
		}
		role, err := v.Str()
		m.Role = parseRole(role)
		return err
	})
	m.Scope, m.User, m.AddedAt = r.Subject.ID, entity.UserID(r.Object.ID), r.Created
	return err
}

// scopeAttributes are the attributes of a scope that change.
func scopeAttributes(s entity.Scope) dynamo.Attrs {
	declared := make([]types.AttributeValue, len(s.Indexes))
	for i, x := range s.Indexes {
		path := make([]types.AttributeValue, len(x.Path))
		for n, name := range x.Path {
			path[n] = dynamo.Str(name)
		}
		declaration := dynamo.Attrs{
			"name": dynamo.Str(x.Name), "type": dynamo.Str(x.Type), "path": &types.AttributeValueMemberL{Value: path}, "kind": dynamo.Str(string(x.Kind)),
			"declared_at": dynamo.Str(keys.Instant(x.DeclaredAt)), "ready": &types.AttributeValueMemberBOOL{Value: x.Ready},
			"done": dynamo.Number(int64(x.Done)), "pass": dynamo.Number(int64(x.Pass)), "at": dynamo.Str(x.At),
		}
		if !x.RemovedAt.IsZero() {
			declaration["removed_at"] = dynamo.Str(keys.Instant(x.RemovedAt))
		}
		declared[i] = &types.AttributeValueMemberM{Value: declaration}
	}
	return dynamo.Attrs{"name": dynamo.Str(s.Name), "indexes": &types.AttributeValueMemberL{Value: declared}}
}

// scopeRow is the row of a new scope, whose first member is its first owner.
func scopeRow(s entity.Scope) dynamo.Attrs {
	row := EntityRow(scopeKey(s.ID), Header{ID: scopeID(s.ID), Version: s.Version, Created: s.CreatedAt, Updated: s.UpdatedAt}, scopeAttributes(s))
	row["_meta"] = &types.AttributeValueMemberM{Value: dynamo.Attrs{"version": dynamo.Number(int64(s.Version)), "members": dynamo.Number(1), "owners": dynamo.Number(1)}}
	return row
}

// decodeScope reads the row of a scope.
func decodeScope(item []byte, s *entity.Scope) error {
	var r entityRecord
	if err := present(&r)(item); err != nil {
		return err
	}
	s.ID, s.Version, s.CreatedAt, s.UpdatedAt = r.ID.ID, r.Version, r.Created, r.Updated
	d := declarations{r.Own}
	s.Name = d.text("name")
	list, _ := r.Own["indexes"].([]any)
	s.Indexes = nil
	for _, of := range list {
		x, err := decodeIndex(of)
		if err != nil {
			return err
		}
		s.Indexes = append(s.Indexes, x)
	}
	return nil
}

func decodeIndex(of any) (entity.Index, error) {
	m, ok := of.(map[string]any)
	if !ok {
		return entity.Index{}, errors.New("an index is declared by a map")
	}
	d := declarations{m}
	x := entity.Index{Name: d.text("name"), Type: d.text("type"), Kind: entity.KeyKind(d.text("kind")), At: d.text("at")}
	x.Ready, _ = m["ready"].(bool)
	path, _ := m["path"].([]any)
	for _, name := range path {
		x.Path = append(x.Path, fmt.Sprint(name))
	}
	var errs [4]error
	x.DeclaredAt, errs[0] = d.instant("declared_at")
	x.RemovedAt, errs[1] = d.instant("removed_at")
	x.Done, errs[2] = d.int("done")
	x.Pass, errs[3] = d.int("pass")
	return x, errors.Join(errs[:]...)
}

// declarations are attributes as [dynamo.Value.Any] reads them.
type declarations struct{ of map[string]any }

func (d declarations) text(name string) string {
	s, _ := d.of[name].(string)
	return s
}

func (d declarations) instant(name string) (time.Time, error) { return keys.ParseInstant(d.text(name)) }

func (d declarations) int(name string) (int, error) {
	n, ok := d.of[name].(json.Number)
	if !ok {
		return 0, nil
	}
	return strconv.Atoi(string(n))
}
