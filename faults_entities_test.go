package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

// asking matches calls that ask for a key with the text in it.
func asking(text string) faultinject.Match {
	return func(c *faultinject.Call) bool {
		return c.Operation == "BatchGetItem" && slices.ContainsFunc(c.Keys, func(k faultinject.Key) bool { return strings.Contains(k.Attributes, text) })
	}
}

func TestAPageOfItemsStandsWithoutItsCategories(t *testing.T) {
	s := newServer(t, within(10*time.Second))
	l := s.labelled(6, 4)
	const query = `query($p: ID!) { project(id: $p) { name items(status: FINISHED) { nodes { name category { name } efforts { nodes { user { name } category { name } } } } } } }`
	whole := l.must(query, vars{"p": l.id})
	require.Len(t, whole.list("project.items.nodes"), 4)
	rule := s.faults.Fail(500, "InternalServerError", faultinject.Always, asking(`Category`))
	a := l.do(query, vars{"p": l.id})
	rule.Stop()
	require.Positive(t, rule.Hits())
	expected := map[string]bool{}
	for i := range 4 {
		expected[fmt.Sprintf("[project items nodes %d category]", i)] = true
		expected[fmt.Sprintf("[project items nodes %d efforts nodes 0 category]", i)] = true
	}
	told := map[string]bool{}
	for _, e := range a.Errors {
		told[fmt.Sprint(e.Path)] = true
		assert.Equal(t, "UNAVAILABLE", e.Extensions.Code)
		assert.True(t, e.Extensions.Retryable)
	}
	a.tellsNothingInner()
	assert.Equal(t, expected, told)
	object := whole.object()
	for _, item := range object["project"].(map[string]any)["items"].(map[string]any)["nodes"].([]any) {
		item := item.(map[string]any)
		item["category"] = nil
		item["efforts"].(map[string]any)["nodes"].([]any)[0].(map[string]any)["category"] = nil
	}
	assert.Equal(t, object, a.object(), "everything else is there")
	assert.Equal(t, whole.data(), l.must(query, vars{"p": l.id}).data(), "and all of it when the engine is well again")
}

func TestRelationsStandWithoutTheirObjects(t *testing.T) {
	s := newServer(t, within(10*time.Second))
	r := s.user("ada@example.com").space("Films")
	one, two := r.set("Actor", "one", vars{"name": "One"}), r.set("Actor", "two", vars{"name": "Two"})
	for i := range 2 {
		r.set("Film", fmt.Sprint("f", i), vars{}, under("cast", one, two))
	}
	const query = `query($s: ID!) { scope(id: $s) { name entities(type: "Film") { nodes { key relations { edges { predicate node { key } } } } } } }`
	r.must(query, vars{"s": r.scope})
	rule := s.faults.NeverProcess(func(k faultinject.Key) bool { return strings.Contains(k.Attributes, `"_id":{"S":"two"}`) })
	a := r.do(query, vars{"s": r.scope})
	rule.Stop()
	require.Len(t, a.Errors, 2, "%s", a.body)
	for i, e := range a.Errors {
		assert.Equal(t, "UNAVAILABLE", e.Extensions.Code)
		assert.Equal(t, []any{"edges", 1.0, "node"}, e.Path[len(e.Path)-3:], "%d", i)
	}
	for _, film := range a.list("scope.entities.nodes") {
		edges := (&answer{t: t, body: a.body, Data: film.(map[string]any)}).list("relations.edges")
		assert.Equal(t, []any{map[string]any{"predicate": "cast", "node": map[string]any{"key": "one"}}, map[string]any{"predicate": "cast", "node": nil}}, edges)
	}

	rule = s.faults.Fail(500, "InternalServerError", faultinject.Always, asking("taggie:"))
	a = r.do(`query($s: ID!, $e: ID!) { scope(id: $s) { id } entity(id: $e) { key } viewer { name } }`, vars{"s": r.scope, "e": one})
	rule.Stop()
	require.Len(t, a.Errors, 2, "%s", a.body)
	for _, e := range a.Errors {
		assert.Equal(t, "UNAVAILABLE", e.Extensions.Code, "it is not that there are none")
	}
	assert.Equal(t, "Somebody", a.str("viewer.name"))
}

func TestEntitiesAndProjectsArriveThroughThrottlesAndLeftovers(t *testing.T) {
	s := newServer(t, within(time.Minute))
	l := s.labelled(40, 30)
	r := l.atlas()
	const query = `query($s: ID!, $p: ID!) { scope(id: $s) { entities(type: "Film", first: 20) { nodes { key relations(first: 3) { nodes { key relations(first: 2) { nodes { key } } reverseRelations(first: 2) { nodes { key } } } } } } }
		project(id: $p) { items(first: 40) { nodes { name category { name } efforts(first: 2) { nodes { user { name } team { name } } } } } } }`
	v := vars{"s": r.scope, "p": l.id}
	undisturbed := l.must(query, v).data()
	left := s.faults.LeaveUnprocessed(3, faultinject.Always)
	throttled := s.faults.Throttle(faultinject.Every(7))
	s.faults.Recorder().Reset()
	assert.Equal(t, undisturbed, l.must(query, v).data())
	assert.Greater(t, left.Hits(), 20)
	assert.Greater(t, throttled.Hits(), 20)
	assert.Empty(t, s.faults.Recorder().Violations())
}

