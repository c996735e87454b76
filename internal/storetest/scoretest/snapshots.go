package scoretest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

func snapshotKeeps(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 50)
	s := w.Make(score.Create{Title: "t", Description: "d", Pages: Pages(items...), Annotations: []string{"<a>", "b", "<a>"}})
	w.Clock.Advance(time.Second)
	one := w.Snap(s.Ref, "one")
	assert.Equal(t, w.Clock.Now(), one.CreatedAt)
	w.Clock.Advance(time.Second)
	w.Snap(s.Ref, "two")
	now := w.Seen(s.Ref)
	assert.Equal(t, []any{2, s.Version, s.Hash, s.UpdatedAt}, []any{now.Snapshots, now.Version, now.Hash, now.UpdatedAt}, "the score is the same")
	assert.Equal(t, []string{"two", "one"}, w.Snapshots(s.Ref), "the newest first")
	w.Update(score.Update{Score: s.Ref, Title: storetest.Ptr("u"), Description: storetest.Ptr(""), Pages: []score.PagesChange{{Remove: &score.Range{Count: 50}}}, Annotations: []score.AnnotationsChange{{Remove: &score.Range{Count: 3}}}})
	assert.Equal(t, 2, w.Seen(s.Ref).Snapshots)
	snapshot, content, err := ScoreAt(w.Hers(), w.Rules, one.SnapshotID)
	require.NoError(t, err)
	assert.Equal(t, one, snapshot)
	assert.Equal(t, score.Content{Title: "t", Description: "d", Pages: s.Pages, Annotations: []string{"<a>", "b", "<a>"}}, content)
	assert.Equal(t, []any{w.Ada, s.ID}, []any{one.Score.Owner, one.Score.ID})
	assert.Len(t, w.Contents.Keys(), 2)
	assert.Contains(t, w.Contents.Keys(), "snapshots/"+string(w.Ada)+"/"+string(s.ID)+"/"+one.ID+".json")
	for _, id := range []score.SnapshotID{{Score: s.Ref, ID: uuid.NewString()}, {Score: s.Ref, ID: "x"}, {Score: score.Ref{Owner: w.Ada, ID: score.ID(uuid.NewString())}, ID: one.ID}} {
		_, _, err := ScoreAt(w.Hers(), w.Rules, id)
		storetest.IsFault(t, err, fault.NotFound)
	}
}

func snapshotNames(t *testing.T, w *World) {
	s, other := w.Make(score.Create{}), w.Make(score.Create{})
	for _, name := range []string{"", " ", "a\nb", "\x00", "\xff", strings.Repeat("x", 65), strings.Repeat("🎼", 65), strings.Repeat("\U0001D160", 22)} { // composed it has 66
		_, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: name})
		storetest.IsFault(t, err, fault.Invalid)
	}
	names := []string{"スナップショット1", strings.Repeat("🎼", 64), strings.Repeat("x", 64), "a#b:c/%", "A", "a", "é"}
	for _, name := range names {
		w.Clock.Advance(time.Second)
		w.Snap(s.Ref, name)
	}
	slices.Reverse(names)
	assert.Equal(t, names, w.Snapshots(s.Ref))
	for _, name := range append(names, "e\u0301", " a ") {
		_, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: name})
		require.ErrorIs(t, err, score.ErrNameTaken, "%q", name)
	}
	assert.Len(t, w.Contents.Keys(), len(names), "no content was kept of those")
	w.Snap(other.Ref, "a")
}

func snapshotRenamed(t *testing.T, w *World) {
	s := w.Make(score.Create{})
	one := w.Snap(s.Ref, "one")
	w.Clock.Advance(time.Second)
	w.Snap(s.Ref, "two")
	rename := func(name string) (score.Snapshot, error) {
		return w.Rules.RenameSnapshot(w.Hers(), score.RenameSnapshot{Snapshot: one.SnapshotID, Name: name})
	}
	renamed, err := rename("three")
	require.NoError(t, err)
	assert.Equal(t, []any{"three", one.CreatedAt, w.Clock.Now()}, []any{renamed.Name, renamed.CreatedAt, renamed.UpdatedAt})
	assert.Equal(t, []string{"two", "three"}, w.Snapshots(s.Ref))
	_, err = rename("two")
	require.ErrorIs(t, err, score.ErrNameTaken)
	same, err := rename(" three")
	require.NoError(t, err)
	assert.Equal(t, renamed, same)
	w.Snap(s.Ref, "one")
	_, err = rename(strings.Repeat("x", 65))
	storetest.IsFault(t, err, fault.Invalid)
	_, err = w.Rules.RenameSnapshot(w.Hers(), score.RenameSnapshot{Snapshot: score.SnapshotID{Score: s.Ref, ID: uuid.NewString()}, Name: "x"})
	storetest.IsFault(t, err, fault.NotFound)
	errs := storetest.Attempts(8, func(i int) error { _, err := rename(fmt.Sprint("n", i)); return err })
	for _, err := range errs {
		if !fault.Is(err, fault.Conflict) {
			require.NoError(t, err)
		}
	}
	assert.Len(t, w.Snapshots(s.Ref), 3)
}

