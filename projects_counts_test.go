package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

// during does something while the server runs what runs in the background, whose own reads must not be counted as those of a
// request.
func (s *testServer) during(something func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.app.tasks.Run(ctx) }()
	defer func() { cancel(); <-done }()
	something()
}

// crew is a project with two teams, six members, and items of which some are finished.
type crew struct {
	*client
	id, team, imported string
	labellers          []*client
	categories         []string
	subcategories      []string
	items              []string // the finished ones first
}

// labelled makes a project of n items, of which the first are finished, by five labellers in turn.
func (s *testServer) labelled(n, finished int) crew {
	s.t.Helper()
	l := crew{client: s.user("manager@example.com")}
	a := l.must(`mutation { createProject(input: {name: "Birds / of \"2027\"", categories: ["Duck", "Goose", "Swan"], subcategories: ["Wild", "Tame"]}) {
		project { id categories { id } subcategories { id } } } }`, nil)
	l.id = a.str("createProject.project.id")
	l.categories, l.subcategories = idsOf(a.list("createProject.project.categories")), idsOf(a.list("createProject.project.subcategories"))
	l.team = l.must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Labellers", type: TAGGIE}) { team { id } } }`, vars{"p": l.id}).str("createTeam.team.id")
	for i := range 5 {
		u := s.user(fmt.Sprintf("labeller%d@example.com", i))
		l.labellers = append(l.labellers, u)
		l.must(`mutation($t: ID!, $u: ID!) { putProjectMember(input: {teamId: $t, userId: $u}) { member { type } } }`, vars{"t": l.team, "u": u.id})
	}
	var lines strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&lines, "{\"externalId\":\"e%d\",\"name\":\"item %d\"}\n", i, i)
	}
	s.during(func() { l.imports(lines.String()) })
	require.Eventually(s.t, func() bool { // the list lags behind by moments
		l.items = idsOf(l.must(`query($p: ID!) { project(id: $p) { items(first: 500) { nodes { id } } } }`, vars{"p": l.id}).list("project.items.nodes"))
		return len(l.items) == n
	}, 10*time.Second, 20*time.Millisecond)
	done := make([]string, 0, n)
	for i := range finished {
		who := l.labellers[i%5]
		have := l.claimed(who, 1)[0]
		l.finished(who, have, vars{"categoryId": l.categories[i%3], "subcategoryId": l.subcategories[i%2]})
		done = append(done, have.id)
	}
	l.items = append(done, slices.DeleteFunc(l.items, func(id string) bool { return slices.Contains(done, id) })...)
	return l
}

func idsOf(nodes []any) []string {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.(map[string]any)["id"].(string)
	}
	return ids
}

// awaiting creates an import of a file of so many bytes, and returns what uploads the file and tells the status of the answer.
func (l crew) awaiting(format string, bytes int) (id string, upload func(text string) int) {
	l.t.Helper()
	a := l.must(`mutation($p: ID!, $f: FileFormat!, $b: Int64!) { createProjectImport(input: {projectId: $p, format: $f, bytes: $b}) {
		import { id state } upload { method url headers { name value } } } }`, vars{"p": l.id, "f": format, "b": bytes})
	return a.str("createProjectImport.import.id"), func(text string) int {
		l.t.Helper()
		r, err := http.NewRequestWithContext(l.t.Context(), a.str("createProjectImport.upload.method"), a.str("createProjectImport.upload.url"), strings.NewReader(text))
		require.NoError(l.t, err)
		for _, h := range a.list("createProjectImport.upload.headers") {
			h := h.(map[string]any)
			r.Header.Set(h["name"].(string), h["value"].(string))
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(l.t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(l.t, err)
		require.NoError(l.t, resp.Body.Close())
		return resp.StatusCode
	}
}

const startImport = `mutation($i: ID!) { startProjectImport(input: {importId: $i}) { import { id state } } }`

// imports uploads a file of items, and waits for them.
func (l *crew) imports(text string) {
	l.t.Helper()
	id, upload := l.awaiting("JSON_LINES", len(text))
	l.do(startImport, vars{"i": id}).fails("CONFLICT", "") // nothing is there yet
	require.Equal(l.t, http.StatusOK, upload(text))
	l.must(startImport, vars{"i": id})
	l.becomes("DONE", id)
	l.imported = id
}

// becomes waits for the state of an import or export.
func (l *crew) becomes(state, id string) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		a := l.must(`query($i: ID!) { node(id: $i) { ... on ProjectImport { state } ... on ProjectExport { state } } }`, vars{"i": id})
		return a.str("node.state") == state
	}, 20*time.Second, 20*time.Millisecond)
}

// rows returns how many keys each BatchGetItem asked for, by the kind of its first key.
func (c cost) rows() map[string][]int {
	rows := map[string][]int{}
	for _, call := range c.Calls(faultinject.Operation("BatchGetItem")) {
		name := "memberships"
		for _, known := range []string{"PROFILE", "ProjectItemEffort", "ProjectItem", "Project\"", "ategoryList", "TeamList", "ategory", "Team", "Import", "Export"} {
			if strings.Contains(call.Keys[0].Attributes, known) {
				name = strings.Trim(known, `"`)
				break
			}
		}
		rows[name] = append(rows[name], len(call.Keys))
	}
	return rows
}

