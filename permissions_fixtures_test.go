package main

import "strings"

// Values that documents may name:
//
//   - people: $owner, $view, $stranger, $nobody (who does not exist), $ownerEmail, $takenEmail, $email (the role's own);
//   - notes: $note, $deleted, $version, $tag;
//   - a scope: $scope, $entity and $other, which are related to one another, $ghost (which does not exist);
//   - a project: $project, $managers, $reviewers, $taggies, $category, $subcategory, $item (finished), $open (new), $effort,
//     $import (awaits that it is started), $imported, $export (done);
//   - $fresh, another text each time, and $it, the object that the way looks for.

// arguments are those of fields that need some, or need them to be of use here.
var arguments = map[string]string{
	"Query.node":        `(id: $it)`,
	"Query.nodes":       `(ids: [$it])`,
	"Query.user":        `(id: $owner)`,
	"Query.userByEmail": `(email: $ownerEmail)`,
	"Query.note":        `(id: $note)`,
	"User.tag":          `(value: "WalkSecret")`,
	"Query.scope":       `(id: $scope)`,
	"Query.entity":      `(id: $entity)`,
	"Query.project":     `(id: $project)`,
	"Note.versionAt":    `(number: 1)`,

	"User.scopes":              `(first: 500)`, // the owner has many by and by
	"User.projects":            `(first: 500)`,
	"Scope.entities":           `(type: "thing")`,
	"Scope.entity":             `(type: "thing", key: "walk")`,
	"Scope.lookup":             `(index: "bySecret")`,
	"Project.itemByExternalId": `(externalId: "secret-item")`,

	"Mutation.createUser":         `(input: {name: "Walker", email: $email})`,
	"Mutation.updateUser":         `(input: {name: $fresh})`,
	"Mutation.createNote":         `(input: {title: $fresh, content: "mine"})`,
	"Mutation.updateNote":         `(input: {noteId: $note, title: $fresh})`,
	"Mutation.changeNoteDeadline": `(input: {noteId: $note, deadline: "2031-02-03T04:05:06Z"})`,
	"Mutation.deleteNote":         `(input: {noteId: $note})`,
	"Mutation.undeleteNote":       `(input: {noteId: $deleted})`,
	"Mutation.restoreVersion":     `(input: {versionId: $version})`,
	"Mutation.addNoteTags":        `(input: {noteId: $note, tags: ["more"]})`,
	"Mutation.removeNoteTags":     `(input: {noteId: $note, tags: ["walksecret"]})`,
	"Mutation.shareNote":          `(input: {noteId: $note, userId: $stranger, permission: VIEW})`,
	"Mutation.unshareNote":        `(input: {noteId: $note, userId: $view})`,

	"Mutation.createScope":            `(input: {name: $fresh})`,
	"Mutation.renameScope":            `(input: {scopeId: $scope, name: $fresh})`,
	"Mutation.putScopeMember":         `(input: {scopeId: $scope, userId: $stranger, role: READER})`,
	"Mutation.removeScopeMember":      `(input: {scopeId: $scope, userId: $view})`,
	"Mutation.declareEntityIndex":     `(input: {scopeId: $scope, name: $fresh, type: "thing", path: ["name"], kind: STRING})`,
	"Mutation.removeEntityIndex":      `(input: {scopeId: $scope, name: "spare"})`,
	"Mutation.setEntity":              `(input: {scopeId: $scope, type: "thing", key: "walk", attributes: {name: $fresh}})`,
	"Mutation.updateEntity":           `(input: {entityId: $entity, attributes: {name: $fresh}})`,
	"Mutation.deleteEntity":           `(input: {entityId: $entity})`,
	"Mutation.addEntityRelations":     `(input: {entityId: $entity, predicate: "likes", objects: [{entityId: $entity}]})`,
	"Mutation.removeEntityRelations":  `(input: {entityId: $entity, predicate: "likes", objectIds: [$other]})`,
	"Mutation.replaceEntityRelations": `(input: {entityId: $entity, predicate: "likes", objects: [{entityId: $entity}]})`,

	"Mutation.createProject":        `(input: {name: $fresh, categories: ["one"]})`,
	"Mutation.updateProject":        `(input: {projectId: $project, name: $fresh})`,
	"Mutation.addProjectCategories": `(input: {projectId: $project, categories: [$fresh]})`,
	"Mutation.createTeam":           `(input: {projectId: $project, name: $fresh, type: TAGGIE})`,
	"Mutation.renameTeam":           `(input: {teamId: $reviewers, name: $fresh})`,
	"Mutation.putProjectMember":     `(input: {teamId: $taggies, userId: $stranger})`,
	"Mutation.removeProjectMember":  `(input: {projectId: $project, userId: $view})`,
	"Mutation.createProjectImport":  `(input: {projectId: $project, format: JSON_LINES, bytes: 10})`,
	"Mutation.startProjectImport":   `(input: {importId: $import})`,
	"Mutation.cancelProjectImport":  `(input: {importId: $import})`,
	"Mutation.createProjectExport":  `(input: {projectId: $project, format: CSV})`,
	"Mutation.finishProjectItem":    `(input: {itemId: $open, categoryId: $category, subcategoryId: $subcategory, keywords: ["walked"]})`,
}

