package checks

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/fault"
)

// deeds read and change everything that fill makes, what is gone afterwards last.
var deeds = []struct{ who, document string }{
	{"ada", `{ viewer { name notes(first: 10) { nodes { title tags { value } accessList(first: 5) { nodes { name } } versions(first: 5) { nodes { title } } } } tags(first: 5) { nodes { value } } } }`},
	{"ada", `{ viewer { noteChanges(first: 50) { nodes { __typename } } scopes(first: 5) { nodes { name members(first: 5) { nodes { name } } } } } }`},
	{"grace", `{ viewer { sharedNotes(first: 10) { edges { node { title owner { name } } } } } note(id: $note) { title } userByEmail(email: "ada.checks@example.com") { name } }`},
	{"ada", `{ entity(id: $entity) { attributes indexEntries { __typename } } scope(id: $scope) { entities(type: "Thing", first: 5) { nodes { key } } lookup(index: "byName", first: 5) { nodes { key } } } }`},
	{"ada", `{ viewer { scores(first: 5) { nodes { title description pages { name item { name } } snapshots { name } } } items(first: 5) { nodes { name useCount usedBy(first: 5) { nodes { __typename } } } } itemUsage { __typename } } }`},
	{"grace", `{ itemTags(beginsWith: "viola", first: 5) { nodes { value } } taggedItems(beginsWith: "viola", first: 5) { nodes { name tags(first: 5) { nodes { value } } } } itemTagValues(beginsWith: "v") { value } score(id: $score) { title } }`},
	{"manager", `{ project(id: $project) { name history(first: 5) { nodes { type } } guidelines { text } invitations { used } categories { name } teams { name } members(first: 20) { nodes { type } } items(first: 5) { nodes { name efforts(first: 5) { nodes { __typename } } } } imports(first: 5) { nodes { state } } } }`},
	{"ada", `{ viewer { archives(first: 5) { nodes { state url faults { path } } } } }`},
	{"grace", `{ viewer { keptScores(first: 5) { nodes { title } } } }`},
	{"grace", `mutation { keepScore(input: {scoreId: $score}) { __typename } }`},
	{"grace", `mutation { dropScore(input: {scoreId: $score}) { __typename } }`},
	{"ada", `mutation { createUser(input: {name: "Ada", email: "ada.checks@example.com"}) { __typename } }`},
	{"ada", `mutation { updateUser(input: {name: "Ada of another version"}) { __typename } }`},
	{"ada", `mutation { createArchive(input: {}) { __typename } }`},
	{"ada", `mutation { updateNote(input: {noteId: $note, title: "another", content: "yet another"}) { __typename } }`},
	{"ada", `mutation { changeNoteDeadline(input: {noteId: $note, deadline: "2031-02-03T04:05:06Z"}) { __typename } }`},
	{"ada", `mutation { addNoteTags(input: {noteId: $note, tags: ["more"]}) { __typename } }`},
	{"ada", `mutation { removeNoteTags(input: {noteId: $note, tags: ["work"]}) { __typename } }`},
	{"ada", `mutation { shareNote(input: {noteId: $note, userId: $grace, permission: EDIT}) { __typename } }`},
	{"grace", `mutation { updateNote(input: {noteId: $note, title: "hers"}) { __typename } }`},
	{"ada", `mutation { undeleteNote(input: {noteId: $deleted}) { __typename } }`},
	{"ada", `mutation { putScopeMember(input: {scopeId: $scope, userId: $grace, role: WRITER}) { __typename } }`},
	{"ada", `mutation { updateEntity(input: {entityId: $entity, attributes: {name: "Two"}}) { __typename } }`},
	{"ada", `mutation { updateScore(input: {scoreId: $score, title: "another", access: PRIVATE}) { __typename } }`},
	{"ada", `mutation { renameSnapshot(input: {snapshotId: $snapshot, name: "second"}) { __typename } }`},
	{"ada", `mutation { setItemTags(input: {itemId: $item, tags: [{value: "Cello"}, {value: "Viola", visibility: PRIVATE}]}) { __typename } }`},
	{"ada", `mutation { renameItem(input: {itemId: $item, name: "another"}) { __typename } }`},
	{"manager", `mutation { updateProject(input: {projectId: $project, name: "another"}) { __typename } }`},
	{"manager", `mutation { updateGuidelines(input: {projectId: $project, text: "another"}) { __typename } }`},
	{"grace", `{ invitation(token: $link) { teamName } }`},
	{"grace", `mutation { acceptProjectInvitation(input: {token: $link}) { __typename } }`},
	{"manager", `mutation { revokeProjectInvitation(input: {invitationId: $invitation}) { __typename } }`},
	{"manager", `mutation { createProjectInvitation(input: {teamId: $team}) { __typename } }`},
	{"manager", `mutation { updateCategory(input: {categoryId: $category, name: "another"}) { __typename } }`},
	{"manager", `mutation { removeProjectItems(input: {projectId: $project, itemIds: [$open]}) { __typename } }`},
	{"manager", `mutation { removeProjectMember(input: {projectId: $project, userId: $labeller}) { __typename } }`},
	{"ada", `mutation { unshareNote(input: {noteId: $note, userId: $grace}) { __typename } }`},
	{"ada", `mutation { deleteNote(input: {noteId: $note}) { __typename } }`},
	{"ada", `mutation { removeScopeMember(input: {scopeId: $scope, userId: $grace}) { __typename } }`},
	{"ada", `mutation { deleteEntity(input: {entityId: $entity}) { __typename } }`},
	{"ada", `mutation { removeItemTags(input: {itemId: $item, tags: ["Viola", "mine"]}) { __typename } }`},
	{"manager", `query { project(id: $project) { itemTags(beginsWith: "sc") { nodes { value } } } }`},
	{"manager", `mutation { removeItemTags(input: {itemId: $file, tags: ["scan"]}) { __typename } }`},
	{"ada", `mutation { deleteSnapshot(input: {snapshotId: $snapshot}) { __typename } }`},
	{"ada", `mutation { deleteScore(input: {scoreId: $score}) { __typename } }`},
	{"ada", `mutation { deleteItem(input: {itemId: $item}) { __typename } }`},
	{"ada", `mutation { deleteScope(input: {scopeId: $scope}) { __typename } }`},
	{"manager", `mutation { deleteProject(input: {projectId: $project}) { __typename } }`},
	{"root", `mutation { undoDeleteUser(input: {userId: $gone}) { __typename } }`},
}

