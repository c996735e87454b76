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
