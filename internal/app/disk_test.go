package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheDiskIsToldOnceAMinuteAndComesBack(t *testing.T) {
	t.Parallel()
	now, room := time.Now(), int64(0)
	var logs bytes.Buffer
	d := &disk{dir: "data", log: slog.New(slog.NewTextHandler(&logs, nil)), now: func() time.Time { return now },
		room: func(string) (int64, error) { return room, nil }}
	told := func() int { return strings.Count(logs.String(), "the disk is full; no changes") }
	for range 3 {
		require.Error(t, d.check(t.Context()))
	}
	assert.Equal(t, 1, told())
	now = now.Add(diskToldAgain)
	require.Error(t, d.check(t.Context()))
	assert.Equal(t, 2, told())

	room = RoomToBegin
	require.NoError(t, d.check(t.Context()))
	d.refused = now // the engine said so
	require.Error(t, d.check(t.Context()))
	now = now.Add(refusedFor)
	require.NoError(t, d.check(t.Context()))
	room = RoomToBegin - 1
	require.Error(t, d.check(t.Context()), "nothing begins")
	require.NoError(t, d.left(roomToWrite), "what has begun ends")
}
