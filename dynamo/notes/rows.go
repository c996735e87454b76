package notes

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/tag"
)

func noteKey(n note.Note) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(n.Owner)), SK: keys.NoteSK(n.Deadline, string(n.ID))}
}

func locatorKey(id note.ID) dynamo.Key {
	return dynamo.Key{PK: keys.NotePK(string(id)), SK: keys.LocatorSK}
}

func tombstoneKey(owner note.UserID, id note.ID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(owner)), SK: keys.TombstoneSK(string(id))}
}

func versionKey(id note.VersionID) dynamo.Key {
	return dynamo.Key{PK: keys.NoteHistoryPK(string(id.Note)), SK: keys.VersionSK(id.Number)}
}

func shareKey(user note.UserID, id note.ID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(user)), SK: keys.SharedSK(string(id))}
}

func endedShareKey(user note.UserID, id note.ID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(user)), SK: keys.EndedShareSK(string(id))}
}

// givenKey is of the row that counts what one user shared with another, for as long as that one has opened none of it.
func givenKey(user, by note.UserID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(user)), SK: keys.GivenSK(string(by))}
}

// foreignAttribute stays with a note that another program put, once Taggie has changed it: the shares that were there do not have
// the keys by which those of an owner are found.
const foreignAttribute = "foreign"

// noteRecord is a row of a note, or its tombstone.
type noteRecord struct {
	*note.Note
	deleted *note.Deleted // of a tombstone; nil where nobody asks for it
	key     dynamo.Key
	ours    bool // the row has the key of an index that only Taggie writes
	foreign bool
}

// noteRows are the attributes of notes and tombstones.
var noteRows = dynamo.LayoutOf(
	dynamo.OfText("PK", func(r *noteRecord) *string { return &r.key.PK }),
	dynamo.OfText("SK", func(r *noteRecord) *string { return &r.key.SK }),
	dynamo.IndexKey("GSI2PK", func(r *noteRecord) string { return r.listed(keys.NotePK(string(r.ID))) }),
	dynamo.IndexKey("GSI2SK", func(r *noteRecord) string { return r.listed(keys.NoteOfUserSK(string(r.Owner))) }),
	dynamo.RowAttribute[noteRecord]{
		Name:  "LSI1SK",
		Write: func(r *noteRecord) types.AttributeValue { return dynamo.Str(keys.ChangedSK(r.changed(), string(r.ID))) },
		Read:  func(r *noteRecord, _ dynamo.Value) error { r.ours = true; return nil },
	},
	dynamo.RowAttribute[noteRecord]{
		Name:  foreignAttribute,
		Write: func(r *noteRecord) types.AttributeValue { return dynamo.OneWhen(r.Foreign) },
		Read:  func(r *noteRecord, _ dynamo.Value) error { r.foreign = true; return nil },
	},
	dynamo.OfText("note_id", func(r *noteRecord) *note.ID { return &r.ID }),
	dynamo.OfText("user_id", func(r *noteRecord) *note.UserID { return &r.Owner }),
	dynamo.OfText("title", func(r *noteRecord) *string { return &r.Title }),
	dynamo.Big(dynamo.OfText("content", func(r *noteRecord) *string { return &r.Content })),
	dynamo.Optional(dynamo.OfInstant("deadline", func(r *noteRecord) *time.Time { return &r.Deadline })),
	tagsOf(func(r *noteRecord) *[]tag.Tag { return &r.Tags }),
	dynamo.OfWhole("version", func(r *noteRecord) *int { return &r.Version }),
	dynamo.Optional(dynamo.OfWhole("snapshot", func(r *noteRecord) *int { return &r.Snapshot })),
	dynamo.OfInstant("created_at", func(r *noteRecord) *time.Time { return &r.CreatedAt }),
	dynamo.OfInstant("updated_at", func(r *noteRecord) *time.Time { return &r.UpdatedAt }),
	dynamo.Optional(dynamo.OfText("updated_by", func(r *noteRecord) *note.UserID { return &r.UpdatedBy })),
	dynamo.Optional(dynamo.OfText("author", func(r *noteRecord) *note.UserID { return &r.Author })),
	dynamo.RowAttribute[noteRecord]{
		Name: "deleted_at",
		Write: func(r *noteRecord) types.AttributeValue {
			if r.deleted == nil {
				return nil
			}
			return dynamo.Str(keys.Instant(r.deleted.DeletedAt))
		},
		Read: func(r *noteRecord, v dynamo.Value) (err error) {
			if r.deleted == nil {
				return nil
			}
			r.deleted.DeletedAt, err = v.Instant()
			return err
		},
	},
)

// listed is a key of GSI2, in which tombstones are not.
func (r *noteRecord) listed(key string) string {
	if r.deleted != nil {
		return ""
	}
	return key
}

func (r *noteRecord) changed() time.Time {
	if r.deleted != nil {
		return r.deleted.DeletedAt
	}
	return r.UpdatedAt
}

