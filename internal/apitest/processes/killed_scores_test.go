package processes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/cli"
)

const followScore = `subscription($s: ID!, $after: ScoreCursor) { scoreEvents(scoreId: $s, after: $after) {
	... on ScorePosition { cursor } ... on ScoreGap { message } ... on ScoreEvent { cursor version } } }`

// A server is killed while somebody changes a score at it, and the one at which another user follows the score, too. The follower goes on at a third one,
// and has been told of each version that is stored.
func TestAFollowerIsToldOfEachVersionOfAScoreThoughServersAreKilled(t *testing.T) {
	env := append(apitest.Remote(t), "TAGGIE_COST_BUDGET=0")
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)
	stays, _ := apitest.StartProcess(t, env, apitest.FreePort(t))
	for round := range 3 {
		changed, killChanged := apitest.StartProcess(t, env, apitest.FreePort(t))
		heard, killHeard := apitest.StartProcess(t, env, apitest.FreePort(t))
		ada, bob := signedUp(stays, env, fmt.Sprintf("ada%d@example.com", round)), signedUp(stays, env, fmt.Sprintf("bob%d@example.com", round))
		id := ada.Score("Prélude", nil)
		ada.Mutate("updateScore", "score { id }", apitest.Vars{"scoreId": id, "access": "LIMITED"})
		first := bob.At(heard).Subscribe(followScore, apitest.Vars{"s": id})
		cursor := first.Message().Str("cursor")

		told := map[float64]bool{}
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range 400 { // fewer than are kept
				if !answered(t.Context(), ada.At(changed), `mutation($id: ID!, $t: String!) { updateScore(input: {scoreId: $id, title: $t}) { score { id } } }`, id) {
					return
				}
			}
		}()
		take := func(s *apitest.Stream) {
			t.Helper()
			m := s.Message()
			require.Nil(t, m.At("message"), "a gap")
			if c, ok := m.At("cursor").(string); ok {
				cursor = c
			}
			if version, ok := m.At("version").(float64); ok {
				told[version] = true
			}
		}
		for range 20 {
			take(first)
		}
		killChanged()
		killHeard()
		<-over
		second := bob.Subscribe(followScore, apitest.Vars{"s": id, "after": cursor})
		missing := func() bool { // a write may have been on its way to the store
			stored := ada.Must(`query($id: ID!) { score(id: $id) { version } }`, apitest.Vars{"id": id}).At("score.version").(float64)
			for version := 3.0; version <= stored; version++ { // it was followed from the second one on
				if !told[version] {
					return true
				}
			}
			return false
		}
		for missing() {
			take(second)
		}
	}
}
