package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
)

func testProgress(t *testing.T, f *fixture) {
	f.items(t, 3)
	ctx := t.Context()
	going := func() *labelling.Progress {
		t.Helper()
		progress, going, err := f.Rebuilding(ctx, f.project)
		require.NoError(t, err)
		if !going {
			return nil
		}
		return &progress
	}
	require.Nil(t, going())
	require.ErrorIs(t, f.Progress(ctx, f.project, "one", 1, 0), labelling.ErrRebuilding, "it has not begun")
	three := 3
	for _, end := range []func(token string) error{
		func(token string) error { return f.Abort(ctx, f.project, token) },
		func(token string) error { return f.Commit(ctx, f.project, token, labelling.Settings{}) },
	} {
		began, err := f.Begin(ctx, f.project, "one", true)
		require.NoError(t, err)
		require.True(t, began)
		require.Nil(t, going())
		require.NoError(t, f.Progress(ctx, f.project, "one", 0, 7))
		first := going()
		require.NotNil(t, first)
		assert.Equal(t, 0, first.ItemsRead)
		assert.Equal(t, &three, first.ItemsTotal, "as many as there were")
		require.NoError(t, f.Progress(ctx, f.project, "one", 2, 7))
		second := going()
		require.NotNil(t, second)
		assert.Equal(t, []any{first.StartedAt, 2}, []any{second.StartedAt, second.ItemsRead})
		require.ErrorIs(t, f.Progress(ctx, f.project, "two", 9, 0), labelling.ErrRebuilding)
		lasts, err := f.client.PTTL(ctx, f.keysOf(f.project).progress()).Result()
		require.NoError(t, err)
		assert.True(t, lasts > 0 && lasts <= rebuildLease, "whoever is killed rebuilds nothing: %v", lasts)
		require.NoError(t, end("one"))
		require.Nil(t, going())
	}

	f.flush(t)
	_, err := f.Begin(ctx, f.project, "three", false)
	require.NoError(t, err)
	require.NoError(t, f.Progress(ctx, f.project, "three", 1, 0))
	assert.Nil(t, going().ItemsTotal, "nobody knows how many")
	require.NoError(t, f.Abort(ctx, f.project, "three"))
	_, err = f.Begin(ctx, f.project, "four", false)
	require.NoError(t, err)
	require.NoError(t, f.Progress(ctx, f.project, "four", 0, 0))
	assert.Nil(t, going().ItemsTotal, "nobody knows yet")
	require.NoError(t, f.Progress(ctx, f.project, "four", 1, 3))
	assert.Equal(t, &three, going().ItemsTotal, "Redis does not know, but others do")
	require.NoError(t, f.Progress(ctx, f.project, "four", 4, 3))
	assert.Equal(t, 4, *going().ItemsTotal, "there are at least those that were read")
	assert.WithinDuration(t, time.Now(), going().StartedAt, time.Minute)
}
