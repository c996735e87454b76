package scoretest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

// noKey records nothing.
var noKey = idempotency.Key{}

func isUnknown(t *testing.T, err error, item score.ItemRef) {
	t.Helper()
	var unknown *score.UnknownItem
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, item, unknown.Item)
}

func scoreItems(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	items, his := w.NewItems(w.Ada, 60), w.NewItems(bob, 1)[0]
	s := w.Make(score.Create{Pages: Pages(items[0])})
	none := score.ItemRef{Owner: w.Ada, Score: score.Library, ID: score.ItemID(uuid.NewString())}
	forged, junk := items[0], none
	forged.Score = s.ID
	junk.ID = "junk"
	unused := items[1]
	unused.Score = s.ID
	stolen := his
	stolen.Owner = w.Ada
	for _, item := range []score.ItemRef{none, his, stolen, forged, unused, junk} {
		_, err := w.Rules.Create(w.Hers(), score.Create{Title: "t", Pages: Pages(items[0], item)})
		isUnknown(t, err, item)
		_, err = w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(item)}}}})
		isUnknown(t, err, item)
		_, err = w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Pages: []score.PagesChange{
			{Remove: &score.Range{Count: 1}}, {Insert: &score.InsertPages{Pages: Pages(append(items[2:60:60], item)...)}}}})
		isUnknown(t, err, item)
		_, err = w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 1}}, {Insert: &score.InsertPages{Pages: Pages(item)}}}})
		isUnknown(t, err, item)
	}
	assert.Equal(t, s, w.Seen(s.Ref))
	of := score.ItemRef{Owner: w.Ada, Score: s.ID, ID: score.ItemID(uuid.NewString())}
	require.NoError(t, w.PutItem(t.Context(), of))
	s = w.Update(score.Update{Score: s.Ref, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(of)}}}})
	assert.Equal(t, s, w.Seen(s.Ref))
	assert.Equal(t, s.ID, s.Pages[0].ItemScore, "its own")
	assert.Equal(t, score.Library, s.Pages[1].ItemScore)
	other := w.Make(score.Create{Pages: Pages(of, items[0])})
	assert.Equal(t, s.ID, other.Pages[0].ItemScore)
	assert.Equal(t, other, w.Seen(other.Ref))
}

func usedItems(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 3)
	s := w.Make(score.Create{Pages: Pages(items[0], items[0], items[1])})
	other := w.Make(score.Create{Pages: Pages(items[0])})
	deletes := func(item score.ItemRef, want bool) {
		t.Helper()
		gone, err := w.DeleteItem(t.Context(), item)
		require.NoError(t, err)
		require.Equal(t, want, gone)
	}
	deletes(items[0], false)
	deletes(items[2], true)
	s = w.Update(score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 1}}}})
	deletes(items[0], false)
	snapshot := w.Snap(s.Ref, "one")
	w.Update(score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 2}}}})
	deletes(items[1], false)
	require.NoError(t, w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: snapshot.SnapshotID}))
	deletes(items[1], true)
	deletes(items[0], false)
	require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: other.Ref}))
	deletes(items[0], true)
}

// LargeScore is a score of 250 pages and 1,000 different annotations of 10 KB, all of them with the word in them.
func LargeScore(items []score.ItemRef, word string) score.Create {
	in := score.Create{Title: "large " + word, Description: strings.Repeat("d", score.MaxDescription-len(word)) + word, Pages: Pages(items...)}
	for i := range score.MaxAnnotations {
		text := fmt.Sprintf("%s %d ", word, i)
		in.Annotations = append(in.Annotations, text+strings.Repeat("x", score.MaxAnnotation-len(text)))
	}
	return in
}

func largeScore(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, score.MaxPages+60)
	in := LargeScore(items[:score.MaxPages], "first")
	s := w.Make(in)
	require.Equal(t, s, w.Seen(s.Ref))
	description, annotations := w.Texts(s)
	assert.Equal(t, in.Description, description)
	assert.Equal(t, in.Annotations, annotations)
	first := w.Snap(s.Ref, "first")
	other := LargeScore(nil, "second")
	changed := w.Update(score.Update{Score: s.Ref, Pages: []score.PagesChange{
		{Remove: &score.Range{Count: 60}}, {Insert: &score.InsertPages{Pages: Pages(items[score.MaxPages:]...)}}},
		Annotations: []score.AnnotationsChange{{Remove: &score.Range{Count: 500}}, {Insert: &score.InsertAnnotations{Texts: other.Annotations[:500]}}}})
	require.Equal(t, changed, w.Seen(s.Ref))
	_, annotations = w.Texts(changed)
	assert.Equal(t, append(append([]string{}, other.Annotations[:500]...), in.Annotations[500:]...), annotations)
	difference, err := Changes(w.Hers(), w.Rules, first.SnapshotID)
	require.NoError(t, err)
	assert.Len(t, difference.Pages, 120)
	assert.Len(t, difference.Annotations, 1000)
	gone, err := w.DeleteItem(t.Context(), items[0])
	require.NoError(t, err)
	assert.False(t, gone, "the snapshot uses it")
	restored, err := w.Rules.Restore(w.Hers(), score.Restore{Snapshot: first.SnapshotID, ExpectedVersion: storetest.Ptr(changed.Version)})
	require.NoError(t, err)
	assert.Equal(t, s.Hash, restored.Hash)
	require.Equal(t, restored, w.Seen(s.Ref))
	_, annotations = w.Texts(restored)
	assert.Equal(t, in.Annotations, annotations)
	w.Settled()
	require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref}))
}

