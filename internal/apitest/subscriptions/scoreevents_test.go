package subscriptions

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/viewer"
)

const scoreEvents = `subscription($s: ID!, $after: ScoreCursor) { scoreEvents(scoreId: $s, after: $after) { __typename ... on ScorePosition { cursor } ... on ScoreGap { message }
	... on ScoreEvent { cursor type at scoreId version changed snapshotId snapshot { id name } by { id } score { id title version snapshotCount annotations { text } } } } }`

// followsScore follows a score from here on.
func followsScore(who *apitest.Client, id string) *apitest.Stream {
	who.T.Helper()
	s := who.Subscribe(scoreEvents, apitest.Vars{"s": id})
	scorePosition(s)
	return s
}

func scorePosition(s *apitest.Stream) string {
	s.T.Helper()
	m := s.Message()
	require.Equal(s.T, "ScorePosition", m.At("__typename"), "%s", m.Body)
	return m.Str("cursor")
}

// scoreHappens is the next message, which has to be an event of this type, with these parts.
func scoreHappens(s *apitest.Stream, typ string, parts ...any) *apitest.Answer {
	s.T.Helper()
	m := s.Message()
	require.Equal(s.T, "ScoreEvent", m.At("__typename"), "%s", m.Body)
	require.Equal(s.T, typ, m.At("type"), "%s", m.Body)
	require.ElementsMatch(s.T, parts, m.List("changed"), "%s", m.Body)
	require.NotEmpty(s.T, m.Str("cursor"))
	require.WithinDuration(s.T, time.Now(), m.Time("at"), apitest.Patience)
	return m
}

// scoreGap is the next message, which has to be one; a position follows.
func scoreGap(s *apitest.Stream) {
	s.T.Helper()
	m := s.Message()
	require.Equal(s.T, "ScoreGap", m.At("__typename"), "%s", m.Body)
	require.NotEmpty(s.T, m.Str("message"))
	scorePosition(s)
}

// rewrites changes a score.
func rewrites(who *apitest.Client, id string, change apitest.Vars) *apitest.Answer {
	who.T.Helper()
	return who.Mutate("updateScore", "score { version }", apitest.Changed(apitest.Vars{"scoreId": id}, change))
}

