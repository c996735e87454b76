package note

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
)

// Store keeps notes. All of it may fail with Unavailable or Exhausted besides the faults that are named.
type Store struct {
	Reader
	Lists
	Writer
	Shares
	Cleaner
	idempotency.Store
}

// Reader reads notes and versions by id. It sees every acknowledged write, also one that moves a note meanwhile.
type Reader interface {
	// NotesByID returns the note or the error of each id, in the order of ids, with the reader's permission; of a note
	// that the reader may not read only the id, with [None]. NotFound for one that does not exist.
	NotesByID(ctx context.Context, reader UserID, ids []ID) ([]Note, []error)
	// VersionsByID returns the version or the error of each id, in the order of ids.
	VersionsByID(ctx context.Context, ids []VersionID) ([]Version, []error)
	// FindDeleted returns the deleted note of the owner as it was, and when it was deleted, or NotFound.
	FindDeleted(ctx context.Context, owner UserID, id ID) (Note, Deleted, error)
}

// Lists lists an owner's notes. It sees every acknowledged write.
type Lists interface {
	// ListNotes lists notes by deadline. A note that moves meanwhile may be missed or repeated.
	ListNotes(ctx context.Context, owner UserID, due Due, w page.Window) (page.Slice[Note], error)
	// ListNotesByTags lists the notes that carry each tag, by id, in the order of the requests. A note that could not be
	// read has an error.
	ListNotesByTags(ctx context.Context, requests []TagRequest) ([]page.Slice[Found], []error)
	// ListTags lists the tags of the owner's notes whose key begins with prefix, by key.
	ListTags(ctx context.Context, owner UserID, prefix string, w page.Window) (page.Slice[tag.Tag], error)
	// FindTags returns each tag as it was typed on one of the notes that carry it, or NotFound, in the order of ids.
	FindTags(ctx context.Context, ids []tag.ID) ([]tag.Tag, []error)
	// ListVersionsOf lists the versions of each note, the newest first, in the order of the requests.
	ListVersionsOf(ctx context.Context, requests []VersionsRequest) ([]page.Slice[Version], []error)
	// ListChanges lists what changed for a user at or after since: the user's own notes by time, then notes of others that changed, or were
	// shared, or for something else than before, then shares that ended. A page may be short, or empty, although there is more.
	ListChanges(ctx context.Context, user UserID, since time.Time, w page.Window) (page.Slice[Change], error)
}

// Change is a note as it is now, or that it was deleted, or that it is no longer shared with the user; one of them is set.
type Change struct {
	Note    *Note
	Deleted *Deleted
	Ended   *EndedShare
}

// TagRequest asks for one page of the notes that carry a tag.
type TagRequest struct {
	Tag    tag.ID
	Window page.Window
}

// VersionsRequest asks for one page of the versions of a note; see [Note.Versions].
type VersionsRequest struct {
	Note   ID
	First  int // the lowest number of those that are wanted
	Window page.Window
	shown  shown
}

// VersionRequest asks for a version of a note; see [Note.VersionAt].
type VersionRequest struct {
	VersionID
	shown shown
}

// shown is proof that a note was shown to the viewer: only requests made from a note that the viewer may read have it.
type shown bool

// VersionAt asks for the version with the number. One that is hidden from the reader counts as not shown.
func (n Note) VersionAt(number int) VersionRequest {
	return VersionRequest{VersionID: VersionID{Note: n.ID, Number: number}, shown: n.Permission >= View && number >= n.FirstVersion}
}

// Versions asks for a page of the versions that the reader may see.
func (n Note) Versions(w page.Window) VersionsRequest {
	return VersionsRequest{Note: n.ID, First: n.FirstVersion, Window: w, shown: n.Permission >= View}
}

// Access asks for a page of the access list.
func (n Note) Access(w page.Window) AccessRequest {
	return AccessRequest{Note: n.ID, Owner: n.Owner, Window: w, Foreign: n.Foreign, shown: n.Permission >= View}
}

// Found is a note that a list names, or why it could not be read.
type Found struct {
	ID   ID
	Note Note
	Err  error
}