func snapshotDeleted(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 60)
	s := w.Make(score.Create{Pages: Pages(items...)})
	one, two := w.Snap(s.Ref, "one"), w.Snap(s.Ref, "two")
	remove := func(id score.SnapshotID) error {
		return w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: id})
	}
	require.NoError(t, remove(one.SnapshotID))
	assert.Equal(t, []string{"two"}, w.Snapshots(s.Ref))
	assert.Equal(t, []string{score.SnapshotKey(two.SnapshotID)}, w.Contents.Keys())
	storetest.IsFault(t, remove(one.SnapshotID), fault.NotFound)
	_, err := w.Rules.RenameSnapshot(w.Hers(), score.RenameSnapshot{Snapshot: one.SnapshotID, Name: "x"})
	storetest.IsFault(t, err, fault.NotFound)
	w.Snap(s.Ref, "one")
	storetest.IsFault(t, w.Rules.DeleteSnapshot(w.As(score.UserID(uuid.NewString())), score.DeleteSnapshot{Snapshot: two.SnapshotID}), fault.NotFound)

	w.Contents.Fail = func(string) error { return fault.New(fault.Unavailable, "away") }
	require.NoError(t, remove(two.SnapshotID), "the rest is done later")
	w.Contents.Fail = nil
	assert.Len(t, w.Contents.Keys(), 2)
	w.Settled()
	assert.Len(t, w.Contents.Keys(), 1)
	errs := storetest.Attempts(4, func(int) error { return remove(w.snapshotNamed(s.Ref, "one")) })
	gone := 0
	for _, err := range errs {
		if err == nil {
			gone++
		} else {
			storetest.IsFault(t, err, fault.NotFound)
		}
	}
	assert.Equal(t, 1, gone)
	assert.Equal(t, 0, w.Seen(s.Ref).Snapshots)
}

// snapshotNamed returns the id of a snapshot; one of none when it is gone.
func (w *World) snapshotNamed(ref score.Ref, name string) score.SnapshotID {
	lists, _ := w.Rules.ListSnapshots(w.Hers(), []score.SnapshotsRequest{w.Seen(ref).ListSnapshots()})
	for _, one := range lists[0] {
		if one.Name == name {
			return one.SnapshotID
		}
	}
	return score.SnapshotID{Score: ref, ID: uuid.NewString()}
}

func snapshotRestored(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 3)
	s := w.Make(score.Create{Title: "t", Description: "d", Pages: Pages(items[:2]...), Annotations: []string{"a", "b"}})
	one := w.Snap(s.Ref, "one")
	changed := w.Update(score.Update{Score: s.Ref, Title: storetest.Ptr("u"), Description: storetest.Ptr("e"), Access: storetest.Ptr(score.Public),
		Pages:       []score.PagesChange{{Remove: &score.Range{Count: 2}}, {Insert: &score.InsertPages{Pages: Pages(items[2])}}},
		Annotations: []score.AnnotationsChange{{Edit: &score.EditAnnotation{At: 1, Text: "c"}}}})
	_, err := w.Rules.Restore(w.Hers(), score.Restore{Snapshot: one.SnapshotID, ExpectedVersion: storetest.Ptr(1)})
	var conflict *score.VersionConflict
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, w.Seen(s.Ref), conflict.Current)
	restored, err := w.Rules.Restore(w.Hers(), score.Restore{Snapshot: one.SnapshotID, ExpectedVersion: &changed.Version})
	require.NoError(t, err)
	assert.Equal(t, restored, w.Seen(s.Ref))
	assert.Equal(t, []any{s.Hash, changed.Version + 1, score.Public, 1}, []any{restored.Hash, restored.Version, restored.Access, restored.Snapshots})
	description, annotations := w.Texts(restored)
	assert.Equal(t, []any{"d", []string{"a", "b"}}, []any{description, annotations})
	again, err := w.Rules.Restore(w.Hers(), score.Restore{Snapshot: one.SnapshotID})
	require.NoError(t, err)
	assert.Equal(t, restored, again, "it is the same")
	_, err = w.Rules.Restore(w.As(score.UserID(uuid.NewString())), score.Restore{Snapshot: one.SnapshotID})
	storetest.IsFault(t, err, fault.Forbidden)
}

