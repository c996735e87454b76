package processes

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/gid"
)

// ownRedis returns the URL of an embedded Redis of the test's own, and a client for it.
func ownRedis(t *testing.T) (string, *redis.Client) {
	t.Helper()
	engines, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), Redis: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, engines.Stop(context.WithoutCancel(t.Context()))) })
	return engines.Redis.URL, redisAt(t, engines.Redis.URL)
}

func redisAt(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(options)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

// signedUp returns somebody with a token of the embedded issuer.
func signedUp(s *apitest.Server, env []string, email string) *apitest.Client {
	s.T.Helper()
	token, err := apitest.Run(s.T, env, func(_ context.Context, term *cli.Terminal) error {
		return cli.TokenCommand{Email: email, TTL: time.Hour}.Run(term)
	})
	require.NoError(s.T, err)
	c := &apitest.Client{Server: s, Token: strings.TrimSpace(token)}
	c.Must(`mutation($e: String!) { createUser(input: {name: "Somebody", email: $e}) { user { id } } }`, apitest.Vars{"e": email})
	return c
}

// key is the id of the project in the stores.
func stored(l apitest.Crew) string {
	l.T.Helper()
	id, err := gid.Parse(l.ID)
	require.NoError(l.T, err)
	return id.Key[0]
}

// shown is what the API tells of the queue.
func shown(l apitest.Crew) map[string]any {
	l.T.Helper()
	a := l.Must(`query($p: ID!) { project(id: $p) { queue { counts { total new claimed finished } } } }`, apitest.Vars{"p": l.ID})
	return a.At("project.queue.counts").(map[string]any)
}

func TestRebuildMakesRightWhatRedisHasWrong(t *testing.T) {
	t.Parallel()
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	s, stop := start(t, env, apitest.FreePort(t))
	ada := signedUp(s, env, "ada@example.com")
	birds, fish := ada.Project("Birds"), ada.Project("Fish")
	birds.Imports(apitest.Lines(0, 5))
	have := birds.Claimed(ada, 2)
	birds.Finished(ada, have[0], apitest.Vars{"categoryId": birds.Categories[0]})
	right, none := map[string]any{"total": 5.0, "new": 3.0, "claimed": 1.0, "finished": 1.0}, map[string]any{"total": 0.0, "new": 0.0, "claimed": 0.0, "finished": 0.0}
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(right, shown(birds)) }, 20*time.Second, 20*time.Millisecond)

	engines, err := embedded.Attach(strings.TrimPrefix(env[0], "TAGGIE_DATA="))
	require.NoError(t, err)
	kept := redisAt(t, engines.Redis.URL)
	// The sums agree, or the server would notice by itself.
	spoil := func(l apitest.Crew, total int) {
		require.NoError(t, kept.HSet(t.Context(), "taggie:project:metadata:{"+stored(l)+"}", "total-items", total, "finished-items", 996).Err())
		require.InDelta(t, total, shown(l)["total"], 0)
	}
	spoil(birds, 1000)
	spoil(fish, 996)
	out, err := apitest.Run(t, env, cli.RebuildCommand{Project: birds.ID}.Run)
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `^ok +\S+ "Birds": rebuilt in \S+: 5 items, of which 3 new, 1 claimed, 1 finished, 0 skipped\n$`, out)
	assert.Equal(t, right, shown(birds))
	assert.InDelta(t, 996, shown(fish)["total"], 0, "nobody asked for it")
	birds.BecomesSo(ada, `queue { queued }`, func(p *apitest.Answer) bool { return p.At("queue.queued") == 3. }) // it is filled again
	birds.Claimed(ada, 3)

	out, err = apitest.Run(t, env, cli.RebuildCommand{All: true}.Run)
	require.NoError(t, err, "%s", out)
	assert.Equal(t, 2, strings.Count(out, "ok "), "%s", out)
	assert.Contains(t, out, "5 items, of which 0 new, 4 claimed, 1 finished")
	assert.Equal(t, none, shown(fish))

	_, err = apitest.Run(t, env, cli.RebuildCommand{Project: gid.Of("Project", "nothing").String()}.Run)
	require.ErrorContains(t, err, "there is no project")
	_, err = apitest.Run(t, env, cli.RebuildCommand{Project: have[0].ID}.Run)
	require.ErrorContains(t, err, "is not the id of a project")
	stop()
	_, err = apitest.Run(t, env, cli.RebuildCommand{Project: birds.ID}.Run)
	require.ErrorContains(t, err, "there is nothing to rebuild", "the queues ended with the server")
}

