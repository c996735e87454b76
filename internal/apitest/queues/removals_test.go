package queues

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const removalShown = "removal { id state removed left endedAt undoUntil status import { id } createdBy { id } project { id } }"

// removalBecomes waits for the state of a removal.
func removalBecomes(l apitest.Crew, id, state string) *apitest.Answer {
	l.T.Helper()
	var a *apitest.Answer
	require.Eventually(l.T, func() bool {
		a = l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectRemoval { state removed left endedAt undoUntil } } }`, apitest.Vars{"i": id})
		return a.Str("node.state") == state
	}, 30*time.Second, 20*time.Millisecond, "%s", state)
	return a
}

func TestItemsAreRemovedFromAProject(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(12, 0)
	ada := l.Labellers[0]
	have := l.Claimed(ada, 4)
	effort := l.Finished(ada, have[0])
	ada.Mutate("skipProjectItem", "item { id }", have[1].Input(apitest.Vars{"reason": "FOR_NOBODY"}))
	l.Counts("8 2 1 1")
	statistics(l, l.Team, "1 0", map[string]string{ada.ID: "1 0"})
	exported := strings.Count(l.Exported("JSON_LINES", nil), "\n")
	require.Equal(t, 12, exported)

	in := apitest.Vars{"projectId": l.ID, "itemIds": idsOfHeld(have[:3])}
	ada.Mutate("removeProjectItems", removalShown, in).Fails("FORBIDDEN", "")
	l.Reviewer().Mutate("removeProjectItems", removalShown, in).Fails("FORBIDDEN", "")
	s.User("stranger@example.com").Mutate("removeProjectItems", removalShown, in).Fails("NOT_FOUND", "")
	a := l.Mutate("removeProjectItems", removalShown, in)
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, []any{"REMOVING", l.ID, nil}, []any{a.At("result.removal.state"), a.At("result.removal.project.id"), a.At("result.removal.import")})
	id := a.Str("result.removal.id")
	s.During(func() { removalBecomes(l, id, "REMOVED") })
	l.Counts("8 1 0 0")
	statistics(l, l.Team, "0 0", map[string]string{ada.ID: "0 0"})
	for _, gone := range []string{have[0].ID, effort} {
		assert.Nil(t, l.Do(`query($i: ID!) { node(id: $i) { id } }`, apitest.Vars{"i": gone}).At("node"), "nobody is shown it")
	}
	assert.Len(t, l.ExternalIDs(), 9)
	assert.Equal(t, 9, strings.Count(l.Exported("JSON_LINES", nil), "\n"))

	// Who had one of them is told so, and what was typed comes back.
	a = ada.Mutate("finishProjectItem", "item { id } problem { __typename ... on Problem { message } ... on ProjectItemRemoved { typed { categoryId } } }", l.Finishing(have[2]))
	assert.Equal(t, []any{"ProjectItemRemoved", l.Categories[0]}, []any{a.At("result.problem.__typename"), a.At("result.problem.typed.categoryId")}, "%s", a.Body)
	for mutation, more := range map[string]apitest.Vars{"extendClaim": nil, "releaseProjectItem": nil, "skipProjectItem": {"reason": "TO_OTHERS"}} {
		a = ada.Mutate(mutation, "item { id } problem { __typename }", have[2].Input(more))
		assert.Equal(t, "ProjectItemRemoved", a.At("result.problem.__typename"), "%s", a.Body)
	}
	s.User("other@example.com").Mutate("extendClaim", "item { id }", have[2].Input()).Fails("NOT_FOUND", "")

	nodes := l.Must(`query($p: ID!) { project(id: $p) { removals(first: 5) { nodes { id state removed } } } }`, apitest.Vars{"p": l.ID}).List("project.removals.nodes")
	require.Len(t, nodes, 1)
	assert.Equal(t, map[string]any{"id": id, "state": "REMOVED", "removed": 3.}, nodes[0])
	ada.Mutate("undoProjectRemoval", removalShown, apitest.Vars{"removalId": id}).Fails("FORBIDDEN", "")
	a = l.Mutate("undoProjectRemoval", removalShown, apitest.Vars{"removalId": id})
	assert.Equal(t, []any{"RESTORING", 3., nil}, []any{a.At("result.removal.state"), a.At("result.removal.left"), a.At("result.removal.undoUntil")}, "%s", a.Body)
	s.During(func() { removalBecomes(l, id, "RESTORED") })
	l.Counts("9 1 1 1")
	statistics(l, l.Team, "1 0", map[string]string{ada.ID: "1 0"})
	again := l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { status efforts { nodes { id } } } } }`, apitest.Vars{"i": have[0].ID})
	assert.Equal(t, []string{effort}, apitest.IDsOf(again.List("node.efforts.nodes")))
	l.Mutate("purgeProjectRemoval", removalShown, apitest.Vars{"removalId": id}).Fails("CONFLICT", "")
}

