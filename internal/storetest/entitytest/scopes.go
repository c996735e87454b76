package entitytest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
)

// ScopesSuite tests an implementation of entity.Scopes.
func ScopesSuite(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a scope is what was put":                   putScope,
		"a blocked user adds nobody":                blockedUserAddsNobody,
		"a scope is changed by one at a time":       changeScope,
		"tasks are recorded with a scope":           scopeTasks,
		"members have roles":                        scopeMembers,
		"a scope keeps an owner":                    lastOwner,
		"members and scopes are listed":             listScopes,
		"a change of members is carried out once":   memberOnce,
		"entities of clients are no scopes of ours": foreignScope,
	})
	ScopesTogether(t, open)
}

// ScopesTogether tests what [ScopesSuite] does at the same time. See [Together].
func ScopesTogether(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a scope keeps an owner whoever leaves": lastOwnerTogether,
	})
}

// SignUp creates a user.
func (w *World) SignUp(name string) entity.UserID {
	w.t.Helper()
	u := user.User{ID: user.ID(uuid.NewString()), Name: name, Email: name + "@example.com", Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now()}
	require.NoError(w.t, w.Users.CreateUser(w.Ctx, u, "issuer", name, idempotency.Key{}))
	return u.ID
}

// NewScope puts a scope of an owner.
func (w *World) NewScope(id string, owner entity.UserID) entity.Scope {
	w.t.Helper()
	s := entity.Scope{ID: id, Name: "scope " + id, Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(), Role: entity.OwnerRole}
	require.NoError(w.t, w.Entities.PutScope(w.Ctx, nil, s, &entity.Member{Scope: id, User: owner, Role: entity.OwnerRole, AddedAt: w.Clock.Now()}, nil, idempotency.Key{}))
	return s
}

// Scope returns a scope as the user sees it.
func (w *World) Scope(id string, as entity.UserID) entity.Scope {
	w.t.Helper()
	scopes, errs := w.Entities.ScopesByID(w.Ctx, as, []string{id})
	require.Nil(w.t, errs)
	return scopes[0]
}

// Put gives the user a role.
func (w *World) Put(scope string, u entity.UserID, r entity.Role) error {
	return w.Entities.PutMember(w.Ctx, "", entity.Member{Scope: scope, User: u, Role: r, AddedAt: w.Clock.Now()}, idempotency.Key{})
}

// Remove removes the user.
func (w *World) Remove(scope string, u entity.UserID) error {
	return w.Entities.DeleteMember(w.Ctx, scope, u, idempotency.Key{})
}

// Members returns "user role" of the members of a scope.
func (w *World) Members(scope string) map[entity.UserID]entity.Role {
	w.t.Helper()
	s, err := w.Entities.ListMembers(w.Ctx, scope, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	roles := map[entity.UserID]entity.Role{}
	for _, m := range s.Items {
		assert.Equal(w.t, scope, m.Scope)
		roles[m.User] = m.Role
	}
	return roles
}

func putScope(t *testing.T, w *World) {
	ada, bob := w.SignUp("ada"), w.SignUp("bob")
	s := w.NewScope("s:1", ada)
	w.NewScope("s", bob)
	assert.Equal(t, s, w.Scope("s:1", ada))
	hidden := s
	hidden.Role = entity.NoRole
	assert.Equal(t, hidden, w.Scope("s:1", bob), "no member")
	assert.Equal(t, hidden, w.Scope("s:1", ""), "nobody")
	scopes, errs := w.Entities.ScopesByID(w.Ctx, ada, []string{"none", "s:1", "s", "s:1"})
	require.Len(t, errs, 4)
	storetest.IsFault(t, errs[0], fault.NotFound)
	assert.Equal(t, []error{nil, nil, nil}, errs[1:])
	assert.Equal(t, []entity.Role{entity.OwnerRole, entity.NoRole, entity.OwnerRole}, []entity.Role{scopes[1].Role, scopes[2].Role, scopes[3].Role})

	var conflict *entity.ScopeConflict
	err := w.Entities.PutScope(w.Ctx, nil, s, &entity.Member{Scope: s.ID, User: bob, Role: entity.OwnerRole, AddedAt: w.Clock.Now()}, nil, idempotency.Key{})
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, hidden, conflict.Current)
	assert.Equal(t, entity.NoRole, w.Scope("s:1", bob).Role, "nothing was changed")
	var unknown *entity.UnknownUser
	err = w.Entities.PutScope(w.Ctx, nil, entity.Scope{ID: "s:2", Version: 1}, &entity.Member{Scope: "s:2", User: "nobody", Role: entity.OwnerRole}, nil, idempotency.Key{})
	require.ErrorAs(t, err, &unknown)
}