// starts are the places from which ways go on, for types that are reached in more than one way or only in special ones.
// Types that are not named here are reached along every field that returns them.
var starts = map[string][]string{
	"User":    {`query user(id: $owner)`, `query viewer`},
	"Note":    {`query note(id: $note)`},
	"Version": {`query note(id: $note) . latestVersion`},
	"Tag":     {`query note(id: $note) . tags`, `query node(id: $tag)`},

	"Scope":             {`query scope(id: $scope)`},
	"Entity":            {`query entity(id: $entity)`},
	"Project":           {`query project(id: $project)`},
	"Team":              {`query project(id: $project) . teams`},
	"ProjectMember":     {`query project(id: $project) . members . nodes`},
	"Category":          {`query project(id: $project) . categories`},
	"Subcategory":       {`query project(id: $project) . subcategories`},
	"ProjectItem":       {`query project(id: $project) . items . nodes`},
	"ProjectItemEffort": {`query node(id: $effort)`},
	"ProjectImport":     {`query project(id: $project) . imports . nodes`},
	"ProjectExport":     {`query project(id: $project) . exports . nodes`},

	"EmailTaken": {
		`mutation createUser(input: {name: "Walker", email: $takenEmail}) . problem`,
		`mutation updateUser(input: {email: $takenEmail}) . problem`,
	},
	"UserConflict": {`mutation updateUser(input: {name: $fresh, expectedVersion: 99}) . problem`},
	"NoteConflict": {
		`mutation updateNote(input: {noteId: $note, title: $fresh, expectedVersion: 99}) . problem`,
		`mutation changeNoteDeadline(input: {noteId: $note, deadline: null, expectedVersion: 99}) . problem`,
		`mutation deleteNote(input: {noteId: $note, expectedVersion: 99}) . problem`,
		`mutation restoreVersion(input: {versionId: $version, expectedVersion: 99}) . problem`,
	},
	"TooManyTags": {`mutation addNoteTags(input: {noteId: $note, tags: [` + manyTags + `]}) . problem`},
	"UnknownUser": {
		`mutation shareNote(input: {noteId: $note, userId: $nobody, permission: VIEW}) . problem`,
		`mutation putScopeMember(input: {scopeId: $scope, userId: $nobody, role: READER}) . problem`,
		`mutation putProjectMember(input: {teamId: $taggies, userId: $nobody}) . problem`,
	},

	"ScopeConflict": {`mutation renameScope(input: {scopeId: $scope, name: $fresh, expectedVersion: 99}) . problem`},
	"LastOwner": {
		`mutation putScopeMember(input: {scopeId: $scope, userId: $owner, role: READER}) . problem`,
		`mutation removeScopeMember(input: {scopeId: $scope, userId: $owner}) . problem`,
	},
	"EntityConflict": {
		`mutation setEntity(input: {scopeId: $scope, type: "thing", key: "walk", attributes: {name: $fresh}, expectedVersion: 99}) . problem`,
		`mutation updateEntity(input: {entityId: $entity, attributes: {name: $fresh}, expectedVersion: 99}) . problem`,
		`mutation deleteEntity(input: {entityId: $entity, expectedVersion: 99}) . problem`,
	},
	"UnknownObject": {
		`mutation setEntity(input: {scopeId: $scope, type: "thing", key: "walk", attributes: {name: $fresh}, relations: [{predicate: "likes", objects: [{entityId: $ghost}]}]}) . problem`,
		`mutation addEntityRelations(input: {entityId: $entity, predicate: "likes", objects: [{entityId: $ghost}]}) . problem`,
		`mutation replaceEntityRelations(input: {entityId: $entity, predicate: "likes", objects: [{entityId: $ghost}]}) . problem`,
	},
	"ProjectConflict": {`mutation updateProject(input: {projectId: $project, name: $fresh, expectedVersion: 99}) . problem`},
	"NameTaken": {
		`mutation addProjectCategories(input: {projectId: $project, categories: ["SECRET CATEGORY"]}) . problem`,
		`mutation createTeam(input: {projectId: $project, name: "Managers", type: TAGGIE}) . problem`,
		`mutation renameTeam(input: {teamId: $reviewers, name: "Managers"}) . problem`,
	},
	"LastManager": {
		`mutation putProjectMember(input: {teamId: $taggies, userId: $owner}) . problem`,
		`mutation removeProjectMember(input: {projectId: $project, userId: $owner}) . problem`,
	},
	"ProjectItemConflict": {`mutation finishProjectItem(input: {itemId: $item, categoryId: $category}) . problem`},
}

// shownTypes are those with ids, of which the matrix shows each way.
var shownTypes = []string{
	"User", "Note", "Version", "Tag", "DeletedNote", "Scope", "Entity", "Project", "Team", "Category", "Subcategory",
	"ProjectItem", "ProjectItemEffort", "ProjectImport", "ProjectExport",
}

// ofSome are fields that have a value for some of the subjects and none for others.
var ofSome = []string{"ProjectItem.category", "ProjectItem.subcategory", "ProjectImport.endedAt"}

// manyTags are as many as one request may add, and more than the note has room for.
var manyTags = func() string {
	var all []string
	for i := range 40 {
		all = append(all, `"t`+strings.Repeat("i", i)+`"`)
	}
	return strings.Join(all, ", ")
}()

// subjectsOf are the objects whose fields the matrix is about, by the names of their ids. Ways that lead to other objects
// of these types ("another") count for nothing.
var subjectsOf = map[string][]string{
	"User":        {"owner"},
	"Note":        {"note", "deleted"},
	"Version":     {"version"},
	"Tag":         {"tag"},
	"DeletedNote": {"note", "deleted"},

	"Scope":             {"scope"},
	"Entity":            {"entity", "other"},
	"Project":           {"project"},
	"Team":              {"reviewers", "managers", "taggies"},
	"Category":          {"category"},
	"Subcategory":       {"subcategory"},
	"ProjectItem":       {"item", "open"},
	"ProjectItemEffort": {"effort"},
	"ProjectImport":     {"import", "imported"},
	"ProjectExport":     {"export"},
}
