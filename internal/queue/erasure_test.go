package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// all returns everything that Redis keeps, as text: a line for each key.
func all(t *testing.T, client redis.UniversalClient) string {
	t.Helper()
	var b strings.Builder
	for _, key := range keysIn(t, client) {
		var content any
		var err error
		switch kind, kindErr := client.Type(t.Context(), key).Result(); kind {
		case "string":
			content, err = client.Get(t.Context(), key).Result()
		case "list":
			content, err = client.LRange(t.Context(), key, 0, -1).Result()
		case "set":
			content, err = client.SMembers(t.Context(), key).Result()
		case "zset":
			content, err = client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
		case "hash":
			content, err = client.HGetAll(t.Context(), key).Result()
		case "stream":
			content, err = client.XRange(t.Context(), key, "-", "+").Result()
		default:
			require.NoError(t, kindErr)
			t.Fatalf("%s is a %s", key, kind)
		}
		require.NoError(t, err)
		_, _ = fmt.Fprintln(&b, key, content)
	}
	return b.String()
}

// called is the pseudonym of a user in a project.
func called(_ context.Context, u labelling.UserID, p string) (labelling.UserID, error) {
	return "nobody:" + labelling.UserID(strings.Repeat("x", len(u))) + "/" + labelling.UserID(p), nil
}

// eraseAll erases a user, until nothing of the user is met.
func (f *fixture) eraseAll(t *testing.T, u labelling.UserID) {
	t.Helper()
	met, err := f.EraseUser(t.Context(), u, called)
	require.NoError(t, err)
	assert.Positive(t, met)
	met, err = f.EraseUser(t.Context(), u, called)
	require.NoError(t, err)
	assert.Zero(t, met)
}

func testErased(t *testing.T, f *fixture) {
	const gone, stays = labelling.UserID("gone:%1"), labelling.UserID("gone:%12")
	by, _ := called(t.Context(), gone, string(f.project))
	f.items(t, 20)
	for n, u := range []labelling.UserID{gone, stays} {
		claims := f.claim(t, u, 5-n)
		finished := f.ended(claims[0], labelling.Finished, project.Finished)
		finished.ToReview, finished.Category = 1, "owl"
		f.must(t, finished)
		f.must(t, f.after(claims[0].Item.ID, labelling.Reviewed, u))
		later := f.ended(claims[1], labelling.Deferred, project.New)
		later.Later = time.UnixMilli(2e12)
		f.must(t, later)
		f.must(t, f.ended(claims[2], labelling.Deferred, project.New))
	}
	_, err := f.LeaseReviews(t.Context(), f.project, gone, 1, labelling.Settle, nil, []string{"e"})
	require.NoError(t, err)
	require.NoError(t, f.Heartbeat(t.Context(), gone, []project.ID{f.project}))
	require.NoError(t, f.Heartbeat(t.Context(), stays, []project.ID{f.project}))

	before := f.state(t)
	claims, err := f.Claims(t.Context(), f.project, gone)
	require.NoError(t, err)
	require.Len(t, claims, 2)
	own, err := f.Claims(t.Context(), f.project, stays)
	require.NoError(t, err)
	toReview, _, err := f.ToReview(t.Context(), f.project, gone, "owl", "")
	require.NoError(t, err)
	statistics, err := f.StatisticsOf(t.Context(), f.project, []string{"t1"})
	require.NoError(t, err)

	told, err := f.client.XRange(t.Context(), f.keysOf(f.project).events(), "-", "+").Result()
	require.NoError(t, err)

	f.eraseAll(t, gone)
	for _, e := range told {
		_, fits, err := f.Fits(t.Context(), f.project, labelling.Cursor{Epoch: before.Cursor.Epoch, ID: e.ID})
		require.NoError(t, err)
		assert.True(t, fits, "whoever was told of %v goes on behind it", e)
	}
	rest := all(t, f.client)
	rest = strings.NewReplacer(string(stays), "", escape(string(stays)), "").Replace(rest)
	assert.NotContains(t, rest, string(gone))
	assert.NotContains(t, rest, escape(string(gone)))

	after := f.state(t)
	assert.Equal(t, before.Counts, after.Counts)
	assert.Equal(t, before.ToReview, after.ToReview)
	assert.Equal(t, before.Cursor.Epoch, after.Cursor.Epoch)
	for i := range claims {
		claims[i].User = by
	}
	moved, err := f.Claims(t.Context(), f.project, by)
	require.NoError(t, err)
	assert.ElementsMatch(t, claims, moved)
	same, err := f.Claims(t.Context(), f.project, stays)
	require.NoError(t, err)
	assert.Equal(t, own, same)
	now, _, err := f.ToReview(t.Context(), f.project, by, "owl", "")
	require.NoError(t, err)
	assert.Equal(t, toReview, now)
	for i, u := range statistics[0].Users {
		if u.User == gone {
			statistics[0].Users[i].User = by
		}
	}
	counted, err := f.StatisticsOf(t.Context(), f.project, []string{"t1"})
	require.NoError(t, err)
	assert.ElementsMatch(t, statistics[0].Users, counted[0].Users)
	assert.Equal(t, statistics[0].Finished, counted[0].Finished)
	whole, err := f.Whole(t.Context(), f.project)
	require.NoError(t, err)
	assert.True(t, whole)

	// What comes late under the old name is found by the next look, and the claims end as all do.
	f.must(t, f.after("i19", labelling.Skipped, gone))
	for _, c := range moved {
		f.must(t, f.ended(c, labelling.Released, project.New))
	}
	f.eraseAll(t, gone)
	assert.Zero(t, f.state(t).Counts.Claimed-len(own))
	whole, err = f.Whole(t.Context(), f.project)
	require.NoError(t, err)
	assert.True(t, whole)
}

