package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func (f *fixture) claimOf(item string, u labelling.UserID, token string) labelling.Claim {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return labelling.Claim{Item: project.ItemID{Project: f.project, ID: item}, User: u, Token: token, Since: at, Until: at.Add(labelling.Lease)}
}

func testRebuild(t *testing.T, f *fixture) {
	f.items(t, 3)
	f.claim(t, "ada", 2)
	old := f.state(t).Cursor
	hour := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)

	token := uuid.NewString()
	began, err := f.Begin(t.Context(), f.project, token, true)
	require.NoError(t, err)
	require.True(t, began)
	_, err = f.State(t.Context(), f.project)
	require.ErrorIs(t, err, labelling.ErrNotReady, "while it is rebuilt")
	for range 2 { // each part twice: the answer to the first was lost
		require.NoError(t, f.Load(t.Context(), f.project, token, labelling.Part{
			Number: 1, Counts: labelling.Counts{New: 4, Finished: 2}, Claims: []labelling.Claim{f.claimOf("c1", "ada", "a"), f.claimOf("c2", "grace", "b")},
			Returned: []labelling.Returned{{Item: "r1", User: "lin", Until: hour}},
			Statistics: []labelling.Statistics{
				{Team: "t1", Type: project.Taggie, Finished: 2, Users: []labelling.UserStatistics{{User: "ada", Finished: 2}}},
				{Team: "t2", Type: project.Reviewer},
			},
			ToReview: []labelling.ToReview{{Author: "ada", Category: "bird", Count: 2}, {Author: "lin", Category: "bird", Count: 1}},
			Used:     map[labelling.Words][]labelling.Used{labelling.Keywords: {{Value: "wing", Count: 2}}, labelling.Categories: {{Value: "bird", Count: 1}}},
			Applied:  []string{"known"},
		}))
		require.NoError(t, f.Load(t.Context(), f.project, token, labelling.Part{
			Number: 2, Counts: labelling.Counts{New: 1, Finished: 1, Skipped: 5},
			Statistics: []labelling.Statistics{{Team: "t1", Finished: 1, Incorrect: 1, Users: []labelling.UserStatistics{{User: "ada", Incorrect: 1}, {User: "lin", Finished: 1}}}},
			Used:       map[labelling.Words][]labelling.Used{labelling.Keywords: {{Value: "wing", Count: 1}, {Value: "tail", Count: 1}}},
		}))
	}
	for range 2 {
		require.NoError(t, f.Commit(t.Context(), f.project, token, labelling.Settings{
			Name: "Birds", Size: 50, Paused: true, Categories: []string{"bird"}, Subcategories: []string{"owl", "crow"},
		}))
	}

	s, err := f.Snapshot(t.Context(), f.project, "ada", []string{"t1", "t2"})
	require.NoError(t, err)
	assert.Equal(t, labelling.Snapshot{
		State: labelling.State{
			Project: f.project, Counts: labelling.Counts{Total: 15, New: 5, Claimed: 2, Finished: 3, Skipped: 5}, ToReview: 3, Size: 50, Paused: true,
			Cursor: labelling.Cursor{Epoch: token, ID: s.State.Cursor.ID},
		},
		Claims: []labelling.Claim{f.claimOf("c1", "ada", "a")},
		Statistics: []labelling.Statistics{
			{Team: "t1", Type: project.Taggie, Finished: 3, Incorrect: 1, Users: []labelling.UserStatistics{{User: "ada", Finished: 2, Incorrect: 1}, {User: "lin", Finished: 1}}},
			{Team: "t2", Type: project.Reviewer},
		},
	}, s)
	top, err := f.Top(t.Context(), f.project, labelling.Keywords)
	require.NoError(t, err)
	assert.Equal(t, []labelling.Used{{Value: "wing", Count: 3}, {Value: "tail", Count: 1}}, top)
	assert.Equal(t, [2]int{3, 1}, f.toReview(t, "", "bird", "lin"))
	keywords, err := f.Keywords(t.Context(), f.project, "", 10)
	require.NoError(t, err)
	assert.Equal(t, []string{"tail", "wing"}, keywords)
	labels, err := f.Labels(t.Context(), f.project, labelling.Subcategories)
	require.NoError(t, err)
	assert.Equal(t, []string{"owl", "crow"}, labels)

	_, err = f.Read(t.Context(), f.project, old, 10, 0)
	require.ErrorIs(t, err, labelling.ErrGap)
	events, err := f.client.XRange(t.Context(), f.keysOf(f.project).events(), "-", "+").Result()
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, string(labelling.Restarted), events[0].Values["cause"])

	applied, err := f.Apply(t.Context(), labelling.Transition{ID: "known", Cause: labelling.Finished, Project: f.project, Item: "x", Status: project.Finished, User: "ada", Team: "t1"})
	require.NoError(t, err)
	assert.False(t, applied, "the rebuild contains it")
	added, _, err := f.Fill(t.Context(), f.project, []string{"c1", "r1", "n1"}, 10)
	require.NoError(t, err)
	assert.Equal(t, 1, added, "c1 is claimed and r1 kept for its author")
	_, err = f.Resume(t.Context(), f.project, "boss")
	require.NoError(t, err)
	assert.Equal(t, []string{"r1", "n1"}, names(f.reserve(t, "lin", 3)))
	lapsed, err := f.Expired(t.Context(), f.project, 10)
	require.NoError(t, err)
	assert.Len(t, lapsed, 2, "of the morning")
	f.must(t, f.ended(f.claimOf("c1", "ada", "a"), labelling.Finished, project.Finished))
	assert.Equal(t, labelling.Counts{Total: 15, New: 5, Claimed: 1, Finished: 4, Skipped: 5}, f.state(t).Counts)

	for _, key := range f.keys(t) {
		assert.NotContains(t, key, token, "nothing staged is left")
		assert.NotContains(t, key, ":rebuild:")
	}
}