// does does all of them, and returns how often what code was answered.
func (f filled) does(s *apitest.Server) map[string]int {
	var ids []string
	for name, id := range f.ids {
		quoted, _ := json.Marshal(id) // which every string can be
		ids = append(ids, name, string(quoted))
	}
	literal := strings.NewReplacer(ids...)
	who := map[string]*apitest.Client{"ada": f.ada, "grace": f.grace, "manager": f.manager, "root": f.root}
	codes := map[string]int{}
	for _, d := range deeds {
		a := who[d.who].Do(literal.Replace(d.document), nil)
		a.TellsNothingInner()
		for _, err := range a.Errors {
			codes[err.Extensions.Code]++
			assert.NotContains(s.T, []string{"INTERNAL", apitest.Unfit, apitest.Invalid}, err.Extensions.Code, "%s: %s", d.document, a.Body)
		}
	}
	return codes
}

var allTables = []dynamo.Table{dynamo.NotesTable, dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries, dynamo.ScoresTable, dynamo.TagsTable}

// stored are all rows.
type stored map[dynamo.RowID]dynamo.Attrs

func rowsOf(s *apitest.Server) stored {
	s.T.Helper()
	all := stored{}
	for _, table := range allTables {
		for key, row := range dynamotest.RowsOf(s.T, s.DB, table) {
			all[dynamo.RowID{Table: table, Key: key}] = row
		}
	}
	return all
}

