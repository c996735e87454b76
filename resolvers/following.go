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
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
)

// NoteEvent returns the resolvers of NoteEvent.
func (r *Resolver) NoteEvent() graph.NoteEventResolver { return noteEvents{r} }

// ScoreEvent returns the resolvers of ScoreEvent.
func (r *Resolver) ScoreEvent() graph.ScoreEventResolver { return scoreEvents{r} }

const (
	messageNoteGap  = "events were missed; noteChanges tells what changed meanwhile"
	messageScoreGap = "events were missed; read the score again"
)

func (s subscription) NoteEvents(ctx context.Context, after *model.NoteCursor) (<-chan model.NoteMessage, error) {
	var given *follow.Cursor
	if after != nil {
		given = &after.Cursor
	}
	from, err := begins(ctx, given)
	if err != nil {
		return nil, err
	}
	told, err := s.Following.Listen(ctx, from)
	if err != nil {
		return nil, err
	}
	return following[model.NoteCursor](ctx, told, noteMessageOf), nil
}

func (s subscription) ScoreEvents(ctx context.Context, scoreID gid.ID, after *model.ScoreCursor) (<-chan model.ScoreMessage, error) {
	ref, err := scoreNow("scoreId", scoreID)
	if err != nil {
		return nil, err
	}
	var given *follow.Cursor
	if after != nil {
		given = &after.Cursor
	}
	from, err := begins(ctx, given)
	if err != nil {
		return nil, err
	}
	told, err := s.Following.ListenToScore(ctx, ref, from, Finisher(graphql.GetOperationContext(ctx)))
	if err != nil {
		return nil, err
	}
	return following[model.ScoreCursor](ctx, told, scoreMessageOf), nil
}

// begins returns after which cursor a subscription begins: the one that was given, or the one that the transport knows. Nil for none.
func begins(ctx context.Context, given *follow.Cursor) (*follow.Cursor, error) {
	var seen model.NoteCursor // which is spelled as one of a score
	if again, err := resumed(graphql.GetOperationContext(ctx), &seen); err != nil {
		return nil, err
	} else if again { // the request is the first one's, repeated
		given = &seen.Cursor
	}
	return given, nil
}

// following hands on what a follower is told as messages, with their positions.
func following[C interface{ String() string }, M any](ctx context.Context, told <-chan follow.Told, form func(follow.Told) M) <-chan M {
	op := graphql.GetOperationContext(ctx)
	return mapped(ctx, told, func(t follow.Told) (M, time.Time) {
		message := form(t)
		reached[C](op, message)
		return message, t.Looked
	})
}

func noteMessageOf(t follow.Told) model.NoteMessage {
	switch {
	case t.Gap:
		return model.NoteGap{Message: messageNoteGap}
	case t.Event != nil:
		return model.NoteEvent{Event: *t.Event, Cursor: t.Cursor()}
	}
	return model.NotePosition{At: t.Cursor()}
}

func scoreMessageOf(t follow.Told) model.ScoreMessage {
	switch {
	case t.Gap:
		return model.ScoreGap{Message: messageScoreGap}
	case t.Event != nil:
		return model.ScoreEvent{Event: *t.Event, Cursor: t.Cursor(), Seen: t.Score}
	}
	return model.ScorePosition{At: t.Cursor()}
}

// versionOf returns a version that may be unknown.
func versionOf(version int) *int {
	if version == 0 {
		return nil
	}
	return &version
}

type noteEvents struct{ *Resolver }

func (noteEvents) NoteID(_ context.Context, e *model.NoteEvent) (gid.ID, error) {
	return gid.Of("Note", e.Of), nil
}

func (r noteEvents) Note(ctx context.Context, e *model.NoteEvent) (*note.Note, error) {
	n, err := found(loaders.From(ctx).Notes.Load(ctx, note.ID(e.Of)))
	if n != nil {
		r.ahead(ctx, []note.Note{*n}, selected(ctx, "Note", "Node"))
	}
	return n, err
}

func (noteEvents) Version(_ context.Context, e *model.NoteEvent) (*int, error) {
	return versionOf(e.Event.Version), nil
}

func (noteEvents) By(ctx context.Context, e *model.NoteEvent) (*user.User, error) {
	return person(ctx, e.Event.By)
}

func (noteEvents) With(ctx context.Context, e *model.NoteEvent) (*user.User, error) {
	return writer(ctx, e.Event.With)
}

type scoreEvents struct{ *Resolver }

func (scoreEvents) ScoreID(_ context.Context, e *model.ScoreEvent) (gid.ID, error) {
	return gid.Of("Score", string(e.Owner), e.Of), nil
}

// Score shows what the hub saw, which read the score once for all who follow it.
func (r scoreEvents) Score(ctx context.Context, e *model.ScoreEvent) (*model.Score, error) {
	primeScore(ctx, e)
	s, err := r.score(ctx, score.SnapshotID{Score: e.Ref()})
	if s != nil {
		r.scoresAhead(ctx, []model.Score{*s}, selected(ctx, "Score", "Node"))
	}
	return s, err
}

func primeScore(ctx context.Context, e *model.ScoreEvent) {
	if e.Seen != nil {
		loaders.From(ctx).Scores.Prime(e.Ref(), *e.Seen)
	}
}

func (scoreEvents) Version(_ context.Context, e *model.ScoreEvent) (*int, error) {
	return versionOf(e.Event.Version), nil
}

func (scoreEvents) Changed(_ context.Context, e *model.ScoreEvent) ([]score.ChangedPart, error) {
	return score.PartsOf(e.Event), nil
}

func (scoreEvents) SnapshotID(_ context.Context, e *model.ScoreEvent) (*gid.ID, error) {
	if e.Event.Snapshot == "" {
		return nil, nil
	}
	id := gid.Of("Snapshot", string(e.Owner), e.Of, e.Event.Snapshot)
	return &id, nil
}

func (r scoreEvents) Snapshot(ctx context.Context, e *model.ScoreEvent) (*score.Snapshot, error) {
	if e.Event.Snapshot == "" {
		return nil, nil
	}
	primeScore(ctx, e)
	at, err := r.snapshot(ctx, score.SnapshotID{Score: e.Ref(), ID: e.Event.Snapshot})
	if at != nil {
		r.snapshotsAhead(ctx, []score.Snapshot{*at}, selected(ctx, "Snapshot", "Node"))
	}
	return at, err
}

func (scoreEvents) By(ctx context.Context, e *model.ScoreEvent) (*user.User, error) {
	return person(ctx, e.Event.By)
}
