package apitest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

// During does something while the server runs what runs in the background, whose own reads must not be counted as those of a
// request.
func (s *Server) During(something func()) {
	ctx, cancel := context.WithCancel(s.T.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.App.Tasks.Run(ctx) }()
	defer func() { cancel(); <-done }()
	something()
}

// Crew is a project with two teams, six members, and items of which some are finished.
type Crew struct {
	*Client
	ID, Team, Imported string
	Labellers          []*Client
	Categories         []string
	Subcategories      []string
	Items              []string // the finished ones first
}

// Labelled makes a project of n items, of which the first are finished, by five labellers in turn.
func (s *Server) Labelled(n, finished int) Crew {
	s.T.Helper()
	l := Crew{Client: s.User("manager@example.com")}
	a := l.Must(`mutation { createProject(input: {name: "Birds / of \"2027\"", categories: ["Duck", "Goose", "Swan"], subcategories: ["Wild", "Tame"]}) {
		project { id categories { id } subcategories { id } } } }`, nil)
	l.ID = a.Str("createProject.project.id")
	l.Categories, l.Subcategories = IDsOf(a.List("createProject.project.categories")), IDsOf(a.List("createProject.project.subcategories"))
	l.Team = l.Must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Labellers", type: TAGGIE}) { team { id } } }`, Vars{"p": l.ID}).Str("createTeam.team.id")
	for i := range 5 {
		u := s.User(fmt.Sprintf("labeller%d@example.com", i))
		l.Labellers = append(l.Labellers, u)
		l.Must(`mutation($t: ID!, $u: ID!) { putProjectMember(input: {teamId: $t, userId: $u}) { member { type } } }`, Vars{"t": l.Team, "u": u.ID})
	}
	var lines strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&lines, "{\"externalId\":\"e%d\",\"name\":\"item %d\"}\n", i, i)
	}
	s.During(func() { l.Imports(lines.String()) })
	require.Eventually(s.T, func() bool { // the list lags behind by moments
		l.Items = IDsOf(l.Must(`query($p: ID!) { project(id: $p) { items(first: 500) { nodes { id } } } }`, Vars{"p": l.ID}).List("project.items.nodes"))
		return len(l.Items) == n
	}, 10*time.Second, 20*time.Millisecond)
	done := make([]string, 0, n)
	for i := range finished {
		who := l.Labellers[i%5]
		have := l.Claimed(who, 1)[0]
		l.Finished(who, have, Vars{"categoryId": l.Categories[i%3], "subcategoryId": l.Subcategories[i%2]})
		done = append(done, have.ID)
	}
	l.Items = append(done, slices.DeleteFunc(l.Items, func(id string) bool { return slices.Contains(done, id) })...)
	return l
}

// IDsOf returns the ids of users.
func IDsOf(nodes []any) []string {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.(map[string]any)["id"].(string)
	}
	return ids
}

// Awaiting creates an import of a file of so many bytes, and returns what uploads the file and tells the status of the answer.
func (l Crew) Awaiting(format string, bytes int) (id string, upload func(text string) int) {
	l.T.Helper()
	a := l.Must(`mutation($p: ID!, $f: FileFormat!, $b: Int64!) { createProjectImport(input: {projectId: $p, format: $f, bytes: $b}) {
		import { id state } upload { method url headers { name value } } } }`, Vars{"p": l.ID, "f": format, "b": bytes})
	return a.Str("createProjectImport.import.id"), func(text string) int {
		l.T.Helper()
		r, err := http.NewRequestWithContext(l.T.Context(), a.Str("createProjectImport.upload.method"), a.Str("createProjectImport.upload.url"), strings.NewReader(text))
		require.NoError(l.T, err)
		for _, h := range a.List("createProjectImport.upload.headers") {
			h := h.(map[string]any)
			r.Header.Set(h["name"].(string), h["value"].(string))
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(l.T, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(l.T, err)
		require.NoError(l.T, resp.Body.Close())
		return resp.StatusCode
	}
}

// StartImport starts an import whose file is there.
const StartImport = `mutation($i: ID!) { startProjectImport(input: {importId: $i}) { import { id state } } }`

// Imports uploads a file of items, and waits for them.
func (l *Crew) Imports(text string) {
	l.T.Helper()
	id, upload := l.Awaiting("JSON_LINES", len(text))
	l.Do(StartImport, Vars{"i": id}).Fails("CONFLICT", "") // nothing is there yet
	require.Equal(l.T, http.StatusOK, upload(text))
	l.Must(StartImport, Vars{"i": id})
	l.Becomes("DONE", id)
	l.Imported = id
}

// Becomes waits for the state of an import or export.
func (l *Crew) Becomes(state, id string) {
	l.T.Helper()
	require.Eventually(l.T, func() bool {
		a := l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectImport { state } ... on ProjectExport { state } } }`, Vars{"i": id})
		return a.Str("node.state") == state
	}, 20*time.Second, 20*time.Millisecond)
}

// Rows returns how many keys each BatchGetItem asked for, by the kind of its first key.
func (c Cost) Rows() map[string][]int {
	rows := map[string][]int{}
	for _, call := range c.Calls(faultinject.Operation("BatchGetItem")) {
		name := "memberships"
		for _, known := range []string{"PROFILE", "ProjectItemEffort", "ProjectItem", "Project\"", "ategoryList", "TeamList", "ategory", "Team", "Import", "Export", "Guidelines"} {
			if strings.Contains(call.Keys[0].Attributes, known) {
				name = strings.Trim(known, `"`)
				break
			}
		}
		rows[name] = append(rows[name], len(call.Keys))
	}
	return rows
}

