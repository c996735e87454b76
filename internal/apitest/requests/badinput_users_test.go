package requests

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
)

// deletedUsersState is what an administrator sees of deleted users; it is null for others.
func deletedUsersState(c *apitest.Client) string {
	c.T.Helper()
	return c.Do(`{ deletedUsers(first: 500) { nodes { userId email state deletedAt undoUntil } } }`, nil).Raw()
}

func TestBadInputDeletesNoUser(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob, gone, root := s.User("ada@example.com"), s.User("bob@example.com"), s.User("gone@example.com"), s.Admin("root@example.com")
	note := ada.Notes(1)[0]
	gone.Mutate("deleteUser", "deleted { state }", apitest.Vars{})
	seen := func() string { return state(ada) + state(bob) + deletedUsersState(root) }
	never, of := apitest.GIDOf("User", "nobody"), func(id any) apitest.Vars { return apitest.Vars{"userId": id} }

	var all []bad // whoever sends it
	for _, mutation := range []string{"deleteUser", "undoDeleteUser", "purgeDeletedUser"} {
		for reason, id := range map[string]any{
			"the id of a note": note, "garbage": "!!!", "no id": "", "an id and more": bob.ID + "A", "an id of no type": "AGE", "an id that is no UTF-8": "_w8A",
		} {
			all = append(all, bad{reason, mutation, of(id), apitest.Invalid, "input.userId"})
		}
		all = append(all,
			bad{"an id that is a list", mutation, of([]string{ada.ID, bob.ID}), apitest.Unfit, "input.userId"},
			bad{"a field that is not there", mutation, apitest.Vars{"email": "bob@example.com"}, apitest.Unfit, "input.email"},
			bad{"an empty idempotency key", mutation, apitest.Vars{"userId": bob.ID, "idempotencyKey": ""}, apitest.Invalid, "input.idempotencyKey"})
	}
	refuses(root, seen, append(all,
		bad{"a user who never was", "deleteUser", of(never), "NOT_FOUND", ""},
		bad{"a user who never was", "undoDeleteUser", of(never), "NOT_FOUND", ""},
		bad{"a user who never was", "purgeDeletedUser", of(never), "NOT_FOUND", ""},
		bad{"a user who is not deleted", "purgeDeletedUser", of(bob.ID), "NOT_FOUND", ""},
		bad{"oneself, who is not deleted", "purgeDeletedUser", apitest.Vars{}, "NOT_FOUND", ""}))
	refuses(ada, seen, []bad{
		{"another user", "deleteUser", of(bob.ID), "FORBIDDEN", ""},
		{"a user who never was", "deleteUser", of(never), "FORBIDDEN", ""},
		{"a deleted user", "deleteUser", of(gone.ID), "FORBIDDEN", ""},
		{"another's deletion", "undoDeleteUser", of(gone.ID), "NOT_FOUND", ""},
		{"another's deletion", "purgeDeletedUser", of(gone.ID), "NOT_FOUND", ""},
		{"another user who is not deleted", "undoDeleteUser", of(bob.ID), "NOT_FOUND", ""},
		{"another user who is not deleted", "purgeDeletedUser", of(bob.ID), "NOT_FOUND", ""},
		{"oneself, who is not deleted", "purgeDeletedUser", apitest.Vars{}, "NOT_FOUND", ""},
	})
	nobody, anybody := s.As("nobody@example.com"), &apitest.Client{Server: s}
	for _, mutation := range []string{"deleteUser", "undoDeleteUser", "purgeDeletedUser"} {
		refuses(nobody, seen, []bad{{"before signing up", mutation, apitest.Vars{}, "UNAUTHENTICATED", ""}})
		refuses(anybody, seen, []bad{{"no token", mutation, apitest.Vars{}, "UNAUTHENTICATED", ""}, {"no token", mutation, of(gone.ID), "UNAUTHENTICATED", ""}})
	}
	assert.Equal(t, ada.ID, ada.Mutate("undoDeleteUser", "user { id }", apitest.Vars{}).Str("result.user.id"), "who is not deleted is left as they are")
	assert.Equal(t, bob.ID, root.Mutate("undoDeleteUser", "user { id }", of(bob.ID)).Str("result.user.id"))
	before := seen()
	assert.Equal(t, "DELETED", root.Mutate("deleteUser", "deleted { state }", of(gone.ID)).Str("result.deleted.state"), "who is deleted, too")
	assert.Equal(t, before, seen())
}

func TestBadArgumentsOfDeletedUsers(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, root, other := s.User("ada@example.com"), s.Admin("root@example.com"), s.Admin("other@example.com")
	for _, email := range []string{"a@example.com", "b@example.com"} {
		s.User(email).Mutate("deleteUser", "deleted { state }", apitest.Vars{})
	}
	cursor := func(c *apitest.Client, list string) string {
		return c.Must(`{ `+list+`(first: 1) { edges { cursor } } }`, nil).List(list + ".edges")[0].(map[string]any)["cursor"].(string)
	}
	good := cursor(root, "deletedUsers")
	for reason, c := range map[string]struct{ args, code, field string }{
		"first: 0":                 {"first: 0", apitest.Invalid, "first"},
		"first: 501":               {"first: 501", apitest.Invalid, "first"},
		"last: -1":                 {"last: -1", apitest.Invalid, "last"},
		"both first and last":      {"first: 1, last: 1", apitest.Invalid, "last"},
		"before with first":        {`first: 1, before: "` + good + `"`, apitest.Invalid, "before"},
		"a cursor of garbage":      {`after: "!"`, apitest.Invalid, "after"},
		"a cursor of another list": {`after: "` + cursor(root, "users") + `"`, apitest.Invalid, "after"},
		"another's cursor":         {`after: "` + cursor(other, "deletedUsers") + `"`, apitest.Invalid, "after"},
	} {
		a := root.Do(`{ deletedUsers(`+c.args+`) { nodes { userId } } }`, nil)
		a.TellsNothingInner()
		if assert.Len(t, a.Errors, 1, "%s: %s", reason, a.Body) {
			assert.Equal(t, c.code+" "+c.field, a.Errors[0].Extensions.Code+" "+a.Errors[0].Extensions.Field, reason)
		}
	}
	const list = `{ deletedUsers(first: 1) { nodes { userId } } }`
	ada.Do(list, nil).Fails("FORBIDDEN", "")
	s.As("nobody@example.com").Do(list, nil).Fails("FORBIDDEN", "")
	(&apitest.Client{Server: s}).Do(list, nil).Fails("UNAUTHENTICATED", "")
	assert.Len(t, root.Must(`{ deletedUsers(first: 1, after: "`+good+`") { nodes { userId } } }`, nil).List("deletedUsers.nodes"), 1, "the cursor is good")
}
