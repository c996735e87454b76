package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// projectsState is everything that the user can see in the projects of which he or she is a member; what is for managers is
// null for others.
func (c *client) projectsState() string {
	c.t.Helper()
	return c.do(`{ viewer { projects { nodes { id name description version updatedAt paused viewerClaims { id claim { token until } } suggestedKeywords categories { id name } subcategories { id name } teams { id name type }
		members { nodes { type addedAt user { id } team { id } } } items(first: 10) { nodes { id version updatedAt status category { id } subcategory { id } keywords efforts(first: 5) { nodes { id keywords undoneAt review { verdict comment } } } } }
		imports(first: 10) { nodes { id state imported } } exports(first: 10) { nodes { id format status } } } } } }`, nil).data()
}

func TestBadInputChangesNoProject(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	l := s.labelled(2, 1)
	bob := s.user("bob@example.com")
	a := bob.must(`mutation { createProject(input: {name: "His", categories: ["A"], subcategories: ["B"]}) { project { id categories { id } subcategories { id } teams { id } } } }`, nil)
	his, foreign := a.str("createProject.project.id"), idsOf(a.list("createProject.project.categories"))[0]
	hisTeam, foreignSub := idsOf(a.list("createProject.project.teams"))[0], idsOf(a.list("createProject.project.subcategories"))[0]
	note := l.notes(1)[0]
	have := l.claimed(l.client, 1)[0]
	key := globalKey(t, l.id)[1]
	none := gidOf("Project", "none")

	var cases []bad
	create := func(reason, field string, value any, code string) {
		input := vars{"name": "New", "categories": []string{"A"}}
		input[field] = value
		cases = append(cases, bad{reason, "createProject", input, code, "input." + field})
		if field == "name" || field == "description" || field == "suggestedKeywords" {
			if value == nil {
				code = invalid // may be left out, but not be null
			}
			cases = append(cases, bad{reason, "updateProject", vars{"projectId": l.id, field: value}, code, "input." + field})
		} else if value != nil {
			cases = append(cases, bad{reason, "addProjectCategories", vars{"projectId": l.id, field: value}, code, "input." + field})
		}
	}
	create("an empty name", "name", "", invalid)
	create("a name of white space", "name", " \u3000", invalid)
	create("a name of 101 characters", "name", strings.Repeat("é", 101), invalid)
	create("a name with NUL", "name", "a\x00", invalid)
	create("a name of two lines", "name", "a\nb", invalid)
	create("null for a name", "name", nil, unfit)
	create("a description of 10,001 bytes", "description", strings.Repeat("x", 10_001), invalid)
	create("a description with a control character", "description", "a\x07", invalid)
	create("201 suggestions", "suggestedKeywords", numbered("k", 201), invalid)
	create("a suggestion of 65 characters", "suggestedKeywords", []string{strings.Repeat("é", 65)}, invalid)
	create("an empty suggestion", "suggestedKeywords", []string{"a", " "}, invalid)
	for _, list := range []string{"categories", "subcategories"} {
		create("201 names", list, numbered("c", 201), invalid)
		create("the same name twice", list, []string{"Duck", "duck "}, invalid)
		create("an empty name", list, []string{""}, invalid)
		create("a name of 101 characters", list, []string{strings.Repeat("é", 101)}, invalid)
		create("a name with a control character", list, []string{"a\tb"}, invalid)
		create("null for a name", list, []any{nil}, unfit)
		cases[len(cases)-1].field, cases[len(cases)-2].field = "input."+list+".0", "input."+list+".0"
	}
	create("null for the categories", "categories", nil, unfit)
	create("an empty idempotency key", "idempotencyKey", "", invalid)
	cases = cases[:len(cases)-1] // of addProjectCategories it would be the lists that are missing

	finish := func(reason string, change vars, code, field string) {
		cases = append(cases, bad{reason, "finishProjectItem", l.finishing(have, change), code, field})
	}
	finish("an item that is not there", vars{"itemId": gidOf("ProjectItem", key, "none")}, "NOT_FOUND", "")
	finish("an item of another project", vars{"itemId": gidOf("ProjectItem", globalKey(t, his)[1], "x")}, "NOT_FOUND", "")
	finish("a note for an item", vars{"itemId": note}, invalid, "input.itemId")
	finish("another project's category", vars{"categoryId": foreign}, invalid, "input.categoryId")
	finish("a category that is not there", vars{"categoryId": gidOf("Category", key, "none")}, invalid, "input.categoryId")
	finish("a subcategory for a category", vars{"categoryId": l.subcategories[0]}, invalid, "input.categoryId")
	finish("another project's subcategory", vars{"subcategoryId": foreignSub}, invalid, "input.subcategoryId")
	finish("a category for a subcategory", vars{"subcategoryId": l.categories[1]}, invalid, "input.subcategoryId")
	finish("a subcategory that is not there", vars{"subcategoryId": gidOf("Subcategory", key, "none")}, invalid, "input.subcategoryId")
	finish("21 keywords", vars{"keywords": numbered("k", 21)}, invalid, "input.keywords")
	finish("a keyword of 65 characters", vars{"keywords": []string{strings.Repeat("é", 65)}}, invalid, "input.keywords")
	finish("an empty keyword", vars{"keywords": []string{""}}, invalid, "input.keywords")
	finish("a keyword with NUL", vars{"keywords": []string{"\x00"}}, invalid, "input.keywords")
	finish("null for a keyword", vars{"keywords": []any{nil}}, unfit, "input.keywords.0")
	finish("null for a category", vars{"categoryId": nil}, unfit, "input.categoryId")

	transfer := func(reason string, change vars, code, field string) {
		input := vars{"projectId": l.id, "format": "CSV", "bytes": 10}
		for name, value := range change {
			input[name] = value
		}
		cases = append(cases, bad{reason, "createProjectImport", input, code, field})
	}
	transfer("no bytes", vars{"bytes": 0}, invalid, "input.bytes")
	transfer("less than no bytes", vars{"bytes": -1}, invalid, "input.bytes")
	transfer("a byte too many", vars{"bytes": 1<<30 + 1}, invalid, "input.bytes")
	transfer("63 bits", vars{"bytes": "9223372036854775808"}, unfit, "input.bytes")
	transfer("a fraction", vars{"bytes": 1.5}, unfit, "input.bytes")
	transfer("an unknown format", vars{"format": "XML"}, unfit, "input.format")
	transfer("a project that is not there", vars{"projectId": none}, "NOT_FOUND", "")
	transfer("another's project", vars{"projectId": his}, "NOT_FOUND", "")

	music := vars{"type": "text/plain"}
	item, hisItem, hisScore := l.uploads([]byte("music"), music), bob.uploads([]byte("music"), music), bob.score("His", nil)
	mine := l.score("Hers", nil)
	take := func(reason string, change vars, code, field string) {
		cases = append(cases, bad{reason, "importItems", changed(vars{"projectId": l.id}, change), code, field})
	}
	take("nothing", nil, invalid, "input.itemIds")
	take("no items", vars{"itemIds": []string{}}, invalid, "input.itemIds")
	take("501 items", vars{"itemIds": slices.Repeat([]string{item}, 501)}, invalid, "input.itemIds")
	take("items and a library", vars{"itemIds": []string{item}, "library": true}, invalid, "input.itemIds")
	take("a library and a score", vars{"library": true, "scoreId": mine}, invalid, "input.itemIds")
	take("a note for an item", vars{"itemIds": []string{item, note}}, invalid, "input.itemIds")
	take("a note for a score", vars{"scoreId": note}, invalid, "input.scoreId")
	take("null for a library", vars{"library": nil}, unfit, "input.library")
	take("a score as of a snapshot", vars{"scoreId": gidOf("Score", globalKey(t, mine)[1], globalKey(t, mine)[2], "none")}, invalid, "input.scoreId")
	take("another's score", vars{"scoreId": hisScore}, "NOT_FOUND", "")
	take("a score that is not there", vars{"scoreId": gidOf("Score", globalKey(t, mine)[1], "none")}, "NOT_FOUND", "")
	take("a project that is not there", vars{"projectId": none, "library": true}, "NOT_FOUND", "")
	take("another's project", vars{"projectId": his, "itemIds": []string{item}}, "NOT_FOUND", "")
	for _, unknown := range []string{hisItem, gidOf("Item", globalKey(t, item)[1], "none", "none")} {
		a := l.mutate("importItems", "import { id } problem { __typename ... on UnknownItem { itemId } }", vars{"projectId": l.id, "itemIds": []string{item, unknown}})
		assert.Equal(t, map[string]any{"__typename": "UnknownItem", "itemId": unknown}, a.at("result.problem"))
	}

	cases = append(cases, []bad{
		{"nothing to add", "addProjectCategories", vars{"projectId": l.id}, invalid, "input.categories"},
		{"nothing in the lists", "addProjectCategories", vars{"projectId": l.id, "categories": []string{}, "subcategories": []string{}}, invalid, "input.categories"},
		{"198 more", "addProjectCategories", vars{"projectId": l.id, "categories": numbered("c", 198)}, "EXHAUSTED", ""},
		{"another's project", "addProjectCategories", vars{"projectId": his, "categories": []string{"B"}}, "NOT_FOUND", ""},
		{"a project that is not there", "updateProject", vars{"projectId": none, "name": "x"}, "NOT_FOUND", ""},
		{"a note for a project", "updateProject", vars{"projectId": note, "name": "x"}, invalid, "input.projectId"},
		{"an empty name", "createTeam", vars{"projectId": l.id, "name": "", "type": "TAGGIE"}, invalid, "input.name"},
		{"a name of 101 characters", "createTeam", vars{"projectId": l.id, "name": strings.Repeat("é", 101), "type": "TAGGIE"}, invalid, "input.name"},
		{"an unknown type", "createTeam", vars{"projectId": l.id, "name": "x", "type": "OWNER"}, unfit, "input.type"},
		{"another's project", "createTeam", vars{"projectId": his, "name": "x", "type": "TAGGIE"}, "NOT_FOUND", ""},
		{"a team that is not there", "renameTeam", vars{"teamId": gidOf("Team", key, "none"), "name": "x"}, "NOT_FOUND", ""},
		{"another's team", "renameTeam", vars{"teamId": hisTeam, "name": "x"}, "NOT_FOUND", ""},
		{"an empty name", "renameTeam", vars{"teamId": l.team, "name": " "}, invalid, "input.name"},
		{"a project for a team", "renameTeam", vars{"teamId": l.id, "name": "x"}, invalid, "input.teamId"},
		{"a team that is not there", "putProjectMember", vars{"teamId": gidOf("Team", key, "none"), "userId": bob.id}, "NOT_FOUND", ""},
		{"another's team", "putProjectMember", vars{"teamId": hisTeam, "userId": bob.id}, "NOT_FOUND", ""},
		{"a user twice", "putProjectMember", vars{"teamId": l.team, "userId": bob.id, "email": "bob@example.com"}, invalid, "input.userId"},
		{"no user", "putProjectMember", vars{"teamId": l.team}, invalid, "input.userId"},
		{"a team for a user", "putProjectMember", vars{"teamId": l.team, "userId": l.team}, invalid, "input.userId"},
		{"another's project", "removeProjectMember", vars{"projectId": his, "userId": bob.id}, "NOT_FOUND", ""},
		{"a project for a user", "removeProjectMember", vars{"projectId": l.id, "userId": l.id}, invalid, "input.userId"},
		{"an import that is not there", "startProjectImport", vars{"importId": gidOf("ProjectImport", key, "none")}, "NOT_FOUND", ""},
		{"a project for an import", "cancelProjectImport", vars{"importId": l.id}, invalid, "input.importId"},
		{"an unknown status", "createProjectExport", vars{"projectId": l.id, "format": "CSV", "status": "OLD"}, unfit, "input.status"},
		{"an unknown format", "createProjectExport", vars{"projectId": l.id, "format": "PDF"}, unfit, "input.format"},
		{"another's project", "createProjectExport", vars{"projectId": his, "format": "CSV"}, "NOT_FOUND", ""},
	}...)
	l.refuses(func() string { return l.projectsState() + bob.projectsState() }, cases)

	t.Run("what is just allowed", func(t *testing.T) {
		a := l.mutate("createProject", "project { categories { name } subcategories { name } suggestedKeywords description }", vars{"name": strings.Repeat("é", 100), "description": strings.Repeat("x", 9_990) + "\n\ty",
			"categories": numbered("c", 200), "subcategories": numbered("c", 200), "suggestedKeywords": append(numbered("k", 199), strings.Repeat("é", 64))})
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Len(t, a.list("result.project.categories"), 200)
		assert.Len(t, a.list("result.project.subcategories"), 200)
		assert.Len(t, a.list("result.project.suggestedKeywords"), 200)
		a = l.mutate("finishProjectItem", "item { keywords }", l.finishing(have, vars{"keywords": append(numbered("k", 19), strings.Repeat("é", 64), strings.ToUpper(numbered("k", 1)[0]))}))
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Len(t, a.list("result.item.keywords"), 20, "the same one in other letters counts once")
	})
}