// transfer is all that a client sees of an import.
const transfer = `state message bytes bytesRead lines imported duplicates mistakes faults { line message } endedAt`

// ImportedAs uploads a file, waits until its import has ended in the state, and returns it.
func (l Crew) ImportedAs(state, format, text string) *Answer {
	l.T.Helper()
	id, upload := l.Awaiting(format, len(text))
	require.Equal(l.T, http.StatusOK, upload(text))
	l.Must(StartImport, Vars{"i": id})
	l.During(func() { l.Becomes(state, id) })
	return l.AnImport(id)
}

// AnImport returns how far an import is.
func (l Crew) AnImport(id string) *Answer {
	l.T.Helper()
	a := l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectImport { `+transfer+` project { id } createdBy { id } } } }`, Vars{"i": id})
	return &Answer{T: l.T, Body: a.Body, Data: a.At("node").(map[string]any)}
}

// ExternalIDs returns those of all items of the project, in no order.
func (l Crew) ExternalIDs() (all []string) {
	l.T.Helper()
	cursor := any(nil)
	for {
		a := l.Must(`query($p: ID!, $c: Cursor) { project(id: $p) { items(first: 500, after: $c) { nodes { externalId } pageInfo { hasNextPage endCursor } } } }`, Vars{"p": l.ID, "c": cursor})
		for _, node := range a.List("project.items.nodes") {
			all = append(all, node.(map[string]any)["externalId"].(string))
		}
		if a.At("project.items.pageInfo.hasNextPage") == false {
			return all
		}
		cursor = a.At("project.items.pageInfo.endCursor")
	}
}

// Project creates a project without anything in it.
func (c *Client) Project(name string) Crew {
	c.T.Helper()
	a := c.Must(`mutation($n: String!) { createProject(input: {name: $n, categories: ["Duck", "Goose"]}) { project { id categories { id } } } }`, Vars{"n": name})
	return Crew{Client: c, ID: a.Str("createProject.project.id"), Categories: IDsOf(a.List("createProject.project.categories"))}
}

// Lines is a file of items from..to.
func Lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		_, _ = fmt.Fprintf(&b, "{\"externalId\":\"e%05d\",\"name\":\"item %d\"}\n", i, i)
	}
	return b.String()
}

// Unique returns the different ones of them.
func Unique(all []string) map[string]bool {
	set := map[string]bool{}
	for _, one := range all {
		set[one] = true
	}
	return set
}

// Exported has the results of a project written, and returns the file.
func (l Crew) Exported(format string, status any) string {
	l.T.Helper()
	a := l.Mutate("createProjectExport", "export { id state status url bytes }", Vars{"projectId": l.ID, "format": format, "status": status})
	assert.Equal(l.T, "QUEUED", a.Str("result.export.state"))
	id := a.Str("result.export.id")
	l.During(func() { l.Becomes("DONE", id) })
	a = l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectExport { url bytes items endedAt } } }`, Vars{"i": id})
	resp, err := http.Get(a.Str("node.url"))
	require.NoError(l.T, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(l.T, err)
	require.Equal(l.T, http.StatusOK, resp.StatusCode, "%s", text)
	assert.InDelta(l.T, len(text), a.At("node.bytes"), 0)
	return string(text)
}

// Takes imports items of the manager, and waits for them.
func (l Crew) Takes(input Vars) *Answer {
	l.T.Helper()
	a := l.Mutate("importItems", "import { id state source bytes } problem { __typename }", Changed(Vars{"projectId": l.ID}, input))
	require.Nil(l.T, a.At("result.problem"), "%s", a.Body)
	id := a.Str("result.import.id")
	l.During(func() { l.Becomes("DONE", id) })
	return l.AnImport(id)
}

// ItemsOf returns the items of the project.
func (l Crew) ItemsOf(who *Client, selection string) []any {
	l.T.Helper()
	return who.Must(`query($p: ID!) { project(id: $p) { items(first: 100) { nodes { `+selection+` } } } }`, Vars{"p": l.ID}).List("project.items.nodes")
}
