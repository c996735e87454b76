package queues

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

// oneClaim matches all tries to claim one item, whichever comes first.
func oneClaim(items []string, t *testing.T) faultinject.Match {
	var mu sync.Mutex
	var victim []byte
	return func(c *faultinject.Call) bool {
		if c.Operation != "TransactWriteItems" || !bytes.Contains(c.Body, []byte(`"CLAIMED"`)) {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range items {
			if key := []byte(apitest.ItemKey(t, id).ID); victim == nil && bytes.Contains(c.Body, key) {
				victim = key
			}
		}
		return victim != nil && bytes.Contains(c.Body, victim)
	}
}

func TestNoItemStaysWithATokenThatNobodyGot(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*faultinject.Injector, faultinject.Match) *faultinject.Rule{
		"made, and not answered": func(f *faultinject.Injector, m faultinject.Match) *faultinject.Rule {
			return f.ResetAfter(faultinject.Always, m)
		},
		"not made, and not answered": func(f *faultinject.Injector, m faultinject.Match) *faultinject.Rule {
			return f.ResetBefore(faultinject.Always, m)
		},
	} {
		for _, key := range []any{nil, "k"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := apitest.NewServer(t)
				l := s.Labelled(4, 0)
				who := l.Labellers[0]
				rule := disturb(s.Faults, oneClaim(l.Items, t))
				a := who.Do(apitest.ClaimItems, apitest.Vars{"in": apitest.Vars{"projectId": l.ID, "count": 4, "idempotencyKey": key}})
				require.Positive(t, rule.Hits())
				rule.Stop()
				told := map[string]string{}
				if a.Data["claimProjectItems"] != nil {
					for _, h := range apitest.HeldOf(a, "claimProjectItems.items") {
						told[h.ID] = h.Token
					}
				}
				for _, node := range who.Must(`query($p: ID!) { project(id: $p) { items(first: 10) { nodes { id status claim { token } } } } }`, apitest.Vars{"p": l.ID}).List("project.items.nodes") {
					item := node.(map[string]any)
					if item["status"] == "CLAIMED" {
						assert.Equal(t, told[item["id"].(string)], item["claim"].(map[string]any)["token"], "%s", a.Body)
					}
				}
				if name == "made, and not answered" {
					assert.Len(t, told, 4, "all were made: %s", a.Body)
				}
			})
		}
	}
}
