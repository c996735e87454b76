package scores

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
)

const keptShown = `query($of: ID!, $first: Int, $after: Cursor) { user(id: $of) { keptScores(first: $first, after: $after) {
	edges { cursor scoreId keptAt node { title owner { name } } } nodes { id } pageInfo { hasNextPage endCursor } } } }`

// published makes a score with an access.
func published(c *apitest.Client, title, access string) string {
	c.T.Helper()
	id := c.Score(title, nil)
	c.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "access": access}})
	return id
}

func TestScoresOfOthersAreKept(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	var scores []string
	for _, access := range []string{"PUBLIC", "LIMITED", "PUBLIC"} {
		id := published(ada, access+" score", access)
		a := bob.Mutate("keepScore", "score { id title }", apitest.Vars{"scoreId": id})
		assert.Equal(t, id, a.Str("result.score.id"))
		scores = append(scores, id)
	}
	shown := func() (ids, titles []any) {
		t.Helper()
		for _, e := range bob.Must(keptShown, apitest.Vars{"of": bob.ID}).List("user.keptScores.edges") {
			edge := e.(map[string]any)
			require.NotEmpty(t, edge["keptAt"])
			ids = append(ids, edge["scoreId"])
			node, _ := edge["node"].(map[string]any)
			titles = append(titles, node["title"])
		}
		return ids, titles
	}
	ids, titles := shown()
	assert.Equal(t, []any{scores[2], scores[1], scores[0]}, ids)
	assert.Equal(t, []any{"PUBLIC score", "LIMITED score", "PUBLIC score"}, titles)

	page := bob.Must(keptShown, apitest.Vars{"of": bob.ID, "first": 2})
	rest := bob.Must(keptShown, apitest.Vars{"of": bob.ID, "first": 2, "after": page.Str("user.keptScores.pageInfo.endCursor")})
	assert.Equal(t, []any{map[string]any{"id": scores[0]}}, rest.List("user.keptScores.nodes"))

	ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": scores[1], "access": "PRIVATE"}})
	ada.Mutate("deleteScore", "deletedScoreId", apitest.Vars{"scoreId": scores[2]})
	ids, titles = shown()
	assert.Equal(t, []any{scores[2], scores[1], scores[0]}, ids)
	assert.Equal(t, []any{nil, nil, "PUBLIC score"}, titles)
	ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": scores[1], "access": "LIMITED"}})
	_, titles = shown()
	assert.Equal(t, []any{nil, "LIMITED score", "PUBLIC score"}, titles, "it may be read again")

	for range 2 {
		a := bob.Mutate("dropScore", "droppedScoreId", apitest.Vars{"scoreId": scores[2]})
		assert.Equal(t, scores[2], a.Str("result.droppedScoreId"))
	}
	ids, _ = shown()
	assert.Equal(t, []any{scores[1], scores[0]}, ids)
	ada.Do(keptShown, apitest.Vars{"of": bob.ID}).Fails("FORBIDDEN", "")
}

// A list is one Query, and the scores one batch per hundred, whatever is shown of them that their rows have.
func TestKeptScoresCostTheLowerBound(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	for range 3 {
		bob.Mutate("keepScore", "score { id }", apitest.Vars{"scoreId": published(ada, "hers", "PUBLIC")})
	}
	calls := func(fields string) map[string]int {
		t.Helper()
		c := bob.Measure(`{ viewer { keptScores(first: 100) { `+fields+` } } }`, nil)
		assert.Empty(t, c.Errors)
		return c.Operations()
	}
	assert.Equal(t, map[string]int{"Query": 1}, calls("edges { scoreId keptAt }"))
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, calls("edges { node { title } } nodes { title pages { label } }"))
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 2}, calls("nodes { title owner { name } }"))
}
