package notes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/internal/viewer"
)

// documentNotes are the rows of the document for a user, who has two notes, one of which is shared, tagged and has versions.
func documentNotes(ada, bob string) string {
	const first, second = "2026-12-01T09:00:00.000Z", "2026-12-02T09:00:00.000Z"
	row := func(id, deadline string) string {
		return fmt.Sprintf(`{"PK": "USER#%[1]s", "SK": "NOTE#%[3]s#%[2]s", "GSI2PK": "NOTE#%[2]s", "GSI2SK": "USER#%[1]s", "note_id": "%[2]s", "user_id": "%[1]s",
			"title": "title of %[2]s", "content": "c", "deadline": "%[3]s", "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"`, ada, id, deadline)
	}
	return fmt.Sprintf(`[%s, "version": 11, "tags": ["work"]}, %s},
		{"PK": "USER#%s", "SK": "SHARED#n1", "GSI2PK": "NOTE#n1", "GSI2SK": "SHARED#%s"},
		{"PK": "USER#%s", "SK": "TAG#work#NOTE#n1"},
		{"PK": "NOTE_HISTORY#n1", "SK": "VER#2", "title": "second", "content": "c"},
		{"PK": "NOTE_HISTORY#n1", "SK": "VER#9", "title": "ninth", "content": "c"},
		{"PK": "NOTE_HISTORY#n1", "SK": "VER#10", "title": "tenth", "content": "c", "tags": ["old"]}
	]`, row("n1", first), row("n2", second), bob, bob, ada)
}

func TestNoteRowsOfTheDocumentAreLikeOurs(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	bob, asBob := w.SignUp("bob")
	eve, asEve := w.SignUp("eve")
	dynamotest.PutByHand(t, db, dynamo.NotesTable, documentNotes(string(ada), string(bob)))

	// It is read, by its id and in lists, by who may read it.
	for as, permission := range map[context.Context]note.Permission{asAda: note.Owner, asBob: note.View} {
		n, err := w.Get(as, "n1")
		require.NoError(t, err)
		assert.Equal(t, permission, n.Permission)
		assert.Equal(t, 11, n.Version)
		assert.Equal(t, ada, n.Owner)
	}
	_, err := w.Get(asEve, "n1")
	require.Error(t, err)
	assert.Equal(t, []string{"title of n1", "title of n2"}, w.Titles(asAda, ada, note.Due{}))
	assert.Equal(t, []string{"title of n1"}, w.Tagged(asAda, ada, "work"))
	shared, err := w.Rules.ListShared(asBob, bob, page.Window{Limit: 5})
	require.NoError(t, err)
	require.Len(t, shared.Items, 1)
	assert.Equal(t, ada, shared.Items[0].Share.Owner)
	one, err := w.Get(asAda, "n1")
	require.NoError(t, err)
	two, err := w.Get(asAda, "n2")
	require.NoError(t, err)
	assert.Equal(t, 1, two.Version)
	lists, errs := w.Rules.AccessLists(asAda, []note.AccessRequest{one.Access(page.Window{Limit: 5}), two.Access(page.Window{Limit: 5})})
	require.NoError(t, errors.Join(errs...))
	require.Len(t, lists[0].Items, 1)
	assert.Equal(t, bob, lists[0].Items[0].User)
	assert.Equal(t, []int{10, 9, 2}, w.Versions(asAda, one))

	// It is changed, shared and tagged; its version is kept, and an old one is restored.
	title := "new"
	for _, id := range []note.ID{"n1", "n2"} {
		_, err = w.Rules.Update(asAda, note.Update{ID: id, Title: &title})
		require.NoError(t, err)
		_, err := w.Rules.Share(asAda, note.PutShare{Note: id, User: eve, Permission: note.Edit, ShowEarlier: true})
		require.NoError(t, err)
	}
	_, err = w.Rules.AddTags(asEve, note.ChangeTags{ID: "n1", Tags: []string{"more"}})
	require.NoError(t, err)
	one, err = w.Get(asAda, "n1")
	require.NoError(t, err)
	assert.Equal(t, []int{11, 10, 9, 2}, w.Versions(asAda, one))
	for back, want := range map[bool][][]int{false: {{11, 10}, {9, 2}}, true: {{9, 2}, {11, 10}}} {
		win := page.Window{Limit: 2, Backward: back}
		for _, numbers := range want {
			slice, err := w.ListVersions(asAda, one, win)
			require.NoError(t, err)
			var have []int
			for _, v := range slice.Items {
				have = append(have, v.Number)
			}
			assert.Equal(t, numbers, have)
			if win.From = slice.Positions[1]; back {
				win.From = slice.Positions[0]
			}
		}
	}
	restored, err := w.Rules.Restore(asEve, note.Restore{Version: note.VersionID{Note: "n1", Number: 10}})
	require.NoError(t, err)
	assert.Equal(t, "tenth", restored.Title)
	assert.Len(t, w.Access(one), 2)
	lists, errs = w.Rules.AccessLists(asAda, []note.AccessRequest{one.Access(page.Window{Limit: 5}), two.Access(page.Window{Limit: 5})})
	require.NoError(t, errors.Join(errs...))
	assert.Len(t, lists[0].Items, 2, "the share of another program is among them still")

	// It moves, is deleted, and comes back. What was never changed is deleted, too.
	_, err = w.Rules.ChangeDeadline(asAda, note.ChangeDeadline{ID: "n2"})
	require.NoError(t, err)
	_, err = w.Rules.Delete(asAda, note.Delete{ID: "n1"})
	require.NoError(t, err)
	back, err := w.Rules.Undelete(asAda, note.Undelete{ID: "n1"})
	require.NoError(t, err)
	assert.Equal(t, "tenth", back.Title)
	_, err = w.Get(asBob, "n1")
	require.NoError(t, err)
	dynamotest.PutByHand(t, db, dynamo.NotesTable, strings.NewReplacer("n1", "n3", "n2", "n4").Replace(documentNotes(string(eve), string(bob))))
	for _, id := range []note.ID{"n3", "n4"} {
		_, err = w.Rules.Delete(asEve, note.Delete{ID: id})
		require.NoError(t, err)
		_, err = w.Get(asEve, id)
		require.Error(t, err)
	}
}

