package users

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/user"
)

// deletes deletes the user, who comes back as the client with a later token.
func deletes(c *apitest.Client, email string) *apitest.Client {
	c.T.Helper()
	require.Equal(c.T, "DELETED", c.Mutate("deleteUser", deleted, apitest.Vars{}).At("result.deleted.state"))
	return again(c, email)
}

func purges(c *apitest.Client) {
	c.T.Helper()
	require.Equal(c.T, "PURGING", c.Mutate("purgeDeletedUser", deletedOnly, apitest.Vars{}).At("result.deleted.state"))
}

func undoes(c *apitest.Client) {
	c.T.Helper()
	require.Equal(c.T, c.ID, c.Mutate("undoDeleteUser", back, apitest.Vars{}).At("result.user.id"))
}

// TestWhoIsDeletedDoesNotManage has a project and a scope of two who manage them, of whom one is deleted.
func TestWhoIsDeletedDoesNotManage(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob, cleo := s.User("ada@example.com"), s.User("bob@example.com"), s.User("cleo@example.com")
	birds, films := ada.Project("Birds"), ada.Space("Films")
	birds.Puts(bob, "MANAGER")
	day := birds.Puts(cleo, "TAGGIE")
	films.Member(bob, "OWNER").Member(cleo, "WRITER")
	bob = deletes(bob, "bob@example.com")

	a := ada.Mutate("deleteUser", deleted, apitest.Vars{})
	assert.ElementsMatch(t, []any{map[string]any{"nodeId": birds.ID, "name": "Birds"}, map[string]any{"nodeId": films.Scope, "name": "Films"}}, a.List("result.problem.of"), "%s", a.Body)
	byAdmin := s.Admin("root@example.com").Mutate("deleteUser", deleted, apitest.Vars{"userId": ada.ID})
	assert.Contains(t, byAdmin.Raw(), `"name":null`)
	problem := func(name string, in apitest.Vars) any {
		return ada.Mutate(name, "problem { __typename }", in).At("result.problem.__typename")
	}
	assert.Equal(t, "LastManager", problem("removeProjectMember", apitest.Vars{"projectId": birds.ID, "userId": ada.ID}))
	assert.Equal(t, "LastManager", problem("putProjectMember", apitest.Vars{"teamId": day, "userId": ada.ID}))
	assert.Equal(t, "LastOwner", problem("removeScopeMember", apitest.Vars{"scopeId": films.Scope, "userId": ada.ID}))
	assert.Equal(t, "LastOwner", problem("putScopeMember", apitest.Vars{"scopeId": films.Scope, "userId": ada.ID, "role": "WRITER"}))

	cleo = deletes(cleo, "cleo@example.com")
	ada = deletes(ada, "ada@example.com") // only deleted people are left
	undoes(bob)
	assert.Equal(t, "Birds", bob.Must(`query($i: ID!) { project(id: $i) { name } }`, apitest.Vars{"i": birds.ID}).At("project.name"))
	a = bob.Mutate("deleteUser", deleted, apitest.Vars{})
	assert.Equal(t, "DELETED", a.At("result.deleted.state"), "%s", a.Body)
	undoes(ada)
	undoes(cleo)
	assert.Nil(t, problem("removeScopeMember", apitest.Vars{"scopeId": films.Scope, "userId": bob.ID}), "who is deleted can be removed")
}

