package loaders

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
)

// noteLoaders read notes and what belongs to them.
type noteLoaders struct {
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

func newNoteLoaders(r *response, notes *note.Service) noteLoaders {
	return noteLoaders{
		Notes:       register(r, "notes", notes.ListByID),
		Versions:    register(r, "versions", notes.VersionsByID),
		Tags:        register(r, "tags", notes.FindTags),
		AccessLists: register(r, "accessLists", notes.AccessLists),
		VersionsOf:  register(r, "versionsOf", notes.ListVersions),
		NotesByTag:  register(r, "notesByTag", notes.ListByTags),
		NotesOf: registerList(r, "notesOf", func(ctx context.Context, k NotesOf) (page.Slice[note.Note], error) {
			return notes.ListByDeadline(ctx, k.User, k.Due, k.Window)
		}),
		TagsOf: registerList(r, "tagsOf", func(ctx context.Context, k TagsOf) (page.Slice[tag.Tag], error) {
			return notes.ListTags(ctx, k.User, k.Prefix, k.Window)
		}),
		SharedNotes: registerList(r, "sharedNotes", func(ctx context.Context, k ListOf) (page.Slice[note.SharedNote], error) {
			return notes.ListShared(ctx, k.User, k.Window)
		}),
		NoteChanges: registerList(r, "noteChanges", func(ctx context.Context, k ChangesOf) (Changes, error) {
			slice, synced, err := notes.ListChanges(ctx, k.User, k.Since, k.Window)
			return Changes{slice, synced}, err
		}),
	}
}
