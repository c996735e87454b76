package entities

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/page"
)

const noSuchEntity = "there is no such entity"

// EntitiesByID reads entities. One that is being deleted is not there.
//
// Index: primary. Key: _id = <id> AND _scope_type_key = <scope>:<type>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) EntitiesByID(ctx context.Context, ids []entity.ID) ([]entity.Entity, []error) {
	records, errs := db.records(ctx, ids)
	entities := make([]entity.Entity, len(ids))
	for i := range records {
		if errs[i] == nil {
			entities[i] = records[i].Entity()
		}
	}
	return entities, dynamo.Missing(errs, noSuchEntity)
}

// records reads the rows of entities; [dynamo.ErrMissing] for those that are not there.
func (db Store) records(ctx context.Context, ids []entity.ID) ([]entityRecord, []error) {
	records, wants := make([]entityRecord, len(ids)), make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.EntitiesMaster, Key: EntityKey(id), Decode: present(&records[i])}
	}
	return records, db.BatchGet(ctx, wants)
}

// ListEntities lists the entities of a type as the index shows them, the newest first. Those that are being deleted are left
// out and the page stays full.
//
// Index: entities_by_type, eventually consistent. Key: _scope_type_key = <scope>:<type>, backward by _updated.
// Cost: 1 Query; where entities are left out, further Queries of 100, 200, 400, 500 … rows; 1 BatchGetItem more when the window
// probes its other side.
func (db Store) ListEntities(ctx context.Context, scope, typ string, w page.Window) (page.Slice[entity.Entity], error) {
	scopeType := keys.ScopeTypeKey(scope, typ)
	l := dynamo.Listing[entityRecord]{
		Span:       dynamo.Span{Table: dynamo.EntitiesMaster, Index: dynamo.EntitiesByType, PK: scopeType},
		Descending: true,
		Decode:     decodeEntity,
		Start:      func(position string) dynamo.Attrs { return updatedStart(scopeType, position) },
	}
	living := func(_ context.Context, records []entityRecord) ([]entity.Entity, error) {
		var kept []entity.Entity
		for i := range records {
			if records[i].Deleting.IsZero() {
				kept = append(kept, records[i].Entity())
			}
		}
		return kept, nil
	}
	at := func(ctx context.Context) (bool, error) {
		updated, id := splitUpdated(w.From)
		records, errs := db.records(ctx, []entity.ID{{Scope: scope, Type: typ, ID: id}})
		if errs[0] == dynamo.ErrMissing { //nolint:errorlint // BatchGet returns it bare
			return false, nil
		}
		return keys.Instant(records[0].Updated) == updated, errs[0]
	}
	return filteredAt(ctx, db.DB, l, w, living, at, func(e entity.Entity) string {
		return updatedPosition(keys.Instant(e.UpdatedAt), e.ID.ID)
	})
}

// filteredAt is [dynamo.Filtered] for an index in which many rows may have the same sort key, so that only a start key tells what is
// on the other side of the window's From. at reports whether From itself counts still.
//
// Cost: as [dynamo.Filtered]; what at costs when the window probes its other side, and then, where From is gone, 1 Query of one row.
func filteredAt[R, T any](ctx context.Context, db *dynamo.DB, l dynamo.Listing[R], w page.Window, resolve func(context.Context, []R) ([]T, error), at func(context.Context) (bool, error), position func(T) string) (page.Slice[T], error) {
	whole := w
	whole.Probe = false
	slice, err := dynamo.Filtered(ctx, db, l, whole, resolve, position)
	if err != nil || w.From == "" || !w.Probe {
		return slice, err
	}
	if slice.Other, err = at(ctx); err != nil || slice.Other {
		return slice, err
	}
	s := l.In(w)
	s.Backward, s.Limit = !s.Backward, 1
	for round := 0; ; round++ {
		rows, next, err := l.Rows(ctx, db, s)
		if err != nil {
			return slice, err
		}
		found, err := resolve(ctx, rows)
		if slice.Other = len(found) > 0; err != nil || slice.Other || next == nil {
			return slice, err
		}
		s.Start, s.Limit = next, dynamo.Further(round, 1)
	}
}