func TestProjectsCostTheLowerBound(t *testing.T) {
	s := newServer(t)
	l := s.labelled(150, 120)
	p := vars{"p": l.id}

	t.Run("items", func(t *testing.T) {
		c := l.measure(`query($p: ID!) { project(id: $p) { items(status: FINISHED, first: 100) { nodes {
			name project { name } category { name } subcategory { name }
			efforts { nodes { user { name } team { name } category { name } subcategory { name } item { name project { name } } } } } } } }`, p)
		items := c.list("project.items.nodes")
		require.Len(t, items, 100)
		for _, i := range items {
			e := &answer{t: t, body: c.body, Data: i.(map[string]any)}
			assert.NotEmpty(t, e.str("category.name"))
			require.Len(t, e.list("efforts.nodes"), 1)
			assert.Equal(t, e.str("name"), (&answer{t: t, body: c.body, Data: e.list("efforts.nodes")[0].(map[string]any)}).str("item.name"))
		}
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {100}, "ategory": {5}, "ProjectItemEffort": {100}, "PROFILE": {5}, "Team": {1}}, c.rows())
		assert.Equal(t, 100+16, c.Operations()["Query"], "one per item, and one per shard of the list")
	})
	t.Run("items without efforts", func(t *testing.T) {
		c := l.measure(`query($p: ID!) { project(id: $p) { items(status: NEW, first: 100) { nodes { category { name } efforts { nodes { user { name } } } } } } }`, p)
		assert.Len(t, c.list("project.items.nodes"), 30)
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {30}}, c.rows())
		assert.Equal(t, 16, c.Operations()["Query"])
	})
	t.Run("members", func(t *testing.T) {
		c := l.measure(`query($p: ID!) { project(id: $p) { members { nodes { user { name } team { name project { name } } efforts(first: 3) { nodes { item { name category { name } } user { name } } } } } } }`, p)
		assert.Equal(t, map[string][]int{"Project": {2}, "PROFILE": {6}, "Team": {2}, "ProjectItemEffort": {15}, "ProjectItem": {15}, "ategory": {3}}, c.rows())
		assert.Equal(t, map[string]int{"BatchGetItem": 6, "Query": 1 + 6}, c.Operations())
	})
	t.Run("teams and categories", func(t *testing.T) {
		c := l.measure(`query($p: ID!) { project(id: $p) { teams { members { nodes { user { name } team { name } } } } subcategories { name }
			categories { name project { name } items(first: 10) { nodes { name category { name } } } } } }`, p)
		assert.Equal(t, map[string][]int{"Project": {2}, "TeamList": {1}, "ategoryList": {2}, "PROFILE": {6}, "ProjectItem": {33}}, c.rows())
		assert.Equal(t, 2+3, c.Operations()["Query"], "one per team and one per category")
	})
	t.Run("projects", func(t *testing.T) {
		for i := range 3 {
			l.must(`mutation($n: String!) { createProject(input: {name: $n, categories: ["A"]}) { project { id } } }`, vars{"n": fmt.Sprint(i)})
		}
		c := l.measure(`{ viewer { projects { nodes { name viewerMember { team { name } user { name } } categories { name items { nodes { name } } } teams { members { nodes { user { name } } } } } } } }`, nil)
		require.Len(t, c.list("viewer.projects.nodes"), 4)
		assert.Equal(t, map[string][]int{"Project": {8}, "ategoryList": {8}, "TeamList": {4}, "ProjectItem": {3 * 21}, "PROFILE": {6}}, c.rows())
		assert.Equal(t, 1+6+5, c.Operations()["Query"], "the projects; the items of six categories; the members of five teams")
	})
	t.Run("by external id", func(t *testing.T) {
		c := l.measure(`query($p: ID!) { project(id: $p) { a: itemByExternalId(externalId: "e7") { name } b: itemByExternalId(externalId: "e8") { name } none: itemByExternalId(externalId: "e") { name } } }`, p)
		assert.Equal(t, "item 7", c.str("project.a.name"))
		assert.Nil(t, c.at("project.none"))
		assert.Equal(t, map[string][]int{"Project": {2}, "ProjectItem": {3}}, c.rows())
	})
	t.Run("nodes", func(t *testing.T) {
		c := l.measure(`query($ids: [ID!]!) { nodes(ids: $ids) { ... on ProjectItem { name category { name } efforts { nodes { user { name } } } } } }`, vars{"ids": l.items[:60]})
		assert.Equal(t, map[string][]int{"ProjectItem": {61}, "ategory": {3}, "ProjectItemEffort": {60}, "PROFILE": {5}}, c.rows())
		a := l.must(`query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }`, vars{"ids": []string{l.id, l.team, l.categories[0], l.subcategories[0], l.items[0], l.imported}})
		for i, want := range []string{"Project", "Team", "Category", "Subcategory", "ProjectItem", "ProjectImport"} {
			assert.Equal(t, want, a.list("nodes")[i].(map[string]any)["__typename"])
		}
	})
}

