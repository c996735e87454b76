package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// removal is how an item is removed that was in a status; author is who had it, or for whom it is kept.
func (f *fixture) removal(item string, was project.Status, author labelling.UserID, token string, efforts ...labelling.CountedEffort) labelling.Transition {
	return labelling.Transition{
		ID: f.id(), Cause: labelling.Removed, Project: f.project, Item: item, From: was, Status: project.Removed, User: "boss", Team: "t2",
		Author: author, Token: token, Efforts: efforts, At: time.UnixMilli(1e12),
	}
}

// back is how it comes back.
func (f *fixture) back(r labelling.Transition) labelling.Transition {
	r.ID, r.Cause, r.From, r.Status, r.Token = f.id(), labelling.Restored, r.Status, r.From, ""
	return r
}

// testRemoved removes an item of each status, and brings all back: nothing is left of them in between, and everything is as it was then.
func testRemoved(t *testing.T, f *fixture) {
	f.items(t, 6)
	claims := f.claim(t, "ada", 4)
	found := labelling.CountedEffort{User: "ada", Team: "t1", Category: "bird", Subcategory: "owl", Keywords: []string{"wing", "beak"}}
	finish := func(c labelling.Claim) {
		done := f.ended(c, labelling.Finished, project.Finished)
		done.Category, done.Subcategory, done.Keywords = found.Category, found.Subcategory, found.Keywords
		f.must(t, done)
	}
	finish(claims[0])
	finish(claims[1])
	incorrect := found
	incorrect.Incorrect = true
	f.must(t, f.after("i1", labelling.Reviewed, "ada"))
	f.must(t, f.ended(claims[2], labelling.Skipped, project.Skipped))
	before := f.looks(t)
	require.Equal(t, labelling.Counts{Total: 6, New: 3, Claimed: 1, Finished: 1, Skipped: 1}, before.state.Counts)

	all := []labelling.Transition{
		f.removal("i0", project.Finished, "", "", found), f.removal("i1", project.New, "ada", "", incorrect), f.removal("i2", project.Skipped, "", ""),
		f.removal("i3", project.New, "ada", claims[3].Token), f.removal("i4", project.New, "", ""),
	}
	cursor := before.state.Cursor
	for _, r := range all {
		f.must(t, r)
	}
	for _, r := range all {
		applied, err := f.Apply(t.Context(), r)
		require.NoError(t, err)
		assert.False(t, applied, "once")
	}
	now := f.looks(t)
	assert.Equal(t, labelling.Counts{Total: 1, New: 1}, now.state.Counts)
	assert.Equal(t, []string{"i5"}, f.waiting(t))
	assert.Empty(t, now.claims)
	assert.Empty(t, now.used)
	assert.Equal(t, []int{0, 0}, []int{now.statistics[0].Finished, now.statistics[0].Incorrect})
	events, err := f.Read(t.Context(), f.project, cursor, 100, 0)
	require.NoError(t, err)
	require.Len(t, events, len(all))
	for n, e := range events {
		assert.Equal(t, []any{labelling.Removed, all[n].Item, labelling.UserID("boss"), all[n].Author, project.Removed}, []any{e.Cause, e.Item, e.User, e.Author, e.Status})
		assert.Equal(t, 6-n-1, e.Counts.Total)
	}
	// A claim that is acknowledged late changes nothing.
	late := f.claimed(claims[3])
	late.ID += "/0"
	_, err = f.Apply(t.Context(), late)
	require.NoError(t, err)
	assert.Equal(t, now.state.Counts, f.state(t).Counts)
	assert.Equal(t, []string{"i5"}, names(f.reserve(t, "grace", 6)), "nobody gets what is removed")

	for _, r := range all {
		f.must(t, f.back(r))
	}
	again := f.looks(t)
	assert.Equal(t, labelling.Counts{Total: 6, New: 4, Finished: 1, Skipped: 1}, again.state.Counts, "who had one has it no more")
	assert.Empty(t, again.claims)
	assert.Equal(t, before.used, again.used)
	assert.Equal(t, before.statistics, again.statistics)
	assert.Equal(t, []string{"i4"}, names(f.reserve(t, "grace", 6)), "the others are kept")
	assert.ElementsMatch(t, []string{"i1", "i3"}, names(f.reserve(t, "ada", 6)), "for whom they came back")
}

// testRemovedInSteps removes an item that members of many teams have worked on, more often than one step takes.
func testRemovedInSteps(t *testing.T, f *fixture) {
	f.ready(t, labelling.Part{
		Counts: labelling.Counts{Finished: 1},
		Statistics: []labelling.Statistics{
			{Team: "t1", Finished: 3, Incorrect: 1, Users: []labelling.UserStatistics{{User: "ada", Finished: 2, Incorrect: 1}, {User: "grace", Finished: 1}}},
			{Team: "t3", Finished: 1, Users: []labelling.UserStatistics{{User: "eve", Finished: 1}}},
		},
		Used: map[labelling.Words][]labelling.Used{labelling.Keywords: {{Value: "wing", Count: 4}}, labelling.Categories: {{Value: "bird", Count: 4}}},
	})
	before := f.looks(t)
	effort := func(u labelling.UserID, team string, incorrect bool) labelling.CountedEffort {
		return labelling.CountedEffort{User: u, Team: team, Category: "bird", Keywords: []string{"wing"}, Incorrect: incorrect}
	}
	first := f.removal("i0", project.Finished, "", "", effort("ada", "t1", true), effort("eve", "t3", false))
	second := f.removal("i0", project.Removed, "", "", effort("grace", "t1", false), effort("ada", "t1", false))
	f.must(t, first)
	half := f.looks(t)
	assert.Equal(t, labelling.Counts{}, half.state.Counts)
	assert.Equal(t, []int{2, 0, 0}, []int{half.statistics[0].Finished, half.statistics[0].Incorrect, half.statistics[2].Finished})
	assert.Equal(t, 2, half.used["wing"])
	f.must(t, second)
	assert.Equal(t, 0, f.looks(t).statistics[0].Finished)
	assert.Empty(t, f.looks(t).used)

	back := f.back(second) // its efforts first, while the item stays removed
	require.Equal(t, back.From, back.Status)
	f.must(t, back)
	assert.Equal(t, []any{labelling.Counts{}, half.used, half.statistics}, []any{f.state(t).Counts, f.looks(t).used, f.looks(t).statistics})
	f.must(t, f.back(first))
	after := f.looks(t)
	assert.Equal(t, []any{before.state.Counts, before.used, before.statistics}, []any{after.state.Counts, after.used, after.statistics})
}

// look is what a project looks like.
type look struct {
	state      labelling.State
	claims     []string // of ada
	used       map[string]int
	statistics []labelling.Statistics
}

func (f *fixture) looks(t *testing.T) look {
	t.Helper()
	l := look{state: f.state(t), used: map[string]int{}}
	claims, err := f.Claims(t.Context(), f.project, "ada")
	require.NoError(t, err)
	l.claims = names(claims)
	for _, w := range words {
		used, err := f.Top(t.Context(), f.project, w)
		require.NoError(t, err)
		for _, u := range used {
			l.used[u.Value] = u.Count
		}
	}
	l.statistics, err = f.StatisticsOf(t.Context(), f.project, []string{"t1", "t2", "t3"})
	require.NoError(t, err)
	return l
}
