package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/gid"
)

// globalKey returns what a global id is made of: type and key.
func globalKey(t *testing.T, id string) []string {
	t.Helper()
	parsed, err := gid.Parse(id)
	require.NoError(t, err)
	return append([]string{parsed.Type}, parsed.Key...)
}

// whole is everything of a note but what others may see differently.
const whole = `fragment whole on Note { id title content deadline createdAt updatedAt version viewerPermission tags { value } owner { id }
	latestVersion { number title content } versions { nodes { number title content deadline tags { value } note { id } } } accessList { edges { permission node { id } } } }`

const readNote = `query($id: ID!) { note(id: $id) { ...whole } node(id: $id) { ...whole } nodes(ids: [$id]) { ...whole } }` + whole

// note reads a note in three ways, which must agree, and returns it; nil when there is none.
func (c *client) note(id string) *answer {
	c.t.Helper()
	a := c.must(readNote, vars{"id": id})
	assert.Equal(c.t, a.at("note"), a.at("node"))
	assert.Equal(c.t, a.at("note"), a.list("nodes")[0])
	note, ok := a.at("note").(map[string]any)
	if !ok {
		return nil
	}
	return &answer{t: c.t, body: a.body, Data: note}
}

func TestANotesLife(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	created := ada.must(`mutation { createNote(input: {title: " Buy milk ", content: "two litres", deadline: "2027-03-01T12:00:00.1239+02:00", tags: ["Home", "home", " food "]}) { note { ...whole } } }`+whole, nil)
	id := created.str("createNote.note.id")
	n := ada.note(id)
	assert.Equal(t, created.at("createNote.note"), any(n.Data), "the payload is what a reader sees")
	assert.Equal(t, "Buy milk", n.str("title"))
	assert.Equal(t, "two litres", n.str("content"))
	assert.Equal(t, "2027-03-01T10:00:00.123Z", n.str("deadline"))
	assert.Equal(t, n.str("createdAt"), n.str("updatedAt"))
	assert.InDelta(t, 1, n.at("version"), 0)
	assert.Equal(t, "OWNER", n.str("viewerPermission"))
	assert.Equal(t, ada.id, n.str("owner.id"))
	assert.Equal(t, []any{map[string]any{"value": "food"}, map[string]any{"value": "Home"}}, n.list("tags"))
	assert.Nil(t, n.at("latestVersion"))

	ada.must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "Buy more milk"}) { note { id } } }`, vars{"id": id})
	ada.must(`mutation($id: ID!) { addNoteTags(input: {noteId: $id, tags: ["FOOD", "urgent"]}) { note { id } problem { __typename } } }`, vars{"id": id})
	ada.must(`mutation($id: ID!) { removeNoteTags(input: {noteId: $id, tags: ["HOME"]}) { note { id } } }`, vars{"id": id})
	ada.must(`mutation($id: ID!) { changeNoteDeadline(input: {noteId: $id, deadline: "2028-01-01T00:00:00Z"}) { note { id } } }`, vars{"id": id})
	ada.must(`mutation($id: ID!) { updateNote(input: {noteId: $id, content: "three litres"}) { note { id } } }`, vars{"id": id})
	n = ada.note(id)
	assert.Equal(t, "Buy more milk", n.str("title"))
	assert.Equal(t, "2028-01-01T00:00:00.000Z", n.str("deadline"))
	assert.Equal(t, []any{map[string]any{"value": "food"}, map[string]any{"value": "urgent"}}, n.list("tags"), "as typed first")
	assert.InDelta(t, 6, n.at("version"), 0)
	versions := n.list("versions.nodes")
	require.Len(t, versions, 2, "tags and deadline make none")
	assert.Equal(t, map[string]any{"number": 5.0, "title": "Buy more milk", "content": "two litres", "deadline": "2028-01-01T00:00:00.000Z",
		"tags": []any{map[string]any{"value": "food"}, map[string]any{"value": "urgent"}}, "note": map[string]any{"id": id}}, versions[0])
	assert.Equal(t, "Buy milk", versions[1].(map[string]any)["title"])
	assert.InDelta(t, 5, n.at("latestVersion.number"), 0)

	const at = `query($id: ID!, $n: Int!) { note(id: $id) { versionAt(number: $n) { id title tags { value } } } }`
	first := ada.must(at, vars{"id": id, "n": 1})
	assert.Equal(t, "Buy milk", first.str("note.versionAt.title"))
	assert.Nil(t, ada.must(at, vars{"id": id, "n": 2}).at("note.versionAt"), "adding tags kept none")
	restored := ada.must(`mutation($id: ID!) { restoreVersion(input: {versionId: $id, expectedVersion: 6}) { note { ...whole } problem { __typename } } }`+whole, vars{"id": first.str("note.versionAt.id")})
	n = ada.note(id)
	assert.Equal(t, restored.at("restoreVersion.note"), any(n.Data))
	assert.Equal(t, "Buy milk", n.str("title"))
	assert.Equal(t, "two litres", n.str("content"))
	assert.Equal(t, []any{map[string]any{"value": "food"}, map[string]any{"value": "Home"}}, n.list("tags"))
	assert.Equal(t, "2028-01-01T00:00:00.000Z", n.str("deadline"), "the deadline stays")
	assert.Len(t, n.list("versions.nodes"), 3)

	ada.must(`mutation($id: ID!) { changeNoteDeadline(input: {noteId: $id, deadline: null}) { note { id } } }`, vars{"id": id})
	before := ada.note(id)
	assert.Nil(t, before.at("deadline"))
	deleted := ada.must(`mutation($id: ID!) { deleteNote(input: {noteId: $id}) { deletedNote { noteId deletedAt undoUntil } problem { __typename } } }`, vars{"id": id})
	assert.Equal(t, id, deleted.str("deleteNote.deletedNote.noteId"))
	at1, err := time.Parse(time.RFC3339, deleted.str("deleteNote.deletedNote.deletedAt"))
	require.NoError(t, err)
	until, err := time.Parse(time.RFC3339, deleted.str("deleteNote.deletedNote.undoUntil"))
	require.NoError(t, err)
	assert.Equal(t, 30*24*time.Hour, until.Sub(at1))
	assert.Nil(t, ada.note(id))
	assert.Empty(t, ada.must(`{ viewer { notes { nodes { id } } tags { nodes { value } } } }`, nil).list("viewer.notes.nodes"))
	assert.Nil(t, ada.must(`query($id: ID!) { node(id: $id) { id } }`, vars{"id": first.str("note.versionAt.id")}).at("node"), "its versions are gone with it")

	ada.must(`mutation($id: ID!) { undeleteNote(input: {noteId: $id}) { note { id } } }`, vars{"id": id})
	after := ada.note(id)
	for name, value := range before.Data {
		if name != "version" && name != "updatedAt" {
			assert.Equal(t, value, after.Data[name], name)
		}
	}
	assert.InDelta(t, before.at("version").(float64)+1, after.at("version"), 0)
}

func TestTooManyTagsIsAnOutcome(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	id := ada.notes(1, func(_ int, input vars) { input["tags"] = numbered("tag", 40) })[0]
	for _, tags := range [][]string{{"one more"}, numbered("other", 41)} {
		a := ada.must(`mutation($id: ID!, $tags: [String!]!) { addNoteTags(input: {noteId: $id, tags: $tags}) { note { id } problem { __typename ... on TooManyTags { message limit } } } }`,
			vars{"id": id, "tags": tags})
		assert.Nil(t, a.at("addNoteTags.note"))
		assert.Equal(t, "TooManyTags", a.str("addNoteTags.problem.__typename"))
		assert.InDelta(t, 40, a.at("addNoteTags.problem.limit"), 0)
	}
	assert.Len(t, ada.note(id).list("tags"), 40)
}

func numbered(word string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s %02d", word, i)
	}
	return all
}

func TestListsByDeadline(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	days := []string{"0001-01-01T00:00:00.001Z", "1969-12-31T23:59:59.999Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00.001Z", "2026-06-01T00:00:00+05:30", "9999-12-31T23:59:59.999Z", "", ""}
	titles := make([]string, len(days))
	order := []int{4, 8, 0, 6, 2, 7, 5, 1, 3} // of creation: none
	for _, i := range order {
		titles[i] = fmt.Sprintf("note %d", i)
		input := vars{"title": titles[i], "content": "c", "tags": []string{"a"}}
		if days[i] != "" {
			input["deadline"] = days[i]
		}
		ada.all("createNote", "note { id }", []vars{input})
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
	none := ada.must(query(`due: {after: "2026-01-02T00:00:00.001Z", before: "2026-01-02T00:00:00.002Z"}`), nil)
	assert.Empty(t, none.list("viewer.notes.nodes"))
	assert.Equal(t, map[string]any{"hasNextPage": false, "hasPreviousPage": false, "startCursor": nil, "endCursor": nil}, none.at("viewer.notes.pageInfo"))
	assert.Len(t, ada.must(`{ viewer { notes { edges { cursor node { id } } } } }`, nil).list("viewer.notes.edges"), len(titles))
}

func TestSharing(t *testing.T) {
	s := newServer(t)
	ada, bob, eve := s.user("ada@example.com"), s.user("bob@example.com"), s.user("eve@example.com")
	id := ada.notes(1)[0]
	const share = `mutation($input: ShareNoteInput!) { shareNote(input: $input) { note { id } accessEdge { cursor permission sharedAt node { id name } } problem { __typename ... on UnknownUser { field } } } }`
	const update = `mutation($id: ID!) { updateNote(input: {noteId: $id, title: "changed"}) { note { title viewerPermission } } }`

	edge := ada.must(share, vars{"input": vars{"noteId": id, "email": "BOB@example.com", "permission": "VIEW"}})
	assert.Equal(t, bob.id, edge.str("shareNote.accessEdge.node.id"))
	assert.Equal(t, "VIEW", bob.note(id).str("viewerPermission"))
	bob.do(update, vars{"id": id}).fails("FORBIDDEN", "")
	ada.must(share, vars{"input": vars{"noteId": id, "userId": bob.id, "permission": "EDIT"}})
	ada.must(share, vars{"input": vars{"noteId": id, "userId": eve.id, "permission": "VIEW"}})
	assert.Equal(t, "EDIT", bob.must(update, vars{"id": id}).str("updateNote.note.viewerPermission"))
	access := eve.note(id).list("accessList.edges")
	assert.ElementsMatch(t, []any{
		map[string]any{"permission": "EDIT", "node": map[string]any{"id": bob.id}},
		map[string]any{"permission": "VIEW", "node": map[string]any{"id": eve.id}},
	}, access, "changed, not added")
	cursor := ada.must(`query($id: ID!) { note(id: $id) { accessList(first: 1) { edges { cursor node { id } } } } }`, vars{"id": id}).list("note.accessList.edges")[0].(map[string]any)
	if cursor["node"].(map[string]any)["id"] == bob.id {
		assert.Equal(t, cursor["cursor"], edge.at("shareNote.accessEdge.cursor"), "the edge is one of the list")
	}
	const unshare = `mutation($id: ID!, $user: ID!) { unshareNote(input: {noteId: $id, userId: $user}) { note { id } user { id } } }`
	bob.do(unshare, vars{"id": id, "user": eve.id}).fails("FORBIDDEN", "")
	revoked := ada.must(unshare, vars{"id": id, "user": bob.id})
	assert.Equal(t, id, revoked.str("unshareNote.note.id"))
	assert.Equal(t, bob.id, revoked.str("unshareNote.user.id"))
	assert.Nil(t, bob.note(id))
	left := eve.must(unshare, vars{"id": id, "user": eve.id})
	assert.Nil(t, left.at("unshareNote.note"), "who has left may not read it any more")
	assert.Nil(t, eve.note(id))
	assert.Empty(t, ada.note(id).list("accessList.edges"))

	unknown := ada.must(share, vars{"input": vars{"noteId": id, "email": "nobody@example.com", "permission": "VIEW"}})
	assert.Equal(t, "UnknownUser", unknown.str("shareNote.problem.__typename"))
	assert.Equal(t, "input.email", unknown.str("shareNote.problem.field"))
	gone := gid.Of("User", "00000000-0000-4000-8000-000000000000").String()
	unknown = ada.must(share, vars{"input": vars{"noteId": id, "userId": gone, "permission": "VIEW"}})
	assert.Equal(t, "input.userId", unknown.str("shareNote.problem.field"))
}

func TestMoreThanAHundredSharedNotes(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	notes := ada.notes(130)
	ada.share(notes, bob)
	ada.all("deleteNote", "deletedNote { noteId }", []vars{{"noteId": notes[3]}, {"noteId": notes[77]}})
	ids := func(nodes []any) (all []string) {
		for _, n := range nodes {
			all = append(all, n.(map[string]any)["id"].(string))
		}
		return all
	}
	all := bob.must(`{ viewer { sharedNotes(first: 500) { nodes { id } edges { permission sharedAt } pageInfo { hasNextPage } } } }`, nil)
	expected := slices.DeleteFunc(slices.Clone(notes), func(id string) bool { return id == notes[3] || id == notes[77] })
	slices.SortFunc(expected, func(a, b string) int { return strings.Compare(globalKey(t, a)[1], globalKey(t, b)[1]) })
	assert.Equal(t, expected, ids(all.list("viewer.sharedNotes.nodes")), "by note id, without the deleted ones")
	const page = `query($first: Int, $after: Cursor, $last: Int, $before: Cursor) { viewer { sharedNotes(first: $first, after: $after, last: $last, before: $before) {
		nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	forward := bob.must(page, vars{"first": 127})
	require.Equal(t, expected[:127], ids(forward.list("viewer.sharedNotes.nodes")), "the page is full although two were left out")
	assert.Equal(t, true, forward.at("viewer.sharedNotes.pageInfo.hasNextPage"))
	rest := bob.must(page, vars{"first": 127, "after": forward.at("viewer.sharedNotes.pageInfo.endCursor")})
	assert.Equal(t, expected[127:], ids(rest.list("viewer.sharedNotes.nodes")))
	assert.Equal(t, false, rest.at("viewer.sharedNotes.pageInfo.hasNextPage"))
	back := bob.must(page, vars{"last": 100, "before": rest.at("viewer.sharedNotes.pageInfo.startCursor")})
	assert.Equal(t, expected[27:127], ids(back.list("viewer.sharedNotes.nodes")))
}

func TestSynchronising(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	notes := ada.notes(5)
	const changes = `query($since: DateTime, $first: Int, $after: Cursor) { viewer { noteChanges(changedSince: $since, first: $first, after: $after) {
		syncedUntil complete pageInfo { hasNextPage endCursor } nodes { __typename ... on Note { id version } ... on DeletedNote { noteId deletedAt undoUntil } } } } }`
	ada.must(`mutation($id: ID!) { deleteNote(input: {noteId: $id}) { deletedNote { noteId } } }`, vars{"id": notes[1]})
	ada.must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "new"}) { note { id } } }`, vars{"id": notes[0]})

	sync := func(v vars) (seen []string, until string) {
		for {
			a := ada.must(changes, v)
			if until != "" {
				assert.Equal(t, until, a.str("viewer.noteChanges.syncedUntil"), "the same on every page")
			}
			until = a.str("viewer.noteChanges.syncedUntil")
			assert.Equal(t, true, a.at("viewer.noteChanges.complete"))
			for _, n := range a.list("viewer.noteChanges.nodes") {
				change := n.(map[string]any)
				id, deleted := change["noteId"].(string)
				if !deleted {
					id = change["id"].(string)
				}
				seen = append(seen, fmt.Sprint(change["__typename"], " ", slices.Index(notes, id)))
			}
			if a.at("viewer.noteChanges.pageInfo.hasNextPage") == false {
				return seen, until
			}
			v["after"] = a.at("viewer.noteChanges.pageInfo.endCursor")
		}
	}
	all, until := sync(vars{"first": 2})
	require.Len(t, all, 5)
	assert.ElementsMatch(t, []string{"Note 2", "Note 3", "Note 4"}, all[:3], "created within a millisecond, perhaps")
	assert.Equal(t, []string{"DeletedNote 1", "Note 0"}, all[3:], "each once, the oldest change first")
	instant, err := time.Parse(time.RFC3339, until)
	require.NoError(t, err)
	assert.True(t, instant.Before(time.Now()))

	next := ada.must(`mutation($id: ID!) { changeNoteDeadline(input: {noteId: $id, deadline: "2027-01-01T00:00:00Z"}) { note { updatedAt } } }`, vars{"id": notes[2]})
	undeleted := ada.must(`mutation($id: ID!) { undeleteNote(input: {noteId: $id}) { note { id } } }`, vars{"id": notes[1]})
	assert.Equal(t, notes[1], undeleted.str("undeleteNote.note.id"))
	since, _ := sync(vars{"since": next.str("changeNoteDeadline.note.updatedAt")})
	assert.Equal(t, []string{"Note 2", "Note 1"}, since)
	again, _ := sync(vars{"since": until})
	assert.Subset(t, again, since, "changes close to that instant come twice rather than never")

	old := ada.must(changes, vars{"since": time.Now().Add(-31 * 24 * time.Hour)})
	assert.Equal(t, false, old.at("viewer.noteChanges.complete"), "deletions are not kept that long")
}

func TestVersionsArePagedBothWays(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	id := ada.notes(1)[0]
	expected := []string{"note 000"}
	for i := range 11 { // so that number 10 comes after number 9
		title := fmt.Sprintf("title %d", i)
		ada.must(`mutation($id: ID!, $t: String!) { updateNote(input: {noteId: $id, title: $t}) { note { id } } }`, vars{"id": id, "t": title})
		expected = append([]string{title}, expected...)
	}
	ada.share([]string{id}, bob)
	query := `query($first: Int, $after: Cursor, $last: Int, $before: Cursor) { note(id: "` + id + `") { versions(first: $first, after: $after, last: $last, before: $before) {
		nodes { title } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	for _, who := range []*client{ada, bob} {
		assert.Equal(t, expected[1:], pages(who, query, "note.versions", "title", false), "the newest first, without the present state")
		assert.Equal(t, expected[1:], pages(who, query, "note.versions", "title", true))
	}
}
