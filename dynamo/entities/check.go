package entities

import (
	"slices"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
)

// Kinds are the kinds of rows that all entities have: those of projects, too, except entities of which others say more.
func Kinds(except ...func(dynamo.Key) bool) []dynamo.RowKind {
	any := func(dynamo.Key) bool { return true }
	isEntity := func(k dynamo.Key) bool {
		return !slices.ContainsFunc(except, func(is func(dynamo.Key) bool) bool { return is(k) })
	}
	return []dynamo.RowKind{
		{Name: "an entity", Table: dynamo.EntitiesMaster, Is: isEntity, Needs: NeedsOfEntity, Mend: dynamo.Remake},
		{Name: "an entry of an index", Table: dynamo.IndexEntries, Is: any, Needs: needsOfEntry, Mend: dynamo.Restore},
		{Name: "a relation", Table: dynamo.RelationshipEntries, Is: isRelation, Needs: needsOfRelation, Mend: dynamo.Remake},
		{Name: "a member of a scope", Table: dynamo.RelationshipEntries, Is: dynamo.KeyBegins(keys.SubjectKey(OurScope, "Scope", ""), "member:"), Needs: needsOfScopeMember, Mend: dynamo.Restore},
	}
}

// NeedsOfEntity are the index entries that an entity says it has. Those of one that is being deleted go before it; another program's has its own.
func NeedsOfEntity(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var h Header
	err := dynamo.Attributes(item, func(name []byte, v dynamo.Value) error {
		if !Ours(name) {
			return nil
		}
		return h.Read(name, v)
	})
	if err != nil || h.Version == 0 || !h.Deleting.IsZero() {
		return nil, err
	}
	var needs []dynamo.Need
	for _, e := range h.indexed() {
		needs = append(needs, dynamo.Need{What: "an entry in the index " + e.Name, Table: dynamo.IndexEntries, Key: IndexEntryKey(h.ID, e.Name, e.Key)})
	}
	return needs, nil
}

// needsOfEntry is the entity that has the entry. An entity need not have one that another program put: readers leave such entries out.
func needsOfEntry(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	id := entity.ID{Scope: dynamo.TextOf(item, "_scope"), Type: dynamo.TextOf(item, "_type"), ID: dynamo.TextOf(item, "_id")}
	if id == (entity.ID{}) { // another program's
		return nil, nil
	}
	return []dynamo.Need{{What: "the entity that has it", Table: dynamo.EntitiesMaster, Key: EntityKey(id), Or: ShardedKey(id)}}, nil
}

func needsOfScopeMember(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var m entity.Member
	if err := decodeScopeMember(item, &m); err != nil {
		return nil, err
	}
	return []dynamo.Need{
		{What: "the scope", Table: dynamo.EntitiesMaster, Key: scopeKey(m.Scope)},
		{What: "its place among the scopes of the user", Table: dynamo.RelationshipEntries, Key: RelationKey(scopeOf(m.User, m.Scope))},
	}, nil
}

// isRelation reports whether a row is a relation of an entity of a client: not a marker, and nothing of Taggie's own. A project is the only thing in
// its scope that has the id of the scope.
func isRelation(key dynamo.Key) bool {
	subject := keys.Split(key.PK)
	return len(subject) == 3 && subject[0] != OurScope && subject[0] != subject[2] && !keys.IsPredicateEnd(key.SK)
}

// needsOfRelation is the object, where that is in another scope: who deletes it removes the relation first. Who erases its scope removes the entities
// first, and the relations to them later. In one scope, another program may have related entities that it has removed.
func needsOfRelation(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var r RelationRecord
	if err := DecodeRelation(item, &r, nil); err != nil {
		return nil, err
	}
	if r.Subject.Scope == r.Object.Scope || r.Subject.Scope == "" || r.Object.Scope == OurScope {
		return nil, nil
	}
	return []dynamo.Need{{
		What: "the entity in another scope to which it leads", Table: dynamo.EntitiesMaster, Key: EntityKey(r.Object), Or: ShardedKey(r.Object),
		Void: dynamo.RowID{Table: dynamo.RelationshipEntries, Key: RelationKey(erased(r.Object.Scope))},
	}}, nil
}