// entryRecord is an index entry as its row tells it.
type entryRecord struct {
	entity.IndexEntry
	ID entity.ID
}

func decodeEntry(item dynamo.Item, r *entryRecord) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch string(name) {
		case "_scope":
			r.ID.Scope, err = v.Str()
		case "_type":
			r.ID.Type, err = v.Str()
		case "_id":
			r.ID.ID, err = v.Str()
		case "_index_name":
			r.Name, err = v.Str()
		case "_index_key":
			r.Key, err = v.Str()
		default:
			if Ours(name) {
				return nil
			}
			if r.Attributes == nil {
				r.Attributes = map[string]any{}
			}
			own := string(name)
			r.Attributes[own], err = v.Any()
		}
		return err
	})
}

// ListByIndex lists the entities that the index has in a range of keys. The index lags, so each entity is asked whether it
// has the key still: one that has not is left out, and so is one that is gone; the page stays full.
//
// Index: index_lookup, eventually consistent. Key: _scope_index_name = <scope>:<index>, and a range of _index_key.
// Index: primary. Key: _id = <id> AND _scope_type_key = <scope>:<type> of each. Cost: 1 Query and ⌈n/100⌉ BatchGetItem;
// where entities are left out, further Queries of 100, 200, 400, 500 … rows with their BatchGetItem; 1 BatchGetItem more when the
// window probes its other side.
func (db Store) ListByIndex(ctx context.Context, scope, index string, r entity.Range, w page.Window) (page.Slice[entity.Indexed], error) {
	return db.listByIndex(ctx, scope, index, r, w, db.verified, func(ctx context.Context, e entryRecord) (bool, error) {
		found, err := db.verified(ctx, []entryRecord{e})
		return len(found) > 0, err
	})
}

// ListEntries lists what the index has in a range of keys, as it has it: the entities have their ids only.
//
// Index: index_lookup, eventually consistent. Key: _scope_index_name = <scope>:<index>, and a range of _index_key. Cost: 1 Query; when the
// window probes its other side 1 GetItem more, and, where there is no such entry any more, 1 Query of one row.
func (db Store) ListEntries(ctx context.Context, scope, index string, r entity.Range, w page.Window) (page.Slice[entity.Indexed], error) {
	return db.listByIndex(ctx, scope, index, r, w, func(_ context.Context, entries []entryRecord) ([]entity.Indexed, error) {
		all := make([]entity.Indexed, len(entries))
		for i, e := range entries {
			all[i] = entity.Indexed{IndexEntry: e.IndexEntry, Entity: entity.Entity{ID: e.ID}}
		}
		return all, nil
	}, func(ctx context.Context, e entryRecord) (bool, error) {
		return db.Get(ctx, dynamo.IndexEntries, IndexEntryKey(e.ID, e.Name, e.Key), func(dynamo.Item) error { return nil })
	})
}

// listByIndex lists what the index has in a range of keys, as far as resolve keeps it; there reports whether an entry counts still.
func (db Store) listByIndex(ctx context.Context, scope, index string, r entity.Range, w page.Window, resolve func(context.Context, []entryRecord) ([]entity.Indexed, error), there func(context.Context, entryRecord) (bool, error)) (page.Slice[entity.Indexed], error) {
	low, high, some := bounds(r)
	if !some {
		return page.Slice[entity.Indexed]{}, nil
	}
	scopeIndex := keys.ScopeIndexName(scope, index)
	l := dynamo.Listing[entryRecord]{
		Span:   dynamo.Span{Table: dynamo.IndexEntries, Index: dynamo.IndexLookup, PK: scopeIndex, Low: low, High: high},
		Decode: decodeEntry,
		Start: func(position string) dynamo.Attrs {
			subject, key, _ := strings.Cut(position, "\x00")
			start := dynamo.IndexEntries.Key(dynamo.Key{PK: subject, SK: keys.UniqueKey(index, key)})
			start["_scope_index_name"], start["_index_key"] = dynamo.Str(scopeIndex), dynamo.Str(key)
			return start
		},
	}
	at := func(ctx context.Context) (bool, error) {
		subject, key, _ := strings.Cut(w.From, "\x00")
		parts := keys.Split(subject)
		if len(parts) != 3 {
			return false, nil
		}
		return there(ctx, entryRecord{IndexEntry: entity.IndexEntry{Name: index, Key: key}, ID: entity.ID{Scope: parts[0], Type: parts[1], ID: parts[2]}})
	}
	return filteredAt(ctx, db.DB, l, w, resolve, at, func(i entity.Indexed) string {
		// A subject key holds no NUL, an index key may.
		return keys.SubjectKey(i.Entity.Scope, i.Entity.Type, i.Entity.ID.ID) + "\x00" + i.Key
	})
}

