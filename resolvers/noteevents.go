package resolvers

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/graph/model"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// NoteEvent returns the resolvers of NoteEvent.
func (r *Resolver) NoteEvent() graph.NoteEventResolver { return noteEvents{r} }

const messageNoteGap = "events were missed; noteChanges tells what changed meanwhile"

func (s subscription) NoteEvents(ctx context.Context, after *model.NoteCursor) (<-chan model.NoteMessage, error) {
	op := graphql.GetOperationContext(ctx)
	var seen model.NoteCursor
	if again, err := resumed(op, &seen); err != nil {
		return nil, err
	} else if again { // the request is the first one's, repeated
		after = &seen
	}
	var from *follow.Cursor
	if after != nil {
		from = &after.Cursor
	}
	told, err := s.Following.Listen(ctx, from)
	if err != nil {
		return nil, err
	}
	return mapped(ctx, told, func(t follow.Told) (model.NoteMessage, time.Time) {
		message := noteMessageOf(t)
		reached[model.NoteCursor](op, message)
		return message, t.Looked
	}), nil
}

func noteMessageOf(t follow.Told) model.NoteMessage {
	switch {
	case t.Gap:
		return model.NoteGap{Message: messageNoteGap}
	case t.Event != nil:
		return model.NoteEvent{Event: *t.Event, Cursor: model.NoteCursor{Cursor: t.Cursor()}}
	}
	return model.NotePosition{At: model.NoteCursor{Cursor: t.Cursor()}}
}

type noteEvents struct{ *Resolver }

func (noteEvents) NoteID(_ context.Context, e *model.NoteEvent) (gid.ID, error) {
	return gid.Of("Note", string(e.Note)), nil
}

func (r noteEvents) Note(ctx context.Context, e *model.NoteEvent) (*note.Note, error) {
	n, err := found(loaders.From(ctx).Notes.Load(ctx, e.Note))
	if n != nil {
		r.ahead(ctx, []note.Note{*n}, selected(ctx, "Note", "Node"))
	}
	return n, err
}

func (noteEvents) Version(_ context.Context, e *model.NoteEvent) (*int, error) {
	if e.Event.Version == 0 {
		return nil, nil
	}
	return &e.Event.Version, nil
}

func (noteEvents) By(ctx context.Context, e *model.NoteEvent) (*user.User, error) {
	return person(ctx, e.Event.By)
}

func (noteEvents) With(ctx context.Context, e *model.NoteEvent) (*user.User, error) {
	return writer(ctx, e.Event.With)
}