// A wrong import is removed, and its file imported again: the items are new ones, and the wrong ones are gone.
func TestAWrongImportIsRemoved(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(3, 0)
	l.During(func() { l.Imports(apitest.Lines(100, 140)) })
	wrong := l.Imported
	l.Counts("43 0 0 0")
	awaits, _ := l.Awaiting("JSON_LINES", 10)
	l.Mutate("removeProjectItems", removalShown, apitest.Vars{"projectId": l.ID, "importId": awaits}).Fails("CONFLICT", "")
	a := l.Mutate("removeProjectItems", removalShown, apitest.Vars{"projectId": l.ID, "importId": wrong})
	assert.Equal(t, wrong, a.Str("result.removal.import.id"), "%s", a.Body)
	id := a.Str("result.removal.id")
	s.During(func() { assert.InDelta(t, 40, removalBecomes(l, id, "REMOVED").At("node.removed"), 0) })
	l.Counts("3 0 0 0")

	l.During(func() { l.Imports(apitest.Lines(100, 110)) })
	again := l.AnImport(l.Imported)
	assert.Equal(t, []any{10., 0.}, []any{again.At("imported"), again.At("duplicates")})
	l.Counts("13 0 0 0")
	l.Mutate("undoProjectRemoval", removalShown, apitest.Vars{"removalId": id})
	s.During(func() { removalBecomes(l, id, "RESTORED") })
	l.Counts("43 0 0 0")
	assert.Len(t, apitest.Unique(l.ExternalIDs()), 43)

	a = l.Mutate("removeProjectItems", removalShown, apitest.Vars{"projectId": l.ID, "status": "NEW", "purge": true})
	assert.Equal(t, "NEW", a.Str("result.removal.status"))
	id = a.Str("result.removal.id")
	s.During(func() { removalBecomes(l, id, "PURGED") })
	l.Counts("0 0 0 0")
	l.Mutate("undoProjectRemoval", removalShown, apitest.Vars{"removalId": id}).Fails("CONFLICT", "")
	l.During(func() { l.Imports(apitest.Lines(100, 140)) })
	l.Counts("40 0 0 0")
	l.Mutate("rebuildProjectQueue", "project { id }", apitest.Vars{"projectId": l.ID})
	l.Counts("40 0 0 0")
}

// A file that was imported into a project can be deleted by its owner when it was removed from the project for good, and not before.
func TestAFileThatWasRemovedFromAProjectCanBeDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	ada := s.User("ada@example.com")
	l := ada.Project("Scans")
	l.Server = s
	var files []string
	for _, name := range []string{"one.txt", "two.txt"} {
		files = append(files, ada.Uploads([]byte("music"), apitest.Vars{"name": name, "type": "text/plain"}))
	}
	require.InDelta(t, 2, l.Takes(apitest.Vars{"itemIds": files}).At("imported"), 0)
	deleted := func(file string) any {
		t.Helper()
		a := ada.Mutate("deleteItem", "problem { __typename }", apitest.Vars{"itemId": file})
		require.Empty(t, a.Errors, "%s", a.Body)
		return a.At("result.problem.__typename")
	}
	uses := func(file string) any {
		return ada.Must(`query($i: ID!) { node(id: $i) { ... on Item { useCount } } }`, apitest.Vars{"i": file}).At("node.useCount")
	}
	items := l.ItemsOf(ada, "id item { id }")
	require.Len(t, items, 2)
	var first string
	for _, node := range items {
		if node := node.(map[string]any); node["item"].(map[string]any)["id"] == files[0] {
			first = node["id"].(string)
		}
	}
	a := l.Mutate("removeProjectItems", removalShown, apitest.Vars{"projectId": l.ID, "itemIds": []string{first}})
	require.Empty(t, a.Errors, "%s", a.Body)
	id := a.Str("result.removal.id")
	s.During(func() { removalBecomes(l, id, "REMOVED") })
	assert.Equal(t, "ItemInUse", deleted(files[0]), "it can come back")
	l.Mutate("undoProjectRemoval", removalShown, apitest.Vars{"removalId": id})
	s.During(func() { removalBecomes(l, id, "RESTORED") })
	assert.Equal(t, []any{"ItemInUse", 1.}, []any{deleted(files[0]), uses(files[0])})

	a = l.Mutate("removeProjectItems", removalShown, apitest.Vars{"projectId": l.ID, "itemIds": []string{first}, "purge": true})
	id = a.Str("result.removal.id")
	s.During(func() { removalBecomes(l, id, "PURGED") })
	assert.Equal(t, []any{0., 1.}, []any{uses(files[0]), uses(files[1])})
	assert.Nil(t, deleted(files[0]))
	assert.Nil(t, ada.Must(`query($i: ID!) { node(id: $i) { id } }`, apitest.Vars{"i": files[0]}).At("node"))
	assert.Equal(t, "ItemInUse", deleted(files[1]), "the other one is still there")
}
