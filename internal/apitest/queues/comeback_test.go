package queues

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/apitest"
)

func TestSkippedItemsComeBack(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(20, 0)
	ada := l.Labellers[0]
	have := l.Claimed(ada, 6)
	for _, h := range have[:5] {
		ada.Mutate("skipProjectItem", "item { id }", h.Input(apitest.Vars{"reason": "FOR_NOBODY"}))
	}
	l.Counts("14 1 0 5")
	in := apitest.Vars{"projectId": l.ID, "itemIds": []string{have[0].ID, have[1].ID, have[5].ID}}
	ada.Mutate("returnSkippedItems", "items { id }", in).Fails("FORBIDDEN", "")
	l.Reviewer().Mutate("returnSkippedItems", "items { id }", in).Fails("FORBIDDEN", "")
	s.User("stranger@example.com").Mutate("returnSkippedItems", "items { id }", in).Fails("NOT_FOUND", "")

	const selection = "project { id } items { id status } more"
	a := l.Mutate("returnSkippedItems", selection, in)
	assert.Equal(t, []string{have[0].ID, have[1].ID}, apitest.IDsOf(a.List("result.items")), "%s", a.Body)
	assert.Equal(t, "NEW", a.List("result.items")[0].(map[string]any)["status"])
	assert.Nil(t, a.At("result.more"))
	l.Counts("16 1 0 3")
	assert.ElementsMatch(t, []string{have[0].ID, have[1].ID}, idsOfHeld(l.Claimed(l.Labellers[1], 2)), "they wait before others")

	c := l.Must(`mutation($p: ID!) { returnSkippedItems(input: {projectId: $p}) { items { id } more } }`, apitest.Vars{"p": l.ID})
	assert.Len(t, c.List("returnSkippedItems.items"), 3)
	assert.Equal(t, false, c.At("returnSkippedItems.more"))
	operations := c.Extensions.Dynamo.Operations // the engine also sees what happens in the background
	assert.Equal(t, []int{16, 3}, []int{operations["Query"], operations["TransactWriteItems"]}, "1 per shard, and 1 per item")
	l.Counts("17 3 0 0")
	a = l.Mutate("returnSkippedItems", selection, apitest.Vars{"projectId": l.ID})
	assert.Empty(t, a.List("result.items"))
}
