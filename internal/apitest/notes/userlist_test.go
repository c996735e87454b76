package notes

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
)

func TestAdministratorsListAndFindUsers(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	for email, name := range map[string]string{
		"zoe@example.com": "Zoë", "ada@example.com": "Ada Lovelace", "ADAM@example.com": "Charles", "grace@example.com": "Adam", "bob@example.com": "Bob",
	} {
		s.As(email).Must(createUser, apitest.Vars{"name": name, "email": email})
	}
	const list = `query($p: String, $first: Int, $after: Cursor, $last: Int, $before: Cursor) { users(prefix: $p, first: $first, after: $after, last: $last, before: $before) {
		edges { cursor node { id name email } } nodes { email } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
	root := s.Admin("root@example.com")
	emails := func(a *apitest.Answer) (all []string) {
		for _, n := range a.List("users.nodes") {
			all = append(all, n.(map[string]any)["email"].(string))
		}
		return all
	}
	all := []string{"ada@example.com", "ADAM@example.com", "bob@example.com", "grace@example.com", "root@example.com", "zoe@example.com"}
	for _, prefix := range []any{nil, "", " "} {
		assert.Equal(t, all, emails(root.Must(list, apitest.Vars{"p": prefix})), "%q", prefix)
	}
	for prefix, want := range map[string][]string{
		"ADA": {"ada@example.com", "grace@example.com", "ADAM@example.com"}, "ada lov": {"ada@example.com"}, "bob": {"bob@example.com"}, "ZOE\u0308": {"zoe@example.com"},
		"lovelace": nil, "%": nil, "ada#": nil,
	} {
		assert.Equal(t, want, emails(root.Must(list, apitest.Vars{"p": prefix})), prefix)
	}
	for _, backward := range []bool{false, true} {
		assert.Equal(t, all, pages(root, list, "users", "email", backward))
	}
	cursor := root.Must(list, apitest.Vars{"first": 1}).Str("users.pageInfo.endCursor")
	root.Do(list, apitest.Vars{"first": 1, "after": cursor, "p": "a"}).Fails(apitest.Invalid, "after")

	s.As("ada@example.com").Do(list, nil).Fails("FORBIDDEN", "")
	s.As("nobody@example.com").Do(list, nil).Fails("FORBIDDEN", "")
	(&apitest.Client{Server: s}).Do(list, nil).Fails("UNAUTHENTICATED", "")

	for _, prefix := range []any{nil, "a"} {
		c := root.Measure(list, apitest.Vars{"p": prefix, "first": 3})
		assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, c.Operations(), "%v", prefix)
	}
}
