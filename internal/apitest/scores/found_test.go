package scores

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
)

const publicShown = `query($p: String!, $first: Int, $after: Cursor) { publicScores(titlePrefix: $p, first: $first, after: $after) {
	nodes { title owner { name } pages { label } } edges { cursor } pageInfo { hasNextPage endCursor } } }`

func TestPublicScoresAreFoundByTheirTitles(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	id := published(ada, "Sonata", "PUBLIC")
	published(bob, "sonatine", "PUBLIC")
	published(bob, "Sonata of few", "LIMITED")
	ada.Score("Sonata of one", nil)
	titles := func(c *apitest.Client, prefix string) (all []any) {
		t.Helper()
		for _, n := range c.Must(publicShown, apitest.Vars{"p": prefix}).List("publicScores.nodes") {
			all = append(all, n.(map[string]any)["title"])
		}
		return all
	}
	anonymous := &apitest.Client{Server: s}
	for _, c := range []*apitest.Client{ada, bob, anonymous} {
		assert.Equal(t, []any{"Sonata", "sonatine"}, titles(c, "SONAT"))
		assert.Equal(t, []any{"Sonata"}, titles(c, "sonata"))
	}
	first := bob.Must(publicShown, apitest.Vars{"p": "s", "first": 1})
	assert.Equal(t, true, first.At("publicScores.pageInfo.hasNextPage"))
	after := apitest.Vars{"p": "s", "first": 1, "after": first.Str("publicScores.pageInfo.endCursor")}
	assert.Len(t, bob.Must(publicShown, after).List("publicScores.nodes"), 1)
	after["p"] = "so"
	bob.Do(publicShown, after).Fails("INVALID_INPUT", "after")
	bob.Do(publicShown, apitest.Vars{"p": "  "}).Fails("INVALID_INPUT", "titlePrefix")

	ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": id, "access": "LIMITED"}})
	assert.Equal(t, []any{"sonatine"}, titles(ada, "s"), "also for its owner")
	calls := bob.Measure(`{ publicScores(titlePrefix: "s", first: 100) { nodes { title } } }`, nil).Operations()
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, calls)
}
