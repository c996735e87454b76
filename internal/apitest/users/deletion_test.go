package users

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/domain"
)

const (
	deleted = "deleted { userId name email state deletedBy { id } deletedAt undoUntil } problem { ... on StillNeeded { message of { nodeId name } } }"
	back    = "user { id name email }"
	// deletedOnly is what is selected of mutations that report no problems.
	deletedOnly = "deleted { userId state undoUntil }"
)

// again returns the client with a token from after now, which counts for somebody who was signed out.
func again(c *apitest.Client, email string) *apitest.Client {
	c.T.Helper()
	later := &apitest.Client{Server: c.Server, ID: c.ID}
	require.Eventually(c.T, func() bool {
		later.Token = c.As(email).Token
		a := later.Do(`{ viewer { id } }`, nil)
		return len(a.Errors) == 0 || a.Errors[0].Extensions.Code != "UNAUTHENTICATED"
	}, apitest.Patience, 50*time.Millisecond)
	return later
}

func TestADeletedUserIsSignedOutAndHiddenUntilBroughtBack(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob, root := s.User("ada@example.com"), s.User("bob@example.com"), s.Admin("root@example.com")
	notes := ada.Notes(2)
	ada.Share(notes[:1], bob)
	theirs := bob.Notes(1)
	bob.Share(theirs, ada)

	bob.Mutate("deleteUser", deleted, apitest.Vars{"userId": ada.ID}).Fails("FORBIDDEN", "")
	s.As("nobody@example.com").Mutate("deleteUser", deleted, apitest.Vars{}).Fails("UNAUTHENTICATED", "")
	bob.Mutate("undoDeleteUser", back, apitest.Vars{"userId": ada.ID}).Fails("NOT_FOUND", "")
	a := ada.Mutate("deleteUser", deleted, apitest.Vars{})
	assert.Equal(t, []any{ada.ID, "ada@example.com", "DELETED"}, []any{a.At("result.deleted.userId"), a.At("result.deleted.email"), a.At("result.deleted.state")}, "%s", a.Body)
	assert.Equal(t, domain.UndoDeletion, a.Time("result.deleted.undoUntil").Sub(a.Time("result.deleted.deletedAt")))

	ada.Do(`{ viewer { id } }`, nil).Fails("UNAUTHENTICATED", "")
	later := again(ada, "ada@example.com")
	for _, query := range []string{`{ viewer { id } }`, `{ __typename }`, `{ __schema { queryType { name } } }`, `mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } }`,
		`mutation { undoDeleteUser(input: {}) { user { id } } createNote(input: {title: "x", content: ""}) { note { id } } }`} {
		refused := later.Do(query, nil)
		refused.Fails("USER_DELETED", "")
		assert.Contains(t, refused.Body, `"undoUntil":"20`)
	}
	for _, c := range []*apitest.Client{bob, root} {
		assert.Nil(t, c.Must(`query($i: ID!) { node(id: $i) { id } }`, apitest.Vars{"i": ada.ID}).At("node"))
		assert.Nil(t, c.Must(`query($i: ID!) { user(id: $i) { name } }`, apitest.Vars{"i": ada.ID}).At("user"))
	}
	assert.Nil(t, root.Must(`{ userByEmail(email: "ada@example.com") { id } }`, nil).At("userByEmail"))
	assert.NotContains(t, root.Must(`{ users { nodes { email } } }`, nil).Raw(), "ada@")
	assert.NotContains(t, root.Must(`{ users(prefix: "ada") { nodes { email } } }`, nil).Raw(), "ada@")
	for _, in := range []apitest.Vars{{"noteId": theirs[0], "email": "ada@example.com", "permission": "EDIT"}, {"noteId": theirs[0], "userId": ada.ID, "permission": "EDIT"}} {
		assert.Equal(t, "UnknownUser", bob.Mutate("shareNote", "problem { __typename }", in).At("result.problem.__typename"))
	}
	films := bob.Space("Films")
	assert.Equal(t, "UnknownUser", films.Mutate("putScopeMember", "problem { __typename }", apitest.Vars{"scopeId": films.Scope, "userId": ada.ID, "role": "READER"}).At("result.problem.__typename"))
	assert.NotNil(t, bob.Must(`query($i: ID!) { node(id: $i) { id } }`, apitest.Vars{"i": notes[0]}).At("node"), "what is shared stays readable")
	assert.Equal(t, "EmailTaken", s.As("new@example.com").Mutate("createUser", "problem { __typename }", apitest.Vars{"name": "New", "email": "ada@example.com"}).At("result.problem.__typename"))

	const list = `{ deletedUsers(first: 5) { nodes { userId name state deletedBy { id } } pageInfo { hasNextPage } } }`
	bob.Do(list, nil).Fails("FORBIDDEN", "")
	assert.Equal(t, ada.ID, root.Must(list, nil).List("deletedUsers.nodes")[0].(map[string]any)["userId"])
	root.Mutate("revokeUser", "revokedAt", apitest.Vars{"userId": ada.ID}).Fails("NOT_FOUND", "")
	assert.Equal(t, ada.ID, root.Mutate("deleteUser", deleted, apitest.Vars{"userId": ada.ID}).At("result.deleted.userId"), "left as it is")

	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Logs)
		}
	})
	undone := later.Mutate("undoDeleteUser", back, apitest.Vars{})
	assert.Equal(t, []any{ada.ID, "ada@example.com"}, []any{undone.At("result.user.id"), undone.At("result.user.email")}, "%s", undone.Body)
	assert.Len(t, later.Must(`{ viewer { notes { nodes { id } } sharedNotes { nodes { id } } } }`, nil).List("viewer.notes.nodes"), 2)
	assert.Empty(t, root.Must(list, nil).List("deletedUsers.nodes"))
	assert.Contains(t, root.Must(`{ users { nodes { email } } }`, nil).Raw(), "ada@")
	assert.NotNil(t, root.Must(`{ userByEmail(email: "ada@example.com") { id } }`, nil).At("userByEmail"))
	ada.Do(`{ viewer { id } }`, nil).Fails("UNAUTHENTICATED", "")
	assert.Equal(t, ada.ID, later.Mutate("undoDeleteUser", back, apitest.Vars{}).At("result.user.id"), "who is not deleted is left as they are")
}

func TestWhoOthersNeedIsNotDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	shared := ada.Space("Films")
	shared.Member(bob, "WRITER")
	ada.Space("Alone")
	a := ada.Mutate("deleteUser", deleted, apitest.Vars{})
	assert.Nil(t, a.At("result.deleted"))
	assert.Equal(t, []any{map[string]any{"nodeId": shared.Scope, "name": "Films"}}, a.List("result.problem.of"), "%s", a.Body)
	shared.Member(bob, "OWNER")
	assert.Equal(t, "DELETED", ada.Mutate("deleteUser", deleted, apitest.Vars{}).At("result.deleted.state"))
}
