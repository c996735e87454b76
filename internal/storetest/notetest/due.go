package notetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/tag"
)

func testDueAfterReturnsNotesOnly(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	_, asGrace := w.SignUp("grace")
	w.Create(asAda, note.Create{Title: "june", Deadline: storetest.Day(6, 1), Tags: []string{"a", "z", "work"}})
	w.Create(asAda, note.Create{Title: "july", Deadline: storetest.Day(7, 1)})
	w.Create(asAda, note.Create{Title: "never", Tags: []string{"~", "zz"}})
	gone := w.Create(asAda, note.Create{Title: "gone", Deadline: storetest.Day(6, 15)})
	_, err := w.Rules.Delete(asAda, note.Delete{ID: gone.ID})
	require.NoError(t, err)
	shared := w.Create(asGrace, note.Create{Title: "of grace", Deadline: storetest.Day(6, 2)})
	w.Share(asGrace, shared.ID, ada, note.Edit)

	// The partition of ada holds a profile, notes, tags, a share and a tombstone, which all sort around the notes.
	assert.Equal(t, []string{"june", "july"}, w.Titles(asAda, ada, note.Due{After: storetest.Day(1, 1)}))
	assert.Equal(t, []string{"june", "july"}, w.Titles(asAda, ada, note.Due{Before: storetest.Day(12, 31)}))
	assert.Equal(t, []string{"june"}, w.Titles(asAda, ada, note.Due{After: storetest.Day(1, 1), Before: storetest.Day(6, 20)}))
	assert.Equal(t, []string{"june", "july", "never"}, w.Titles(asAda, ada, note.Due{}))
}

func testDueBoundsAreExclusive(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	for i := range 5 {
		at := storetest.Day(6, 1).Add(time.Duration(i) * time.Millisecond)
		w.Create(asAda, note.Create{Title: fmt.Sprint(i), Deadline: at})
	}
	at := func(i int) time.Time { return storetest.Day(6, 1).Add(time.Duration(i) * time.Millisecond) }
	assert.Equal(t, []string{"3", "4"}, w.Titles(asAda, ada, note.Due{After: at(2)}))
	assert.Equal(t, []string{"0", "1"}, w.Titles(asAda, ada, note.Due{Before: at(2)}))
	assert.Equal(t, []string{"2"}, w.Titles(asAda, ada, note.Due{After: at(1), Before: at(3)}))
	assert.Empty(t, w.Titles(asAda, ada, note.Due{After: at(1), Before: at(2)}))
	_, err := w.Rules.ListByDeadline(asAda, ada, note.Due{After: at(2), Before: at(2)}, page.Window{Limit: 1})
	storetest.IsFault(t, err, fault.Invalid)
	zone := time.FixedZone("east", 9*3600)
	assert.Equal(t, []string{"3", "4"}, w.Titles(asAda, ada, note.Due{After: at(2).In(zone)}), "instants are compared, not wall clocks")
}

func testNotesWithoutADeadlineComeLast(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	w.Create(asAda, note.Create{Title: "never"})
	w.Create(asAda, note.Create{Title: "late", Deadline: time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)})
	w.Create(asAda, note.Create{Title: "early", Deadline: time.Date(1, 1, 1, 0, 0, 0, 1e6, time.UTC)})
	w.Create(asAda, note.Create{Title: "now", Deadline: storetest.Day(1, 1)})
	assert.Equal(t, []string{"early", "now", "late", "never"}, w.Titles(asAda, ada, note.Due{}))
	assert.Equal(t, []string{"now", "late"}, w.Titles(asAda, ada, note.Due{After: storetest.Day(1, 1).Add(-time.Hour)}))
	s, err := w.Rules.ListByDeadline(asAda, ada, note.Due{}, page.Window{Limit: 10})
	require.NoError(t, err)
	for _, n := range s.Items {
		assert.Equal(t, note.Owner, n.Permission)
		byID, err := w.Get(asAda, n.ID)
		require.NoError(t, err)
		assert.Equal(t, byID, n, "a list shows what the id shows")
	}
}

