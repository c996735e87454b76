package projects

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestProjectsCostTheLowerBound(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(150, 120)
	p := apitest.Vars{"p": l.ID}

	t.Run("items", func(t *testing.T) {
		c := l.Measure(`query($p: ID!) { project(id: $p) { items(status: FINISHED, first: 100) { nodes {
			name project { name } category { name } subcategory { name }
			efforts { nodes { user { name } team { name } category { name } subcategory { name } item { name project { name } } } } } } } }`, p)
		items := c.List("project.items.nodes")
		require.Len(t, items, 100)
		for _, i := range items {
			e := &apitest.Answer{T: t, Body: c.Body, Data: i.(map[string]any)}
			assert.NotEmpty(t, e.Str("category.name"))
			require.Len(t, e.List("efforts.nodes"), 1)
			assert.Equal(t, e.Str("name"), (&apitest.Answer{T: t, Body: c.Body, Data: e.List("efforts.nodes")[0].(map[string]any)}).Str("item.name"))
		}
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {100}, "ategory": {5}, "ProjectItemEffort": {100}, "PROFILE": {5}, "Team": {1}}, c.Rows())
		assert.Equal(t, 100+16, c.Operations()["Query"], "one per item, and one per shard of the list")
	})
	t.Run("items without efforts", func(t *testing.T) {
		c := l.Measure(`query($p: ID!) { project(id: $p) { items(status: NEW, first: 100) { nodes { category { name } efforts { nodes { user { name } } } } } } }`, p)
		assert.Len(t, c.List("project.items.nodes"), 30)
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {30}}, c.Rows())
		assert.Equal(t, 16, c.Operations()["Query"])
	})
	t.Run("members", func(t *testing.T) {
		c := l.Measure(`query($p: ID!) { project(id: $p) { members { nodes { user { name } team { name project { name } } efforts(first: 3) { nodes { item { name category { name } } user { name } } } } } } }`, p)
		assert.Equal(t, map[string][]int{"Project": {2}, "PROFILE": {6}, "Team": {2}, "ProjectItemEffort": {15}, "ProjectItem": {15}, "ategory": {3}}, c.Rows())
		assert.Equal(t, map[string]int{"BatchGetItem": 6, "Query": 1 + 6}, c.Operations())
	})
	t.Run("teams and categories", func(t *testing.T) {
		c := l.Measure(`query($p: ID!) { project(id: $p) { teams { members { nodes { user { name } team { name } } } } subcategories { name }
			categories { name project { name } items(first: 10) { nodes { name category { name } } } } } }`, p)
		assert.Equal(t, map[string][]int{"Project": {2}, "TeamList": {1}, "ategoryList": {2}, "PROFILE": {6}, "ProjectItem": {33}}, c.Rows())
		assert.Equal(t, 2+3, c.Operations()["Query"], "one per team and one per category")
	})
	t.Run("projects", func(t *testing.T) {
		for i := range 3 {
			l.Must(`mutation($n: String!) { createProject(input: {name: $n, categories: ["A"]}) { project { id } } }`, apitest.Vars{"n": fmt.Sprint(i)})
		}
		c := l.Measure(`{ viewer { projects { nodes { name viewerMember { team { name } user { name } } categories { name items { nodes { name } } } teams { members { nodes { user { name } } } } } } } }`, nil)
		require.Len(t, c.List("viewer.projects.nodes"), 4)
		assert.Equal(t, map[string][]int{"Project": {8}, "ategoryList": {8}, "TeamList": {4}, "ProjectItem": {3 * 21}, "PROFILE": {6}}, c.Rows())
		assert.Equal(t, 1+6+5, c.Operations()["Query"], "the projects; the items of six categories; the members of five teams")
	})
	t.Run("guidelines", func(t *testing.T) {
		for _, id := range apitest.IDsOf(l.Must(`{ viewer { projects { nodes { id } } } }`, nil).List("viewer.projects.nodes"))[:3] {
			l.Mutate("updateGuidelines", "guidelines { version }", apitest.Vars{"projectId": id, "text": "Look at the bill."})
		}
		c := l.Measure(`{ viewer { projects { nodes { name guidelines { text updatedBy { name } } } } } }`, nil)
		assert.Equal(t, map[string][]int{"Project": {8}, "Guidelines": {4}, "PROFILE": {1}}, c.Rows(), "in one batch, also where there are none")
		c = l.Measure(`{ viewer { projects { nodes { name } } } }`, nil)
		assert.Equal(t, map[string][]int{"Project": {8}}, c.Rows(), "only where they are asked for")
	})
	t.Run("invitations", func(t *testing.T) {
		var token string
		for range 2 {
			token = l.Mutate("createProjectInvitation", "invitation { token }", apitest.Vars{"teamId": l.Team}).Str("result.invitation.token")
		}
		c := l.Measure(`query($p: ID!) { project(id: $p) { invitations { token team { name } createdBy { name } } } }`, p)
		require.Len(t, c.List("project.invitations"), 2)
		assert.Equal(t, map[string]int{"BatchGetItem": 3, "Query": 1}, c.Operations(), "the project, the list, the teams, the users")
		joan := s.User("joan.invited@example.com")
		c = joan.Measure(`mutation($t: String!) { acceptProjectInvitation(input: {token: $t}) { member { type } } }`, apitest.Vars{"t": token})
		assert.Equal(t, map[string]int{"BatchGetItem": 2, "TransactWriteItems": 1}, c.Operations(), "the invitation, the membership, and both with the counters")
	})
	t.Run("by external id", func(t *testing.T) {
		c := l.Measure(`query($p: ID!) { project(id: $p) { a: itemByExternalId(externalId: "e7") { name } b: itemByExternalId(externalId: "e8") { name } none: itemByExternalId(externalId: "e") { name } } }`, p)
		assert.Equal(t, "item 7", c.Str("project.a.name"))
		assert.Nil(t, c.At("project.none"))
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {3}}, c.Rows())
	})
	t.Run("nodes", func(t *testing.T) {
		c := l.Measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on ProjectItem { name category { name } efforts { nodes { user { name } } } } } }`, apitest.Vars{"ids": l.Items[:60]})
		assert.Equal(t, map[string][]int{"ProjectItem": {61}, "ategory": {3}, "ProjectItemEffort": {60}, "PROFILE": {5}}, c.Rows())
		a := l.Must(`query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }`, apitest.Vars{"ids": []string{l.ID, l.Team, l.Categories[0], l.Subcategories[0], l.Items[0], l.Imported}})
		for i, want := range []string{"Project", "Team", "Category", "Subcategory", "ProjectItem", "ProjectImport"} {
			assert.Equal(t, want, a.List("nodes")[i].(map[string]any)["__typename"])
		}
	})
}

func TestProjectsShowTheirExpectedOutcomes(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(3, 1)
	l.Mutate("updateGuidelines", "guidelines { version }", apitest.Vars{"projectId": l.ID, "text": "Look at the bill."})
	p := apitest.Vars{"p": l.ID, "t": l.Team, "u": l.Client.ID, "i": l.Items[0], "c": l.Categories[1]}
	for mutation, want := range map[string]apitest.Vars{
		`createTeam(input: {projectId: $p, name: "labellers", type: TAGGIE}) { problem { __typename ... on NameTaken { field } } }`: {
			"__typename": "NameTaken", "field": "input.name"},
		`addProjectCategories(input: {projectId: $p, subcategories: ["wild"]}) { problem { __typename ... on NameTaken { field } } }`: {
			"__typename": "NameTaken", "field": "input.subcategories"},
		`updateProject(input: {projectId: $p, name: "x", expectedVersion: 7}) { problem { __typename ... on ProjectConflict { current { version viewerMember { team { name } } } } } }`: {
			"__typename": "ProjectConflict", "current": map[string]any{"version": 1., "viewerMember": map[string]any{"team": map[string]any{"name": "Managers"}}}},
		`updateGuidelines(input: {projectId: $p, text: "x", expectedVersion: 7}) { guidelines { version } problem { __typename ... on GuidelinesConflict { current { text updatedBy { name } } } } }`: {
			"__typename": "GuidelinesConflict", "current": map[string]any{"text": "Look at the bill.", "updatedBy": map[string]any{"name": "Somebody"}}},
		`removeProjectMember(input: {projectId: $p, userId: $u}) { problem { __typename } }`: {"__typename": "LastManager"},
		`putProjectMember(input: {teamId: $t, userId: $u}) { problem { __typename } }`:       {"__typename": "LastManager"},
		`putProjectMember(input: {teamId: $t, email: "nobody@example.com"}) { problem { __typename ... on UnknownUser { field } } }`: {
			"__typename": "UnknownUser", "field": "input.email"},
		`finishProjectItem(input: {itemId: $i, token: "none", categoryId: $c}) { problem { __typename ... on LeaseLost { current { status category { name } efforts { nodes { user { name } } } } } } }`: {
			"__typename": "LeaseLost", "current": map[string]any{"status": "FINISHED", "category": map[string]any{"name": "Duck"},
				"efforts": map[string]any{"nodes": []any{map[string]any{"user": map[string]any{"name": "Somebody"}}}}}},
	} {
		name, _, _ := strings.Cut(mutation, "(")
		used, parameters := apitest.Vars{}, ""
		for v, value := range p {
			if strings.Contains(mutation, "$"+v) {
				used[v], parameters = value, parameters+" $"+v+": ID!"
			}
		}
		a := l.Must("mutation("+parameters+") { "+mutation+" }", used)
		assert.Equal(t, map[string]any(want), a.At(name+".problem"), mutation)
	}
}

func TestExportsAreDownloadedUnderASafeName(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(3, 2)
	a := l.Must(`mutation($p: ID!) { createProjectExport(input: {projectId: $p, format: CSV, status: FINISHED}) { export { id bytes url } } }`, apitest.Vars{"p": l.ID})
	assert.Nil(t, a.At("createProjectExport.export.url"))
	assert.Nil(t, a.At("createProjectExport.export.bytes"))
	id := a.Str("createProjectExport.export.id")
	s.During(func() { l.Becomes("DONE", id) })
	resp, err := http.Get(l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectExport { url } } }`, apitest.Vars{"i": id}).Str("node.url"))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "attachment; filename=Birds-of-2027-results.csv", resp.Header.Get("Content-Disposition"))
	assert.Equal(t, 1+2, strings.Count(string(text), "\n"), "%s", text)

	for _, other := range []*apitest.Client{l.Labellers[0], s.User("stranger@example.com")} {
		a := other.Do(`query($i: ID!) { node(id: $i) { ... on ProjectExport { url } } }`, apitest.Vars{"i": id})
		assert.Nil(t, a.At("node"), "%s", a.Body)
	}
}

func TestCursorsOfProjectsAreBoundToTheirList(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(3, 1)
	v := apitest.Vars{"p": l.ID, "i": l.Items[0], "c": l.Must(`query($p: ID!) { project(id: $p) { items(status: NEW, first: 1) { pageInfo { endCursor } } } }`, apitest.Vars{"p": l.ID}).Str("project.items.pageInfo.endCursor")}
	for _, list := range []string{
		`project(id: $p) { items(after: $c) { nodes { id } } }`,
		`project(id: $p) { members(after: $c) { nodes { type } } }`,
		`project(id: $p) { imports(after: $c) { nodes { id } } }`,
		`node(id: $i) { ... on ProjectItem { efforts(after: $c) { nodes { id } } } }`,
		`node(id: $i) { ... on ProjectItem { category { items(after: $c) { nodes { id } } } } }`,
	} {
		used, parameters := apitest.Vars{}, ""
		for name, typ := range map[string]string{"p": "ID!", "i": "ID!", "c": "Cursor"} {
			if strings.Contains(list, "$"+name) {
				used[name], parameters = v[name], parameters+" $"+name+": "+typ
			}
		}
		l.Do("query("+parameters+") { "+list+" }", used).Fails("INVALID_INPUT", "after")
	}
}