// tagsOf is the set of tags, which DynamoDB does not keep empty.
func tagsOf[T any](of func(*T) *[]tag.Tag) dynamo.RowAttribute[T] {
	return dynamo.RowAttribute[T]{
		Name: "tags",
		Write: func(t *T) types.AttributeValue {
			var set []string
			for _, t := range *of(t) {
				set = append(set, t.Value)
			}
			if set == nil {
				return nil
			}
			return &types.AttributeValueMemberSS{Value: set}
		},
		Read: func(t *T, v dynamo.Value) (err error) { *of(t), err = tagSet(v); return err },
	}
}

func noteRow(n note.Note) dynamo.Attrs { return noteRows.Row(&noteRecord{Note: &n, key: noteKey(n)}) }

// locatorRow says where a note is, and when it was last changed: the head of the note, for those with whom it is shared. A locator that does
// not say when is from before that was kept, or of a note of which only the key is known.
func locatorRow(n note.Note) dynamo.Attrs {
	row := dynamo.NotesTable.Key(locatorKey(n.ID))
	row["user_id"] = dynamo.Str(string(n.Owner))
	if !n.UpdatedAt.IsZero() {
		row["updated_at"] = dynamo.Str(keys.Instant(n.UpdatedAt))
	}
	if !n.Deadline.IsZero() {
		row["deadline"] = dynamo.Str(keys.Instant(n.Deadline))
	}
	return row
}

func tombstoneRow(n note.Note, d note.Deleted) dynamo.Attrs {
	return noteRows.Row(&noteRecord{Note: &n, deleted: &d, key: tombstoneKey(n.Owner, n.ID)})
}

// taggedRows are the attributes of rows that say that a note carries a tag.
var taggedRows = dynamo.LayoutOf(
	dynamo.RowAttribute[tagged]{Name: "PK", Write: func(t *tagged) types.AttributeValue { return dynamo.Str(t.at.PK) }},
	dynamo.OfText("SK", func(t *tagged) *string { return &t.at.SK }),
	dynamo.OfText("tag", func(t *tagged) *string { return &t.tag }),
	dynamo.OfText("note_id", func(t *tagged) *note.ID { return &t.note }),
)

func tagRow(owner note.UserID, id note.ID, t tag.Tag) dynamo.Attrs {
	return taggedRows.Row(&tagged{at: dynamo.Key{PK: keys.UserPK(string(owner)), SK: keys.TagSK(t.Key, string(id))}, tag: t.Value, note: id})
}

// versionRecord is a row of a version.
type versionRecord struct {
	*note.Version
	owner note.UserID
	key   dynamo.Key
}

// versionRows are the attributes of versions.
var versionRows = dynamo.LayoutOf(
	dynamo.OfText("PK", func(r *versionRecord) *string { return &r.key.PK }),
	dynamo.OfText("SK", func(r *versionRecord) *string { return &r.key.SK }),
	dynamo.OfText("note_id", func(r *versionRecord) *note.ID { return &r.Note }),
	dynamo.OfText("user_id", func(r *versionRecord) *note.UserID { return &r.owner }),
	dynamo.OfWhole("version", func(r *versionRecord) *int { return &r.Number }),
	dynamo.OfText("title", func(r *versionRecord) *string { return &r.Title }),
	dynamo.Big(dynamo.OfText("content", func(r *versionRecord) *string { return &r.Content })),
	tagsOf(func(r *versionRecord) *[]tag.Tag { return &r.Tags }),
	dynamo.Optional(dynamo.OfInstant("deadline", func(r *versionRecord) *time.Time { return &r.Deadline })),
	dynamo.OfInstant("updated_at", func(r *versionRecord) *time.Time { return &r.UpdatedAt }),
	dynamo.Optional(dynamo.OfText("author", func(r *versionRecord) *note.UserID { return &r.Author })),
)

func versionRow(owner note.UserID, v note.Version) dynamo.Attrs {
	return versionRows.Row(&versionRecord{&v, owner, versionKey(v.VersionID)})
}

// The spelling of permissions in share rows.
var permissions = map[note.Permission]string{note.View: "VIEW", note.Edit: "EDIT"}

// firstVersion is from which version on a share shows those of its note. One that another program put lacks it, and shows all.
const firstVersion = "first_version"

// shareRecord is a row of a share.
type shareRecord struct {
	*note.Share
	key       dynamo.Key
	permitted bool // the row says what for
	endedAt   time.Time
}

