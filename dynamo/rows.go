package dynamo

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/tag"
)

// count reads a number that came with a failed condition.
func count(v types.AttributeValue) int {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		i, _ := strconv.Atoi(n.Value) // numbers in our rows are whole
		return i
	}
	return 0
}

func noteKey(n note.Note) rowKey {
	return rowKey{keys.UserPK(string(n.Owner)), keys.NoteSK(n.Deadline, string(n.ID))}
}

func locatorKey(id note.ID) rowKey { return rowKey{keys.NotePK(string(id)), keys.LocatorSK} }

func tombstoneKey(owner note.UserID, id note.ID) rowKey {
	return rowKey{keys.UserPK(string(owner)), keys.TombstoneSK(string(id))}
}

func versionKey(id note.VersionID) rowKey {
	return rowKey{keys.NoteHistoryPK(string(id.Note)), keys.VersionSK(id.Number)}
}

func shareKey(user note.UserID, id note.ID) rowKey {
	return rowKey{keys.UserPK(string(user)), keys.SharedSK(string(id))}
}

// noteAttributes are what a note and its tombstone have in common.
func noteAttributes(n note.Note) attrs {
	row := attrs{
		"note_id": str(string(n.ID)), "user_id": str(string(n.Owner)), "title": str(n.Title), "content": str(n.Content),
		"version": number(int64(n.Version)), "created_at": str(keys.Instant(n.CreatedAt)), "updated_at": str(keys.Instant(n.UpdatedAt)),
	}
	optional(row, n.Tags, n.Snapshot)
	if n.Foreign {
		row[foreignAttribute] = number(1)
	}
	if !n.Deadline.IsZero() {
		row["deadline"] = str(keys.Instant(n.Deadline))
	}
	return row
}

// optional adds what DynamoDB does not keep empty.
func optional(row attrs, tags []tag.Tag, snapshot int) {
	if len(tags) > 0 {
		set := make([]string, len(tags))
		for i, t := range tags {
			set[i] = t.Value
		}
		row["tags"] = &types.AttributeValueMemberSS{Value: set}
	}
	if snapshot > 0 {
		row["snapshot"] = number(int64(snapshot))
	}
}

// foreignAttribute stays with a note that another program put, once Taggie has changed it: the shares that were there do not have
// the keys by which those of an owner are found.
const foreignAttribute = "foreign"

func noteRow(n note.Note) attrs {
	row := noteAttributes(n)
	key := noteKey(n)
	row["PK"], row["SK"] = str(key.PK), str(key.SK)
	row["GSI2PK"], row["GSI2SK"] = str(keys.NotePK(string(n.ID))), str(keys.NoteOfUserSK(string(n.Owner)))
	row["LSI1SK"] = str(keys.ChangedSK(n.UpdatedAt, string(n.ID)))
	return row
}

func locatorRow(n note.Note) attrs {
	row := notesTable.key(locatorKey(n.ID))
	row["user_id"] = str(string(n.Owner))
	if !n.Deadline.IsZero() {
		row["deadline"] = str(keys.Instant(n.Deadline))
	}
	return row
}

func tombstoneRow(n note.Note, d note.Deleted) attrs {
	row := noteAttributes(n)
	key := tombstoneKey(n.Owner, n.ID)
	row["PK"], row["SK"] = str(key.PK), str(key.SK)
	row["LSI1SK"] = str(keys.ChangedSK(d.DeletedAt, string(n.ID)))
	row["deleted_at"] = str(keys.Instant(d.DeletedAt))
	return row
}

func tagRow(owner note.UserID, id note.ID, t tag.Tag) attrs {
	return attrs{
		"PK": str(keys.UserPK(string(owner))), "SK": str(keys.TagSK(t.Key, string(id))),
		"tag": str(t.Value), "note_id": str(string(id)),
	}
}

func versionRow(owner note.UserID, v note.Version) attrs {
	row := notesTable.key(versionKey(v.VersionID))
	row["note_id"], row["user_id"], row["version"] = str(string(v.Note)), str(string(owner)), number(int64(v.Number))
	row["title"], row["content"], row["updated_at"] = str(v.Title), str(v.Content), str(keys.Instant(v.UpdatedAt))
	optional(row, v.Tags, 0)
	if !v.Deadline.IsZero() {
		row["deadline"] = str(keys.Instant(v.Deadline))
	}
	return row
}

// The spelling of permissions in share rows.
var permissions = map[note.Permission]string{note.View: "VIEW", note.Edit: "EDIT"}

func shareRow(s note.Share) attrs {
	id, owner, user := string(s.Note), string(s.Owner), string(s.User)
	return attrs{
		"PK": str(keys.UserPK(user)), "SK": str(keys.SharedSK(id)),
		"GSI1PK": str(keys.OwnerPK(owner)), "GSI1SK": str(keys.OwnerShareSK(id, user)),
		"GSI2PK": str(keys.NotePK(id)), "GSI2SK": str(keys.NoteSharedSK(user)),
		"note_id": str(id), "owner_id": str(owner), "user_id": str(user),
		"permission": str(permissions[s.Permission]), "shared_at": str(keys.Instant(s.SharedAt)),
	}
}

