package notes_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/tag"
)

// The note has lost the tag, its row is still there: the list says what the note says.
func TestLosingATagShownRowByRow(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	for _, title := range []string{"keeps", "loses"} {
		w.Create(asAda, note.Create{Title: title, Tags: []string{"work"}})
	}
	s, err := w.Rules.ListByDeadline(asAda, ada, note.Due{}, page.Window{Limit: 2})
	require.NoError(t, err)
	lists := 0
	inj.RowByRow(func(ctx context.Context, shown, rows int) {
		lists++
		s, err := w.ListByTag(w.As(ada), tag.ID{Author: ada, Key: "work"}, page.Window{Limit: 1})
		if assert.NoError(t, err) && assert.Len(t, s.Items, 1) {
			assert.Equal(t, "keeps", s.Items[0].Note.Title)
			assert.False(t, s.More)
		}
	})
	for _, n := range s.Items {
		if n.Title == "loses" {
			_, err = w.Rules.RemoveTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"work"}})
			require.NoError(t, err)
		}
	}
	assert.Equal(t, 3, lists, "note, locator, row of the tag, event")
}

// While a note is deleted, and while it is brought back, it is there, absent, or unsure, but no list shows a broken row.
func TestDeletingShownRowByRow(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenWorld(t)
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"work"}})
	w.Share(asAda, n.ID, grace, note.View)
	looks := 0
	inj.RowByRow(func(context.Context, int, int) {
		looks++
		check := func(f note.Found) {
			if f.Err != nil {
				assert.True(t, fault.Is(f.Err, fault.Unavailable), "got %v", f.Err)
				return
			}
			assert.Equal(t, "n", f.Note.Title)
		}
		tagged, err := w.ListByTag(w.As(ada), tag.ID{Author: ada, Key: "work"}, page.Window{Limit: 5})
		assert.NoError(t, err)
		for _, f := range tagged.Items {
			check(f)
		}
		shared, err := w.Rules.ListShared(asGrace, grace, page.Window{Limit: 5})
		assert.NoError(t, err)
		for _, s := range shared.Items {
			check(s.Found)
		}
		if read, err := w.Get(asAda, n.ID); err == nil {
			assert.Equal(t, "n", read.Title)
		} else {
			assert.True(t, fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unavailable), "got %v", err)
		}
	})
	_, err := w.Rules.Delete(asAda, note.Delete{ID: n.ID})
	require.NoError(t, err)
	_, err = w.Rules.Undelete(asAda, note.Undelete{ID: n.ID})
	require.NoError(t, err)
	assert.Equal(t, 10, looks, "six rows each time")
	read, err := w.Get(asGrace, n.ID)
	require.NoError(t, err)
	assert.Equal(t, "n", read.Title)
}
