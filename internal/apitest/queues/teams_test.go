package queues

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const (
	deletedTeam   = "team { id name deletedAt } project { teams { id name } members(first: 100) { nodes { user { id } team { id } type } } } problem { __typename }"
	teamOfMembers = `query($p: ID!) { project(id: $p) { teams { id } members(first: 100) { nodes { user { id } team { id } type } } } }`
)

// teamsOf counts the members of each team.
func teamsOf(l apitest.Crew) map[string]int {
	l.T.Helper()
	teams := map[string]int{}
	for _, node := range l.Must(teamOfMembers, apitest.Vars{"p": l.ID}).List("project.members.nodes") {
		teams[node.(map[string]any)["team"].(map[string]any)["id"].(string)]++
	}
	return teams
}

// The members of a deleted team move to another one, or leave; what they have and did stays.
func TestATeamIsDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(6, 2)
	reviewer := l.Reviewer()
	ada := l.Labellers[0]
	held := l.Claimed(ada, 1)[0]
	effort := l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { efforts(first: 1) { nodes { id } } } } }`, apitest.Vars{"i": l.Items[0]}).List("node.efforts.nodes")[0].(map[string]any)["id"]
	night := l.Must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Night", type: TAGGIE}) { team { id } } }`, apitest.Vars{"p": l.ID}).Str("createTeam.team.id")

	in := apitest.Vars{"teamId": l.Team, "moveTo": night}
	ada.Mutate("deleteTeam", deletedTeam, in).Fails("FORBIDDEN", "")
	reviewer.Mutate("deleteTeam", deletedTeam, in).Fails("FORBIDDEN", "")
	a := l.Mutate("deleteTeam", deletedTeam, in)
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, []any{l.Team, "Labellers"}, []any{a.At("result.team.id"), a.At("result.team.name")})
	assert.WithinDuration(t, time.Now(), a.Time("result.team.deletedAt"), time.Minute)
	assert.NotContains(t, apitest.IDsOf(a.List("result.project.teams")), l.Team)
	assert.Equal(t, 5, teamsOf(l)[night], "in the same step")
	again := l.Mutate("deleteTeam", deletedTeam, in)
	assert.Equal(t, a.At("result.team"), again.At("result.team"))
	l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": l.Team, "userId": ada.ID}).Fails("NOT_FOUND", "")
	l.Mutate("renameTeam", "team { id }", apitest.Vars{"teamId": l.Team, "name": "Other"}).Fails("NOT_FOUND", "")
	shown := l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItemEffort { team { id name deletedAt } } } }`, apitest.Vars{"i": effort})
	assert.Equal(t, a.At("result.team"), shown.At("node.team"), "what was done still tells of it")
	l.Finished(ada, held)
	l.Claimed(ada, 1)
	l.Counts("2 1 3 0")

	a = l.Mutate("deleteTeam", deletedTeam, apitest.Vars{"teamId": night})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Len(t, a.List("result.project.members.nodes"), 2, "the manager and the reviewer")
	assert.Nil(t, ada.Do(`query($p: ID!) { project(id: $p) { id } }`, apitest.Vars{"p": l.ID}).At("project"))
	assert.Empty(t, ada.Must(`{ viewer { projects { nodes { id } } } }`, nil).List("viewer.projects.nodes"))
	l.Counts("3 0 3 0") // what they had is given back

	managers := l.Must(teamOfMembers, apitest.Vars{"p": l.ID})
	first := apitest.IDsOf(managers.List("project.teams"))[0]
	a = l.Mutate("deleteTeam", deletedTeam, apitest.Vars{"teamId": first})
	assert.Equal(t, "LastManager", a.At("result.problem.__typename"), "%s", a.Body)
	second := l.Must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Bosses", type: MANAGER}) { team { id } } }`, apitest.Vars{"p": l.ID}).Str("createTeam.team.id")
	a = l.Mutate("deleteTeam", deletedTeam, apitest.Vars{"teamId": first, "moveTo": second})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, 1, teamsOf(l)[second])
}
