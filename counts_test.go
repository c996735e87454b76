package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

// all sends one mutation with many inputs, some in each request, and returns the payloads in the order of the inputs.
func (c *client) all(mutation, selection string, inputs []vars) []*answer {
	c.t.Helper()
	var payloads []*answer
	inputType := strings.ToUpper(mutation[:1]) + mutation[1:] + "Input!"
	for chunk := range slices.Chunk(inputs, 25) {
		var parameters, fields strings.Builder
		values := vars{}
		for i, input := range chunk {
			name := fmt.Sprintf("i%d", i)
			fmt.Fprintf(&parameters, " $%s: %s", name, inputType)
			fmt.Fprintf(&fields, " %s: %s(input: $%s) { %s }", name, mutation, name, selection)
			values[name] = input
		}
		a := c.must("mutation("+parameters.String()+") {"+fields.String()+" }", values)
		for i := range chunk {
			payload, ok := a.at(fmt.Sprintf("i%d", i)).(map[string]any)
			require.True(c.t, ok, "%s", a.body)
			payloads = append(payloads, &answer{t: c.t, body: a.body, Data: payload})
		}
	}
	return payloads
}

// notes creates n notes and returns their ids. change may alter each input first.
func (c *client) notes(n int, change ...func(i int, input vars)) []string {
	c.t.Helper()
	inputs := make([]vars, n)
	for i := range inputs {
		inputs[i] = vars{"title": fmt.Sprintf("note %03d", i), "content": "content"}
		for _, f := range change {
			f(i, inputs[i])
		}
	}
	ids := make([]string, n)
	for i, a := range c.all("createNote", "note { id }", inputs) {
		ids[i] = a.str("note.id")
	}
	return ids
}

// share shares the notes with each of the users.
func (c *client) share(notes []string, with ...*client) {
	c.t.Helper()
	var inputs []vars
	for _, note := range notes {
		for _, user := range with {
			inputs = append(inputs, vars{"noteId": note, "userId": user.id, "permission": "VIEW"})
		}
	}
	c.all("shareNote", "accessEdge { permission }", inputs)
}

const sharedNotes = `query($first: Int = 300) {
	viewer { sharedNotes(first: $first) { edges { permission node {
		title owner { name } tags { value } latestVersion { number title } accessList { edges { permission node { name } } }
	} } } }
}`

// shareThreeHundred makes 300 notes of five owners, 120 of them with a version, and shares all with the reader and 50 with
// a friend as well.
func shareThreeHundred(s *testServer) (reader *client) {
	s.t.Helper()
	reader = s.user("reader@example.com")
	friend := s.user("friend@example.com")
	for i := range 5 {
		owner := s.user(fmt.Sprintf("owner%d@example.com", i))
		notes := owner.notes(60, func(i int, input vars) { input["tags"] = []string{"work", fmt.Sprintf("tag %d", i)} })
		var updates []vars
		for _, id := range notes[:24] {
			updates = append(updates, vars{"noteId": id, "title": "second"})
		}
		owner.all("updateNote", "note { version }", updates)
		owner.share(notes, reader)
		owner.share(notes[:10], friend)
	}
	return reader
}

// cost is what a request did to DynamoDB.
type cost struct {
	*answer
	*faultinject.Recorder
}

// measure sends a request of a client who is known already, and checks what is true of every request: no key is read
// twice, DynamoDB's limits are kept, and the response extension tells what happened.
func (c *client) measure(query string, v vars) cost {
	c.t.Helper()
	if c.app != nil {
		c.app.revoked.users.ForgetAll() // so that what is known of the token does not reach the age at which it is read again
	}
	c.must("{ __typename }", nil) // so that the token's user is known
	recorder := c.faults.Recorder()
	recorder.Reset()
	a := c.must(query, v)
	assert.Empty(c.t, recorder.Violations())
	assert.Empty(c.t, recorder.ReadTwice())
	assert.Equal(c.t, recorder.Operations(), orEmpty(a.Extensions.Dynamo.Operations), "the extension tells what the engine saw")
	assert.Equal(c.t, recorder.Count(), a.Extensions.Dynamo.Calls)
	return cost{a, recorder}
}

