package scores

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

// A score that more people may read does not show them what was removed before: its snapshots stay the owner's until the owner says otherwise.
func TestWiderAccessShowsNoEarlierSnapshots(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	id := ada.Must(`mutation { createScore(input: {title: "T", annotations: ["secret"]}) { score { id } } }`, nil).Str("createScore.score.id")
	snap := func(name string) string {
		t.Helper()
		return ada.Mutate("createSnapshot", "snapshot { id }", apitest.Vars{"scoreId": id, "name": name}).Str("result.snapshot.id")
	}
	update := func(input apitest.Vars) *apitest.Answer {
		t.Helper()
		input["scoreId"] = id
		return ada.Mutate("updateScore", "hiddenSnapshots score { snapshotCount snapshots { name } }", input)
	}
	earlier := snap("earlier")
	const read = `query($s: ID!, $at: ID!) {
		score(id: $s) { snapshotCount snapshots { name score { annotations { text } } } } at: score(id: $s, snapshot: $at) { annotations { text } }
		node(id: $at) { ... on Snapshot { name changes { title { before } } score { title } } } }`
	sees := func(who *apitest.Client, at string, yes bool, count int) {
		t.Helper()
		a := who.Must(read, apitest.Vars{"s": id, "at": at})
		assert.EqualValues(t, count, a.At("score.snapshotCount"))
		assert.Len(t, a.List("score.snapshots"), count)
		assert.Equal(t, []bool{yes, yes}, []bool{a.At("at") != nil, a.At("node") != nil}, "%s", a.Body)
		if !yes {
			assert.NotContains(t, a.Body, "secret")
		}
	}
	a := update(apitest.Vars{"annotations": []any{apitest.Vars{"remove": apitest.Vars{"at": 0, "count": 1}}}})
	assert.EqualValues(t, 0, a.At("result.hiddenSnapshots"))
	a = update(apitest.Vars{"access": "PUBLIC"})
	assert.EqualValues(t, 1, a.At("result.hiddenSnapshots"), "%s", a.Body)
	assert.EqualValues(t, 1, a.At("result.score.snapshotCount"), "the owner sees it")
	sees(bob, earlier, false, 0)
	sees(ada, earlier, true, 1)
	later := snap("later")
	sees(bob, later, true, 1)
	sees(bob, earlier, false, 1)
	sees(ada, earlier, true, 2)

	a = update(apitest.Vars{"showEarlierSnapshots": true})
	assert.EqualValues(t, 0, a.At("result.hiddenSnapshots"))
	sees(bob, earlier, true, 2)
	update(apitest.Vars{"access": "PRIVATE"})
	a = update(apitest.Vars{"access": "LIMITED", "showEarlierSnapshots": true})
	assert.EqualValues(t, 0, a.At("result.hiddenSnapshots"))
	sees(bob, earlier, true, 2)
	update(apitest.Vars{"access": "PRIVATE"})
	in := apitest.Vars{"access": "LIMITED", "idempotencyKey": "widen"}
	first := update(in)
	assert.EqualValues(t, 2, first.At("result.hiddenSnapshots"))
	assert.Equal(t, first.Raw(), update(in).Raw())
	sees(bob, later, false, 0)
}

// A widening is killed before and after its transaction: both the access is wider and the snapshots are hidden, or neither.
func TestWideningsAreKilled(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	for writes := range 2 {
		id := ada.Must(`mutation { createScore(input: {title: "T"}) { score { id } } }`, nil).Str("createScore.score.id")
		ada.Mutate("createSnapshot", "snapshot { id }", apitest.Vars{"scoreId": id, "name": "earlier"})
		rule := s.Faults.KillAfter(writes, faultinject.Writes)
		ada.Mutate("updateScore", "hiddenSnapshots", apitest.Vars{"scoreId": id, "access": "PUBLIC"})
		rule.Stop()
		s.Faults.Clear()
		a := bob.Must(`query($s: ID!) { score(id: $s) { snapshotCount snapshots { name } } }`, apitest.Vars{"s": id})
		if writes == 0 {
			assert.Nil(t, a.At("score"))
			continue
		}
		require.NotNil(t, a.At("score"), "%s", a.Body)
		assert.EqualValues(t, 0, a.At("score.snapshotCount"))
		assert.Empty(t, a.List("score.snapshots"))
	}
}
