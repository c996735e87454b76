package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/faultinject"
)

// A text of 600 bytes, or 41 values, at the path of an index keep an entity from nothing. The index tells what it leaves out.
func TestWhatAnIndexLeavesOutIsTold(t *testing.T) {
	t.Parallel()
	r := newServer(t).user("ada@example.com").space("Films")
	r.declare("by-title", "Film", "STRING", "title")
	r.declare("by-year", "Film", "NUMBER", "year")
	long := r.set("Film", "long", vars{"title": strings.Repeat("x", 600)})
	r.set("Film", "many", vars{"title": numbered("t", 41)})
	r.set("Film", "fine", vars{"title": "fine", "year": 1999})
	r.must(`mutation($e: ID!) { updateEntity(input: {entityId: $e, attributes: {year: "soon"}}) { entity { version } } }`, vars{"e": long})
	a := r.must(`query($s: ID!) { scope(id: $s) { indexes { name leftOut { values entities more examples { key indexEntries { key } } } } } }`, vars{"s": r.scope})
	indexes := a.list("scope.indexes")
	require.Len(t, indexes, 2)
	title := indexes[0].(map[string]any)["leftOut"].(map[string]any)
	assert.InDelta(t, 2, title["values"], 0)
	assert.InDelta(t, 2, title["entities"], 0)
	assert.Equal(t, false, title["more"])
	for _, example := range title["examples"].([]any) {
		of := example.(map[string]any)
		assert.Len(t, of["indexEntries"], map[string]int{"long": 0, "many": 40}[of["key"].(string)])
	}
	year := indexes[1].(map[string]any)["leftOut"].(map[string]any)
	assert.Equal(t, map[string]any{"values": 1.0, "entities": 1.0, "more": false, "examples": []any{map[string]any{"key": "long", "indexEntries": []any{}}}}, year)
}

// The server that deletes entities is lost when they are marked: nobody sees relations to nothing, and pages are full.
func TestRelationsToWhatIsBeingDeletedAreNotShown(t *testing.T) {
	t.Parallel()
	s := newServer(t, within(4*time.Second))
	r := s.user("ada@example.com").space("Films")
	actors := make([]string, 6)
	for i := range actors {
		actors[i] = r.set("Actor", fmt.Sprint("a", i), vars{})
	}
	film := r.set("Film", "f", vars{}, under("cast", actors...))
	lost := s.faults.Fail(500, "InternalServerError", faultinject.Always, faultinject.Operation("Query"))
	for _, i := range []int{0, 3, 5} {
		r.must(`mutation($e: ID!) { deleteEntity(input: {entityId: $e}) { deletedEntityId } }`, vars{"e": actors[i]})
	}
	lost.Stop()
	require.Positive(t, lost.Hits())
	assert.Equal(t, "cast:a1 cast:a2 cast:a4", r.related(film, "relations", ""))
	assert.Equal(t, "cast:a1 cast:a2", r.related(film, "relations", "(first: 2)"))
	assert.Equal(t, "cast:a2 cast:a4", r.related(film, "relations", "(last: 2)"))
	a := r.must(`query($e: ID!) { entity(id: $e) { relations(first: 3) { nodes { key } pageInfo { hasNextPage } } } }`, vars{"e": film})
	assert.NotContains(t, a.list("entity.relations.nodes"), nil)
}