func orEmpty(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

// batches returns how many BatchGetItem calls asked for keys of each kind.
func (c cost) batches() map[string]int {
	counts := map[string]int{}
	for _, call := range c.Calls(faultinject.Operation("BatchGetItem")) {
		kinds := map[string]bool{}
		for _, key := range call.Keys {
			kinds[kind(key)] = true
		}
		for k := range kinds {
			counts[k]++
		}
	}
	return counts
}

// keys returns how many keys of each kind were read.
func (c cost) keys() map[string]int {
	counts := map[string]int{}
	for _, call := range c.Calls() {
		for _, key := range call.Keys {
			counts[kind(key)]++
		}
	}
	return counts
}

func kind(k faultinject.Key) string {
	for _, known := range []string{"LOCATOR", "PROFILE", "VER#", "SHARED#"} {
		if strings.Contains(k.Attributes, `"SK":{"S":"`+known) {
			return known
		}
	}
	if strings.Contains(k.Attributes, `"SK":{"S":"NOTE#`) {
		return "NOTE"
	}
	return k.Attributes
}

func TestThreeHundredSharedNotesCostTheLowerBound(t *testing.T) {
	s := newServer(t)
	reader := shareThreeHundred(s)
	c := reader.measure(sharedNotes, nil)

	edges := c.list("viewer.sharedNotes.edges")
	require.Len(t, edges, 300)
	versions, shares, owners := 0, 0, map[string]int{}
	for _, edge := range edges {
		e := &answer{t: t, body: c.body, Data: edge.(map[string]any)}
		owners[e.str("node.owner.name")]++
		assert.Len(t, e.list("node.tags"), 2)
		if e.at("node.latestVersion") != nil {
			versions++
			assert.Equal(t, "second", e.str("node.title"))
			assert.Contains(t, e.str("node.latestVersion.title"), "note 0")
		}
		for _, access := range e.list("node.accessList.edges") {
			shares++
			a := &answer{t: t, body: c.body, Data: access.(map[string]any)}
			assert.Equal(t, "Somebody", a.str("node.name"))
			assert.Equal(t, "VIEW", a.str("permission"))
		}
	}
	assert.Equal(t, 120, versions)
	assert.Equal(t, 350, shares)
	assert.Equal(t, map[string]int{"Somebody": 300}, owners)

	assert.Equal(t, map[string]int{"LOCATOR": 300, "NOTE": 300, "VER#": 120, "PROFILE": 7}, c.keys())
	assert.Equal(t, map[string]int{"LOCATOR": 3, "NOTE": 3, "VER#": 2, "PROFILE": 1}, c.batches())
	// One Query for the shares of the reader, and one for the access lists of each owner.
	assert.Equal(t, map[string]int{"BatchGetItem": 9, "Query": 6}, c.Operations())
	assert.Equal(t, 727, c.Extensions.Dynamo.Keys)
	assert.Positive(t, c.Extensions.Dynamo.ConsumedCapacity)
	assert.Zero(t, c.Extensions.Dynamo.Retries)
}

func TestQueriesRunConcurrentlyWithinTheBound(t *testing.T) {
	const bound, owners = 3, 8
	s := newServer(t, func(c *config.Config) { c.DynamoConcurrency = bound })
	reader := s.user("reader@example.com")
	for i := range owners {
		owner := s.user(fmt.Sprintf("owner%d@example.com", i))
		owner.share(owner.notes(2), reader)
	}
	gate := s.faults.Hold(faultinject.Always, faultinject.Index("GSI1"))
	t.Cleanup(gate.Open)
	s.faults.Recorder().Reset()
	answers := make(chan *answer, 1)
	go func() { answers <- reader.do(sharedNotes, nil) }()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, gate.Wait(ctx, bound), "the queries are under way side by side")
	assert.Equal(t, bound, s.faults.Recorder().Count(faultinject.Index("GSI1")), "and no more than the bound")
	gate.Open()
	a := <-answers
	require.Empty(t, a.Errors)
	assert.LessOrEqual(t, s.faults.Recorder().MaxConcurrent(faultinject.Index("GSI1")), bound)
	assert.Equal(t, owners, s.faults.Recorder().Count(faultinject.Index("GSI1")))
	assert.Len(t, a.list("viewer.sharedNotes.edges"), 2*owners)
}

