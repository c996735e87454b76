package usertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/user"
)

// signUp creates a user with name and address.
func signUp(t *testing.T, w *storetest.World, name, email string) user.User {
	t.Helper()
	u := user.User{ID: user.ID(uuid.NewString()), Name: name, Email: email, Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now()}
	require.NoError(t, w.Users.CreateUser(t.Context(), u, "issuer", email, idempotency.Key{}))
	return u
}

// change gives a user another name and address.
func change(t *testing.T, w *storetest.World, u user.User, name, email string) user.User {
	t.Helper()
	after := u
	after.Name, after.Email, after.Version = name, email, u.Version+1
	require.NoError(t, w.Users.UpdateUser(t.Context(), u, after, idempotency.Key{}))
	return after
}

// isFound asserts that a text finds the users with these addresses, in this order.
func isFound(t *testing.T, w *storetest.World, begin string, want ...string) {
	t.Helper()
	var all []string
	for _, u := range listed(t, w, begin) {
		all = append(all, u.Email)
	}
	assert.Equal(t, want, all, "%q", begin)
}

// listed reads a list of users in pages of two, there and back.
func listed(t *testing.T, w *storetest.World, begin string) []user.User {
	t.Helper()
	byID := map[string]user.User{}
	ids := storetest.Pages(t, 2, func(win page.Window) (page.Slice[user.User], error) {
		s, err := w.Users.ListUsers(t.Context(), user.FoldName(begin), win)
		for i, u := range s.Items {
			byID[s.Positions[i]] = u
		}
		return s, err
	})
	users := make([]user.User, len(ids))
	for i, id := range ids {
		users[i] = byID[id]
	}
	return users
}

func testAllUsersAreListed(t *testing.T, w *storetest.World) {
	assert.Empty(t, listed(t, w, ""))
	const carol, ada, bob, zoe = "carol@example.com", "Ada@Example.com", "bob@example.com", "Zoë@example.com"
	for i, email := range []string{carol, zoe, ada, bob} {
		signUp(t, w, fmt.Sprint("Name ", 9-i), email)
	}
	isFound(t, w, "", ada, bob, carol, zoe)
}

func testUsersAreFoundByTheirBeginning(t *testing.T, w *storetest.World) {
	signUp(t, w, "Ada Lovelace", "Ada.L@example.com")
	signUp(t, w, "Charles Babbage", "adam@example.com")
	signUp(t, w, "Adam", "charles@example.com")
	signUp(t, w, "adam@example.com", "other@example.com")
	signUp(t, w, "Jose\u0301 #1", "jose@example.com")
	signUp(t, w, strings.Repeat("\U0001D160", user.MaxName), "note@example.com")
	for begin, want := range map[string][]string{
		"ad":                               {"Ada.L@example.com", "charles@example.com", "adam@example.com", "other@example.com"},
		"ADA.":                             {"Ada.L@example.com"},
		"ada ":                             {"Ada.L@example.com"},
		" ada love":                        {"Ada.L@example.com"},
		"adam@":                            {"adam@example.com", "other@example.com"},
		"Charles":                          {"adam@example.com", "charles@example.com"},
		"JOS\u00c9":                        {"jose@example.com"},
		"jos\u00e9 #":                      {"jose@example.com"},
		"\U0001D160":                       {"note@example.com"},
		strings.Repeat("\U0001D160", 100):  {"note@example.com"},
		strings.Repeat("\U0001D160", 101):  nil,
		"lovelace":                         nil,
		"ada\tNAME":                        nil,
		strings.Repeat("a", 5000):          nil,
		"ada.l@example.com" + "\U0010FFFF": nil,
	} {
		isFound(t, w, begin, want...)
	}
}

func testWhoChangesIsFoundAnew(t *testing.T, w *storetest.World) {
	ada := signUp(t, w, "Ada", "ada@example.com")
	bob := signUp(t, w, "Bob", "bob@example.com")
	ada = change(t, w, ada, "Grace", "ada@example.com")
	isFound(t, w, "grace", "ada@example.com")
	isFound(t, w, "ada", "ada@example.com")
	ada = change(t, w, ada, "Grace", "hopper@example.com")
	isFound(t, w, "ada")
	isFound(t, w, "", "bob@example.com", "hopper@example.com")
	change(t, w, bob, "Bob", "ADA@example.com")
	isFound(t, w, "a", "ADA@example.com")
	isFound(t, w, "", "ADA@example.com", "hopper@example.com")
	change(t, w, ada, "Grace", "Hopper@Example.com")
	isFound(t, w, "hop", "Hopper@Example.com")
}
