package projects

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// A file that was imported into a project of others can be taken back by its owner, also when the owner has left the project.
func TestAFileIsWithdrawnFromProjects(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	l := bob.Project("Scans")
	l.Server = s
	l.Puts(ada, "MANAGER")
	file := ada.Uploads([]byte("music"), apitest.Vars{"name": "one.txt", "type": "text/plain"})
	other := ada.Uploads([]byte("more music"), apitest.Vars{"name": "two.txt", "type": "text/plain"})
	hers := l
	hers.Client = ada
	require.InDelta(t, 2, hers.Takes(apitest.Vars{"itemIds": []string{file, other}}).At("imported"), 0)
	const shown = `id name withdrawn item { id url }`
	items := func() map[string]map[string]any {
		t.Helper()
		found := map[string]map[string]any{}
		for _, node := range l.ItemsOf(bob, shown) {
			found[node.(map[string]any)["name"].(string)] = node.(map[string]any)
		}
		require.Len(t, found, 2)
		return found
	}
	assert.Equal(t, []any{false, false}, []any{items()["one.txt"]["withdrawn"], items()["two.txt"]["withdrawn"]})
	ada.Must(`mutation($p: ID!, $u: ID!) { removeProjectMember(input: {projectId: $p, userId: $u}) { problem { __typename } } }`, apitest.Vars{"p": l.ID, "u": ada.ID})

	stream := l.Listens(bob, nil)
	stream.Snapshot()
	bob.Mutate("withdrawItem", "item { id }", apitest.Vars{"itemId": file}).Fails("NOT_FOUND", "")
	a := ada.Mutate("withdrawItem", "item { id name withdrawnAt url }", apitest.Vars{"itemId": file})
	require.Empty(t, a.Errors, "%s", a.Body)
	at := a.Time("result.item.withdrawnAt")
	assert.WithinDuration(t, time.Now(), at, time.Minute)
	assert.NotEmpty(t, a.Str("result.item.url"), "it is still the owner's")
	one := items()["one.txt"]
	assert.Equal(t, []any{true, nil}, []any{one["withdrawn"], one["item"]}, "at once")
	assert.Equal(t, false, items()["two.txt"]["withdrawn"])
	var event *apitest.Answer
	const uses = `query($i: ID!) { node(id: $i) { ... on Item { useCount withdrawnAt usedBy { edges { kind } } } } }`
	s.During(func() {
		event = stream.Event("WITHDRAWN")
		require.Eventually(t, func() bool { return ada.Must(uses, apitest.Vars{"i": file}).At("node.useCount") == 0. }, time.Minute, 10*time.Millisecond)
	})
	assert.Equal(t, []any{one["id"], "one.txt", ada.ID, "NEW"}, []any{event.At("item.id"), event.At("item.name"), event.At("user.id"), event.At("status")})
	a = ada.Must(uses, apitest.Vars{"i": file})
	assert.Equal(t, []any{}, a.At("node.usedBy.edges"))
	a = ada.Mutate("withdrawItem", "item { withdrawnAt }", apitest.Vars{"itemId": file})
	assert.Equal(t, at, a.Time("result.item.withdrawnAt"), "once")

	// It is imported nowhere any more, and can be deleted.
	mine := ada.Project("Mine")
	mine.Server = s
	a = ada.Must(`mutation($p: ID!, $i: [ID!]) { importItems(input: {projectId: $p, itemIds: $i}) { import { id } problem { __typename } } }`, apitest.Vars{"p": mine.ID, "i": []string{file}})
	assert.Equal(t, "UnknownItem", a.Str("importItems.problem.__typename"))
	assert.InDelta(t, 1, mine.Takes(apitest.Vars{"library": true}).At("imported"), 0)
	a = ada.Mutate("deleteItem", "deletedItemId problem { __typename }", apitest.Vars{"itemId": file})
	assert.Equal(t, file, a.Str("result.deletedItemId"), "%s", a.Body)
	one = items()["one.txt"]
	assert.Equal(t, []any{true, nil}, []any{one["withdrawn"], one["item"]}, "and so it stays")
	assert.Equal(t, "ItemInUse", ada.Mutate("deleteItem", "problem { __typename }", apitest.Vars{"itemId": other}).Str("result.problem.__typename"))
}

// Others see a withdrawn page in a score and in its snapshots; its owner sees the page.
func TestAPageIsWithdrawn(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	file := ada.Uploads([]byte("music"), apitest.Vars{"name": "one.txt", "type": "text/plain"})
	a := ada.Must(`mutation($i: ID!) { createScore(input: {title: "Suite", access: PUBLIC, pages: [{itemId: $i}]}) { score { id } } }`, apitest.Vars{"i": file})
	suite := a.Str("createScore.score.id")
	ada.Mutate("createSnapshot", "snapshot { id }", apitest.Vars{"scoreId": suite, "name": "first"})
	ada.Mutate("setItemTags", "item { id }", apitest.Vars{"itemId": file, "tags": []apitest.Vars{{"value": "Allegro", "public": true}}})
	const pages = `query($s: ID!) { node(id: $s) { ... on Score { pages { item { name tags { nodes { tag { value } } } } withdrawn } snapshots { score { pages { item { name } withdrawn } } } } } }`
	shows := func(who *apitest.Client, name any, withdrawn bool) {
		t.Helper()
		a := who.Must(pages, apitest.Vars{"s": suite})
		past := &apitest.Answer{T: t, Body: a.Body, Data: a.List("node.snapshots")[0].(map[string]any)}
		for _, list := range [][]any{a.List("node.pages"), past.List("score.pages")} {
			p := &apitest.Answer{T: t, Body: a.Body, Data: list[0].(map[string]any)}
			assert.Equal(t, []any{name, withdrawn}, []any{p.At("item.name"), p.At("withdrawn")}, "%s", a.Body)
		}
	}
	shows(ada, "one.txt", false)
	shows(bob, "one.txt", false)
	ada.Mutate("withdrawItem", "item { id }", apitest.Vars{"itemId": file})
	shows(bob, nil, true)
	shows(ada, "one.txt", true)
	bob.Mutate("setItemTags", "item { id }", apitest.Vars{"itemId": file, "tags": []apitest.Vars{{"value": "Presto"}}}).Fails("NOT_FOUND", "")

	// The owner goes on working on the score, with the page.
	a = ada.Mutate("createSnapshot", "snapshot { id score { pages { withdrawn } } }", apitest.Vars{"scoreId": suite, "name": "second"})
	require.Empty(t, a.Errors, "%s", a.Body)
	a = ada.Mutate("updateScore", "score { title pages { withdrawn } }", apitest.Vars{"scoreId": suite, "title": "Second suite"})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, "ItemInUse", ada.Mutate("deleteItem", "problem { __typename }", apitest.Vars{"itemId": file}).Str("result.problem.__typename"))
}
