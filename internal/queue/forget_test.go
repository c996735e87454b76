package queue

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func testForget(t *testing.T, f *fixture) {
	f.busy(t)
	skipped := f.claim(t, "bob", 1)
	f.must(t, f.ended(skipped[0], labelling.Deferred, project.New))
	require.NoError(t, f.Heartbeat(t.Context(), "ada", []project.ID{f.project}))
	_, err := f.LeaseReviews(t.Context(), f.project, "rev", 1, labelling.Settle, nil, []string{"e"})
	require.NoError(t, err)
	token := uuid.NewString()
	_, err = f.Begin(t.Context(), f.project, token, true)
	require.NoError(t, err)
	require.NoError(t, f.Load(t.Context(), f.project, token, labelling.Part{Counts: labelling.Counts{New: 1}, Statistics: []labelling.Statistics{{Team: "t9", Type: project.Taggie}}}))
	of := func(p project.ID) []string {
		return slices.DeleteFunc(f.keys(t), func(key string) bool { return !f.keysOf(p).has(key) })
	}
	busy := of(f.project)
	require.Greater(t, len(busy), 25, "%v", busy)
	others := []project.ID{"another", project.ID("*"), project.ID("[a-z]?\\"), f.project + "0"}
	for _, p := range others {
		token := uuid.NewString()
		_, err := f.Begin(t.Context(), p, token, false)
		require.NoError(t, err)
		require.NoError(t, f.Commit(t.Context(), p, token, labelling.Settings{Name: "Other"}))
	}
	for range 2 {
		require.NoError(t, f.Forget(t.Context(), f.project))
		assert.Empty(t, of(f.project))
	}
	for i, p := range others {
		assert.NotEmpty(t, of(p))
		require.NoError(t, f.Forget(t.Context(), p))
		assert.Empty(t, of(p))
		for _, later := range others[i+1:] {
			assert.NotEmpty(t, of(later))
		}
	}
}
