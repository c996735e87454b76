package requests

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// projectsState is everything that the user can see in the projects of which he or she is a member; what is for managers is
// null for others.
func projectsState(c *apitest.Client) string {
	c.T.Helper()
	return c.Do(`{ viewer { projects { nodes { id name description version updatedAt guidelines { text version } invitations { id used revokedAt } paused viewerClaims { id claim { token until } } suggestedKeywords categories { id name } subcategories { id name } teams { id name type }
		members { nodes { type addedAt user { id } team { id } } } items(first: 10) { nodes { id version updatedAt status category { id } subcategory { id } keywords efforts(first: 5) { nodes { id keywords undoneAt review { verdict comment } } } } }
		imports(first: 10) { nodes { id state imported } } exports(first: 10) { nodes { id format status } } removals(first: 10) { nodes { id state purge } } } } deletedProjects(first: 100) { nodes { projectId state undoUntil } } } }`, nil).Raw()
}

func TestBadInputChangesNoProject(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	l := s.Labelled(2, 1)
	bob := s.User("bob@example.com")
	a := bob.Must(`mutation { createProject(input: {name: "His", categories: ["A"], subcategories: ["B"]}) { project { id categories { id } subcategories { id } teams { id } } } }`, nil)
	his, foreign := a.Str("createProject.project.id"), apitest.IDsOf(a.List("createProject.project.categories"))[0]
	hisTeam, foreignSub := apitest.IDsOf(a.List("createProject.project.teams"))[0], apitest.IDsOf(a.List("createProject.project.subcategories"))[0]
	note := l.Notes(1)[0]
	have := l.Claimed(l.Client, 1)[0]
	key := apitest.GlobalKey(t, l.ID)[1]
	none := apitest.GIDOf("Project", "none")

	var cases []bad
	create := func(reason, field string, value any, code string) {
		input := apitest.Vars{"name": "New", "categories": []string{"A"}}
		input[field] = value
		cases = append(cases, bad{reason, "createProject", input, code, "input." + field})
		if field == "name" || field == "description" || field == "suggestedKeywords" {
			if value == nil {
				code = apitest.Invalid // may be left out, but not be null
			}
			cases = append(cases, bad{reason, "updateProject", apitest.Vars{"projectId": l.ID, field: value}, code, "input." + field})
		} else if value != nil {
			cases = append(cases, bad{reason, "addProjectCategories", apitest.Vars{"projectId": l.ID, field: value}, code, "input." + field})
		}
	}
	create("an empty name", "name", "", apitest.Invalid)
	create("a name of white space", "name", " \u3000", apitest.Invalid)
	create("a name of 101 characters", "name", strings.Repeat("é", 101), apitest.Invalid)
	create("a name with NUL", "name", "a\x00", apitest.Invalid)
	create("a name of two lines", "name", "a\nb", apitest.Invalid)
	create("null for a name", "name", nil, apitest.Unfit)
	create("a description of 10,001 bytes", "description", strings.Repeat("x", 10_001), apitest.Invalid)
	create("a description with a control character", "description", "a\x07", apitest.Invalid)
	create("201 suggestions", "suggestedKeywords", apitest.Numbered("k", 201), apitest.Invalid)
	create("a suggestion of 65 characters", "suggestedKeywords", []string{strings.Repeat("é", 65)}, apitest.Invalid)
	create("an empty suggestion", "suggestedKeywords", []string{"a", " "}, apitest.Invalid)
	for _, list := range []string{"categories", "subcategories"} {
		create("201 names", list, apitest.Numbered("c", 201), apitest.Invalid)
		create("the same name twice", list, []string{"Duck", "duck "}, apitest.Invalid)
		create("an empty name", list, []string{""}, apitest.Invalid)
		create("a name of 101 characters", list, []string{strings.Repeat("é", 101)}, apitest.Invalid)
		create("a name with a control character", list, []string{"a\tb"}, apitest.Invalid)
		create("null for a name", list, []any{nil}, apitest.Unfit)
		cases[len(cases)-1].field, cases[len(cases)-2].field = "input."+list+".0", "input."+list+".0"
	}
	create("null for the categories", "categories", nil, apitest.Unfit)
	create("an empty idempotency key", "idempotencyKey", "", apitest.Invalid)
	cases = cases[:len(cases)-1] // of addProjectCategories it would be the lists that are missing

	guide := func(reason string, change apitest.Vars, code, field string) {
		cases = append(cases, bad{reason, "updateGuidelines", apitest.Changed(apitest.Vars{"projectId": l.ID, "text": "t"}, change), code, field})
	}
	guide("guidelines of 65,537 bytes", apitest.Vars{"text": strings.Repeat("x", 65_537)}, apitest.Invalid, "input.text")
	guide("guidelines with a control character", apitest.Vars{"text": "a\x07"}, apitest.Invalid, "input.text")
	guide("null for guidelines", apitest.Vars{"text": nil}, apitest.Unfit, "input.text")
	guide("guidelines of a project that is not there", apitest.Vars{"projectId": none}, "NOT_FOUND", "")
	guide("guidelines of another's project", apitest.Vars{"projectId": his}, "NOT_FOUND", "")
	guide("guidelines of a note", apitest.Vars{"projectId": note}, apitest.Invalid, "input.projectId")

	invite := func(reason string, change apitest.Vars, code, field string) {
		cases = append(cases, bad{reason, "createProjectInvitation", apitest.Changed(apitest.Vars{"teamId": l.Team}, change), code, field})
	}
	invite("an invitation for nobody", apitest.Vars{"uses": 0}, apitest.Invalid, "input.uses")
	invite("an invitation for 101 users", apitest.Vars{"uses": 101}, apitest.Invalid, "input.uses")
	invite("null for uses", apitest.Vars{"uses": nil}, apitest.Unfit, "input.uses")
	invite("an invitation that expires at once", apitest.Vars{"expiresInDays": 0}, apitest.Invalid, "input.expiresInDays")
	invite("an invitation for 31 days", apitest.Vars{"expiresInDays": 31}, apitest.Invalid, "input.expiresInDays")
	invite("an invitation to a project", apitest.Vars{"teamId": l.ID}, apitest.Invalid, "input.teamId")
	invite("an invitation to a team that is not there", apitest.Vars{"teamId": apitest.GIDOf("Team", string(l.Key()), "none")}, "NOT_FOUND", "")
	cases = append(cases, bad{"an invitation with a time that is none", "revokeProjectInvitation", apitest.Vars{"invitationId": apitest.GIDOf("ProjectInvitation", "p", "01", "i")}, apitest.Invalid, "input.invitationId"},
		bad{"an invitation that is not there", "revokeProjectInvitation", apitest.Vars{"invitationId": apitest.GIDOf("ProjectInvitation", string(l.Key()), "1", "none")}, "NOT_FOUND", ""},
		bad{"null for a token", "acceptProjectInvitation", apitest.Vars{"token": nil}, apitest.Unfit, "input.token"})

	finish := func(reason string, change apitest.Vars, code, field string) {
		cases = append(cases, bad{reason, "finishProjectItem", l.Finishing(have, change), code, field})
	}
	finish("an item that is not there", apitest.Vars{"itemId": apitest.GIDOf("ProjectItem", key, "none")}, "NOT_FOUND", "")
	finish("an item of another project", apitest.Vars{"itemId": apitest.GIDOf("ProjectItem", apitest.GlobalKey(t, his)[1], "x")}, "NOT_FOUND", "")
	finish("a note for an item", apitest.Vars{"itemId": note}, apitest.Invalid, "input.itemId")
	finish("another project's category", apitest.Vars{"categoryId": foreign}, apitest.Invalid, "input.categoryId")
	finish("a category that is not there", apitest.Vars{"categoryId": apitest.GIDOf("Category", key, "none")}, apitest.Invalid, "input.categoryId")
	finish("a subcategory for a category", apitest.Vars{"categoryId": l.Subcategories[0]}, apitest.Invalid, "input.categoryId")
	finish("another project's subcategory", apitest.Vars{"subcategoryId": foreignSub}, apitest.Invalid, "input.subcategoryId")
	finish("a category for a subcategory", apitest.Vars{"subcategoryId": l.Categories[1]}, apitest.Invalid, "input.subcategoryId")
	finish("a subcategory that is not there", apitest.Vars{"subcategoryId": apitest.GIDOf("Subcategory", key, "none")}, apitest.Invalid, "input.subcategoryId")
	finish("21 keywords", apitest.Vars{"keywords": apitest.Numbered("k", 21)}, apitest.Invalid, "input.keywords")
	finish("a keyword of 65 characters", apitest.Vars{"keywords": []string{strings.Repeat("é", 65)}}, apitest.Invalid, "input.keywords")
	finish("an empty keyword", apitest.Vars{"keywords": []string{""}}, apitest.Invalid, "input.keywords")
	finish("a keyword with NUL", apitest.Vars{"keywords": []string{"\x00"}}, apitest.Invalid, "input.keywords")
	finish("null for a keyword", apitest.Vars{"keywords": []any{nil}}, apitest.Unfit, "input.keywords.0")
	finish("null for a category", apitest.Vars{"categoryId": nil}, apitest.Unfit, "input.categoryId")

	transfer := func(reason string, change apitest.Vars, code, field string) {
		input := apitest.Vars{"projectId": l.ID, "format": "CSV", "bytes": 10}
		for name, value := range change {
			input[name] = value
		}
		cases = append(cases, bad{reason, "createProjectImport", input, code, field})
	}
	transfer("no bytes", apitest.Vars{"bytes": 0}, apitest.Invalid, "input.bytes")
	transfer("less than no bytes", apitest.Vars{"bytes": -1}, apitest.Invalid, "input.bytes")
	transfer("a byte too many", apitest.Vars{"bytes": 1<<30 + 1}, apitest.Invalid, "input.bytes")
	transfer("63 bits", apitest.Vars{"bytes": "9223372036854775808"}, apitest.Unfit, "input.bytes")
	transfer("a fraction", apitest.Vars{"bytes": 1.5}, apitest.Unfit, "input.bytes")
	transfer("an unknown format", apitest.Vars{"format": "XML"}, apitest.Unfit, "input.format")
	transfer("a project that is not there", apitest.Vars{"projectId": none}, "NOT_FOUND", "")
	transfer("another's project", apitest.Vars{"projectId": his}, "NOT_FOUND", "")

	music := apitest.Vars{"type": "text/plain"}
	item, hisItem, hisScore := l.Uploads([]byte("music"), music), bob.Uploads([]byte("music"), music), bob.Score("His", nil)
	mine := l.Score("Hers", nil)
	take := func(reason string, change apitest.Vars, code, field string) {
		cases = append(cases, bad{reason, "importItems", apitest.Changed(apitest.Vars{"projectId": l.ID}, change), code, field})
	}
	take("nothing", nil, apitest.Invalid, "input.itemIds")
	take("no items", apitest.Vars{"itemIds": []string{}}, apitest.Invalid, "input.itemIds")
	take("501 items", apitest.Vars{"itemIds": slices.Repeat([]string{item}, 501)}, apitest.Invalid, "input.itemIds")
	take("items and a library", apitest.Vars{"itemIds": []string{item}, "library": true}, apitest.Invalid, "input.itemIds")
	take("a library and a score", apitest.Vars{"library": true, "scoreId": mine}, apitest.Invalid, "input.itemIds")
	take("a note for an item", apitest.Vars{"itemIds": []string{item, note}}, apitest.Invalid, "input.itemIds")
	take("a note for a score", apitest.Vars{"scoreId": note}, apitest.Invalid, "input.scoreId")
	take("null for a library", apitest.Vars{"library": nil}, apitest.Unfit, "input.library")
	take("a score as of a snapshot", apitest.Vars{"scoreId": apitest.GIDOf("Score", apitest.GlobalKey(t, mine)[1], apitest.GlobalKey(t, mine)[2], "none")}, apitest.Invalid, "input.scoreId")
	take("another's score", apitest.Vars{"scoreId": hisScore}, "NOT_FOUND", "")
	take("a score that is not there", apitest.Vars{"scoreId": apitest.GIDOf("Score", apitest.GlobalKey(t, mine)[1], "none")}, "NOT_FOUND", "")
	take("a project that is not there", apitest.Vars{"projectId": none, "library": true}, "NOT_FOUND", "")
	take("another's project", apitest.Vars{"projectId": his, "itemIds": []string{item}}, "NOT_FOUND", "")
	for _, unknown := range []string{hisItem, apitest.GIDOf("Item", apitest.GlobalKey(t, item)[1], "none", "none")} {
		a := l.Mutate("importItems", "import { id } problem { __typename ... on UnknownItem { itemId } }", apitest.Vars{"projectId": l.ID, "itemIds": []string{item, unknown}})
		assert.Equal(t, map[string]any{"__typename": "UnknownItem", "itemId": unknown}, a.At("result.problem"))
	}

	cases = append(cases, []bad{
		{"nothing to add", "addProjectCategories", apitest.Vars{"projectId": l.ID}, apitest.Invalid, "input.categories"},
		{"nothing in the lists", "addProjectCategories", apitest.Vars{"projectId": l.ID, "categories": []string{}, "subcategories": []string{}}, apitest.Invalid, "input.categories"},
		{"198 more", "addProjectCategories", apitest.Vars{"projectId": l.ID, "categories": apitest.Numbered("c", 198)}, "EXHAUSTED", ""},
		{"another's project", "addProjectCategories", apitest.Vars{"projectId": his, "categories": []string{"B"}}, "NOT_FOUND", ""},
		{"a category that is not there", "updateCategory", apitest.Vars{"categoryId": apitest.GIDOf("Category", key, "none"), "name": "x"}, "NOT_FOUND", ""},
		{"a category of another's project", "updateCategory", apitest.Vars{"categoryId": apitest.GIDOf("Category", apitest.GlobalKey(t, his)[1], "none"), "name": "x"}, "NOT_FOUND", ""},
		{"a subcategory for a category", "updateCategory", apitest.Vars{"categoryId": l.Subcategories[0], "name": "x"}, apitest.Invalid, "input.categoryId"},
		{"a category for a subcategory", "updateSubcategory", apitest.Vars{"subcategoryId": l.Categories[0], "name": "x"}, apitest.Invalid, "input.subcategoryId"},
		{"no name", "updateCategory", apitest.Vars{"categoryId": l.Categories[0], "name": " "}, apitest.Invalid, "input.name"},
		{"a long name", "updateSubcategory", apitest.Vars{"subcategoryId": l.Subcategories[0], "name": strings.Repeat("x", 101)}, apitest.Invalid, "input.name"},
		{"null for a name", "updateCategory", apitest.Vars{"categoryId": l.Categories[0], "name": nil}, apitest.Invalid, "input.name"},
		{"null for whether it is retired", "updateSubcategory", apitest.Vars{"subcategoryId": l.Subcategories[0], "retired": nil}, apitest.Invalid, "input.retired"},
		{"a merge into itself", "updateCategory", apitest.Vars{"categoryId": l.Categories[0], "mergeInto": l.Categories[0]}, apitest.Invalid, "input.mergeInto"},
		{"a merge into a subcategory", "updateCategory", apitest.Vars{"categoryId": l.Categories[0], "mergeInto": l.Subcategories[0]}, apitest.Invalid, "input.mergeInto"},
		{"a merge into nothing", "updateCategory", apitest.Vars{"categoryId": l.Categories[0], "mergeInto": apitest.GIDOf("Category", key, "none")}, apitest.Invalid, "input.mergeInto"},
		{"a merge into another project", "updateCategory", apitest.Vars{"categoryId": l.Categories[0], "mergeInto": apitest.GIDOf("Category", "none", "none")}, apitest.Invalid, "input.mergeInto"},
		{"a merge with a name", "updateSubcategory", apitest.Vars{"subcategoryId": l.Subcategories[0], "mergeInto": l.Subcategories[1], "name": "x"}, apitest.Invalid, "input.mergeInto"},
		{"a project that is not there", "updateProject", apitest.Vars{"projectId": none, "name": "x"}, "NOT_FOUND", ""},
		{"a lease of no time", "updateProject", apitest.Vars{"projectId": l.ID, "leaseMinutes": 0}, apitest.Invalid, "input.leaseMinutes"},
		{"a lease of more than a day", "updateProject", apitest.Vars{"projectId": l.ID, "leaseMinutes": 1_441}, apitest.Invalid, "input.leaseMinutes"},
		{"a negative percentage of reviews", "updateProject", apitest.Vars{"projectId": l.ID, "reviewPercent": -1}, apitest.Invalid, "input.reviewPercent"},
		{"more reviews than results", "updateProject", apitest.Vars{"projectId": l.ID, "reviewPercent": 101}, apitest.Invalid, "input.reviewPercent"},
		{"null for a percentage of reviews", "updateProject", apitest.Vars{"projectId": l.ID, "reviewPercent": nil}, apitest.Invalid, "input.reviewPercent"},
		{"newcomers of more than a year", "updateProject", apitest.Vars{"projectId": l.ID, "newcomerDays": 366}, apitest.Invalid, "input.newcomerDays"},
		{"newcomers of less than no time", "updateProject", apitest.Vars{"projectId": l.ID, "newcomerDays": -1}, apitest.Invalid, "input.newcomerDays"},
		{"null for the days of newcomers", "updateProject", apitest.Vars{"projectId": l.ID, "newcomerDays": nil}, apitest.Invalid, "input.newcomerDays"},
		{"a queue of less than nothing", "updateProject", apitest.Vars{"projectId": l.ID, "queueSize": -1}, apitest.Invalid, "input.queueSize"},
		{"a queue of too many", "updateProject", apitest.Vars{"projectId": l.ID, "queueSize": 10_001}, apitest.Invalid, "input.queueSize"},
		{"a text for the size of a queue", "updateProject", apitest.Vars{"projectId": l.ID, "queueSize": "5"}, apitest.Unfit, "input.queueSize"},
		{"null for the size of a queue", "updateProject", apitest.Vars{"projectId": l.ID, "queueSize": nil}, apitest.Invalid, "input.queueSize"},
		{"no keywords", "removeSuggestedKeywords", apitest.Vars{"projectId": l.ID, "keywords": []string{}}, apitest.Invalid, "input.keywords"},
		{"201 keywords", "removeSuggestedKeywords", apitest.Vars{"projectId": l.ID, "keywords": apitest.Numbered("k", 201)}, apitest.Invalid, "input.keywords"},
		{"an empty keyword", "removeSuggestedKeywords", apitest.Vars{"projectId": l.ID, "keywords": []string{" "}}, apitest.Invalid, "input.keywords"},
		{"keywords of a project that is not there", "removeSuggestedKeywords", apitest.Vars{"projectId": none, "keywords": []string{"x"}}, "NOT_FOUND", ""},
		{"keywords of a note", "removeSuggestedKeywords", apitest.Vars{"projectId": note, "keywords": []string{"x"}}, apitest.Invalid, "input.projectId"},
		{"a lease of null", "updateProject", apitest.Vars{"projectId": l.ID, "leaseMinutes": nil}, apitest.Invalid, "input.leaseMinutes"},
		{"a note for a project", "updateProject", apitest.Vars{"projectId": note, "name": "x"}, apitest.Invalid, "input.projectId"},
		{"an empty name", "createTeam", apitest.Vars{"projectId": l.ID, "name": "", "type": "TAGGIE"}, apitest.Invalid, "input.name"},
		{"a name of 101 characters", "createTeam", apitest.Vars{"projectId": l.ID, "name": strings.Repeat("é", 101), "type": "TAGGIE"}, apitest.Invalid, "input.name"},
		{"an unknown type", "createTeam", apitest.Vars{"projectId": l.ID, "name": "x", "type": "OWNER"}, apitest.Unfit, "input.type"},
		{"another's project", "createTeam", apitest.Vars{"projectId": his, "name": "x", "type": "TAGGIE"}, "NOT_FOUND", ""},
		{"a team that is not there", "renameTeam", apitest.Vars{"teamId": apitest.GIDOf("Team", key, "none"), "name": "x"}, "NOT_FOUND", ""},
		{"another's team", "renameTeam", apitest.Vars{"teamId": hisTeam, "name": "x"}, "NOT_FOUND", ""},
		{"an empty name", "renameTeam", apitest.Vars{"teamId": l.Team, "name": " "}, apitest.Invalid, "input.name"},
		{"a project for a team", "renameTeam", apitest.Vars{"teamId": l.ID, "name": "x"}, apitest.Invalid, "input.teamId"},
		{"a team that is not there", "deleteTeam", apitest.Vars{"teamId": apitest.GIDOf("Team", key, "none")}, "NOT_FOUND", ""},
		{"another's team", "deleteTeam", apitest.Vars{"teamId": hisTeam}, "NOT_FOUND", ""},
		{"a project for a team", "deleteTeam", apitest.Vars{"teamId": l.ID}, apitest.Invalid, "input.teamId"},
		{"a project to move to", "deleteTeam", apitest.Vars{"teamId": l.Team, "moveTo": l.ID}, apitest.Invalid, "input.moveTo"},
		{"the same team to move to", "deleteTeam", apitest.Vars{"teamId": l.Team, "moveTo": l.Team}, apitest.Invalid, "input.moveTo"},
		{"another's team to move to", "deleteTeam", apitest.Vars{"teamId": l.Team, "moveTo": hisTeam}, apitest.Invalid, "input.moveTo"},
		{"no team to move to", "deleteTeam", apitest.Vars{"teamId": l.Team, "moveTo": apitest.GIDOf("Team", key, "none")}, "NOT_FOUND", ""},
		{"a team that is not there", "putProjectMember", apitest.Vars{"teamId": apitest.GIDOf("Team", key, "none"), "userId": bob.ID}, "NOT_FOUND", ""},
		{"another's team", "putProjectMember", apitest.Vars{"teamId": hisTeam, "userId": bob.ID}, "NOT_FOUND", ""},
		{"a user twice", "putProjectMember", apitest.Vars{"teamId": l.Team, "userId": bob.ID, "email": "bob@example.com"}, apitest.Invalid, "input.userId"},
		{"no user", "putProjectMember", apitest.Vars{"teamId": l.Team}, apitest.Invalid, "input.userId"},
		{"a team for a user", "putProjectMember", apitest.Vars{"teamId": l.Team, "userId": l.Team}, apitest.Invalid, "input.userId"},
		{"another's project", "removeProjectMember", apitest.Vars{"projectId": his, "userId": bob.ID}, "NOT_FOUND", ""},
		{"a project for a user", "removeProjectMember", apitest.Vars{"projectId": l.ID, "userId": l.ID}, apitest.Invalid, "input.userId"},
		{"an import that is not there", "startProjectImport", apitest.Vars{"importId": apitest.GIDOf("ProjectImport", key, "none")}, "NOT_FOUND", ""},
		{"a project for an import", "cancelProjectImport", apitest.Vars{"importId": l.ID}, apitest.Invalid, "input.importId"},
		{"an unknown status", "createProjectExport", apitest.Vars{"projectId": l.ID, "format": "CSV", "status": "OLD"}, apitest.Unfit, "input.status"},
		{"nothing to remove", "removeProjectItems", apitest.Vars{"projectId": l.ID}, apitest.Invalid, "input"},
		{"items and a status", "removeProjectItems", apitest.Vars{"projectId": l.ID, "itemIds": l.Items[:1], "status": "NEW"}, apitest.Invalid, "input"},
		{"an import and a status", "removeProjectItems", apitest.Vars{"projectId": l.ID, "importId": l.Imported, "status": "NEW"}, apitest.Invalid, "input"},
		{"no items", "removeProjectItems", apitest.Vars{"projectId": l.ID, "itemIds": []string{}}, apitest.Invalid, "input.itemIds"},
		{"101 items", "removeProjectItems", apitest.Vars{"projectId": l.ID, "itemIds": slices.Repeat(l.Items[:1], 101)}, apitest.Invalid, "input.itemIds"},
		{"null for an item", "removeProjectItems", apitest.Vars{"projectId": l.ID, "itemIds": []any{nil}}, apitest.Unfit, "input.itemIds.0"},
		{"a project for an item", "removeProjectItems", apitest.Vars{"projectId": l.ID, "itemIds": []string{l.Items[0], l.ID}}, apitest.Invalid, "input.itemIds.1"},
		{"an item of another project", "removeProjectItems", apitest.Vars{"projectId": l.ID, "itemIds": []string{apitest.GIDOf("ProjectItem", "other", "x")}}, apitest.Invalid, "input.itemIds.0"},
		{"an import of another project", "removeProjectItems", apitest.Vars{"projectId": l.ID, "importId": apitest.GIDOf("ProjectImport", "other", "x")}, apitest.Invalid, "input.importId"},
		{"an import that is not there", "removeProjectItems", apitest.Vars{"projectId": l.ID, "importId": apitest.GIDOf("ProjectImport", string(l.Key()), "x")}, "NOT_FOUND", ""},
		{"an export for an import", "removeProjectItems", apitest.Vars{"projectId": l.ID, "importId": apitest.GIDOf("ProjectExport", string(l.Key()), "x")}, apitest.Invalid, "input.importId"},
		{"an unknown status", "removeProjectItems", apitest.Vars{"projectId": l.ID, "status": "REMOVED"}, apitest.Unfit, "input.status"},
		{"null for a flag", "removeProjectItems", apitest.Vars{"projectId": l.ID, "status": "NEW", "purge": nil}, apitest.Unfit, "input.purge"},
		{"another's project", "removeProjectItems", apitest.Vars{"projectId": his, "status": "NEW"}, "NOT_FOUND", ""},
		{"another's project", "deleteProject", apitest.Vars{"projectId": his}, "NOT_FOUND", ""},
		{"a team for a project", "deleteProject", apitest.Vars{"projectId": l.Team}, apitest.Invalid, "input.projectId"},
		{"null for a flag", "deleteProject", apitest.Vars{"projectId": l.ID, "purge": nil}, apitest.Unfit, "input.purge"},
		{"a word for a version", "deleteProject", apitest.Vars{"projectId": l.ID, "expectedVersion": "two"}, apitest.Unfit, "input.expectedVersion"},
		{"another's project", "undoDeleteProject", apitest.Vars{"projectId": his}, "NOT_FOUND", ""},
		{"no project", "undoDeleteProject", apitest.Vars{"projectId": ""}, apitest.Invalid, "input.projectId"},
		{"a project that is not deleted", "purgeDeletedProject", apitest.Vars{"projectId": l.ID}, "NOT_FOUND", ""},
		{"another's project", "purgeDeletedProject", apitest.Vars{"projectId": his}, "NOT_FOUND", ""},
		{"a removal that is not there", "undoProjectRemoval", apitest.Vars{"removalId": apitest.GIDOf("ProjectRemoval", string(l.Key()), "x")}, "NOT_FOUND", ""},
		{"another's removal", "purgeProjectRemoval", apitest.Vars{"removalId": apitest.GIDOf("ProjectRemoval", "other", "x")}, "NOT_FOUND", ""},
		{"an import for a removal", "undoProjectRemoval", apitest.Vars{"removalId": l.Imported}, apitest.Invalid, "input.removalId"},
		{"no removal", "purgeProjectRemoval", apitest.Vars{"removalId": ""}, apitest.Invalid, "input.removalId"},
		{"an unknown format", "createProjectExport", apitest.Vars{"projectId": l.ID, "format": "PDF"}, apitest.Unfit, "input.format"},
		{"another's project", "createProjectExport", apitest.Vars{"projectId": his, "format": "CSV"}, "NOT_FOUND", ""},
	}...)
	refuses(l.Client, func() string { return projectsState(l.Client) + projectsState(bob) }, cases)

	t.Run("what is just allowed", func(t *testing.T) {
		a := l.Mutate("createProject", "project { categories { name } subcategories { name } suggestedKeywords description }", apitest.Vars{"name": strings.Repeat("é", 100), "description": strings.Repeat("x", 9_990) + "\n\ty",
			"categories": apitest.Numbered("c", 200), "subcategories": apitest.Numbered("c", 200), "suggestedKeywords": append(apitest.Numbered("k", 199), strings.Repeat("é", 64))})
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Len(t, a.List("result.project.categories"), 200)
		assert.Len(t, a.List("result.project.subcategories"), 200)
		assert.Len(t, a.List("result.project.suggestedKeywords"), 200)
		a = l.Mutate("finishProjectItem", "item { keywords }", l.Finishing(have, apitest.Vars{"keywords": append(apitest.Numbered("k", 19), strings.Repeat("é", 64), strings.ToUpper(apitest.Numbered("k", 1)[0]))}))
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Len(t, a.List("result.item.keywords"), 20, "the same one in other letters counts once")
	})
}

