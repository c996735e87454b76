package resolvers

import (
	"context"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

type notes struct{ *Resolver }

func (notes) Owner(ctx context.Context, n *note.Note) (*user.User, error) {
	return person(ctx, n.Owner)
}

func (notes) UpdatedBy(ctx context.Context, n *note.Note) (*user.User, error) {
	return writer(ctx, n.UpdatedBy)
}

// writer returns the user whom a change names, nil where it names nobody.
func writer(ctx context.Context, id user.ID) (*user.User, error) {
	if id == "" {
		return nil, nil
	}
	return person(ctx, id)
}

func (r notes) AccessList(ctx context.Context, n *note.Note, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.NoteAccessConnection, error) {
	sel := selected(ctx, "NoteAccessConnection")
	o, err := r.openAccessList(ctx, sel, *n, page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).AccessLists.Load(ctx, n.Access(o.Window))
	if err != nil {
		return nil, err
	}
	if sel.in("edges", "NoteAccessEdge").showsProfiles("node") || sel.showsProfiles("nodes") {
		members := make([]user.ID, len(slice.Items))
		for i, s := range slice.Items {
			members[i] = s.User
		}
		loaders.From(ctx).Users.Prefetch(members) // all there already below a list that has looked ahead
	}
	return &model.NoteAccessConnection{Connection: page.Connect(o, slice, accessEdgeOf)}, nil
}

func accessEdgeOf(p page.Position, s note.Share) model.NoteAccessEdge {
	return model.NoteAccessEdge{Position: p, Share: s}
}

type accessConnection struct{ *Resolver }

func (accessConnection) Nodes(ctx context.Context, c *model.NoteAccessConnection) ([]*user.User, error) {
	return partial(ctx, c.Edges, func(e model.NoteAccessEdge) (*user.User, error) { // AccessList has prefetched them
		return person(ctx, e.User)
	}), nil
}

type accessEdge struct{ *Resolver }

func (accessEdge) Node(ctx context.Context, e *model.NoteAccessEdge) (*user.User, error) {
	return person(ctx, e.User)
}

func (r notes) LatestVersion(ctx context.Context, n *note.Note) (*note.Version, error) {
	if n.Snapshot == 0 {
		return nil, nil
	}
	return found(loaders.From(ctx).Versions.Load(ctx, n.VersionAt(n.Snapshot)))
}

func (r notes) VersionAt(ctx context.Context, n *note.Note, number int) (*note.Version, error) {
	if number < 1 {
		return nil, fault.Invalidf("number", "versions are numbered from 1")
	}
	return found(loaders.From(ctx).Versions.Load(ctx, n.VersionAt(number)))
}

func (r notes) Versions(ctx context.Context, n *note.Note, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[note.Version], error) {
	sel := selected(ctx, "VersionConnection")
	o, err := r.openVersions(ctx, sel, *n, page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).VersionsOf.Load(ctx, n.Versions(o.Window))
	if err != nil {
		return nil, err
	}
	if showsAuthors(sel) {
		loaders.From(ctx).Users.Prefetch(authorsOf(nil, slice.Items)) // all there already below a list that has looked ahead
	}
	return page.Plain(o, slice), nil
}

// showsAuthors reports whether more than their ids may be shown of the authors of a list of versions.
func showsAuthors(sel selection) bool {
	return sel.items("VersionEdge", "Version", "Node").showsProfiles("author")
}

// authorsOf adds the known authors of versions.
func authorsOf(people []user.ID, versions []note.Version) []user.ID {
	for _, v := range versions {
		if v.Author != "" {
			people = append(people, v.Author)
		}
	}
	return people
}

type versions struct{ *Resolver }

func (versions) Author(ctx context.Context, v *note.Version) (*user.User, error) {
	return writer(ctx, v.Author)
}

func (versions) Note(ctx context.Context, v *note.Version) (*note.Note, error) {
	return found(loaders.From(ctx).Notes.Load(ctx, v.Note))
}

type tags struct{ *Resolver }

func (tags) Author(ctx context.Context, t *tag.Tag) (*user.User, error) { return person(ctx, t.Author) }

func (r tags) Notes(ctx context.Context, t *tag.Tag, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.TaggedNoteConnection, error) {
	o, err := r.openTagged(ctx, selected(ctx, "TaggedNoteConnection"), t.ID(), page.Args{First: first, After: after, Last: last, Before: before})
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).NotesByTag.Load(ctx, note.TagRequest{Tag: t.ID(), Window: o.Window})
	if err != nil {
		return nil, err
	}
	return &model.TaggedNoteConnection{Connection: page.Connect(o, slice, func(p page.Position, f note.Found) model.TaggedNoteEdge {
		return model.TaggedNoteEdge{Position: p, Found: f}
	})}, nil
}

type taggedConnection struct{ *Resolver }

func (taggedConnection) Nodes(ctx context.Context, c *model.TaggedNoteConnection) ([]*note.Note, error) {
	return partial(ctx, c.Edges, model.TaggedNoteEdge.Node), nil
}
