package dynamo

// table is a table of the source documents: its name, and what its key attributes are called. Everywhere in this room a
// row is told by a [rowKey], whatever its table calls the two parts of it.
type table struct {
	name   string // without prefix
	pk, sk string
}

var (
	// notesTable holds users, notes, tags, shares and versions.
	notesTable = table{"notes", "PK", "SK"}
	// entitiesMaster holds entities, relationshipEntries what points from one to another, and indexEntries what the
	// map functions of indexes made of them.
	entitiesMaster      = table{"entities_master", "_id", "_scope_type_key"}
	relationshipEntries = table{"relationship_entries", "_subject_key", "_predicate_key"}
	indexEntries        = table{"index_entries", "_subject_key", "_unique_key"}
	// scoresTable holds scores, snapshots, texts, items and what uses them.
	scoresTable = table{"scores", "o", "s"}
	// tagsTable holds the tags on items, and how many there are.
	tagsTable = table{"tags", "tagId", "valueHash"}
)

// key returns the key attributes of a row.
func (t table) key(k rowKey) attrs { return attrs{t.pk: str(k.PK), t.sk: str(k.SK)} }

// primary is the key of the table itself, seen as an index.
func (t table) primary() index { return index{pk: t.pk, sk: t.sk, local: true} }

// keyOf reads the key attributes of an item, or a key, of the table.
func keyOf(item []byte, t table) (rowKey, error) {
	var k rowKey
	err := attributes(item, func(name []byte, v value) (err error) {
		switch string(name) {
		case t.pk:
			k.PK, err = v.str()
		case t.sk:
			k.SK, err = v.str()
		default:
			err = v.skip()
		}
		return err
	})
	return k, err
}
