package entities

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

// A text of 600 bytes, or 41 values, at the path of an index keep an entity from nothing. The index tells what it leaves out.
func TestWhatAnIndexLeavesOutIsTold(t *testing.T) {
	t.Parallel()
	r := apitest.NewServer(t).User("ada@example.com").Space("Films")
	r.Declare("by-title", "Film", "STRING", "title")
	r.Declare("by-year", "Film", "NUMBER", "year")
	long := r.Set("Film", "long", apitest.Vars{"title": strings.Repeat("x", 600)})
	r.Set("Film", "many", apitest.Vars{"title": apitest.Numbered("t", 41)})
	r.Set("Film", "fine", apitest.Vars{"title": "fine", "year": 1999})
	r.Must(`mutation($e: ID!) { updateEntity(input: {entityId: $e, attributes: {year: "soon"}}) { entity { version } } }`, apitest.Vars{"e": long})
	a := r.Must(`query($s: ID!) { scope(id: $s) { indexes { name leftOut { values entities more examples { key indexEntries { key } } } } } }`, apitest.Vars{"s": r.Scope})
	indexes := a.List("scope.indexes")
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
	s := apitest.NewServer(t, apitest.Within(4*time.Second))
	r := s.User("ada@example.com").Space("Films")
	actors := make([]string, 6)
	for i := range actors {
		actors[i] = r.Set("Actor", fmt.Sprint("a", i), apitest.Vars{})
	}
	film := r.Set("Film", "f", apitest.Vars{}, apitest.Under("cast", actors...))
	lost := s.Faults.Fail(500, "InternalServerError", faultinject.Always, faultinject.Operation("Query"))
	for _, i := range []int{0, 3, 5} {
		r.Must(`mutation($e: ID!) { deleteEntity(input: {entityId: $e}) { deletedEntityId } }`, apitest.Vars{"e": actors[i]})
	}
	lost.Stop()
	require.Positive(t, lost.Hits())
	assert.Equal(t, "cast:a1 cast:a2 cast:a4", r.Related(film, "relations", ""))
	assert.Equal(t, "cast:a1 cast:a2", r.Related(film, "relations", "(first: 2)"))
	assert.Equal(t, "cast:a2 cast:a4", r.Related(film, "relations", "(last: 2)"))
	a := r.Must(`query($e: ID!) { entity(id: $e) { relations(first: 3) { nodes { key } pageInfo { hasNextPage } } } }`, apitest.Vars{"e": film})
	assert.NotContains(t, a.List("entity.relations.nodes"), nil)
}
