package follow_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/queue"
)

// The tests of this package stop time, and so have streams in memory. These are held to what the streams in Redis answer.
func TestStreamsInMemoryKeepTheContract(t *testing.T) {
	t.Parallel()
	options, err := redis.ParseURL(embeddedtest.RedisDatabase(t).URL)
	require.NoError(t, err)
	client := redis.NewClient(options)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	var stored, memory follow.Streams = queue.Streams{Queue: queue.New(client, queue.Options{})}, follow.StreamsInMemory()
	random, ctx := rand.New(rand.NewPCG(1, 2)), t.Context()
	at := map[string]string{} // where the store in memory has what the one in Redis has at a position
	both := func(of follow.Stream, there, here string) {
		require.Equal(t, there == "", here == "", "whether it is kept")
		if known, is := at[of.String()+there]; is {
			require.Equal(t, known, here, "it is kept once")
		}
		at[of.String()+there] = here
	}
	streams := []follow.Stream{follow.NotesOf("ada"), follow.NotesOf("bob"), follow.NotesOf("eve")}
	positions, ignored, gaps, read := map[follow.Stream][]string{}, 0, 0, 0
	for range 400 {
		of := streams[random.IntN(len(streams))]
		switch n := random.IntN(100); {
		case n < 3:
			there, err := stored.End(ctx, of)
			require.NoError(t, err)
			here, err := memory.End(ctx, of)
			require.NoError(t, err)
			both(of, there, here)
			positions[of] = append(positions[of], there)
		case n < 50:
			version := random.IntN(60)
			e := follow.Entry{From: "1-0", Event: event.Event{
				Kind: event.OfNote, Type: note.Changed, Of: "n", Owner: "ada", By: "ada", Version: version, At: time.UnixMilli(int64(version)).UTC(),
			}}
			there, err := stored.Append(ctx, of, e, n == 3)
			require.NoError(t, err)
			here, err := memory.Append(ctx, of, e, n == 3)
			require.NoError(t, err)
			if both(of, there, here); there == "" {
				ignored++
				continue
			}
			positions[of] = append(positions[of], there)
		default:
			after := fmt.Sprint(random.IntN(9), "-7") // where nothing is
			if known := positions[of]; len(known) > 0 && n < 95 {
				after = known[random.IntN(len(known))]
			}
			limit := 1 + random.IntN(9)
			there, err := stored.Read(ctx, of, after, limit)
			here, got := memory.Read(ctx, of, at[of.String()+after], limit)
			if err != nil {
				require.ErrorIs(t, err, follow.ErrGap)
				require.ErrorIs(t, got, follow.ErrGap)
				gaps++
				continue
			}
			require.NoError(t, got)
			require.Len(t, here, len(there))
			for i := range there {
				both(of, there[i].ID, here[i].ID)
				require.Equal(t, there[i].Event, here[i].Event)
				require.Equal(t, there[i].From, here[i].From)
				read++
			}
		}
	}
	assert.Positive(t, ignored)
	assert.Positive(t, gaps)
	assert.Greater(t, read, 100)
}
