package requests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

// TestNullInAFilterMeansNothing compares filters that are null, as a literal and as a variable, with those that are left out.
func TestNullInAFilterMeansNothing(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	for _, deadline := range []any{nil, "2026-12-01T00:00:00Z"} {
		note := ada.Must(`mutation($d: DateTime) { createNote(input: {title: "a", content: "b", tags: ["x"], deadline: $d}) { note { id } } }`, apitest.Vars{"d": deadline})
		require.NotEmpty(t, note.Str("createNote.note.id"))
	}
	ada.Project("p")
	scope := ada.Must(`mutation { createScope(input: {name: "s"}) { scope { id } } }`, nil).Str("createScope.scope.id")
	entity := ada.Must(`mutation($s: ID!) { setEntity(input: {scopeId: $s, type: "t", key: "k", attributes: {a: 1}}) { entity { id } } }`, apitest.Vars{"s": scope}).Str("setEntity.entity.id")
	ada.Must(`mutation($e: ID!) { addEntityRelations(input: {entityId: $e, predicate: "p", objects: [{entityId: $e}]}) { entity { id } } }`, apitest.Vars{"e": entity})

	for _, test := range []struct{ typ, query string }{
		{"DueRange", `{ viewer { notes(due: @) { nodes { title deadline } } } }`},
		{"DateTime", `{ viewer { notes(due: {after: @}) { nodes { title deadline } } } }`},
		{"DateTime", `{ viewer { notes(due: {before: @, after: @}) { nodes { title deadline } } } }`},
		{"String", `{ viewer { tags(prefix: @) { nodes { value } } } }`},
		{"DateTime", `{ viewer { noteChanges(changedSince: @) { nodes { __typename } } } }`},
		{"Boolean", `{ viewer { scores(public: @) { nodes { id } } } }`},
		{"Boolean", `{ viewer { items(all: @) { nodes { id } } } }`},
		{"ProjectItemStatus", `{ viewer { projects { nodes { items(status: @) { nodes { id } } } } } }`},
		{"String", `{ node(id: "ENTITY") { ... on Entity { relations(predicate: @) { nodes { key } } } } }`},
		{"String", `{ node(id: "ENTITY") { ... on Entity { reverseRelations(predicate: @) { nodes { key } } } } }`},
		{"Int", `{ viewer { notes(first: @) { nodes { title } } } }`},
		{"Cursor", `{ viewer { notes(after: @, before: @) { nodes { title } } } }`},
	} {
		query := strings.ReplaceAll(test.query, "ENTITY", entity)
		var without string
		for _, argument := range []string{"prefix: @", "due: @", "changedSince: @", "public: @", "all: @", "status: @", "predicate: @", "first: @", "before: @, after: @", "after: @, before: @", "after: @"} {
			if strings.Contains(query, argument) {
				without = strings.NewReplacer("("+argument+")", "", argument, "").Replace(query)
				break
			}
		}
		want := ada.Must(without, nil)
		for _, a := range []*apitest.Answer{
			ada.Do(strings.ReplaceAll(query, "@", "null"), nil),
			ada.Do("query($v: "+test.typ+") "+strings.ReplaceAll(query, "@", "$v"), apitest.Vars{"v": nil}),
			ada.Do("query($v: "+test.typ+") "+strings.ReplaceAll(query, "@", "$v"), nil),
		} {
			if len(a.Errors) > 0 {
				assert.Contains(t, []string{"GRAPHQL_VALIDATION_FAILED", "INVALID_INPUT"}, a.Errors[0].Extensions.Code, "%s: %s", query, a.Body)
				continue
			}
			assert.Equal(t, want.Data, a.Data, query)
		}
	}
}
