package notes

import (
	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/note"
)

// Kinds are the kinds of rows of notes. Rows of another program need nothing: it keeps neither locators nor tombstones.
func Kinds() []dynamo.RowKind {
	kind := func(mend dynamo.Mend, name, partition, sort string, needs func(dynamo.Key, dynamo.Item) ([]dynamo.Need, error)) dynamo.RowKind {
		return dynamo.RowKind{Name: name, Table: dynamo.NotesTable, Is: dynamo.KeyBegins(partition, sort), Needs: needs, Mend: mend}
	}
	return []dynamo.RowKind{
		kind(dynamo.Remake, "a note", keys.UserPrefix, keys.NotePrefix, needsOfNote),
		kind(dynamo.Restore, "a deleted note", keys.UserPrefix, keys.TombstonePrefix, needsOfTombstone),
		kind(dynamo.Restore, "the locator of a note", keys.NotePrefix, keys.LocatorSK, needsOfLocator),
		kind(dynamo.Restore, "a note among those of a tag", keys.UserPrefix, keys.TagRowPrefix, needsOfTagged),
		kind(dynamo.Restore, "a share", keys.UserPrefix, keys.SharedPrefix, needsOfShare),
		kind(dynamo.Restore, "a version of a note", keys.NoteHistoryPrefix, keys.VersionPrefix, needsOfVersion),
		kind(dynamo.Restore, "the order to remove a deleted note", keys.CleanupPrefix, keys.NotePrefix, needsOfCleanup),
	}
}

func needsOfNote(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var n note.Note
	if err := decodeNote(item, &n, nil); err != nil || n.Foreign {
		return nil, err
	}
	due := ""
	if !n.Deadline.IsZero() {
		due = keys.Instant(n.Deadline)
	}
	needs := []dynamo.Need{{What: "its locator", Table: dynamo.NotesTable, Key: locatorKey(n.ID), Holds: func(l dynamo.Item) bool {
		return dynamo.TextOf(l, "user_id") == string(n.Owner) && dynamo.TextOf(l, "deadline") == due
	}}}
	for _, t := range n.Tags {
		needs = append(needs, dynamo.Need{What: "its place among the notes of a tag", Table: dynamo.NotesTable,
			Key: dynamo.Key{PK: keys.UserPK(string(n.Owner)), SK: keys.TagSK(t.Key, string(n.ID))}})
	}
	return needs, nil
}

func needsOfTombstone(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var n note.Note
	var d note.Deleted
	cleaning := false
	err := decodeNote(item, &n, &d)
	if err == nil {
		err = dynamo.Attributes(item, func(name []byte, _ dynamo.Value) error {
			cleaning = cleaning || string(name) == "cleaning"
			return nil
		})
	}
	if err != nil || cleaning { // then there is another order, of another day
		return nil, err
	}
	return []dynamo.Need{{What: "the order to remove it", Table: dynamo.NotesTable, Key: cleanupKey(cleanupOf(n, d))}}, nil
}

func needsOfLocator(key dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	due, err := keys.ParseInstant(dynamo.TextOf(item, "deadline"))
	if err != nil {
		return nil, err
	}
	at := note.Note{ID: note.ID(keys.Part(key.PK, 1)), Owner: note.UserID(dynamo.TextOf(item, "user_id")), Deadline: due}
	return []dynamo.Need{{What: "its note", Table: dynamo.NotesTable, Key: noteKey(at)}}, nil
}

func needsOfTagged(key dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var t tagged
	if err := taggedRows.Decode(item, &t); err != nil || t.tag == "" {
		return nil, err
	}
	return []dynamo.Need{theNote(t.note, note.UserID(keys.Part(key.PK, 1)), false)}, nil
}

func needsOfShare(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var s note.Share
	if err := decodeShare(item, &s); err != nil || s.Owner == "" {
		return nil, err
	}
	return []dynamo.Need{theNote(s.Note, s.Owner, true)}, nil
}

func needsOfVersion(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var v note.Version
	owner := dynamo.TextOf(item, "user_id")
	if err := decodeVersion(item, &v); err != nil || owner == "" {
		return nil, err
	}
	return []dynamo.Need{theNote(v.Note, note.UserID(owner), true)}, nil
}

// needsOfCleanup are those of an order. Nothing happens to one whose note is gone, or was deleted again.
func needsOfCleanup(_ dynamo.Key, item dynamo.Item) ([]dynamo.Need, error) {
	var c note.Cleanup
	return nil, decodeCleanup(item, &c)
}

// theNote is the note of an owner, or what is left of it once it is deleted.
func theNote(id note.ID, owner note.UserID, deleted bool) dynamo.Need {
	need := dynamo.Need{What: "its note", Table: dynamo.NotesTable, Key: locatorKey(id), Holds: dynamo.HasText("user_id", string(owner))}
	if deleted {
		need.Or = tombstoneKey(owner, id)
	}
	return need
}
