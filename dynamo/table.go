package dynamo

import "slices"

// Table is a table of the source documents: its name, and what its key attributes are called. Everywhere in this room a
// row is told by a [Key], whatever its table calls the two parts of it.
type Table struct {
	Name   string // without prefix
	PK, SK string
}

var (
	// NotesTable holds users, notes, tags, shares and versions.
	NotesTable = Table{"notes", "PK", "SK"}
	// EntitiesMaster holds entities.
	EntitiesMaster = Table{"entities_master", "_id", "_scope_type_key"}
	// RelationshipEntries holds what points from one entity to another.
	RelationshipEntries = Table{"relationship_entries", "_subject_key", "_predicate_key"}
	// IndexEntries holds what the map functions of indexes made of entities.
	IndexEntries = Table{"index_entries", "_subject_key", "_unique_key"}
	// ScoresTable holds scores, snapshots, texts, items and what uses them.
	ScoresTable = Table{"scores", "o", "s"}
	// TagsTable holds the tags on items, and how many there are.
	TagsTable = Table{"tags", "tagId", "valueHash"}
)

// RowID tells rows of several tables apart.
type RowID struct {
	Table Table
	Key   Key
}

// tableOf returns the table of a name without prefix.
func tableOf(name string) Table {
	all := []Table{NotesTable, EntitiesMaster, RelationshipEntries, IndexEntries, ScoresTable, TagsTable}
	return all[slices.IndexFunc(all, func(t Table) bool { return t.Name == name })]
}

// Key returns the key attributes of a row.
func (t Table) Key(k Key) Attrs { return Attrs{t.PK: Str(k.PK), t.SK: Str(k.SK)} }

// primary is the key of the table itself, seen as an index.
func (t Table) primary() index { return index{PK: t.PK, SK: t.SK, local: true} }

// KeyOf reads the key attributes of an item, or a key, of the table.
func KeyOf(item Item, t Table) (Key, error) {
	var k Key
	err := Attributes(item, func(name []byte, v Value) (err error) {
		switch string(name) {
		case t.PK:
			k.PK, err = v.Str()
		case t.SK:
			k.SK, err = v.Str()
		}
		return err
	})
	return k, err
}

// keyed returns the texts of the key of an item of the table, which are part of the answer. They are nil where the item has none.
func (item Item) keyed(t Table) (pk, sk []byte) {
	s := item.s
	for i, end := item.at+1, item.node().next; i < end; {
		n := &s.nodes[i]
		switch name := s.bytes(n.name); {
		case n.kind != isString:
		case string(name) == t.PK:
			pk = s.bytes(n.of)
		case string(name) == t.SK:
			sk = s.bytes(n.of)
		}
		i = n.next
	}
	return pk, sk
}