// put puts a row, whatever is there.
func put(s *apitest.Server, of dynamo.Table, row dynamo.Attrs) {
	s.T.Helper()
	_, err := s.DB.Client.PutItem(s.T.Context(), &dynamodb.PutItemInput{TableName: s.DB.Table(of), Item: row})
	require.NoError(s.T, err)
}

// becomesAgain makes the rows what they were.
func (was stored) becomesAgain(s *apitest.Server) {
	s.T.Helper()
	is := rowsOf(s)
	for id, row := range was {
		if !assert.ObjectsAreEqual(row, is[id]) {
			put(s, id.Table, row)
		}
	}
	for id := range is {
		if _, there := was[id]; !there {
			_, err := s.DB.Client.DeleteItem(s.T.Context(), &dynamodb.DeleteItemInput{TableName: s.DB.Table(id.Table), Key: id.Table.Key(id.Key)})
			require.NoError(s.T, err)
		}
	}
}

// others begins the names of the rows that are of no kind.
const others = "something else in "

// kindsOf are the kinds of the rows, and those that are of no kind by their tables.
func kindsOf(all stored) map[string][]dynamo.RowID {
	kinds := map[string][]dynamo.RowID{}
	for id := range all {
		name := others + id.Table.Name
		for _, kind := range app.RowKinds() {
			if kind.Table == id.Table && kind.Is(id.Key) {
				name = kind.Name
			}
		}
		kinds[name] = append(kinds[name], id)
	}
	return kinds
}

// What a later version wrote is refused by whatever reads it, and stays whatever is done: kind by kind.
func TestFormatsOfAllKindsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	f := fill(s)
	was := rowsOf(s)
	f.does(s)
	was.becomesAgain(s)
	kinds := kindsOf(was)
	for _, kind := range app.RowKinds() {
		assert.NotEmpty(t, kinds[kind.Name], "the data has none that is %s", kind.Name)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		written := stored{}
		for _, id := range kinds[kind] {
			row := maps.Clone(was[id])
			row[dynamo.FormatAttribute] = dynamo.Number(dynamo.NewestFormat + 1)
			put(s, id.Table, row)
			written[id] = row
		}
		unreadable := map[dynamo.RowID]bool{}
		for _, m := range checked(t, stores(s)).Misfits {
			if fault.Is(m.Err, fault.Outdated) {
				unreadable[dynamo.RowID{Table: tableOf(m.Table), Key: m.Key}] = true
			}
		}
		codes := f.does(s)
		if !strings.HasPrefix(kind, others) { // some of which only background jobs read
			assert.Positive(t, codes["SERVER_OUTDATED"], "nobody has read %s: %v", kind, codes)
		}
		is := rowsOf(s)
		for id, row := range written {
			assert.True(t, unreadable[id], "the check has not told of %s: %v", kind, id.Key)
			assert.Equal(t, row, is[id], "%s was changed", kind)
		}
		was.becomesAgain(s)
	}
	assert.Contains(t, s.Logs.String(), "this server is older than what it reads")
}

// A task of a later format keeps no check from its end.
func TestACheckGoesOnAtTasksOfLaterFormats(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	row := dynamo.RelationshipEntries.Key(dynamo.Key{PK: keys.TaskSubjectKeys()[0], SK: "task:0000000000000001:later:1"})
	row[dynamo.FormatAttribute] = dynamo.Number(dynamo.NewestFormat + 1)
	put(s, dynamo.RelationshipEntries, row)
	c := checked(t, stores(s))
	assert.True(t, c.Working)
	require.Len(t, c.Misfits, 1)
	assert.True(t, fault.Is(c.Misfits[0].Err, fault.Outdated))
}

func tableOf(name string) dynamo.Table {
	return allTables[slices.IndexFunc(allTables, func(t dynamo.Table) bool { return t.Name == name })]
}
