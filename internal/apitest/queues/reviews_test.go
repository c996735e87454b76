package queues

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const reviewShown = `effort { id user { id } review { verdict comment by { id name } at } } item { id status returnedTo { id } version } problem { __typename ... on Problem { message } }`

func TestWhatIsFoundIncorrectReturnsToItsAuthor(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(2, 0)
	ada, bob, rev := l.Labellers[0], l.Labellers[1], l.Reviewer()
	h := l.Claimed(ada, 1)[0]
	effort := l.Finished(ada, h, apitest.Vars{"keywords": []string{"k"}})
	l.Counts("1 0 1 0")
	comment := " " + strings.Repeat("é", 1_990) + "\n\t日本 "
	a := rev.Mutate("reviewEffort", reviewShown, apitest.Vars{"effortId": effort, "verdict": "INCORRECT", "comment": comment})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Nil(t, a.At("result.problem"))
	assert.Equal(t, "INCORRECT", a.Str("result.effort.review.verdict"))
	assert.Equal(t, strings.TrimSpace(comment), a.Str("result.effort.review.comment"))
	assert.Equal(t, rev.ID, a.Str("result.effort.review.by.id"))
	assert.NotEmpty(t, a.Time("result.effort.review.at"))
	assert.Equal(t, "NEW", a.Str("result.item.status"))
	assert.Equal(t, ada.ID, a.Str("result.item.returnedTo.id"))
	l.Counts("2 0 0 0")

	// It is kept for its author, who gets it before anything else.
	assert.NotEqual(t, h.ID, l.Claimed(bob, 1)[0].ID)
	assert.Empty(t, l.ClaimedUpTo(bob, 1))
	back := l.Claimed(ada, 1)[0]
	assert.Equal(t, h.ID, back.ID)
	i := ada.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { status returnedTo { id } category { name } keywords efforts { nodes { id review { verdict comment by { id } } } } } } }`, apitest.Vars{"i": h.ID})
	assert.Equal(t, "CLAIMED", i.Str("node.status"))
	assert.Nil(t, i.At("node.returnedTo"))
	review := i.List("node.efforts.nodes")[0].(map[string]any)["review"].(map[string]any)
	assert.Equal(t, strings.TrimSpace(comment), review["comment"], "its author is told why")

	second := l.Finished(ada, back, apitest.Vars{"categoryId": l.Categories[1]})
	l.Counts("0 1 1 0")
	a = rev.Mutate("reviewEffort", reviewShown, apitest.Vars{"effortId": effort, "verdict": "INCORRECT", "comment": "still"})
	assert.Equal(t, "FINISHED still", a.Str("result.item.status")+" "+a.Str("result.effort.review.comment"), "the item was finished again meanwhile")
	assert.Nil(t, a.At("result.item.returnedTo"))
	a = rev.Mutate("reviewEffort", reviewShown, apitest.Vars{"effortId": second, "verdict": "CORRECT"})
	assert.Equal(t, "FINISHED CORRECT ", a.Str("result.item.status")+" "+a.Str("result.effort.review.verdict")+" "+a.Str("result.effort.review.comment"))
	l.Counts("0 1 1 0")
}

func TestALaterReviewTakesThePlaceOfTheEarlierOne(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(1, 0)
	ada, rev := l.Labellers[0], l.Reviewer()
	h := l.Claimed(ada, 1)[0]
	effort := l.Finished(ada, h)
	reviews := func(who *apitest.Client, verdict, status, counts string) {
		t.Helper()
		a := who.Mutate("reviewEffort", reviewShown, apitest.Vars{"effortId": effort, "verdict": verdict})
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, verdict+" "+status, a.Str("result.effort.review.verdict")+" "+a.Str("result.item.status"))
		assert.Equal(t, who.ID, a.Str("result.effort.review.by.id"))
		l.Counts(counts)
	}
	reviews(rev, "CORRECT", "FINISHED", "0 0 1 0")
	reviews(rev, "INCORRECT", "NEW", "1 0 0 0")
	reviews(l.Client, "CORRECT", "FINISHED", "0 0 1 0") // managers review too
	assert.Empty(t, l.ClaimedUpTo(ada, 1), "it does not come back after all")
	statistics(l, l.Team, "1 0", map[string]string{ada.ID: "1 0"})
}

// Of two reviewers who looked at the same result, the second is told who was first.
func TestReviewsOfWhatWasSeen(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(1, 0)
	ada, rev := l.Labellers[0], l.Reviewer()
	effort := l.Finished(ada, l.Claimed(ada, 1)[0])
	const shown = `effort { version } item { status } problem { __typename ... on Problem { message } ... on EffortConflict { current { version review { verdict by { id } } } } }`
	a := l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItemEffort { version } } }`, apitest.Vars{"i": effort})
	assert.InDelta(t, 1, a.At("node.version"), 0)
	a = rev.Mutate("reviewEffort", shown, apitest.Vars{"effortId": effort, "verdict": "CORRECT", "expectedVersion": 1})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.InDelta(t, 2, a.At("result.effort.version"), 0)
	a = l.Mutate("reviewEffort", shown, apitest.Vars{"effortId": effort, "verdict": "INCORRECT", "expectedVersion": 1})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, "EffortConflict", a.Str("result.problem.__typename"))
	assert.Contains(t, a.Str("result.problem.message"), "correct")
	assert.InDelta(t, 2, a.At("result.problem.current.version"), 0)
	assert.Equal(t, "CORRECT "+rev.ID, a.Str("result.problem.current.review.verdict")+" "+a.Str("result.problem.current.review.by.id"))
	assert.Nil(t, a.At("result.item"))
	l.Counts("0 0 1 0")
	a = l.Mutate("reviewEffort", shown, apitest.Vars{"effortId": effort, "verdict": "INCORRECT", "expectedVersion": 2})
	require.Empty(t, a.Errors, "%s", a.Body)
	l.Counts("1 0 0 0")
}