// A profile without a version, and a lock that does not tell whose it is.
func TestUserRowsOfTheDocumentAreLikeOurs(t *testing.T) {
	t.Parallel()
	_, db, _ := dynamotest.OpenWorld(t)
	dynamotest.PutByHand(t, db, dynamo.NotesTable, `[{"PK": "USER#u1", "SK": "PROFILE", "GSI1PK": "EMAIL#a@example.org", "GSI1SK": "USER#u1", "name": "Ada", "email": "a@example.org"},
		{"PK": "EMAIL#a@example.org", "SK": "UNIQUE_EMAILS"}]`)
	users := users.Store{DB: db}
	id, err := users.UserIDByEmail(t.Context(), "a@example.org")
	require.NoError(t, err)
	assert.EqualValues(t, "u1", id)
	found, errs := users.UsersByID(t.Context(), []viewer.UserID{"u1"})
	require.NoError(t, errors.Join(errs...))
	assert.Equal(t, user.User{ID: "u1", Name: "Ada", Email: "a@example.org", Version: 1}, found[0])
	after := found[0]
	after.Name, after.Email, after.Version = "Ada L.", "b@example.org", 2
	require.NoError(t, users.UpdateUser(t.Context(), found[0], after, idempotency.Key{}))
	_, err = users.UserIDByEmail(t.Context(), "a@example.org")
	require.Error(t, err)
}

// Another program numbers versions in its own way, and changes notes without their locators. Sharing hides what was there before all the same.
func TestSharesOfNotesOfAnotherProgramHideVersions(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	bob, _ := w.SignUp("bob")
	eve, asEve := w.SignUp("eve")
	dynamotest.PutByHand(t, db, dynamo.NotesTable, documentNotes(string(ada), string(bob)))
	dynamotest.PutByHand(t, db, dynamo.NotesTable, `[{"PK": "NOTE_HISTORY#n2", "SK": "VER#1", "title": "secret", "content": "c"}, {"PK": "NOTE_HISTORY#n2", "SK": "VER#2", "title": "secret", "content": "c"}]`)
	for _, id := range []note.ID{"n1", "n2"} {
		w.Share(asAda, id, eve, note.View)
		read, err := w.Get(asEve, id)
		require.NoError(t, err)
		assert.Empty(t, w.Versions(asEve, read), "versions of %s", id)
	}

	// A note of ours, whose row another program has changed since.
	n := w.Create(asAda, note.Create{Title: "n"})
	other := n
	other.Title, other.UpdatedAt = "by another program", n.UpdatedAt.Add(time.Hour)
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{{Table: dynamo.NotesTable, Item: notes.NoteRow(other)}}, idempotency.Key{}))
	w.Share(asAda, n.ID, eve, note.View)
	read, err := w.Get(asEve, n.ID)
	require.NoError(t, err)
	assert.Equal(t, []any{"by another program", 1}, []any{read.Title, read.FirstVersion})
}
