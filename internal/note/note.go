// Package note says what is true about notes: deadlines, versions, tags and
// shares.
//
// It knows the rules and limits, who may do what, and the stores it needs. It
// must not know users beyond their ids, engines or GraphQL. Start reading at
// [Note], [Service] and [Store].
package note

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/viewer"
)

// ID identifies a note: a UUID in its canonical text form.
type ID string

// UserID identifies a user.
type UserID = viewer.UserID

// Limits of a note. A note, each of its versions and its tombstone is one DynamoDB item, which holds 400 KB including
// attribute names; MaxContent leaves room for title, 40 tags in two spellings, and keys.
const (
	MaxTitle   = 200     // characters
	MaxContent = 350_000 // bytes
	MaxTags    = 40
)

// Limits of what a user may have; those of notes and shares are counted in the background and hold to within 10 %.
const (
	MaxNotes   = 100_000 // with those that may be brought back
	MaxShares  = 100_000 // of the user's notes
	MaxVersion = 100_000 // of one note; from there on title and content stay as they are
	// MaxUnopened is how many notes a user shares with another one who has opened none of them.
	MaxUnopened = 100
)

// UndoFor is how long a deleted note can be brought back, and how long deletions and ends of shares are told to clients that synchronise.
const UndoFor = 30 * 24 * time.Hour

// Permission is what a user may do with a note; each includes those before it.
type Permission uint8

// The permissions. None is the zero value: who is not told otherwise may nothing.
const (
	None Permission = iota
	View
	Edit
	Owner
)

// Note is a note as one reader sees it.
type Note struct {
	ID         ID
	Owner      UserID
	Title      string
	Content    string
	Deadline   time.Time // zero for none
	Tags       []tag.Tag // ordered by key
	Version    int       // grows with each change
	Snapshot   int       // the number of the newest kept version, 0 for none
	CreatedAt  time.Time
	UpdatedAt  time.Time  // strictly grows with each change
	UpdatedBy  UserID     // who made the last change; "" for one from before this was kept
	Author     UserID     // who wrote title and content, or restored them; "" as above
	Permission Permission // the reader's
	// FirstVersion is the number of the first version that the reader may see; 0 for all.
	FirstVersion int
	// Foreign notes were put by another program: what Taggie keeps beside its own notes may be missing, in the store's indexes too.
	Foreign bool
}

// Version is an earlier state of a note.
type Version struct {
	VersionID
	Title     string
	Content   string
	Tags      []tag.Tag
	Deadline  time.Time
	UpdatedAt time.Time // when the note came into this state
	Author    UserID    // as that of the note in this state
}

// VersionID identifies a version.
type VersionID struct {
	Note   ID
	Number int
}

// ID returns what identifies the version.
func (v Version) ID() VersionID { return v.VersionID }

// Share is a user's access to somebody else's note.
type Share struct {
	Note       ID
	Owner      UserID
	User       UserID // with whom the note is shared
	Permission Permission
	// FirstVersion is the number of the first version that the user may see; 0 for all, and where it is not told: in access lists, and by
	// [Service.Share].
	FirstVersion int
	SharedAt     time.Time // since when it says this
	OpenedAt     time.Time // when the user first opened it; zero before, and in access lists
}

// Result is what an idempotency key records of a share that was given: with whom, and when.
func (s Share) Result() []string {
	return []string{string(s.User), s.SharedAt.Format(time.RFC3339Nano)}
}

// Deleted is what is left of a deleted note.
type Deleted struct {
	ID        ID
	DeletedAt time.Time
}

// UndoUntil returns the instant from which the deletion can no longer be undone.
func (d Deleted) UndoUntil() time.Time { return d.DeletedAt.Add(UndoFor) }

// EndedShare is what is left of a share: the note is no longer shared with the user.
type EndedShare struct {
	Note    ID
	EndedAt time.Time
}

