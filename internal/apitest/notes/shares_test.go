package notes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// A user ends all shares of another one, those of deleted notes included, and the user's devices learn of it.
func TestAUserEndsTheSharesOfAnother(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob, eve := s.User("ada@example.com"), s.User("bob@example.com"), s.User("eve@example.com")
	notes := bob.Notes(130)
	bob.Share(notes, ada, eve)
	kept := eve.Notes(3)
	eve.Share(kept, ada)
	bob.Mutate("deleteNote", "deletedNote { noteId }", apitest.Vars{"noteId": notes[0]})
	shared := func(who *apitest.Client) int {
		t.Helper()
		return len(who.Must(`{ viewer { sharedNotes(first: 500) { nodes { id } } } }`, nil).List("viewer.sharedNotes.nodes"))
	}
	require.Equal(t, []int{132, 129}, []int{shared(ada), shared(eve)})
	ends := func(count int, more bool) {
		t.Helper()
		a := ada.Mutate("endShares", "noteIds more", apitest.Vars{"byUserId": bob.ID})
		require.Empty(t, a.Errors, "%s", a.Body)
		ids := a.List("result.noteIds")
		assert.Len(t, ids, count)
		for _, id := range ids {
			assert.Contains(t, notes, id)
		}
		assert.Equal(t, more, a.At("result.more"))
	}
	ends(100, true)
	ends(30, false)
	ends(0, false)
	assert.Equal(t, []int{3, 129}, []int{shared(ada), shared(eve)})
	bob.Mutate("undeleteNote", "note { id }", apitest.Vars{"noteId": notes[0]})
	assert.Equal(t, []int{3, 130}, []int{shared(ada), shared(eve)}, "its share had ended, too")
	a := ada.Must(`query($n: ID!) { note(id: $n) { id } }`, apitest.Vars{"n": notes[1]})
	assert.Nil(t, a.At("note"))

	// It can be shared again.
	bob.Share(notes[:1], ada)
	assert.Equal(t, 4, shared(ada))
}

// However a version is asked for, one from before the share is not there.
func TestVersionsFromBeforeAShareAreHidden(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	note := ada.Notes(1)[0]
	rename := func(title string) string {
		t.Helper()
		return ada.Mutate("updateNote", "note { latestVersion { id } }", apitest.Vars{"noteId": note, "title": title}).Str("result.note.latestVersion.id")
	}
	secret := rename("without the secret")
	ada.Mutate("shareNote", "note { id }", apitest.Vars{"noteId": note, "userId": bob.ID, "permission": "EDIT"})
	const query = `query($n: ID!, $v: ID!) {
		note(id: $n) { latestVersion { id } versionAt(number: 1) { id } versions(first: 9) { nodes { number } } }
		node(id: $v) { id } nodes(ids: [$v]) { id }
		viewer { sharedNotes(first: 9) { nodes { latestVersion { id } versionAt(number: 1) { id } versions(first: 9) { nodes { number } } } } } }`
	vars := apitest.Vars{"n": note, "v": secret}
	a := bob.Must(query, vars)
	for _, hidden := range []any{a.At("note.latestVersion"), a.At("note.versionAt"), a.At("node"), a.List("nodes")[0]} {
		assert.Nil(t, hidden)
	}
	assert.Empty(t, a.List("note.versions.nodes"))
	shared := a.List("viewer.sharedNotes.nodes")[0].(map[string]any)
	assert.Equal(t, map[string]any{"latestVersion": nil, "versionAt": nil, "versions": map[string]any{"nodes": []any{}}}, shared)
	bob.Mutate("restoreVersion", "note { id }", apitest.Vars{"versionId": secret}).Fails("NOT_FOUND", "")
	next := rename("third")
	a = bob.Must(query, vars)
	assert.Equal(t, next, a.Str("note.latestVersion.id"))
	assert.Len(t, a.List("note.versions.nodes"), 1)
	ada.Mutate("shareNote", "note { id }", apitest.Vars{"noteId": note, "userId": bob.ID, "permission": "EDIT", "showEarlierVersions": true})
	a = bob.Must(query, vars)
	assert.Equal(t, secret, a.Str("node.id"))
	assert.Len(t, a.List("note.versions.nodes"), 2)
}
