package resolvers

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// ahead reads what is selected below a list of notes, before its elements are resolved: versions and access lists side by
// side, then the users of both owners and access lists in one batch. What it cannot read, the elements' own resolvers
// report.
func (r *Resolver) ahead(ctx context.Context, notes []note.Note, sel selection) {
	if len(notes) == 0 {
		return
	}
	load := loaders.From(ctx)
	var people []user.ID
	for _, n := range notes {
		load.Notes.Prime(n.ID, n)
		if sel.has("owner") {
			people = append(people, n.Owner)
		}
	}
	if sel.has("tags") && sel.in("tags", "Tag", "Node").has("author") {
		people = append(people, authors(notes)...)
	}
	var versions []note.VersionID
	if sel.has("latestVersion") {
		for _, n := range notes {
			if n.Snapshot > 0 {
				versions = append(versions, note.VersionID{Note: n.ID, Number: n.Snapshot})
			}
		}
	}
	access, members := r.accessRequests(ctx, notes, sel)

	var group errgroup.Group // the loaders recover from panics themselves
	group.Go(func() error { load.Versions.Prefetch(versions); return nil })
	group.Go(func() error { load.AccessLists.Prefetch(access); return nil })
	_ = group.Wait() // nothing above fails

	for _, request := range members {
		shares, err := load.AccessLists.Load(ctx, request)
		if err != nil {
			continue
		}
		for _, s := range shares.Items {
			people = append(people, s.User)
		}
	}
	load.Users.Prefetch(people)
}

func authors(notes []note.Note) []user.ID {
	var ids []user.ID
	for _, n := range notes {
		if len(n.Tags) > 0 {
			ids = append(ids, n.Owner)
		}
	}
	return ids
}

// accessRequests returns the access lists that are selected of the notes, and those of which the users are.
func (r *Resolver) accessRequests(ctx context.Context, notes []note.Note, sel selection) (all, members []note.AccessRequest) {
	sel.each("accessList", "NoteAccessConnection", func(paging page.Args, below selection) {
		users := len(below.items("NoteAccessEdge", "User", "Node").fields) > 0
		for _, n := range notes {
			o, err := r.openAccessList(ctx, below, n, paging)
			if err != nil {
				return
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