func scoreDeleted(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 2)
	s := w.Make(score.Create{Description: "d", Pages: Pages(items[0]), Annotations: []string{"a"}})
	stays := w.Make(score.Create{Description: "d", Pages: Pages(items[0]), Annotations: []string{"a"}})
	one := w.Snap(s.Ref, "one")
	s = w.Update(score.Update{Score: s.Ref, Annotations: []score.AnnotationsChange{{Edit: &score.EditAnnotation{Text: "b"}}}, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(items[1])}}}})
	w.Snap(s.Ref, "two")
	require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref}))
	_, err := w.Get(w.Hers(), s.Ref)
	storetest.IsFault(t, err, fault.NotFound)
	_, _, err = ScoreAt(w.Hers(), w.Rules, one.SnapshotID)
	storetest.IsFault(t, err, fault.NotFound)
	assert.Empty(t, w.Contents.Keys())
	storetest.IsFault(t, w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref}), fault.NotFound)
	_, err = w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Title: storetest.Ptr("x")})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "x"})
	storetest.IsFault(t, err, fault.NotFound)
	assert.Equal(t, stays, w.Seen(stays.Ref))
	_, annotations := w.Texts(stays)
	assert.Equal(t, []string{"a"}, annotations)
	n, err := w.Rules.Count(w.Hers(), w.Ada)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

func scoresOnce(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 60)
	key := func(k string) *string { return &k }
	in := score.Create{Title: "t", Pages: Pages(items...), IdempotencyKey: key("create")}
	s, again := w.Make(in), w.Make(in)
	assert.Equal(t, s, again)
	in.Title = "other"
	_, err := w.Rules.Create(w.Hers(), in)
	require.ErrorIs(t, err, idempotency.ErrMismatch)
	for range 2 {
		update := score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 50}}}, Title: storetest.Ptr("u"), IdempotencyKey: key("update")}
		assert.Equal(t, 2, w.Update(update).Version)
	}
	var snapshots []score.Snapshot
	for range 2 {
		one, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "n", IdempotencyKey: key("snap")})
		require.NoError(t, err)
		snapshots = append(snapshots, one)
	}
	assert.Equal(t, snapshots[0], snapshots[1])
	for range 2 {
		one, err := w.Rules.RenameSnapshot(w.Hers(), score.RenameSnapshot{Snapshot: snapshots[0].SnapshotID, Name: "m", IdempotencyKey: key("rename")})
		require.NoError(t, err)
		assert.Equal(t, "m", one.Name)
	}
	for range 2 {
		_, err := w.Rules.Restore(w.Hers(), score.Restore{Snapshot: snapshots[0].SnapshotID, IdempotencyKey: key("restore")})
		require.NoError(t, err)
	}
	assert.Equal(t, 2, w.Seen(s.Ref).Version, "it was the same")
	for range 2 {
		require.NoError(t, w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: snapshots[0].SnapshotID, IdempotencyKey: key("unsnap")}))
	}
	for range 2 {
		require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref, IdempotencyKey: key("delete")}))
	}
	again, err = w.Rules.Create(w.Hers(), score.Create{Title: "t", Pages: Pages(items...), IdempotencyKey: key("create")})
	require.NoError(t, err)
	assert.Zero(t, again, "it is gone")
}

// persevere does something again when there was no answer. Whether it was done then is unknown: it has to be safe to repeat.
func persevere(do func() error) error {
	for {
		if err := do(); !fault.Is(err, fault.Unavailable) {
			return err
		}
	}
}

func scoreWriters(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 10)
	s := w.Make(score.Create{Pages: Pages(items[0])})
	errs := make([]error, 50)
	all50(func(i int) {
		key := storetest.Ptr(fmt.Sprint(i))
		errs[i] = persevere(func() error {
			var err error
			switch i % 5 {
			case 0:
				_, err = w.Rules.Create(w.Hers(), score.Create{Title: *key, Pages: Pages(items[i/5]), Annotations: []string{"same"}, IdempotencyKey: key})
			case 1:
				_, err = w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: *key, IdempotencyKey: key})
			case 2:
				_, err = w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Annotations: []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: []string{*key}}}}, IdempotencyKey: key})
			case 3:
				_, err = w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(items[i/5])}}}, IdempotencyKey: key})
			case 4:
				var one score.Score
				one, err = w.Rules.Create(w.Hers(), score.Create{Title: *key, Pages: Pages(items[i/5]), IdempotencyKey: key})
				if err == nil && one.ID != "" {
					err = w.Rules.Delete(w.Hers(), score.Delete{Score: one.Ref, IdempotencyKey: storetest.Ptr("delete " + *key)})
				}
			}
			return err
		})
	})
	require.NoError(t, errors.Join(errs...))
	s = w.Seen(s.Ref)
	assert.Equal(t, []any{11, 10, 10}, []any{s.PageCount, s.AnnotationCount, s.Snapshots})
	assert.GreaterOrEqual(t, s.Version, 21, "what is taken back raises it, too")
	assert.Len(t, w.Snapshots(s.Ref), 10)
	n, err := w.Rules.Count(w.Hers(), w.Ada)
	require.NoError(t, err)
	assert.Equal(t, 11, n)
}