func changeScope(t *testing.T, w *World) {
	ada := w.SignUp("ada")
	before := w.NewScope("s", ada)
	w.Clock.Advance(time.Second)
	after := before
	after.Version, after.Name, after.UpdatedAt = 2, "changed", w.Clock.Now()
	after.Indexes = []entity.Index{
		{Name: "name", Type: "person", Path: []string{"a", "b:c"}, Kind: entity.StringKey, DeclaredAt: w.Clock.Now(), Done: 12, Pass: 1, At: "2026:x"},
		{Name: "age", Type: "person", Path: []string{"age"}, Kind: entity.NumberKey, DeclaredAt: w.Clock.Now(), Ready: true, RemovedAt: w.Clock.Now().Add(time.Second)},
	}
	require.NoError(t, w.Entities.PutScope(w.Ctx, &before, after, nil, nil, idempotency.Key{}))
	assert.Equal(t, after, w.Scope("s", ada))
	var conflict *entity.ScopeConflict
	require.ErrorAs(t, w.Entities.PutScope(w.Ctx, &before, after, nil, nil, idempotency.Key{}), &conflict)
	assert.Equal(t, after, conflict.Current)
	none := before
	none.ID = "none"
	storetest.IsFault(t, w.Entities.PutScope(w.Ctx, &none, none, nil, nil, idempotency.Key{}), fault.NotFound)

	bob := w.SignUp("bob")
	require.NoError(t, w.Put("s", bob, entity.OwnerRole), "members are no part of its version")
	again := after
	again.Version, again.Indexes = 3, nil
	require.NoError(t, w.Entities.PutScope(w.Ctx, &after, again, nil, nil, idempotency.Key{}))
	assert.Equal(t, again, w.Scope("s", ada))
	require.NoError(t, w.Remove("s", ada), "and are counted still")
	require.ErrorIs(t, w.Remove("s", bob), entity.ErrLastOwner)
}

func scopeTasks(t *testing.T, w *World) {
	ada := w.SignUp("ada")
	before := w.NewScope("s", ada)
	after := before
	after.Version = 2
	follow := []task.Task{{Kind: entity.RebuildIndex, ID: "s:name", Scope: "s", Due: w.Clock.Now()}, {Kind: entity.RebuildIndex, ID: "s:age", Scope: "s", Due: w.Clock.Now()}}
	require.NoError(t, w.Entities.PutScope(w.Ctx, &before, after, nil, follow, idempotency.Key{}))
	due, err := w.Tasks.ListDueTasks(w.Ctx, w.Clock.Now(), 10)
	require.NoError(t, err)
	assert.ElementsMatch(t, follow, due)
	stale := follow[:1]
	stale[0].ID = "s:stale"
	require.Error(t, w.Entities.PutScope(w.Ctx, &before, after, nil, stale, idempotency.Key{}))
	due, err = w.Tasks.ListDueTasks(w.Ctx, w.Clock.Now(), 10)
	require.NoError(t, err)
	assert.Len(t, due, 2, "what was not changed needs no work")
}