// Due is a range of deadlines, exclusive at both ends; a zero end is open. The zero Due holds all notes, others only
// notes that have a deadline.
type Due struct{ After, Before time.Time }

// All reports whether the range holds every note, also those without a deadline.
func (d Due) All() bool { return d.After.IsZero() && d.Before.IsZero() }

// VersionConflict is the outcome of a change that expected another version.
type VersionConflict struct{ Current Note }

// Error says so.
func (*VersionConflict) Error() string { return "the note has changed since" }

// ErrTooManyTags is the outcome of a change that would give a note more than [MaxTags] tags.
var ErrTooManyTags = fault.New(fault.Exhausted, "a note carries at most %d tags: take some off first", MaxTags)

// ErrUnopened is the outcome of sharing more with somebody who has opened nothing so far.
var ErrUnopened = fault.New(fault.Exhausted, "this user has not opened any of the %d notes that you share with them: wait until they do", MaxUnopened)

// UnknownUser is the outcome of sharing with somebody who does not exist, or has blocked the owner.
type UnknownUser struct{ Field string }

// Error says so.
func (*UnknownUser) Error() string { return "there is no user whom you can share this with" }

func notFound() error { return fault.New(fault.NotFound, "there is no such note") }

func parseText(field, what, text string) error {
	switch {
	case !utf8.ValidString(text):
		return fault.Invalidf(field, "%s must be valid UTF-8", what)
	case strings.ContainsRune(text, 0):
		return fault.Invalidf(field, "%s may not contain NUL", what)
	case strings.TrimSpace(text) == "":
		return fault.Invalidf(field, "%s may not be empty", what)
	}
	return nil
}

func parseTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	if err := parseText("input.title", "a title", title); err != nil {
		return "", err
	}
	if strings.ContainsFunc(title, unicode.IsControl) {
		return "", fault.Invalidf("input.title", "a title may not contain control characters")
	}
	if utf8.RuneCountInString(title) > MaxTitle {
		return "", fault.Invalidf("input.title", "a title has at most %d characters", MaxTitle)
	}
	return title, nil
}

func parseContent(content string) (string, error) {
	if err := parseText("input.content", "the content", content); err != nil {
		return "", err
	}
	if len(content) > MaxContent {
		return "", fault.Invalidf("input.content", "the content has at most %d bytes, this has %d: a note is one DynamoDB item of at most 400 KB", MaxContent, len(content))
	}
	return content, nil
}

// errManyTags says that one request names more tags than a note can carry.
var errManyTags = fault.Invalidf("input.tags", "a note carries at most %d tags: leave some out", MaxTags)

// parseTags returns the tags without repetitions, ordered by key; tooMany when they are more than [MaxTags].
func parseTags(author UserID, values []string, tooMany error) ([]tag.Tag, error) {
	var tags []tag.Tag
	for _, value := range values {
		word, err := tag.Parse("input.tags", value)
		if err != nil {
			return nil, err
		}
		tags = addTag(tags, tag.Tag{Author: author, Word: word})
		if len(tags) > MaxTags {
			return nil, tooMany
		}
	}
	return tags, nil
}

func compareTags(a, b tag.Tag) int { return strings.Compare(a.Key, b.Key) }

// addTag returns tags with t, in order; a tag with the same key stays as it was typed first.
func addTag(tags []tag.Tag, t tag.Tag) []tag.Tag {
	i, found := slices.BinarySearchFunc(tags, t, compareTags)
	if found {
		return tags
	}
	return slices.Insert(slices.Clone(tags), i, t)
}

func removeTag(tags []tag.Tag, t tag.Tag) []tag.Tag {
	i, found := slices.BinarySearchFunc(tags, t, compareTags)
	if !found {
		return tags
	}
	return slices.Delete(slices.Clone(tags), i, i+1)
}

// sameContent reports whether two states of a note differ in nothing that a version keeps.
func sameContent(a, b Note) bool {
	return a.Title == b.Title && a.Content == b.Content && slices.Equal(a.Tags, b.Tags)
}