func TestBadArgumentsOfProjects(t *testing.T) {
	s := newServer(t)
	l := s.labelled(2, 1)
	lists := map[string]string{
		"projects": `viewer { projects(ARGS) { nodes { id } } }`, "items": `project(id: $p) { items(ARGS) { nodes { id } } }`, "items of a status": `project(id: $p) { items(status: NEW, ARGS) { nodes { id } } }`,
		"members": `project(id: $p) { members(ARGS) { nodes { type } } }`, "imports": `project(id: $p) { imports(ARGS) { nodes { id } } }`, "exports": `project(id: $p) { exports(ARGS) { nodes { id } } }`,
		"a team's members": `node(id: $t) { ... on Team { members(ARGS) { nodes { type } } } }`, "a category's items": `node(id: $c) { ... on Category { items(ARGS) { nodes { id } } } }`,
		"efforts": `node(id: $i) { ... on ProjectItem { efforts(ARGS) { nodes { id } } } }`, "a member's efforts": `project(id: $p) { viewerMember { efforts(ARGS) { nodes { id } } } }`,
	}
	ids := vars{"p": l.id, "t": l.team, "c": l.categories[0], "i": l.items[0]}
	for name, list := range lists {
		used, parameters := vars{}, ""
		for v, id := range ids {
			if strings.Contains(list, "$"+v) {
				used[v], parameters = id, "($"+v+": ID!)"
			}
		}
		for arguments, field := range map[string]string{"first: 0": "first", "first: 501": "first", "last: -1": "last", "last: 501": "last", "first: 1, last: 1": "last", `after: "x"`: "after", `last: 1, before: ""`: "before"} {
			a := l.do("query"+parameters+" { "+strings.ReplaceAll(list, "ARGS", arguments)+" }", used)
			a.fails(invalid, field)
			a.tellsNothingInner()
			assert.NotContains(t, a.data(), "nodes", name)
		}
	}
	for _, query := range []string{`project(id: "` + l.team + `") { id }`, `project(id: "x") { id }`} {
		l.do("{ "+query+" }", nil).fails(invalid, "id")
	}
	for _, externalID := range []string{"", "none", strings.Repeat("x", 3_000), `a\u0000`} {
		assert.Contains(t, l.must(`query($p: ID!) { project(id: $p) { itemByExternalId(externalId: "`+externalID+`") { id } } }`, vars{"p": l.id}).data(), `"itemByExternalId":null`)
	}
	// What is for managers is refused to others, field by field.
	a := l.labellers[0].do(`query($p: ID!) { project(id: $p) { name imports { nodes { id } } exports { nodes { id } } } }`, vars{"p": l.id})
	require.Len(t, a.Errors, 2, "%s", a.body)
	for _, e := range a.Errors {
		assert.Equal(t, "FORBIDDEN", e.Extensions.Code)
	}
	assert.NotEmpty(t, a.str("project.name"))
	for mutation, input := range map[string]vars{
		"createProjectImport": {"projectId": l.id, "format": "CSV", "bytes": 1}, "createProjectExport": {"projectId": l.id, "format": "CSV"}, "startProjectImport": {"importId": l.imported},
		"cancelProjectImport": {"importId": l.imported}, "updateProject": {"projectId": l.id, "name": "x"}, "addProjectCategories": {"projectId": l.id, "categories": []string{"x"}},
		"importItems": {"projectId": l.id, "library": true}, "createTeam": {"projectId": l.id, "name": "x", "type": "MANAGER"}, "renameTeam": {"teamId": l.team, "name": "x"}, "putProjectMember": {"teamId": l.team, "userId": l.labellers[1].id},
		"removeProjectMember": {"projectId": l.id, "userId": l.client.id},
	} {
		l.labellers[0].mutate(mutation, "__typename", input).fails("FORBIDDEN", "")
		s.as("nobody@example.com").mutate(mutation, "__typename", input).fails("UNAUTHENTICATED", "")
	}
	stranger := s.user("stranger@example.com")
	a = stranger.must(`query($p: ID!, $t: ID!, $c: ID!, $i: ID!, $m: ID!) { project(id: $p) { id } nodes(ids: [$p, $t, $c, $i, $m]) { id } }`, vars{"p": l.id, "t": l.team, "c": l.categories[0], "i": l.items[0], "m": l.imported})
	assert.Equal(t, `{"project":null,"nodes":[null,null,null,null,null]}`, a.data())
}
