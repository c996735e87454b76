package notetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/tag"
)

func testTagWorkDoesNotReturnWorkout(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	for _, value := range []string{"work", "workout", "work out", "work#", "work#NOTE#1", "wor", "work!", "work$"} {
		w.Create(asAda, note.Create{Title: value, Tags: []string{value}})
	}
	for _, value := range []string{"work", "workout", "work#", "wor", "work!", "work$"} {
		assert.Equal(t, []string{value}, w.Tagged(asAda, ada, value))
	}
	assert.Empty(t, w.Tagged(asAda, ada, "wo"))
}

func testTagsMayHoldAnyCharacter(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	values := []string{"c#", "a:b", "50%", "%23", "🎼", "日本語", "ﬁ", "a b", "!", "~", "'\"\\", "TAG#x#NOTE#y", "é", "<script>"}
	for _, value := range values {
		w.Create(asAda, note.Create{Title: value, Tags: []string{value}})
	}
	for _, value := range values {
		assert.Equal(t, []string{value}, w.Tagged(asAda, ada, value))
		found, err := w.Rules.FindTag(asAda, tag.ID{Author: ada, Key: tag.Fold(value)})
		require.NoError(t, err)
		assert.Equal(t, value, found.Value)
	}
	s, err := w.Rules.ListTags(asAda, ada, "", page.Window{Limit: page.Max})
	require.NoError(t, err)
	var listed []string
	for _, tag := range s.Items {
		listed = append(listed, tag.Value)
	}
	assert.ElementsMatch(t, values, listed)
}

func testTagsAreComparedFolded(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"Straße", "STRASSE", "Ｆｕｌｌ", "full"}})
	var shown []string
	for _, tag := range n.Tags {
		shown = append(shown, tag.Value)
		assert.Equal(t, ada, tag.Author)
	}
	assert.Equal(t, []string{"Ｆｕｌｌ", "Straße"}, shown, "the first spelling stays")
	assert.Equal(t, []string{"n"}, w.Tagged(asAda, ada, "strasse"))
	again, err := w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"FULL"}})
	require.NoError(t, err)
	assert.Equal(t, n, again, "a tag that is there in another spelling changes nothing")
	read, err := w.Get(asAda, n.ID)
	require.NoError(t, err)
	assert.Equal(t, n, read)
	_, err = w.Rules.FindTag(asAda, tag.ID{Author: ada, Key: "none"})
	storetest.IsFault(t, err, fault.NotFound)
}

func testTagsByPrefix(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	values := []string{"wo", "work", "work!", "work out", "work#1", "work#2", "workout", "worse", "x"}
	for i := range 3 {
		w.Create(asAda, note.Create{Title: fmt.Sprint(i), Tags: values})
	}
	for prefix, want := range map[string][]string{
		"":        values,
		"WORK":    values[1:7],
		"work#":   values[4:6],
		"work ":   values[1:7], // folding trims white space
		"work o":  values[3:4],
		"worse":   values[7:8],
		"workout": values[6:7],
		"none":    nil,
	} {
		for _, limit := range []int{1, 2, 3, 20} {
			got := storetest.Pages(t, limit, func(win page.Window) (page.Slice[tag.Tag], error) { return w.Rules.ListTags(asAda, ada, prefix, win) })
			assert.ElementsMatch(t, want, got, "prefix %q", prefix)
		}
	}
}

func testLosingATagLeavesTheList(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n", Tags: []string{"a", "b"}})
	removed, err := w.Rules.RemoveTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"A"}})
	require.NoError(t, err)
	assert.Len(t, removed.Tags, 1)
	assert.Empty(t, w.Tagged(asAda, ada, "a"))
	assert.Equal(t, []string{"n"}, w.Tagged(asAda, ada, "b"))
	s, err := w.Rules.ListTags(asAda, ada, "", page.Window{Limit: 9})
	require.NoError(t, err)
	assert.Equal(t, []string{"b"}, s.Positions)
	last, err := w.Rules.RemoveTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"b"}})
	require.NoError(t, err)
	assert.Empty(t, last.Tags)
	_, err = w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: storetest.Numbered("tag", note.MaxTags)})
	require.NoError(t, err)
	_, err = w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"one more"}})
	require.ErrorIs(t, err, note.ErrTooManyTags)
}

func testFortyTagsReplaced(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "n", Tags: storetest.Numbered("old", note.MaxTags)})
	_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("changed")})
	require.NoError(t, err)
	_, err = w.Rules.RemoveTags(asAda, note.ChangeTags{ID: n.ID, Tags: storetest.Numbered("old", note.MaxTags)})
	require.NoError(t, err)
	_, err = w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: storetest.Numbered("new", note.MaxTags)})
	require.NoError(t, err)
	editor, asEditor := w.SignUp("editor")
	_, err = w.Rules.Share(asAda, note.PutShare{Note: n.ID, User: editor, Permission: note.Edit, ShowEarlier: true})
	require.NoError(t, err)
	restored, err := w.Rules.Restore(asEditor, note.Restore{Version: note.VersionID{Note: n.ID, Number: 1}, IdempotencyKey: storetest.Ptr("key")})
	require.NoError(t, err)
	assert.Equal(t, "n", restored.Title)
	assert.Equal(t, n.Tags, restored.Tags)
	tags := storetest.Pages(t, 7, func(win page.Window) (page.Slice[tag.Tag], error) { return w.Rules.ListTags(asAda, ada, "", win) })
	assert.Len(t, tags, note.MaxTags)
	assert.False(t, slices.Contains(tags, "new 1"))
}

func testTagRowsFollowTheSpellingOfNotes(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "0", Tags: []string{"Work"}})
	spelled := func(want string) {
		t.Helper()
		for _, backward := range []bool{false, true} {
			s, err := w.Rules.ListTags(asAda, ada, "", page.Window{Limit: 9, Backward: backward})
			require.NoError(t, err)
			require.Len(t, s.Items, 1)
			assert.Equal(t, want, s.Items[0].Value, "backward %t", backward)
		}
		tags, errs := w.Notes.FindTags(t.Context(), []tag.ID{{Author: ada, Key: "work"}})
		for _, err := range errs {
			require.NoError(t, err)
		}
		assert.Equal(t, want, tags[0].Value)
	}
	spelled("Work")
	_, err := w.Rules.Update(asAda, note.Update{ID: n.ID, Title: storetest.Ptr("1")}) // keeps a version
	require.NoError(t, err)
	_, err = w.Rules.RemoveTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"work"}})
	require.NoError(t, err)
	_, err = w.Rules.AddTags(asAda, note.ChangeTags{ID: n.ID, Tags: []string{"WORK"}})
	require.NoError(t, err)
	spelled("WORK")
	restored, err := w.Rules.Restore(asAda, note.Restore{Version: note.VersionID{Note: n.ID, Number: 1}})
	require.NoError(t, err)
	require.Equal(t, "Work", restored.Tags[0].Value)
	spelled("Work")

	// Of several spellings all ways show the same one.
	ids := map[note.ID]string{n.ID: "Work"}
	for _, value := range []string{"wORK", "woRK", "worK"} {
		ids[w.Create(asAda, note.Create{Title: value, Tags: []string{value}}).ID] = value
	}
	spelled(ids[slices.Min(slices.Collect(maps.Keys(ids)))])
}
