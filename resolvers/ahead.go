package resolvers

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// ahead reads what is selected below a list of notes, before its elements are resolved: versions, access lists and notes
// by tag side by side, then the users that any of them names in one batch, then what is selected below the notes by tag.
// What it cannot read, the elements' own resolvers report.
func (r *Resolver) ahead(ctx context.Context, notes []note.Note, sel selection) {
	if len(notes) == 0 || len(sel.fields) == 0 {
		return
	}
	load := loaders.From(ctx)
	load.Notes.PrimeAll(notes, func(n *note.Note) note.ID { return n.ID })
	people := make([]user.ID, 0, len(notes))
	var newest []note.VersionRequest
	var words []tag.Tag // whose objects are selected
	owners, writers, latest := sel.showsProfiles("owner"), sel.showsProfiles("updatedBy"), sel.has("latestVersion")
	ofTags := sel.in("tags", "Tag", "Node")
	linked := ofTags.hasObjects()
	for i := range notes {
		n := &notes[i]
		if owners {
			people = append(people, n.Owner)
		}
		if writers && n.UpdatedBy != "" {
			people = append(people, n.UpdatedBy)
		}
		if latest && n.Snapshot > 0 {
			newest = append(newest, n.VersionAt(n.Snapshot))
		}
		if linked {
			words = append(words, n.Tags...)
		}
	}
	// Everything that a client can influence is made here, where a panic is the field's own; what runs beside one another
	// below is the loaders', which recover by themselves.
	access, members := r.accessRequests(ctx, notes, sel)
	versions, written := r.versionRequests(ctx, notes, sel)
	tagged := r.tagRequests(ctx, words, ofTags)

	var group errgroup.Group
	prefetch(&group, load.Versions, newest)
	prefetch(&group, load.VersionsOf, versions)
	prefetch(&group, load.NotesByTag, tagged)
	load.AccessLists.Prefetch(access)
	_ = group.Wait() // errors are for those who load

	for _, shares := range there(ctx, load.AccessLists, members) {
		for _, s := range shares.Items {
			people = append(people, s.User)
		}
	}
	if sel.in("latestVersion", "Version", "Node").showsProfiles("author") {
		people = authorsOf(people, there(ctx, load.Versions, newest))
	}
	for _, slice := range there(ctx, load.VersionsOf, written) {
		people = authorsOf(people, slice.Items)
	}
	if ofTags.showsProfiles("author") {
		for _, t := range words {
			people = append(people, t.Author)
		}
	}
	load.Users.Prefetch(people)
	r.taggedAhead(ctx, words, ofTags)
}

// there returns what a loader has of keys that it was asked for, without those that it could not read.
func there[K comparable, V any](ctx context.Context, loader *loaders.Loader[K, V], keys []K) []V {
	all := make([]V, 0, len(keys))
	for _, key := range keys {
		if value, err := loader.Load(ctx, key); err == nil {
			all = append(all, value)
		}
	}
	return all
}

// versionsAhead reads the authors of versions, if more than their ids is selected.
func (r *Resolver) versionsAhead(ctx context.Context, versions []note.Version, sel selection) {
	if sel.showsProfiles("author") {
		loaders.From(ctx).Users.Prefetch(authorsOf(nil, versions))
	}
}

// tagsAhead reads what is selected below a list of tags.
func (r *Resolver) tagsAhead(ctx context.Context, tags []tag.Tag, sel selection) {
	if sel.showsProfiles("author") && len(tags) > 0 {
		loaders.From(ctx).Users.Prefetch([]user.ID{tags[0].Author}) // they are one user's
	}
	loaders.From(ctx).NotesByTag.Prefetch(r.tagRequests(ctx, tags, sel))
	r.taggedAhead(ctx, tags, sel)
}

// taggedAhead reads what is selected below the notes of tags, for the notes of all tags together, and the items of tags.
func (r *Resolver) taggedAhead(ctx context.Context, tags []tag.Tag, sel selection) {
	sel.each("notes", "TaggedNoteConnection", func(paging page.Args, below selection) {
		items := below.items("TaggedNoteEdge", "Note", "Node")
		if len(items.fields) == 0 {
			return
		}
		seen := map[note.ID]bool{}
		var notes []note.Note
		for _, t := range tags {
			o, err := r.openTagged(ctx, below, t.ID(), paging)
			if err != nil {
				continue
			}
			found, err := loaders.From(ctx).NotesByTag.Load(ctx, note.TagRequest{Tag: t.ID(), Window: o.Window})
			if err != nil {
				continue
			}
			for _, f := range found.Items {
				if f.Err == nil && !seen[f.ID] {
					seen[f.ID] = true
					notes = append(notes, f.Note)
				}
			}
		}
		r.ahead(ctx, notes, items)
	})
	r.itemsOfTagsAhead(ctx, tags, sel)
}

// tagRequests returns the lists of notes that are selected of the tags.
func (r *Resolver) tagRequests(ctx context.Context, tags []tag.Tag, sel selection) (all []note.TagRequest) {
	sel.each("notes", "TaggedNoteConnection", func(paging page.Args, below selection) {
		for _, t := range tags {
			if o, err := r.openTagged(ctx, below, t.ID(), paging); err == nil {
				all = append(all, note.TagRequest{Tag: t.ID(), Window: o.Window})
			}
		}
	})
	return all
}

func (r *Resolver) openTagged(ctx context.Context, sel selection, id tag.ID, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Tag.notes", string(id.Author), id.Key)
}

// versionRequests returns the lists of versions that are selected of the notes, and those of which the authors are.
func (r *Resolver) versionRequests(ctx context.Context, notes []note.Note, sel selection) (all, written []note.VersionsRequest) {
	sel.each("versions", "VersionConnection", func(paging page.Args, below selection) {
		authors := showsAuthors(below)
		for _, n := range notes {
			o, err := r.openVersions(ctx, below, n, paging)
			if err != nil {
				continue
			}
			all = append(all, n.Versions(o.Window))
			if authors {
				written = append(written, n.Versions(o.Window))
			}
		}
	})
	return all, written
}

func (r *Resolver) openVersions(ctx context.Context, sel selection, n note.Note, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Note.versions", string(n.ID))
}

// accessRequests returns the access lists that are selected of the notes, and those of which the users are.
func (r *Resolver) accessRequests(ctx context.Context, notes []note.Note, sel selection) (all, members []note.AccessRequest) {
	sel.each("accessList", "NoteAccessConnection", func(paging page.Args, below selection) {
		users := below.in("edges", "NoteAccessEdge").showsProfiles("node") || below.showsProfiles("nodes")
		for _, n := range notes {
			o, err := r.openAccessList(ctx, below, n, paging)
			if err != nil {
				continue
			}
			request := n.Access(o.Window)
			all = append(all, request)
			if users {
				members = append(members, request)
			}
		}
	})
	return all, members
}

func (r *Resolver) openAccessList(ctx context.Context, sel selection, n note.Note, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Note.accessList", string(n.ID))
}
