package notes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/gid"
)

const readNote = `query($id: ID!) { note(id: $id) { ...whole } node(id: $id) { ...whole } nodes(ids: [$id]) { ...whole } }` + apitest.Whole

// note reads a note in three ways, which must agree, and returns it; nil when there is none.
func note(c *apitest.Client, id string) *apitest.Answer {
	c.T.Helper()
	a := c.Must(readNote, apitest.Vars{"id": id})
	assert.Equal(c.T, a.At("note"), a.At("node"))
	assert.Equal(c.T, a.At("note"), a.List("nodes")[0])
	note, ok := a.At("note").(map[string]any)
	if !ok {
		return nil
	}
	return &apitest.Answer{T: c.T, Body: a.Body, Data: note}
}

func TestANotesLife(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	created := ada.Must(`mutation { createNote(input: {title: " Buy milk ", content: "two litres", deadline: "2027-03-01T12:00:00.1239+02:00", tags: ["Home", "home", " food "]}) { note { ...whole } } }`+apitest.Whole, nil)
	id := created.Str("createNote.note.id")
	n := note(ada, id)
	assert.Equal(t, created.At("createNote.note"), any(n.Data), "the payload is what a reader sees")
	assert.Equal(t, "Buy milk", n.Str("title"))
	assert.Equal(t, "two litres", n.Str("content"))
	assert.Equal(t, "2027-03-01T10:00:00.123Z", n.Str("deadline"))
	assert.Equal(t, n.Str("createdAt"), n.Str("updatedAt"))
	assert.InDelta(t, 1, n.At("version"), 0)
	assert.Equal(t, "OWNER", n.Str("viewerPermission"))
	assert.Equal(t, ada.ID, n.Str("owner.id"))
	assert.Equal(t, []any{map[string]any{"value": "food"}, map[string]any{"value": "Home"}}, n.List("tags"))
	assert.Nil(t, n.At("latestVersion"))

	ada.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "Buy more milk"}) { note { id } } }`, apitest.Vars{"id": id})
	ada.Must(`mutation($id: ID!) { addNoteTags(input: {noteId: $id, tags: ["FOOD", "urgent"]}) { note { id } problem { __typename } } }`, apitest.Vars{"id": id})
	ada.Must(`mutation($id: ID!) { removeNoteTags(input: {noteId: $id, tags: ["HOME"]}) { note { id } } }`, apitest.Vars{"id": id})
	ada.Must(`mutation($id: ID!) { changeNoteDeadline(input: {noteId: $id, deadline: "2028-01-01T00:00:00Z"}) { note { id } } }`, apitest.Vars{"id": id})
	ada.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, content: "three litres"}) { note { id } } }`, apitest.Vars{"id": id})
	n = note(ada, id)
	assert.Equal(t, "Buy more milk", n.Str("title"))
	assert.Equal(t, "2028-01-01T00:00:00.000Z", n.Str("deadline"))
	assert.Equal(t, []any{map[string]any{"value": "food"}, map[string]any{"value": "urgent"}}, n.List("tags"), "as typed first")
	assert.InDelta(t, 6, n.At("version"), 0)
	versions := n.List("versions.nodes")
	require.Len(t, versions, 2, "tags and deadline make none")
	assert.Equal(t, map[string]any{"number": 5.0, "title": "Buy more milk", "content": "two litres", "deadline": "2028-01-01T00:00:00.000Z",
		"tags": []any{map[string]any{"value": "food"}, map[string]any{"value": "urgent"}}, "note": map[string]any{"id": id}}, versions[0])
	assert.Equal(t, "Buy milk", versions[1].(map[string]any)["title"])
	assert.InDelta(t, 5, n.At("latestVersion.number"), 0)

	const at = `query($id: ID!, $n: Int!) { note(id: $id) { versionAt(number: $n) { id title tags { value } } } }`
	first := ada.Must(at, apitest.Vars{"id": id, "n": 1})
	assert.Equal(t, "Buy milk", first.Str("note.versionAt.title"))
	assert.Nil(t, ada.Must(at, apitest.Vars{"id": id, "n": 2}).At("note.versionAt"), "adding tags kept none")
	restored := ada.Must(`mutation($id: ID!) { restoreVersion(input: {versionId: $id, expectedVersion: 6}) { note { ...whole } problem { __typename } } }`+apitest.Whole, apitest.Vars{"id": first.Str("note.versionAt.id")})
	n = note(ada, id)
	assert.Equal(t, restored.At("restoreVersion.note"), any(n.Data))
	assert.Equal(t, "Buy milk", n.Str("title"))
	assert.Equal(t, "two litres", n.Str("content"))
	assert.Equal(t, []any{map[string]any{"value": "food"}, map[string]any{"value": "Home"}}, n.List("tags"))
	assert.Equal(t, "2028-01-01T00:00:00.000Z", n.Str("deadline"), "the deadline stays")
	assert.Len(t, n.List("versions.nodes"), 3)

	ada.Must(`mutation($id: ID!) { changeNoteDeadline(input: {noteId: $id, deadline: null}) { note { id } } }`, apitest.Vars{"id": id})
	before := note(ada, id)
	assert.Nil(t, before.At("deadline"))
	deleted := ada.Must(`mutation($id: ID!) { deleteNote(input: {noteId: $id}) { deletedNote { noteId deletedAt undoUntil } problem { __typename } } }`, apitest.Vars{"id": id})
	assert.Equal(t, id, deleted.Str("deleteNote.deletedNote.noteId"))
	at1, err := time.Parse(time.RFC3339, deleted.Str("deleteNote.deletedNote.deletedAt"))
	require.NoError(t, err)
	until, err := time.Parse(time.RFC3339, deleted.Str("deleteNote.deletedNote.undoUntil"))
	require.NoError(t, err)
	assert.Equal(t, 30*24*time.Hour, until.Sub(at1))
	assert.Nil(t, note(ada, id))
	assert.Empty(t, ada.Must(`{ viewer { notes { nodes { id } } tags { nodes { value } } } }`, nil).List("viewer.notes.nodes"))
	assert.Nil(t, ada.Must(`query($id: ID!) { node(id: $id) { id } }`, apitest.Vars{"id": first.Str("note.versionAt.id")}).At("node"), "its versions are gone with it")

	ada.Must(`mutation($id: ID!) { undeleteNote(input: {noteId: $id}) { note { id } } }`, apitest.Vars{"id": id})
	after := note(ada, id)
	for name, value := range before.Data {
		if name != "version" && name != "updatedAt" {
			assert.Equal(t, value, after.Data[name], name)
		}
	}
	assert.InDelta(t, before.At("version").(float64)+1, after.At("version"), 0)
}

