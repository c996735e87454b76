// Package archives keeps the archives of users. Each has a row in the partition of its user, which expires after its file, once the file is removed.
//
// It knows keys, rows and access patterns, and asks dynamo. It must not decide who may see what. Start reading at [Store].
package archives

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

// Store keeps archives.
type Store struct{ *dynamo.DB }

var _ archive.Store = Store{}

// rowKept is for how long the row is kept: longer than its file, since a file without a row looks like a leftover.
const rowKept = archive.Kept + 48*time.Hour

// The attributes of a profile that count archives: those that have not ended, and those that count for [archive.MaxKept].
const (
	running = "archives"
	counted = "archives_kept"
)

var faultRows = dynamo.LayoutOf(
	dynamo.OfText("path", func(f *archive.Fault) *string { return &f.Path }),
	dynamo.OfText("message", func(f *archive.Fault) *string { return &f.Message }),
)

var rows = dynamo.LayoutOf(
	dynamo.IndexKey("PK", func(a *archive.Archive) string { return keys.UserPK(string(a.User)) }),
	dynamo.IndexKey("SK", func(a *archive.Archive) string { return keys.ArchiveSK(a.ID.ID) }),
	dynamo.OfText("user_id", func(a *archive.Archive) *archive.UserID { return &a.User }),
	dynamo.OfText("archive_id", func(a *archive.Archive) *string { return &a.ID.ID }),
	dynamo.OfText("state", func(a *archive.Archive) *archive.State { return &a.State }),
	dynamo.OfInstant("created_at", func(a *archive.Archive) *time.Time { return &a.CreatedAt }),
	dynamo.Optional(dynamo.OfInstant("ended_at", func(a *archive.Archive) *time.Time { return &a.EndedAt })),
	dynamo.Optional(dynamo.OfText("message", func(a *archive.Archive) *string { return &a.Message })),
	dynamo.OfWhole("entries", func(a *archive.Archive) *int { return &a.Entries }),
	dynamo.OfWhole("bytes", func(a *archive.Archive) *int64 { return &a.Bytes }),
	dynamo.Optional(dynamo.OfMaps("faults", func(a *archive.Archive) *[]archive.Fault { return &a.Faults }, faultRows)),
	dynamo.OfWhole("mistakes", func(a *archive.Archive) *int { return &a.Mistakes }),
	dynamo.Optional(dynamo.OfFlag("removed", func(a *archive.Archive) *bool { return &a.Removed })),
	dynamo.OfWhole("version", func(a *archive.Archive) *int { return &a.Version }),
	dynamo.RowAttribute[archive.Archive]{Name: "expires_at", Write: func(a *archive.Archive) types.AttributeValue {
		if a.Counts() { // the profile counts it until then
			return nil
		}
		return dynamo.Number(a.CreatedAt.Add(rowKept).Unix())
	}},
)

func key(id archive.ID) dynamo.Key {
	return dynamo.Key{PK: keys.UserPK(string(id.User)), SK: keys.ArchiveSK(id.ID)}
}

// ArchivesByID reads archives.
//
// Index: primary. Key: PK = USER#<user> AND SK = ARCHIVE#<archive>. Cost: ⌈n/100⌉ BatchGetItem.
func (db Store) ArchivesByID(ctx context.Context, ids []archive.ID) ([]archive.Archive, []error) {
	found := make([]archive.Archive, len(ids))
	wants := make([]dynamo.Want, len(ids))
	for i, id := range ids {
		wants[i] = dynamo.Want{Table: dynamo.NotesTable, Key: key(id), Decode: func(item dynamo.Item) error { return rows.Decode(item, &found[i]) }}
	}
	return found, dynamo.Missing(db.BatchGet(ctx, wants), "there is no such archive")
}

// ListArchives lists the archives of a user, the newest first. Those that are expired and still have a row are left out.
//
// Index: primary. Key: PK = USER#<user> AND begins_with(SK, ARCHIVE#), descending. Cost: 1 Query.
func (db Store) ListArchives(ctx context.Context, user archive.UserID, w page.Window) (page.Slice[archive.Archive], error) {
	low, high := dynamo.Prefixed(keys.ArchivePrefix)
	now := db.Now()
	return dynamo.Filtered(ctx, db.DB, dynamo.Listing[archive.Archive]{
		Span:       dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(user)), Low: low, High: high},
		Descending: true,
		Decode:     rows.Decode,
		Skips:      func(a archive.Archive) bool { return !now.Before(a.ExpiresAt()) },
		SortKey:    keys.ArchiveSK,
	}, w, func(_ context.Context, all []archive.Archive) ([]archive.Archive, error) { return all, nil }, func(a archive.Archive) string { return a.ID.ID })
}

