package scores

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
)

// Of all scores in a list, the items of all pages are read together, 100 at a time, each once; so are the texts. Each score has its
// snapshots in one Query.
func TestListsOfScoresCostTheLowerBound(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	items := make([]string, 120)
	for i := range items {
		items[i] = ada.Uploads([]byte("music"), apitest.Vars{"type": "text/plain", "name": fmt.Sprint(i)})
	}
	for i := range 3 { // the second half of one score's items is the first half of the next one's
		id := ada.Score(fmt.Sprint("score ", i), []string{"same", fmt.Sprint("only here ", i)}, items[30*i:30*i+60]...)
		ada.Snapshot(id, "first")
	}
	shown := func(n int, fields string) map[string]int {
		t.Helper()
		c := ada.Measure(fmt.Sprintf(`{ viewer { scores(first: %d) { nodes { title %s } } } }`, n, fields), nil)
		assert.Len(t, c.List("viewer.scores.nodes"), n)
		return c.Operations()
	}
	assert.Equal(t, map[string]int{"Query": 1}, shown(3, "pageCount"))
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 2}, shown(3, "pages { item { name url thumbnailUrl } }"), "120 items")
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, shown(3, "description annotations { text }"), "9 texts")
	assert.Equal(t, map[string]int{"Query": 4}, shown(3, "snapshots { name }"))
	assert.Equal(t, map[string]int{"Query": 3}, shown(2, "snapshots { score { title } }"), "S3 has what they keep, and the scores are there already")
}
