package scores_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest/scoretest"
)

// Each change of a score and its snapshots leaves one event with its transaction, and costs no call more; what changes nothing, or is refused, leaves none.
func TestEachChangeOfAScoreLeavesOneEvent(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	waiting := outbox.Store{DB: db}
	items := w.NewItems(w.Ada, 2)
	s := w.Make(score.Create{Title: "first", Pages: scoretest.Pages(items...), Annotations: []string{"a"}})
	var told []event.Event
	all := func() []event.Event {
		t.Helper()
		all, err := waiting.ListOutbox(t.Context(), w.Clock.Now().Add(time.Minute), 1000)
		require.NoError(t, err)
		return all
	}
	require.Empty(t, all(), "nobody can follow a score that is new")
	leaves := func(want event.Event, do func() error) {
		t.Helper()
		w.Clock.Advance(time.Second)
		require.NoError(t, do())
		now := all()
		require.Len(t, now, len(told)+1)
		last := now[len(told)]
		assert.WithinDuration(t, w.Clock.Now(), last.At, time.Second)
		last.At = time.Time{}
		want.Kind, want.Of, want.Owner, want.By = event.OfScore, string(s.ID), w.Ada, w.Ada
		assert.Equal(t, want, last)
		told = now
	}
	update := func(u score.Update) func() error {
		u.Score = s.Ref
		return func() error {
			_, err := w.Rules.Update(w.Hers(), u)
			return err
		}
	}
	second, public := "second", score.Public
	leaves(event.Event{Type: score.Changed, Parts: "TITLE PAGES_REMOVED ANNOTATIONS_ADDED", Private: true, Version: 2}, update(score.Update{Title: &second, Pages: []score.PagesChange{{Remove: &score.Range{Count: 1}}},
		Annotations: []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: []string{"b"}}}}}))
	leaves(event.Event{Type: score.Changed, Parts: "ACCESS", Version: 3}, update(score.Update{Access: &public}))
	require.NoError(t, update(score.Update{Title: &second, IdempotencyKey: new("k")})(), "which changes nothing")
	stale := 1
	require.Error(t, update(score.Update{Title: new("third"), ExpectedVersion: &stale})())
	_, err := w.Rules.Update(w.As("0b0b0b0b-0b0b-4b0b-8b0b-0b0b0b0b0b0b"), score.Update{Score: s.Ref, Title: new("third")})
	require.True(t, fault.Is(err, fault.Forbidden), "%v", err)

	var many []string
	for n := range 100 {
		many = append(many, fmt.Sprint(n))
	}
	leaves(event.Event{Type: score.Changed, Parts: "ANNOTATIONS_ADDED", Version: 4}, update(score.Update{Annotations: []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: many}}}}))
	var taken score.Snapshot
	snapshot := func() (err error) {
		taken, err = w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "one", IdempotencyKey: new("once")})
		return err
	}
	w.Clock.Advance(time.Second)
	require.NoError(t, snapshot())
	require.NoError(t, snapshot(), "again")
	told = all()
	require.Len(t, told, 4)
	assert.Equal(t, score.SnapshotEvent(score.SnapshotCreated, score.Score{Access: public}, taken, taken.CreatedAt), told[3])
	of := event.Event{Snapshot: taken.ID, Version: 4}
	of.Type = score.SnapshotRenamed
	leaves(of, func() error {
		_, err := w.Rules.RenameSnapshot(w.Hers(), score.RenameSnapshot{Snapshot: taken.SnapshotID, Name: "two"})
		return err
	})
	of.Type = score.SnapshotDeleted
	leaves(of, func() error {
		return w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: taken.SnapshotID})
	})
	leaves(event.Event{Type: score.Removed, Version: 4}, func() error { return w.Rules.Delete(w.Hers(), score.Delete{Score: s.Ref}) })
	inj.Recorder().Reset()
	require.NoError(t, waiting.DeleteOutbox(t.Context(), told))
	assert.Equal(t, map[string]int{"BatchWriteItem": 1}, inj.Recorder().Operations())
	assert.Empty(t, all())
	w.Settled()
}

// A change that fills a transaction to what is done at once has room for its event, too, and so has the smallest one that is made in steps.
func TestTheLargestChangesAtOnceHaveRoomForTheirEvent(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfScores(t)
	transactions := func() int { return inj.Recorder().Count(faultinject.Operation("TransactWriteItems")) }
	for texts, want := range map[int]int{db.Prepared - 2: 1, db.Prepared - 1: 3} { // the score and its event are two rows
		s := w.Make(score.Create{})
		many := make([]string, texts)
		for n := range many {
			many[n] = fmt.Sprint(n)
		}
		inj.Recorder().Reset()
		_, err := w.Rules.Update(w.Hers(), score.Update{Score: s.Ref, Annotations: []score.AnnotationsChange{{Insert: &score.InsertAnnotations{Texts: many}}}, IdempotencyKey: new(fmt.Sprint(texts))})
		require.NoError(t, err)
		assert.Equal(t, want, transactions(), "%d texts", texts)
	}
	for items, want := range map[int]int{42: 2, 43: 3} { // the intent; items that do not fit; the snapshot
		s := w.Make(score.Create{Pages: scoretest.Pages(w.NewItems(w.Ada, items)...)})
		inj.Recorder().Reset()
		_, err := w.Rules.CreateSnapshot(w.Hers(), score.CreateSnapshot{Score: s.Ref, Name: "one", IdempotencyKey: new(fmt.Sprint("s", items))})
		require.NoError(t, err)
		assert.Equal(t, want, transactions(), "%d items", items)
	}
	assert.Empty(t, inj.Recorder().Violations())
	w.Settled()
}
