// Package archive says what is true about the archives of users: one file with everything that is a user's, which a task writes.
//
// It knows archives, who may see them, how one is written, and the stores it needs. It must not know what is in an archive: the parts of
// internal/archive/contents do. Start reading at [Archive], [Service] and [Runner].
package archive

import (
	"context"
	"io"
	"time"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// UserID identifies a user.
type UserID = viewer.UserID

// ID identifies an archive of a user. Ids of later archives are greater.
type ID struct {
	User UserID
	ID   string
}

// GlobalID returns the id by which the archive can be asked for again.
func (a Archive) GlobalID() ID { return a.ID }

// State is where an archive stands.
type State string

// The states.
const (
	Queued  State = "QUEUED"
	Running State = "RUNNING"
	Done    State = "DONE"
	Failed  State = "FAILED" // Message says why
)

// Archive is a file with everything that is a user's.
type Archive struct {
	ID
	State     State
	CreatedAt time.Time
	EndedAt   time.Time
	Message   string  // why it failed, for people
	Entries   int     // lines and files written so far
	Bytes     int64   // of the finished file
	Faults    []Fault // the first of what could not be read
	Mistakes  int     // how much could not be read
	Removed   bool    // whether its file was there, and is removed
	Version   int
}

// Fault is something that could not be read and is not in the archive.
type Fault struct {
	Path    string // of what would be in the archive
	Message string // for people
}

// The limits of archives.
const (
	// Kept is how long an archive can be downloaded. Its task removes the file then; the rules of the bucket do so, too, where there are any.
	Kept = 7 * 24 * time.Hour
	// LinkTTL is how long a link to the file works.
	LinkTTL = time.Hour
	// MaxRunning is how many archives of a user are written at a time.
	MaxRunning = 1
	// MaxKept is how many archives of a user are there at a time, with the one that is written: files that nobody counts would fill the bucket.
	MaxKept = 3
	// MaxFaults is how many faults are listed; the others are counted.
	MaxFaults = 100
)

// RunArchive is the kind of task that writes an archive.
const RunArchive task.Kind = "run-archive"

// Key says where the file of an archive is kept.
func Key(id ID) string { return "archives/" + string(id.User) + "/" + id.ID }

// ContentType is the media type of the file.
const ContentType = "application/zip"

// ExpiresAt is when the archive is gone.
func (a Archive) ExpiresAt() time.Time { return a.CreatedAt.Add(Kept) }

// FileName is the name under which the file is saved.
func (a Archive) FileName() string {
	return "taggie-" + a.CreatedAt.UTC().Format("2006-01-02-150405") + ".zip"
}

// Ended reports whether nothing changes any more.
func (s State) Ended() bool { return s == Done || s == Failed }

// Counts reports whether the archive is one of the [MaxKept]: it has a file, or may get one.
func (a Archive) Counts() bool { return a.State != Failed && !a.Removed }

// Remove returns the archive as it is when its file is removed; false when it has none.
func (a Archive) Remove() (Archive, bool) {
	if a.State != Done || a.Removed {
		return a, false
	}
	a.Removed = true
	a.Version++
	return a, true
}

// Advance returns the archive as it is when so much is written; false when it has ended, or is further already.
func (a Archive) Advance(entries int) (Archive, bool) {
	if a.State.Ended() || entries < a.Entries {
		return a, false
	}
	a.State, a.Entries = Running, entries
	a.Version++
	return a, true
}

// Finish ends an archive whose file is complete; false when it has ended.
func (a Archive) Finish(w Written, bytes int64, at time.Time) (Archive, bool) {
	if a.State.Ended() {
		return a, false
	}
	a.Entries, a.Bytes, a.Faults, a.Mistakes = w.Entries, bytes, w.Faults, w.Mistakes
	return a.end(Done, "", at), true
}

// Fail ends an archive that cannot be written, and says why, for people; false when it has ended.
func (a Archive) Fail(message string, at time.Time) (Archive, bool) {
	if a.State.Ended() {
		return a, false
	}
	return a.end(Failed, message, at), true
}

func (a Archive) end(state State, message string, at time.Time) Archive {
	a.State, a.Message, a.EndedAt = state, message, at.UTC().Truncate(time.Millisecond)
	a.Version++
	return a
}

// Conflict says that an archive is not at the version that was expected.
type Conflict struct{}

// Error says what happened, for people.
func (*Conflict) Error() string { return "somebody else changed the archive" }

// Full says that a user has [MaxKept] archives.
type Full struct{}

// Error says what happened, for people.
func (*Full) Error() string { return "the user has as many archives as one may have" }

// Store keeps archives for as long as they can be seen and about two days more, and those that count until they do not. Its faults are Unavailable
// and Exhausted besides those named.
type Store interface {
	idempotency.Store
	Progress
	// ListArchives lists the archives of a user, the newest first. It sees every acknowledged write.
	ListArchives(ctx context.Context, user UserID, w page.Window) (page.Slice[Archive], error)
	// CreateArchive puts an archive together with the task that writes it. Exhausted when [MaxRunning] archives of the user have not ended, and
	// *[Full] when [MaxKept] count. It records the idempotency key with the effect, and returns *idempotency.Replayed when it was used before.
	CreateArchive(ctx context.Context, a Archive, run task.Task, once idempotency.Key) error
}

// Progress is what a [Runner] needs of a [Store].
type Progress interface {
	// ArchivesByID returns the archive or the error of each id, in the order of ids; NotFound for one that does not exist. It sees every
	// acknowledged write.
	ArchivesByID(ctx context.Context, ids []ID) ([]Archive, []error)
	// ChangeArchive replaces before by after, atomically; *[Conflict] when before is not the current one. From one that has ended on, the user
	// can create another one, and one that does not count any more makes room for another one.
	ChangeArchive(ctx context.Context, before, after Archive) error
}

// Files keeps the files of archives, and has those of items.
type Files interface {
	// Open reads a file from the offset on. NotFound when it does not exist.
	Open(ctx context.Context, key string, offset int64) (io.ReadCloser, error)
	// Upload keeps what write writes, and returns how many bytes that is. There is no such file until write has returned nil.
	Upload(ctx context.Context, key, contentType string, write func(io.Writer) error) (int64, error)
	// Delete removes a file, if there.
	Delete(ctx context.Context, key string) error
}

// Presigner makes links to files.
type Presigner interface {
	// PresignGet returns an address from which the file can be downloaded, to be saved under the name.
	PresignGet(ctx context.Context, key, filename, contentType string, ttl time.Duration) (string, error)
}