// Writer changes notes. Each method is atomic, puts an event of what it does into the outbox, and records the idempotency key with the effect; it returns
// *idempotency.Replayed when the key was used before. Editor is who does it: when that is not the owner, the share
// that permits it is a condition of the change, and NotFound tells that it is gone.
type Writer interface {
	// CreateNote creates the note with its locator and tag rows.
	CreateNote(ctx context.Context, n Note, once idempotency.Key) error
	// UpdateNote replaces before by after, moves the locator when the deadline differs, adds and removes tag rows, and
	// keeps the version if one is given. *[VersionConflict] when before is not the current version, NotFound when the
	// note is gone.
	UpdateNote(ctx context.Context, editor UserID, before, after Note, keep *Version, once idempotency.Key) error
	// DeleteNote removes the note, its locator and tag rows, and leaves a tombstone. Faults as for UpdateNote.
	DeleteNote(ctx context.Context, n Note, deleted Deleted, once idempotency.Key) error
	// UndeleteNote puts back what DeleteNote removed. NotFound when the tombstone is gone or being cleaned up.
	UndeleteNote(ctx context.Context, n Note, deleted Deleted, once idempotency.Key) error
}

// Shares keeps who has access to what. What changes a share puts an event into the outbox.
type Shares interface {
	// PutShare creates the share of the note, which was read before, or changes its permission; note and user must exist. The first version of a share
	// that there is stays, unless s shows all. It records [Share.Result] and returns what there is then: a share that says the same stays as it is, and
	// nobody is told. NotFound when the note does not exist or is not the owner's, *[VersionConflict] when it has changed since it was read and s hides
	// versions, *[UnknownUser] when the user does not exist, or has blocked the owner,
	// [ErrUnopened] beyond [MaxUnopened] shares with a user who has opened none.
	PutShare(ctx context.Context, of Note, s Share, once idempotency.Key) (Share, error)
	// OpenShare keeps when the user opened the share, unless they did before, and returns when they first did. It also keeps that the user has opened
	// something of the owner. NotFound when there is no such share.
	OpenShare(ctx context.Context, s Share, once idempotency.Key) (time.Time, error)
	// DeleteShare ends the share if there is one, at that time. Its owner may be unknown.
	DeleteShare(ctx context.Context, s Share, by UserID, at time.Time, once idempotency.Key) error
	// ListReceived lists the shares that a user was given, by note id, up to limit, those of deleted notes included. It sees every acknowledged write.
	ListReceived(ctx context.Context, user UserID, limit int) ([]Share, error)
	// ListSharesBy lists shares that a user was given by an owner, by note id, up to limit, those of deleted notes included. It sees every
	// acknowledged write.
	ListSharesBy(ctx context.Context, user, owner UserID, limit int) ([]Share, error)
	// ListSharedNotes lists the notes that are shared with a user, by id. A note that could not be read has an error.
	ListSharedNotes(ctx context.Context, user UserID, w page.Window) (page.Slice[SharedNote], error)
	// AccessLists lists the users of many notes, each by user id, in the order of the requests. Eventually consistent.
	AccessLists(ctx context.Context, requests []AccessRequest) ([]page.Slice[Share], []error)
}

// SharedNote is a share together with its note.
type SharedNote struct {
	Share
	Found
}

// AccessRequest asks for one page of the access list of a note; see [Note.Access].
type AccessRequest struct {
	Note   ID
	Owner  UserID
	Window page.Window
	// Foreign is that of the note: its shares may be found by the note alone.
	Foreign bool
	shown   shown
}

// Cleaner removes what deleted notes left behind. Every step can be run again.
type Cleaner interface {
	// ListCleanups returns deleted notes whose clean-up is due at the given time, from the day of since on, some at a
	// time: those that follow after, the last one of the list before, or the first ones when after is zero. None when
	// there are no more.
	ListCleanups(ctx context.Context, since, due time.Time, after Cleanup) ([]Cleanup, error)
	// CleanUp removes shares and versions of the note and, with Cleanup.Last, its tombstone; otherwise it comes back at
	// next. It does nothing to a note that was undeleted meanwhile.
	CleanUp(ctx context.Context, c Cleanup, next time.Time) error
}

// Cleanup is the order to clean up after a deleted note.
type Cleanup struct {
	Note      ID
	Owner     UserID
	DeletedAt time.Time
	Due       time.Time
	Last      bool // the indexes had time to show what the first clean-up could not see
}
