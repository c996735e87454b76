package dynamo

import (
	"slices"
	"strconv"
	"strings"
	"time"

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

// foreignAttribute stays with a note that another program put, once Taggie has changed it: the shares that were there do not have
// the keys by which those of an owner are found.
const foreignAttribute = "foreign"

// noteRecord is a row of a note, or its tombstone.
type noteRecord struct {
	*note.Note
	deleted *note.Deleted // of a tombstone; nil where nobody asks for it
	key     rowKey
	ours    bool // the row has the key of an index that only Taggie writes
	foreign bool
}

// noteRows are the attributes of notes and tombstones.
var noteRows = layoutOf(
	ofText("PK", func(r *noteRecord) *string { return &r.key.PK }),
	ofText("SK", func(r *noteRecord) *string { return &r.key.SK }),
	indexKey("GSI2PK", func(r *noteRecord) string { return r.listed(keys.NotePK(string(r.ID))) }),
	indexKey("GSI2SK", func(r *noteRecord) string { return r.listed(keys.NoteOfUserSK(string(r.Owner))) }),
	rowAttribute[noteRecord]{
		name:  "LSI1SK",
		write: func(r *noteRecord) types.AttributeValue { return str(keys.ChangedSK(r.changed(), string(r.ID))) },
		read:  func(r *noteRecord, v value) error { r.ours = true; return v.skip() },
	},
	rowAttribute[noteRecord]{
		name:  foreignAttribute,
		write: func(r *noteRecord) types.AttributeValue { return oneWhen(r.Foreign) },
		read:  func(r *noteRecord, v value) error { r.foreign = true; return v.skip() },
	},
	ofText("note_id", func(r *noteRecord) *note.ID { return &r.ID }),
	ofText("user_id", func(r *noteRecord) *note.UserID { return &r.Owner }),
	ofText("title", func(r *noteRecord) *string { return &r.Title }),
	big(ofText("content", func(r *noteRecord) *string { return &r.Content })),
	optional(ofInstant("deadline", func(r *noteRecord) *time.Time { return &r.Deadline })),
	tagsOf(func(r *noteRecord) *[]tag.Tag { return &r.Tags }),
	ofWhole("version", func(r *noteRecord) *int { return &r.Version }),
	optional(ofWhole("snapshot", func(r *noteRecord) *int { return &r.Snapshot })),
	ofInstant("created_at", func(r *noteRecord) *time.Time { return &r.CreatedAt }),
	ofInstant("updated_at", func(r *noteRecord) *time.Time { return &r.UpdatedAt }),
	rowAttribute[noteRecord]{
		name: "deleted_at",
		write: func(r *noteRecord) types.AttributeValue {
			if r.deleted == nil {
				return nil
			}
			return str(keys.Instant(r.deleted.DeletedAt))
		},
		read: func(r *noteRecord, v value) (err error) {
			if r.deleted == nil {
				return v.skip()
			}
			r.deleted.DeletedAt, err = v.instant()
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
func tagsOf[T any](of func(*T) *[]tag.Tag) rowAttribute[T] {
	return rowAttribute[T]{
		name: "tags",
		write: func(t *T) types.AttributeValue {
			var set []string
			for _, t := range *of(t) {
				set = append(set, t.Value)
			}
			if set == nil {
				return nil
			}
			return &types.AttributeValueMemberSS{Value: set}
		},
		read: func(t *T, v value) (err error) { *of(t), err = tagSet(v); return err },
	}
}

func oneWhen(set bool) types.AttributeValue {
	if !set {
		return nil
	}
	return number(1)
}

func noteRow(n note.Note) attrs { return noteRows.row(&noteRecord{Note: &n, key: noteKey(n)}) }

func locatorRow(n note.Note) attrs {
	row := notesTable.key(locatorKey(n.ID))
	row["user_id"] = str(string(n.Owner))
	if !n.Deadline.IsZero() {
		row["deadline"] = str(keys.Instant(n.Deadline))
	}
	return row
}

func tombstoneRow(n note.Note, d note.Deleted) attrs {
	return noteRows.row(&noteRecord{Note: &n, deleted: &d, key: tombstoneKey(n.Owner, n.ID)})
}

// taggedRows are the attributes of rows that say that a note carries a tag.
var taggedRows = layoutOf(
	rowAttribute[tagged]{name: "PK", write: func(t *tagged) types.AttributeValue { return str(t.at.PK) }},
	ofText("SK", func(t *tagged) *string { return &t.at.SK }),
	ofText("tag", func(t *tagged) *string { return &t.tag }),
	ofText("note_id", func(t *tagged) *note.ID { return &t.note }),
)

func tagRow(owner note.UserID, id note.ID, t tag.Tag) attrs {
	return taggedRows.row(&tagged{at: rowKey{keys.UserPK(string(owner)), keys.TagSK(t.Key, string(id))}, tag: t.Value, note: id})
}

// versionRecord is a row of a version.
type versionRecord struct {
	*note.Version
	owner note.UserID
	key   rowKey
}

// versionRows are the attributes of versions.
var versionRows = layoutOf(
	ofText("PK", func(r *versionRecord) *string { return &r.key.PK }),
	ofText("SK", func(r *versionRecord) *string { return &r.key.SK }),
	ofText("note_id", func(r *versionRecord) *note.ID { return &r.Note }),
	ofText("user_id", func(r *versionRecord) *note.UserID { return &r.owner }),
	ofWhole("version", func(r *versionRecord) *int { return &r.Number }),
	ofText("title", func(r *versionRecord) *string { return &r.Title }),
	big(ofText("content", func(r *versionRecord) *string { return &r.Content })),
	tagsOf(func(r *versionRecord) *[]tag.Tag { return &r.Tags }),
	optional(ofInstant("deadline", func(r *versionRecord) *time.Time { return &r.Deadline })),
	ofInstant("updated_at", func(r *versionRecord) *time.Time { return &r.UpdatedAt }),
)

func versionRow(owner note.UserID, v note.Version) attrs {
	return versionRows.row(&versionRecord{&v, owner, versionKey(v.VersionID)})
}

// The spelling of permissions in share rows.
var permissions = map[note.Permission]string{note.View: "VIEW", note.Edit: "EDIT"}

// shareRecord is a row of a share.
type shareRecord struct {
	*note.Share
	key       rowKey
	permitted bool // the row says what for
}

// shareRows are the attributes of shares.
var shareRows = layoutOf(
	ofText("PK", func(r *shareRecord) *string { return &r.key.PK }),
	ofText("SK", func(r *shareRecord) *string { return &r.key.SK }),
	indexKey("GSI1PK", func(r *shareRecord) string { return keys.OwnerPK(string(r.Owner)) }),
	indexKey("GSI1SK", func(r *shareRecord) string { return keys.OwnerShareSK(string(r.Note), string(r.User)) }),
	indexKey("GSI2PK", func(r *shareRecord) string { return keys.NotePK(string(r.Note)) }),
	indexKey("GSI2SK", func(r *shareRecord) string { return keys.NoteSharedSK(string(r.User)) }),
	ofText("note_id", func(r *shareRecord) *note.ID { return &r.Note }),
	ofText("owner_id", func(r *shareRecord) *note.UserID { return &r.Owner }),
	ofText("user_id", func(r *shareRecord) *note.UserID { return &r.User }),
	rowAttribute[shareRecord]{
		name:  "permission",
		write: func(r *shareRecord) types.AttributeValue { return str(permissions[r.Permission]) },
		read: func(r *shareRecord, v value) error {
			s, err := v.str()
			r.Permission, r.permitted = parsePermission(s), true
			return err
		},
	},
	ofInstant("shared_at", func(r *shareRecord) *time.Time { return &r.SharedAt }),
)

func shareRow(s note.Share) attrs {
	return shareRows.row(&shareRecord{Share: &s, key: shareKey(s.User, s.Note)})
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
	r := noteRows.take()
	defer noteRows.give(r)
	r.Note, r.deleted = n, d
	err := noteRows.decode(item, r)
	if err == nil && strings.HasPrefix(r.key.SK, keys.NotePrefix) {
		n.Foreign, n.Version = r.foreign || !r.ours, versionOr(n.Version)
		err = fillNote(n, r.key)
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
	r := versionRows.take()
	defer versionRows.give(r)
	r.Version = v
	err := versionRows.decode(item, r)
	if err == nil && r.key.SK != "" {
		v.Note = note.ID(keys.Part(r.key.PK, 1))
		v.Number, err = keys.VersionOf(r.key.SK)
	}
	authored(v.Tags, r.owner)
	return err
}

// decodeShare reads a share. One that another program put may have nothing but its key: that permits to view the note.
func decodeShare(item []byte, s *note.Share) error {
	r := shareRows.take()
	defer shareRows.give(r)
	r.Share = s
	err := shareRows.decode(item, r)
	if s.Note == "" {
		s.Note = note.ID(keys.Part(r.key.SK, 1))
	}
	if s.User == "" {
		s.User = note.UserID(keys.Part(r.key.PK, 1))
	}
	if !r.permitted {
		s.Permission = note.View
	}
	return err
}
