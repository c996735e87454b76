package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/project"
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
	s := newServer(t)
	s.works()
	l := s.labelled(2, 0)
	ada := l.labellers[0]
	h := l.claimed(ada, 1)[0]
	a := ada.mutate("finishProjectItem", finishedShown, l.finishing(h, vars{"categoryId": l.categories[1], "subcategoryId": l.subcategories[0], "keywords": []string{"Grey", "grey ", "日本 😀"}}))
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Nil(t, a.at("result.problem"))
	assert.Equal(t, "FINISHED Goose Wild", a.str("result.item.status")+" "+a.str("result.item.category.name")+" "+a.str("result.item.subcategory.name"))
	assert.Equal(t, []any{"Grey", "日本 😀"}, a.list("result.item.keywords"))
	assert.Nil(t, a.at("result.item.claim"))
	effort := a.str("result.effort.id")
	assert.Equal(t, []any{map[string]any{"id": effort}}, a.list("result.item.efforts.nodes"))
	assert.Equal(t, ada.id, a.str("result.effort.user.id"))
	assert.Equal(t, l.team, a.str("result.effort.team.id"))
	assert.Equal(t, h.id, a.str("result.effort.item.id"))
	assert.Equal(t, "Goose Wild", a.str("result.effort.category.name")+" "+a.str("result.effort.subcategory.name"))
	assert.Equal(t, []any{"Grey", "日本 😀"}, a.list("result.effort.keywords"))
	assert.WithinDuration(t, time.Now(), a.time("result.effort.finishedAt"), time.Minute)
	assert.Nil(t, a.at("result.effort.undoneAt"))
	assert.Nil(t, a.at("result.effort.review"))
	l.counts("1 0 1 0")

	typed := vars{"categoryId": l.categories[2], "keywords": []string{"second", "thoughts"}}
	a = ada.mutate("finishProjectItem", finishedShown, l.finishing(h, typed))
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Equal(t, "AlreadyFinished", a.str("result.problem.__typename"))
	assert.Equal(t, map[string]any{"id": h.id, "status": "FINISHED", "category": map[string]any{"name": "Goose"}}, a.at("result.problem.current"), "nothing was changed")
	assert.Equal(t, effort, a.str("result.problem.effort.id"))
	assert.Equal(t, map[string]any{"categoryId": l.categories[2], "subcategoryId": nil, "keywords": []any{"second", "thoughts"}}, a.at("result.problem.typed"))
	assert.Nil(t, a.at("result.item"))
	assert.Nil(t, a.at("result.effort"))
}

