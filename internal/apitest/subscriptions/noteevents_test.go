package subscriptions

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

const noteEvents = `subscription($after: NoteCursor) { noteEvents(after: $after) { __typename ... on NotePosition { cursor } ... on NoteGap { message }
	... on NoteEvent { cursor type at noteId version by { id } with { id } note { id title version viewerPermission tags { value } } } } }`

// following follows the notes of somebody from here on.
func following(who *apitest.Client) *apitest.Stream {
	who.T.Helper()
	s := who.Subscribe(noteEvents, nil)
	position(s)
	return s
}

func position(s *apitest.Stream) string {
	s.T.Helper()
	m := s.Message()
	require.Equal(s.T, "NotePosition", m.At("__typename"), "%s", m.Body)
	return m.Str("cursor")
}

// happens is the next message, which has to be an event of this type and note.
func happens(s *apitest.Stream, typ, note string, by *apitest.Client) *apitest.Answer {
	s.T.Helper()
	m := s.Message()
	require.Equal(s.T, "NoteEvent", m.At("__typename"), "%s", m.Body)
	require.Equal(s.T, []any{typ, note, by.ID}, []any{m.At("type"), m.At("noteId"), m.At("by.id")}, "%s", m.Body)
	require.NotEmpty(s.T, m.Str("cursor"))
	return m
}

// gap is the next message, which has to be one; a position follows.
func gap(s *apitest.Stream) {
	s.T.Helper()
	m := s.Message()
	require.Equal(s.T, "NoteGap", m.At("__typename"), "%s", m.Body)
	require.NotEmpty(s.T, m.Str("message"))
	position(s)
}

func TestFollowersAreToldOfEachChangeOfANote(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob, eve := s.User("ada@example.com"), s.User("bob@example.com"), s.User("eve@example.com")
	adas, bobs, eves := following(ada), following(bob), following(eve)

	n := ada.Notes(1)[0]
	m := happens(adas, "CREATED", n, ada)
	assert.Equal(t, []any{1.0, "note 000", "OWNER", nil}, []any{m.At("version"), m.At("note.title"), m.At("note.viewerPermission"), m.At("with")})
	ada.Mutate("shareNote", "accessEdge { permission }", apitest.Vars{"noteId": n, "userId": bob.ID, "permission": "EDIT"})
	m = happens(adas, "SHARED", n, ada)
	assert.Equal(t, []any{bob.ID, nil}, []any{m.At("with.id"), m.At("version")})
	assert.Equal(t, "EDIT", happens(bobs, "SHARED", n, ada).Str("note.viewerPermission"))

	for _, one := range []struct {
		mutation, typ string
		input         apitest.Vars
		by            *apitest.Client
	}{
		{"updateNote", "CHANGED", apitest.Vars{"title": "by bob"}, bob},
		{"changeNoteDeadline", "MOVED", apitest.Vars{"deadline": "2031-02-03T04:05:06Z"}, bob},
		{"addNoteTags", "TAGGED", apitest.Vars{"tags": []string{"work"}}, ada},
		{"removeNoteTags", "TAGGED", apitest.Vars{"tags": []string{"work"}}, ada},
	} {
		one.input["noteId"] = n
		version := one.by.Mutate(one.mutation, "note { version }", one.input).At("result.note.version")
		for _, stream := range []*apitest.Stream{adas, bobs} {
			m := happens(stream, one.typ, n, one.by)
			assert.Equal(t, []any{version, version}, []any{m.At("version"), m.At("note.version")})
		}
	}
	ada.Mutate("updateNote", "note { version }", apitest.Vars{"noteId": n, "title": "by bob"}) // nothing changes, and nothing is told
	ada.Mutate("deleteNote", "deletedNote { noteId }", apitest.Vars{"noteId": n})
	for _, stream := range []*apitest.Stream{adas, bobs} {
		assert.Nil(t, happens(stream, "DELETED", n, ada).At("note"))
	}
	ada.Mutate("undeleteNote", "note { id }", apitest.Vars{"noteId": n})
	for _, stream := range []*apitest.Stream{adas, bobs} {
		assert.Equal(t, "by bob", happens(stream, "UNDELETED", n, ada).Str("note.title"))
	}

	// The end of the share is the last that its user is told, also of what comes at once; whose notes are not shared was told nothing at all.
	ada.Mutate("unshareNote", "user { id }", apitest.Vars{"noteId": n, "userId": bob.ID})
	ada.Mutate("updateNote", "note { id }", apitest.Vars{"noteId": n, "title": "not for bob"})
	assert.Nil(t, happens(bobs, "SHARE_ENDED", n, ada).At("note"))
	happens(adas, "SHARE_ENDED", n, ada)
	happens(adas, "CHANGED", n, ada)
	for who, stream := range map[*apitest.Client]*apitest.Stream{bob: bobs, eve: eves} {
		own := who.Notes(1)[0]
		happens(stream, "CREATED", own, who)
	}
}