func TestAHundredNotesOfOneOwnerCostAtMostFiveCalls(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	friends := make([]*client, 5)
	for i := range friends {
		friends[i] = s.user(fmt.Sprintf("friend%d@example.com", i))
	}
	notes := ada.notes(100, func(i int, input vars) { input["tags"] = []string{"a", "b"} })
	ada.share(notes, friends...)

	c := ada.measure(`{ viewer { name notes(first: 100) { nodes { title tags { value } owner { name } accessList { nodes { name } } } } } }`, nil)
	nodes := c.list("viewer.notes.nodes")
	require.Len(t, nodes, 100)
	for _, n := range nodes {
		assert.Len(t, n.(map[string]any)["accessList"].(map[string]any)["nodes"], 5)
	}
	assert.LessOrEqual(t, c.Count(), 5)
	// The owner; the notes; all access lists; the five friends, since the owner is known.
	assert.Equal(t, map[string]int{"BatchGetItem": 2, "Query": 2}, c.Operations())
	assert.Equal(t, map[string]int{"PROFILE": 6}, c.keys())

	const flat = `{ viewer { name notes(first: 100) { nodes { id title content deadline version viewerPermission tags { value } } } } }`
	c = ada.measure(flat, nil)
	assert.Equal(t, map[string]int{"BatchGetItem": 1, "Query": 1}, c.Operations(), "a user and 100 notes, flat")
	for _, unread := range []string{"LOCATOR", "NOTE", "VER#", "SHARED#"} {
		assert.Zero(t, c.keys()[unread], "nothing is read that is not selected")
	}
}

