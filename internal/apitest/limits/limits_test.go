package limits

import (
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/edge"
)

func TestLimitsOfNumbers(t *testing.T) {
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	note := ada.Must(`mutation { createNote(input: {title: "a", content: "b"}) { note { id } } }`, nil).Str("createNote.note.id")
	for _, number := range []string{"1e999", "99999999999999999999"} {
		ada.Do(`{ viewer { notes(after: `+number+`) { nodes { id } } } }`, nil).Fails("INVALID_INPUT", "after")
		ada.Do(`query($id: ID!) { note(id: $id) { versions(after: `+number+`) { nodes { id } } } }`, apitest.Vars{"id": note}).Fails("INVALID_INPUT", "after")
		ada.Do(`query($c: Cursor = `+number+`) { viewer { notes(after: $c) { nodes { id } } } }`, nil).Fails("INVALID_INPUT", "c")
	}
	assert.NotContains(t, s.Logs.String(), "panic")
}

func TestLimitsOfCost(t *testing.T) {
	ada := apitest.NewServer(t).User("ada@example.com")
	a := ada.Do(`{ viewer { notes(first: 40) { nodes { tags { notes { nodes { tags { notes { nodes { title } } } } } } } } } }`, nil)
	a.Fails("BAD_REQUEST", "")
	assert.Zero(t, a.Extensions.Dynamo.Calls, "refused before anything is read")
	ada.Must(`query($first: Int) { viewer { sharedNotes(first: $first) { edges { permission sharedAt node {
		title owner { name } latestVersion { number updatedAt } accessList { edges { permission node { name } } } } } } } }`, apitest.Vars{"first": 500})
	ada.Must(`{ viewer { noteChanges(first: 500) { nodes { ... on Note { id version title content deadline tags { value } } } } } }`, nil)

	l := ada.Project("P")
	ada.Must(`query($p: ID!) { project(id: $p) { viewerClaims { metadata claim { user { name } } efforts { nodes { user { name } review { by { name } } } } }
		online { user { name } } teams { statistics { users { user { name } finished incorrect } } } keywordCompletions(prefix: "", first: 100) } }`, apitest.Vars{"p": l.ID})
	a = ada.Do(`query($p: ID!) { project(id: $p) { teams { statistics { users { user { projects { nodes { teams { name } } } } } } } } }`, apitest.Vars{"p": l.ID})
	a.Fails("BAD_REQUEST", "")
	assert.Zero(t, a.Extensions.Dynamo.Calls, "refused before anything is read")
	ada.Subscribe(`subscription($p: ID!) { projectEvents(projectId: $p) { ... on ProjectSnapshot { statistics { statistics { users { user { projects { nodes { teams { name } } } } } } } } } }`, apitest.Vars{"p": l.ID}).Refused("BAD_REQUEST", "")
}

// TestLimitsDoNotWaitForRedis uses the client of the server on a Redis that refuses connections, and on one that accepts
// them and says nothing.
func TestLimitsDoNotWaitForRedis(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts; nobody reads
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	for how, addr := range map[string]string{"refused": apitest.FreePort(t), "mute": listener.Addr().String()} {
		t.Run(how, func(t *testing.T) {
			cfg, err := config.Load([]string{"TAGGIE_REDIS_URL=redis://" + addr})
			require.NoError(t, err)
			options, err := app.RedisOptions(cfg, nil, app.RedisAnswer)
			require.NoError(t, err)
			client := redis.NewUniversalClient(&options)
			t.Cleanup(func() { _ = client.Close() })
			limiter := edge.NewLimiter(edge.Redis{Client: client}, "email", 60, time.Second, time.Now)
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
	s := apitest.NewServer(t, func(c *config.Config) { c.CostBudget, c.CostRate, c.Data = capacity, 1, data })
	other := apitest.NewServer(t, func(c *config.Config) { c.CostBudget, c.CostRate, c.Data, c.TablePrefix = capacity, 1, data, s.Prefix })
	ada := s.User("ada@example.com")
	there := &apitest.Client{Server: other, Token: ada.Token, ID: ada.ID}
	ask := func(c *apitest.Client, query string) (*apitest.Answer, float64) {
		a := c.Send([]byte(`{"query":"` + query + `","extensions":{"cost":true}}`))
		require.Empty(t, a.Errors, a.Body)
		var shown struct {
			Extensions struct {
				Cost struct {
					Budget struct{ Charged, Remaining float64 }
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(a.Body), &shown))
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
		there.Do(`{ nothing }`, nil)
	}
	a := ada.Do(large, nil)
	a.Fails("EXHAUSTED", "")
	assert.Equal(t, http.StatusTooManyRequests, a.Status)
	assert.Zero(t, a.Extensions.Dynamo.Calls, "refused before anything is read")
	ada.Subscribe(`subscription { onlineCount }`, nil).Refused("EXHAUSTED", "")
	other.User("grace@example.com").Must(large, nil)
}