func parsePermission(s string) note.Permission {
	switch s {
	case "VIEW":
		return note.View
	case "EDIT":
		return note.Edit
	}
	return note.None
}

// tagSet reads the tags of a note. DynamoDB keeps a set in no order, so the order of keys is restored.
func tagSet(v value) ([]tag.Tag, error) {
	var tags []tag.Tag
	err := v.set(func(s string) error {
		tags = append(tags, tag.Tag{Word: tag.Word{Value: s, Key: tag.Fold(s)}})
		return nil
	})
	slices.SortFunc(tags, func(a, b tag.Tag) int { return strings.Compare(a.Key, b.Key) })
	return tags, err
}

// decodeNote reads a note or a tombstone.
func decodeNote(item []byte, n *note.Note, d *note.Deleted) error {
	var key rowKey
	ours, foreign := false, false
	err := attributes(item, func(name []byte, v value) (err error) {
		var s string
		switch string(name) {
		case "PK":
			key.PK, err = v.str()
		case "SK":
			key.SK, err = v.str()
		case "LSI1SK":
			ours = true
			err = v.skip()
		case foreignAttribute:
			foreign = true
			err = v.skip()
		case "note_id":
			s, err = v.str()
			n.ID = note.ID(s)
		case "user_id":
			s, err = v.str()
			n.Owner = note.UserID(s)
		case "title":
			n.Title, err = v.str()
		case "content":
			n.Content, err = v.str()
		case "deadline":
			n.Deadline, err = v.instant()
		case "tags":
			n.Tags, err = tagSet(v)
		case "version":
			n.Version, err = v.int()
		case "snapshot":
			n.Snapshot, err = v.int()
		case "created_at":
			n.CreatedAt, err = v.instant()
		case "updated_at":
			n.UpdatedAt, err = v.instant()
		case "deleted_at":
			if d == nil {
				return v.skip()
			}
			d.DeletedAt, err = v.instant()
		default:
			err = v.skip()
		}
		return err
	})
	if err == nil && strings.HasPrefix(key.SK, keys.NotePrefix) {
		n.Foreign, n.Version = foreign || !ours, versionOr(n.Version)
		err = fillNote(n, key)
	}
	authored(n.Tags, n.Owner) // last, because attributes come in any order
	if d != nil {
		d.ID = n.ID
	}
	return err
}

// fillNote takes from the key of a note what its row does not tell otherwise.
func fillNote(n *note.Note, key rowKey) error {
	if n.ID == "" {
		n.ID = note.ID(keys.Part(key.SK, 2))
	}
	if n.Owner == "" {
		n.Owner = note.UserID(keys.Part(key.PK, 1))
	}
	if !n.Deadline.IsZero() {
		return nil
	}
	var err error
	n.Deadline, err = keys.DeadlineOf(key.SK)
	return err
}

// authored makes the owner of a note the author of its tags.
func authored(tags []tag.Tag, owner note.UserID) {
	for i := range tags {
		tags[i].Author = owner
	}
}

func decodeVersion(item []byte, v *note.Version) error {
	var owner note.UserID
	var key rowKey
	err := attributes(item, func(name []byte, a value) (err error) {
		var s string
		switch string(name) {
		case "PK":
			key.PK, err = a.str()
		case "SK":
			key.SK, err = a.str()
		case "note_id":
			s, err = a.str()
			v.Note = note.ID(s)
		case "user_id":
			s, err = a.str()
			owner = note.UserID(s)
		case "version":
			v.Number, err = a.int()
		case "title":
			v.Title, err = a.str()
		case "content":
			v.Content, err = a.str()
		case "tags":
			v.Tags, err = tagSet(a)
		case "deadline":
			v.Deadline, err = a.instant()
		case "updated_at":
			v.UpdatedAt, err = a.instant()
		default:
			err = a.skip()
		}
		return err
	})
	if err == nil && key.SK != "" {
		v.Note = note.ID(keys.Part(key.PK, 1))
		v.Number, err = keys.VersionOf(key.SK)
	}
	authored(v.Tags, owner)
	return err
}

// decodeShare reads a share. One that another program put may have nothing but its key: that permits to view the note.
func decodeShare(item []byte, s *note.Share) error {
	var key rowKey
	permitted := false
	err := attributes(item, func(name []byte, v value) (err error) {
		var t string
		switch string(name) {
		case "PK":
			key.PK, err = v.str()
		case "SK":
			key.SK, err = v.str()
		case "note_id":
			t, err = v.str()
			s.Note = note.ID(t)
		case "owner_id":
			t, err = v.str()
			s.Owner = note.UserID(t)
		case "user_id":
			t, err = v.str()
			s.User = note.UserID(t)
		case "permission":
			t, err = v.str()
			s.Permission, permitted = parsePermission(t), true
		case "shared_at":
			s.SharedAt, err = v.instant()
		default:
			err = v.skip()
		}
		return err
	})
	if s.Note == "" {
		s.Note = note.ID(keys.Part(key.SK, 1))
	}
	if s.User == "" {
		s.User = note.UserID(keys.Part(key.PK, 1))
	}
	if !permitted {
		s.Permission = note.View
	}
	return err
}