func TestChangesOfEntitiesHaveTheirEffectOnceWhateverHappens(t *testing.T) {
	s := newServer(t, within(time.Minute))
	r := s.user("ada@example.com").space("Things")
	one, two := r.set("Thing", "one", vars{"n": 0}), r.set("Thing", "two", vars{})
	faults := map[string]func() *faultinject.Rule{
		"two conflicts":           func() *faultinject.Rule { return s.faults.Conflict(faultinject.First(2), transactions) },
		"a connection lost early": func() *faultinject.Rule { return s.faults.ResetBefore(faultinject.First(1), transactions) },
		"a connection lost late":  func() *faultinject.Rule { return s.faults.ResetAfter(faultinject.First(1), transactions) },
		"lost again and again":    func() *faultinject.Rule { return s.faults.ResetAfter(faultinject.Every(2), transactions) },
		"throttled":               func() *faultinject.Rule { return s.faults.Throttle(faultinject.Every(3)) },
	}
	version := 1.0
	for name, breaks := range faults {
		t.Run(name, func(t *testing.T) {
			rule := breaks()
			a := r.mutate("updateEntity", "entity { version }", vars{"entityId": one, "attributes": vars{"by": name}})
			require.Empty(t, a.Errors, "%s", a.body)
			version++
			assert.InDelta(t, version, a.at("result.entity.version"), 0)
			a = r.mutate("replaceEntityRelations", "entity { relations { edges { predicate node { key } } } }", vars{"entityId": one, "predicate": "p", "objects": objects(two, one, two)})
			assert.Equal(t, "p:two p:one p:two", a.edges("result.entity.relations.edges"))
			a = r.mutate("removeEntityRelations", "entity { relations { edges { predicate node { key } } } }", vars{"entityId": one, "predicate": "p", "objectIds": []string{two}})
			assert.Equal(t, "p:one", a.edges("result.entity.relations.edges"))
			gone := r.set("Thing", "gone "+name, vars{}, under("to", one))
			a = r.mutate("deleteEntity", "deletedEntityId problem { __typename }", vars{"entityId": gone})
			assert.Equal(t, gone, a.str("result.deletedEntityId"), "%s", a.body)
			rule.Stop()
			assert.Positive(t, rule.Hits())
			assert.Equal(t, "p:one", r.related(one, "reverseRelations", ""))
		})
	}
}

func TestADeletionThatWasKilledLeavesNothing(t *testing.T) {
	s := newServer(t)
	r := s.user("ada@example.com").space("Things")
	const relations = 300
	var inputs []vars
	for i := range relations {
		inputs = append(inputs, vars{"scopeId": r.scope, "type": "Thing", "key": fmt.Sprintf("t%03d", i), "attributes": vars{}})
	}
	things := make([]string, relations)
	for i, a := range r.all("setEntity", "entity { id }", inputs) {
		things[i] = a.str("entity.id")
	}
	left := func() int {
		a := r.must(`query($s: ID!) { scope(id: $s) { entities(type: "Thing", first: 500) { nodes { relations(first: 1) { edges { predicate } } reverseRelations(first: 1) { edges { predicate } } } } } }`, vars{"s": r.scope})
		assert.Len(t, a.list("scope.entities.nodes"), relations)
		return strings.Count(a.body, `"predicate"`)
	}
	for _, writes := range []int{1, 2, 3, 4} {
		hub := r.set("Hub", "hub", vars{}, under("to", things...))
		for _, thing := range things[:5] {
			r.mutate("addEntityRelations", "entity { id }", vars{"entityId": thing, "predicate": "in", "objects": objects(hub)})
		}
		rule := s.faults.KillAfter(writes, faultinject.Writes)
		a := r.mutate("deleteEntity", "deletedEntityId", vars{"entityId": hub})
		rule.Stop()
		s.faults.Clear()
		assert.Equal(t, hub, a.at("result.deletedEntityId"), "%d writes: %s", writes, a.body)
		assert.Nil(t, r.anEntity(hub, "Hub", "hub"), "it is gone at once")
		if writes < 3 { // later what is left of a subject shows nowhere, because the heads of its predicates are gone
			assert.Positive(t, left(), "it was killed in the middle, after %d writes", writes)
		}
		s.passes(2 * time.Minute)
		assert.Zero(t, left(), "%d writes", writes)
		assert.Nil(t, r.anEntity(hub, "Hub", "hub"))
		s.passes(5 * time.Minute)
		r.set("Hub", "hub", vars{})
		assert.Empty(t, r.related(hub, "relations", "")+r.related(hub, "reverseRelations", ""), "another one with the same key")
		r.mutate("deleteEntity", "deletedEntityId", vars{"entityId": hub})
		s.passes(5 * time.Minute) // until when the key is not free
	}
}
