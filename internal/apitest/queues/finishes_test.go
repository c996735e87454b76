package queues

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const (
	// finishedShown is what a payload shows of a finish.
	finishedShown = `item { id status category { name } subcategory { name } keywords claim { token } returnedTo { id } efforts { nodes { id } } }
		effort { id user { id } team { id } item { id } category { name } subcategory { name } keywords finishedAt undoneAt review { verdict } }
		problem { __typename ` + finishProblem + ` }`
	finishProblem = `... on LeaseLost { message current { id status claim { token } } typed { categoryId subcategoryId keywords } }
		... on AlreadyFinished { message current { id status category { name } } effort { id } typed { categoryId subcategoryId keywords } }`
)

func TestFinishingSaysWhatAnItemIs(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(2, 0)
	ada := l.Labellers[0]
	h := l.Claimed(ada, 1)[0]
	a := ada.Mutate("finishProjectItem", finishedShown, l.Finishing(h, apitest.Vars{"categoryId": l.Categories[1], "subcategoryId": l.Subcategories[0], "keywords": []string{"Grey", "grey ", "日本 😀"}}))
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Nil(t, a.At("result.problem"))
	assert.Equal(t, "FINISHED Goose Wild", a.Str("result.item.status")+" "+a.Str("result.item.category.name")+" "+a.Str("result.item.subcategory.name"))
	assert.Equal(t, []any{"Grey", "日本 😀"}, a.List("result.item.keywords"))
	assert.Nil(t, a.At("result.item.claim"))
	effort := a.Str("result.effort.id")
	assert.Equal(t, []any{map[string]any{"id": effort}}, a.List("result.item.efforts.nodes"))
	assert.Equal(t, ada.ID, a.Str("result.effort.user.id"))
	assert.Equal(t, l.Team, a.Str("result.effort.team.id"))
	assert.Equal(t, h.ID, a.Str("result.effort.item.id"))
	assert.Equal(t, "Goose Wild", a.Str("result.effort.category.name")+" "+a.Str("result.effort.subcategory.name"))
	assert.Equal(t, []any{"Grey", "日本 😀"}, a.List("result.effort.keywords"))
	assert.WithinDuration(t, time.Now(), a.Time("result.effort.finishedAt"), time.Minute)
	assert.Nil(t, a.At("result.effort.undoneAt"))
	assert.Nil(t, a.At("result.effort.review"))
	l.Counts("1 0 1 0")

	typed := apitest.Vars{"categoryId": l.Categories[2], "keywords": []string{"second", "thoughts"}}
	a = ada.Mutate("finishProjectItem", finishedShown, l.Finishing(h, typed))
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, "AlreadyFinished", a.Str("result.problem.__typename"))
	assert.Equal(t, map[string]any{"id": h.ID, "status": "FINISHED", "category": map[string]any{"name": "Goose"}}, a.At("result.problem.current"), "nothing was changed")
	assert.Equal(t, effort, a.Str("result.problem.effort.id"))
	assert.Equal(t, map[string]any{"categoryId": l.Categories[2], "subcategoryId": nil, "keywords": []any{"second", "thoughts"}}, a.At("result.problem.typed"))
	assert.Nil(t, a.At("result.item"))
	assert.Nil(t, a.At("result.effort"))
}

