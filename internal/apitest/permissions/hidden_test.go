package permissions

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/gid"
)

// unlikely are documents besides those of the walk: they join what is hidden with what is not.
var unlikely = []string{
	`query { nodes(ids: [$owner, $note, $version, $tag, $deleted, $note]) { id } }`,
	`query { a: note(id: $note) { id title } b: node(id: $version) { ... on Version { content } } viewer { id } }`,
	`mutation { unshareNote(input: {noteId: $note, userId: $self}) { note { id } user { id } } }`,
	`mutation { unshareNote(input: {noteId: $deleted, userId: $self}) { note { id } user { id } } }`,
	`mutation { shareNote(input: {noteId: $note, email: $takenEmail, permission: VIEW}) { note { id } problem { __typename } } }`,
	`mutation { shareNote(input: {noteId: $note, email: "nobody@example.com", permission: VIEW}) { note { id } problem { __typename } } }`,
	`mutation { shareNote(input: {noteId: $note, userId: $self, permission: EDIT}) { note { id } problem { __typename } } }`,
	`mutation { updateNote(input: {noteId: $note, title: $fresh, expectedVersion: 2, idempotencyKey: $fresh}) { note { id } } }`,
	`mutation { updateNote(input: {noteId: $deleted, title: $fresh}) { note { id } } }`,
	`mutation { deleteNote(input: {noteId: $deleted}) { deletedNote { noteId } } }`,
	`mutation { addNoteTags(input: {noteId: $deleted, tags: ["more"]}) { note { id } } }`,

	`query { nodes(ids: [$scope, $entity, $other, $project, $reviewers, $category, $subcategory, $item, $open, $effort, $import, $export, $removal]) { id } }`,
	`query { scope(id: $scope) { name viewerRole entity(type: "thing", key: "walk") { key } lookup(index: "bySecret") { nodes { id } } } }`,
	`query { a: entity(id: $entity) { key relations { nodes { id } } } b: entity(id: $other) { key scope { id } } }`,
	`query { project(id: $project) { name viewerMember { type } itemByExternalId(externalId: "secret-item") { id } imports { nodes { id } } } }`,
	`query { a: node(id: $import) { ... on ProjectImport { state } } b: node(id: $export) { ... on ProjectExport { url } } }`,
	`mutation { removeScopeMember(input: {scopeId: $scope, userId: $self}) { scope { id } user { id } problem { __typename } } }`,
	`mutation { removeProjectMember(input: {projectId: $project, userId: $self}) { project { id } user { id } problem { __typename } } }`,
	`mutation { putScopeMember(input: {scopeId: $scope, email: $takenEmail, role: OWNER}) { scope { id } problem { __typename } } }`,
	`mutation { putScopeMember(input: {scopeId: $scope, email: "nobody@example.com", role: READER}) { scope { id } problem { __typename } } }`,
	`mutation { putScopeMember(input: {scopeId: $scope, userId: $self, role: OWNER}) { scope { id } problem { __typename } } }`,
	`mutation { putProjectMember(input: {teamId: $managers, email: $takenEmail}) { project { id } problem { __typename } } }`,
	`mutation { putProjectMember(input: {teamId: $managers, email: "nobody@example.com"}) { project { id } problem { __typename } } }`,
	`mutation { putProjectMember(input: {teamId: $managers, userId: $self}) { project { id } problem { __typename } } }`,
	`mutation { setEntity(input: {scopeId: $scope, type: "thing", key: "walk", attributes: {}, expectedVersion: 0}) { entity { id } problem { __typename } } }`,
	`mutation { setEntity(input: {scopeId: $scope, type: "thing", attributes: {}, idempotencyKey: $fresh}) { entity { id } problem { __typename } } }`,
	`mutation { updateEntity(input: {entityId: $other, attributes: {}, expectedVersion: 1}) { entity { id } problem { __typename } } }`,
	`mutation { declareEntityIndex(input: {scopeId: $scope, name: "bySecret", type: "thing", path: ["name"], kind: STRING}) { scope { id } } }`,
	`mutation { removeEntityIndex(input: {scopeId: $scope, name: "noSuchIndex"}) { scope { id } } }`,
	`mutation { finishProjectItem(input: {itemId: $item, token: $used, categoryId: $category, idempotencyKey: $fresh}) { item { id } problem { __typename } } }`,
	`mutation { finishProjectItem(input: {itemId: $taken, token: $takenToken, categoryId: $category}) { item { id } problem { __typename } } }`,
	`mutation { finishProjectItems(input: {finishes: [{itemId: $taken, token: $takenToken, categoryId: $category}, {itemId: $open, token: "x", categoryId: $category}]}) { outcomes { item { id } problem { __typename } } } }`,
	`mutation { extendClaim(input: {itemId: $taken, token: $takenToken, idempotencyKey: $fresh}) { item { id } problem { __typename } } }`,
	`mutation { releaseProjectItem(input: {itemId: $taken, token: $takenToken}) { item { id } problem { __typename } } }`,
	`mutation { skipProjectItem(input: {itemId: $taken, token: $takenToken, reason: TO_ME_LATER, minutes: 5}) { item { id } problem { __typename } } }`,
	`mutation { claimProjectItems(input: {projectId: $project, count: 50, idempotencyKey: $fresh}) { items { id } problem { __typename } } }`,
	`mutation { reviewEffort(input: {effortId: $hers, verdict: INCORRECT, idempotencyKey: $fresh}) { item { id } problem { __typename } } }`,
	`mutation { undoFinish(input: {effortId: $mine, idempotencyKey: $fresh}) { item { id } problem { __typename } } }`,
	`mutation { heartbeat(input: {projectIds: [$project, $paused, $full]}) { onlineCount } }`,
	`subscription { projectEvents(projectId: $project, after: $cursor, types: [REVIEWED], mine: true) { ... on ProjectEvent { item { id } } } }`,
	`mutation { startProjectImport(input: {importId: $imported}) { import { id } } }`,
	`mutation { importItems(input: {projectId: $project, itemIds: [$file, $page]}) { import { id } problem { __typename } } }`,
	`mutation { importItems(input: {projectId: $project, scoreId: $score, idempotencyKey: $fresh}) { import { id } problem { __typename } } }`,
	`query { node(id: $scanItem) { ... on ProjectItem { item { url thumbnailUrl projects { nodes { id } } } } } }`,
	`mutation { cancelProjectImport(input: {importId: $imported}) { import { id } } }`,
}

