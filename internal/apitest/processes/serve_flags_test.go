package processes

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/cli"
)

func TestAServerDoesSomething(t *testing.T) {
	for _, args := range [][]string{{"serve"}, {"--no-jobs"}, {"serve", "--no-api"}, {"rebuild", "--all"}, {"rebuild", "--project", "p"}} {
		parser, err := kong.New(&cli.Commands{})
		require.NoError(t, err)
		_, err = parser.Parse(args)
		require.NoError(t, err, "%s", args)
	}
	for _, args := range [][]string{{"serve", "--no-jobs", "--no-api"}, {"rebuild"}, {"rebuild", "--all", "--project", "p"}} {
		parser, err := kong.New(&cli.Commands{})
		require.NoError(t, err)
		_, err = parser.Parse(args)
		require.Error(t, err, "%s", args)
	}
}

func TestHalfAServerNeedsStoresThatOthersReach(t *testing.T) {
	for _, command := range []cli.ServeCommand{{NoJobs: true}, {NoAPI: true}} {
		_, err := apitest.Run(t, []string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ADDR=127.0.0.1:0"}, command.Run)
		require.ErrorContains(t, err, "DynamoDB, Redis, S3")
		_, err = apitest.Run(t, []string{"TAGGIE_DATA=" + t.TempDir(), "TAGGIE_ADDR=127.0.0.1:0", "TAGGIE_REDIS_URL=redis://" + apitest.FreePort(t)}, command.Run)
		require.ErrorContains(t, err, "DynamoDB, S3;")
	}
}

func TestJobsRunInAProcessOfTheirOwn(t *testing.T) {
	env := apitest.Remote(t)
	url, kept := ownRedis(t)
	env = append(env, "TAGGIE_REDIS_URL="+url)
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)

	api, stopAPI := startAs(t, cli.ServeCommand{NoJobs: true}, env, apitest.FreePort(t))
	defer stopAPI()
	ada := signedUp(api, env, "ada@example.com")
	l := ada.Project("Birds")
	id, upload := l.Awaiting("JSON_LINES", len(apitest.Lines(0, 5)))
	require.Equal(t, http.StatusOK, upload(apitest.Lines(0, 5)))
	l.Must(apitest.StartImport, apitest.Vars{"i": id})
	assert.Equal(t, "QUEUED", l.AnImport(id).Str("state"))
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

	jobs, stopJobs := startAs(t, cli.ServeCommand{NoAPI: true}, env, apitest.FreePort(t))
	for _, path := range []string{"/graphql", "/session", "/"} {
		jobs.Page(path, http.StatusNotFound)
	}
	jobs.Page("/healthz", http.StatusOK)
	l.Becomes("DONE", id)
	have := l.Claimed(ada, 3)
	l.Finished(ada, have[0], apitest.Vars{"categoryId": l.Categories[0]})
	want := map[string]any{"total": 5.0, "new": 2.0, "claimed": 2.0, "finished": 1.0}
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(want, shown(l)) }, 20*time.Second, 20*time.Millisecond, "nobody follows: %s", jobs.Logs)
	assert.NotZero(t, groups())
	require.Eventually(t, func() bool { return strings.Contains(jobs.Metrics(), "taggie_queue_messages_waiting 0") }, 20*time.Second, 50*time.Millisecond)
	assert.NotContains(t, api.Metrics(), "taggie_queue_messages_waiting ", "nobody counts messages here")
	stopJobs()

	// What is finished meanwhile waits for the next one.
	l.Finished(ada, have[1], apitest.Vars{"categoryId": l.Categories[1]})
	assert.Equal(t, want, shown(l))
	_, stopJobs = startAs(t, cli.ServeCommand{NoAPI: true}, env, apitest.FreePort(t))
	defer stopJobs()
	want = map[string]any{"total": 5.0, "new": 2.0, "claimed": 1.0, "finished": 2.0}
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(want, shown(l)) }, 20*time.Second, 20*time.Millisecond)
}
