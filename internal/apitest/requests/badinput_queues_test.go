package requests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

func TestBadInputChangesNoQueue(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	l := s.Labelled(4, 0)
	bob := s.User("bob@example.com")
	his := bob.Project("His")
	filled(his, 1)
	have := l.Claimed(l.Client, 1)[0]
	ada := l.Labellers[0]
	hers := l.Claimed(ada, 1)[0]
	effort := l.Finished(ada, hers)
	foreign := his.Claimed(bob, 1)[0]
	finished := his.Finished(bob, foreign)
	key, note := string(l.Key()), l.Notes(1)[0]
	none := apitest.GIDOf("ProjectItem", key, "none")
	huge := strings.Repeat("x", 100_000)

	var cases []bad
	add := func(reason, mutation string, input apitest.Vars, code, field string) {
		cases = append(cases, bad{reason, mutation, input, code, field})
	}
	for _, test := range []struct{ reason, id, code string }{
		{"a project that is not there", apitest.GIDOf("Project", "none"), "NOT_FOUND"}, {"another's project", his.ID, "NOT_FOUND"}, {"an item for a project", have.ID, apitest.Invalid}, {"no id", "", apitest.Invalid}, {"a huge id", huge, apitest.Invalid},
		{"an empty key in an id", apitest.GIDOf("Project", ""), apitest.Invalid}, {"a control character in an id", l.ID + "\x00", apitest.Invalid},
	} {
		for _, mutation := range []string{"claimProjectItems", "pauseProject", "resumeProject", "rebuildProjectQueue", "returnSkippedItems"} {
			field := ""
			if test.code == apitest.Invalid {
				field = "input.projectId"
			}
			add(test.reason, mutation, apitest.Vars{"projectId": test.id}, test.code, field)
		}
	}
	for _, count := range []int{0, -1, 51, 10_000, 1<<31 - 1} {
		add("a count out of bounds", "claimProjectItems", apitest.Vars{"projectId": l.ID, "count": count}, apitest.Invalid, "input.count")
	}
	for _, test := range []struct {
		reason      string
		ids         []any
		code, field string
	}{
		{"no items", []any{}, apitest.Invalid, "input.itemIds"},
		{"an item that is not there", []any{have.ID, none}, apitest.Invalid, "input.itemIds.1"},
		{"an item of another project", []any{have.ID, foreign.ID}, apitest.Invalid, "input.itemIds.1"},
		{"a note for an item", []any{have.ID, note}, apitest.Invalid, "input.itemIds.1"},
		{"null for an item", []any{nil}, apitest.Unfit, "input.itemIds.0"},
		{"a number for an item", []any{have.ID, 1.5}, apitest.Unfit, "input.itemIds.1"},
		{"101 items", slices.Repeat([]any{have.ID}, 101), apitest.Invalid, "input.itemIds"},
	} {
		add(test.reason, "returnSkippedItems", apitest.Vars{"projectId": l.ID, "itemIds": test.ids}, test.code, test.field)
	}
	add("33 bits", "claimProjectItems", apitest.Vars{"projectId": l.ID, "count": 1 << 32}, apitest.Unfit, "input.count")
	add("null for a count", "claimProjectItems", apitest.Vars{"projectId": l.ID, "count": nil}, apitest.Unfit, "input.count")
	add("a fraction", "claimProjectItems", apitest.Vars{"projectId": l.ID, "count": 1.5}, apitest.Unfit, "input.count")

	held := map[string]apitest.Vars{
		"extendClaim": {}, "releaseProjectItem": {}, "skipProjectItem": {"reason": "TO_OTHERS"}, "finishProjectItem": {"categoryId": l.Categories[0]},
	}
	for mutation, more := range held {
		with := func(reason string, change apitest.Vars, code, field string) {
			add(reason, mutation, apitest.Changed(have.Input(more), change), code, field)
		}
		with("an item that is not there", apitest.Vars{"itemId": none}, "NOT_FOUND", "")
		with("an item of another project", apitest.Vars{"itemId": foreign.ID, "token": foreign.Token}, "NOT_FOUND", "")
		with("a note for an item", apitest.Vars{"itemId": note}, apitest.Invalid, "input.itemId")
		with("a project for an item", apitest.Vars{"itemId": l.ID}, apitest.Invalid, "input.itemId")
		with("null for a token", apitest.Vars{"token": nil}, apitest.Unfit, "input.token")
		with("a number for a token", apitest.Vars{"token": 1}, apitest.Unfit, "input.token")
		with("an empty idempotency key", apitest.Vars{"idempotencyKey": ""}, apitest.Invalid, "input.idempotencyKey")
		with("an idempotency key of 256 bytes", apitest.Vars{"idempotencyKey": strings.Repeat("é", 128)}, apitest.Invalid, "input.idempotencyKey")
	}
	add("an unknown reason", "skipProjectItem", have.Input(apitest.Vars{"reason": "BORED"}), apitest.Unfit, "input.reason")
	add("no reason", "skipProjectItem", have.Input(apitest.Vars{"reason": nil}), apitest.Unfit, "input.reason")
	for _, minutes := range []int{0, -5, 10_081, 1<<31 - 1} {
		add("minutes out of bounds", "skipProjectItem", have.Input(apitest.Vars{"reason": "TO_ME_LATER", "minutes": minutes}), apitest.Invalid, "input.minutes")
	}

	several := func(reason string, second apitest.Vars, code, field string) { // of which nothing is begun
		add(reason, "finishProjectItems", apitest.Vars{"finishes": []any{l.Finishing(have), second}}, code, field)
	}
	several("a note for an item", l.Finishing(have, apitest.Vars{"itemId": note}), apitest.Invalid, "input.finishes.1.itemId")
	several("an item for a category", l.Finishing(have, apitest.Vars{"categoryId": have.ID}), apitest.Invalid, "input.finishes.1.categoryId")
	several("a category for a subcategory", l.Finishing(have, apitest.Vars{"subcategoryId": l.Categories[0]}), apitest.Invalid, "input.finishes.1.subcategoryId")
	several("nothing", nil, apitest.Unfit, "input.finishes.1")
	several("null for a token", l.Finishing(have, apitest.Vars{"token": nil}), apitest.Unfit, "input.finishes.1.token")
	var all []apitest.Vars
	for range 51 {
		all = append(all, l.Finishing(have))
	}
	add("51 finishes", "finishProjectItems", apitest.Vars{"finishes": all}, apitest.Invalid, "input.finishes")
	add("no finishes", "finishProjectItems", apitest.Vars{"finishes": []apitest.Vars{}}, apitest.Invalid, "input.finishes")
	add("an empty idempotency key", "finishProjectItems", apitest.Vars{"finishes": all[:1], "idempotencyKey": ""}, apitest.Invalid, "input.idempotencyKey")

	for _, count := range []int{0, -1, 51, 1<<31 - 1} {
		add(fmt.Sprintf("%d efforts to review", count), "claimReviews", apitest.Vars{"projectId": l.ID, "count": count}, apitest.Invalid, "input.count")
	}
	add("null for a count of efforts", "claimReviews", apitest.Vars{"projectId": l.ID, "count": nil}, apitest.Unfit, "input.count")
	add("efforts to review of an item", "claimReviews", apitest.Vars{"projectId": l.ID, "authorId": have.ID}, apitest.Invalid, "input.authorId")
	add("efforts to review of a user for a category", "claimReviews", apitest.Vars{"projectId": l.ID, "categoryId": l.Labellers[0].ID}, apitest.Invalid, "input.categoryId")
	add("efforts to review of another project's category", "claimReviews", apitest.Vars{"projectId": l.ID, "categoryId": apitest.GIDOf("Category", "other", "c")}, apitest.Invalid, "input.categoryId")
	add("efforts to review of a project that is not there", "claimReviews", apitest.Vars{"projectId": apitest.GIDOf("Project", "none")}, "NOT_FOUND", "")

	review := func(reason string, change apitest.Vars, code, field string) {
		add(reason, "reviewEffort", apitest.Changed(apitest.Vars{"effortId": effort, "verdict": "INCORRECT"}, change), code, field)
	}
	review("a comment of 2,001 characters", apitest.Vars{"comment": strings.Repeat("é", 2_001)}, apitest.Invalid, "input.comment")
	review("a huge comment", apitest.Vars{"comment": huge}, apitest.Invalid, "input.comment")
	review("a comment with NUL", apitest.Vars{"comment": "a\x00b"}, apitest.Invalid, "input.comment")
	review("a comment with a control character", apitest.Vars{"comment": "a\x1bb"}, apitest.Invalid, "input.comment")
	review("null for a comment", apitest.Vars{"comment": nil}, apitest.Unfit, "input.comment")
	review("an unknown verdict", apitest.Vars{"verdict": "MAYBE"}, apitest.Unfit, "input.verdict")
	for _, mutation := range []string{"reviewEffort", "undoFinish"} {
		with := func(reason, id, code, field string) {
			input := apitest.Vars{"effortId": id}
			if mutation == "reviewEffort" {
				input["verdict"] = "CORRECT"
			}
			add(reason, mutation, input, code, field)
		}
		with("an effort that is not there", apitest.GIDOf("ProjectItemEffort", key, "none"), "NOT_FOUND", "")
		with("an effort of another project", finished, "NOT_FOUND", "")
		with("an item for an effort", have.ID, apitest.Invalid, "input.effortId")
		with("an id with an empty part", apitest.GIDOf("ProjectItemEffort", key, ""), apitest.Invalid, "input.effortId")
	}
	add("somebody else's effort", "undoFinish", apitest.Vars{"effortId": effort}, "FORBIDDEN", "")
	add("a dead letter, by who is no administrator", "retryDeadLetter", apitest.Vars{"id": "0/1-1"}, "FORBIDDEN", "")
	add("a dead letter, by who is no administrator", "dropDeadLetter", apitest.Vars{"id": huge}, "FORBIDDEN", "")
	refuses(l.Client, func() string { return projectsState(l.Client) + projectsState(ada) + projectsState(bob) }, cases)

	t.Run("tokens of nothing", func(t *testing.T) {
		before := projectsState(l.Client)
		for mutation, more := range held {
			for _, token := range []string{"", " ", have.Token + "x", strings.ToUpper(have.Token), have.Token + "\x00", huge, "*", "日本", hers.Token} {
				a := l.Mutate(mutation, "problem { __typename }", apitest.Changed(have.Input(more), apitest.Vars{"token": token}))
				require.Empty(t, a.Errors, "%s %.20q: %.500s", mutation, token, a.Body)
				assert.Equal(t, "LeaseLost", a.Str("result.problem.__typename"), "%s %.20q", mutation, token)
			}
		}
		assert.Equal(t, before, projectsState(l.Client))
	})
	t.Run("what is just allowed", func(t *testing.T) {
		l.Works()
		a := l.Mutate("reviewEffort", "effort { review { comment } }", apitest.Vars{"effortId": effort, "verdict": "CORRECT", "comment": strings.Repeat("é", 1_999) + "x"})
		assert.Len(t, []rune(a.Str("result.effort.review.comment")), 2_000)
		for _, minutes := range []any{1, 10_080, nil} {
			next := l.Claimed(ada, 1)[0]
			a := ada.Mutate("skipProjectItem", "item { status } problem { __typename }", next.Input(apitest.Vars{"reason": "TO_ME_LATER", "minutes": minutes}))
			assert.Equal(t, `{"result":{"item":{"status":"NEW"},"problem":null}}`, a.Raw())
			l.BecomesSo(l.Client, `queue { counts { claimed } }`, func(p *apitest.Answer) bool { return p.At("queue.counts.claimed") == 1.0 })
			l.ComesDue(ada)
		}
		a = l.Mutate("finishProjectItems", "outcomes { problem { __typename } }", apitest.Vars{"finishes": all[:50]})
		require.Empty(t, a.Errors, "%s", a.Body)
		assert.Equal(t, 49, strings.Count(a.Body, "AlreadyFinished"), "the first of them counts")
	})
}