// keys returns all keys in Redis.
func (f *fixture) keys(t *testing.T) []string {
	t.Helper()
	return keysIn(t, f.client)
}

func testRebuildOnce(t *testing.T, f *fixture) {
	f.flush(t)
	first, second := uuid.NewString(), uuid.NewString()
	began, err := f.Begin(t.Context(), f.project, first, false)
	require.NoError(t, err)
	require.True(t, began)
	_, err = f.Begin(t.Context(), f.project, second, true)
	require.ErrorIs(t, err, labelling.ErrRebuilding)
	require.NoError(t, f.Load(t.Context(), f.project, first, labelling.Part{Counts: labelling.Counts{New: 100}}))

	// The first one hangs until its lease is over, and another takes over.
	require.NoError(t, f.client.Del(t.Context(), f.keysOf(f.project).rebuild()).Err())
	began, err = f.Begin(t.Context(), f.project, second, false)
	require.NoError(t, err)
	require.True(t, began)
	require.ErrorIs(t, f.Load(t.Context(), f.project, first, labelling.Part{Number: 1}), labelling.ErrRebuilding)
	require.ErrorIs(t, f.Commit(t.Context(), f.project, first, labelling.Settings{}), labelling.ErrRebuilding)
	require.NoError(t, f.Abort(t.Context(), f.project, first))
	require.NoError(t, f.Load(t.Context(), f.project, second, labelling.Part{Counts: labelling.Counts{New: 1}, Statistics: []labelling.Statistics{{Team: "t"}}}))
	require.NoError(t, f.Commit(t.Context(), f.project, second, labelling.Settings{}))
	assert.Equal(t, labelling.Counts{Total: 1, New: 1}, f.state(t).Counts, "nothing of the first one")

	began, err = f.Begin(t.Context(), f.project, uuid.NewString(), false)
	require.NoError(t, err)
	assert.False(t, began, "it is ready")

	third := uuid.NewString()
	_, err = f.Begin(t.Context(), f.project, third, true)
	require.NoError(t, err)
	require.NoError(t, f.Load(t.Context(), f.project, third, labelling.Part{
		Counts: labelling.Counts{New: 1}, Claims: []labelling.Claim{f.claimOf("c", "ada", "a")}, Statistics: []labelling.Statistics{{Team: "t"}},
	}))
	require.NoError(t, f.Abort(t.Context(), f.project, third))
	_, err = f.State(t.Context(), f.project)
	require.ErrorIs(t, err, labelling.ErrNotReady)
	for _, key := range f.keys(t) {
		assert.NotContains(t, key, third)
	}
	f.ready(t)
	assert.Equal(t, labelling.Counts{}, f.state(t).Counts)

	// Redis is emptied in between: what is left of the parts must not pass for the whole.
	fourth := uuid.NewString()
	_, err = f.Begin(t.Context(), f.project, fourth, true)
	require.NoError(t, err)
	require.NoError(t, f.Load(t.Context(), f.project, fourth, labelling.Part{Counts: labelling.Counts{New: 1}}))
	f.flush(t)
	require.ErrorIs(t, f.Load(t.Context(), f.project, fourth, labelling.Part{Number: 1}), labelling.ErrRebuilding)
	require.ErrorIs(t, f.Commit(t.Context(), f.project, fourth, labelling.Settings{}), labelling.ErrRebuilding)
	assert.Empty(t, f.keys(t))
}

