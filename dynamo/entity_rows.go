package dynamo

import (
	"cmp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/entity"
)

// header is what every entity has besides its own attributes.
type header struct {
	ID       entity.ID
	Version  int
	Created  time.Time
	Updated  time.Time
	Deleting time.Time           // zero unless the entity is being deleted
	Index    map[string][]string // keys by index name: what it emits now
	key      rowKey              // under which it is written
}

// entityKey is the key of an entity of which a scope has not too many.
func entityKey(id entity.ID) rowKey { return rowKey{id.ID, keys.ScopeTypeKey(id.Scope, id.Type)} }

// shardedKey is the key of an entity of which a scope has very many: items and efforts of projects.
func shardedKey(id entity.ID) rowKey {
	return rowKey{id.ID, keys.ShardedScopeTypeKey(id.Scope, id.Type, keys.Shard(id.ID))}
}

// headerOf are the attributes that every entity has besides its own.
func headerOf[T any](of func(*T) *header) []rowAttribute[T] {
	return []rowAttribute[T]{
		{
			name:  "_id",
			write: func(t *T) types.AttributeValue { return str(of(t).key.PK) },
			read:  func(t *T, v value) (err error) { of(t).ID.ID, err = v.str(); return err },
		},
		{
			name:  "_scope_type_key",
			write: func(t *T) types.AttributeValue { return str(of(t).key.SK) },
			read:  func(_ *T, v value) error { return v.skip() }, // what a key consists of is in other attributes
		},
		ofText("_scope", func(t *T) *string { return &of(t).ID.Scope }),
		ofText("_type", func(t *T) *string { return &of(t).ID.Type }),
		ofInstant("_created", func(t *T) *time.Time { return &of(t).Created }),
		ofInstant("_updated", func(t *T) *time.Time { return &of(t).Updated }),
		{
			name:  "_meta",
			write: func(t *T) types.AttributeValue { return of(t).meta() },
			read:  func(t *T, v value) error { return of(t).readMeta(v) },
		},
		{
			name:  "_index_entries",
			write: func(t *T) types.AttributeValue { return emitted(of(t).Index) },
			read:  func(t *T, v value) error { return of(t).readIndex(v) },
		},
	}
}

var headerRows = layoutOf(headerOf(func(h *header) *header { return h })...)

// entityRow adds key and header to the attributes of an entity.
func entityRow(key rowKey, h header, own attrs) attrs {
	if own == nil {
		own = attrs{}
	}
	h.key = key
	headerRows.write(&h, own)
	return own
}

func (h *header) meta() types.AttributeValue {
	return &types.AttributeValueMemberM{Value: attrs{"version": number(int64(h.Version))}}
}

func (h *header) readMeta(v value) error {
	return v.object(func(name []byte, v value) (err error) {
		switch string(name) {
		case "version":
			h.Version, err = v.int()
		case "deleting":
			h.Deleting, err = v.instant()
		default:
			err = v.skip()
		}
		return err
	})
}

// emitted keeps the keys that an entity emits, by index.
func emitted(index map[string][]string) types.AttributeValue {
	entries := attrs{}
	for name, list := range index {
		entries[name] = texts(list)
	}
	return &types.AttributeValueMemberM{Value: entries}
}

func (h *header) readIndex(v value) error {
	return v.object(func(name []byte, v value) error {
		index := string(name)
		return v.anyTexts(func(key string) error { // another program may keep something else here
			if h.Index == nil {
				h.Index = map[string][]string{}
			}
			h.Index[index] = append(h.Index[index], key)
			return nil
		})
	})
}

// ours reports whether an attribute of a row is one of the store's and not the entity's own.
func ours(name []byte) bool { return len(name) > 0 && name[0] == '_' }

// read reads one of our attributes into the header; others are skipped.
func (h *header) read(name []byte, v value) error { return headerRows.read(h, name, v) }

// decodeOwn reads an entity whose own attributes are declared, and returns what else its row tells.
func decodeOwn[T any](own *layout[T], item []byte, into *T) (header, error) {
	h := headerRows.take()
	defer headerRows.give(h)
	err := attributes(item, func(name []byte, v value) error {
		if ours(name) {
			return h.read(name, v)
		}
		return own.read(into, name, v)
	})
	return *h, err
}