// ofRooms are objects of scopes and projects, by the names of their ids.
var ofRooms = []string{
	"scope", "entity", "other", "ghost", "project", "managers", "reviewers", "taggies", "category", "subcategory", "item", "open", "effort",
	"import", "imported", "export", "invitation", "doomed", "deletedProject", "doomedScope", "deletedScope", "held", "taken", "returned", "mineItem", "undoneItem", "reviewedItem", "lateItem", "goneItem", "mine", "undone", "reviewed", "late",
	"gone", "hers", "paused", "full", "cursor", "forged",
	"scans", "scanItem", "score", "past", "snapshot", "file", "page", "spareFile", "lentFile", "withdrawnFile", "upload", "unwanted", "lie", "parts", "fullScore",
}

// TestWhatIsHiddenLooksLikeWhatDoesNotExist asks everything that the walk asks twice: about what the role may not see,
// and about what there is not. It compares the answers and what they cost.
func TestWhatIsHiddenLooksLikeWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	ways := waysOf(t, schema)
	s := newWalkServer(t)
	for _, role := range []string{"revoked", "stranger", "newcomer", "admin", "anonymous"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s, role)
			w.ids["self"] = w.asker.ID
			if w.asker.ID == "" {
				w.ids["self"] = w.ids["stranger"]
			}
			before := w.snapshot()
			asked := 0
			for to, documents := range documentsOf(schema, ways) {
				for _, document := range documents {
					values := w.values(to)
					for _, missing := range missingOf(t, values, role == "anonymous") {
						if fill(document, missing) == fill(document, values) {
							continue // about nothing that is hidden
						}
						asked++
						there, gone := w.ask(fill(document, values)), w.ask(fill(document, missing))
						assert.Equal(t, bare(there), bare(gone), "%s", document)
						assert.Equal(t, there.Status, gone.Status, "%s", document)
						assert.Equal(t, there.Extensions, gone.Extensions, "%s", document)
					}
				}
			}
			require.Greater(t, asked, 50)
			assert.Equal(t, before, w.snapshot())
			w.assertNothingShown()
		})
	}
}

