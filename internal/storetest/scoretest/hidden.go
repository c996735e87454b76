package scoretest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

// sees requires that a user sees these snapshots of a score, the newest first, and as many of them counted, and no other of all.
func (w *World) sees(who score.UserID, ref score.Ref, all []score.Snapshot, want ...string) {
	w.t.Helper()
	s, err := w.Get(w.As(who), ref)
	require.NoError(w.t, err)
	lists, errs := w.Rules.ListSnapshots(w.As(who), []score.SnapshotsRequest{s.ListSnapshots()})
	require.NoError(w.t, errs[0])
	names := []string{}
	for _, one := range lists[0] {
		names = append(names, one.Name)
	}
	assert.ElementsMatch(w.t, want, names)
	assert.Equal(w.t, len(want), s.Snapshots, "as many are counted as are seen")
	for _, one := range all {
		_, _, err := ScoreAt(w.As(who), w.Rules, one.SnapshotID)
		_, compared := Changes(w.As(who), w.Rules, one.SnapshotID)
		if slices.Contains(want, one.Name) {
			require.NoError(w.t, err, one.Name)
			require.NoError(w.t, compared, one.Name)
		} else {
			storetest.IsFault(w.t, err, fault.NotFound)
			storetest.IsFault(w.t, compared, fault.NotFound)
		}
	}
}

func widenedAccess(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	s := w.Make(score.Create{Title: "t", Annotations: []string{"secret"}})
	all := []score.Snapshot{w.Snap(s.Ref, "one"), w.Snap(s.Ref, "two")}
	widen := func(to score.Access, show bool) score.Score {
		t.Helper()
		return w.Update(score.Update{Score: s.Ref, Access: storetest.Ptr(to), ShowEarlier: show})
	}
	assert.Equal(t, 2, widen(score.Limited, false).Hidden)
	w.sees(bob, s.Ref, all)
	w.sees(w.Ada, s.Ref, all, "one", "two")
	all = append(all, w.Snap(s.Ref, "three"))
	w.sees(bob, s.Ref, all, "three")
	assert.Equal(t, 2, w.Update(score.Update{Score: s.Ref, Title: storetest.Ptr("other")}).Hidden, "another change changes nothing of it")
	_, err := w.Rules.RenameSnapshot(w.Hers(), score.RenameSnapshot{Snapshot: all[0].SnapshotID, Name: "first"})
	require.NoError(t, err)
	w.sees(bob, s.Ref, all[1:], "three")
	require.NoError(t, w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: all[0].SnapshotID}))
	all = all[1:]
	assert.Equal(t, 1, w.Seen(s.Ref).Hidden)
	w.sees(bob, s.Ref, all, "three")

	before := w.Seen(s.Ref)
	assert.Equal(t, []int{1, before.Version}, []int{widen(score.Limited, false).Hidden, w.Seen(s.Ref).Version}, "it is as wide as before")
	assert.Equal(t, 2, widen(score.Public, false).Hidden, "what some could see is not shown to all")
	w.sees(bob, s.Ref, all)
	assert.Equal(t, 2, widen(score.Private, false).Hidden)
	assert.Equal(t, 0, widen(score.Public, true).Hidden)
	w.sees(bob, s.Ref, all, "two", "three")
	widen(score.Private, false)
	widen(score.Limited, false)
	w.sees(bob, s.Ref, all)
	shown := w.Update(score.Update{Score: s.Ref, ShowEarlier: true})
	assert.Equal(t, 0, shown.Hidden, "it can be said later")
	w.sees(bob, s.Ref, all, "two", "three")
	assert.Equal(t, shown.Version, w.Update(score.Update{Score: s.Ref, ShowEarlier: true}).Version, "nothing is left to show")
	require.NoError(t, w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: all[0].SnapshotID}))
	w.sees(bob, s.Ref, all[1:], "three")
}

// Snapshots are taken and deleted while the access is widened: none of a version from before is seen, and all that are hidden are counted.
func widenedMeanwhile(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	for round := range 5 {
		s := w.Make(score.Create{Title: "secret"})
		gone := w.Snap(s.Ref, "gone")
		var group sync.WaitGroup
		for n := range 4 {
			group.Go(func() { w.Snap(s.Ref, fmt.Sprint(n)) })
		}
		group.Go(func() {
			assert.NoError(t, w.Rules.DeleteSnapshot(w.Hers(), score.DeleteSnapshot{Snapshot: gone.SnapshotID}))
		})
		var after score.Score
		group.Go(func() {
			after = w.Update(score.Update{Score: s.Ref, Title: storetest.Ptr("for all"), Access: storetest.Ptr(score.Public)})
		})
		group.Wait()
		now, err := w.Get(w.As(bob), s.Ref)
		require.NoError(t, err)
		lists, errs := w.Rules.ListSnapshots(w.As(bob), []score.SnapshotsRequest{now.ListSnapshots()})
		require.NoError(t, errs[0])
		assert.Len(t, lists[0], now.Snapshots, "round %d", round)
		for _, one := range lists[0] {
			_, content, err := ScoreAt(w.As(bob), w.Rules, one.SnapshotID)
			require.NoError(t, err)
			assert.Equal(t, "for all", content.Title, "of version %d, shown from %d", one.Version, after.ShownFrom)
		}
		assert.Equal(t, []int{4, 4 - len(lists[0])}, []int{w.Seen(s.Ref).Snapshots, w.Seen(s.Ref).Hidden})
	}
}
