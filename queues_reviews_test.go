package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const reviewShown = `effort { id user { id } review { verdict comment by { id name } at } } item { id status returnedTo { id } version } problem { __typename ... on Problem { message } }`

func TestWhatIsFoundIncorrectReturnsToItsAuthor(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(2, 0)
	ada, bob, rev := l.labellers[0], l.labellers[1], l.reviewer()
	h := l.claimed(ada, 1)[0]
	effort := l.finished(ada, h, vars{"keywords": []string{"k"}})
	l.counts("1 0 1 0")
	comment := " " + strings.Repeat("é", 1_990) + "\n\t日本 "
	a := rev.mutate("reviewEffort", reviewShown, vars{"effortId": effort, "verdict": "INCORRECT", "comment": comment})
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Nil(t, a.at("result.problem"))
	assert.Equal(t, "INCORRECT", a.str("result.effort.review.verdict"))
	assert.Equal(t, strings.TrimSpace(comment), a.str("result.effort.review.comment"))
	assert.Equal(t, rev.id, a.str("result.effort.review.by.id"))
	assert.NotEmpty(t, a.time("result.effort.review.at"))
	assert.Equal(t, "NEW", a.str("result.item.status"))
	assert.Equal(t, ada.id, a.str("result.item.returnedTo.id"))
	l.counts("2 0 0 0")

	// It is kept for its author, who gets it before anything else.
	assert.NotEqual(t, h.id, l.claimed(bob, 1)[0].id)
	assert.Empty(t, l.claimedUpTo(bob, 1))
	back := l.claimed(ada, 1)[0]
	assert.Equal(t, h.id, back.id)
	i := ada.must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { status returnedTo { id } category { name } keywords efforts { nodes { id review { verdict comment by { id } } } } } } }`, vars{"i": h.id})
	assert.Equal(t, "CLAIMED", i.str("node.status"))
	assert.Nil(t, i.at("node.returnedTo"))
	review := i.list("node.efforts.nodes")[0].(map[string]any)["review"].(map[string]any)
	assert.Equal(t, strings.TrimSpace(comment), review["comment"], "its author is told why")

	second := l.finished(ada, back, vars{"categoryId": l.categories[1]})
	l.counts("0 1 1 0")
	a = rev.mutate("reviewEffort", reviewShown, vars{"effortId": effort, "verdict": "INCORRECT", "comment": "still"})
	assert.Equal(t, "FINISHED still", a.str("result.item.status")+" "+a.str("result.effort.review.comment"), "the item was finished again meanwhile")
	assert.Nil(t, a.at("result.item.returnedTo"))
	a = rev.mutate("reviewEffort", reviewShown, vars{"effortId": second, "verdict": "CORRECT"})
	assert.Equal(t, "FINISHED CORRECT ", a.str("result.item.status")+" "+a.str("result.effort.review.verdict")+" "+a.str("result.effort.review.comment"))
	l.counts("0 1 1 0")
}

func TestALaterReviewTakesThePlaceOfTheEarlierOne(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(1, 0)
	ada, rev := l.labellers[0], l.reviewer()
	h := l.claimed(ada, 1)[0]
	effort := l.finished(ada, h)
	reviews := func(who *client, verdict, status, counts string) {
		t.Helper()
		a := who.mutate("reviewEffort", reviewShown, vars{"effortId": effort, "verdict": verdict})
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Equal(t, verdict+" "+status, a.str("result.effort.review.verdict")+" "+a.str("result.item.status"))
		assert.Equal(t, who.id, a.str("result.effort.review.by.id"))
		l.counts(counts)
	}
	reviews(rev, "CORRECT", "FINISHED", "0 0 1 0")
	reviews(rev, "INCORRECT", "NEW", "1 0 0 0")
	reviews(l.client, "CORRECT", "FINISHED", "0 0 1 0") // managers review too
	assert.Empty(t, l.claimedUpTo(ada, 1), "it does not come back after all")
	l.statistics(l.team, "1 0", map[string]string{ada.id: "1 0"})
}

func TestWhoReviewsWhat(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(3, 0)
	ada, bob, rev := l.labellers[0], l.labellers[1], l.reviewer()
	h := l.claimed(ada, 1)[0]
	effort := l.finished(ada, h)
	for _, verdict := range []string{"CORRECT", "INCORRECT"} {
		bob.mutate("reviewEffort", reviewShown, vars{"effortId": effort, "verdict": verdict}).fails("FORBIDDEN", "")
		ada.mutate("reviewEffort", reviewShown, vars{"effortId": effort, "verdict": verdict}).fails("FORBIDDEN", "")
	}
	own := l.finished(rev, l.claimed(rev, 1)[0])
	a := rev.mutate("reviewEffort", reviewShown, vars{"effortId": own, "verdict": "CORRECT"})
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Equal(t, "OwnEffort", a.str("result.problem.__typename"))
	assert.NotEmpty(t, a.str("result.problem.message"))
	assert.Nil(t, a.at("result.effort"))
	assert.Nil(t, a.at("result.item"))

	ada.mutate("undoFinish", "item { id }", vars{"effortId": effort})
	a = rev.mutate("reviewEffort", reviewShown, vars{"effortId": effort, "verdict": "INCORRECT"})
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Equal(t, "EffortUndone", a.str("result.problem.__typename"))
	l.counts("1 1 1 0")
	a = l.must(`query($i: ID!) { node(id: $i) { ... on ProjectItemEffort { review { verdict } } } }`, vars{"i": own})
	assert.Nil(t, a.at("node.review"), "nothing was changed")
}
