package entities

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

// asking matches calls that ask for a key with the text in it.
func asking(text string) faultinject.Match {
	return func(c *faultinject.Call) bool {
		return c.Operation == "BatchGetItem" && slices.ContainsFunc(c.Keys, func(k faultinject.Key) bool { return strings.Contains(k.Attributes, text) })
	}
}

func TestAPageOfItemsStandsWithoutItsCategories(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(10*time.Second))
	l := s.Labelled(6, 4)
	const query = `query($p: ID!) { project(id: $p) { name items(status: FINISHED) { nodes { name category { name } efforts { nodes { user { name } category { name } } } } } } }`
	whole := l.Must(query, apitest.Vars{"p": l.ID})
	require.Len(t, whole.List("project.items.nodes"), 4)
	rule := s.Faults.Fail(500, "InternalServerError", faultinject.Always, asking(`Category`))
	a := l.Do(query, apitest.Vars{"p": l.ID})
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
	a.TellsNothingInner()
	assert.Equal(t, expected, told)
	object := whole.Object()
	for _, item := range object["project"].(map[string]any)["items"].(map[string]any)["nodes"].([]any) {
		item := item.(map[string]any)
		item["category"] = nil
		item["efforts"].(map[string]any)["nodes"].([]any)[0].(map[string]any)["category"] = nil
	}
	assert.Equal(t, object, a.Object(), "everything else is there")
	assert.Equal(t, whole.Raw(), l.Must(query, apitest.Vars{"p": l.ID}).Raw(), "and all of it when the engine is well again")
}

func TestRelationsStandWithoutTheirObjects(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(10*time.Second))
	r := s.User("ada@example.com").Space("Films")
	one, two := r.Set("Actor", "one", apitest.Vars{"name": "One"}), r.Set("Actor", "two", apitest.Vars{"name": "Two"})
	for i := range 2 {
		r.Set("Film", fmt.Sprint("f", i), apitest.Vars{}, apitest.Under("cast", one, two))
	}
	const query = `query($s: ID!) { scope(id: $s) { name entities(type: "Film") { nodes { key relations { edges { predicate node { key } } } } } } }`
	r.Must(query, apitest.Vars{"s": r.Scope})
	rule := s.Faults.NeverProcess(func(k faultinject.Key) bool { return strings.Contains(k.Attributes, `"_id":{"S":"two"}`) })
	a := r.Do(query, apitest.Vars{"s": r.Scope})
	rule.Stop()
	require.Len(t, a.Errors, 2, "%s", a.Body)
	for i, e := range a.Errors {
		assert.Equal(t, "UNAVAILABLE", e.Extensions.Code)
		assert.Equal(t, []any{"edges", 1.0, "node"}, e.Path[len(e.Path)-3:], "%d", i)
	}
	for _, film := range a.List("scope.entities.nodes") {
		edges := (&apitest.Answer{T: t, Body: a.Body, Data: film.(map[string]any)}).List("relations.edges")
		assert.Equal(t, []any{map[string]any{"predicate": "cast", "node": map[string]any{"key": "one"}}, map[string]any{"predicate": "cast", "node": nil}}, edges)
	}

	rule = s.Faults.Fail(500, "InternalServerError", faultinject.Always, asking("taggie:"))
	a = r.Do(`query($s: ID!, $e: ID!) { scope(id: $s) { id } entity(id: $e) { key } viewer { name } }`, apitest.Vars{"s": r.Scope, "e": one})
	rule.Stop()
	require.Len(t, a.Errors, 2, "%s", a.Body)
	for _, e := range a.Errors {
		assert.Equal(t, "UNAVAILABLE", e.Extensions.Code, "it is not that there are none")
	}
	assert.Equal(t, "Somebody", a.Str("viewer.name"))
}

func TestEntitiesAndProjectsArriveThroughThrottlesAndLeftovers(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(time.Minute))
	l := s.Labelled(40, 30)
	r := atlas(l.Client)
	const query = `query($s: ID!, $p: ID!) { scope(id: $s) { entities(type: "Film", first: 20) { nodes { key relations(first: 3) { nodes { key relations(first: 2) { nodes { key } } reverseRelations(first: 2) { nodes { key } } } } } } }
		project(id: $p) { items(first: 40) { nodes { name category { name } efforts(first: 2) { nodes { user { name } team { name } } } } } } }`
	v := apitest.Vars{"s": r.Scope, "p": l.ID}
	undisturbed := l.Must(query, v).Raw()
	left := s.Faults.LeaveUnprocessed(3, faultinject.Always)
	throttled := s.Faults.Throttle(faultinject.Every(7))
	s.Faults.Recorder().Reset()
	assert.Equal(t, undisturbed, l.Must(query, v).Raw())
	assert.Greater(t, left.Hits(), 20)
	assert.Greater(t, throttled.Hits(), 20)
	assert.Empty(t, s.Faults.Recorder().Violations())
}