func testRebuildWhileTransitionsCome(t *testing.T, f *fixture) {
	f.items(t, 4)
	claims := f.claim(t, "ada", 2)     // i0 i1
	reserved := f.reserve(t, "ada", 2) // i2 i3
	finish := f.ended(claims[0], labelling.Finished, project.Finished)
	f.must(t, finish)

	// The truth as a rebuild reads it: i0 finished, i1 claimed, i2 claimed a moment ago, i3 not yet.
	reserved[0].Until, reserved[1].Until = claims[1].Until, claims[1].Until
	f.ready(t, labelling.Part{
		Counts: labelling.Counts{New: 1, Finished: 1}, Claims: []labelling.Claim{claims[1], reserved[0]},
		Statistics: []labelling.Statistics{{Team: "t1", Finished: 1, Users: []labelling.UserStatistics{{User: "ada", Finished: 1}}}},
		Applied:    []string{"another"},
	})
	assert.Equal(t, labelling.Counts{Total: 4, New: 1, Claimed: 2, Finished: 1}, f.state(t).Counts)
	for _, late := range []labelling.Transition{finish, f.claimed(claims[1]), f.claimed(reserved[0]), f.claimed(reserved[1])} {
		_, err := f.Apply(t.Context(), late)
		require.NoError(t, err)
	}
	assert.Equal(t, labelling.Counts{Total: 4, Claimed: 3, Finished: 1}, f.state(t).Counts)
	for _, c := range []labelling.Claim{claims[1], reserved[0], reserved[1]} {
		f.must(t, f.ended(c, labelling.Finished, project.Finished))
	}
	assert.Equal(t, labelling.Counts{Total: 4, Finished: 4}, f.state(t).Counts)
	statistics, err := f.StatisticsOf(t.Context(), f.project, []string{"t1"})
	require.NoError(t, err)
	assert.Equal(t, 4, statistics[0].Finished)
}

