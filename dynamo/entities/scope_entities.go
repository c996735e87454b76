package entities

import (
	"context"
	"slices"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/idempotency"
)

// together is how many entities are read at once: they have up to 35 MB.
const together = dynamo.MaxBatchGet

// EachEntity shows all entities of a scope page by page, those of a type together. Those that are being deleted are left out.
//
// Index: entities_by_scope, eventually consistent. Key: _entity_scope = <scope>. Index: primary. Key: _id = <id> AND _scope_type_key =
// <scope>:<type> of each. Cost: 1 Query per started megabyte of keys, which are those of some 5,000 entities, and ⌈n/100⌉ BatchGetItem for the n of
// each Query.
func (db Store) EachEntity(ctx context.Context, scope string, page func([]entity.Entity) error) error {
	s := dynamo.Span{Table: dynamo.EntitiesMaster, Index: dynamo.EntitiesByScope, PK: scope, Keys: true, Single: true}
	for {
		var found []dynamo.Key
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			key, err := dynamo.KeyOf(item, dynamo.EntitiesMaster)
			found = append(found, key)
			return true, err
		})
		if err != nil {
			return err
		}
		for some := range slices.Chunk(found, together) {
			entities, err := db.living(ctx, some)
			if err == nil && len(entities) > 0 {
				err = page(entities)
			}
			if err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		s.Start = next
	}
}

// living returns those of the entities that are there.
func (db Store) living(ctx context.Context, keys []dynamo.Key) ([]entity.Entity, error) {
	records, wants := make([]entityRecord, len(keys)), make([]dynamo.Want, len(keys))
	for i, key := range keys {
		wants[i] = dynamo.Want{Table: dynamo.EntitiesMaster, Key: key, Decode: present(&records[i])}
	}
	var all []entity.Entity
	for i, err := range db.BatchGet(ctx, wants) {
		switch {
		case err == nil:
			all = append(all, records[i].Entity())
		case err != dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
			return nil, err
		}
	}
	return all, nil
}

// Indexing is what came of giving entities their place in the index of their scope.
type Indexing struct {
	Entities int // that there are
	Indexed  int // of them, which had none
	Unread   dynamo.Unread
}

// IndexEntities gives the entities of scopes their place in the index of their scope, where they lack it: an earlier version of Taggie, or another
// program, put them. It can be run again, beside servers. A server of an earlier version takes the place away with each change: run it when all
// servers are updated.
//
// Index: primary. Key: all rows, eventually consistent; _id = <scope> AND _scope_type_key = taggie:Scope~<shard> of their scopes; _id = <id> AND
// _scope_type_key = <scope>:<type> on condition that it is there. Cost: 1 Scan per megabyte of the table, with a pause after each page; ⌈n/100⌉
// BatchGetItem for the n scopes and projects of a page; 1 TransactWriteItems of 1 row for each entity without a place, concurrently within the bound.
func (db Store) IndexEntities(ctx context.Context) (done Indexing, err error) {
	scopes := map[string]bool{} // by id, whether there is such a scope: projects are none
	names := []string{dynamo.EntitiesMaster.PK, dynamo.EntitiesMaster.SK, dynamo.EntitiesByScope.PK}
	err = dynamo.WalkAll(ctx, db.DB, dynamo.EntitiesMaster, names, &done.Unread, func(key dynamo.Key, item dynamo.Item, p *placed) (bool, error) {
		*p = placed{key, dynamo.TextOf(item, dynamo.EntitiesByScope.PK)}
		return true, nil
	}, func(some []placed) error { return db.place(ctx, some, scopes, &done) })
	return done, err
}

// placed is a row, with the scope in whose index it is.
type placed struct {
	key dynamo.Key
	in  string
}

// scope is the scope that the row is of.
func (p placed) scope() string { return keys.Split(p.key.SK)[0] }

// place gives those of the rows a place that are entities of scopes and have none.
func (db Store) place(ctx context.Context, rows []placed, scopes map[string]bool, done *Indexing) error {
	if err := db.knowScopes(ctx, rows, scopes); err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(p placed) bool { return !scopes[p.scope()] })
	done.Entities += len(rows)
	rows = slices.DeleteFunc(rows, func(p placed) bool { return p.in == p.scope() })
	for i, err := range db.Each(len(rows), func(i int) error { return db.indexEntity(ctx, rows[i]) }) {
		if err == nil {
			done.Indexed++
		} else if err = done.Unread.Note(ctx, dynamo.EntitiesMaster, rows[i].key, err); err != nil {
			return err
		}
	}
	return nil
}

// knowScopes adds whether there are the scopes that the rows would be of.
func (db Store) knowScopes(ctx context.Context, rows []placed, known map[string]bool) error {
	var ids []string
	var wants []dynamo.Want
	for _, row := range rows {
		id := row.scope()
		if _, is := known[id]; is {
			continue
		}
		known[id] = false
		ids = append(ids, id)
		wants = append(wants, dynamo.Want{Table: dynamo.EntitiesMaster, Key: scopeKey(id), Decode: func(dynamo.Item) error { return nil }})
	}
	for i, err := range db.BatchGet(ctx, wants) {
		switch {
		case err == nil:
			known[ids[i]] = true
		case err != dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
			return err
		}
	}
	return nil
}

// indexEntity gives an entity its place; one that is gone needs none.
func (db Store) indexEntity(ctx context.Context, row placed) error {
	return dynamo.UnlessMoved(db.Transact(ctx, []dynamo.Action{{
		Table: dynamo.EntitiesMaster, Key: row.key, Update: "SET #of = :scope", Condition: "attribute_exists(#id)",
		Names:  map[string]string{"#of": dynamo.EntitiesByScope.PK, "#id": dynamo.EntitiesMaster.PK},
		Values: dynamo.Attrs{":scope": dynamo.Str(row.scope())}, Failed: dynamo.Moved,
	}}, idempotency.Key{}))
}