func TestProjectsShowTheirExpectedOutcomes(t *testing.T) {
	s := newServer(t)
	l := s.labelled(3, 1)
	p := vars{"p": l.id, "t": l.team, "u": l.client.id, "i": l.items[0], "c": l.categories[1]}
	for mutation, want := range map[string]vars{
		`createTeam(input: {projectId: $p, name: "labellers", type: TAGGIE}) { problem { __typename ... on NameTaken { field } } }`: {
			"__typename": "NameTaken", "field": "input.name"},
		`addProjectCategories(input: {projectId: $p, subcategories: ["wild"]}) { problem { __typename ... on NameTaken { field } } }`: {
			"__typename": "NameTaken", "field": "input.subcategories"},
		`updateProject(input: {projectId: $p, name: "x", expectedVersion: 7}) { problem { __typename ... on ProjectConflict { current { version viewerMember { team { name } } } } } }`: {
			"__typename": "ProjectConflict", "current": map[string]any{"version": 1., "viewerMember": map[string]any{"team": map[string]any{"name": "Managers"}}}},
		`removeProjectMember(input: {projectId: $p, userId: $u}) { problem { __typename } }`: {"__typename": "LastManager"},
		`putProjectMember(input: {teamId: $t, userId: $u}) { problem { __typename } }`:       {"__typename": "LastManager"},
		`putProjectMember(input: {teamId: $t, email: "nobody@example.com"}) { problem { __typename ... on UnknownUser { field } } }`: {
			"__typename": "UnknownUser", "field": "input.email"},
		`finishProjectItem(input: {itemId: $i, token: "none", categoryId: $c}) { problem { __typename ... on LeaseLost { current { status category { name } efforts { nodes { user { name } } } } } } }`: {
			"__typename": "LeaseLost", "current": map[string]any{"status": "FINISHED", "category": map[string]any{"name": "Duck"},
				"efforts": map[string]any{"nodes": []any{map[string]any{"user": map[string]any{"name": "Somebody"}}}}}},
	} {
		name, _, _ := strings.Cut(mutation, "(")
		used, parameters := vars{}, ""
		for v, value := range p {
			if strings.Contains(mutation, "$"+v) {
				used[v], parameters = value, parameters+" $"+v+": ID!"
			}
		}
		a := l.must("mutation("+parameters+") { "+mutation+" }", used)
		assert.Equal(t, map[string]any(want), a.at(name+".problem"), mutation)
	}
}

func TestExportsAreDownloadedUnderASafeName(t *testing.T) {
	s := newServer(t)
	l := s.labelled(3, 2)
	a := l.must(`mutation($p: ID!) { createProjectExport(input: {projectId: $p, format: CSV, status: FINISHED}) { export { id bytes url } } }`, vars{"p": l.id})
	assert.Nil(t, a.at("createProjectExport.export.url"))
	assert.Nil(t, a.at("createProjectExport.export.bytes"))
	id := a.str("createProjectExport.export.id")
	s.during(func() { l.becomes("DONE", id) })
	resp, err := http.Get(l.must(`query($i: ID!) { node(id: $i) { ... on ProjectExport { url } } }`, vars{"i": id}).str("node.url"))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "attachment; filename=Birds-of-2027-results.csv", resp.Header.Get("Content-Disposition"))
	assert.Equal(t, 1+2, strings.Count(string(text), "\n"), "%s", text)

	for _, other := range []*client{l.labellers[0], s.user("stranger@example.com")} {
		a := other.do(`query($i: ID!) { node(id: $i) { ... on ProjectExport { url } } }`, vars{"i": id})
		assert.Nil(t, a.at("node"), "%s", a.body)
	}
}

func TestCursorsOfProjectsAreBoundToTheirList(t *testing.T) {
	s := newServer(t)
	l := s.labelled(3, 1)
	v := vars{"p": l.id, "i": l.items[0], "c": l.must(`query($p: ID!) { project(id: $p) { items(status: NEW, first: 1) { pageInfo { endCursor } } } }`, vars{"p": l.id}).str("project.items.pageInfo.endCursor")}
	for _, list := range []string{
		`project(id: $p) { items(after: $c) { nodes { id } } }`,
		`project(id: $p) { members(after: $c) { nodes { type } } }`,
		`project(id: $p) { imports(after: $c) { nodes { id } } }`,
		`node(id: $i) { ... on ProjectItem { efforts(after: $c) { nodes { id } } } }`,
		`node(id: $i) { ... on ProjectItem { category { items(after: $c) { nodes { id } } } } }`,
	} {
		used, parameters := vars{}, ""
		for name, typ := range map[string]string{"p": "ID!", "i": "ID!", "c": "Cursor"} {
			if strings.Contains(list, "$"+name) {
				used[name], parameters = v[name], parameters+" $"+name+": "+typ
			}
		}
		l.do("query("+parameters+") { "+list+" }", used).fails("INVALID_INPUT", "after")
	}
}