func TestChangesOfEntitiesHaveTheirEffectOnceWhateverHappens(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(time.Minute))
	r := s.User("ada@example.com").Space("Things")
	one, two := r.Set("Thing", "one", apitest.Vars{"n": 0}), r.Set("Thing", "two", apitest.Vars{})
	faults := map[string]func() *faultinject.Rule{
		"two conflicts":           func() *faultinject.Rule { return s.Faults.Conflict(faultinject.First(2), apitest.Transactions) },
		"a connection lost early": func() *faultinject.Rule { return s.Faults.ResetBefore(faultinject.First(1), apitest.Transactions) },
		"a connection lost late":  func() *faultinject.Rule { return s.Faults.ResetAfter(faultinject.First(1), apitest.Transactions) },
		"lost again and again":    func() *faultinject.Rule { return s.Faults.ResetAfter(faultinject.Every(2), apitest.Transactions) },
		"throttled":               func() *faultinject.Rule { return s.Faults.Throttle(faultinject.Every(3)) },
	}
	version := 1.0
	for name, breaks := range faults {
		t.Run(name, func(t *testing.T) {
			rule := breaks()
			a := r.Mutate("updateEntity", "entity { version }", apitest.Vars{"entityId": one, "attributes": apitest.Vars{"by": name}})
			require.Empty(t, a.Errors, "%s", a.Body)
			version++
			assert.InDelta(t, version, a.At("result.entity.version"), 0)
			a = r.Mutate("replaceEntityRelations", "entity { relations { edges { predicate node { key } } } }", apitest.Vars{"entityId": one, "predicate": "p", "objects": apitest.Objects(two, one, two)})
			assert.Equal(t, "p:two p:one p:two", a.Edges("result.entity.relations.edges"))
			a = r.Mutate("removeEntityRelations", "entity { relations { edges { predicate node { key } } } }", apitest.Vars{"entityId": one, "predicate": "p", "objectIds": []string{two}})
			assert.Equal(t, "p:one", a.Edges("result.entity.relations.edges"))
			gone := r.Set("Thing", "gone "+name, apitest.Vars{}, apitest.Under("to", one))
			a = r.Mutate("deleteEntity", "deletedEntityId problem { __typename }", apitest.Vars{"entityId": gone})
			assert.Equal(t, gone, a.Str("result.deletedEntityId"), "%s", a.Body)
			rule.Stop()
			assert.Positive(t, rule.Hits())
			assert.Equal(t, "p:one", r.Related(one, "reverseRelations", ""))
		})
	}
}

func TestADeletionThatWasKilledLeavesNothing(t *testing.T) {
	s := apitest.NewServer(t)
	r := s.User("ada@example.com").Space("Things")
	const relations = 300
	var inputs []apitest.Vars
	for i := range relations {
		inputs = append(inputs, apitest.Vars{"scopeId": r.Scope, "type": "Thing", "key": fmt.Sprintf("t%03d", i), "attributes": apitest.Vars{}})
	}
	things := make([]string, relations)
	for i, a := range r.All("setEntity", "entity { id }", inputs) {
		things[i] = a.Str("entity.id")
	}
	left := func() int {
		a := r.Must(`query($s: ID!) { scope(id: $s) { entities(type: "Thing", first: 500) { nodes { relations(first: 1) { edges { predicate } } reverseRelations(first: 1) { edges { predicate } } } } } }`, apitest.Vars{"s": r.Scope})
		assert.Len(t, a.List("scope.entities.nodes"), relations)
		return strings.Count(a.Body, `"predicate"`)
	}
	for _, writes := range []int{1, 2, 3, 4} {
		hub := r.Set("Hub", "hub", apitest.Vars{}, apitest.Under("to", things...))
		for _, thing := range things[:5] {
			r.Mutate("addEntityRelations", "entity { id }", apitest.Vars{"entityId": thing, "predicate": "in", "objects": apitest.Objects(hub)})
		}
		rule := s.Faults.KillAfter(writes, faultinject.Writes)
		a := r.Mutate("deleteEntity", "deletedEntityId", apitest.Vars{"entityId": hub})
		rule.Stop()
		s.Faults.Clear()
		assert.Equal(t, hub, a.At("result.deletedEntityId"), "%d writes: %s", writes, a.Body)
		assert.Nil(t, r.AnEntity(hub, "Hub", "hub"), "it is gone at once")
		if writes < 3 { // later what is left of a subject shows nowhere, because the heads of its predicates are gone
			assert.Positive(t, left(), "it was killed in the middle, after %d writes", writes)
		}
		s.Passes(2 * time.Minute)
		assert.Zero(t, left(), "%d writes", writes)
		assert.Nil(t, r.AnEntity(hub, "Hub", "hub"))
		s.Passes(5 * time.Minute)
		r.Set("Hub", "hub", apitest.Vars{})
		assert.Empty(t, r.Related(hub, "relations", "")+r.Related(hub, "reverseRelations", ""), "another one with the same key")
		r.Mutate("deleteEntity", "deletedEntityId", apitest.Vars{"entityId": hub})
		s.Passes(5 * time.Minute) // until when the key is not free
	}
}
