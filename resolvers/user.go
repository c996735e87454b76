package resolvers

import (
	"context"
	"time"

	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

type users struct{ *Resolver }

func (users) Email(ctx context.Context, u *user.User) (*string, error) {
	if !user.MaySeeEmail(ctx, u.ID) {
		return nil, nil
	}
	return &u.Email, nil
}

func (r users) Notes(ctx context.Context, u *user.User, due *model.DueRange, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[note.Note], error) {
	sel := selected(ctx, "NoteConnection")
	wanted := dueOf(due)
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.notes",
		string(u.ID), wanted.After.String(), wanted.Before.String())
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).NotesOf.LoadNow(ctx, loaders.NotesOf{ListOf: loaders.ListOf{User: u.ID, Window: o.Window}, Due: wanted})
	if err != nil {
		return nil, err
	}
	r.ahead(ctx, slice.Items, sel.items("NoteEdge", "Note", "Node"))
	return page.Plain(o, slice), nil
}

func dueOf(in *model.DueRange) note.Due {
	var due note.Due
	if in == nil {
		return due
	}
	if after := in.After.Value(); after != nil {
		due.After = *after
	}
	if before := in.Before.Value(); before != nil {
		due.Before = *before
	}
	return due
}

func (r users) Tags(ctx context.Context, u *user.User, prefix *string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*page.List[tag.Tag], error) {
	var begin string
	if prefix != nil {
		begin = *prefix
	}
	sel := selected(ctx, "TagConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.tags", string(u.ID), begin)
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).TagsOf.LoadNow(ctx, loaders.TagsOf{ListOf: loaders.ListOf{User: u.ID, Window: o.Window}, Prefix: begin})
	if err != nil {
		return nil, err
	}
	r.tagsAhead(ctx, slice.Items, sel.items("TagEdge", "Tag", "Node"))
	return page.Plain(o, slice), nil
}

func (r users) Tag(ctx context.Context, u *user.User, value string) (*tag.Tag, error) {
	t, err := found(r.Resolver.Notes.FindTag(ctx, tag.ID{Author: u.ID, Key: tag.Fold(value)}))
	if t != nil {
		r.tagsAhead(ctx, []tag.Tag{*t}, selected(ctx, "Tag", "Node"))
	}
	return t, err
}

func (r users) SharedNotes(ctx context.Context, u *user.User, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.SharedNoteConnection, error) {
	sel := selected(ctx, "SharedNoteConnection")
	o, err := r.open(ctx, sel, page.Args{First: first, After: after, Last: last, Before: before}, "User.sharedNotes", string(u.ID))
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).SharedNotes.LoadNow(ctx, loaders.ListOf{User: u.ID, Window: o.Window})
	if err != nil {
		return nil, err
	}
	var known []note.Note
	for _, s := range slice.Items {
		if s.Err == nil {
			known = append(known, s.Found.Note)
		}
	}
	r.ahead(ctx, known, sel.items("SharedNoteEdge", "Note", "Node"))
	return &model.SharedNoteConnection{Connection: page.Connect(o, slice, func(p page.Position, s note.SharedNote) model.SharedNoteEdge {
		return model.SharedNoteEdge{Position: p, Share: s.Share, Found: s.Found}
	})}, nil
}

type sharedConnection struct{ *Resolver }

func (sharedConnection) Nodes(ctx context.Context, c *model.SharedNoteConnection) ([]*note.Note, error) {
	return partial(ctx, c.Edges, model.SharedNoteEdge.Node), nil
}

func (r users) NoteChanges(ctx context.Context, u *user.User, changedSince *time.Time, first *int, after *page.Cursor) (*model.NoteChangeConnection, error) {
	sel := selected(ctx, "NoteChangeConnection")
	var since time.Time
	if changedSince != nil {
		since = *changedSince
	}
	o, err := r.open(ctx, sel, page.Args{First: first, After: after}, "User.noteChanges", string(u.ID), since.String())
	if err != nil {
		return nil, err
	}
	slice, err := loaders.From(ctx).NoteChanges.LoadNow(ctx, loaders.ChangesOf{ListOf: loaders.ListOf{User: u.ID, Window: o.Window}, Since: since})
	if err != nil {
		return nil, err
	}
	var present []note.Note
	for _, c := range slice.Items {
		if c.Note != nil {
			present = append(present, *c.Note)
		}
	}
	r.ahead(ctx, present, sel.items("NoteChangeEdge", "Note", "Node", "NoteChange"))
	return &model.NoteChangeConnection{Synced: slice.Synced, Connection: page.Connect(o, slice.Slice, func(p page.Position, c note.Change) model.NoteChangeEdge {
		return model.NoteChangeEdge{Position: p, Change: c}
	})}, nil
}