func TestWhoReviewsWhat(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(3, 0)
	ada, bob, rev := l.Labellers[0], l.Labellers[1], l.Reviewer()
	h := l.Claimed(ada, 1)[0]
	effort := l.Finished(ada, h)
	for _, verdict := range []string{"CORRECT", "INCORRECT"} {
		bob.Mutate("reviewEffort", reviewShown, apitest.Vars{"effortId": effort, "verdict": verdict}).Fails("FORBIDDEN", "")
		ada.Mutate("reviewEffort", reviewShown, apitest.Vars{"effortId": effort, "verdict": verdict}).Fails("FORBIDDEN", "")
	}
	own := l.Finished(rev, l.Claimed(rev, 1)[0])
	a := rev.Mutate("reviewEffort", reviewShown, apitest.Vars{"effortId": own, "verdict": "CORRECT"})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, "OwnEffort", a.Str("result.problem.__typename"))
	assert.NotEmpty(t, a.Str("result.problem.message"))
	assert.Nil(t, a.At("result.effort"))
	assert.Nil(t, a.At("result.item"))

	ada.Mutate("undoFinish", "item { id }", apitest.Vars{"effortId": effort})
	a = rev.Mutate("reviewEffort", reviewShown, apitest.Vars{"effortId": effort, "verdict": "INCORRECT"})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, "EffortUndone", a.Str("result.problem.__typename"))
	l.Counts("1 1 1 0")
	a = l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItemEffort { review { verdict } } } }`, apitest.Vars{"i": own})
	assert.Nil(t, a.At("node.review"), "nothing was changed")
}

func TestAReviewerCorrectsWhatIsIncorrect(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(3, 0)
	ada, rev := l.Labellers[0], l.Reviewer()
	reviewers := rev.Must(`query($p: ID!) { project(id: $p) { viewerMember { team { id } } } }`, apitest.Vars{"p": l.ID}).Str("project.viewerMember.team.id")
	held := l.Claimed(ada, 2)
	effort := l.Finished(ada, held[0], apitest.Vars{"categoryId": l.Categories[0], "keywords": []string{"fog"}})
	const shown = `effort { id review { verdict comment } } item { id status returnedTo { id } category { name } subcategory { name } keywords efforts(first: 5) { nodes { user { id } keywords review { verdict } } } }
		problem { __typename ... on ProjectItemConflict { current { status } } }`
	correction := apitest.Vars{"categoryId": l.Categories[1], "subcategoryId": l.Subcategories[0], "keywords": []string{"Pier"}}
	in := apitest.Vars{"effortId": effort, "verdict": "INCORRECT", "comment": "a goose", "correction": correction}
	a := rev.Mutate("reviewEffort", shown, in)
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, "FINISHED", a.Str("result.item.status"))
	assert.Nil(t, a.At("result.item.returnedTo"))
	assert.Equal(t, []any{"Pier"}, a.At("result.item.keywords"))
	nodes := a.List("result.item.efforts.nodes")
	require.Len(t, nodes, 2)
	assert.Equal(t, rev.ID, nodes[0].(map[string]any)["user"].(map[string]any)["id"])
	assert.Equal(t, ada.ID, nodes[1].(map[string]any)["user"].(map[string]any)["id"])
	l.Counts("1 1 1 0")
	statistics(l, l.Team, "1 1", map[string]string{ada.ID: "1 1"})
	statistics(l, reviewers, "1 0", map[string]string{rev.ID: "1 0"})
	tops(l, "fog 1, Pier 1", "Duck 1, Goose 1", "Wild 1")
	a = l.Mutate("rebuildProjectQueue", "project { id } problem { __typename }", apitest.Vars{"projectId": l.ID})
	require.Nil(t, a.At("result.problem"), "%s", a.Body)
	statistics(l, reviewers, "1 0", map[string]string{rev.ID: "1 0"})
	tops(l, "fog 1, Pier 1", "Duck 1, Goose 1", "Wild 1")

	// Who corrects knows what the item is by now.
	a = l.Mutate("reviewEffort", shown, in)
	assert.Equal(t, "ProjectItemConflict", a.Str("result.problem.__typename"))
	assert.Equal(t, "FINISHED", a.Str("result.problem.current.status"))
	for name, of := range map[string]struct {
		change apitest.Vars
		field  string
	}{
		"a correction of what is correct": {apitest.Vars{"verdict": "CORRECT"}, "input.correction"},
		"no category":                     {apitest.Vars{"correction": apitest.Vars{"categoryId": l.Subcategories[0]}}, "input.correction.categoryId"},
		"another project's category":      {apitest.Vars{"correction": apitest.Vars{"categoryId": apitest.GIDOf("Category", "other", "c")}}, "input.correction.categoryId"},
		"no subcategory":                  {apitest.Vars{"correction": apitest.Vars{"categoryId": l.Categories[0], "subcategoryId": l.Categories[0]}}, "input.correction.subcategoryId"},
		"a subcategory that is not there": {apitest.Vars{"correction": apitest.Vars{"categoryId": l.Categories[0], "subcategoryId": apitest.GIDOf("Subcategory", string(l.Key()), "c")}}, "input.correction.subcategoryId"},
		"21 keywords":                     {apitest.Vars{"correction": apitest.Vars{"categoryId": l.Categories[0], "keywords": apitest.Numbered("k", 21)}}, "input.correction.keywords"},
	} {
		second := l.Finished(ada, held[1])
		rev.Mutate("reviewEffort", "item { id }", apitest.Changed(apitest.Changed(in, apitest.Vars{"effortId": second}), of.change)).Fails(apitest.Invalid, of.field)
		a := ada.Mutate("undoFinish", "item { id claim { token until } }", apitest.Vars{"effortId": second})
		require.Empty(t, a.Errors, "%s: %s", name, a.Body)
		held[1].Token = a.Str("result.item.claim.token")
	}
}