// all50 does 50 things at the same time.
func all50(do func(i int)) {
	done := make(chan struct{})
	for i := range 50 {
		go func() {
			defer func() { done <- struct{}{} }()
			do(i)
		}()
	}
	for range 50 {
		<-done
	}
}

// Changes that prepare rows meet others that prepare the same ones, and small ones that need none.
func scoreLargeWriters(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 100)
	s := w.Make(score.Create{Pages: Pages(items[:50]...)})
	var texts []string
	for i := range 95 {
		texts = append(texts, fmt.Sprint("text ", i))
	}
	errs := storetest.Attempts(12, func(i int) error {
		return persevere(func() error {
			in := score.Update{Score: s.Ref}
			now := w.Seen(s.Ref)
			switch i % 4 {
			case 0: // all others
				in.Pages = []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(items[50:]...)}}}
				if now.PageCount > 0 {
					in.Pages = append([]score.PagesChange{{Remove: &score.Range{Count: now.PageCount}}}, in.Pages...)
				}
				in.ExpectedVersion = &now.Version
			case 1:
				in.Pages = []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(items[:50]...)}}}
				if now.PageCount > 0 {
					in.Pages = append([]score.PagesChange{{Remove: &score.Range{Count: now.PageCount}}}, in.Pages...)
				}
				in.ExpectedVersion = &now.Version
			case 2:
				if now.AnnotationCount > 0 {
					in.Annotations = []score.AnnotationsChange{{Remove: &score.Range{Count: now.AnnotationCount}}}
				} else {
					in.Annotations = []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: texts}}}
				}
				in.ExpectedVersion = &now.Version
			case 3:
				in.Annotations = []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: texts[i : i+1]}}}
				in.Pages = []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(items[i], items[50+i])}}}
			}
			_, err := w.Rules.Update(w.Hers(), in)
			if _, conflict := errors.AsType[*score.VersionConflict](err); conflict {
				return fault.New(fault.Unavailable, "again")
			}
			return err
		})
	})
	require.NoError(t, errors.Join(errs...))
	now := w.Seen(s.Ref)
	assert.Greater(t, now.Version, 12/4, "those that add something change it in any case")
	w.Texts(now)
	for _, item := range now.Items() {
		gone, err := w.DeleteItem(t.Context(), item)
		require.NoError(t, err)
		require.False(t, gone)
	}
}

func deleteOrUse(t *testing.T, w *World) {
	const rounds = 30
	s := w.Make(score.Create{})
	items := w.NewItems(w.Ada, rounds)
	var wins [2]int
	for _, item := range items {
		var errs [2]error
		var gone bool
		storetest.Together(2, func(i int) {
			if i == 0 {
				_, errs[0] = w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Pages: []score.PagesChange{{Insert: &score.InsertPages{Pages: Pages(item)}}}})
			} else {
				gone, errs[1] = w.DeleteItem(t.Context(), item)
			}
		})
		require.NoError(t, errs[1])
		if gone {
			isUnknown(t, errs[0], item)
			wins[1]++
		} else {
			require.NoError(t, errs[0])
			wins[0]++
		}
	}
	assert.Equal(t, wins[0], w.Seen(s.Ref).PageCount)
}

func deleteOrSnapshot(t *testing.T, w *World) {
	items := w.NewItems(w.Ada, 20)
	for n, item := range items {
		s := w.Make(score.Create{Pages: Pages(item)})
		var errs [2]error
		var gone bool
		storetest.Together(2, func(i int) {
			if i == 0 {
				_, errs[0] = w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: fmt.Sprint(n)})
				return
			}
			if _, errs[1] = w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Pages: []score.PagesChange{{Remove: &score.Range{Count: 1}}}}); errs[1] == nil {
				gone, errs[1] = w.DeleteItem(t.Context(), item)
			}
		})
		require.NoError(t, errors.Join(errs[:]...))
		lists, failed := w.Rules.ListSnapshots(w.Hers(), []score.SnapshotsRequest{w.Seen(s.Ref).ListSnapshots()})
		require.NoError(t, failed[0])
		_, content, err := ScoreAt(w.Hers(), w.Rules, lists[0][0].SnapshotID)
		require.NoError(t, err)
		assert.Equal(t, gone, len(content.Pages) == 0, "a snapshot has its items")
	}
}