// The comparison would prove nothing if its documents did not show what is there to who may see it.
func TestWhatIsThereDoesNotLookLikeWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	w := newWorld(t, newWalkServer(t), "owner")
	for to, documents := range documentsOf(schema, waysOf(t, schema)) {
		for _, document := range documents {
			values := w.values(to)
			missing := missingOf(t, values, false)[0]
			if strings.HasPrefix(document, "query") && fill(document, missing) != fill(document, values) {
				assert.NotEqual(t, bare(w.ask(fill(document, values))), bare(w.ask(fill(document, missing))), "%s", document)
			}
		}
	}
}

// Imports and exports are for managers: other members are told of none of them whether it exists, though they are told that
// they may not ask.
func TestWhatIsForManagersLooksLikeWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	all := documentsOf(schema, waysOf(t, schema))
	s := newWalkServer(t)
	for _, role := range []string{"edit", "view"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s, role)
			w.ids["self"] = w.asker.ID
			before, asked := w.snapshot(), 0
			for to, documents := range all {
				for _, document := range documents {
					values := w.values(to)
					beside, missing := missingOf(t, values, false)[1], maps.Clone(values)
					for _, name := range []string{"import", "imported", "export", "it"} {
						if id, err := gid.Parse(values[name]); err == nil && (id.Type == "ProjectImport" || id.Type == "ProjectExport") {
							missing[name] = beside[name]
						}
					}
					if fill(document, missing) == fill(document, values) {
						continue // about something else
					}
					asked++
					there, gone := w.ask(fill(document, values)), w.ask(fill(document, missing))
					assert.Equal(t, bare(there), bare(gone), "%s", document)
					assert.Equal(t, there.Extensions, gone.Extensions, "%s", document)
					assert.Contains(t, there.Body, "FORBIDDEN", "%s", document)
				}
			}
			require.GreaterOrEqual(t, asked, 10)
			assert.Equal(t, before, w.snapshot())
		})
	}
}

// documentsOf returns what to ask, with the names of values still in it, by the type that it is about.
func documentsOf(schema *ast.Schema, ways []way) map[string][]string {
	documents := map[string][]string{"Note": unlikely}
	for _, g := range grouped(ways) {
		documents[g[0].to] = append(documents[g[0].to], g.document(schema, nil))
	}
	return documents
}

// missingOf returns the values with ids of nothing, as near to the real ones as can be: of nothing at all, and of nothing
// beside what is there. Users exist for everybody who signed in.
func missingOf(t *testing.T, values map[string]string, users bool) []map[string]string {
	t.Helper()
	afar, beside := maps.Clone(values), maps.Clone(values)
	others := map[string]string{} // a note and its version are of one note also where there are none: they are read together
	for _, name := range append([]string{"note", "deleted", "version", "tag", "owner", "it"}, ofRooms...) {
		id, err := gid.Parse(values[name])
		require.NoError(t, err)
		if id.Type == "User" && !users {
			continue
		}
		if others[id.Key[0]] == "" {
			others[id.Key[0]] = uuid.NewString()
		}
		afar[name] = gid.Of(id.Type, append([]string{others[id.Key[0]]}, id.Key[1:]...)...).String()
		if last := len(id.Key) - 1; last > 0 {
			key := slices.Clone(id.Key)
			key[last] = strings.Map(mirrored, key[last])
			beside[name] = gid.Of(id.Type, key...).String()
		}
	}
	return []map[string]string{afar, beside}
}

// mirrored makes another id of the same form, and different ones of different ids.
func mirrored(r rune) rune {
	switch {
	case '0' <= r && r <= '9':
		return '0' + '9' - r
	case 'a' <= r && r <= 'f':
		return 'a' + 'f' - r
	case 'g' <= r && r <= 'z':
		return 'g' + 'z' - r
	}
	return r
}