func TestALateFinishLosesNothingThatWasTyped(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(1, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	h := l.Claimed(ada, 1)[0]
	typed := apitest.Vars{"categoryId": l.Categories[2], "subcategoryId": l.Subcategories[1], "keywords": []string{"  as typed", "日本"}}
	late := func(status string) {
		t.Helper()
		a := ada.Mutate("finishProjectItem", finishedShown, l.Finishing(h, typed))
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, "LeaseLost", a.Str("result.problem.__typename"))
		assert.NotEmpty(t, a.Str("result.problem.message"))
		assert.Equal(t, h.ID+" "+status, a.Str("result.problem.current.id")+" "+a.Str("result.problem.current.status"))
		assert.Nil(t, a.At("result.problem.current.claim.token"), "another's token is not shown")
		assert.Equal(t, map[string]any{"categoryId": l.Categories[2], "subcategoryId": l.Subcategories[1], "keywords": []any{"  as typed", "日本"}}, a.At("result.problem.typed"))
		assert.Nil(t, a.At("result.item"))
		assert.Nil(t, a.At("result.effort"))
	}
	l.Expires(h.ID)
	late("NEW")
	l.Counts("1 0 0 0")
	his := l.Claimed(bob, 1)[0]
	require.Equal(t, h.ID, his.ID)
	late("CLAIMED")
	l.Finished(bob, his)
	late("FINISHED")
	l.Counts("0 0 1 0")
	assert.Len(t, l.Must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { efforts { nodes { id } } } } }`, apitest.Vars{"i": h.ID}).List("node.efforts.nodes"), 1)
}

func TestSeveralFinishesAreOutcomesInTheirOrder(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(8, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	have := l.Claimed(ada, 5)
	l.Finished(ada, have[1])
	ada.Mutate("releaseProjectItem", "item { id }", have[2].Input())
	his := l.Claimed(bob, 1)[0]
	finishes := []apitest.Vars{
		l.Finishing(have[0], apitest.Vars{"keywords": []string{"first"}}),
		l.Finishing(have[1], apitest.Vars{"keywords": []string{"again"}}),
		l.Finishing(have[2], apitest.Vars{"keywords": []string{"too late"}}),
		l.Finishing(have[3], apitest.Vars{"categoryId": apitest.GIDOf("Category", string(l.Key()), "none")}),
		l.Finishing(have[3], apitest.Vars{"categoryId": l.Categories[1]}),
		l.Finishing(have[3], apitest.Vars{"categoryId": l.Categories[2]}),
		l.Finishing(his),
		{"itemId": apitest.GIDOf("ProjectItem", string(l.Key()), "none"), "token": "x", "categoryId": l.Categories[0]},
		l.Finishing(have[4], apitest.Vars{"keywords": []string{strings.Repeat("x", 65)}}),
	}
	a := ada.Mutate("finishProjectItems", "outcomes { "+finishedShown+" }", apitest.Vars{"finishes": finishes})
	require.Len(t, a.Errors, 3, "%s", a.Body)
	wrong := map[string]string{}
	for _, e := range a.Errors {
		wrong[fmt.Sprint(e.Path...)] = e.Extensions.Code + " " + e.Extensions.Field
		assert.False(t, e.Extensions.Retryable)
	}
	assert.Equal(t, map[string]string{
		"resultoutcomes3": "INVALID_INPUT input.finishes.3.categoryId", "resultoutcomes7": "NOT_FOUND ", "resultoutcomes8": "INVALID_INPUT input.finishes.8.keywords",
	}, wrong)
	outcomes := a.List("result.outcomes")
	require.Len(t, outcomes, 9)
	got := make([]string, len(outcomes))
	for i, o := range outcomes {
		if got[i] = "nothing"; o != nil {
			o := &apitest.Answer{T: t, Body: a.Body, Data: o.(map[string]any)}
			if got[i] = "done"; o.At("problem") != nil {
				got[i] = o.Str("problem.__typename")
				assert.Equal(t, finishes[i]["categoryId"], o.Str("problem.typed.categoryId"))
				assert.Equal(t, finishes[i]["itemId"], o.Str("problem.current.id"))
			} else {
				assert.Equal(t, finishes[i]["itemId"], o.Str("item.id"))
				assert.Equal(t, finishes[i]["itemId"], o.Str("effort.item.id"))
			}
		}
	}
	assert.Equal(t, "done AlreadyFinished LeaseLost nothing done AlreadyFinished LeaseLost nothing nothing", strings.Join(got, " "))
	l.Counts("3 2 3 0")
	// Those that failed can be sent again.
	a = ada.Mutate("finishProjectItems", "outcomes { problem { __typename } effort { category { name } } }", apitest.Vars{"finishes": []apitest.Vars{l.Finishing(have[4])}})
	assert.Equal(t, `{"result":{"outcomes":[{"problem":null,"effort":{"category":{"name":"Duck"}}}]}}`, a.Raw())
	l.Counts("3 1 4 0")
}

func TestFiftyFinishesAtOnce(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(50, 0)
	var finishes []apitest.Vars
	for _, h := range l.Claimed(l.Labellers[0], 50) {
		finishes = append(finishes, l.Finishing(h))
	}
	a := l.Labellers[0].Mutate("finishProjectItems", "outcomes { item { status } problem { __typename } }", apitest.Vars{"finishes": finishes})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, 50, strings.Count(a.Body, "FINISHED"))
	l.Counts("0 0 50 0")
}

const undoShown = `item { id status category { name } keywords claim { token user { id } } efforts { nodes { id undoneAt } } } effort { id undoneAt }
	problem { __typename ... on Problem { message } ... on ProjectItemConflict { current { id status } } }`

func TestAFinishIsTakenBack(t *testing.T) {
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(1, 0)
	ada, bob := l.Labellers[0], l.Labellers[1]
	h := l.Claimed(ada, 1)[0]
	effort := l.Finished(ada, h, apitest.Vars{"keywords": []string{"wrong"}})
	l.Counts("0 0 1 0")
	bob.Mutate("undoFinish", undoShown, apitest.Vars{"effortId": effort}).Fails("FORBIDDEN", "")
	l.Mutate("undoFinish", undoShown, apitest.Vars{"effortId": effort}).Fails("FORBIDDEN", "") // managers neither

	a := ada.Mutate("undoFinish", undoShown, apitest.Vars{"effortId": effort})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Nil(t, a.At("result.problem"))
	assert.Equal(t, "CLAIMED", a.Str("result.item.status"))
	assert.Nil(t, a.At("result.item.category"))
	assert.Empty(t, a.List("result.item.keywords"))
	assert.Equal(t, ada.ID, a.Str("result.item.claim.user.id"))
	assert.NotEmpty(t, a.Str("result.effort.undoneAt"))
	showsUndone(l, h.ID, a.List("result.item.efforts.nodes"), effort)
	again := apitest.Held{ID: a.Str("result.item.id"), Token: a.Str("result.item.claim.token")}
	assert.NotEqual(t, h.Token, again.Token)
	l.Counts("0 1 0 0")
	assert.Equal(t, []apitest.Held{again}, apitest.HeldOf(ada.Must(`query($p: ID!) { project(id: $p) { viewerClaims { id claim { token } } } }`, apitest.Vars{"p": l.ID}), "project.viewerClaims"))
	assert.Equal(t, "EffortUndone", ada.Mutate("undoFinish", undoShown, apitest.Vars{"effortId": effort}).Str("result.problem.__typename"))

	second := l.Finished(ada, again)
	l.Counts("0 0 1 0")
	l.Rewrites(h.ID, apitest.Aged(second, 5*time.Minute+time.Second))
	assert.Equal(t, "UndoTooLate", ada.Mutate("undoFinish", undoShown, apitest.Vars{"effortId": second}).Str("result.problem.__typename"))
	l.Rewrites(h.ID, apitest.Aged(second, 4*time.Minute))
	a = l.Reviewer().Mutate("reviewEffort", "effort { id } problem { __typename }", apitest.Vars{"effortId": second, "verdict": "CORRECT"})
	require.Nil(t, a.At("result.problem"), "%s", a.Body)
	assert.Equal(t, "EffortReviewed", ada.Mutate("undoFinish", undoShown, apitest.Vars{"effortId": second}).Str("result.problem.__typename"))
	l.Counts("0 0 1 0")
}

// showsUndone asks in all ways for the efforts of an item whose only effort was taken back.
func showsUndone(l apitest.Crew, item string, told []any, effort string) {
	l.T.Helper()
	require.Len(l.T, told, 1, "what was taken back is still shown")
	shown := told[0].(map[string]any)
	assert.Equal(l.T, effort, shown["id"])
	assert.NotNil(l.T, shown["undoneAt"])
	const efforts = `id efforts(first: 5) { nodes { id undoneAt } }`
	a := l.Must(`query($i: ID!, $p: ID!) { node(id: $i) { ... on ProjectItem { `+efforts+` } } whole: node(id: $i) { ... on ProjectItem { metadata } }
		project(id: $p) { items(status: CLAIMED, first: 5) { nodes { `+efforts+` } } whole: items(status: CLAIMED, first: 5) { nodes { metadata `+efforts+` } } } }`,
		apitest.Vars{"i": item, "p": l.ID})
	assert.Equal(l.T, told, a.List("node.efforts.nodes"))
	for _, list := range []string{"items", "whole"} {
		nodes := a.List("project." + list + ".nodes")
		require.Len(l.T, nodes, 1)
		assert.Equal(l.T, told, (&apitest.Answer{T: l.T, Data: nodes[0].(map[string]any)}).List("efforts.nodes"))
	}
}
