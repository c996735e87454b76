package projects

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const history = `query($p: ID!, $after: Cursor) { project(id: $p) { history(first: 3, after: $after) {
	edges { cursor } nodes { at type subject by { id name } member { id name } fields { name before after } } pageInfo { hasNextPage hasPreviousPage endCursor } } } }`

// Managers read who changed what, the newest first, in pages.
func TestManagersReadTheHistory(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada := s.User("ada.history@example.com")
	grace := s.User("grace.history@example.com")
	made := ada.Must(`mutation { createProject(input: {name: "Birds", categories: ["owl"]}) { project { id categories { id } } } }`, nil)
	p := made.Str("createProject.project.id")
	owl := made.List("createProject.project.categories")[0].(map[string]any)["id"]
	ada.Mutate("updateProject", "project { version }", apitest.Vars{"projectId": p, "name": "Owls", "leaseMinutes": 30})
	ada.Mutate("updateProject", "project { version }", apitest.Vars{"projectId": p, "name": "Owls"}) // which changes nothing
	ada.Mutate("updateCategory", "category { name }", apitest.Vars{"categoryId": owl, "name": "eagle owl"})
	team := ada.Mutate("createTeam", "team { id }", apitest.Vars{"projectId": p, "name": "Day", "type": "TAGGIE"}).Str("result.team.id")
	ada.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": team, "userId": grace.ID})
	ada.Mutate("renameTeam", "team { name }", apitest.Vars{"teamId": team, "name": "Night"})
	grace.Mutate("removeProjectMember", "user { id }", apitest.Vars{"projectId": p, "userId": grace.ID})
	ada.Mutate("pauseProject", "project { paused }", apitest.Vars{"projectId": p})

	field := func(name string, before, after any) any {
		return map[string]any{"name": name, "before": before, "after": after}
	}
	want := []struct {
		typ     string
		subject any
		by      *apitest.Client
		member  *apitest.Client
		fields  []any
	}{
		{"PROJECT_UPDATED", nil, ada, nil, []any{field("paused", "false", "true")}},
		{"MEMBER_REMOVED", nil, grace, grace, []any{field("team", "Night", nil)}},
		{"TEAM_RENAMED", "Day", ada, nil, []any{field("name", "Day", "Night")}},
		{"MEMBER_ADDED", nil, ada, grace, []any{field("team", nil, "Night")}},
		{"TEAM_CREATED", "Day", ada, nil, []any{field("type", nil, "TAGGIE")}},
		{"CATEGORY_UPDATED", "owl", ada, nil, []any{field("name", "owl", "eagle owl")}},
		{"PROJECT_UPDATED", nil, ada, nil, []any{field("name", "Birds", "Owls"), field("leaseMinutes", "15", "30")}},
		{"PROJECT_CREATED", nil, ada, nil, []any{field("name", nil, "Birds")}},
	}
	who := func(c *apitest.Client) any {
		if c == nil {
			return nil
		}
		return c.ID
	}
	var after any
	for n := 0; n < len(want); n += 3 {
		a := ada.Must(history, apitest.Vars{"p": p, "after": after})
		nodes := a.List("project.history.nodes")
		require.Len(t, nodes, min(3, len(want)-n))
		for i, node := range nodes {
			is := node.(map[string]any)
			id := func(of any) any {
				if of == nil {
					return nil
				}
				return of.(map[string]any)["id"]
			}
			w := want[n+i]
			assert.Equal(t, []any{w.typ, w.subject, who(w.by), who(w.member), w.fields}, []any{is["type"], is["subject"], id(is["by"]), id(is["member"]), is["fields"]})
		}
		assert.Equal(t, []any{n+3 < len(want), n > 0}, []any{a.At("project.history.pageInfo.hasNextPage"), a.At("project.history.pageInfo.hasPreviousPage")})
		after = a.At("project.history.pageInfo.endCursor")
	}

	c := ada.Measure(`query($p: ID!) { project(id: $p) { history(first: 3) { nodes { type by { name } member { name } fields { name } } } } }`, apitest.Vars{"p": p})
	assert.Equal(t, map[string]int{"BatchGetItem": 3, "Query": 1}, c.Operations(), "the project; the changes; the names of teams; the people")

	ada.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": team, "userId": grace.ID})
	grace.Do(history, apitest.Vars{"p": p}).Fails("FORBIDDEN", "")
}