// verified returns the entries that their entities emit now, with these.
func (db Store) verified(ctx context.Context, entries []entryRecord) ([]entity.Indexed, error) {
	ids := make([]entity.ID, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	records, errs := db.records(ctx, ids)
	var kept []entity.Indexed
	for i := range records {
		switch err := errs[i]; {
		case err == dynamo.ErrMissing: //nolint:errorlint // BatchGet returns it bare
		case err != nil:
			return nil, err
		case records[i].emits(entries[i].Name, entries[i].Key):
			kept = append(kept, entity.Indexed{IndexEntry: entries[i].IndexEntry, Entity: records[i].Entity()})
		}
	}
	return kept, nil
}

// bounds returns the first and the last key of a range, "" where there is no bound; false when no key is in it. All fields
// that are set count.
func bounds(r entity.Range) (low, high string, some bool) {
	var highs []string
	if r.Equals != nil {
		low, highs = *r.Equals, append(highs, *r.Equals)
	}
	if r.BeginsWith != nil && *r.BeginsWith != "" {
		low, highs = max(low, *r.BeginsWith), append(highs, filled(*r.BeginsWith))
	}
	if r.Between != nil {
		low, highs = max(low, r.Between[0]), append(highs, r.Between[1])
	}
	if r.After != nil {
		low = max(low, *r.After+"\x00") // what follows it directly
	}
	if r.Before != nil {
		highs = append(highs, preceding(*r.Before))
	}
	if len(highs) == 0 {
		return low, "", true
	}
	high = slices.Min(highs)
	return low, high, high != "" && low <= high
}

// filled returns what sorts behind every key of at most [entity.MaxIndexKeyBytes] that begins with the prefix, and before
// every other one that sorts behind those.
func filled(prefix string) string {
	const last = "\U0010FFFF"
	return prefix + strings.Repeat(last, max(0, entity.MaxIndexKeyBytes-len(prefix))/len(last)+1)
}

// preceding returns what sorts behind every key of at most [entity.MaxIndexKeyBytes] before the given one, and before this;
// "" when there is none.
func preceding(key string) string {
	r, size := utf8.DecodeLastRuneInString(key)
	rest := key[:len(key)-size]
	switch {
	case size == 0 || r == 0:
		return rest
	case r == 0xE000: // behind the surrogates, which no text holds
		return filled(rest + "\uD7FF")
	}
	return filled(rest + string(r-1))
}

// Sweep hands all entities of a partition of types over, page by page, by when they changed last. What is changed meanwhile moves to the end, where
// it is met again: nothing is missed.
//
// Index: entities_by_type, eventually consistent. Key: _scope_type_key = pk. Cost: 1 Query per started megabyte.
func Sweep[T any](ctx context.Context, db *dynamo.DB, pk string, decode func(dynamo.Item, *T) error, page func([]T) error) error {
	s := dynamo.Span{Table: dynamo.EntitiesMaster, Index: dynamo.EntitiesByType, PK: pk, Single: true}
	for {
		var found []T
		next, err := db.Query(ctx, s, func(item dynamo.Item) (bool, error) {
			var of T
			err := decode(item, &of)
			found = append(found, of)
			return true, err
		})
		if err != nil {
			return err
		}
		if len(found) > 0 {
			if err := page(found); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		s.Start = next
	}
}
