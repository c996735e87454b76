package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBadInputChangesNoQueue(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	l := s.labelled(4, 0)
	bob := s.user("bob@example.com")
	his := bob.project("His")
	his.filled(1)
	have := l.claimed(l.client, 1)[0]
	ada := l.labellers[0]
	hers := l.claimed(ada, 1)[0]
	effort := l.finished(ada, hers)
	foreign := his.claimed(bob, 1)[0]
	finished := his.finished(bob, foreign)
	key, note := string(l.key()), l.notes(1)[0]
	none := gidOf("ProjectItem", key, "none")
	huge := strings.Repeat("x", 100_000)

	var cases []bad
	add := func(reason, mutation string, input vars, code, field string) {
		cases = append(cases, bad{reason, mutation, input, code, field})
	}
	for _, test := range []struct{ reason, id, code string }{
		{"a project that is not there", gidOf("Project", "none"), "NOT_FOUND"}, {"another's project", his.id, "NOT_FOUND"}, {"an item for a project", have.id, invalid}, {"no id", "", invalid}, {"a huge id", huge, invalid},
		{"an empty key in an id", gidOf("Project", ""), invalid}, {"a control character in an id", l.id + "\x00", invalid},
	} {
		for _, mutation := range []string{"claimProjectItems", "pauseProject", "resumeProject", "setProjectQueueSize", "rebuildProjectQueue"} {
			field := ""
			if test.code == invalid {
				field = "input.projectId"
			}
			add(test.reason, mutation, vars{"projectId": test.id}, test.code, field)
		}
	}
	for _, count := range []int{0, -1, 51, 10_000, 1<<31 - 1} {
		add("a count out of bounds", "claimProjectItems", vars{"projectId": l.id, "count": count}, invalid, "input.count")
	}
	add("33 bits", "claimProjectItems", vars{"projectId": l.id, "count": 1 << 32}, unfit, "input.count")
	add("null for a count", "claimProjectItems", vars{"projectId": l.id, "count": nil}, unfit, "input.count")
	add("a fraction", "claimProjectItems", vars{"projectId": l.id, "count": 1.5}, unfit, "input.count")

	held := map[string]vars{
		"extendClaim": {}, "releaseProjectItem": {}, "skipProjectItem": {"reason": "TO_OTHERS"}, "finishProjectItem": {"categoryId": l.categories[0]},
	}
	for mutation, more := range held {
		with := func(reason string, change vars, code, field string) {
			add(reason, mutation, changed(have.input(more), change), code, field)
		}
		with("an item that is not there", vars{"itemId": none}, "NOT_FOUND", "")
		with("an item of another project", vars{"itemId": foreign.id, "token": foreign.token}, "NOT_FOUND", "")
		with("a note for an item", vars{"itemId": note}, invalid, "input.itemId")
		with("a project for an item", vars{"itemId": l.id}, invalid, "input.itemId")
		with("null for a token", vars{"token": nil}, unfit, "input.token")
		with("a number for a token", vars{"token": 1}, unfit, "input.token")
		with("an empty idempotency key", vars{"idempotencyKey": ""}, invalid, "input.idempotencyKey")
		with("an idempotency key of 256 bytes", vars{"idempotencyKey": strings.Repeat("é", 128)}, invalid, "input.idempotencyKey")
	}
	add("an unknown reason", "skipProjectItem", have.input(vars{"reason": "BORED"}), unfit, "input.reason")
	add("no reason", "skipProjectItem", have.input(vars{"reason": nil}), unfit, "input.reason")
	for _, minutes := range []int{0, -5, 10_081, 1<<31 - 1} {
		add("minutes out of bounds", "skipProjectItem", have.input(vars{"reason": "TO_ME_LATER", "minutes": minutes}), invalid, "input.minutes")
	}

	several := func(reason string, second vars, code, field string) { // of which nothing is begun
		add(reason, "finishProjectItems", vars{"finishes": []any{l.finishing(have), second}}, code, field)
	}
	several("a note for an item", l.finishing(have, vars{"itemId": note}), invalid, "input.finishes.1.itemId")
	several("an item for a category", l.finishing(have, vars{"categoryId": have.id}), invalid, "input.finishes.1.categoryId")
	several("a category for a subcategory", l.finishing(have, vars{"subcategoryId": l.categories[0]}), invalid, "input.finishes.1.subcategoryId")
	several("nothing", nil, unfit, "input.finishes.1")
	several("null for a token", l.finishing(have, vars{"token": nil}), unfit, "input.finishes.1.token")
	var all []vars
	for range 51 {
		all = append(all, l.finishing(have))
	}
	add("51 finishes", "finishProjectItems", vars{"finishes": all}, invalid, "input.finishes")
	add("no finishes", "finishProjectItems", vars{"finishes": []vars{}}, invalid, "input.finishes")
	add("an empty idempotency key", "finishProjectItems", vars{"finishes": all[:1], "idempotencyKey": ""}, invalid, "input.idempotencyKey")

	review := func(reason string, change vars, code, field string) {
		add(reason, "reviewEffort", changed(vars{"effortId": effort, "verdict": "INCORRECT"}, change), code, field)
	}
	review("a comment of 2,001 characters", vars{"comment": strings.Repeat("é", 2_001)}, invalid, "input.comment")
	review("a huge comment", vars{"comment": huge}, invalid, "input.comment")
	review("a comment with NUL", vars{"comment": "a\x00b"}, invalid, "input.comment")
	review("a comment with a control character", vars{"comment": "a\x1bb"}, invalid, "input.comment")
	review("null for a comment", vars{"comment": nil}, unfit, "input.comment")
	review("an unknown verdict", vars{"verdict": "MAYBE"}, unfit, "input.verdict")
	for _, mutation := range []string{"reviewEffort", "undoFinish"} {
		with := func(reason, id, code, field string) {
			input := vars{"effortId": id}
			if mutation == "reviewEffort" {
				input["verdict"] = "CORRECT"
			}
			add(reason, mutation, input, code, field)
		}
		with("an effort that is not there", gidOf("ProjectItemEffort", key, "none"), "NOT_FOUND", "")
		with("an effort of another project", finished, "NOT_FOUND", "")
		with("an item for an effort", have.id, invalid, "input.effortId")
		with("an id with an empty part", gidOf("ProjectItemEffort", key, ""), invalid, "input.effortId")
	}
	add("somebody else's effort", "undoFinish", vars{"effortId": effort}, "FORBIDDEN", "")
	for _, size := range []int{0, -1, 10_001, 1<<31 - 1} {
		add("a size out of bounds", "setProjectQueueSize", vars{"projectId": l.id, "size": size}, invalid, "input.size")
	}
	add("a text for a size", "setProjectQueueSize", vars{"projectId": l.id, "size": "5"}, unfit, "input.size")
	add("a dead letter, by who is no administrator", "retryDeadLetter", vars{"id": "0/1-1"}, "FORBIDDEN", "")
	add("a dead letter, by who is no administrator", "dropDeadLetter", vars{"id": huge}, "FORBIDDEN", "")
	l.refuses(func() string { return l.projectsState() + ada.projectsState() + bob.projectsState() }, cases)

	t.Run("tokens of nothing", func(t *testing.T) {
		before := l.projectsState()
		for mutation, more := range held {
			for _, token := range []string{"", " ", have.token + "x", strings.ToUpper(have.token), have.token + "\x00", huge, "*", "日本", hers.token} {
				a := l.mutate(mutation, "problem { __typename }", changed(have.input(more), vars{"token": token}))
				require.Empty(t, a.Errors, "%s %.20q: %.500s", mutation, token, a.body)
				assert.Equal(t, "LeaseLost", a.str("result.problem.__typename"), "%s %.20q", mutation, token)
			}
		}
		assert.Equal(t, before, l.projectsState())
	})
	t.Run("what is just allowed", func(t *testing.T) {
		l.works()
		a := l.mutate("reviewEffort", "effort { review { comment } }", vars{"effortId": effort, "verdict": "CORRECT", "comment": strings.Repeat("é", 1_999) + "x"})
		assert.Len(t, []rune(a.str("result.effort.review.comment")), 2_000)
		for _, minutes := range []any{1, 10_080, nil} {
			next := l.claimed(ada, 1)[0]
			a := ada.mutate("skipProjectItem", "item { status } problem { __typename }", next.input(vars{"reason": "TO_ME_LATER", "minutes": minutes}))
			assert.Equal(t, `{"result":{"item":{"status":"NEW"},"problem":null}}`, a.data())
			l.becomesSo(l.client, `queue { counts { claimed } }`, func(p *answer) bool { return p.at("queue.counts.claimed") == 1.0 })
			l.comesDue(ada)
		}
		a = l.mutate("finishProjectItems", "outcomes { problem { __typename } }", vars{"finishes": all[:50]})
		require.Empty(t, a.Errors, "%s", a.body)
		assert.Equal(t, 49, strings.Count(a.body, "AlreadyFinished"), "the first of them counts")
	})
}
