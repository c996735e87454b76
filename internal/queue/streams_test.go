package queue

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/score"
)

func changed(version int) follow.Entry {
	return follow.Entry{Event: event.Event{Kind: event.OfNote, Type: note.Changed, Of: "n:1", Owner: "ada", By: "bob", Version: version, At: time.UnixMilli(int64(version)).UTC()}}
}

func testStreams(t *testing.T, f *fixture) {
	q, of := Streams{f.Queue}, follow.NotesOf(note.UserID(uuid.NewString()+"{}:"))
	ctx := t.Context()
	at, err := q.Append(ctx, of, changed(1), false)
	require.NoError(t, err)
	assert.Empty(t, at, "nobody is at any position")
	begin, err := q.End(ctx, of)
	require.NoError(t, err)
	again, err := q.End(ctx, of)
	require.NoError(t, err)
	assert.Equal(t, begin, again)
	none, err := q.Read(ctx, of, begin, 10)
	require.NoError(t, err)
	assert.Empty(t, none)

	given := follow.Entry{From: "5-6", Event: event.Event{Kind: event.OfNote, Type: note.Shared, Of: "n:1", Owner: "ada", By: "ada", With: "eve", At: time.UnixMilli(9).UTC()}}
	want := []follow.Entry{changed(2), given, changed(3)}
	for i, e := range want {
		for range 2 { // the second time does nothing
			want[i].ID, err = q.Append(ctx, of, e, false)
			require.NoError(t, err)
		}
	}
	all, err := q.Read(ctx, of, begin, 10)
	require.NoError(t, err)
	assert.Equal(t, want, all)
	some, err := q.Read(ctx, of, want[0].ID, 1)
	require.NoError(t, err)
	assert.Equal(t, want[1:2], some)
	end, err := q.End(ctx, of)
	require.NoError(t, err)
	assert.Equal(t, want[2].ID, end)

	other := follow.NotesOf(note.UserID(uuid.NewString()))
	for _, bad := range []string{"", "x", "1-1", "-", "99999999999999-0"} {
		_, err := q.Read(ctx, of, bad, 10)
		require.ErrorIs(t, err, follow.ErrGap, bad)
	}
	_, err = q.Read(ctx, other, begin, 10)
	require.ErrorIs(t, err, follow.ErrGap, "a stream that is not there")
	at, err = q.Append(ctx, other, given, true)
	require.NoError(t, err)
	assert.NotEmpty(t, at, "somebody is to begin there")
}

func testStreamsAreTrimmed(t *testing.T, f *fixture) {
	q, of := Streams{f.Queue}, follow.Score(score.ID(uuid.NewString()))
	ctx := t.Context()
	begin, err := q.End(ctx, of)
	require.NoError(t, err)
	for n := range follow.MaxEvents + 200 { // Redis trims some at once
		_, err := q.Append(ctx, of, changed(n), false)
		require.NoError(t, err)
	}
	_, err = q.Read(ctx, of, begin, 10)
	require.ErrorIs(t, err, follow.ErrGap)
	kept, err := f.client.XLen(ctx, q.streamKey(of)).Result()
	require.NoError(t, err)
	assert.InDelta(t, follow.MaxEvents, kept, 200)
	left, err := f.client.PTTL(ctx, q.streamKey(of)).Result()
	require.NoError(t, err)
	assert.InDelta(t, follow.KeptFor, left, float64(time.Minute))

	// Events alone do not keep a stream that nobody follows.
	require.NoError(t, f.client.PExpire(ctx, q.streamKey(of), time.Hour).Err())
	at, err := q.Append(ctx, of, changed(-1), false)
	require.NoError(t, err)
	left, err = f.client.PTTL(ctx, q.streamKey(of)).Result()
	require.NoError(t, err)
	assert.InDelta(t, time.Hour, left, float64(time.Minute))
	_, err = q.Read(ctx, of, at, 10)
	require.NoError(t, err)
	left, err = f.client.PTTL(ctx, q.streamKey(of)).Result()
	require.NoError(t, err)
	assert.InDelta(t, follow.KeptFor, left, float64(time.Minute))
}

func TestStreamKeys(t *testing.T) {
	s := spaceOf("eu:")
	notes, one := follow.NotesOf("u:1"), follow.Score("s1")
	e := event.Event{Kind: event.OfNote, Type: note.Shared, Of: "n{1}", With: "u:2", At: time.UnixMilli(7)}
	assert.Equal(t, "eu:taggie:note:events:{u%3A1}", s.streamKey(notes))
	assert.Equal(t, "eu:taggie:note:event:{u%3A1}:n%7B1%7D:SHARED:u%3A2:7", s.eventKey(notes, e))
	assert.Equal(t, slot(s.streamKey(notes)), slot(s.eventKey(notes, e)), "in one slot")
	e = event.Event{Kind: event.OfScore, Type: score.SnapshotCreated, Of: "s1", Snapshot: "s2", At: time.UnixMilli(7)}
	assert.Equal(t, "eu:taggie:score:events:{s1}", s.streamKey(one))
	assert.Equal(t, "eu:taggie:score:event:{s1}:s1:SNAPSHOT_CREATED:s2:7", s.eventKey(one, e))
}

// Nothing of an event of a score is lost on its way.
func testStreamOfAScore(t *testing.T, f *fixture) {
	q, of := Streams{f.Queue}, follow.Score(score.ID(uuid.NewString()))
	begin, err := q.End(t.Context(), of)
	require.NoError(t, err)
	want := []follow.Entry{
		{Event: event.Event{Kind: event.OfScore, Type: score.Changed, Of: of.Of, Owner: "ada", By: "ada", Parts: "TITLE ACCESS", Private: true, Version: 7, At: time.UnixMilli(8).UTC()}},
		{Event: event.Event{Kind: event.OfScore, Type: score.SnapshotCreated, Of: of.Of, Owner: "ada", By: "ada", Snapshot: "one", Version: 7, At: time.UnixMilli(9).UTC()}},
		{Event: event.Event{Kind: event.OfScore, Type: score.SnapshotCreated, Of: of.Of, Owner: "ada", By: "ada", Snapshot: "two", Version: 7, At: time.UnixMilli(9).UTC()}},
	}
	for i, e := range want {
		want[i].ID, err = q.Append(t.Context(), of, e, false)
		require.NoError(t, err)
	}
	all, err := q.Read(t.Context(), of, begin, 10)
	require.NoError(t, err)
	assert.Equal(t, want, all)
}