// For random data, pages of random size read forward and backward concatenate to the whole list.
func testPagingBothDirections(t *testing.T, w *storetest.World) {
	others := make([]note.UserID, 4)
	for i := range others {
		others[i], _ = w.SignUp(fmt.Sprint("other ", i))
	}
	users := 0
	rapid.Check(t, func(t *rapid.T) {
		users++
		ada, asAda := w.SignUp(fmt.Sprint("ada ", users))
		reader, asReader := w.SignUp(fmt.Sprint("reader ", users))
		words := []string{"a", "A b", "ab", "a!", "a#", "work", "workout", "日本", "🎼"}
		tags := map[string]bool{}
		tagged := 0
		var notes []note.Note
		count := rapid.IntRange(0, 12).Draw(t, "notes")
		for i := range count {
			in := note.Create{Title: fmt.Sprint(i), Tags: rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 3, rapid.ID).Draw(t, "tags")}
			if rapid.Bool().Draw(t, "due") {
				in.Deadline = storetest.Day(6, rapid.IntRange(1, 3).Draw(t, "day"))
			}
			n := w.Create(asAda, in)
			notes = append(notes, n)
			for _, tag := range n.Tags {
				tags[tag.Key] = true
				if tag.Key == "a" {
					tagged++
				}
			}
			w.Share(asAda, n.ID, reader, note.View)
		}
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		require.Len(t, storetest.Pages(t, limit, func(win page.Window) (page.Slice[note.Note], error) {
			return w.Rules.ListByDeadline(asAda, ada, note.Due{}, win)
		}), count)
		storetest.Pages(t, limit, func(win page.Window) (page.Slice[note.Note], error) {
			return w.Rules.ListByDeadline(asAda, ada, note.Due{After: storetest.Day(6, 1), Before: storetest.Day(6, 3)}, win)
		})
		require.Len(t, storetest.Pages(t, limit, func(win page.Window) (page.Slice[tag.Tag], error) {
			return w.Rules.ListTags(asAda, ada, "", win)
		}), len(tags))
		storetest.Pages(t, limit, func(win page.Window) (page.Slice[tag.Tag], error) { return w.Rules.ListTags(asAda, ada, "a", win) })
		require.Len(t, storetest.Pages(t, limit, func(win page.Window) (page.Slice[note.Found], error) {
			return w.ListByTag(asAda, tag.ID{Author: ada, Key: "a"}, win)
		}), tagged)
		require.Len(t, storetest.Pages(t, limit, func(win page.Window) (page.Slice[note.SharedNote], error) {
			return w.Rules.ListShared(asReader, reader, win)
		}), count)
		if count == 0 {
			return
		}
		n := notes[0]
		for i := range rapid.IntRange(0, 6).Draw(t, "versions") {
			var err error
			n, err = w.Rules.Update(asAda, note.Update{ID: n.ID, Content: storetest.Ptr(fmt.Sprint("content ", i))})
			require.NoError(t, err)
		}
		require.Len(t, storetest.Pages(t, limit, func(win page.Window) (page.Slice[note.Version], error) {
			return w.ListVersions(asAda, n, win)
		}), n.Version-1)
		for _, other := range others {
			w.Share(asAda, n.ID, other, note.View)
		}
		require.Len(t, storetest.Pages(t, limit, func(win page.Window) (page.Slice[note.Share], error) { return access(w, n, win, nil) }), 5)
		if count > 1 {
			require.Len(t, storetest.Pages(t, limit, func(win page.Window) (page.Slice[note.Share], error) { return access(w, n, win, &notes[1]) }), 5)
		}
	})
}

// access reads a page of an access list, together with that of another note of the owner if one is given.
func access(w *storetest.World, n note.Note, win page.Window, with *note.Note) (page.Slice[note.Share], error) {
	requests := []note.AccessRequest{{Note: n.ID, Owner: n.Owner, Window: win}}
	if with != nil {
		requests = append(requests, note.AccessRequest{Note: with.ID, Owner: with.Owner, Window: win})
	}
	lists, errs := w.Notes.AccessLists(w.T.Context(), requests)
	if errs != nil {
		return page.Slice[note.Share]{}, errs[0]
	}
	return lists[0], nil
}

