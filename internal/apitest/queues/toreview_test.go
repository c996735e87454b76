package queues

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/project"
)

const toReview = `query($p: ID!, $a: ID, $c: ID, $n: Int, $after: Cursor, $last: Int, $before: Cursor) { project(id: $p) { toReviewCount(authorId: $a, categoryId: $c)
	toReview(authorId: $a, categoryId: $c, first: $n, after: $after, last: $last, before: $before) { nodes { id user { id } category { id } item { id name } version } pageInfo { hasNextPage endCursor } } } }`

// reviewing is a project in which three labellers have finished 12 items, four of them as the second category.
func reviewing(t *testing.T) (s *apitest.Server, l apitest.Crew, efforts map[string][]string) {
	t.Helper()
	s = apitest.NewServer(t)
	l = s.Labelled(14, 0)
	efforts = map[string][]string{}
	for _, who := range l.Labellers[:3] {
		for n, h := range l.Claimed(who, 4) {
			more := apitest.Vars{"categoryId": l.Categories[0]}
			if n == 0 || who == l.Labellers[2] && n == 1 {
				more["categoryId"] = l.Categories[1]
			}
			efforts[who.ID] = append(efforts[who.ID], l.Finished(who, h, more))
		}
	}
	s.Works()
	l.Counts("2 0 12 0")
	return s, l, efforts
}

func effortsOf(nodes []any) []string {
	ids := make([]string, len(nodes))
	for n := range nodes {
		ids[n] = nodes[n].(map[string]any)["id"].(string)
	}
	return ids
}

func TestReviewersListWhatToReview(t *testing.T) {
	_, l, efforts := reviewing(t)
	rev, ada := l.Reviewer(), l.Labellers[0]
	all := slices.Concat(efforts[ada.ID], efforts[l.Labellers[1].ID], efforts[l.Labellers[2].ID])
	listed := func(who *apitest.Client, vars apitest.Vars) (ids []string, count int) {
		t.Helper()
		vars["p"], vars["n"] = l.ID, 5
		for {
			a := who.Must(toReview, vars)
			ids = append(ids, effortsOf(a.List("project.toReview.nodes"))...)
			if vars["after"] = a.At("project.toReview.pageInfo.endCursor"); a.At("project.toReview.pageInfo.hasNextPage") != true {
				return ids, int(a.At("project.toReviewCount").(float64))
			}
		}
	}
	ids, count := listed(rev, apitest.Vars{})
	assert.ElementsMatch(t, all, ids)
	assert.Equal(t, 12, count)
	ids, count = listed(rev, apitest.Vars{"a": ada.ID})
	assert.Equal(t, efforts[ada.ID], ids, "the oldest first")
	assert.Equal(t, 4, count)
	ids, count = listed(rev, apitest.Vars{"c": l.Categories[1]})
	assert.ElementsMatch(t, []string{efforts[ada.ID][0], efforts[l.Labellers[1].ID][0], efforts[l.Labellers[2].ID][0], efforts[l.Labellers[2].ID][1]}, ids)
	assert.Equal(t, 4, count)
	ids, count = listed(rev, apitest.Vars{"a": l.Labellers[2].ID, "c": l.Categories[1]})
	assert.Equal(t, efforts[l.Labellers[2].ID][:2], ids)
	assert.Equal(t, 2, count)

	// What is reviewed, or taken back, awaits no review any more, and one's own is for others.
	rev.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": efforts[ada.ID][0], "verdict": "CORRECT"})
	rev.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": efforts[ada.ID][1], "verdict": "INCORRECT"})
	ada.Mutate("undoFinish", "effort { id }", apitest.Vars{"effortId": efforts[ada.ID][2]})
	l.Mutate("putProjectMember", "member { type }", apitest.Vars{"teamId": l.Team, "userId": ada.ID})
	own := l.Finished(rev, l.Claimed(rev, 1)[0])
	l.Counts("2 1 11 0")
	ids, count = listed(rev, apitest.Vars{})
	assert.ElementsMatch(t, all[3:], ids)
	assert.Equal(t, 9, count)
	ids, count = listed(rev, apitest.Vars{"a": rev.ID})
	assert.Empty(t, ids)
	assert.Zero(t, count)
	ids, count = listed(l.Client, apitest.Vars{})
	assert.ElementsMatch(t, append(all[3:len(all):len(all)], own), ids)
	assert.Equal(t, 10, count)
	assert.InDelta(t, 10, l.Must(`query($p: ID!) { project(id: $p) { queue { toReview } } }`, apitest.Vars{"p": l.ID}).At("project.queue.toReview"), 0)
}

func TestLabellersDoNotSeeWhatIsToReview(t *testing.T) {
	s, l, _ := reviewing(t)
	a := l.Labellers[0].Do(`query($p: ID!) { project(id: $p) { name toReviewCount toReview(first: 1) { nodes { id } } } }`, apitest.Vars{"p": l.ID})
	require.Len(t, a.Errors, 2)
	for _, e := range a.Errors {
		assert.Equal(t, "FORBIDDEN", e.Extensions.Code)
	}
	l.Labellers[0].Mutate("claimReviews", "efforts { id }", apitest.Vars{"projectId": l.ID}).Fails("FORBIDDEN", "")
	s.User("stranger@example.org").Mutate("claimReviews", "efforts { id }", apitest.Vars{"projectId": l.ID}).Fails("NOT_FOUND", "")
}