func TestFollowersAreToldOfEachChangeOfAScore(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	one, two := ada.Uploads(apitest.Staves(t, 1), nil), ada.Uploads(apitest.Staves(t, 2), nil)
	id := ada.Score("Prélude", []string{"slowly", "with pedal"}, one)
	adas := followsScore(ada, id)
	rewrites(ada, id, apitest.Vars{"access": "LIMITED"})
	scoreHappens(adas, "CHANGED", "ACCESS")
	bobs := followsScore(bob, id)

	for _, change := range []struct {
		input apitest.Vars
		parts []any
	}{
		{apitest.Vars{"title": "Fugue"}, []any{"TITLE"}},
		{apitest.Vars{"description": "another", "title": "Fuga"}, []any{"TITLE", "DESCRIPTION"}},
		{apitest.Vars{"pages": []apitest.Vars{{"insert": apitest.Vars{"at": 1, "pages": []apitest.Vars{{"itemId": two}}}}}}, []any{"PAGES_ADDED"}},
		{apitest.Vars{"pages": []apitest.Vars{{"move": apitest.Vars{"from": 1, "to": 0}}}}, []any{"PAGES_MOVED"}},
		{apitest.Vars{"pages": []apitest.Vars{{"remove": apitest.Vars{"at": 0}}}}, []any{"PAGES_REMOVED"}},
		{apitest.Vars{"annotations": []apitest.Vars{{"insert": apitest.Vars{"at": 0, "texts": []string{"begin"}}}}}, []any{"ANNOTATIONS_ADDED"}},
		{apitest.Vars{"annotations": []apitest.Vars{{"move": apitest.Vars{"from": 2, "to": 0}}}}, []any{"ANNOTATIONS_MOVED"}},
		{apitest.Vars{"annotations": []apitest.Vars{{"edit": apitest.Vars{"at": 0, "text": "without pedal"}}}}, []any{"ANNOTATIONS_ADDED", "ANNOTATIONS_REMOVED"}},
		{apitest.Vars{"annotations": []apitest.Vars{{"remove": apitest.Vars{"at": 0}}}}, []any{"ANNOTATIONS_REMOVED"}},
		{apitest.Vars{"access": "PUBLIC"}, []any{"ACCESS"}},
	} {
		version := rewrites(ada, id, change.input).At("result.score.version")
		for _, stream := range []*apitest.Stream{adas, bobs} {
			m := scoreHappens(stream, "CHANGED", change.parts...)
			assert.Equal(t, []any{id, ada.ID, version, version, nil}, []any{m.At("scoreId"), m.At("by.id"), m.At("version"), m.At("score.version"), m.At("snapshotId")})
		}
	}
	rewrites(ada, id, apitest.Vars{"access": "PUBLIC", "title": "Fuga"}) // nothing changes, and nothing is told

	snapshot := ada.Snapshot(id, "first")
	ada.Mutate("renameSnapshot", "snapshot { id }", apitest.Vars{"snapshotId": snapshot, "name": "second"})
	ada.Mutate("withdrawItem", "item { id }", apitest.Vars{"itemId": one}) // which is no change of the score
	ada.Mutate("deleteSnapshot", "deletedSnapshotId", apitest.Vars{"snapshotId": snapshot})
	for _, stream := range []*apitest.Stream{adas, bobs} {
		for _, typ := range []string{"SNAPSHOT_CREATED", "SNAPSHOT_RENAMED", "SNAPSHOT_DELETED"} {
			m := scoreHappens(stream, typ)
			assert.Equal(t, snapshot, m.At("snapshotId"))
		}
	}
	kept := ada.Snapshot(id, "kept")
	for _, stream := range []*apitest.Stream{adas, bobs} {
		m := scoreHappens(stream, "SNAPSHOT_CREATED")
		assert.Equal(t, []any{kept, "kept", 1.0}, []any{m.At("snapshot.id"), m.At("snapshot.name"), m.At("score.snapshotCount")})
	}
	rewrites(ada, id, apitest.Vars{"title": "Coda"})
	ada.Mutate("restoreSnapshot", "score { version }", apitest.Vars{"snapshotId": kept})
	ada.Mutate("deleteScore", "deletedScoreId", apitest.Vars{"scoreId": id})
	for _, stream := range []*apitest.Stream{adas, bobs} {
		last := stream.Message()
		for last.At("type") == "CHANGED" { // these may be left out once the score is gone
			last = stream.Message()
		}
		assert.Equal(t, []any{"DELETED", nil}, []any{last.At("type"), last.At("score")}, "%s", last.Body)
		require.NoError(t, stream.Ended(), "there is nothing more to follow")
	}
}

// Whoever may not read a score any more is told so, and nothing else. What happens while it is the owner's alone stays so.
func TestFollowingEndsWithTheAccessToAScore(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	id := ada.Score("Prélude", nil)
	bob.Subscribe(scoreEvents, apitest.Vars{"s": id}).Refused("NOT_FOUND", "")
	snapshot := ada.Snapshot(id, "hidden")
	rewrites(ada, id, apitest.Vars{"access": "LIMITED"})
	adas, bobs, sent := followsScore(ada, id), followsScore(bob, id), posted(bob, scoreEvents, apitest.Vars{"s": id})
	assert.Equal(t, "ScorePosition", sent.next().At("scoreEvents.__typename"))

	ada.Mutate("renameSnapshot", "snapshot { id }", apitest.Vars{"snapshotId": snapshot, "name": "still hidden"})
	scoreHappens(adas, "SNAPSHOT_RENAMED")
	rewrites(ada, id, apitest.Vars{"title": "Fugue"})
	cursor := scoreHappens(bobs, "CHANGED", "TITLE").Str("cursor") // and not of the snapshot
	scoreHappens(adas, "CHANGED", "TITLE")
	assert.Equal(t, "CHANGED", sent.next().At("scoreEvents.type"))

	rewrites(ada, id, apitest.Vars{"access": "PRIVATE", "title": "Secret"})
	last := scoreHappens(bobs, "CHANGED", "ACCESS", "TITLE")
	assert.Nil(t, last.At("score"))
	require.NoError(t, bobs.Ended())
	assert.Equal(t, "CHANGED", sent.next().At("scoreEvents.type"))
	assert.Equal(t, "complete", sent.next().name)
	assert.Equal(t, "Secret", scoreHappens(adas, "CHANGED", "ACCESS", "TITLE").Str("score.title"))
	bob.Subscribe(scoreEvents, apitest.Vars{"s": id, "after": cursor}).Refused("NOT_FOUND", "")

	rewrites(ada, id, apitest.Vars{"title": "Still secret"})
	ada.Mutate("deleteSnapshot", "deletedSnapshotId", apitest.Vars{"snapshotId": ada.Snapshot(id, "secret")})
	rewrites(ada, id, apitest.Vars{"access": "PUBLIC", "showEarlierSnapshots": true})
	scoreHappens(adas, "CHANGED", "TITLE")
	scoreHappens(adas, "SNAPSHOT_CREATED")
	scoreHappens(adas, "SNAPSHOT_DELETED")
	scoreHappens(adas, "CHANGED", "ACCESS", "SNAPSHOTS_SHOWN")
	again := bob.Subscribe(scoreEvents, apitest.Vars{"s": id, "after": cursor})
	assert.Equal(t, 1.0, scoreHappens(again, "CHANGED", "ACCESS", "SNAPSHOTS_SHOWN").At("score.snapshotCount"), "the first that others are told again")
}