// Cursors are signed; this is what a store does with a position that is not of its list all the same.
func testWindowsStayInTheirPartition(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	grace, asGrace := w.SignUp("grace")
	mine := w.Create(asAda, note.Create{Title: "mine", Tags: []string{"work"}})
	foreign := w.Create(asGrace, note.Create{Title: "foreign", Tags: []string{"work"}})
	w.Share(asAda, mine.ID, grace, note.View)
	w.Share(asGrace, foreign.ID, ada, note.View)
	for _, from := range []string{"", "NOTE#", "USER#" + string(grace), "PROFILE", "\x01", "~", string(foreign.ID), "NOTE#~#" + string(foreign.ID)} {
		for _, backward := range []bool{false, true} {
			win := page.Window{Limit: 10, From: from, Backward: backward}
			// Positions that are none may be refused, but never lead to rows of others.
			if s, err := w.Notes.ListNotes(t.Context(), ada, note.Due{}, win); err == nil {
				for _, n := range s.Items {
					assert.Equal(t, ada, n.Owner, "from %q", from)
				}
			}
			if s, err := w.ListByTag(w.As(ada), tag.ID{Author: ada, Key: "work"}, win); err == nil {
				for _, f := range s.Items {
					assert.Equal(t, "mine", f.Note.Title, "from %q", from)
				}
			}
			if s, err := w.Notes.ListSharedNotes(t.Context(), ada, win); err == nil {
				for _, f := range s.Items {
					assert.Equal(t, foreign.ID, f.ID, "from %q", from)
				}
			}
		}
	}
}

func testMissingNoteIsNotFoundAlone(t *testing.T, w *storetest.World) {
	ada, asAda := w.SignUp("ada")
	_, asGrace := w.SignUp("grace")
	mine, foreign := w.Create(asAda, note.Create{Title: "mine"}), w.Create(asGrace, note.Create{Title: "foreign"})
	notes, errs := w.Notes.NotesByID(t.Context(), ada, []note.ID{"none", mine.ID, foreign.ID, mine.ID})
	require.Len(t, errs, 4)
	storetest.IsFault(t, errs[0], fault.NotFound)
	assert.Equal(t, mine, notes[1])
	assert.Equal(t, mine, notes[3])
	assert.Equal(t, note.None, notes[2].Permission, "the store tells that it may not be read")
	_, errs = w.Rules.ListByID(asAda, []note.ID{foreign.ID, mine.ID})
	storetest.IsFault(t, errs[0], fault.NotFound)
	assert.NoError(t, errs[1])
}

func testImpossibleIDs(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	mine := w.Create(asAda, note.Create{Title: "mine"})
	long := make([]byte, 760)
	for i := range long {
		long[i] = '#' // three bytes each when escaped: more than a key may have
	}
	_, errs := w.Rules.ListByID(asAda, []note.ID{note.ID(long), mine.ID, "", "\x00", note.ID(long[:400])})
	require.Len(t, errs, 5)
	assert.NoError(t, errs[1])
	for _, i := range []int{0, 2, 3, 4} {
		storetest.IsFault(t, errs[i], fault.NotFound)
	}
	_, _, err := w.Notes.FindDeleted(t.Context(), mine.Owner, note.ID(long))
	storetest.IsFault(t, err, fault.NotFound)
	s, err := w.Rules.ListTags(asAda, mine.Owner, string(long), page.Window{Limit: 1})
	require.NoError(t, err)
	assert.Empty(t, s.Items)
}

func testTooLargeForAnItem(t *testing.T, w *storetest.World) {
	_, asAda := w.SignUp("ada")
	n := w.Create(asAda, note.Create{Title: "largest", Content: string(make350())})
	n.ID, n.Content = "larger", n.Content+n.Content
	err := w.Notes.CreateNote(t.Context(), n, idempotency.Key{})
	storetest.IsFault(t, err, fault.Exhausted)
	_, err = w.Get(asAda, "larger")
	storetest.IsFault(t, err, fault.NotFound)
}

func make350() []byte {
	b := make([]byte, note.MaxContent)
	for i := range b {
		b[i] = 'x'
	}
	return b
}
