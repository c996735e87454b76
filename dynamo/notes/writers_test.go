package notes_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/viewer"
)

func TestTwentyWritersOfANote(t *testing.T) {
	t.Parallel()
	w, _, _ := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n"})
	dynamotest.Writers(t, 20, 19, func(ctx context.Context, writer, i int) error {
		title := fmt.Sprint(writer, ".", i)
		_, err := w.Rules.Update(viewer.With(ctx, viewer.From(asAda)), note.Update{ID: n.ID, Title: &title})
		return err
	})
	n, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Equal(t, 381, n.Version)
	assert.Equal(t, ada, n.Owner)
}