// TestWhatAnErasedUserManagedIsKeptForOthers has each thing that only the erased user manages by then.
func TestWhatAnErasedUserManagedIsKeptForOthers(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t, apitest.Within(5*time.Second))
	ada, bob, cleo := s.User("ada@example.com"), s.User("bob@example.com"), s.User("cleo@example.com")
	awaited, awaitedScope := ada.Project("Awaited"), ada.Space("Awaited")
	awaited.Puts(bob, "MANAGER")
	awaitedScope.Member(bob, "OWNER")
	inherited, inheritedScope := ada.Project("Inherited"), ada.Space("Inherited")
	inherited.Puts(cleo, "TAGGIE")
	inheritedScope.Member(cleo, "READER")
	removed, hers := ada.Project("Removed"), ada.Project("Hers")
	removed.Puts(bob, "MANAGER")
	hers.Puts(bob, "TAGGIE")
	for _, p := range []string{removed.ID, hers.ID} {
		ada.Mutate("deleteProject", "deleted { projectId }", apitest.Vars{"projectId": p})
	}
	s.During(func() {
		require.Eventually(t, func() bool { // all are former members
			return len(bob.Must(`{ viewer { deletedProjects(first: 5) { nodes { state } } } }`, nil).List("viewer.deletedProjects.nodes")) == 1
		}, apitest.Patience, 20*time.Millisecond)
	})
	bob, cleo = deletes(bob, "bob@example.com"), deletes(cleo, "cleo@example.com")
	ada = deletes(ada, "ada@example.com")
	undoes(cleo)
	purges(ada)
	erased(s, ada.ID, time.Hour)

	assert.Equal(t, "MANAGER", cleo.Must(`query($i: ID!) { project(id: $i) { viewerMember { type } } }`, apitest.Vars{"i": inherited.ID}).At("project.viewerMember.type"))
	assert.Equal(t, "OWNER", cleo.Must(`query($i: ID!) { scope(id: $i) { viewerRole } }`, apitest.Vars{"i": inheritedScope.Scope}).At("scope.viewerRole"))
	undoes(bob)
	assert.Equal(t, "MANAGER", bob.Must(`query($i: ID!) { project(id: $i) { viewerMember { type } } }`, apitest.Vars{"i": awaited.ID}).At("project.viewerMember.type"))
	assert.Equal(t, "OWNER", bob.Must(`query($i: ID!) { scope(id: $i) { viewerRole } }`, apitest.Vars{"i": awaitedScope.Scope}).At("scope.viewerRole"))
	deletedProjects := bob.Must(`{ viewer { deletedProjects(first: 5) { nodes { projectId } } } }`, nil)
	assert.Equal(t, []any{map[string]any{"projectId": removed.ID}}, deletedProjects.List("viewer.deletedProjects.nodes"))
	a := bob.Mutate("undoDeleteProject", "project { name }", apitest.Vars{"projectId": removed.ID})
	assert.Equal(t, "Removed", a.At("result.project.name"), "%s", a.Body)
}

// TestWhatNobodyManagesWaitsForItsMembers has members who do not manage and can be brought back: one who is, and one who is not. Somebody joins by an invitation
// afterwards.
func TestWhatNobodyManagesWaitsForItsMembers(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t, apitest.Within(5*time.Second))
	ada, bob, cleo := s.User("ada@example.com"), s.User("bob@example.com"), s.User("cleo@example.com")
	kept, keptScope, lost, lostScope := ada.Project("Kept"), ada.Space("Kept"), ada.Project("Lost"), ada.Space("Lost")
	kept.Puts(bob, "TAGGIE")
	keptScope.Member(bob, "READER")
	team := lost.Puts(cleo, "TAGGIE")
	lostScope.Member(cleo, "READER")
	invited := ada.Mutate("createProjectInvitation", "invitation { token }", apitest.Vars{"teamId": team}).Str("result.invitation.token")
	bob = deletes(bob, "bob@example.com")
	deletes(cleo, "cleo@example.com")
	ada = deletes(ada, "ada@example.com")
	purges(ada)
	eve := s.User("eve@example.com")
	require.Empty(t, eve.Mutate("acceptProjectInvitation", "project { id }", apitest.Vars{"token": invited}).Errors)
	id := user.ID(apitest.GlobalKey(t, ada.ID)[1])
	s.Later(time.Hour).During(func() {
		require.Eventually(t, func() bool {
			at, err := users.Store{DB: s.DB}.FindProgress(t.Context(), id)
			return assert.NoError(t, err) && at.Phase == "scopes" && at.Waits > 0
		}, apitest.Patience, 20*time.Millisecond)
	})
	undoes(bob)
	erased(s, ada.ID, domain.UndoDeletion+time.Hour)

	assert.Equal(t, "MANAGER", bob.Must(`query($i: ID!) { project(id: $i) { viewerMember { type } } }`, apitest.Vars{"i": kept.ID}).At("project.viewerMember.type"))
	assert.Equal(t, "OWNER", bob.Must(`query($i: ID!) { scope(id: $i) { viewerRole } }`, apitest.Vars{"i": keptScope.Scope}).At("scope.viewerRole"))
	assert.Nil(t, eve.Must(`query($i: ID!) { project(id: $i) { name } }`, apitest.Vars{"i": lost.ID}).At("project"), "who joined afterwards does not inherit")
	for _, gone := range []string{lost.ID, lostScope.Scope} {
		key := apitest.GlobalKey(t, gone)[1]
		assert.Empty(t, slices.DeleteFunc(s.Mentions(key), func(where string) bool { return strings.HasPrefix(where, "redis ") }), "nobody was left")
	}
}