func TestALateFinishLosesNothingThatWasTyped(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(1, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	h := l.claimed(ada, 1)[0]
	typed := vars{"categoryId": l.categories[2], "subcategoryId": l.subcategories[1], "keywords": []string{"  as typed", "日本"}}
	late := func(status string) {
		t.Helper()
		a := ada.mutate("finishProjectItem", finishedShown, l.finishing(h, typed))
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Equal(t, "LeaseLost", a.str("result.problem.__typename"))
		assert.NotEmpty(t, a.str("result.problem.message"))
		assert.Equal(t, h.id+" "+status, a.str("result.problem.current.id")+" "+a.str("result.problem.current.status"))
		assert.Nil(t, a.at("result.problem.current.claim.token"), "another's token is not shown")
		assert.Equal(t, map[string]any{"categoryId": l.categories[2], "subcategoryId": l.subcategories[1], "keywords": []any{"  as typed", "日本"}}, a.at("result.problem.typed"))
		assert.Nil(t, a.at("result.item"))
		assert.Nil(t, a.at("result.effort"))
	}
	l.expires(h.id)
	late("NEW")
	l.counts("1 0 0 0")
	his := l.claimed(bob, 1)[0]
	require.Equal(t, h.id, his.id)
	late("CLAIMED")
	l.finished(bob, his)
	late("FINISHED")
	l.counts("0 0 1 0")
	assert.Len(t, l.must(`query($i: ID!) { node(id: $i) { ... on ProjectItem { efforts { nodes { id } } } } }`, vars{"i": h.id}).list("node.efforts.nodes"), 1)
}

func TestSeveralFinishesAreOutcomesInTheirOrder(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(8, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	have := l.claimed(ada, 5)
	l.finished(ada, have[1])
	ada.mutate("releaseProjectItem", "item { id }", have[2].input())
	his := l.claimed(bob, 1)[0]
	finishes := []vars{
		l.finishing(have[0], vars{"keywords": []string{"first"}}),
		l.finishing(have[1], vars{"keywords": []string{"again"}}),
		l.finishing(have[2], vars{"keywords": []string{"too late"}}),
		l.finishing(have[3], vars{"categoryId": gidOf("Category", string(l.key()), "none")}),
		l.finishing(have[3], vars{"categoryId": l.categories[1]}),
		l.finishing(have[3], vars{"categoryId": l.categories[2]}),
		l.finishing(his),
		{"itemId": gidOf("ProjectItem", string(l.key()), "none"), "token": "x", "categoryId": l.categories[0]},
		l.finishing(have[4], vars{"keywords": []string{strings.Repeat("x", 65)}}),
	}
	a := ada.mutate("finishProjectItems", "outcomes { "+finishedShown+" }", vars{"finishes": finishes})
	require.Len(t, a.Errors, 3, "%s", a.body)
	wrong := map[string]string{}
	for _, e := range a.Errors {
		wrong[fmt.Sprint(e.Path...)] = e.Extensions.Code + " " + e.Extensions.Field
		assert.False(t, e.Extensions.Retryable)
	}
	assert.Equal(t, map[string]string{
		"resultoutcomes3": "INVALID_INPUT input.finishes.3.categoryId", "resultoutcomes7": "NOT_FOUND ", "resultoutcomes8": "INVALID_INPUT input.finishes.8.keywords",
	}, wrong)
	outcomes := a.list("result.outcomes")
	require.Len(t, outcomes, 9)
	got := make([]string, len(outcomes))
	for i, o := range outcomes {
		if got[i] = "nothing"; o != nil {
			o := &answer{t: t, body: a.body, Data: o.(map[string]any)}
			if got[i] = "done"; o.at("problem") != nil {
				got[i] = o.str("problem.__typename")
				assert.Equal(t, finishes[i]["categoryId"], o.str("problem.typed.categoryId"))
				assert.Equal(t, finishes[i]["itemId"], o.str("problem.current.id"))
			} else {
				assert.Equal(t, finishes[i]["itemId"], o.str("item.id"))
				assert.Equal(t, finishes[i]["itemId"], o.str("effort.item.id"))
			}
		}
	}
	assert.Equal(t, "done AlreadyFinished LeaseLost nothing done AlreadyFinished LeaseLost nothing nothing", strings.Join(got, " "))
	l.counts("3 2 3 0")
	// Those that failed can be sent again.
	a = ada.mutate("finishProjectItems", "outcomes { problem { __typename } effort { category { name } } }", vars{"finishes": []vars{l.finishing(have[4])}})
	assert.Equal(t, `{"result":{"outcomes":[{"problem":null,"effort":{"category":{"name":"Duck"}}}]}}`, a.data())
	l.counts("3 1 4 0")
}

func TestFiftyFinishesAtOnce(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(50, 0)
	var finishes []vars
	for _, h := range l.claimed(l.labellers[0], 50) {
		finishes = append(finishes, l.finishing(h))
	}
	a := l.labellers[0].mutate("finishProjectItems", "outcomes { item { status } problem { __typename } }", vars{"finishes": finishes})
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Equal(t, 50, strings.Count(a.body, "FINISHED"))
	l.counts("0 0 50 0")
}

const undoShown = `item { id status category { name } keywords claim { token user { id } } efforts { nodes { id undoneAt } } } effort { id undoneAt }
	problem { __typename ... on Problem { message } ... on ProjectItemConflict { current { id status } } }`

func TestAFinishIsTakenBack(t *testing.T) {
	s := newServer(t)
	s.works()
	l := s.labelled(1, 0)
	ada, bob := l.labellers[0], l.labellers[1]
	h := l.claimed(ada, 1)[0]
	effort := l.finished(ada, h, vars{"keywords": []string{"wrong"}})
	l.counts("0 0 1 0")
	bob.mutate("undoFinish", undoShown, vars{"effortId": effort}).fails("FORBIDDEN", "")
	l.mutate("undoFinish", undoShown, vars{"effortId": effort}).fails("FORBIDDEN", "") // managers neither

	a := ada.mutate("undoFinish", undoShown, vars{"effortId": effort})
	require.Empty(t, a.Errors, "%s", a.body)
	assert.Nil(t, a.at("result.problem"))
	assert.Equal(t, "CLAIMED", a.str("result.item.status"))
	assert.Nil(t, a.at("result.item.category"))
	assert.Empty(t, a.list("result.item.keywords"))
	assert.Equal(t, ada.id, a.str("result.item.claim.user.id"))
	assert.NotEmpty(t, a.str("result.effort.undoneAt"))
	l.showsUndone(h.id, a.list("result.item.efforts.nodes"), effort)
	again := held{a.str("result.item.id"), a.str("result.item.claim.token")}
	assert.NotEqual(t, h.token, again.token)
	l.counts("0 1 0 0")
	assert.Equal(t, []held{again}, heldOf(ada.must(`query($p: ID!) { project(id: $p) { viewerClaims { id claim { token } } } }`, vars{"p": l.id}), "project.viewerClaims"))
	assert.Equal(t, "EffortUndone", ada.mutate("undoFinish", undoShown, vars{"effortId": effort}).str("result.problem.__typename"))

	second := l.finished(ada, again)
	l.counts("0 0 1 0")
	l.rewrites(h.id, aged(second, 5*time.Minute+time.Second))
	assert.Equal(t, "UndoTooLate", ada.mutate("undoFinish", undoShown, vars{"effortId": second}).str("result.problem.__typename"))
	l.rewrites(h.id, aged(second, 4*time.Minute))
	a = l.reviewer().mutate("reviewEffort", "effort { id } problem { __typename }", vars{"effortId": second, "verdict": "CORRECT"})
	require.Nil(t, a.at("result.problem"), "%s", a.body)
	assert.Equal(t, "EffortReviewed", ada.mutate("undoFinish", undoShown, vars{"effortId": second}).str("result.problem.__typename"))
	l.counts("0 0 1 0")
}

// showsUndone asks in all ways for the efforts of an item whose only effort was taken back.
func (l crew) showsUndone(item string, told []any, effort string) {
	l.t.Helper()
	require.Len(l.t, told, 1, "what was taken back is still shown")
	shown := told[0].(map[string]any)
	assert.Equal(l.t, effort, shown["id"])
	assert.NotNil(l.t, shown["undoneAt"])
	const efforts = `id efforts(first: 5) { nodes { id undoneAt } }`
	a := l.must(`query($i: ID!, $p: ID!) { node(id: $i) { ... on ProjectItem { `+efforts+` } } whole: node(id: $i) { ... on ProjectItem { metadata } }
		project(id: $p) { items(status: CLAIMED, first: 5) { nodes { `+efforts+` } } whole: items(status: CLAIMED, first: 5) { nodes { metadata `+efforts+` } } } }`,
		vars{"i": item, "p": l.id})
	assert.Equal(l.t, told, a.list("node.efforts.nodes"))
	for _, list := range []string{"items", "whole"} {
		nodes := a.list("project." + list + ".nodes")
		require.Len(l.t, nodes, 1)
		assert.Equal(l.t, told, (&answer{t: l.t, Data: nodes[0].(map[string]any)}).list("efforts.nodes"))
	}
}

// aged is a change of an item of which an effort was made so long ago.
func aged(effort string, ago time.Duration) func(*project.Item, []project.Effort) *project.Effort {
	return func(_ *project.Item, efforts []project.Effort) *project.Effort {
		for _, e := range efforts {
			if gidOf("ProjectItemEffort", string(e.Project), e.ID) == effort {
				e.FinishedAt = time.Now().Add(-ago).UTC().Truncate(time.Millisecond)
				return &e
			}
		}
		return nil
	}
}
