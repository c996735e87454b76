package entities

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
)

// Header is what every entity has besides its own attributes.
type Header struct {
	ID       entity.ID
	Version  int
	Created  time.Time
	Updated  time.Time
	Deleting time.Time           // zero unless the entity is being deleted
	Index    map[string][]string // keys by index name: what it emits now
	Key      dynamo.Key          // under which it is written
}

// EntityKey is the key of an entity of which a scope has not too many.
func EntityKey(id entity.ID) dynamo.Key {
	return dynamo.Key{PK: id.ID, SK: keys.ScopeTypeKey(id.Scope, id.Type)}
}

// ShardedKey is the key of an entity of which a scope has very many: items and efforts of projects.
func ShardedKey(id entity.ID) dynamo.Key {
	return dynamo.Key{PK: id.ID, SK: keys.ShardedScopeTypeKey(id.Scope, id.Type, keys.Shard(id.ID))}
}

// HeaderOf are the attributes that every entity has besides its own.
func HeaderOf[T any](of func(*T) *Header) []dynamo.RowAttribute[T] {
	return []dynamo.RowAttribute[T]{
		{
			Name:  "_id",
			Write: func(t *T) types.AttributeValue { return dynamo.Str(of(t).Key.PK) },
			Read:  func(t *T, v dynamo.Value) (err error) { of(t).ID.ID, err = v.Str(); return err },
		},
		{
			Name:  "_scope_type_key",
			Write: func(t *T) types.AttributeValue { return dynamo.Str(of(t).Key.SK) },
			Read:  func(*T, dynamo.Value) error { return nil }, // what a key consists of is in other attributes
		},
		dynamo.OfText("_scope", func(t *T) *string { return &of(t).ID.Scope }),
		dynamo.OfText("_type", func(t *T) *string { return &of(t).ID.Type }),
		dynamo.OfInstant("_created", func(t *T) *time.Time { return &of(t).Created }),
		dynamo.OfInstant("_updated", func(t *T) *time.Time { return &of(t).Updated }),
		{
			Name:  "_meta",
			Write: func(t *T) types.AttributeValue { return of(t).meta() },
			Read:  func(t *T, v dynamo.Value) error { return of(t).readMeta(v) },
		},
		{
			Name:  "_index_entries",
			Write: func(t *T) types.AttributeValue { return emitted(of(t).Index) },
			Read:  func(t *T, v dynamo.Value) error { return of(t).readIndex(v) },
		},
	}
}

var headerRows = dynamo.LayoutOf(HeaderOf(func(h *Header) *Header { return h })...)

// EntityRow adds key and header to the attributes of an entity.
func EntityRow(key dynamo.Key, h Header, own dynamo.Attrs) dynamo.Attrs {
	if own == nil {
		own = dynamo.Attrs{}
	}
	h.Key = key
	headerRows.Write(&h, own)
	return own
}

// Overwrite writes attributes that an entity has of its own, and when it was changed, over its row; those that row lacks are removed. It fails with missing
// when there is no such row.
func Overwrite(row dynamo.Attrs, own []string, missing error) dynamo.Action {
	a := dynamo.Action{
		Table: dynamo.EntitiesMaster, Key: dynamo.Key{PK: dynamo.Text(row["_id"]), SK: dynamo.Text(row["_scope_type_key"])},
		Condition: "attribute_exists(#_id)", Names: map[string]string{"#_id": "_id"}, Values: dynamo.Attrs{}, Failed: func(dynamo.Attrs) error { return missing },
	}
	var set, remove []string
	for _, name := range append([]string{"_updated"}, own...) {
		a.Names["#"+name] = name
		if v, there := row[name]; there {
			a.Values[":"+name] = v
			set = append(set, "#"+name+" = :"+name)
		} else {
			remove = append(remove, "#"+name)
		}
	}
	if a.Update = "SET " + strings.Join(set, ", "); len(remove) > 0 {
		a.Update += " REMOVE " + strings.Join(remove, ", ")
	}
	return a
}

func (h *Header) meta() types.AttributeValue {
	return &types.AttributeValueMemberM{Value: dynamo.Attrs{"version": dynamo.Number(int64(h.Version))}}
}

