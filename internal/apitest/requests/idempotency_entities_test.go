package requests

import (
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// inSpace prepares a mutation of ada in a new scope with two things, the first related to the second.
func inSpace(input func(r apitest.Space, one, two string) apitest.Vars) func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
	return func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
		r := ada.Space("new")
		two := r.Set("Thing", "two", apitest.Vars{"n": 2})
		return ada, input(r, r.Set("Thing", "one", apitest.Vars{"n": 1}, apitest.Under("to", two)), two)
	}
}

// inProject prepares a mutation of ada in a new project with a team and an item.
func inProject(input func(l apitest.Crew, bob *apitest.Client) apitest.Vars) func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
	return func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
		a := ada.Must(`mutation { createProject(input: {name: "new", categories: ["A"], subcategories: ["S", "T"]}) { project { id categories { id } subcategories { id } } } }`, nil)
		l := apitest.Crew{Client: ada, ID: a.Str("createProject.project.id"), Categories: apitest.IDsOf(a.List("createProject.project.categories"))}
		l.Subcategories = apitest.IDsOf(a.List("createProject.project.subcategories"))
		l.Team = ada.Must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Labellers", type: TAGGIE}) { team { id } } }`, apitest.Vars{"p": l.ID}).Str("createTeam.team.id")
		return ada, input(l, bob)
	}
}

// uploaded creates an import whose file is there.
func uploaded(l apitest.Crew) string {
	l.T.Helper()
	const text = `{"externalId": "e", "name": "n"}`
	id, upload := l.Awaiting("JSON_LINES", len(text))
	require.Equal(l.T, 200, upload(text))
	return id
}

