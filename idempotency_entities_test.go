package main

import "github.com/stretchr/testify/require"

// inSpace prepares a mutation of ada in a new scope with two things, the first related to the second.
func inSpace(input func(r space, one, two string) vars) func(ada, bob *client, round int) (*client, vars) {
	return func(ada, _ *client, _ int) (*client, vars) {
		r := ada.space("new")
		two := r.set("Thing", "two", vars{"n": 2})
		return ada, input(r, r.set("Thing", "one", vars{"n": 1}, under("to", two)), two)
	}
}

// inProject prepares a mutation of ada in a new project with a team and an item.
func inProject(input func(l crew, bob *client) vars) func(ada, bob *client, round int) (*client, vars) {
	return func(ada, bob *client, _ int) (*client, vars) {
		a := ada.must(`mutation { createProject(input: {name: "new", categories: ["A"]}) { project { id categories { id } } } }`, nil)
		l := crew{client: ada, id: a.str("createProject.project.id"), categories: idsOf(a.list("createProject.project.categories"))}
		l.team = ada.must(`mutation($p: ID!) { createTeam(input: {projectId: $p, name: "Labellers", type: TAGGIE}) { team { id } } }`, vars{"p": l.id}).str("createTeam.team.id")
		return ada, input(l, bob)
	}
}

// uploaded creates an import whose file is there.
func (l crew) uploaded() string {
	l.t.Helper()
	const text = `{"externalId": "e", "name": "n"}`
	id, upload := l.awaiting("JSON_LINES", len(text))
	require.Equal(l.t, 200, upload(text))
	return id
}