func scopeMembers(t *testing.T, w *World) {
	ada, bob := w.SignUp("ada"), w.SignUp("bob")
	w.NewScope("s", ada)
	w.NewScope("s2", ada)
	_, err := w.Entities.MemberByID(w.Ctx, "s", bob)
	storetest.IsFault(t, err, fault.NotFound)
	for _, r := range []entity.Role{entity.ReaderRole, entity.OwnerRole, entity.WriterRole, entity.WriterRole} {
		require.NoError(t, w.Put("s", bob, r))
		assert.Equal(t, r, w.Scope("s", bob).Role)
		w.Clock.Advance(time.Second)
	}
	assert.Equal(t, map[entity.UserID]entity.Role{ada: entity.OwnerRole, bob: entity.WriterRole}, w.Members("s"))
	s, err := w.Entities.ListMembers(w.Ctx, "s", page.Window{Limit: 10})
	require.NoError(t, err)
	since := map[entity.UserID]time.Time{ada: w.Clock.Now().Add(-4 * time.Second), bob: w.Clock.Now().Add(-2 * time.Second)}
	for _, m := range s.Items {
		assert.Equal(t, since[m.User], m.AddedAt, "when the role was given; given again it stays")
		alone, err := w.Entities.MemberByID(w.Ctx, "s", m.User)
		require.NoError(t, err)
		assert.Equal(t, m, alone)
	}
	assert.Equal(t, entity.NoRole, w.Scope("s2", bob).Role)
	require.NoError(t, w.Remove("s", bob))
	require.NoError(t, w.Remove("s", bob), "gone is gone")
	assert.Equal(t, entity.NoRole, w.Scope("s", bob).Role)
	assert.Equal(t, map[entity.UserID]entity.Role{ada: entity.OwnerRole}, w.Members("s"))

	var unknown *entity.UnknownUser
	require.ErrorAs(t, w.Put("s", "nobody", entity.ReaderRole), &unknown)
	storetest.IsFault(t, w.Put("none", bob, entity.ReaderRole), fault.NotFound)
	assert.Empty(t, w.Members("none"))
}

func lastOwner(t *testing.T, w *World) {
	ada, bob := w.SignUp("ada"), w.SignUp("bob")
	w.NewScope("s", ada)
	require.NoError(t, w.Put("s", bob, entity.WriterRole))
	require.ErrorIs(t, w.Remove("s", ada), entity.ErrLastOwner)
	require.ErrorIs(t, w.Put("s", ada, entity.ReaderRole), entity.ErrLastOwner)
	require.NoError(t, w.Put("s", bob, entity.OwnerRole))
	require.NoError(t, w.Put("s", ada, entity.ReaderRole))
	require.ErrorIs(t, w.Put("s", bob, entity.WriterRole), entity.ErrLastOwner)
	require.ErrorIs(t, w.Remove("s", bob), entity.ErrLastOwner)
	require.NoError(t, w.Remove("s", ada))
	assert.Equal(t, map[entity.UserID]entity.Role{bob: entity.OwnerRole}, w.Members("s"))
}

func lastOwnerTogether(t *testing.T, w *World) {
	users := make([]entity.UserID, 8)
	for i := range users {
		users[i] = w.SignUp(fmt.Sprint("user ", i))
	}
	w.NewScope("s", users[0])
	storetest.Together(len(users), func(i int) { assert.NoError(t, w.Put("s", users[i], entity.OwnerRole)) })
	refused := make([]bool, len(users))
	storetest.Together(len(users), func(i int) {
		var err error
		if i%2 == 0 {
			err = w.Remove("s", users[i])
		} else {
			err = w.Put("s", users[i], entity.ReaderRole)
		}
		if refused[i] = err != nil; refused[i] {
			assert.ErrorIs(t, err, entity.ErrLastOwner)
		}
	})
	owners := 0
	for _, r := range w.Members("s") {
		if r == entity.OwnerRole {
			owners++
		}
	}
	assert.Equal(t, 1, owners)
	assert.True(t, slices.Contains(refused, true))
}