func TestTooManyTagsIsAnOutcome(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	id := ada.Notes(1, func(_ int, input apitest.Vars) { input["tags"] = apitest.Numbered("tag", 40) })[0]
	for _, tags := range [][]string{{"one more"}, apitest.Numbered("other", 41)} {
		a := ada.Must(`mutation($id: ID!, $tags: [String!]!) { addNoteTags(input: {noteId: $id, tags: $tags}) { note { id } problem { __typename ... on TooManyTags { message limit } } } }`,
			apitest.Vars{"id": id, "tags": tags})
		assert.Nil(t, a.At("addNoteTags.note"))
		assert.Equal(t, "TooManyTags", a.Str("addNoteTags.problem.__typename"))
		assert.InDelta(t, 40, a.At("addNoteTags.problem.limit"), 0)
	}
	assert.Len(t, note(ada, id).List("tags"), 40)
}

func TestListsByDeadline(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	days := []string{"0001-01-01T00:00:00.001Z", "1969-12-31T23:59:59.999Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00.001Z", "2026-06-01T00:00:00+05:30", "9999-12-31T23:59:59.999Z", "", ""}
	titles := make([]string, len(days))
	order := []int{4, 8, 0, 6, 2, 7, 5, 1, 3} // of creation: none
	for _, i := range order {
		titles[i] = fmt.Sprintf("note %d", i)
		input := apitest.Vars{"title": titles[i], "content": "c", "tags": []string{"a"}}
		if days[i] != "" {
			input["deadline"] = days[i]
		}
		ada.All("createNote", "note { id }", []apitest.Vars{input})
	}
	query := func(due string) string {
		return `query($first: Int, $after: Cursor, $last: Int, $before: Cursor) { viewer { notes(` + due + ` first: $first, after: $after, last: $last, before: $before) {
			nodes { title deadline } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	}
	for due, expected := range map[string][]string{
		"":                                      titles,
		`due: {}`:                               titles,
		`due: {before: "2026-01-02T00:00:00Z"}`: titles[:3],
		`due: {after: "2026-01-02T00:00:00Z"}`:  titles[4:7],
		`due: {after: "2026-01-01T00:00:00Z", before: "2026-06-01T00:00:00+05:30"}`: titles[3:5],
		`due: {after: "1900-01-01T00:00:00Z", before: "2100-01-01T00:00:00Z"}`:      titles[1:6],
	} {
		t.Run(due, func(t *testing.T) {
			for _, backward := range []bool{false, true} {
				read := pages(ada, query(due), "viewer.notes", "title", backward)
				if last := len(expected); last == len(titles) { // the two without a deadline are ordered by id
					slices.Sort(read[last-2:])
				}
				assert.Equal(t, expected, read, "backward: %t", backward)
			}
		})
	}
	none := ada.Must(query(`due: {after: "2026-01-02T00:00:00.001Z", before: "2026-01-02T00:00:00.002Z"}`), nil)
	assert.Empty(t, none.List("viewer.notes.nodes"))
	assert.Equal(t, map[string]any{"hasNextPage": false, "hasPreviousPage": false, "startCursor": nil, "endCursor": nil}, none.At("viewer.notes.pageInfo"))
	assert.Len(t, ada.Must(`{ viewer { notes { edges { cursor node { id } } } } }`, nil).List("viewer.notes.edges"), len(titles))
}

func TestSharing(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob, eve := s.User("ada@example.com"), s.User("bob@example.com"), s.User("eve@example.com")
	id := ada.Notes(1)[0]
	const share = `mutation($input: ShareNoteInput!) { shareNote(input: $input) { note { id } accessEdge { cursor permission sharedAt node { id name } } problem { __typename ... on UnknownUser { field } } } }`
	const update = `mutation($id: ID!) { updateNote(input: {noteId: $id, title: "changed"}) { note { title viewerPermission } } }`

	edge := ada.Must(share, apitest.Vars{"input": apitest.Vars{"noteId": id, "email": "BOB@example.com", "permission": "VIEW"}})
	assert.Equal(t, bob.ID, edge.Str("shareNote.accessEdge.node.id"))
	assert.Equal(t, "VIEW", note(bob, id).Str("viewerPermission"))
	bob.Do(update, apitest.Vars{"id": id}).Fails("FORBIDDEN", "")
	ada.Must(share, apitest.Vars{"input": apitest.Vars{"noteId": id, "userId": bob.ID, "permission": "EDIT"}})
	ada.Must(share, apitest.Vars{"input": apitest.Vars{"noteId": id, "userId": eve.ID, "permission": "VIEW"}})
	assert.Equal(t, "EDIT", bob.Must(update, apitest.Vars{"id": id}).Str("updateNote.note.viewerPermission"))
	access := note(eve, id).List("accessList.edges")
	assert.ElementsMatch(t, []any{
		map[string]any{"permission": "EDIT", "node": map[string]any{"id": bob.ID}},
		map[string]any{"permission": "VIEW", "node": map[string]any{"id": eve.ID}},
	}, access, "changed, not added")
	cursor := ada.Must(`query($id: ID!) { note(id: $id) { accessList(first: 1) { edges { cursor node { id } } } } }`, apitest.Vars{"id": id}).List("note.accessList.edges")[0].(map[string]any)
	if cursor["node"].(map[string]any)["id"] == bob.ID {
		assert.Equal(t, cursor["cursor"], edge.At("shareNote.accessEdge.cursor"), "the edge is one of the list")
	}
	const unshare = `mutation($id: ID!, $user: ID!) { unshareNote(input: {noteId: $id, userId: $user}) { note { id } user { id } } }`
	bob.Do(unshare, apitest.Vars{"id": id, "user": eve.ID}).Fails("FORBIDDEN", "")
	revoked := ada.Must(unshare, apitest.Vars{"id": id, "user": bob.ID})
	assert.Equal(t, id, revoked.Str("unshareNote.note.id"))
	assert.Equal(t, bob.ID, revoked.Str("unshareNote.user.id"))
	assert.Nil(t, note(bob, id))
	left := eve.Must(unshare, apitest.Vars{"id": id, "user": eve.ID})
	assert.Nil(t, left.At("unshareNote.note"), "who has left may not read it any more")
	assert.Nil(t, note(eve, id))
	assert.Empty(t, note(ada, id).List("accessList.edges"))

	unknown := ada.Must(share, apitest.Vars{"input": apitest.Vars{"noteId": id, "email": "nobody@example.com", "permission": "VIEW"}})
	assert.Equal(t, "UnknownUser", unknown.Str("shareNote.problem.__typename"))
	assert.Equal(t, "input.email", unknown.Str("shareNote.problem.field"))
	gone := gid.Of("User", "00000000-0000-4000-8000-000000000000").String()
	unknown = ada.Must(share, apitest.Vars{"input": apitest.Vars{"noteId": id, "userId": gone, "permission": "VIEW"}})
	assert.Equal(t, "input.userId", unknown.Str("shareNote.problem.field"))
}

func TestMoreThanAHundredSharedNotes(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(130)
	ada.Share(notes, bob)
	ada.All("deleteNote", "deletedNote { noteId }", []apitest.Vars{{"noteId": notes[3]}, {"noteId": notes[77]}})
	ids := func(nodes []any) (all []string) {
		for _, n := range nodes {
			all = append(all, n.(map[string]any)["id"].(string))
		}
		return all
	}
	all := bob.Must(`{ viewer { sharedNotes(first: 500) { nodes { id } edges { permission sharedAt } pageInfo { hasNextPage } } } }`, nil)
	expected := slices.DeleteFunc(slices.Clone(notes), func(id string) bool { return id == notes[3] || id == notes[77] })
	slices.SortFunc(expected, func(a, b string) int { return strings.Compare(apitest.GlobalKey(t, a)[1], apitest.GlobalKey(t, b)[1]) })
	assert.Equal(t, expected, ids(all.List("viewer.sharedNotes.nodes")), "by note id, without the deleted ones")
	const page = `query($first: Int, $after: Cursor, $last: Int, $before: Cursor) { viewer { sharedNotes(first: $first, after: $after, last: $last, before: $before) {
		nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	forward := bob.Must(page, apitest.Vars{"first": 127})
	require.Equal(t, expected[:127], ids(forward.List("viewer.sharedNotes.nodes")), "the page is full although two were left out")
	assert.Equal(t, true, forward.At("viewer.sharedNotes.pageInfo.hasNextPage"))
	rest := bob.Must(page, apitest.Vars{"first": 127, "after": forward.At("viewer.sharedNotes.pageInfo.endCursor")})
	assert.Equal(t, expected[127:], ids(rest.List("viewer.sharedNotes.nodes")))
	assert.Equal(t, false, rest.At("viewer.sharedNotes.pageInfo.hasNextPage"))
	back := bob.Must(page, apitest.Vars{"last": 100, "before": rest.At("viewer.sharedNotes.pageInfo.startCursor")})
	assert.Equal(t, expected[27:127], ids(back.List("viewer.sharedNotes.nodes")))
}

func TestSynchronising(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	notes := ada.Notes(5)
	const changes = `query($since: DateTime, $first: Int, $after: Cursor) { viewer { noteChanges(changedSince: $since, first: $first, after: $after) {
		syncedUntil complete pageInfo { hasNextPage endCursor } nodes { __typename ... on Note { id version } ... on DeletedNote { noteId deletedAt undoUntil } } } } }`
	ada.Must(`mutation($id: ID!) { deleteNote(input: {noteId: $id}) { deletedNote { noteId } } }`, apitest.Vars{"id": notes[1]})
	ada.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "new"}) { note { id } } }`, apitest.Vars{"id": notes[0]})

	sync := func(v apitest.Vars) (seen []string, until string) {
		for {
			a := ada.Must(changes, v)
			if until != "" {
				assert.Equal(t, until, a.Str("viewer.noteChanges.syncedUntil"), "the same on every page")
			}
			until = a.Str("viewer.noteChanges.syncedUntil")
			assert.Equal(t, true, a.At("viewer.noteChanges.complete"))
			for _, n := range a.List("viewer.noteChanges.nodes") {
				change := n.(map[string]any)
				id, deleted := change["noteId"].(string)
				if !deleted {
					id = change["id"].(string)
				}
				seen = append(seen, fmt.Sprint(change["__typename"], " ", slices.Index(notes, id)))
			}
			if a.At("viewer.noteChanges.pageInfo.hasNextPage") == false {
				return seen, until
			}
			v["after"] = a.At("viewer.noteChanges.pageInfo.endCursor")
		}
	}
	all, until := sync(apitest.Vars{"first": 2})
	require.Len(t, all, 5)
	assert.ElementsMatch(t, []string{"Note 2", "Note 3", "Note 4"}, all[:3], "created within a millisecond, perhaps")
	assert.Equal(t, []string{"DeletedNote 1", "Note 0"}, all[3:], "each once, the oldest change first")
	instant, err := time.Parse(time.RFC3339, until)
	require.NoError(t, err)
	assert.True(t, instant.Before(time.Now()))

	next := ada.Must(`mutation($id: ID!) { changeNoteDeadline(input: {noteId: $id, deadline: "2027-01-01T00:00:00Z"}) { note { updatedAt } } }`, apitest.Vars{"id": notes[2]})
	undeleted := ada.Must(`mutation($id: ID!) { undeleteNote(input: {noteId: $id}) { note { id } } }`, apitest.Vars{"id": notes[1]})
	assert.Equal(t, notes[1], undeleted.Str("undeleteNote.note.id"))
	since, _ := sync(apitest.Vars{"since": next.Str("changeNoteDeadline.note.updatedAt")})
	assert.Equal(t, []string{"Note 2", "Note 1"}, since)
	again, _ := sync(apitest.Vars{"since": until})
	assert.Subset(t, again, since, "changes close to that instant come twice rather than never")

	old := ada.Must(changes, apitest.Vars{"since": time.Now().Add(-31 * 24 * time.Hour)})
	assert.Equal(t, false, old.At("viewer.noteChanges.complete"), "deletions are not kept that long")
}

func TestVersionsArePagedBothWays(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	id := ada.Notes(1)[0]
	ada.Share([]string{id}, bob)
	expected := []string{"note 000"}
	for i := range 11 { // so that number 10 comes after number 9
		title := fmt.Sprintf("title %d", i)
		ada.Must(`mutation($id: ID!, $t: String!) { updateNote(input: {noteId: $id, title: $t}) { note { id } } }`, apitest.Vars{"id": id, "t": title})
		expected = append([]string{title}, expected...)
	}
	query := `query($first: Int, $after: Cursor, $last: Int, $before: Cursor) { note(id: "` + id + `") { versions(first: $first, after: $after, last: $last, before: $before) {
		nodes { title } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	for _, who := range []*apitest.Client{ada, bob} {
		assert.Equal(t, expected[1:], pages(who, query, "note.versions", "title", false), "the newest first, without the present state")
		assert.Equal(t, expected[1:], pages(who, query, "note.versions", "title", true))
	}
}