func TestRebuildNeedsNoServer(t *testing.T) {
	env := apitest.Remote(t)
	url, kept := ownRedis(t)
	env = append(env, "TAGGIE_REDIS_URL="+url)
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)
	s, stop := start(t, env, apitest.FreePort(t))
	birds := signedUp(s, env, "ada@example.com").Project("Birds")
	stop()
	require.NoError(t, kept.FlushAll(t.Context()).Err())
	out, err := apitest.Run(t, env, cli.RebuildCommand{All: true}.Run)
	require.NoError(t, err, "%s", out)
	assert.Contains(t, out, birds.ID)
	name, err := kept.HGet(t.Context(), "taggie:project:metadata:{"+stored(birds)+"}", "project-name").Result()
	require.NoError(t, err)
	assert.Equal(t, "Birds", name)

	away := append(env, "TAGGIE_REDIS_URL=redis://"+apitest.FreePort(t))
	out, err = apitest.Run(t, away, cli.RebuildCommand{All: true}.Run)
	require.ErrorContains(t, err, "1 of 1 projects were not rebuilt")
	assert.Contains(t, out, "PROBLEM  "+birds.ID)
	_, err = apitest.Run(t, away, cli.RebuildCommand{Project: birds.ID}.Run)
	require.ErrorContains(t, err, "the queue does not answer")
}

func TestRebuildPutsUsersIntoTheList(t *testing.T) {
	t.Parallel()
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	s, stop := start(t, env, apitest.FreePort(t))
	signedUp(s, env, "ada@example.com")
	out, err := apitest.Run(t, env, cli.RebuildCommand{Users: true}.Run)
	require.NoError(t, err)
	assert.Equal(t, "Looked at 1 users. 0 of them were not in the list.\n", out)
	stop()
	out, err = apitest.Run(t, env, cli.RebuildCommand{Users: true}.Run)
	require.NoError(t, err, "it needs no server")
	assert.Equal(t, "Looked at 1 users. 0 of them were not in the list.\n", out)
}

func TestRebuildFindsTheRedisOfTheServerOnly(t *testing.T) {
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	url, _ := ownRedis(t)
	_, stop := start(t, append(env, "TAGGIE_REDIS_URL="+url), apitest.FreePort(t))
	defer stop()
	_, err := apitest.Run(t, env, cli.RebuildCommand{All: true}.Run)
	require.ErrorIs(t, err, app.ErrOtherRedis)
	_, err = apitest.Run(t, append(env, "TAGGIE_REDIS_URL="+url), cli.RebuildCommand{All: true}.Run)
	require.NoError(t, err, "there is no project")
}

func TestRebuildPutsEntitiesAndTagsIntoTheListsOfArchives(t *testing.T) {
	t.Parallel()
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	s, stop := start(t, env, apitest.FreePort(t))
	ada := signedUp(s, env, "ada@example.com")
	ada.Space("Films").Set("Film", "alien", apitest.Vars{"title": "Alien"})
	ada.Tags(ada.Uploads([]byte("text"), apitest.Vars{"name": "a.txt", "type": "text/plain"}), apitest.Vars{"value": "mine"})
	want := "Looked at 1 entities. 0 of them were not in the list of their scope.\nLooked at 1 sets of tags on items. 0 of them were not in the list of their author.\n"
	out, err := apitest.Run(t, env, cli.RebuildCommand{Archives: true}.Run)
	require.NoError(t, err)
	assert.Equal(t, want, out, "beside a server")
	stop()
	out, err = apitest.Run(t, env, cli.RebuildCommand{Archives: true}.Run)
	require.NoError(t, err)
	assert.Equal(t, want, out, "without one")
}

func TestRebuildPutsPublicScoresWhereTheyAreFound(t *testing.T) {
	t.Parallel()
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	s, stop := start(t, env, apitest.FreePort(t))
	ada := signedUp(s, env, "ada@example.com")
	ada.Must(apitest.UpdateScore, apitest.Vars{"input": apitest.Vars{"scoreId": ada.Score("Sonata", nil), "access": "PUBLIC"}})
	ada.Score("Suite", nil)
	const want = "Looked at 1 public scores. 0 scores were not where they are found.\n"
	out, err := apitest.Run(t, env, cli.RebuildCommand{Scores: true}.Run)
	require.NoError(t, err)
	assert.Equal(t, want, out, "beside a server")
	stop()
	out, err = apitest.Run(t, env, cli.RebuildCommand{Scores: true}.Run)
	require.NoError(t, err)
	assert.Equal(t, want, out, "without one")
}

func TestRebuildPutsItemsWhereTheyAreFound(t *testing.T) {
	t.Parallel()
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	s, stop := start(t, env, apitest.FreePort(t))
	birds := signedUp(s, env, "ada@example.com").Project("Birds")
	birds.Imports(apitest.Lines(0, 3))
	const want = "Looked at 3 items of projects. 0 of them were not where they are found.\n"
	out, err := apitest.Run(t, env, cli.RebuildCommand{Items: true}.Run)
	require.NoError(t, err)
	assert.Equal(t, want, out, "beside a server")
	stop()
	out, err = apitest.Run(t, env, cli.RebuildCommand{Items: true}.Run)
	require.NoError(t, err)
	assert.Equal(t, want, out, "without one")
}