func TestAFollowerOfAScoreGoesOnOnAnyServer(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	id := ada.Score("Prélude", nil)
	adas := followsScore(ada, id)
	rewrites(ada, id, apitest.Vars{"access": "PUBLIC"})
	scoreHappens(adas, "CHANGED", "ACCESS")
	first := followsScore(bob, id)
	rewrites(ada, id, apitest.Vars{"title": "one"})
	cursor := scoreHappens(first, "CHANGED", "TITLE").Str("cursor")
	first.Close()

	rewrites(ada, id, apitest.Vars{"title": "two"})
	rewrites(ada, id, apitest.Vars{"description": "three"})
	second := bob.At(s.Later(0)).Subscribe(scoreEvents, apitest.Vars{"s": id, "after": cursor})
	scoreHappens(second, "CHANGED", "TITLE")
	cursor = scoreHappens(second, "CHANGED", "DESCRIPTION").Str("cursor")
	second.Close()

	// An event stream goes on after the id of the last event, whatever the argument says.
	stream := source(bob, cursor, scoreEvents, apitest.Vars{"s": id})
	snapshot := ada.Snapshot(id, "one")
	e := stream.next()
	assert.Equal(t, []any{"SNAPSHOT_CREATED", snapshot}, []any{e.At("scoreEvents.type"), e.At("scoreEvents.snapshotId")})
	assert.Equal(t, e.Str("scoreEvents.cursor"), e.id)
}

// A server that is killed between the two stores leaves what it did in the outbox, and another one tells it, once.
func TestTheOutboxTellsWhatAServerLeftOfAScore(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	id := ada.Score("Prélude", nil)
	adas := followsScore(ada, id)
	key := apitest.GlobalKey(t, id)
	ref := score.Ref{Owner: score.UserID(key[1]), ID: score.ID(key[2])}
	// This is what a server does that is killed before it tells anybody.
	killed := score.NewService(score.Options{Store: scores.Store{DB: s.DB}, Contents: s.Bucket, Now: time.Now, NewID: uuid.NewString})
	asAda := viewer.With(t.Context(), viewer.Viewer{UserID: ref.Owner})
	title := "second"
	_, err := killed.Update(asAda, score.Update{Score: ref, Title: &title})
	require.NoError(t, err)
	taken, err := killed.CreateSnapshot(asAda, score.CreateSnapshot{Score: ref, Name: "one"})
	require.NoError(t, err)

	other := s.Later(time.Minute) // for which these are old
	s.Faults.Recorder().Reset()
	require.NoError(t, other.App.Following.Teller.Relay(t.Context()))
	assert.Equal(t, 1, s.Faults.Recorder().Count(faultinject.Operation("BatchWriteItem")), "they are removed")
	scoreHappens(adas, "CHANGED", "TITLE")
	assert.Equal(t, apitest.GIDOf("Snapshot", key[1], key[2], taken.ID), scoreHappens(adas, "SNAPSHOT_CREATED").At("snapshotId"))
	s.Faults.Recorder().Reset()
	require.NoError(t, other.App.Following.Teller.Relay(t.Context()))
	assert.Zero(t, s.Faults.Recorder().Count(faultinject.Operation("BatchWriteItem")), "nothing is left")
	rewrites(ada, id, apitest.Vars{"title": "third"})
	assert.Equal(t, "third", scoreHappens(adas, "CHANGED", "TITLE").Str("score.title"), "nothing was told twice")
}

