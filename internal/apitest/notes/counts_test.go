package notes

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

func TestThreeHundredSharedNotesCostTheLowerBound(t *testing.T) {
	s := apitest.NewServer(t)
	reader := apitest.ShareThreeHundred(s)
	c := reader.Measure(apitest.SharedNotes, nil)

	edges := c.List("viewer.sharedNotes.edges")
	require.Len(t, edges, 300)
	versions, shares, owners := 0, 0, map[string]int{}
	for _, edge := range edges {
		e := &apitest.Answer{T: t, Body: c.Body, Data: edge.(map[string]any)}
		owners[e.Str("node.owner.name")]++
		assert.Len(t, e.List("node.tags"), 2)
		if e.At("node.latestVersion") != nil {
			versions++
			assert.Equal(t, "second", e.Str("node.title"))
			assert.Contains(t, e.Str("node.latestVersion.title"), "note 0")
		}
		for _, access := range e.List("node.accessList.edges") {
			shares++
			a := &apitest.Answer{T: t, Body: c.Body, Data: access.(map[string]any)}
			assert.Equal(t, "Somebody", a.Str("node.name"))
			assert.Equal(t, "VIEW", a.Str("permission"))
		}
	}
	assert.Equal(t, 120, versions)
	assert.Equal(t, 350, shares)
	assert.Equal(t, map[string]int{"Somebody": 300}, owners)

	assert.Equal(t, map[string]int{"LOCATOR": 300, "NOTE": 300, "VER#": 120, "PROFILE": 7}, c.Keys())
	assert.Equal(t, map[string]int{"LOCATOR": 3, "NOTE": 3, "VER#": 2, "PROFILE": 1}, c.Batches())
	// One Query for the shares of the reader, and one for the access lists of each owner.
	assert.Equal(t, map[string]int{"BatchGetItem": 9, "Query": 6}, c.Operations())
	assert.Equal(t, 727, c.Extensions.Dynamo.Keys)
	assert.Positive(t, c.Extensions.Dynamo.ConsumedCapacity)
	assert.Zero(t, c.Extensions.Dynamo.Retries)
}

func TestQueriesRunConcurrentlyWithinTheBound(t *testing.T) {
	const bound, owners = 3, 8
	s := apitest.NewServer(t, func(c *config.Config) { c.DynamoConcurrency = bound })
	reader := s.User("reader@example.com")
	for i := range owners {
		owner := s.User(fmt.Sprintf("owner%d@example.com", i))
		owner.Share(owner.Notes(2), reader)
	}
	gate := s.Faults.Hold(faultinject.Always, faultinject.Index("GSI1"))
	t.Cleanup(gate.Open)
	s.Faults.Recorder().Reset()
	answers := make(chan *apitest.Answer, 1)
	go func() { answers <- reader.Do(apitest.SharedNotes, nil) }()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, gate.Wait(ctx, bound), "the queries are under way side by side")
	assert.Equal(t, bound, s.Faults.Recorder().Count(faultinject.Index("GSI1")), "and no more than the bound")
	gate.Open()
	a := <-answers
	require.Empty(t, a.Errors)
	assert.LessOrEqual(t, s.Faults.Recorder().MaxConcurrent(faultinject.Index("GSI1")), bound)
	assert.Equal(t, owners, s.Faults.Recorder().Count(faultinject.Index("GSI1")))
	assert.Len(t, a.List("viewer.sharedNotes.edges"), 2*owners)
}

func TestAHundredNotesOfOneOwnerCostAtMostFiveCalls(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	friends := make([]*apitest.Client, 5)
	for i := range friends {
		friends[i] = s.User(fmt.Sprintf("friend%d@example.com", i))
	}
	notes := ada.Notes(100, func(i int, input apitest.Vars) { input["tags"] = []string{"a", "b"} })
	ada.Share(notes, friends...)

	c := ada.Measure(`{ viewer { name notes(first: 100) { nodes { title tags { value } owner { name } accessList { nodes { name } } } } } }`, nil)
	nodes := c.List("viewer.notes.nodes")
	require.Len(t, nodes, 100)
	for _, n := range nodes {
		assert.Len(t, n.(map[string]any)["accessList"].(map[string]any)["nodes"], 5)
	}
	assert.LessOrEqual(t, c.Count(), 5)
	// The owner; the notes; all access lists; the five friends, since the owner is known.
	assert.Equal(t, map[string]int{"BatchGetItem": 2, "Query": 2}, c.Operations())
	assert.Equal(t, map[string]int{"PROFILE": 6}, c.Keys())

	const flat = `{ viewer { name notes(first: 100) { nodes { id title content deadline version viewerPermission tags { value } } } } }`
	c = ada.Measure(flat, nil)
	assert.Equal(t, map[string]int{"BatchGetItem": 1, "Query": 1}, c.Operations(), "a user and 100 notes, flat")
	for _, unread := range []string{"LOCATOR", "NOTE", "VER#", "SHARED#"} {
		assert.Zero(t, c.Keys()[unread], "nothing is read that is not selected")
	}
}

