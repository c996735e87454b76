package entities

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/entity"
)

// entityRecord is an entity as its row tells it.
type entityRecord struct {
	Header
	Own  map[string]any
	Meta map[string]any // what apps note; nil for nothing
}

// decodeEntity reads a row of entities_master.
func decodeEntity(item dynamo.Item, r *entityRecord) error {
	r.Own = map[string]any{}
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) (err error) {
		switch {
		case string(name) == "_meta":
			return r.readMeta(v)
		case Ours(name):
			return r.Header.Read(name, v)
		}
		own := string(name)
		r.Own[own], err = v.Any()
		return err
	})
}

// readMeta reads _meta, where what apps note stands beside what the store has to know. Another program may keep sets or bytes there: names
// with such values are left out.
func (r *entityRecord) readMeta(v dynamo.Value) error {
	return v.Object(func(name []byte, v dynamo.Value) error {
		if entity.ReservedInMeta(string(name)) {
			return r.Header.readInMeta(name, v)
		}
		noted, err := v.Any()
		if errors.Is(err, dynamo.ErrNotJSON) {
			return nil
		}
		if r.Meta == nil {
			r.Meta = map[string]any{}
		}
		r.Meta[string(name)] = noted
		return err
	})
}

// present reads a row of an entity that is not being deleted; one that is does not exist for readers.
func present(r *entityRecord) func(item dynamo.Item) error {
	return func(item dynamo.Item) error {
		if err := decodeEntity(item, r); err != nil {
			return err
		}
		if !r.Deleting.IsZero() {
			return dynamo.ErrMissing
		}
		return nil
	}
}

func (r *entityRecord) Entity() entity.Entity {
	return entity.Entity{
		ID: r.ID, Attributes: r.Own, Meta: r.Meta, Version: dynamo.VersionOr(r.Version), CreatedAt: r.Created, UpdatedAt: r.Updated, Index: r.indexed(),
	}
}

// own writes attributes that a client chose; nil for none.
func own(attributes map[string]any) (dynamo.Attrs, error) {
	row := make(dynamo.Attrs, len(attributes))
	for name, of := range attributes {
		value, err := dynamo.Attribute(of)
		if err != nil {
			return nil, err
		}
		row[name] = value
	}
	return row, nil
}

// byIndex returns the keys of entries by index, each once and sorted: what an entity emits is compared as a whole.
func byIndex(entries []entity.IndexEntry) map[string][]string {
	if len(entries) == 0 {
		return nil
	}
	lists := map[string][]string{}
	for _, e := range entries {
		lists[e.Name] = append(lists[e.Name], e.Key)
	}
	for name, list := range lists {
		slices.Sort(list)
		lists[name] = slices.Compact(list)
	}
	return lists
}

// entriesValue is _index_entries of an entity that emits the entries.
func entriesValue(entries []entity.IndexEntry) types.AttributeValue {
	return emitted(byIndex(entries))
}

// rowOfEntity is the row of an entity, which is found by its scope; those of projects are not.
func rowOfEntity(key dynamo.Key, e entity.Entity) (dynamo.Attrs, error) {
	row, err := own(e.Attributes)
	if err != nil {
		return nil, err
	}
	row = EntityRow(key, Header{ID: e.ID, Version: e.Version, Created: e.CreatedAt, Updated: e.UpdatedAt, Index: byIndex(e.Index)}, row)
	row[dynamo.EntitiesByScope.PK] = dynamo.Str(e.ID.Scope)
	row["_meta"], err = metaOf(e)
	return row, err
}

// unchanged makes an action conditional on the entity's being as it was read: of this version, with these index entries, which the
// rebuild of an index changes alone, and not being deleted. Another program's row, which has no version, may have other entries than
// ours, or none: whatever Taggie writes has both.
func unchanged(a dynamo.Action, version int, entries []entity.IndexEntry) dynamo.Action {
	is := "#entries = :entries"
	if version == dynamo.FirstVersion {
		is = "(#entries = :entries OR attribute_not_exists(#entries) OR attribute_not_exists(#meta.#version))"
	}
	a.Condition = is + " AND attribute_not_exists(#meta.#deleting)"
	a.Names = map[string]string{"#entries": "_index_entries", "#meta": "_meta", "#version": "version", "#deleting": "deleting"}
	a.Values = dynamo.Attrs{":entries": entriesValue(entries)}
	return a.IfVersion(version, "_meta", "version")
}

// metaOf is _meta of an entity: its version, and what apps note about it.
func metaOf(e entity.Entity) (types.AttributeValue, error) {
	meta, err := own(e.Meta)
	if err != nil {
		return nil, err
	}
	meta["version"] = dynamo.Number(int64(e.Version))
	return &types.AttributeValueMemberM{Value: meta}, nil
}

// indexActions make the index entries of an entity from before those of after. An entry that stays is written again
// when it has attributes, which may be others now; one that had some and has none any more has to say so with an empty map.
func indexActions(id entity.ID, before, after []entity.IndexEntry) ([]dynamo.Action, error) {
	type name struct{ index, key string }
	was := make(map[name]bool, len(before))
	for _, e := range before {
		was[name{e.Name, e.Key}] = true
	}
	is := make(map[name]bool, len(after))
	var actions []dynamo.Action
	for _, e := range after {
		n := name{e.Name, e.Key}
		if is[n] {
			continue
		}
		is[n] = true
		if was[n] && e.Attributes == nil {
			continue
		}
		row, err := own(e.Attributes)
		if err != nil {
			return nil, err
		}
		actions = append(actions, dynamo.Action{Table: dynamo.IndexEntries, Item: IndexRow(id, e.Name, e.Key, row)})
	}
	for _, e := range before {
		n := name{e.Name, e.Key}
		if was[n] && !is[n] {
			was[n] = false
			actions = append(actions, dynamo.Action{Table: dynamo.IndexEntries, Key: IndexEntryKey(id, e.Name, e.Key), Remove: true})
		}
	}
	return actions, nil
}

// currentEntity reads the row that came with a failed condition; nil when it is gone, or going.
func currentEntity(row dynamo.Attrs) (*entity.Entity, error) {
	if row == nil {
		return nil, nil
	}
	var r entityRecord
	if err := decodeEntity(dynamo.ItemOf(row), &r); err != nil {
		return nil, err
	}
	if !r.Deleting.IsZero() {
		return nil, nil
	}
	e := r.Entity()
	return &e, nil
}

// instantLength is how long every instant is.
const instantLength = len("2006-01-02T15:04:05.000Z")

// updatedPosition is <updated><id>: where an entity stands among those of its type.
func updatedPosition(updated, id string) string { return updated + id }

func splitUpdated(position string) (updated, id string) {
	n := min(len(position), instantLength)
	return position[:n], position[n:]
}

// updatedStart is the exclusive start key of entities_by_type at a position.
func updatedStart(scopeType, position string) dynamo.Attrs {
	updated, id := splitUpdated(position)
	start := dynamo.EntitiesMaster.Key(dynamo.Key{PK: id, SK: scopeType})
	start["_updated"] = dynamo.Str(updated)
	return start
}

// OurScope is the scope of what belongs to no project, and to no scope of a client.
const OurScope = "taggie"

// UserID is a user as an entity, to which relations point.
func UserID[ID ~string](user ID) entity.ID {
	return entity.ID{Scope: OurScope, Type: "User", ID: string(user)}
}