func TestBadArgumentsOfProjects(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(2, 1)
	lists := map[string]string{
		"projects": `viewer { projects(ARGS) { nodes { id } } }`, "items": `project(id: $p) { items(ARGS) { nodes { id } } }`, "items of a status": `project(id: $p) { items(status: NEW, ARGS) { nodes { id } } }`,
		"members": `project(id: $p) { members(ARGS) { nodes { type } } }`, "imports": `project(id: $p) { imports(ARGS) { nodes { id } } }`, "exports": `project(id: $p) { exports(ARGS) { nodes { id } } }`, "removals": `project(id: $p) { removals(ARGS) { nodes { id } } }`, "history": `project(id: $p) { history(ARGS) { nodes { type } } }`,
		"a team's members": `node(id: $t) { ... on Team { members(ARGS) { nodes { type } } } }`, "a category's items": `node(id: $c) { ... on Category { items(ARGS) { nodes { id } } } }`,
		"efforts": `node(id: $i) { ... on ProjectItem { efforts(ARGS) { nodes { id } } } }`, "a member's efforts": `project(id: $p) { viewerMember { efforts(ARGS) { nodes { id } } } }`,
	}
	ids := apitest.Vars{"p": l.ID, "t": l.Team, "c": l.Categories[0], "i": l.Items[0]}
	for name, list := range lists {
		used, parameters := apitest.Vars{}, ""
		for v, id := range ids {
			if strings.Contains(list, "$"+v) {
				used[v], parameters = id, "($"+v+": ID!)"
			}
		}
		for arguments, field := range map[string]string{"first: 0": "first", "first: 501": "first", "last: -1": "last", "last: 501": "last", "first: 1, last: 1": "last", `after: "x"`: "after", `last: 1, before: ""`: "before"} {
			a := l.Do("query"+parameters+" { "+strings.ReplaceAll(list, "ARGS", arguments)+" }", used)
			a.Fails(apitest.Invalid, field)
			a.TellsNothingInner()
			assert.NotContains(t, a.Raw(), "nodes", name)
		}
	}
	for _, query := range []string{`project(id: "` + l.Team + `") { id }`, `project(id: "x") { id }`} {
		l.Do("{ "+query+" }", nil).Fails(apitest.Invalid, "id")
	}
	for _, externalID := range []string{"", "none", strings.Repeat("x", 3_000), `a\u0000`} {
		assert.Contains(t, l.Must(`query($p: ID!) { project(id: $p) { itemByExternalId(externalId: "`+externalID+`") { id } } }`, apitest.Vars{"p": l.ID}).Raw(), `"itemByExternalId":null`)
	}
	// What is for managers is refused to others, field by field.
	a := l.Labellers[0].Do(`query($p: ID!) { project(id: $p) { name imports { nodes { id } } exports { nodes { id } } } }`, apitest.Vars{"p": l.ID})
	require.Len(t, a.Errors, 2, "%s", a.Body)
	for _, e := range a.Errors {
		assert.Equal(t, "FORBIDDEN", e.Extensions.Code)
	}
	assert.NotEmpty(t, a.Str("project.name"))
	for mutation, input := range map[string]apitest.Vars{
		"createProjectImport": {"projectId": l.ID, "format": "CSV", "bytes": 1}, "createProjectExport": {"projectId": l.ID, "format": "CSV"}, "startProjectImport": {"importId": l.Imported},
		"cancelProjectImport": {"importId": l.Imported}, "updateProject": {"projectId": l.ID, "name": "x"}, "removeSuggestedKeywords": {"projectId": l.ID, "keywords": []string{"x"}}, "addProjectCategories": {"projectId": l.ID, "categories": []string{"x"}},
		"updateCategory": {"categoryId": l.Categories[0], "name": "x"}, "updateSubcategory": {"subcategoryId": l.Subcategories[0], "retired": true},
		"importItems": {"projectId": l.ID, "library": true}, "createTeam": {"projectId": l.ID, "name": "x", "type": "MANAGER"}, "renameTeam": {"teamId": l.Team, "name": "x"}, "putProjectMember": {"teamId": l.Team, "userId": l.Labellers[1].ID},
		"removeProjectItems":  {"projectId": l.ID, "status": "NEW"},
		"removeProjectMember": {"projectId": l.ID, "userId": l.Client.ID},
	} {
		l.Labellers[0].Mutate(mutation, "__typename", input).Fails("FORBIDDEN", "")
		s.As("nobody@example.com").Mutate(mutation, "__typename", input).Fails("UNAUTHENTICATED", "")
	}
	stranger := s.User("stranger@example.com")
	a = stranger.Must(`query($p: ID!, $t: ID!, $c: ID!, $i: ID!, $m: ID!) { project(id: $p) { id } nodes(ids: [$p, $t, $c, $i, $m]) { id } }`, apitest.Vars{"p": l.ID, "t": l.Team, "c": l.Categories[0], "i": l.Items[0], "m": l.Imported})
	assert.Equal(t, `{"project":null,"nodes":[null,null,null,null,null]}`, a.Raw())
}