// CreateArchive puts an archive and its task, and counts it.
//
// Index: primary. Key: USER#<user>/ARCHIVE#<archive> on condition that there is none; USER#<user>/PROFILE on condition of its counts;
// taggie:Tasks:<shard>/task:…. Cost: 1 TransactWriteItems of 3 rows.
func (db Store) CreateArchive(ctx context.Context, a archive.Archive, run task.Task, once idempotency.Key) error {
	return db.Transact(ctx, []dynamo.Action{
		{Table: dynamo.NotesTable, Item: rows.Row(&a), Condition: "attribute_not_exists(PK)"},
		users.CreatesOneOf(a.User, fault.New(fault.NotFound, "there is no such user"),
			users.Count{What: running, Most: archive.MaxRunning, Full: fault.New(fault.Exhausted, "%d archive of a user is written at a time: wait until it has ended", archive.MaxRunning)},
			users.Count{What: counted, Most: archive.MaxKept, Full: &archive.Full{}}),
		dynamo.TaskAction(run),
	}, once)
}

// ChangeArchive replaces an archive, and counts it no longer when it ends, or its file is removed.
//
// Index: primary. Key: USER#<user>/ARCHIVE#<archive> on condition of its version; USER#<user>/PROFILE, when it is counted no longer. Cost: 1
// TransactWriteItems of 1 or 2 rows.
func (db Store) ChangeArchive(ctx context.Context, before, after archive.Archive) error {
	put := dynamo.Action{Table: dynamo.NotesTable, Item: rows.Row(&after), Failed: func(dynamo.Attrs) error { return &archive.Conflict{} }}
	actions := []dynamo.Action{put.IfVersion(before.Version, "version")}
	var less []string
	if after.State.Ended() && !before.State.Ended() {
		less = append(less, running)
	}
	if before.Counts() && !after.Counts() {
		less = append(less, counted)
	}
	if len(less) > 0 {
		actions = append(actions, users.CreatedOneLess(after.User, &archive.Conflict{}, less...))
	}
	return db.Transact(ctx, actions, idempotency.Key{})
}

// Kinds are the kinds of rows of archives.
func Kinds() []dynamo.RowKind {
	return []dynamo.RowKind{{Name: "an archive", Table: dynamo.NotesTable, Mend: dynamo.Restore, Is: dynamo.KeyBegins(keys.UserPrefix, keys.ArchivePrefix), Needs: func(key dynamo.Key, _ dynamo.Item) ([]dynamo.Need, error) {
		return []dynamo.Need{{What: "its user", Table: dynamo.NotesTable, Key: dynamo.Key{PK: key.PK, SK: keys.ProfileSK}}}, nil
	}}}
}

// NeedOfFile is the archive whose file an object is; false when it is that of none.
func NeedOfFile(object string) (dynamo.Need, bool) {
	folder, rest, _ := strings.Cut(object, "/")
	user, id, found := strings.Cut(rest, "/")
	of := archive.ID{User: archive.UserID(user), ID: id}
	if !found || !keys.IsUUID(user) || !keys.IsUUID(id) || folder+"/" != archivesFolder {
		return dynamo.Need{}, false
	}
	return dynamo.Need{What: "its archive", Table: dynamo.NotesTable, Key: key(of)}, true
}

// archivesFolder begins the keys of all files of archives.
var archivesFolder = strings.TrimSuffix(archive.Key(archive.ID{}), "/")

// EraseArchives removes the archives of a user, and the tasks that write them, of which each notices when it ends or stores how far it is. It reports whether there
// were any.
//
// Index: primary. Key: PK = USER#<user> AND begins_with(SK, ARCHIVE#). Cost: 1 Query, ⌈n/25⌉ BatchWriteItem, and that of ForgetTasks.
func (db Store) EraseArchives(ctx context.Context, user archive.UserID) (any bool, err error) {
	low, high := dynamo.Prefixed(keys.ArchivePrefix)
	var rows []dynamo.RowID
	if _, err := db.Query(ctx, dynamo.Span{Table: dynamo.NotesTable, PK: keys.UserPK(string(user)), Low: low, High: high, Keys: true}, func(row dynamo.Item) (bool, error) {
		key, err := dynamo.KeyOf(row, dynamo.NotesTable)
		rows = append(rows, dynamo.RowID{Table: dynamo.NotesTable, Key: key})
		return true, err
	}); err != nil {
		return false, err
	}
	if err := db.BatchDelete(ctx, rows); err != nil {
		return false, err
	}
	return len(rows) > 0, db.ForgetTasks(ctx, string(user), archive.RunArchive)
}
