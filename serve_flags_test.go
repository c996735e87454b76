package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAServerDoesSomething(t *testing.T) {
	for _, args := range [][]string{{"serve"}, {"--no-jobs"}, {"serve", "--no-api"}, {"rebuild", "--all"}, {"rebuild", "--project", "p"}} {
		parser, err := kong.New(&commands{})
		require.NoError(t, err)
		_, err = parser.Parse(args)
		require.NoError(t, err, "%s", args)
	}
	for _, args := range [][]string{{"serve", "--no-jobs", "--no-api"}, {"rebuild"}, {"rebuild", "--all", "--project", "p"}} {
		parser, err := kong.New(&commands{})
		require.NoError(t, err)
		_, err = parser.Parse(args)
		require.Error(t, err, "%s", args)
	}
}

func TestHalfAServerNeedsStoresThatOthersReach(t *testing.T) {
	for _, command := range []serveCommand{{NoJobs: true}, {NoAPI: true}} {
		_, err := run(t, []string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ADDR=127.0.0.1:0"}, command.Run)
		require.ErrorContains(t, err, "DynamoDB, Redis, S3")
		_, err = run(t, []string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ADDR=127.0.0.1:0", "TAGGIE_REDIS_URL=redis://" + freePort(t)}, command.Run)
		require.ErrorContains(t, err, "DynamoDB, S3;")
	}
}

// page returns what is at a path.
func (s *testServer) page(path string, status int) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	require.NoError(s.t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	assert.Equal(s.t, status, resp.StatusCode, "%s: %s", path, text)
	return string(text)
}

func TestJobsRunInAProcessOfTheirOwn(t *testing.T) {
	env := remote(t)
	url, kept := ownRedis(t)
	env = append(env, "TAGGIE_REDIS_URL="+url)
	_, err := run(t, env, tablesApply{}.Run)
	require.NoError(t, err)

	api, stopAPI := startAs(t, serveCommand{NoJobs: true}, env, freePort(t))
	defer stopAPI()
	ada := api.signedUp(env, "ada@example.com")
	l := ada.project("Birds")
	id, upload := l.awaiting("JSON_LINES", len(lines(0, 5)))
	require.Equal(t, http.StatusOK, upload(lines(0, 5)))
	l.must(startImport, vars{"i": id})
	assert.Equal(t, "QUEUED", l.anImport(id).str("state"))
	groups := func() (n int) {
		keys, err := kept.Keys(t.Context(), "taggie:finished:{*").Result()
		require.NoError(t, err)
		for _, key := range keys {
			consumers, err := kept.XInfoConsumers(t.Context(), key, "taggie").Result()
			if err != nil {
				require.NotErrorIs(t, err, redis.Nil)
				continue
			}
			n += len(consumers)
		}
		return n
	}
	assert.Zero(t, groups(), "nobody consumes messages")

	jobs, stopJobs := startAs(t, serveCommand{NoAPI: true}, env, freePort(t))
	for _, path := range []string{"/graphql", "/session", "/"} {
		jobs.page(path, http.StatusNotFound)
	}
	jobs.page("/healthz", http.StatusOK)
	l.becomes("DONE", id)
	have := l.claimed(ada, 3)
	l.finished(ada, have[0], vars{"categoryId": l.categories[0]})
	want := map[string]any{"total": 5.0, "new": 2.0, "claimed": 2.0, "finished": 1.0}
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(want, l.shown()) }, 20*time.Second, 20*time.Millisecond, "nobody follows: %s", jobs.logs)
	assert.NotZero(t, groups())
	require.Eventually(t, func() bool { return strings.Contains(jobs.metrics(), "taggie_queue_messages_waiting 0") }, 20*time.Second, 50*time.Millisecond)
	assert.NotContains(t, api.metrics(), "taggie_queue_messages_waiting ", "nobody counts messages here")
	stopJobs()

	// What is finished meanwhile waits for the next one.
	l.finished(ada, have[1], vars{"categoryId": l.categories[1]})
	assert.Equal(t, want, l.shown())
	_, stopJobs = startAs(t, serveCommand{NoAPI: true}, env, freePort(t))
	defer stopJobs()
	want = map[string]any{"total": 5.0, "new": 2.0, "claimed": 1.0, "finished": 2.0}
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(want, l.shown()) }, 20*time.Second, 20*time.Millisecond)
}