func testErasedWithoutAQueue(t *testing.T, f *fixture) {
	f.items(t, 3)
	claims := f.claim(t, "gone", 2)
	f.must(t, f.ended(claims[0], labelling.Deferred, project.New))
	condemned, err := f.Condemn(t.Context(), f.project, f.state(t).Cursor.Epoch)
	require.NoError(t, err)
	require.True(t, condemned)
	f.eraseAll(t, "gone")
	assert.NotContains(t, all(t, f.client), "gone")

	token := uuid.NewString()
	_, err = f.Begin(t.Context(), f.project, token, true)
	require.NoError(t, err)
	met, err := f.EraseUser(t.Context(), "gone", called)
	require.NoError(t, err)
	assert.Positive(t, met, "a rebuild may know the user still")
	require.NoError(t, f.Load(t.Context(), f.project, token, labelling.Part{Statistics: []labelling.Statistics{
		{Team: "t1", Finished: 1, Users: []labelling.UserStatistics{{User: "gone", Finished: 1}}}}}))
	require.NoError(t, f.Commit(t.Context(), f.project, token, labelling.Settings{Name: "Birds"}))
	f.eraseAll(t, "gone")
	assert.NotContains(t, all(t, f.client), "gone")
}

func testErasedAmongMany(t *testing.T, f *fixture) {
	f.items(t, 150)
	for n := range 14 {
		f.claim(t, labelling.UserID(fmt.Sprint("u", n)), 10)
	}
	f.claim(t, "gone", 3)
	events, err := f.client.XLen(t.Context(), f.keysOf(f.project).events()).Result()
	require.NoError(t, err)
	require.Greater(t, events, int64(100), "more than are looked at together")
	f.eraseAll(t, "gone")
	assert.NotContains(t, all(t, f.client), "gone")
	by, _ := called(t.Context(), "gone", string(f.project))
	for u, n := range map[labelling.UserID]int{by: 3, "u0": 10, "u13": 10} {
		claims, err := f.Claims(t.Context(), f.project, u)
		require.NoError(t, err)
		assert.Len(t, claims, n, u)
	}
	assert.Equal(t, 143, f.state(t).Counts.Claimed)
}

func testErasedFromStreams(t *testing.T, f *fixture) {
	streams := Streams{f.Queue}
	of := map[string]event.Event{
		"u1": {Kind: event.OfNote, Type: "UPDATED", Of: "n1", Owner: "u1", By: "gone", At: time.UnixMilli(1e12)},
		"u2": {Kind: event.OfNote, Type: "SHARED", Of: "n2", Owner: "u2", By: "u2", With: "gone", At: time.UnixMilli(1e12)},
		"u3": {Kind: event.OfNote, Type: "UPDATED", Of: "n3", Owner: "u3", By: "goner", At: time.UnixMilli(1e12)},
	}
	for i := range 250 { // more than are looked at together
		e := event.Event{Kind: event.OfNote, Type: "UPDATED", Of: fmt.Sprint("of u1: ", i), Owner: "u1", By: "u1", At: time.UnixMilli(1e12)}
		_, err := streams.Append(t.Context(), follow.Stream{Kind: event.OfNote, Of: "u1"}, follow.Entry{Event: e}, true)
		require.NoError(t, err)
	}
	for name, e := range of {
		_, err := streams.Append(t.Context(), follow.Stream{Kind: event.OfNote, Of: name}, follow.Entry{Event: e}, true)
		require.NoError(t, err)
	}
	body, err := json.Marshal(labelling.Transition{ID: "t", User: "gone", Project: f.project, Item: "i"})
	require.NoError(t, err)
	for i := range messagesAtOnce + 1 {
		require.NoError(t, f.Publish(t.Context(), labelling.Message{ID: fmt.Sprint(i), Project: f.project, Item: "i", Body: []byte("{}")}))
	}
	require.NoError(t, f.Publish(t.Context(), labelling.Message{ID: "t", Project: f.project, Item: "i", Body: body}))
	met, err := f.EraseUser(t.Context(), "gone", called)
	require.NoError(t, err)
	assert.Equal(t, 3, met)
	for name := range of {
		there, err := f.client.Exists(t.Context(), f.streamKey(follow.Stream{Kind: event.OfNote, Of: name})).Result()
		require.NoError(t, err)
		assert.Equal(t, name == "u3", there == 1, name)
	}
	met, err = f.EraseUser(t.Context(), "gone", called)
	require.NoError(t, err)
	assert.Equal(t, 1, met, "the message is on its way")
}