func listScopes(t *testing.T, w *World) {
	ada, bob := w.SignUp("ada"), w.SignUp("bob")
	for n := range 13 {
		w.NewScope(fmt.Sprintf("s:%02d", n), ada)
	}
	scopes := func(win page.Window) (page.Slice[entity.Scope], error) {
		return w.Entities.ListScopes(w.Ctx, ada, win)
	}
	assert.Equal(t, numberedWidth("s:", 13), storetest.Pages(t, 4, scopes))
	s, err := scopes(page.Window{Limit: 1})
	require.NoError(t, err)
	assert.Equal(t, w.Scope("s:00", ada), s.Items[0])

	require.NoError(t, w.Put("s:03", bob, entity.OwnerRole))
	require.NoError(t, w.Remove("s:03", ada))
	assert.Len(t, storetest.Pages(t, 5, scopes), 12)
	s, err = w.Entities.ListScopes(w.Ctx, bob, page.Window{Limit: 10})
	require.NoError(t, err)
	assert.Equal(t, []string{"s:03"}, s.Positions)
	s, err = w.Entities.ListScopes(w.Ctx, "nobody", page.Window{Limit: 10})
	require.NoError(t, err)
	assert.Empty(t, s.Items)

	for n := range 6 {
		require.NoError(t, w.Put("s:00", w.SignUp(fmt.Sprint("member ", n)), entity.ReaderRole))
	}
	members := func(win page.Window) (page.Slice[entity.Member], error) {
		return w.Entities.ListMembers(w.Ctx, "s:00", win)
	}
	found := storetest.Pages(t, 3, members)
	assert.Len(t, found, 7)
	assert.True(t, slices.IsSorted(found))
}

// numberedWidth returns prefix00, prefix01 and so on.
func numberedWidth(prefix string, n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprintf("%s%02d", prefix, i)
	}
	return s
}

func memberOnce(t *testing.T, w *World) {
	ada, bob := w.SignUp("ada"), w.SignUp("bob")
	w.NewScope("s", ada)
	key := idempotency.Key{Viewer: "u", Key: "k", Hash: []byte("h"), ExpiresAt: w.Clock.Now().Add(idempotency.TTL), Result: []string{"id"}}
	put := func() error {
		return w.Entities.PutMember(w.Ctx, "", entity.Member{Scope: "s", User: bob, Role: entity.OwnerRole, AddedAt: w.Clock.Now()}, key)
	}
	require.NoError(t, put())
	require.NoError(t, w.Remove("s", bob))
	var replayed *idempotency.Replayed
	require.ErrorAs(t, put(), &replayed)
	assert.Equal(t, entity.NoRole, w.Scope("s", bob).Role)
	key.Key = "k2"
	require.NoError(t, w.Entities.DeleteMember(w.Ctx, "s", bob, key), "also what changes nothing")
	require.ErrorAs(t, w.Entities.DeleteMember(w.Ctx, "s", bob, key), &replayed)
	require.ErrorIs(t, w.Remove("s", ada), entity.ErrLastOwner, "owners were counted right")
}

func foreignScope(t *testing.T, w *World) {
	ada := w.SignUp("ada")
	w.NewScope("s", ada)
	for _, id := range []entity.ID{{Scope: "s", Type: "Scope", ID: "s"}, {Scope: "s", Type: "Scope", ID: "s2"}} {
		w.Set(id, map[string]any{"name": "mine"})
	}
	assert.Equal(t, "scope s", w.Scope("s", ada).Name)
	_, errs := w.Entities.ScopesByID(w.Ctx, ada, []string{"s2"})
	storetest.IsFault(t, errs[0], fault.NotFound)
}

func blockedUserAddsNobody(t *testing.T, w *World) {
	ada, bob, grace := w.SignUp("ada"), w.SignUp("bob"), w.SignUp("grace")
	w.NewScope("s", ada)
	put := func(by entity.UserID, r entity.Role) error {
		return w.Entities.PutMember(w.Ctx, by, entity.Member{Scope: "s", User: grace, Role: r, AddedAt: w.Clock.Now()}, idempotency.Key{})
	}
	require.NoError(t, w.Users.BlockUser(w.Ctx, grace, user.Block{User: ada, At: w.Clock.Now()}, idempotency.Key{}))
	var unknown *entity.UnknownUser
	require.ErrorAs(t, put(ada, entity.ReaderRole), &unknown)
	assert.NotContains(t, w.Members("s"), grace)
	require.NoError(t, put(bob, entity.ReaderRole), "who is not blocked")
	require.NoError(t, put(ada, entity.WriterRole), "a member gets other roles of all owners")
	require.NoError(t, w.Remove("s", grace))
	require.ErrorAs(t, put(ada, entity.ReaderRole), &unknown)
	require.NoError(t, w.Users.UnblockUser(w.Ctx, grace, ada, idempotency.Key{}))
	require.NoError(t, put(ada, entity.OwnerRole))
}
