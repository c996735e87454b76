// Package loaders batches the reads of one response.
//
// It knows the domain's batched reads, one row per type. It must not know
// GraphQL, engines or rules, and never writes. Loaders are made per response,
// so that a second event of a subscription sees fresh data, and run on the
// response's context. Start reading at [New], then [Loader].
package loaders

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
)

// Loaders holds one loader per type.
type Loaders struct {
	Users       *Loader[user.ID, user.User]
	Notes       *Loader[note.ID, note.Note]
	Versions    *Loader[note.VersionRequest, note.Version]
	Tags        *Loader[tag.ID, tag.Tag]
	AccessLists *Loader[note.AccessRequest, page.Slice[note.Share]]
	VersionsOf  *Loader[note.VersionsRequest, page.Slice[note.Version]]
	NotesByTag  *Loader[note.TagRequest, page.Slice[note.Found]]
	// Lists of a user, each read once however often the user is met in the response.
	NotesOf     *Loader[NotesOf, page.Slice[note.Note]]
	TagsOf      *Loader[TagsOf, page.Slice[tag.Tag]]
	SharedNotes *Loader[ListOf, page.Slice[note.SharedNote]]
	NoteChanges *Loader[ChangesOf, Changes]
}

// ListOf asks for a page of a list of a user.
type ListOf struct {
	User   user.ID
	Window page.Window
}

// NotesOf asks for a page of a user's notes.
type NotesOf struct {
	ListOf
	Due note.Due
}

// TagsOf asks for a page of a user's tags.
type TagsOf struct {
	ListOf
	Prefix string
}

// ChangesOf asks for a page of the changes of a user's notes.
type ChangesOf struct {
	ListOf
	Since time.Time
}

// Changes is a page of changes with what a run through the list is worth.
type Changes struct {
	page.Slice[note.Change]
	note.Synced
}

// Sources are where loaders read.
type Sources struct {
	Users   *user.Service
	Notes   *note.Service
	Light   *note.Service                 // Notes for responses that show no content
	Observe func(loader string, keys int) // told of each batch; may be nil
}

// New returns the loaders of one response, whose context bounds all their reads. Content says whether the response shows the
// content of any note or version.
func New(ctx context.Context, from Sources, content bool) *Loaders {
	notes := from.Notes
	if !content && from.Light != nil {
		notes = from.Light
	}
	observe := from.Observe
	if observe == nil {
		observe = func(string, int) {}
	}
	return &Loaders{
		Users:       newLoader(ctx, "users", observe, from.Users.ListByID),
		Notes:       newLoader(ctx, "notes", observe, notes.ListByID),
		Versions:    newLoader(ctx, "versions", observe, notes.VersionsByID),
		Tags:        newLoader(ctx, "tags", observe, notes.FindTags),
		AccessLists: newLoader(ctx, "accessLists", observe, notes.AccessLists),
		VersionsOf:  newLoader(ctx, "versionsOf", observe, notes.ListVersions),
		NotesByTag:  newLoader(ctx, "notesByTag", observe, notes.ListByTags),
		NotesOf: newLoader(ctx, "notesOf", observe, oneByOne(func(ctx context.Context, k NotesOf) (page.Slice[note.Note], error) {
			return notes.ListByDeadline(ctx, k.User, k.Due, k.Window)
		})),
		TagsOf: newLoader(ctx, "tagsOf", observe, oneByOne(func(ctx context.Context, k TagsOf) (page.Slice[tag.Tag], error) {
			return notes.ListTags(ctx, k.User, k.Prefix, k.Window)
		})),
		SharedNotes: newLoader(ctx, "sharedNotes", observe, oneByOne(func(ctx context.Context, k ListOf) (page.Slice[note.SharedNote], error) {
			return notes.ListShared(ctx, k.User, k.Window)
		})),
		NoteChanges: newLoader(ctx, "noteChanges", observe, oneByOne(func(ctx context.Context, k ChangesOf) (Changes, error) {
			slice, synced, err := notes.ListChanges(ctx, k.User, k.Since, k.Window)
			return Changes{slice, synced}, err
		})),
	}
}

// Clear forgets everything that was read: a mutation calls it after its write, so that its payload, and the mutations that
// follow in the same request, see the data as it is now.
func (l *Loaders) Clear() {
	l.Users.batch.ClearAll()
	l.Notes.batch.ClearAll()
	l.Versions.batch.ClearAll()
	l.Tags.batch.ClearAll()
	l.AccessLists.batch.ClearAll()
	l.VersionsOf.batch.ClearAll()
	l.NotesByTag.batch.ClearAll()
	l.NotesOf.batch.ClearAll()
	l.TagsOf.batch.ClearAll()
	l.SharedNotes.batch.ClearAll()
	l.NoteChanges.batch.ClearAll()
}

type key struct{}

// With returns a context that carries the loaders.
func With(ctx context.Context, l *Loaders) context.Context { return context.WithValue(ctx, key{}, l) }

// From returns the loaders of the response. Without any it panics: the server was put together wrongly.
func From(ctx context.Context) *Loaders {
	l, ok := ctx.Value(key{}).(*Loaders)
	if !ok {
		panic("loaders: the context carries none")
	}
	return l
}