func TestAFollowerGoesOnOnAnyServer(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(3)
	first := following(bob)
	ada.Share(notes[:2], bob)
	for range notes[:2] {
		require.Equal(t, "SHARED", first.Message().At("type"))
	}
	ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[0], "title": "one"}, {"noteId": notes[2], "title": "hidden"}})
	cursor := happens(first, "CHANGED", notes[0], ada).Str("cursor")
	first.Close()

	ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[1], "title": "two"}})
	cy := s.User("cy@example.com") // whom the cursor does not know
	theirs := cy.Notes(1)
	cy.Share(theirs, bob)
	cy.All("updateNote", "note { id }", []apitest.Vars{{"noteId": theirs[0], "title": "three"}})
	second := bob.At(s.Later(0)).Subscribe(noteEvents, apitest.Vars{"after": cursor})
	told := map[string]string{}
	for range 3 {
		m := second.Message()
		require.Equal(t, "NoteEvent", m.At("__typename"), "%s", m.Body)
		told[m.Str("noteId")+m.Str("type")] = m.Str("note.title")
		cursor = m.Str("cursor")
	}
	assert.Equal(t, map[string]string{notes[1] + "CHANGED": "two", theirs[0] + "SHARED": "three", theirs[0] + "CHANGED": "three"}, told)
	second.Close()

	// An event stream goes on after the id of the last event, whatever the argument says.
	stream := source(bob, cursor, noteEvents, nil)
	bob.Notes(1)
	e := stream.next()
	assert.Equal(t, "CREATED", e.At("noteEvents.type"))
	assert.Equal(t, e.Str("noteEvents.cursor"), e.id)
}

// A server that is killed between the two stores leaves what it did in the outbox, and another one tells it.
func TestTheOutboxTellsWhatAServerLeft(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	adas, bobs := following(ada), following(bob)
	// This is what a server does that is killed before it tells anybody.
	killed := note.NewService(note.Options{Store: notes.Store{DB: s.DB}.Store(), Now: time.Now, NewID: uuid.NewString})
	asAda := viewer.With(t.Context(), viewer.Viewer{UserID: user.ID(apitest.GlobalKey(t, ada.ID)[1])})
	made, err := killed.Create(asAda, note.Create{Title: "first", Content: "content"})
	require.NoError(t, err)
	_, err = killed.Share(asAda, note.PutShare{Note: made.ID, User: user.ID(apitest.GlobalKey(t, bob.ID)[1]), Permission: note.View})
	require.NoError(t, err)
	title := "second"
	_, err = killed.Update(asAda, note.Update{ID: made.ID, Title: &title})
	require.NoError(t, err)
	n := apitest.GIDOf("Note", string(made.ID))

	other := s.Later(time.Minute) // for which these are old
	require.NoError(t, other.App.Following.Teller.Relay(t.Context()))
	for _, typ := range []string{"CREATED", "SHARED", "CHANGED"} {
		happens(adas, typ, n, ada)
	}
	happens(bobs, "SHARED", n, ada)
	happens(bobs, "CHANGED", n, ada)

	// The reader ends the share: only the note knows whose it is.
	bob.Mutate("unshareNote", "user { id }", apitest.Vars{"noteId": n, "userId": bob.ID})
	s.Faults.Recorder().Reset()
	require.NoError(t, s.Later(time.Minute).App.Following.Teller.Relay(t.Context()))
	happens(adas, "SHARE_ENDED", n, bob)
	happens(bobs, "SHARE_ENDED", n, bob)
	assert.Equal(t, 1, s.Faults.Recorder().Count(faultinject.Operation("BatchWriteItem")), "it is removed")

	s.Faults.Recorder().Reset()
	require.NoError(t, s.Later(time.Minute).App.Following.Teller.Relay(t.Context()))
	assert.Zero(t, s.Faults.Recorder().Count(faultinject.Operation("BatchWriteItem")), "nothing is left")
	ada.Mutate("deleteNote", "deletedNote { noteId }", apitest.Vars{"noteId": n})
	happens(adas, "DELETED", n, ada) // and nothing was told twice
}

func TestAFlushedRedisIsAGap(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	adas, bobs := following(ada), following(bob)
	notes := ada.Notes(1)
	happens(adas, "CREATED", notes[0], ada)
	ada.Share(notes, bob)
	happens(adas, "SHARED", notes[0], ada)
	happens(bobs, "SHARED", notes[0], ada)
	gone := bob.Subscribe(noteEvents, nil)
	cursor := position(gone)
	gone.Close()
	require.NoError(t, s.App.Stores.Redis.FlushDB(t.Context()).Err())
	ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[0], "title": "second"}})
	gap(adas)
	gap(bobs)
	gap(bob.Subscribe(noteEvents, apitest.Vars{"after": cursor}))
	ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[0], "title": "third"}})
	for _, stream := range []*apitest.Stream{adas, bobs} {
		m := stream.Message()
		for m.At("__typename") != "NoteEvent" || m.At("version") != 3.0 { // a position comes before it
			m = stream.Message()
		}
		assert.Equal(t, "third", m.Str("note.title"))
	}
}

func TestBadCursorsOfNotesAreRefused(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	first := ada.Subscribe(noteEvents, nil)
	cursor := position(first)
	first.Close()
	bob.Subscribe(noteEvents, apitest.Vars{"after": cursor}).Refused("INVALID_INPUT", "after")
	for _, bad := range []any{"", "!", "AQ", cursor + "AA", 1, "AgAAAAAAAAAAAAA"} {
		ada.Subscribe(noteEvents, apitest.Vars{"after": bad}).Refused("GRAPHQL_VALIDATION_FAILED", "")
	}
	(&apitest.Client{Server: s}).Subscribe(noteEvents, nil).Refused("UNAUTHENTICATED", "")
}