// shareRows are the attributes of shares.
var shareRows = dynamo.LayoutOf(
	dynamo.OfText("PK", func(r *shareRecord) *string { return &r.key.PK }),
	dynamo.OfText("SK", func(r *shareRecord) *string { return &r.key.SK }),
	dynamo.IndexKey("GSI1PK", func(r *shareRecord) string { return keys.OwnerPK(string(r.Owner)) }),
	dynamo.IndexKey("GSI1SK", func(r *shareRecord) string { return keys.OwnerShareSK(string(r.Note), string(r.User)) }),
	dynamo.IndexKey("GSI2PK", func(r *shareRecord) string { return keys.NotePK(string(r.Note)) }),
	dynamo.IndexKey("GSI2SK", func(r *shareRecord) string { return keys.NoteSharedSK(string(r.User)) }),
	dynamo.OfText("note_id", func(r *shareRecord) *note.ID { return &r.Note }),
	dynamo.OfText("owner_id", func(r *shareRecord) *note.UserID { return &r.Owner }),
	dynamo.OfText("user_id", func(r *shareRecord) *note.UserID { return &r.User }),
	dynamo.RowAttribute[shareRecord]{
		Name:  "permission",
		Write: func(r *shareRecord) types.AttributeValue { return dynamo.Str(permissions[r.Permission]) },
		Read: func(r *shareRecord, v dynamo.Value) error {
			s, err := v.Str()
			r.Permission, r.permitted = parsePermission(s), true
			return err
		},
	},
	dynamo.OfWhole(firstVersion, func(r *shareRecord) *int { return &r.FirstVersion }),
	dynamo.OfInstant("shared_at", func(r *shareRecord) *time.Time { return &r.SharedAt }),
	dynamo.Optional(dynamo.OfInstant("opened_at", func(r *shareRecord) *time.Time { return &r.OpenedAt })),
	dynamo.Optional(dynamo.OfInstant("ended_at", func(r *shareRecord) *time.Time { return &r.endedAt })), // of the row that remains of a share
)

func shareRow(s note.Share) dynamo.Attrs {
	return shareRows.Row(&shareRecord{Share: &s, key: shareKey(s.User, s.Note)})
}

// endedRow is what remains of a share: as long as a tombstone, and a little longer, since its time is compared with clocks that differ.
func endedRow(s note.Share, at time.Time) dynamo.Attrs {
	row := dynamo.NotesTable.Key(endedShareKey(s.User, s.Note))
	row["note_id"], row["ended_at"] = dynamo.Str(string(s.Note)), dynamo.Str(keys.Instant(at))
	row["expires_at"] = dynamo.Number(at.Add(note.UndoFor + note.Settle).Unix())
	return row
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
func tagSet(v dynamo.Value) ([]tag.Tag, error) {
	tags := make([]tag.Tag, 0, v.Len())
	err := v.Set(func(s string) error {
		tags = append(tags, tag.Tag{Word: tag.Word{Value: s, Key: tag.Fold(s)}})
		return nil
	})
	slices.SortFunc(tags, func(a, b tag.Tag) int { return strings.Compare(a.Key, b.Key) })
	return tags, err
}

// decodeNote reads a note or a tombstone.
func decodeNote(item dynamo.Item, n *note.Note, d *note.Deleted) error {
	r := noteRows.Take()
	defer noteRows.Give(r)
	r.Note, r.deleted = n, d
	err := noteRows.Decode(item, r)
	if err == nil && strings.HasPrefix(r.key.SK, keys.NotePrefix) {
		n.Foreign, n.Version = r.foreign || !r.ours, dynamo.VersionOr(n.Version)
		err = fillNote(n, r.key)
	}
	authored(n.Tags, n.Owner) // last, because attributes come in any order
	if d != nil {
		d.ID = n.ID
	}
	return err
}

// fillNote takes from the key of a note what its row does not tell otherwise.
func fillNote(n *note.Note, key dynamo.Key) error {
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

func decodeVersion(item dynamo.Item, v *note.Version) error {
	r := versionRows.Take()
	defer versionRows.Give(r)
	r.Version = v
	err := versionRows.Decode(item, r)
	if err == nil && r.key.SK != "" {
		v.Note = note.ID(keys.Part(r.key.PK, 1))
		v.Number, err = keys.VersionOf(r.key.SK)
	}
	authored(v.Tags, r.owner)
	return err
}

// decodeShare reads a share. One that another program put may have nothing but its key: that permits to view the note.
func decodeShare(item dynamo.Item, s *note.Share) error {
	_, _, err := readShare(item, s)
	return err
}

// readShare reads a share, or what remains of one, and tells its key and when it ended.
func readShare(item dynamo.Item, s *note.Share) (key dynamo.Key, endedAt time.Time, err error) {
	r := shareRows.Take()
	defer shareRows.Give(r)
	r.Share = s
	err = shareRows.Decode(item, r)
	if s.Note == "" {
		s.Note = note.ID(keys.Part(r.key.SK, 1))
	}
	if s.User == "" {
		s.User = note.UserID(keys.Part(r.key.PK, 1))
	}
	if !r.permitted {
		s.Permission = note.View
	}
	return r.key, r.endedAt, err
}
