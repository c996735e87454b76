package main

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			if key := []byte(itemKey(t, id).ID); victim == nil && bytes.Contains(c.Body, key) {
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
				s := newServer(t)
				l := s.labelled(4, 0)
				who := l.labellers[0]
				rule := disturb(s.faults, oneClaim(l.items, t))
				a := who.do(claimItems, vars{"in": vars{"projectId": l.id, "count": 4, "idempotencyKey": key}})
				require.Positive(t, rule.Hits())
				rule.Stop()
				told := map[string]string{}
				if a.Data["claimProjectItems"] != nil {
					for _, h := range heldOf(a, "claimProjectItems.items") {
						told[h.id] = h.token
					}
				}
				for _, node := range who.must(`query($p: ID!) { project(id: $p) { items(first: 10) { nodes { id status claim { token } } } } }`, vars{"p": l.id}).list("project.items.nodes") {
					item := node.(map[string]any)
					if item["status"] == "CLAIMED" {
						assert.Equal(t, told[item["id"].(string)], item["claim"].(map[string]any)["token"], "%s", a.body)
					}
				}
				if name == "made, and not answered" {
					assert.Len(t, told, 4, "all were made: %s", a.body)
				}
			})
		}
	}
}
