package main

import (
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/edge"
)

func TestLimitsOfNumbers(t *testing.T) {
	s := newServer(t)
	ada := s.user("ada@example.com")
	note := ada.must(`mutation { createNote(input: {title: "a", content: "b"}) { note { id } } }`, nil).str("createNote.note.id")
	for _, number := range []string{"1e999", "99999999999999999999"} {
		ada.do(`{ viewer { notes(after: `+number+`) { nodes { id } } } }`, nil).fails("INVALID_INPUT", "after")
		ada.do(`query($id: ID!) { note(id: $id) { versions(after: `+number+`) { nodes { id } } } }`, vars{"id": note}).fails("INVALID_INPUT", "after")
		ada.do(`query($c: Cursor = `+number+`) { viewer { notes(after: $c) { nodes { id } } } }`, nil).fails("INVALID_INPUT", "c")
	}
	assert.NotContains(t, s.logs.String(), "panic")
}

func TestLimitsOfCost(t *testing.T) {
	ada := newServer(t).user("ada@example.com")
	a := ada.do(`{ viewer { notes(first: 40) { nodes { tags { notes { nodes { tags { notes { nodes { title } } } } } } } } } }`, nil)
	a.fails("BAD_REQUEST", "")
	assert.Zero(t, a.Extensions.Dynamo.Calls, "refused before anything is read")
	ada.must(`query($first: Int) { viewer { sharedNotes(first: $first) { edges { permission sharedAt node {
		title owner { name } latestVersion { number updatedAt } accessList { edges { permission node { name } } } } } } } }`, vars{"first": 500})
	ada.must(`{ viewer { noteChanges(first: 500) { nodes { ... on Note { id version title content deadline tags { value } } } } } }`, nil)

	l := ada.project("P")
	ada.must(`query($p: ID!) { project(id: $p) { viewerClaims { metadata claim { user { name } } efforts { nodes { user { name } review { by { name } } } } }
		online { user { name } } teams { statistics { users { user { name } finished incorrect } } } keywordCompletions(prefix: "", first: 100) } }`, vars{"p": l.id})
	a = ada.do(`query($p: ID!) { project(id: $p) { teams { statistics { users { user { projects { nodes { teams { name } } } } } } } } }`, vars{"p": l.id})
	a.fails("BAD_REQUEST", "")
	assert.Zero(t, a.Extensions.Dynamo.Calls, "refused before anything is read")
	ada.subscribe(`subscription($p: ID!) { projectEvents(projectId: $p) { ... on ProjectSnapshot { statistics { statistics { users { user { projects { nodes { teams { name } } } } } } } } } }`, vars{"p": l.id}).refused("BAD_REQUEST", "")
}

// TestLimitsDoNotWaitForRedis uses the client of the server on a Redis that refuses connections, and on one that accepts
// them and says nothing.
func TestLimitsDoNotWaitForRedis(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts; nobody reads
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	for how, addr := range map[string]string{"refused": freePort(t), "mute": listener.Addr().String()} {
		t.Run(how, func(t *testing.T) {
			cfg, err := config.Load([]string{"TAGGIE_REDIS_URL=redis://" + addr})
			require.NoError(t, err)
			options, err := redisOptions(cfg, nil, redisAnswer)
			require.NoError(t, err)
			client := redis.NewUniversalClient(&options)
			t.Cleanup(func() { _ = client.Close() })
			limiter := edge.NewLimiter(client, "email", 60, time.Second, time.Now)
			start := time.Now()
			for range 50 {
				_, err := limiter.Allow(t.Context(), "ada")
				require.Error(t, err)
			}
			assert.Less(t, time.Since(start), time.Second, "one wait of 200 ms, or two")
		})
	}
}

// TestLimitsOfBudgets uses two servers on one Redis: what is spent at one is missing at the other, and what was not used is
// given back there too.
func TestLimitsOfBudgets(t *testing.T) {
	const capacity = 300_000
	data := t.TempDir() // with the secret of both
	s := newServer(t, func(c *config.Config) { c.CostBudget, c.CostRate, c.Data = capacity, 1, data })
	other := newServer(t, func(c *config.Config) { c.CostBudget, c.CostRate, c.Data, c.TablePrefix = capacity, 1, data, s.prefix })
	ada := s.user("ada@example.com")
	there := &client{testServer: other, token: ada.token, id: ada.id}
	ask := func(c *client, query string) (*answer, float64) {
		a := c.send([]byte(`{"query":"` + query + `","extensions":{"cost":true}}`))
		require.Empty(t, a.Errors, a.body)
		var shown struct {
			Extensions struct {
				Cost struct {
					Budget struct{ Charged, Remaining float64 }
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(a.body), &shown))
		require.Positive(t, shown.Extensions.Cost.Budget.Charged)
		return a, shown.Extensions.Cost.Budget.Remaining
	}
	const large = `{ viewer { notes(first: 500) { nodes { versions(first: 200) { nodes { number } } } } } }`
	for range 3 { // each may cost 200,000, and costs next to nothing
		ask(ada, large)
		ask(there, large)
	}
	_, left := ask(ada, `{ viewer { name } }`)
	_, less := ask(there, `{ viewer { name } }`)
	assert.InDelta(t, left-102, less, 60, "they see the same budget, but for what comes back meanwhile")
	assert.Greater(t, less, float64(capacity-10_000))

	for range capacity / 2_000 { // what a refused document costs
		there.do(`{ nothing }`, nil)
	}
	a := ada.do(large, nil)
	a.fails("EXHAUSTED", "")
	assert.Equal(t, http.StatusTooManyRequests, a.status)
	assert.Zero(t, a.Extensions.Dynamo.Calls, "refused before anything is read")
	ada.subscribe(`subscription { onlineCount }`, nil).refused("EXHAUSTED", "")
	other.user("grace@example.com").must(large, nil)
}
