package scoretest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/storetest"
)

// kept returns what a user keeps, read two at a time.
func (w *World) kept(t *testing.T, by score.UserID) []score.Kept {
	t.Helper()
	var all []score.Kept
	win := page.Window{Limit: 2}
	for {
		slice, err := w.Scores.ListKept(storetest.Patient(t), by, win)
		require.NoError(t, err)
		all = append(all, slice.Items...)
		if !slice.More {
			return all
		}
		win.From = slice.Positions[len(slice.Positions)-1]
	}
}

func refsOf(all []score.Kept) []score.Ref {
	refs := []score.Ref{}
	for _, k := range all {
		refs = append(refs, k.Score)
	}
	return refs
}

func scoresKept(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	his := w.As(bob)
	var scores []score.Ref
	for _, access := range []score.Access{score.Public, score.Limited, score.Public} {
		scores = append(scores, w.Make(score.Create{Access: access}).Ref)
	}
	secret := w.Make(score.Create{})
	assert.Empty(t, w.kept(t, bob))
	for _, s := range scores {
		w.Clock.Advance(time.Second)
		kept, err := w.Rules.Keep(his, score.ChangeKept{Score: s})
		require.NoError(t, err)
		assert.Equal(t, s, kept.Ref)
	}
	newestFirst := []score.Ref{scores[2], scores[1], scores[0]}
	before := w.kept(t, bob)
	assert.Equal(t, newestFirst, refsOf(before))
	assert.Equal(t, w.Clock.Now().UTC().Truncate(time.Millisecond), before[0].At)
	w.Clock.Advance(time.Second)
	_, err := w.Rules.Keep(his, score.ChangeKept{Score: scores[0]})
	require.NoError(t, err)
	assert.Equal(t, before, w.kept(t, bob), "what is kept already stays where it is")

	_, err = w.Rules.Keep(his, score.ChangeKept{Score: secret.Ref})
	storetest.IsFault(t, err, fault.NotFound)
	_, err = w.Rules.Keep(w.Hers(), score.ChangeKept{Score: scores[0]})
	storetest.IsFault(t, err, fault.Invalid)
	storetest.IsFault(t, w.Rules.Drop(w.Hers(), score.ChangeKept{Score: scores[0]}), fault.Invalid)
	_, err = w.Rules.ListKept(w.Hers(), bob, page.Window{Limit: 2})
	storetest.IsFault(t, err, fault.Forbidden)
	assert.Empty(t, w.kept(t, w.Ada))

	private := score.Private
	w.Update(score.Update{Score: scores[1], Access: &private})
	require.NoError(t, w.Rules.Delete(w.Hers(), score.Delete{Score: scores[2]}))
	assert.Equal(t, newestFirst, refsOf(w.kept(t, bob)), "those that are gone have their place")
	for _, gone := range []score.Ref{scores[2], scores[1], scores[1], {Owner: w.Ada, ID: "none"}} {
		require.NoError(t, w.Rules.Drop(his, score.ChangeKept{Score: gone}))
	}
	assert.Equal(t, scores[:1], refsOf(w.kept(t, bob)))

	w.Clock.Advance(time.Second)
	require.NoError(t, w.Rules.Drop(his, score.ChangeKept{Score: scores[0]}))
	_, err = w.Rules.Keep(his, score.ChangeKept{Score: scores[0]})
	require.NoError(t, err)
	again := w.kept(t, bob)
	assert.True(t, again[0].At.After(before[2].At), "it is kept since now")
	w.Settled()
}

func keptOnce(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	of := w.Make(score.Create{Access: score.Public}).Ref
	key := func(name string) idempotency.Key {
		return idempotency.Key{Viewer: string(bob), Key: name, Hash: []byte("hash"), ExpiresAt: w.Clock.Now().Add(time.Hour)}.With(string(of.Owner), string(of.ID))
	}
	keep := func(name string) error {
		return w.Scores.KeepScore(storetest.Patient(t), bob, score.Kept{Score: of, At: w.Clock.Now()}, key(name))
	}
	drop := func(name string) error { return w.Scores.DropScore(storetest.Patient(t), bob, of, key(name)) }
	var replayed *idempotency.Replayed
	require.NoError(t, keep("one"))
	require.ErrorAs(t, keep("one"), &replayed)
	require.NoError(t, keep("two"), "nothing changes, but the key is kept")
	require.NoError(t, drop("three"))
	require.NoError(t, drop("four"), "nothing changes, but the key is kept")
	for _, name := range []string{"one", "two"} {
		require.ErrorAs(t, keep(name), &replayed)
	}
	for _, name := range []string{"three", "four"} {
		require.ErrorAs(t, drop(name), &replayed)
	}
	assert.Empty(t, w.kept(t, bob))
}

// Many keep and drop the same scores at once: each score has one place, and is counted once.
func keptTogether(t *testing.T, w *World) {
	bob := score.UserID(uuid.NewString())
	his := w.As(bob)
	var scores []score.Ref
	for range 3 {
		scores = append(scores, w.Make(score.Create{Access: score.Public}).Ref)
	}
	var failed atomic.Int32
	together := func(do func(n int, change score.ChangeKept) error) {
		t.Helper()
		storetest.Together(9, func(n int) {
			if err := do(n, score.ChangeKept{Score: scores[n%3]}); err != nil {
				t.Log(err)
				failed.Add(1)
			}
		})
		require.Zero(t, failed.Load())
		w.Settled()
	}
	keep := func(_ int, change score.ChangeKept) error {
		_, err := w.Rules.Keep(his, change)
		return err
	}
	drop := func(_ int, change score.ChangeKept) error { return w.Rules.Drop(his, change) }
	together(keep)
	assert.ElementsMatch(t, scores, refsOf(w.kept(t, bob)))
	together(func(n int, change score.ChangeKept) error {
		if n < 3 {
			return drop(n, change)
		}
		return keep(n, change)
	})
	together(drop)
	assert.Empty(t, w.kept(t, bob))
}

// The scores of a list need not exist for their store.
func keptBounded(t *testing.T, w *World) {
	ctx, bob := storetest.Patient(t), score.UserID(uuid.NewString())
	keep := func() error {
		of := score.Ref{Owner: w.Ada, ID: score.ID(uuid.NewString())}
		return w.Scores.KeepScore(ctx, bob, score.Kept{Score: of, At: w.Clock.Now()}, idempotency.Key{})
	}
	for _, err := range storetest.Attempts(score.MaxKept, func(int) error { return keep() }) {
		require.NoError(t, err)
	}
	storetest.IsFault(t, keep(), fault.Exhausted)
	slice, err := w.Scores.ListKept(ctx, bob, page.Window{Limit: page.Max})
	require.NoError(t, err)
	first := slice.Items[0]
	require.NoError(t, w.Scores.KeepScore(ctx, bob, first, idempotency.Key{}), "it is kept already")
	require.NoError(t, w.Scores.DropScore(ctx, bob, first.Score, idempotency.Key{}))
	require.NoError(t, keep())
}