// entityMutations are those of the mutations that are about scopes, entities and projects.
var entityMutations = map[string]repeated{
	"createScope": {
		prepare:   func(ada, _ *client, _ int) (*client, vars) { return ada, vars{"name": "new"} },
		selection: "scope { id name version }", other: vars{"name": "other"},
	},
	"renameScope": {
		prepare: inSpace(func(r space, _, _ string) vars {
			return vars{"scopeId": r.scope, "name": "second", "expectedVersion": 1}
		}),
		selection: "scope { name version } problem { __typename }", other: vars{"name": "other"},
	},
	"putScopeMember": {
		prepare: func(ada, bob *client, _ int) (*client, vars) {
			return ada, vars{"scopeId": ada.space("new").scope, "userId": bob.id, "role": "READER"}
		},
		selection: "memberEdge { role addedAt node { id } } problem { __typename }", other: vars{"role": "WRITER"},
	},
	"removeScopeMember": {
		prepare: func(ada, bob *client, _ int) (*client, vars) {
			r := ada.space("new")
			r.member(bob, "READER")
			return ada, vars{"scopeId": r.scope, "userId": bob.id}
		},
		selection: "scope { members { nodes { id } } } user { id }", other: vars{"userId": gidOf("User", "other")},
	},
	"declareEntityIndex": {
		prepare: inSpace(func(r space, _, _ string) vars {
			return vars{"scopeId": r.scope, "name": "n", "type": "Thing", "path": []string{"n"}, "kind": "NUMBER"}
		}),
		selection: "scope { version indexes { name kind } }", other: vars{"kind": "STRING"},
	},
	"removeEntityIndex": {
		prepare: inSpace(func(r space, _, _ string) vars {
			r.mutate("declareEntityIndex", "scope { id }", vars{"scopeId": r.scope, "name": "n", "type": "Thing", "path": []string{"n"}, "kind": "NUMBER"})
			return vars{"scopeId": r.scope, "name": "n"}
		}),
		selection: "scope { version indexes { name } }", other: vars{"name": "other"},
	},
	"setEntity": {
		prepare: inSpace(func(r space, _, two string) vars {
			return vars{"scopeId": r.scope, "type": "Thing", "attributes": vars{"n": 3}, "relations": []vars{under("to", two, two)}}
		}),
		selection: "entity { id key version attributes relations { nodes { key } } } problem { __typename }", other: vars{"attributes": vars{"n": 4}}, more: true, made: `"n":3`,
	},
	"updateEntity": {
		prepare: inSpace(func(_ space, one, _ string) vars {
			return vars{"entityId": one, "attributes": vars{"n": 3}, "expectedVersion": 1}
		}),
		selection: "entity { version attributes } problem { __typename }", other: vars{"attributes": vars{"n": 4}},
	},
	"deleteEntity": {
		prepare:   inSpace(func(_ space, one, _ string) vars { return vars{"entityId": one, "expectedVersion": 1} }),
		selection: "deletedEntityId problem { __typename }", other: vars{"expectedVersion": 2}, more: true,
	},
	"addEntityRelations": {
		prepare: inSpace(func(_ space, one, two string) vars {
			return vars{"entityId": one, "predicate": "also", "objects": objects(two, one)}
		}),
		selection: "entity { relations { nodes { key } } } problem { __typename }", other: vars{"predicate": "other"}, more: true,
	},
	"removeEntityRelations": {
		prepare: inSpace(func(_ space, one, two string) vars {
			return vars{"entityId": one, "predicate": "to", "objectIds": []string{two}}
		}),
		selection: "entity { relations { nodes { key } } }", other: vars{"predicate": "other"},
	},
	"replaceEntityRelations": {
		prepare: inSpace(func(_ space, one, two string) vars {
			return vars{"entityId": one, "predicate": "to", "objects": objects(one, two, one)}
		}),
		selection: "entity { relations { nodes { key } } } problem { __typename }", other: vars{"predicate": "other"}, more: true,
	},

	"createProject": {
		prepare: func(ada, _ *client, _ int) (*client, vars) {
			return ada, vars{"name": "new", "categories": []string{"A", "B"}, "subcategories": []string{"C"}}
		},
		selection: "project { id name categories { id name } teams { id } }", other: vars{"name": "other"},
	},
	"updateProject": {
		prepare: inProject(func(l crew, _ *client) vars {
			return vars{"projectId": l.id, "name": "second", "expectedVersion": 1}
		}),
		selection: "project { name version } problem { __typename }", other: vars{"name": "other"},
	},
	"addProjectCategories": {
		prepare: inProject(func(l crew, _ *client) vars {
			return vars{"projectId": l.id, "categories": []string{"B"}, "subcategories": []string{"C"}}
		}),
		selection: "project { categories { id name } subcategories { id } } problem { __typename }", other: vars{"categories": []string{"D"}},
	},
	"createTeam": {
		prepare:   inProject(func(l crew, _ *client) vars { return vars{"projectId": l.id, "name": "T", "type": "REVIEWER"} }),
		selection: "team { id name type } problem { __typename }", other: vars{"name": "U"},
	},
	"renameTeam": {
		prepare:   inProject(func(l crew, _ *client) vars { return vars{"teamId": l.team, "name": "T"} }),
		selection: "team { id name } problem { __typename }", other: vars{"name": "U"},
	},
	"putProjectMember": {
		prepare:   inProject(func(l crew, bob *client) vars { return vars{"teamId": l.team, "userId": bob.id} }),
		selection: "project { id } member { type addedAt user { id } } problem { __typename }", other: vars{"userId": gidOf("User", "other")},
	},
	"removeProjectMember": {
		prepare: inProject(func(l crew, bob *client) vars {
			l.mutate("putProjectMember", "member { type }", vars{"teamId": l.team, "userId": bob.id})
			return vars{"projectId": l.id, "userId": bob.id}
		}),
		selection: "project { members { nodes { type } } } user { id } problem { __typename }", other: vars{"userId": gidOf("User", "other")},
	},
	"createProjectImport": {
		prepare:   inProject(func(l crew, _ *client) vars { return vars{"projectId": l.id, "format": "CSV", "bytes": 10} }),
		selection: "import { id state }", other: vars{"bytes": 11},
	},
	"startProjectImport": {
		prepare:   inProject(func(l crew, _ *client) vars { return vars{"importId": l.uploaded()} }),
		selection: "import { id state }", other: vars{"importId": gidOf("ProjectImport", "a", "b")},
	},
	"importItems": {
		prepare: inProject(func(l crew, _ *client) vars {
			return vars{"projectId": l.id, "itemIds": []string{l.uploads([]byte("music"), vars{"type": "text/plain"})}}
		}),
		selection: "import { id state } problem { __typename }", other: vars{"itemIds": []string{gidOf("Item", "a", "b", "c")}},
	},
	"cancelProjectImport": {
		prepare:   inProject(func(l crew, _ *client) vars { return vars{"importId": l.uploaded()} }),
		selection: "import { id state endedAt }", other: vars{"importId": gidOf("ProjectImport", "a", "b")},
	},
	"createProjectExport": {
		prepare:   inProject(func(l crew, _ *client) vars { return vars{"projectId": l.id, "format": "CSV"} }),
		selection: "export { id state }", other: vars{"format": "JSON_LINES"},
	},
}