// entityMutations are those of the mutations that are about scopes, entities and projects.
var entityMutations = map[string]repeated{
	"createScope": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			return ada, apitest.Vars{"name": "new"}
		},
		selection: "scope { id name version }", other: apitest.Vars{"name": "other"},
	},
	"renameScope": {
		prepare: inSpace(func(r apitest.Space, _, _ string) apitest.Vars {
			return apitest.Vars{"scopeId": r.Scope, "name": "second", "expectedVersion": 1}
		}),
		selection: "scope { name version } problem { __typename }", other: apitest.Vars{"name": "other"},
	},
	"deleteScope": {
		prepare:   inSpace(func(r apitest.Space, _, _ string) apitest.Vars { return apitest.Vars{"scopeId": r.Scope} }),
		selection: "deleted { scopeId state undoUntil } problem { __typename }", other: apitest.Vars{"purge": true},
	},
	"undoDeleteScope": {
		prepare:   inSpace(func(r apitest.Space, _, _ string) apitest.Vars { return deletingScope(r) }),
		selection: "scope { id version viewerRole }", other: apitest.Vars{"scopeId": apitest.GIDOf("Scope", "a")},
	},
	"purgeDeletedScope": {
		prepare:   inSpace(func(r apitest.Space, _, _ string) apitest.Vars { return deletingScope(r) }),
		selection: "deleted { scopeId state undoUntil }", other: apitest.Vars{"scopeId": apitest.GIDOf("Scope", "a")},
	},
	"putScopeMember": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			return ada, apitest.Vars{"scopeId": ada.Space("new").Scope, "userId": bob.ID, "role": "READER"}
		},
		selection: "memberEdge { role addedAt node { id } } problem { __typename }", other: apitest.Vars{"role": "WRITER"},
	},
	"removeScopeMember": {
		prepare: func(ada, bob *apitest.Client) (*apitest.Client, apitest.Vars) {
			r := ada.Space("new")
			r.Member(bob, "READER")
			return ada, apitest.Vars{"scopeId": r.Scope, "userId": bob.ID}
		},
		selection: "scope { members { nodes { id } } } user { id }", other: apitest.Vars{"userId": apitest.GIDOf("User", "other")},
	},
	"declareEntityIndex": {
		prepare: inSpace(func(r apitest.Space, _, _ string) apitest.Vars {
			return apitest.Vars{"scopeId": r.Scope, "name": "n", "type": "Thing", "path": []string{"n"}, "kind": "NUMBER"}
		}),
		selection: "scope { version indexes { name kind } }", other: apitest.Vars{"kind": "STRING"},
	},
	"removeEntityIndex": {
		prepare: inSpace(func(r apitest.Space, _, _ string) apitest.Vars {
			r.Mutate("declareEntityIndex", "scope { id }", apitest.Vars{"scopeId": r.Scope, "name": "n", "type": "Thing", "path": []string{"n"}, "kind": "NUMBER"})
			return apitest.Vars{"scopeId": r.Scope, "name": "n"}
		}),
		selection: "scope { version indexes { name } }", other: apitest.Vars{"name": "other"},
	},
	"setEntity": {
		prepare: inSpace(func(r apitest.Space, _, two string) apitest.Vars {
			return apitest.Vars{"scopeId": r.Scope, "type": "Thing", "attributes": apitest.Vars{"n": 3}, "meta": apitest.Vars{"m": 1}, "relations": []apitest.Vars{apitest.Under("to", two, two)}}
		}),
		selection: "entity { id key version attributes meta relations { nodes { key } } } problem { __typename }", other: apitest.Vars{"attributes": apitest.Vars{"n": 4}}, more: true, made: `"n":3`,
	},
	"updateEntity": {
		prepare: inSpace(func(_ apitest.Space, one, _ string) apitest.Vars {
			return apitest.Vars{"entityId": one, "attributes": apitest.Vars{"n": 3}, "meta": apitest.Vars{"m": 1}, "expectedVersion": 1}
		}),
		selection: "entity { version attributes meta } problem { __typename }", other: apitest.Vars{"meta": apitest.Vars{"m": 2}},
	},
	"deleteEntity": {
		prepare: inSpace(func(_ apitest.Space, one, _ string) apitest.Vars {
			return apitest.Vars{"entityId": one, "expectedVersion": 1}
		}),
		selection: "deletedEntityId problem { __typename }", other: apitest.Vars{"expectedVersion": 2}, more: true,
	},
	"addEntityRelations": {
		prepare: inSpace(func(_ apitest.Space, one, two string) apitest.Vars {
			return apitest.Vars{"entityId": one, "predicate": "also", "objects": apitest.Objects(two, one)}
		}),
		selection: "entity { relations { nodes { key } } } problem { __typename }", other: apitest.Vars{"predicate": "other"}, more: true,
	},
	"removeEntityRelations": {
		prepare: inSpace(func(_ apitest.Space, one, two string) apitest.Vars {
			return apitest.Vars{"entityId": one, "predicate": "to", "objectIds": []string{two}}
		}),
		selection: "entity { relations { nodes { key } } }", other: apitest.Vars{"predicate": "other"},
	},
	"replaceEntityRelations": {
		prepare: inSpace(func(_ apitest.Space, one, two string) apitest.Vars {
			return apitest.Vars{"entityId": one, "predicate": "to", "objects": apitest.Objects(one, two, one)}
		}),
		selection: "entity { relations { nodes { key } } } problem { __typename }", other: apitest.Vars{"predicate": "other"}, more: true,
	},

	"createProject": {
		prepare: func(ada, _ *apitest.Client) (*apitest.Client, apitest.Vars) {
			return ada, apitest.Vars{"name": "new", "categories": []string{"A", "B"}, "subcategories": []string{"C"}}
		},
		selection: "project { id name categories { id name } teams { id } }", other: apitest.Vars{"name": "other"},
	},
	"updateProject": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"projectId": l.ID, "name": "second", "leaseMinutes": 60, "expectedVersion": 1}
		}),
		selection: "project { name leaseMinutes version } problem { __typename }", other: apitest.Vars{"name": "other"},
	},
	"addProjectCategories": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"projectId": l.ID, "categories": []string{"B"}, "subcategories": []string{"C"}}
		}),
		selection: "project { categories { id name } subcategories { id } } problem { __typename }", other: apitest.Vars{"categories": []string{"D"}},
	},
	"updateCategory": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"categoryId": l.Categories[0], "name": "B", "retired": true}
		}),
		selection: "category { id name retiredAt } project { id } problem { __typename }", other: apitest.Vars{"name": "D"},
	},
	"updateSubcategory": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"subcategoryId": l.Subcategories[0], "mergeInto": l.Subcategories[1]}
		}),
		selection: "subcategory { id name mergedInto { id } } project { id } problem { __typename }", other: apitest.Vars{"mergeInto": nil},
	},
	"createTeam": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"projectId": l.ID, "name": "T", "type": "REVIEWER"}
		}),
		selection: "team { id name type } problem { __typename }", other: apitest.Vars{"name": "U"},
	},
	"renameTeam": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"teamId": l.Team, "name": "T"}
		}),
		selection: "team { id name } problem { __typename }", other: apitest.Vars{"name": "U"},
	},
	"deleteTeam": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return apitest.Vars{"teamId": l.Team} }),
		selection: "team { id deletedAt } problem { __typename }", other: apitest.Vars{"teamId": apitest.GIDOf("Team", "a", "b")},
	},
	"putProjectMember": {
		prepare: inProject(func(l apitest.Crew, bob *apitest.Client) apitest.Vars {
			return apitest.Vars{"teamId": l.Team, "userId": bob.ID}
		}),
		selection: "project { id } member { type addedAt user { id } } problem { __typename }", other: apitest.Vars{"userId": apitest.GIDOf("User", "other")},
	},
	"removeProjectMember": {
		prepare: inProject(func(l apitest.Crew, bob *apitest.Client) apitest.Vars {
			l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": l.Team, "userId": bob.ID})
			return apitest.Vars{"projectId": l.ID, "userId": bob.ID}
		}),
		selection: "project { members { nodes { type } } } user { id } problem { __typename }", other: apitest.Vars{"userId": apitest.GIDOf("User", "other")},
	},
	"createProjectImport": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"projectId": l.ID, "format": "CSV", "bytes": 10}
		}),
		selection: "import { id state }", other: apitest.Vars{"bytes": 11},
	},
	"startProjectImport": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return apitest.Vars{"importId": uploaded(l)} }),
		selection: "import { id state }", other: apitest.Vars{"importId": apitest.GIDOf("ProjectImport", "a", "b")},
	},
	"importItems": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"projectId": l.ID, "itemIds": []string{l.Uploads([]byte("music"), apitest.Vars{"type": "text/plain"})}}
		}),
		selection: "import { id state } problem { __typename }", other: apitest.Vars{"itemIds": []string{apitest.GIDOf("Item", "a", "b", "c")}},
	},
	"cancelProjectImport": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return apitest.Vars{"importId": uploaded(l)} }),
		selection: "import { id state endedAt }", other: apitest.Vars{"importId": apitest.GIDOf("ProjectImport", "a", "b")},
	},
	"removeProjectItems": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"projectId": l.ID, "itemIds": []string{apitest.GIDOf("ProjectItem", string(l.Key()), "x")}}
		}),
		selection: "removal { id state }", other: apitest.Vars{"purge": true},
	},
	"deleteProject": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return apitest.Vars{"projectId": l.ID} }),
		selection: "deleted { projectId state undoUntil } problem { __typename }", other: apitest.Vars{"purge": true},
	},
	"undoDeleteProject": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return deleting(l) }),
		selection: "project { id version viewerMember { type } }", other: apitest.Vars{"projectId": apitest.GIDOf("Project", "a")},
	},
	"purgeDeletedProject": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return deleting(l) }),
		selection: "deleted { projectId state undoUntil }", other: apitest.Vars{"projectId": apitest.GIDOf("Project", "a")},
	},
	"undoProjectRemoval": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return removing(l) }),
		selection: "removal { id state }", other: apitest.Vars{"removalId": apitest.GIDOf("ProjectRemoval", "a", "b")},
	},
	"purgeProjectRemoval": {
		prepare:   inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars { return removing(l) }),
		selection: "removal { id state }", other: apitest.Vars{"removalId": apitest.GIDOf("ProjectRemoval", "a", "b")},
	},
	"createProjectExport": {
		prepare: inProject(func(l apitest.Crew, _ *apitest.Client) apitest.Vars {
			return apitest.Vars{"projectId": l.ID, "format": "CSV"}
		}),
		selection: "export { id state }", other: apitest.Vars{"format": "JSON_LINES"},
	},
}

// deletingScope deletes a scope, and returns the input of what changes that.
func deletingScope(r apitest.Space) apitest.Vars {
	r.T.Helper()
	r.Mutate("deleteScope", "deleted { state }", apitest.Vars{"scopeId": r.Scope})
	return apitest.Vars{"scopeId": r.Scope}
}

// deleting deletes a project, and returns the input of what changes that.
func deleting(l apitest.Crew) apitest.Vars {
	l.T.Helper()
	l.Mutate("deleteProject", "deleted { state }", apitest.Vars{"projectId": l.ID})
	return apitest.Vars{"projectId": l.ID}
}

// removing begins a removal, and returns the input of what changes it.
func removing(l apitest.Crew) apitest.Vars {
	l.T.Helper()
	return apitest.Vars{"removalId": l.Mutate("removeProjectItems", "removal { id }", apitest.Vars{"projectId": l.ID, "status": "NEW"}).Str("result.removal.id")}
}