func snapshotCompared(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 4)
	s := w.Make(score.Create{Title: "t", Description: "d", Pages: Pages(items[:3]...), Annotations: []string{"a", "b", "c"}})
	one := w.Snap(s.Ref, "one")
	same, err := Changes(w.Hers(), w.Rules, one.SnapshotID)
	require.NoError(t, err)
	assert.True(t, same.Same())
	now := w.Update(score.Update{Score: s.Ref, Title: storetest.Ptr("u"), Description: storetest.Ptr(""),
		Pages:       []score.PagesChange{{Move: &score.Move{From: 0, To: 2}}, {Insert: &score.InsertPages{At: 3, Pages: Pages(items[3])}}},
		Annotations: []score.AnnotationsChange{{Edit: &score.EditAnnotation{At: 1, Text: "z"}}, {Insert: &score.InsertAnnotations{Texts: []string{"y"}}}}})
	got, err := Changes(w.Hers(), w.Rules, one.SnapshotID)
	require.NoError(t, err)
	assert.Equal(t, score.Comparison{
		Title: &score.Replaced{Before: "t", After: "u"}, Description: &score.Replaced{Before: "d", After: ""},
		Pages:       []score.Difference[score.Page]{{Before: storetest.Ptr(0), After: storetest.Ptr(2), Of: s.Pages[0]}, {After: storetest.Ptr(3), Of: now.Pages[3]}},
		Annotations: []score.Difference[string]{{Before: storetest.Ptr(1), Of: "b"}, {After: storetest.Ptr(0), Of: "y"}, {After: storetest.Ptr(2), Of: "z"}},
	}, got)
}

func snapshotsBounded(t *testing.T, w *World) {
	s := w.Make(score.Create{Annotations: []string{"a"}})
	errs := storetest.Attempts(score.MaxSnapshots+3, func(i int) error {
		return persevere(func() error {
			key := fmt.Sprint(i)
			_, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: key, IdempotencyKey: &key})
			return err
		})
	})
	refused := 0
	for _, err := range errs {
		if err != nil {
			require.ErrorIs(t, err, score.ErrTooManySnapshots)
			refused++
		}
	}
	assert.Equal(t, 3, refused)
	assert.Len(t, w.Snapshots(s.Ref), score.MaxSnapshots)
	require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref}))
}

func snapshotUnkept(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 60)
	s := w.Make(score.Create{Pages: Pages(items...)})
	w.Contents.Fail = func(string) error { return fault.New(fault.Unavailable, "away") }
	_, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "one"})
	storetest.IsFault(t, err, fault.Unavailable)
	assert.Empty(t, w.Snapshots(s.Ref))
	w.Contents.Fail = func(verb string) error { // it takes so long that the task comes
		if verb == "upload" {
			w.Clock.Advance(time.Hour)
			w.Work()
		}
		return nil
	}
	_, err = w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "one"})
	storetest.IsFault(t, err, fault.Unavailable)
	w.Contents.Fail = nil
	assert.Empty(t, w.Contents.Keys())
	one := w.Snap(s.Ref, "one")
	w.Contents.Fail = func(string) error { return fault.New(fault.Unavailable, "away") }
	_, _, err = ScoreAt(w.Hers(), w.Rules, one.SnapshotID)
	storetest.IsFault(t, err, fault.Unavailable)
	w.Contents.Fail = nil
}

// What a snapshot keeps may go between reading its content and making it that of the score.
func snapshotGoneWhileRestored(t *testing.T, w *World) {
	item := w.NewItems(w.Ada, 1)[0]
	s := w.Make(score.Create{Pages: Pages(item)})
	one := w.Snap(s.Ref, "one")
	s = w.Update(score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 1}}}})
	w.Contents.Fail = func(verb string) error {
		if verb != "open" {
			return fault.New(fault.Unavailable, "the content stays for now")
		}
		require.NoError(t, w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: one.SnapshotID}))
		gone, err := w.DeleteItem(t.Context(), item)
		require.NoError(t, err)
		require.True(t, gone)
		return nil
	}
	_, err := w.Rules.Restore(w.Hers(), score.Restore{Snapshot: one.SnapshotID})
	storetest.IsFault(t, err, fault.NotFound)
	w.Contents.Fail = nil
	now := w.Seen(s.Ref)
	assert.Equal(t, []any{s.Version, s.Hash, 0}, []any{now.Version, now.Hash, now.Snapshots})
}

