package entities

import (
	"context"
	"time"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
)

var (
	allowedEntities = dynamo.Allowance{Kind: "entities", Most: entity.MaxEntities, Says: "a scope has at most %d entities: delete some first",
		Recounted: &dynamo.Recounting{Shared: true, Full: 24 * time.Hour, Usual: 30 * 24 * time.Hour, Count: countEntities}}
	allowedRelations = dynamo.Allowance{Kind: "relations", Most: entity.MaxScopeRelations, Says: "a scope has at most %d relations: end some first",
		Recounted: &dynamo.Recounting{Shared: true, Full: 24 * time.Hour, Usual: 30 * 24 * time.Hour, Count: countRelations}}
)

// Allowances are how many entities and relations a scope may have.
func Allowances() []dynamo.Allowance { return []dynamo.Allowance{allowedEntities, allowedRelations} }

// countEntities counts the entities of scopes that are not being deleted.
func countEntities(db *dynamo.DB, ctx context.Context, found map[string]int) error {
	return db.ScanAll(ctx, dynamo.EntitiesMaster, []string{dynamo.EntitiesMaster.PK, dynamo.EntitiesMaster.SK, "_meta"}, func(item dynamo.Item) error {
		key, err := dynamo.KeyOf(item, dynamo.EntitiesMaster)
		var h Header
		if dynamo.Attributes(item, h.Read) != nil || h.Deleting.IsZero() { // another program may have put what cannot be read
			dynamo.CountOne(found, keys.Split(key.SK)[0])
		}
		return err
	})
}

// countRelations counts the relations of scopes. Those that a change has prepared, or is about to remove, are counted, too.
func countRelations(db *dynamo.DB, ctx context.Context, found map[string]int) error {
	return db.ScanAll(ctx, dynamo.RelationshipEntries, []string{dynamo.RelationshipEntries.PK, dynamo.RelationshipEntries.SK}, func(item dynamo.Item) error {
		key, err := dynamo.KeyOf(item, dynamo.RelationshipEntries)
		if !keys.IsPredicateEnd(key.SK) {
			dynamo.CountOne(found, keys.Split(key.PK)[0])
		}
		return err
	})
}