func TestEachShapeCostsItsLowerBound(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(250, func(i int, input apitest.Vars) {
		input["tags"] = []string{"common", fmt.Sprintf("rare %d", i%3)}
	})
	ada.Share(notes[:2], bob)
	ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[0], "title": "second"}, {"noteId": notes[1], "title": "second"}})
	found := ada.Must(`query($id: ID!) { note(id: $id) { latestVersion { id } tags { id } } }`, apitest.Vars{"id": notes[0]})
	version := found.Str("note.latestVersion.id")
	tag := found.List("note.tags")[0].(map[string]any)["id"]

	type calls = map[string]int
	for _, test := range []struct {
		reason, query string
		vars          apitest.Vars
		who           *apitest.Client
		calls, keys   calls
	}{
		{"nothing of a store", `{ __typename }`, nil, ada, calls{}, calls{}},
		{"a user by id", `query($id: ID!) { node(id: $id) { ... on User { name email } } }`, apitest.Vars{"id": ada.ID}, ada, calls{"BatchGetItem": 1}, calls{"PROFILE": 1}},
		// Whether a note is shared with the reader is read beside its locator, also for its owner, who is not known yet: what
		// is hidden must not cost more than what does not exist.
		{"a note by id: locator and share, note", `query($id: ID!) { node(id: $id) { ... on Note { title tags { value } } } }`, apitest.Vars{"id": notes[0]}, ada,
			calls{"BatchGetItem": 2}, calls{"LOCATOR": 1, "SHARED#": 1, "NOTE": 1}},
		{"a note by id of a collaborator: the same", `query($id: ID!) { node(id: $id) { ... on Note { title viewerPermission } } }`, apitest.Vars{"id": notes[0]}, bob,
			calls{"BatchGetItem": 2}, calls{"LOCATOR": 1, "NOTE": 1, "SHARED#": 1}},
		{"a version by id: the note tells who may read it", `query($id: ID!) { node(id: $id) { ... on Version { title note { title } } } }`, apitest.Vars{"id": version}, ada,
			calls{"BatchGetItem": 3}, calls{"LOCATOR": 1, "SHARED#": 1, "NOTE": 1, "VER#": 1}},
		{"a tag by id", `query($id: ID!) { node(id: $id) { ... on Tag { value } } }`, apitest.Vars{"id": tag}, ada, calls{"Query": 1}, calls{}},
		{"250 notes by id", `query($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { title } } }`, apitest.Vars{"ids": notes}, ada,
			calls{"BatchGetItem": 5 + 3}, calls{"LOCATOR": 250, "SHARED#": 250, "NOTE": 250}},
		{"an id that is given twice is read once", `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, apitest.Vars{"ids": []string{notes[0], notes[0], ada.ID, ada.ID}}, ada,
			calls{"BatchGetItem": 3}, calls{"LOCATOR": 1, "SHARED#": 1, "NOTE": 1, "PROFILE": 1}},
		{"ids of all types, each type in one batch", `query($ids: [ID!]!) { nodes(ids: $ids) { id ... on Note { owner { name } } } }`,
			apitest.Vars{"ids": []any{ada.ID, bob.ID, notes[0], notes[1], version, tag}}, ada,
			calls{"BatchGetItem": 4, "Query": 1}, calls{"PROFILE": 2, "LOCATOR": 2, "SHARED#": 2, "NOTE": 2, "VER#": 1}},
		{"notes of several tags: a Query for each, their notes together", `{ viewer { tags { nodes { value notes(first: 100) { nodes { title } } } } } }`, nil, ada,
			// The tags come from 500 rows, 200 at a time: "common", of which the rest is jumped over, the others, and nothing more.
			calls{"BatchGetItem": 3 + 3, "Query": 3 + 4}, nil},
		{"what is below the notes of several tags: as for one list of them",
			`{ viewer { tags { nodes { notes(first: 100) { nodes { latestVersion { number } accessList { nodes { name } } } } } } } }`, nil, ada,
			calls{"BatchGetItem": 3 + 3 + 1 + 1, "Query": 3 + 4 + 1}, nil},
		{"tags by id, each read once", `query($ids: [ID!]!) { nodes(ids: $ids) { ... on Tag { value } } }`, apitest.Vars{"ids": []any{tag, tag, tag}}, ada,
			calls{"Query": 1}, nil},
		{"an owner of whom only the id is shown is not read", `query($id: ID!) { note(id: $id) { owner { id } } }`, apitest.Vars{"id": notes[0]}, bob,
			calls{"BatchGetItem": 2}, nil},
		{"versions of a list of notes: a Query for each note", `{ viewer { notes(first: 20) { nodes { versions(first: 3) { nodes { number } } } } } }`, nil, ada,
			calls{"Query": 1 + 20}, nil},
		{"two access lists with other arguments: one Query of the owner's shares",
			`{ viewer { notes(first: 250) { nodes { a: accessList(first: 1) { nodes { name } } b: accessList(last: 2) { edges { node { name } } } } } } }`, nil, ada,
			calls{"BatchGetItem": 1, "Query": 2}, calls{"PROFILE": 1}},
		{"titles alone: no user, no version, no share", `{ viewer { notes(first: 100) { nodes { title } } } }`, nil, ada,
			calls{"Query": 1}, nil},
		{"where a page lies, without its notes", `{ viewer { notes(first: 100) { pageInfo { hasNextPage endCursor } } } }`, nil, ada,
			calls{"Query": 1}, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			c := test.who.Measure(test.query, test.vars)
			assert.Equal(t, test.calls, c.Operations())
			if test.keys != nil {
				assert.Equal(t, test.keys, c.Keys())
			}
		})
	}
}

func TestTheSpellingOfAQueryDoesNotChangeItsCost(t *testing.T) {
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	notes := ada.Notes(30, func(i int, input apitest.Vars) { input["tags"] = []string{"a"} })
	ada.Share(notes, bob)
	ada.All("updateNote", "note { id }", []apitest.Vars{{"noteId": notes[0], "title": "second"}})

	plain := bob.Measure(`{ viewer { sharedNotes(first: 30) { edges { node { owner { name } latestVersion { number } accessList { edges { node { name } } } } } } } }`, nil)
	expected := maps.Clone(plain.Operations())
	assert.Equal(t, map[string]int{"BatchGetItem": 4, "Query": 2}, expected)
	for reason, query := range map[string]string{
		"through nodes":    `{ viewer { sharedNotes(first: 30) { nodes { owner { name } latestVersion { number } accessList { nodes { name } } } } } }`,
		"aliases":          `{ me: viewer { theirs: sharedNotes(first: 30) { rows: edges { it: node { by: owner { name } was: latestVersion { number } who: accessList { edges { node { name } } } } } } } }`,
		"inline fragments": `{ viewer { ... on Node { ... on User { sharedNotes(first: 30) { edges { node { ... on Note { owner { ... on User { name } } latestVersion { number } ... { accessList { edges { node { name } } } } } } } } } } } }`,
		"fragments": `{ viewer { ...u } } fragment u on User { sharedNotes(first: 30) { edges { node { ...n } } nodes { ...m } } }
			fragment n on Note { owner { ...p } latestVersion { number } } fragment m on Note { accessList { edges { node { ...p } } } } fragment p on User { name }`,
		"@include and @skip": `query($yes: Boolean = true, $no: Boolean = false) { viewer { sharedNotes(first: 30) { edges { node { owner @include(if: $yes) { name }
			latestVersion @skip(if: $no) { number } accessList { edges @include(if: $yes) { node { name } } } versions @skip(if: $yes) { nodes { number } } tags { notes @include(if: $no) { nodes { id } } } } } } } }`,
		"fields twice": `{ viewer { sharedNotes(first: 30) { edges { node { owner { name } latestVersion { number } accessList { edges { node { name } } } } } } }
			viewer { sharedNotes(first: 30) { edges { node { owner { id } } } } } }`,
	} {
		t.Run(reason, func(t *testing.T) { assert.Equal(t, expected, bob.Measure(query, nil).Operations()) })
	}

	left := bob.Measure(`query($yes: Boolean = true) { viewer { sharedNotes(first: 30) { edges { node { title owner @skip(if: $yes) { name } accessList @include(if: false) { nodes { id } } } } } } }`, nil)
	assert.Equal(t, map[string]int{"BatchGetItem": 2, "Query": 1}, left.Operations(), "what is skipped is not read")
}

func TestOperationsShareNothing(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	note := ada.Notes(1)[0]
	const query = `query($id: ID!) { note(id: $id) { title owner { name } } }`
	one := ada.Measure(query, apitest.Vars{"id": note})
	once, keys := maps.Clone(one.Operations()), maps.Clone(one.Keys())

	s.Faults.Recorder().Reset()
	gate := s.Faults.Hold(faultinject.Always)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			a := ada.Do(query, apitest.Vars{"id": note})
			assert.Empty(t, a.Errors)
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, gate.Wait(ctx, 2), "both have begun before either has read anything")
	gate.Open()
	group.Wait()
	both := apitest.Cost{Answer: one.Answer, Recorder: s.Faults.Recorder()}
	for operation, n := range once {
		assert.Equal(t, 2*n, both.Operations()[operation], "loaders belong to one operation")
	}
	for k, n := range keys {
		assert.Equal(t, 2*n, both.Keys()[k])
	}
}
