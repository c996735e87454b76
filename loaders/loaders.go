// Package loaders batches the reads of one response.
//
// It knows the domain's batched reads, one row per type. It must not know
// GraphQL, engines or rules, and never writes. Loaders are made per response,
// so that a second event of a subscription sees fresh data, and run on the
// response's context. Start reading at [New], then [Loader].
package loaders

import (
	"context"

	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
)

// Loaders holds one loader per type.
type Loaders struct {
	Lists       *note.Service // lists notes as the response needs them: without content when none is selected
	Users       *Loader[user.ID, user.User]
	Notes       *Loader[note.ID, note.Note]
	Versions    *Loader[note.VersionID, note.Version]
	AccessLists *Loader[note.AccessRequest, page.Slice[note.Share]]
	VersionsOf  *Loader[note.VersionsRequest, page.Slice[note.Version]]
	NotesByTag  *Loader[note.TagRequest, page.Slice[note.Found]]
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
		Lists:       notes,
		Users:       newLoader(ctx, "users", observe, from.Users.ListByID),
		Notes:       newLoader(ctx, "notes", observe, notes.ListByID),
		Versions:    newLoader(ctx, "versions", observe, notes.VersionsByID),
		AccessLists: newLoader(ctx, "accessLists", observe, notes.AccessLists),
		VersionsOf:  newLoader(ctx, "versionsOf", observe, notes.ListVersions),
		NotesByTag:  newLoader(ctx, "notesByTag", observe, notes.ListByTags),
	}
}

// Clear forgets everything that was read: a mutation calls it after its write, so that its payload, and the mutations that
// follow in the same request, see the data as it is now.
func (l *Loaders) Clear() {
	l.Users.batch.ClearAll()
	l.Notes.batch.ClearAll()
	l.Versions.batch.ClearAll()
	l.AccessLists.batch.ClearAll()
	l.VersionsOf.batch.ClearAll()
	l.NotesByTag.batch.ClearAll()
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