func TestAFlushedRedisIsAGapInAScore(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	id := ada.Score("Prélude", nil)
	adas, gone := followsScore(ada, id), ada.Subscribe(scoreEvents, apitest.Vars{"s": id})
	cursor := scorePosition(gone)
	gone.Close()
	require.NoError(t, s.App.Stores.Redis.FlushDB(t.Context()).Err())
	rewrites(ada, id, apitest.Vars{"title": "second"})
	scoreGap(adas)
	again := ada.Subscribe(scoreEvents, apitest.Vars{"s": id, "after": cursor})
	scoreGap(again)
	rewrites(ada, id, apitest.Vars{"title": "third"})
	for _, stream := range []*apitest.Stream{adas, again} {
		m := scoreHappens(stream, "CHANGED", "TITLE")
		if m.Str("score.title") == "second" { // which may come before the gap or after it
			m = scoreHappens(stream, "CHANGED", "TITLE")
		}
		assert.Equal(t, "third", m.Str("score.title"))
	}
}

// However many follow a score on a server, an event costs one read of it, and one entry in Redis.
func TestAnEventOfAScoreIsReadOnceForAllFollowers(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	id := ada.Score("Prélude", nil)
	adas := followsScore(ada, id)
	rewrites(ada, id, apitest.Vars{"access": "PUBLIC"})
	scoreHappens(adas, "CHANGED", "ACCESS") // it is told before the others begin
	const light = `subscription($s: ID!) { scoreEvents(scoreId: $s) { __typename ... on ScoreEvent { type score { title version snapshotCount } } } }`
	var streams []*apitest.Stream
	for range 10 {
		streams = append(streams, bob.Subscribe(light, apitest.Vars{"s": id}))
		streams[len(streams)-1].Message()
	}
	entries := func() int64 {
		n, err := s.App.Stores.Redis.XLen(t.Context(), "taggie:score:events:{"+apitest.GlobalKey(t, id)[2]+"}").Result()
		require.NoError(t, err)
		return n
	}
	before := entries()
	s.Faults.Recorder().Reset()
	rewrites(ada, id, apitest.Vars{"title": "second"})
	for _, stream := range streams {
		assert.Equal(t, "second", stream.Message().Str("score.title"))
	}
	scoreHappens(adas, "CHANGED", "TITLE")
	keys := 0
	for _, call := range s.Faults.Recorder().Calls(faultinject.Operation("BatchGetItem")) {
		keys += len(call.Keys)
	}
	assert.Equal(t, 2, keys, "the mutation reads the score, and all followers together read it once")
	assert.Equal(t, before+1, entries())
}

func TestBadCursorsOfScoresAreRefused(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	one, two := ada.Score("one", nil), ada.Score("two", nil)
	first := ada.Subscribe(scoreEvents, apitest.Vars{"s": one})
	cursor := scorePosition(first)
	first.Close()
	ada.Subscribe(scoreEvents, apitest.Vars{"s": two, "after": cursor}).Refused("INVALID_INPUT", "after")
	ofNotes := ada.Subscribe(noteEvents, nil)
	ada.Subscribe(scoreEvents, apitest.Vars{"s": one, "after": position(ofNotes)}).Refused("INVALID_INPUT", "after")
	ada.Subscribe(noteEvents, apitest.Vars{"after": cursor}).Refused("INVALID_INPUT", "after")
	for _, bad := range []any{"", "!", "AQ", cursor + "AA", 1} {
		ada.Subscribe(scoreEvents, apitest.Vars{"s": one, "after": bad}).Refused("GRAPHQL_VALIDATION_FAILED", "")
	}
	snapshot := ada.Snapshot(one, "then")
	key := apitest.GlobalKey(t, snapshot)
	for _, bad := range []string{"", "x", ada.ID, snapshot, apitest.GIDOf("Score", key[1:]...)} {
		ada.Subscribe(scoreEvents, apitest.Vars{"s": bad}).Refused("INVALID_INPUT", "scoreId")
	}
	ada.Subscribe(scoreEvents, apitest.Vars{"s": apitest.GIDOf("Score", key[1], uuid.NewString())}).Refused("NOT_FOUND", "")
	(&apitest.Client{Server: s}).Subscribe(scoreEvents, apitest.Vars{"s": one}).Refused("UNAUTHENTICATED", "")
}