func TestEachShapeCostsItsLowerBound(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	notes := ada.notes(250, func(i int, input vars) {
		input["tags"] = []string{"common", fmt.Sprintf("rare %d", i%3)}
	})
	ada.share(notes[:2], bob)
	ada.all("updateNote", "note { id }", []vars{{"noteId": notes[0], "title": "second"}, {"noteId": notes[1], "title": "second"}})
	found := ada.must(`query($id: ID!) { note(id: $id) { latestVersion { id } tags { id } } }`, vars{"id": notes[0]})
	version := found.str("note.latestVersion.id")
	tag := found.list("note.tags")[0].(map[string]any)["id"]

	type calls = map[string]int
	for _, test := range []struct {
		reason, query string
		vars          vars
		who           *client
		calls, keys   calls
	}{
		{"nothing of a store", `{ __typename }`, nil, ada, calls{}, calls{}},
		{"a user by id", `query($id: ID!) { node(id: $id) { ... on User { name email } } }`, vars{"id": ada.id}, ada, calls{"BatchGetItem": 1}, calls{"PROFILE": 1}},
		// Whether a note is shared with the reader is read beside its locator, also for its owner, who is not known yet: what
		// is hidden must not cost more than what does not exist.
		{"a note by id: locator and share, note", `query($id: ID!) { node(id: $id) { ... on Note { title tags { value } } } }`, vars{"id": notes[0]}, ada,
			calls{"BatchGetItem": 2}, calls{"LOCATOR": 1, "SHARED#": 1, "NOTE": 1}},
		{"a note by id of a collaborator: the same", `query($id: ID!) { node(id: $id) { ... on Note { title viewerPermission } } }`, vars{"id": notes[0]}, bob,
			calls{"BatchGetItem": 2}, calls{"LOCATOR": 1, "NOTE": 1, "SHARED#": 1}},
		{"a version by id: the note tells who may read it", `query($id: ID!) { node(id: $id) { ... on Version { title note { title } } } }`, vars{"id": version}, ada,
			calls{"BatchGetItem": 3}, calls{"LOCATOR": 1, "SHARED#": 1, "NOTE": 1, "VER#": 1}},
		{"a tag by id", `query($id: ID!) { node(id: $id) { ... on Tag { value } } }`, vars{"id": tag}, ada, calls{"Query": 1}, calls{}},
		{"250 notes by id", `query($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { title } } }`, vars{"ids": notes}, ada,
			calls{"BatchGetItem": 5 + 3}, calls{"LOCATOR": 250, "SHARED#": 250, "NOTE": 250}},
		{"an id that is given twice is read once", `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, vars{"ids": []string{notes[0], notes[0], ada.id, ada.id}}, ada,
			calls{"BatchGetItem": 3}, calls{"LOCATOR": 1, "SHARED#": 1, "NOTE": 1, "PROFILE": 1}},
		{"ids of all types, each type in one batch", `query($ids: [ID!]!) { nodes(ids: $ids) { id ... on Note { owner { name } } } }`,
			vars{"ids": []any{ada.id, bob.id, notes[0], notes[1], version, tag}}, ada,
			calls{"BatchGetItem": 4, "Query": 1}, calls{"PROFILE": 2, "LOCATOR": 2, "SHARED#": 2, "NOTE": 2, "VER#": 1}},
		{"notes of several tags: a Query for each, their notes together", `{ viewer { tags { nodes { value notes(first: 100) { nodes { title } } } } } }`, nil, ada,
			// The tags come from 500 rows, 200 at a time: "common", of which the rest is jumped over, the others, and nothing more.
			calls{"BatchGetItem": 3 + 3, "Query": 3 + 4}, nil},
		{"what is below the notes of several tags: as for one list of them",
			`{ viewer { tags { nodes { notes(first: 100) { nodes { latestVersion { number } accessList { nodes { name } } } } } } } }`, nil, ada,
			calls{"BatchGetItem": 3 + 3 + 1 + 1, "Query": 3 + 4 + 1}, nil},
		{"tags by id, each read once", `query($ids: [ID!]!) { nodes(ids: $ids) { ... on Tag { value } } }`, vars{"ids": []any{tag, tag, tag}}, ada,
			calls{"Query": 1}, nil},
		{"an owner of whom only the id is shown is not read", `query($id: ID!) { note(id: $id) { owner { id } } }`, vars{"id": notes[0]}, bob,
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
			c := test.who.measure(test.query, test.vars)
			assert.Equal(t, test.calls, c.Operations())
			if test.keys != nil {
				assert.Equal(t, test.keys, c.keys())
			}
		})
	}
}

func TestTheSpellingOfAQueryDoesNotChangeItsCost(t *testing.T) {
	s := newServer(t)
	ada, bob := s.user("ada@example.com"), s.user("bob@example.com")
	notes := ada.notes(30, func(i int, input vars) { input["tags"] = []string{"a"} })
	ada.share(notes, bob)
	ada.all("updateNote", "note { id }", []vars{{"noteId": notes[0], "title": "second"}})

	plain := bob.measure(`{ viewer { sharedNotes(first: 30) { edges { node { owner { name } latestVersion { number } accessList { edges { node { name } } } } } } } }`, nil)
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
		t.Run(reason, func(t *testing.T) { assert.Equal(t, expected, bob.measure(query, nil).Operations()) })
	}

	left := bob.measure(`query($yes: Boolean = true) { viewer { sharedNotes(first: 30) { edges { node { title owner @skip(if: $yes) { name } accessList @include(if: false) { nodes { id } } } } } } }`, nil)
	assert.Equal(t, map[string]int{"BatchGetItem": 2, "Query": 1}, left.Operations(), "what is skipped is not read")
}

func TestOperationsShareNothing(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	note := ada.notes(1)[0]
	const query = `query($id: ID!) { note(id: $id) { title owner { name } } }`
	one := ada.measure(query, vars{"id": note})
	once, keys := maps.Clone(one.Operations()), maps.Clone(one.keys())

	s.faults.Recorder().Reset()
	gate := s.faults.Hold(faultinject.Always)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			a := ada.do(query, vars{"id": note})
			assert.Empty(t, a.Errors)
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, gate.Wait(ctx, 2), "both have begun before either has read anything")
	gate.Open()
	group.Wait()
	both := cost{one.answer, s.faults.Recorder()}
	for operation, n := range once {
		assert.Equal(t, 2*n, both.Operations()[operation], "loaders belong to one operation")
	}
	for k, n := range keys {
		assert.Equal(t, 2*n, both.keys()[k])
	}
}
