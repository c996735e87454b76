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
// by tag side by side, then the users that any of them names in one batch. What it cannot read, the elements' own
// resolvers report.
func (r *Resolver) ahead(ctx context.Context, notes []note.Note, sel selection) {
	if len(notes) == 0 || len(sel.fields) == 0 {
		return
	}
	load := loaders.From(ctx)
	var people []user.ID
	var newest []note.VersionID
	var words []tag.Tag
	for _, n := range notes {
		load.Notes.Prime(n.ID, n)
		if sel.has("owner") {
			people = append(people, n.Owner)
		}
		if n.Snapshot > 0 {
			newest = append(newest, note.VersionID{Note: n.ID, Number: n.Snapshot})
		}
		words = append(words, n.Tags...)
	}
	access, members := r.accessRequests(ctx, notes, sel)

	// The loaders recover from panics themselves, and keep errors for those who load.
	var group errgroup.Group
	if sel.has("latestVersion") {
		group.Go(func() error { load.Versions.Prefetch(newest); return nil })
	}
	group.Go(func() error { load.AccessLists.Prefetch(access); return nil })
	group.Go(func() error { load.VersionsOf.Prefetch(r.versionRequests(ctx, notes, sel)); return nil })
	group.Go(func() error {
		load.NotesByTag.Prefetch(r.tagRequests(ctx, words, sel.in("tags", "Tag", "Node")))
		return nil
	})
	_ = group.Wait()

	for _, request := range members {
		shares, err := load.AccessLists.Load(ctx, request)
		if err != nil {
			continue
		}
		for _, s := range shares.Items {
			people = append(people, s.User)
		}
	}
	if sel.in("tags", "Tag", "Node").has("author") {
		for _, t := range words {
			people = append(people, t.Author)
		}
	}
	load.Users.Prefetch(people)
}

// tagsAhead reads what is selected below a list of tags.
func (r *Resolver) tagsAhead(ctx context.Context, tags []tag.Tag, sel selection) {
	loaders.From(ctx).NotesByTag.Prefetch(r.tagRequests(ctx, tags, sel))
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

// versionRequests returns the lists of versions that are selected of the notes.
func (r *Resolver) versionRequests(ctx context.Context, notes []note.Note, sel selection) (all []note.VersionsRequest) {
	sel.each("versions", "VersionConnection", func(paging page.Args, below selection) {
		for _, n := range notes {
			if o, err := r.openVersions(ctx, below, n, paging); err == nil {
				all = append(all, note.VersionsRequest{Note: n.ID, Window: o.Window})
			}
		}
	})
	return all
}

func (r *Resolver) openVersions(ctx context.Context, sel selection, n note.Note, paging page.Args) (page.Opened, error) {
	return r.open(ctx, sel, paging, "Note.versions", string(n.ID))
}

// accessRequests returns the access lists that are selected of the notes, and those of which the users are.
func (r *Resolver) accessRequests(ctx context.Context, notes []note.Note, sel selection) (all, members []note.AccessRequest) {
	sel.each("accessList", "NoteAccessConnection", func(paging page.Args, below selection) {
		users := len(below.items("NoteAccessEdge", "User", "Node").fields) > 0
		for _, n := range notes {
			o, err := r.openAccessList(ctx, below, n, paging)
			if err != nil {
				continue
			}
			request := note.AccessRequest{Note: n.ID, Owner: n.Owner, Window: o.Window}
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
