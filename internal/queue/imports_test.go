package queue

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func testImports(t *testing.T, f *fixture) {
	add := func(importID string, imported int) bool {
		t.Helper()
		added, err := f.AddItems(t.Context(), f.project, importID, imported, "boss")
		require.NoError(t, err)
		return added
	}
	start := f.state(t).Cursor
	total := 0
	for _, told := range []struct {
		by    string
		n     int
		added bool
		total int
	}{{"a", 5, true, 5}, {"a", 5, false, 5}, {"a", 12, true, 12}, {"a", 7, false, 12}, {"b", 0, false, 12}, {"b", 3, true, 15}, {"a", 13, true, 16}} {
		assert.Equal(t, told.added, add(told.by, told.n), "%v", told)
		total = told.total
		assert.Equal(t, labelling.Counts{Total: total, New: total}, f.state(t).Counts, "%v", told)
	}
	remaining, err := f.client.HGet(t.Context(), f.keysOf(f.project).metadata(), "remaining-items").Int()
	require.NoError(t, err)
	assert.Equal(t, total, remaining)
	events, err := f.Read(t.Context(), f.project, start, 100, 0)
	require.NoError(t, err)
	var totals []int
	for _, e := range events {
		assert.Equal(t, []any{labelling.Imported, labelling.UserID("boss")}, []any{e.Cause, e.User})
		totals = append(totals, e.Counts.Total)
	}
	assert.Equal(t, []int{5, 12, 15, 16}, totals, "one event for each time that something was added")

	// A rebuild has seen some of the items of three imports: only the rest of them is added from then on.
	f.ready(t,
		labelling.Part{Counts: labelling.Counts{New: 6, Finished: 2}, Imported: map[string]int{"a": 7, "b": 1}},
		labelling.Part{Counts: labelling.Counts{Skipped: 1}, Claims: []labelling.Claim{f.claimOf("x", "ada", "x")}, Imported: map[string]int{"b": 1, "c": 1}},
	)
	assert.Equal(t, labelling.Counts{Total: 10, New: 6, Claimed: 1, Finished: 2, Skipped: 1}, f.state(t).Counts)
	for by, n := range map[string]int{"a": 13, "b": 3, "c": 1, "d": 0} {
		assert.Equal(t, by < "c", add(by, n), by)
	}
	assert.Equal(t, labelling.Counts{Total: 17, New: 13, Claimed: 1, Finished: 2, Skipped: 1}, f.state(t).Counts)

	f.ready(t) // what the rebuild before has seen is forgotten
	assert.True(t, add("a", 13))
	assert.Equal(t, labelling.Counts{Total: 13, New: 13}, f.state(t).Counts)
	token := uuid.NewString()
	_, err = f.Begin(t.Context(), f.project, token, true)
	require.NoError(t, err)
	require.NoError(t, f.Load(t.Context(), f.project, token, labelling.Part{Imported: map[string]int{"a": 1}}))
	_, err = f.AddItems(t.Context(), f.project, "a", 14, "boss")
	require.ErrorIs(t, err, labelling.ErrNotReady)
	require.NoError(t, f.Abort(t.Context(), f.project, token))
	for _, key := range f.keys(t) {
		assert.False(t, strings.HasSuffix(key, token), "%s is left", key)
	}
}

// testImportsAtOnce has servers tell how far imports got, late and in any order.
func testImportsAtOnce(t *testing.T, f *fixture) {
	const imports, items = 4, 60
	start := f.state(t).Cursor
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for _, imported := range append(random.Perm(items), items) {
				_, err := f.AddItems(t.Context(), f.project, fmt.Sprint("import ", n%imports), imported, "boss")
				assert.NoError(t, err)
				s, err := f.State(t.Context(), f.project)
				assert.NoError(t, err)
				assert.Equal(t, s.Counts.Total, s.Counts.New)
				assert.LessOrEqual(t, s.Counts.Total, imports*items)
			}
		})
	}
	all.Wait()
	assert.Equal(t, labelling.Counts{Total: imports * items, New: imports * items}, f.state(t).Counts)
	events, err := f.Read(t.Context(), f.project, start, 1000, 0)
	require.NoError(t, err)
	before := 0
	for _, e := range events {
		assert.Greater(t, e.Counts.Total, before, "no event without an item")
		before = e.Counts.Total
	}
}

// testFillWhatIsCounted stores items a while before they are counted: nobody gets one that is not.
func testFillWhatIsCounted(t *testing.T, f *fixture) {
	ids := []string{"a", "b", "c", "d", "e", "f"}
	fill := func(want ...int) {
		t.Helper()
		added, missing, err := f.Fill(t.Context(), f.project, ids, 5)
		require.NoError(t, err)
		assert.Equal(t, want, []int{added, missing})
	}
	fill(0, 0)
	f.count(t, 2)
	fill(2, 0)
	c := f.claim(t, "ada", 1)[0]
	f.reserve(t, "ada", 1)
	fill(0, 0) // one of those counted as NEW is reserved
	f.must(t, f.ended(c, labelling.Finished, project.Finished))
	f.must(t, f.after("a", labelling.Reviewed, "ada"))
	assert.Equal(t, labelling.Counts{Total: 2, New: 2}, f.state(t).Counts)
	fill(0, 0) // and the other one is kept for its author
	f.count(t, 3)
	fill(3, 0)
	f.count(t, 5)
	fill(1, 1)
	assert.Equal(t, []string{"c", "d", "e", "f"}, f.waiting(t))
	for range f.waiting(t) {
		for _, c := range f.claim(t, "grace", 1) {
			f.must(t, f.ended(c, labelling.Finished, project.Finished))
			assert.GreaterOrEqual(t, f.state(t).Counts.New, 0)
		}
	}
}
