package queue

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/note"
)

func changed(version int) follow.Entry {
	return follow.Entry{Event: note.Event{Type: note.Changed, Note: "n:1", Owner: "ada", By: "bob", Version: version, At: time.UnixMilli(int64(version)).UTC()}}
}

func testNoteEvents(t *testing.T, f *fixture) {
	q, of := NoteEvents{f.Queue}, note.UserID(uuid.NewString()+"{}:")
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

	given := follow.Entry{From: "5-6", Event: note.Event{Type: note.Shared, Note: "n:1", Owner: "ada", By: "ada", With: "eve", At: time.UnixMilli(9).UTC()}}
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

	other := note.UserID(uuid.NewString())
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

func testNoteEventsAreTrimmed(t *testing.T, f *fixture) {
	q, of := NoteEvents{f.Queue}, note.UserID(uuid.NewString())
	ctx := t.Context()
	begin, err := q.End(ctx, of)
	require.NoError(t, err)
	for n := range follow.MaxEvents + 200 { // Redis trims some at once
		_, err := q.Append(ctx, of, changed(n), false)
		require.NoError(t, err)
	}
	_, err = q.Read(ctx, of, begin, 10)
	require.ErrorIs(t, err, follow.ErrGap)
	kept, err := f.client.XLen(ctx, q.noteEventsKey(of)).Result()
	require.NoError(t, err)
	assert.InDelta(t, follow.MaxEvents, kept, 200)
	left, err := f.client.PTTL(ctx, q.noteEventsKey(of)).Result()
	require.NoError(t, err)
	assert.InDelta(t, follow.KeptFor, left, float64(time.Minute))

	// Events alone do not keep a stream that nobody follows.
	require.NoError(t, f.client.PExpire(ctx, q.noteEventsKey(of), time.Hour).Err())
	at, err := q.Append(ctx, of, changed(-1), false)
	require.NoError(t, err)
	left, err = f.client.PTTL(ctx, q.noteEventsKey(of)).Result()
	require.NoError(t, err)
	assert.InDelta(t, time.Hour, left, float64(time.Minute))
	_, err = q.Read(ctx, of, at, 10)
	require.NoError(t, err)
	left, err = f.client.PTTL(ctx, q.noteEventsKey(of)).Result()
	require.NoError(t, err)
	assert.InDelta(t, follow.KeptFor, left, float64(time.Minute))
}

func TestNoteEventKeys(t *testing.T) {
	s := spaceOf("eu:")
	e := note.Event{Type: note.Shared, Note: "n{1}", With: "u:2", At: time.UnixMilli(7)}
	assert.Equal(t, "eu:taggie:note:events:{u%3A1}", s.noteEventsKey("u:1"))
	assert.Equal(t, "eu:taggie:note:event:{u%3A1}:n%7B1%7D:SHARED:u%3A2:7", s.noteEventKey("u:1", e))
	assert.Equal(t, slot(s.noteEventsKey("u:1")), slot(s.noteEventKey("u:1", e)), "in one slot")
}
