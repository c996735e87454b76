package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// toReview returns how many efforts await a review, and how many of these are a user's.
func (f *fixture) toReview(t *testing.T, author labelling.UserID, category string, of labelling.UserID) [2]int {
	t.Helper()
	all, own, err := f.ToReview(t.Context(), f.project, author, category, of)
	require.NoError(t, err)
	return [2]int{all, own}
}

// testToReview counts efforts that are finished, reviewed, taken back, removed and brought back.
func testToReview(t *testing.T, f *fixture) {
	f.items(t, 6)
	claims := append(f.claim(t, "ada", 4), f.claim(t, "li:n", 2)...)
	finish := func(n int, category string, toReview int) {
		done := f.ended(claims[n], labelling.Finished, project.Finished)
		done.ToReview, done.Category = toReview, category
		f.must(t, done)
		again, err := f.Apply(t.Context(), done)
		require.NoError(t, err)
		require.False(t, again, "it counts once")
	}
	finish(0, "owl", 1)
	finish(1, "cat", 1)
	finish(2, "owl", 1)
	finish(3, "owl", 0) // nobody has to look at it
	finish(4, "owl", 1)
	finish(5, "c:t", 1)
	assert.Equal(t, 5, f.state(t).ToReview)
	for _, of := range []struct {
		author   labelling.UserID
		category string
		user     labelling.UserID
		want     [2]int
	}{
		{"", "", "ada", [2]int{5, 3}}, {"", "", "li:n", [2]int{5, 2}}, {"", "", "nobody", [2]int{5, 0}}, {"", "owl", "ada", [2]int{3, 2}}, {"", "c:t", "li:n", [2]int{1, 1}},
		{"ada", "", "li:n", [2]int{3, 0}}, {"ada", "cat", "li:n", [2]int{1, 0}}, {"li:n", "c:t", "ada", [2]int{1, 0}}, {"ada", "owl", "ada", [2]int{2, 2}}, {"nobody", "", "", [2]int{0, 0}},
	} {
		assert.Equal(t, of.want, f.toReview(t, of.author, of.category, of.user), of)
	}

	review := f.after("i0", labelling.Reviewed, "ada")
	review.ToReview, review.Category = -1, "owl"
	f.must(t, review)
	undo := f.after("i1", labelling.Undone, "ada")
	undo.ToReview, undo.Category = -1, "cat"
	f.must(t, undo)
	assert.Equal(t, [2]int{3, 1}, f.toReview(t, "", "", "ada"))
	assert.Equal(t, [2]int{0, 0}, f.toReview(t, "", "cat", "ada"))

	// The category of an effort that awaits a review, and of one that does not, is merged into another, and then another back.
	merged := f.after("i4", labelling.Relabelled, "")
	merged.Efforts = []labelling.CountedEffort{
		{User: "li:n", Team: "t1", Category: "owl", ToReview: true, Into: labelling.Labels{Category: "c:t"}}, {User: "ada", Team: "t1", Category: "owl", Into: labelling.Labels{Category: "c:t"}},
	}
	f.must(t, merged)
	again, err := f.Apply(t.Context(), merged)
	require.NoError(t, err)
	require.False(t, again, "it counts once")
	assert.Equal(t, [2]int{1, 1}, f.toReview(t, "", "owl", "ada"))
	assert.Equal(t, [2]int{2, 0}, f.toReview(t, "", "c:t", "ada"))
	back := f.after("i4", labelling.Relabelled, "")
	back.Efforts = []labelling.CountedEffort{{User: "li:n", Team: "t1", Category: "c:t", ToReview: true, Into: labelling.Labels{Category: "owl"}}}
	f.must(t, back)
	assert.Equal(t, [2]int{2, 1}, f.toReview(t, "", "owl", "ada"))
	assert.Equal(t, [2]int{3, 1}, f.toReview(t, "", "", "ada"))

	counted := labelling.CountedEffort{User: "ada", Team: "t1", Category: "owl", ToReview: true}
	f.must(t, f.removal("i2", project.Finished, "", "", counted))
	counted.ToReview = false
	f.must(t, f.removal("i3", project.Finished, "", "", counted))
	assert.Equal(t, [2]int{2, 0}, f.toReview(t, "", "", "ada"))
	assert.Equal(t, 2, f.state(t).ToReview)
}

// testLeasedReviews hands efforts to review to several reviewers.
func testLeasedReviews(t *testing.T, f *fixture) {
	lease := func(u labelling.UserID, n int, done []string, candidates ...string) []string {
		t.Helper()
		have, err := f.LeaseReviews(t.Context(), f.project, u, n, time.Minute, done, candidates)
		require.NoError(t, err)
		return have
	}
	assert.Empty(t, lease("ada", 2, nil))
	assert.Equal(t, []string{"a", "b"}, lease("ada", 2, nil, "a", "b", "c"))
	assert.Equal(t, []string{"c"}, lease("lin", 2, nil, "a", "b", "c"))
	assert.Equal(t, []string{"a", "b"}, lease("ada", 2, nil, "d"), "as many as wanted")
	assert.Equal(t, []string{"b", "d"}, lease("ada", 2, []string{"a", "c"}, "c", "d"), "only one's own is done")
	assert.Equal(t, []string{"c", "a"}, lease("lin", 2, nil, "a", "b"))
	assert.Len(t, lease("ada", 1, nil), 1, "the rest is given back")
	assert.Len(t, lease("lin", 4, nil, "b", "d"), 3)

	k := f.keysOf(f.project)
	for _, key := range []string{k.reviewing(), k.userReviews("ada")} {
		ends, err := f.client.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		assert.Positive(t, ends, key)
	}
	short := func(u labelling.UserID) []string {
		have, err := f.LeaseReviews(t.Context(), f.project, u, 1, time.Millisecond, nil, []string{"e"})
		require.NoError(t, err)
		return have
	}
	assert.Equal(t, []string{"e"}, short("max"))
	ends, err := f.client.PTTL(t.Context(), k.reviewing()).Result()
	require.NoError(t, err)
	assert.Greater(t, ends, 30*time.Second, "those that last longer go on")
	require.Eventually(t, func() bool { return len(short("eve")) == 1 }, 5*time.Second, time.Millisecond, "it ends by itself")
}