func contentsBounded(t *testing.T, w *World) {
	s := w.Make(score.Create{})
	one := w.Snap(s.Ref, "one")
	requests := make([]score.ContentRequest, 30)
	for i := range requests {
		requests[i] = one.Content()
	}
	exhausted := func(errs []error) (n int) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				storetest.IsFault(t, err, fault.Exhausted)
				n++
			}
		}
		return n
	}
	history := w.Rules.History()
	_, errs := history.ScoresAt(w.Hers(), requests)
	assert.Zero(t, exhausted(errs))
	_, errs = history.Comparisons(w.Hers(), requests)
	assert.Equal(t, 2*len(requests)-score.MaxContents, exhausted(errs), "together they are too many")

	w.Contents.Put(score.SnapshotKey(one.SnapshotID), `{"v": 1, "annotations": ["`+strings.Repeat("a", score.MaxContentBytes/8+1)+`"]}`)
	history = w.Rules.History()
	_, errs = history.ScoresAt(w.Hers(), requests[:8])
	assert.Zero(t, exhausted(errs))
	_, errs = history.ScoresAt(w.Hers(), requests[:2])
	assert.Equal(t, 2, exhausted(errs))
}

func contentVersions(t *testing.T, w *World) {
	s := w.Make(score.Create{})
	one := w.Snap(s.Ref, "one")
	for text, kind := range map[string]fault.Kind{
		`{"v": 2, "title": {"new": true}}`: fault.Unavailable, `{"v": 2, "title": "t"}`: fault.Unavailable, `{"v": 1, "title": {}}`: fault.Internal, `{"v": 1, "tit`: fault.Internal,
	} {
		w.Contents.Put(score.SnapshotKey(one.SnapshotID), text)
		_, _, err := ScoreAt(w.Hers(), w.Rules, one.SnapshotID)
		storetest.IsFault(t, err, kind)
	}
	w.Contents.Put(score.SnapshotKey(one.SnapshotID), `{"title": "old", "annotations": ["a"]}`)
	_, content, err := ScoreAt(w.Hers(), w.Rules, one.SnapshotID)
	require.NoError(t, err)
	assert.Equal(t, score.Content{Title: "old", Annotations: []string{"a"}}, content)
}

func snapshotsTogether(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 50)
	s := w.Make(score.Create{Pages: Pages(items...), Annotations: []string{"0"}})
	errs := storetest.Attempts(12, func(i int) error {
		key := storetest.Ptr(fmt.Sprint(i))
		return persevere(func() error {
			if i%3 == 0 {
				_, err := w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Annotations: []score.AnnotationsChange{{Edit: &score.EditAnnotation{Text: fmt.Sprint(i)}}}})
				return err
			}
			one, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: *key, IdempotencyKey: key})
			if err == nil && i%3 == 1 && one.ID != "" {
				err = w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: one.SnapshotID, IdempotencyKey: storetest.Ptr("delete " + *key)})
			}
			return err
		})
	})
	require.NoError(t, errors.Join(errs...))
	assert.Len(t, w.Snapshots(s.Ref), 4)
	taken := 0
	for _, err := range storetest.Attempts(4, func(int) error {
		_, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "same"})
		return err
	}) {
		if err == nil {
			taken++
		} else {
			require.ErrorIs(t, err, score.ErrNameTaken)
		}
	}
	assert.Equal(t, 1, taken)
}

func snapshotsHidden(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	s := w.Make(score.Create{})
	one := w.Snap(s.Ref, "one")
	_, _, err := ScoreAt(w.As(bob), w.Rules, one.SnapshotID)
	storetest.IsFault(t, err, fault.NotFound)
	_, err = Changes(w.As(bob), w.Rules, one.SnapshotID)
	storetest.IsFault(t, err, fault.NotFound)
	_, errs := w.Rules.ListSnapshots(w.As(bob), []score.SnapshotsRequest{{Score: s.Ref}})
	storetest.IsFault(t, errs[0], fault.NotFound)
	_, errs = w.Rules.History().ScoresAt(w.As(bob), []score.ContentRequest{{SnapshotID: one.SnapshotID}})
	storetest.IsFault(t, errs[0], fault.NotFound)
	_, err = w.Rules.CreateSnapshot(w.As(bob), score.CreateSnapshot{Score: s.Ref, Name: "x"})
	storetest.IsFault(t, err, fault.NotFound)
	w.Update(score.Update{Score: s.Ref, Access: storetest.Ptr(score.Limited), ShowEarlier: true})
	_, _, err = ScoreAt(w.As(bob), w.Rules, one.SnapshotID)
	require.NoError(t, err)
	_, err = w.Rules.RenameSnapshot(w.As(bob), score.RenameSnapshot{Snapshot: one.SnapshotID, Name: "x"})
	storetest.IsFault(t, err, fault.Forbidden)
}