func (h *Header) readMeta(v dynamo.Value) error {
	return v.Object(h.readInMeta)
}

func (h *Header) readInMeta(name []byte, v dynamo.Value) (err error) {
	switch string(name) {
	case "version":
		h.Version, err = v.Int()
	case "deleting":
		h.Deleting, err = v.Instant()
	}
	return err
}

// emitted keeps the keys that an entity emits, by index.
func emitted(index map[string][]string) types.AttributeValue {
	entries := dynamo.Attrs{}
	for name, list := range index {
		entries[name] = dynamo.Texts(list)
	}
	return &types.AttributeValueMemberM{Value: entries}
}

func (h *Header) readIndex(v dynamo.Value) error {
	return v.Object(func(name []byte, v dynamo.Value) error {
		index := string(name)
		return v.AnyTexts(func(key string) error { // another program may keep something else here
			if h.Index == nil {
				h.Index = map[string][]string{}
			}
			h.Index[index] = append(h.Index[index], key)
			return nil
		})
	})
}

// Ours reports whether an attribute of a row is one of the store's and not the entity's own.
func Ours(name []byte) bool { return len(name) > 0 && name[0] == '_' }

// Read reads one of our attributes into the header; others are skipped.
func (h *Header) Read(name []byte, v dynamo.Value) error { return headerRows.Read(h, name, v) }

// DecodeOwn reads an entity whose own attributes are declared, and returns what else its row tells.
func DecodeOwn[T any](own *dynamo.Layout[T], item dynamo.Item, into *T) (Header, error) {
	h := headerRows.Take()
	defer headerRows.Give(h)
	err := dynamo.Attributes(item, func(name []byte, v dynamo.Value) error {
		if Ours(name) {
			return h.Read(name, v)
		}
		return own.Read(into, name, v)
	})
	return *h, err
}

// emits reports whether the entity has the key in the index now. Of an entity that another program put nothing tells but the row
// of the index.
func (h *Header) emits(index, key string) bool {
	return h.Version == 0 || slices.Contains(h.Index[index], key)
}

// IndexRow is an entry of an index.
func IndexRow(id entity.ID, name, key string, own dynamo.Attrs) dynamo.Attrs {
	row := own
	if row == nil {
		row = dynamo.Attrs{}
	}
	k := IndexEntryKey(id, name, key)
	row["_subject_key"], row["_unique_key"] = dynamo.Str(k.PK), dynamo.Str(k.SK)
	row["_scope"], row["_type"], row["_id"] = dynamo.Str(id.Scope), dynamo.Str(id.Type), dynamo.Str(id.ID)
	row["_index_name"], row["_index_key"] = dynamo.Str(name), dynamo.Str(key)
	row["_scope_index_name"] = dynamo.Str(keys.ScopeIndexName(id.Scope, name))
	return row
}

// IndexEntryKey is the key of an entry of an entity in the index of that name.
func IndexEntryKey(id entity.ID, name, key string) dynamo.Key {
	return dynamo.Key{PK: keys.SubjectKey(id.Scope, id.Type, id.ID), SK: keys.UniqueKey(name, key)}
}

// RelationRow is a relationship. Its generations are added by who changes many at once.
func RelationRow(r entity.Relation, created time.Time, own dynamo.Attrs) dynamo.Attrs {
	row := own
	if row == nil {
		row = dynamo.Attrs{}
	}
	relationRows.Write(&RelationRecord{Relation: r, Key: RelationKey(r), Created: created}, row)
	return row
}

// RelationKey is the key of the row of a relation.
func RelationKey(r entity.Relation) dynamo.Key {
	return dynamo.Key{PK: keys.SubjectKey(r.Subject.Scope, r.Subject.Type, r.Subject.ID), SK: keys.PredicateKey(r.Predicate, r.Index, r.Object.Type, r.Object.ID)}
}

// RelationRecord is a relationship as its row tells it, or a marker at one end of a predicate's relationships, which has a
// generation instead of an object.
type RelationRecord struct {
	entity.Relation
	Key        dynamo.Key
	Created    time.Time
	From       int // the generation from which the row holds
	Until      int // the generation from which it does not hold any more; 0 for none
	Marker     bool
	Generation int
	Intent     *intent
	single
}