func TestReviewersGetDifferentEfforts(t *testing.T) {
	_, l, efforts := reviewing(t)
	rev, other := l.Reviewer(), l.Client
	claim := func(who *apitest.Client, count int, more ...apitest.Vars) []string {
		t.Helper()
		a := who.Mutate("claimReviews", "efforts { id version item { name } } until", apitest.Changed(apitest.Vars{"projectId": l.ID, "count": count}, append(more, apitest.Vars{})[0]))
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.WithinDuration(t, time.Now().Add(project.UsualLease*time.Minute), a.Time("result.until"), time.Minute)
		return effortsOf(a.List("result.efforts"))
	}
	first := claim(rev, 5)
	assert.Len(t, first, 5)
	assert.ElementsMatch(t, first, claim(rev, 5), "the same again")
	assert.ElementsMatch(t, first, claim(rev, 5, apitest.Vars{"idempotencyKey": strings.Repeat("k", 255)}))
	second := claim(other, 50)
	assert.Len(t, second, 7, "all that nobody has")
	assert.Empty(t, slices.DeleteFunc(slices.Clone(second), func(id string) bool { return !slices.Contains(first, id) }))

	// What is reviewed makes room for another one, and what is not wanted any more is free.
	rev.Mutate("reviewEffort", "effort { id }", apitest.Vars{"effortId": first[0], "verdict": "CORRECT"})
	assert.ElementsMatch(t, first[1:], claim(rev, 5), "nothing else is free")
	assert.Len(t, claim(other, 1), 1)
	assert.Len(t, claim(rev, 10), 10)
	ada := l.Labellers[0].ID
	got := claim(rev, 50, apitest.Vars{"authorId": ada})
	for _, id := range got {
		assert.Contains(t, efforts[ada], id)
	}
	assert.Empty(t, claim(rev, 50, apitest.Vars{"authorId": rev.ID}), "one's own is for others")
	got = claim(rev, 50, apitest.Vars{"authorId": l.Labellers[2].ID, "categoryId": l.Categories[1]})
	for _, id := range got {
		assert.Contains(t, efforts[l.Labellers[2].ID][:2], id)
	}
}

func TestReviewsCostTheLowerBound(t *testing.T) {
	s := apitest.NewServer(t)
	l := s.Labelled(30, 0)
	ada, rev := l.Labellers[0], l.Reviewer()
	for _, h := range l.Claimed(ada, 30) {
		l.Finished(ada, h)
	}
	rests := s.Works()
	l.Counts("0 0 30 0")
	rests()
	c := rev.Measure(`query($p: ID!, $a: ID) { project(id: $p) { toReview(authorId: $a, first: 20) { nodes { finishedAt item { name } user { id } } } } }`, apitest.Vars{"p": l.ID, "a": ada.ID})
	assert.Len(t, c.List("project.toReview.nodes"), 20)
	assert.Equal(t, map[string]int{"BatchGetItem": 3, "Query": 1}, c.Operations(), "of an author: the project, the list, the efforts and their items")
	c = rev.Measure(`query($p: ID!) { project(id: $p) { toReview(first: 20) { nodes { finishedAt item { name } user { id } } } } }`, apitest.Vars{"p": l.ID})
	assert.Len(t, c.List("project.toReview.nodes"), 20)
	assert.LessOrEqual(t, c.Operations()["Query"], 4, "at most one per shard, side by side")
	c = rev.Measure(`mutation($p: ID!, $a: ID) { claimReviews(input: {projectId: $p, authorId: $a}) { efforts { id } } }`, apitest.Vars{"p": l.ID, "a": ada.ID})
	assert.Len(t, c.List("claimReviews.efforts"), 10)
	assert.Equal(t, map[string]int{"BatchGetItem": 2, "Query": 1}, c.Operations())
	c = rev.Measure(`mutation($p: ID!) { claimReviews(input: {projectId: $p}) { efforts { id } } }`, apitest.Vars{"p": l.ID})
	assert.Len(t, c.List("claimReviews.efforts"), 10)
	assert.Equal(t, map[string]int{"BatchGetItem": 2}, c.Operations(), "the project, and those that the reviewer has")
}

func TestAProjectSaysWhatAwaitsAReview(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(12, 0)
	ada, rev := l.Labellers[0], l.Reviewer()
	sets := func(percent, days int) {
		t.Helper()
		a := l.Mutate("updateProject", "project { reviewPercent newcomerDays version }", apitest.Vars{"projectId": l.ID, "reviewPercent": percent, "newcomerDays": days})
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, []any{float64(percent), float64(days)}, []any{a.At("result.project.reviewPercent"), a.At("result.project.newcomerDays")})
	}
	finishes := func(held []apitest.Held, counts string, awaiting int) (efforts []string) {
		t.Helper()
		for _, h := range held {
			efforts = append(efforts, l.Finished(ada, h))
		}
		l.Counts(counts)
		a := rev.Must(toReview, apitest.Vars{"p": l.ID})
		assert.InDelta(t, awaiting, a.At("project.toReviewCount"), 0)
		assert.Len(t, a.List("project.toReview.nodes"), awaiting)
		return efforts
	}
	before := l.Claimed(ada, 2)
	sets(0, 0)
	plain := finishes(l.Claimed(ada, 3), "7 2 3 0", 0)
	finishes(before, "7 0 5 0", 2) // as it was when they were claimed
	sets(0, 1)
	finishes(l.Claimed(ada, 2), "5 0 7 0", 4) // by somebody who is new

	// What awaits no review can be reviewed, which changes no number of what does.
	a := rev.Mutate("reviewEffort", "effort { review { verdict } }", apitest.Vars{"effortId": plain[0], "verdict": "CORRECT"})
	assert.Equal(t, "CORRECT", a.Str("result.effort.review.verdict"))
	a = rev.Mutate("reviewEffort", "item { status }", apitest.Vars{"effortId": plain[1], "verdict": "INCORRECT"})
	assert.Equal(t, "NEW", a.Str("result.item.status"))
	sets(100, 0)
	finishes(l.Claimed(ada, 1), "5 0 7 0", 5)
}