// calls are all operations on a project that has to be ready.
func calls(f *fixture, n int) map[string]func(context.Context) error {
	c := f.claimOf("i0", "ada", fmt.Sprint("token ", n))
	tell := func(_ any, err error) error { return err }
	return map[string]func(context.Context) error{
		"Reserve":    func(ctx context.Context) error { return tell(f.Reserve(ctx, f.project, "ada", []string{c.Token})) },
		"Cancel":     func(ctx context.Context) error { return tell(f.Cancel(ctx, c, true)) },
		"Apply":      func(ctx context.Context) error { return tell(f.Apply(ctx, f.claimed(c))) },
		"Extend":     func(ctx context.Context) error { return tell(f.Extend(ctx, c, "t1")) },
		"Expired":    func(ctx context.Context) error { return tell(f.Expired(ctx, f.project, 1)) },
		"Claims":     func(ctx context.Context) error { return tell(f.Claims(ctx, f.project, "ada")) },
		"State":      func(ctx context.Context) error { return tell(f.State(ctx, f.project)) },
		"Snapshot":   func(ctx context.Context) error { return tell(f.Snapshot(ctx, f.project, "ada", []string{"t1"})) },
		"Statistics": func(ctx context.Context) error { return tell(f.StatisticsOf(ctx, f.project, []string{"t1"})) },
		"Fill":       func(ctx context.Context) error { _, _, err := f.Fill(ctx, f.project, []string{"i0"}, 9); return err },
		"Need":       func(ctx context.Context) error { return tell(f.Need(ctx, f.project, 9)) },
		"Pause":      func(ctx context.Context) error { return tell(f.Pause(ctx, f.project, "boss")) },
		"Resume":     func(ctx context.Context) error { return tell(f.Resume(ctx, f.project, "boss")) },
		"SetSettings": func(ctx context.Context) error {
			return f.SetSettings(ctx, f.project, labelling.Settings{Categories: []string{"c"}, Teams: []project.Team{{TeamID: project.TeamID{ID: "t:1"}}}}, "boss")
		},
		"ToReview": func(ctx context.Context) error {
			_, _, err := f.ToReview(ctx, f.project, "ada", "c", "lin")
			return err
		},
		"LeaseReviews": func(ctx context.Context) error {
			return tell(f.LeaseReviews(ctx, f.project, "ada", 1, time.Minute, nil, []string{"e"}))
		},
		"Top":      func(ctx context.Context) error { return tell(f.Top(ctx, f.project, labelling.Keywords)) },
		"Keywords": func(ctx context.Context) error { return tell(f.Keywords(ctx, f.project, "w", 9)) },
		"Labels":   func(ctx context.Context) error { return tell(f.Labels(ctx, f.project, labelling.Categories)) },
		"Read": func(ctx context.Context) error {
			return tell(f.Read(ctx, f.project, labelling.Cursor{Epoch: "e", ID: "1-1"}, 9, 0))
		},
		"Note": func(ctx context.Context) error {
			return tell(f.Note(ctx, f.project, c.Token+"n", labelling.Event{Cause: labelling.Members}))
		},
		"Fits":     func(ctx context.Context) error { _, _, err := f.Fits(ctx, f.project, labelling.Cursor{}); return err },
		"Whole":    func(ctx context.Context) error { return tell(f.Whole(ctx, f.project)) },
		"AddItems": func(ctx context.Context) error { return tell(f.AddItems(ctx, f.project, c.Token+"i", 1, "boss")) },
	}
}

func testNotReady(t *testing.T, f *fixture) {
	f.flush(t)
	for name, call := range calls(f, 0) {
		err := call(t.Context())
		assert.ErrorIs(t, err, labelling.ErrNotReady, name)
		assert.True(t, fault.Is(err, fault.Unavailable), name)
	}
	assert.Empty(t, f.keys(t), "and nothing is written")
}

// testFlushed empties Redis while everything is going on: an answer is right or ErrNotReady, and nothing comes to life by itself.
func testFlushed(t *testing.T, f *fixture) {
	for round := range 5 {
		f.ready(t)
		f.items(t, 100)
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				for i := 0; ; i++ {
					for name, call := range calls(f, round*1e6+n*1e5+i) {
						err := call(t.Context())
						if errors.Is(err, labelling.ErrNotReady) {
							return
						}
						if !errors.Is(err, labelling.ErrPaused) && !errors.Is(err, labelling.ErrFull) && !errors.Is(err, labelling.ErrGap) {
							assert.NoError(t, err, name)
						}
					}
				}
			})
		}
		f.flush(t)
		all.Wait()
		assert.Empty(t, f.keys(t))
	}
}