// foreign reports whether another program has spelled the row's key.
func (r RelationRecord) foreign() bool { return r.Key != RelationKey(r.Relation) }

// Holds reports whether the row is part of a generation.
func (r RelationRecord) Holds(generation int) bool {
	return r.From <= generation && (r.Until == 0 || generation < r.Until)
}

// relationRows are the attributes of a relationship and of a marker that are ours.
var relationRows = dynamo.LayoutOf(
	dynamo.OfText("_subject_key", func(r *RelationRecord) *string { return &r.Key.PK }),
	dynamo.OfText("_predicate_key", func(r *RelationRecord) *string { return &r.Key.SK }),
	dynamo.IndexKey("_object_key", func(r *RelationRecord) string {
		return keys.SubjectKey(r.Object.Scope, r.Object.Type, r.Object.ID)
	}),
	dynamo.OfText("_subject_scope", func(r *RelationRecord) *string { return &r.Subject.Scope }),
	dynamo.OfText("_subject_type", func(r *RelationRecord) *string { return &r.Subject.Type }),
	dynamo.OfText("_subject_id", func(r *RelationRecord) *string { return &r.Subject.ID }),
	dynamo.OfText("_object_scope", func(r *RelationRecord) *string { return &r.Object.Scope }),
	dynamo.OfText("_object_type", func(r *RelationRecord) *string { return &r.Object.Type }),
	dynamo.OfText("_object_id", func(r *RelationRecord) *string { return &r.Object.ID }),
	dynamo.OfText("_predicate", func(r *RelationRecord) *string { return &r.Predicate }),
	dynamo.OfWhole("_index", func(r *RelationRecord) *int64 { return &r.Index }),
	dynamo.OfInstant("_created", func(r *RelationRecord) *time.Time { return &r.Created }),
	dynamo.Optional(dynamo.OfWhole("_from", func(r *RelationRecord) *int { return &r.From })),
	dynamo.Optional(dynamo.OfWhole("_until", func(r *RelationRecord) *int { return &r.Until })),
	dynamo.RowAttribute[RelationRecord]{ // changes of relationships write what markers have besides
		Name: "_generation",
		Read: func(r *RelationRecord, v dynamo.Value) (err error) {
			r.Marker = true
			r.Generation, err = v.Int()
			return err
		},
	},
	dynamo.Optional(dynamo.OfText("_came", func(r *RelationRecord) *string { return &r.Came })),
	dynamo.Optional(dynamo.OfText("_went", func(r *RelationRecord) *string { return &r.Went })),
	dynamo.Optional(dynamo.OfText("_of_scope", func(r *RelationRecord) *string { return &r.Of })),
	dynamo.RowAttribute[RelationRecord]{
		Name: "_intent",
		Read: func(r *RelationRecord, v dynamo.Value) error {
			r.Intent = &intent{}
			return r.Intent.read(v)
		},
	},
)

// withoutAttributes is everything in the row of a relationship that is ours.
var withoutAttributes = dynamo.Lightest(relationRows.Light())

// DecodeRelation reads a row of relationship_entries; its own attributes go to own, nil to skip them.
func DecodeRelation(item dynamo.Item, r *RelationRecord, own func(name []byte, v dynamo.Value) error) error {
	return dynamo.Attributes(item, func(name []byte, v dynamo.Value) error {
		if own != nil && !Ours(name) {
			return own(name, v)
		}
		return relationRows.Read(r, name, v)
	})
}

// DecodeOwnOf reads a relationship whose own attributes are declared, and returns what else its row tells.
func DecodeOwnOf[T any](own *dynamo.Layout[T], item dynamo.Item, into *T) (RelationRecord, error) {
	r := relationRows.Take()
	defer relationRows.Give(r)
	err := DecodeRelation(item, r, func(name []byte, v dynamo.Value) error { return own.Read(into, name, v) })
	return *r, err
}

// indexed returns the entries of an entity in the order of names and keys.
func (h *Header) indexed() []entity.IndexEntry {
	var all []entity.IndexEntry
	for name, list := range h.Index {
		for _, key := range list {
			all = append(all, entity.IndexEntry{Name: name, Key: key})
		}
	}
	slices.SortFunc(all, func(a, b entity.IndexEntry) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	return all
}