// emits reports whether the entity has the key in the index now. Of an entity that another program put nothing tells but the row
// of the index.
func (h *header) emits(index, key string) bool {
	return h.Version == 0 || slices.Contains(h.Index[index], key)
}

// indexRow is an entry of an index.
func indexRow(id entity.ID, name, key string, own attrs) attrs {
	row := own
	if row == nil {
		row = attrs{}
	}
	k := indexEntryKey(id, name, key)
	row["_subject_key"], row["_unique_key"] = str(k.PK), str(k.SK)
	row["_scope"], row["_type"], row["_id"] = str(id.Scope), str(id.Type), str(id.ID)
	row["_index_name"], row["_index_key"] = str(name), str(key)
	row["_scope_index_name"] = str(keys.ScopeIndexName(id.Scope, name))
	return row
}

func indexEntryKey(id entity.ID, name, key string) rowKey {
	return rowKey{keys.SubjectKey(id.Scope, id.Type, id.ID), keys.UniqueKey(name, key)}
}

// relationRow is a relationship. Its generations are added by who changes many at once.
func relationRow(r entity.Relation, created time.Time, own attrs) attrs {
	row := own
	if row == nil {
		row = attrs{}
	}
	k := relationKey(r)
	row["_subject_key"], row["_predicate_key"] = str(k.PK), str(k.SK)
	row["_object_key"] = str(keys.SubjectKey(r.Object.Scope, r.Object.Type, r.Object.ID))
	row["_subject_scope"], row["_subject_type"], row["_subject_id"] = str(r.Subject.Scope), str(r.Subject.Type), str(r.Subject.ID)
	row["_object_scope"], row["_object_type"], row["_object_id"] = str(r.Object.Scope), str(r.Object.Type), str(r.Object.ID)
	row["_predicate"], row["_index"] = str(r.Predicate), number(r.Index)
	row["_created"] = str(keys.Instant(created))
	return row
}

func relationKey(r entity.Relation) rowKey {
	return rowKey{keys.SubjectKey(r.Subject.Scope, r.Subject.Type, r.Subject.ID), keys.PredicateKey(r.Predicate, r.Index, r.Object.Type, r.Object.ID)}
}

// relationRecord is a relationship as its row tells it, or a marker at one end of a predicate's relationships, which has a
// generation instead of an object.
type relationRecord struct {
	entity.Relation
	Key        rowKey
	Created    time.Time
	From       int // the generation from which the row holds
	Until      int // the generation from which it does not hold any more; 0 for none
	Marker     bool
	Generation int
	Intent     *intent
	single
}

// foreign reports whether another program has spelled the row's key.
func (r relationRecord) foreign() bool { return r.Key != relationKey(r.Relation) }

// holds reports whether the row is part of a generation.
func (r relationRecord) holds(generation int) bool {
	return r.From <= generation && (r.Until == 0 || generation < r.Until)
}

// decodeRelation reads a row of relationship_entries; its own attributes go to own, nil to skip them.
func decodeRelation(item []byte, r *relationRecord, own func(name []byte, v value) error) error {
	return attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case "_subject_key":
			r.Key.PK, err = v.str()
		case "_predicate_key":
			r.Key.SK, err = v.str()
		case "_subject_scope":
			r.Subject.Scope, err = v.str()
		case "_subject_type":
			r.Subject.Type, err = v.str()
		case "_subject_id":
			r.Subject.ID, err = v.str()
		case "_object_scope":
			r.Object.Scope, err = v.str()
		case "_object_type":
			r.Object.Type, err = v.str()
		case "_object_id":
			r.Object.ID, err = v.str()
		case "_predicate":
			r.Predicate, err = v.str()
		case "_index":
			var n int
			n, err = v.int()
			r.Index = int64(n)
		case "_created":
			r.Created, err = v.instant()
		case "_from":
			r.From, err = v.int()
		case "_until":
			r.Until, err = v.int()
		case "_generation":
			r.Marker = true
			r.Generation, err = v.int()
		case "_came":
			r.Came, err = v.str()
		case "_went":
			r.Went, err = v.str()
		case "_intent":
			r.Intent = &intent{}
			err = r.Intent.read(v)
		default:
			if ours(name) || own == nil {
				return v.skip()
			}
			err = own(name, v)
		}
		return err
	})
}

// indexed returns the entries of an entity in the order of names and keys.
func (h *header) indexed() []entity.IndexEntry {
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
