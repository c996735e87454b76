package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
func (s *testServer) signedUp(env []string, email string) *client {
	s.t.Helper()
	token, err := run(s.t, env, func(_ context.Context, term *terminal) error {
		return tokenCommand{Email: email, TTL: time.Hour}.Run(term)
	})
	require.NoError(s.t, err)
	c := &client{testServer: s, token: strings.TrimSpace(token)}
	c.must(`mutation($e: String!) { createUser(input: {name: "Somebody", email: $e}) { user { id } } }`, vars{"e": email})
	return c
}

// key is the id of the project in the stores.
func (l crew) stored() string {
	l.t.Helper()
	id, err := gid.Parse(l.id)
	require.NoError(l.t, err)
	return id.Key[0]
}

// shown is what the API tells of the queue.
func (l crew) shown() map[string]any {
	l.t.Helper()
	a := l.must(`query($p: ID!) { project(id: $p) { queue { counts { total new claimed finished } } } }`, vars{"p": l.id})
	return a.at("project.queue.counts").(map[string]any)
}

func TestRebuildMakesRightWhatRedisHasWrong(t *testing.T) {
	t.Parallel()
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	s, stop := start(t, env, freePort(t))
	ada := s.signedUp(env, "ada@example.com")
	birds, fish := ada.project("Birds"), ada.project("Fish")
	birds.imports(lines(0, 5))
	have := birds.claimed(ada, 2)
	birds.finished(ada, have[0], vars{"categoryId": birds.categories[0]})
	right, none := map[string]any{"total": 5.0, "new": 3.0, "claimed": 1.0, "finished": 1.0}, map[string]any{"total": 0.0, "new": 0.0, "claimed": 0.0, "finished": 0.0}
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(right, birds.shown()) }, 20*time.Second, 20*time.Millisecond)

	engines, err := embedded.Attach(strings.TrimPrefix(env[0], "TAGGIE_DATA="))
	require.NoError(t, err)
	kept := redisAt(t, engines.Redis.URL)
	// The sums agree, or the server would notice by itself.
	spoil := func(l crew, total int) {
		require.NoError(t, kept.HSet(t.Context(), "taggie:project:metadata:{"+l.stored()+"}", "total-items", total, "finished-items", 996).Err())
		require.InDelta(t, total, l.shown()["total"], 0)
	}
	spoil(birds, 1000)
	spoil(fish, 996)
	out, err := run(t, env, rebuildCommand{Project: birds.id}.Run)
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `^ok +\S+ "Birds": rebuilt in \S+: 5 items, of which 3 new, 1 claimed, 1 finished, 0 skipped\n$`, out)
	assert.Equal(t, right, birds.shown())
	assert.InDelta(t, 996, fish.shown()["total"], 0, "nobody asked for it")
	assert.Len(t, birds.claimed(ada, 3), 3, "the queue is filled again")

	out, err = run(t, env, rebuildCommand{All: true}.Run)
	require.NoError(t, err, "%s", out)
	assert.Equal(t, 2, strings.Count(out, "ok "), "%s", out)
	assert.Contains(t, out, "5 items, of which 0 new, 4 claimed, 1 finished")
	assert.Equal(t, none, fish.shown())

	_, err = run(t, env, rebuildCommand{Project: gid.Of("Project", "nothing").String()}.Run)
	require.ErrorContains(t, err, "there is no project")
	_, err = run(t, env, rebuildCommand{Project: have[0].id}.Run)
	require.ErrorContains(t, err, "is not the id of a project")
	stop()
	_, err = run(t, env, rebuildCommand{Project: birds.id}.Run)
	require.ErrorContains(t, err, "there is nothing to rebuild", "the queues ended with the server")
}

func TestRebuildNeedsNoServer(t *testing.T) {
	env := remote(t)
	url, kept := ownRedis(t)
	env = append(env, "TAGGIE_REDIS_URL="+url)
	_, err := run(t, env, tablesApply{}.Run)
	require.NoError(t, err)
	s, stop := start(t, env, freePort(t))
	birds := s.signedUp(env, "ada@example.com").project("Birds")
	stop()
	require.NoError(t, kept.FlushAll(t.Context()).Err())
	out, err := run(t, env, rebuildCommand{All: true}.Run)
	require.NoError(t, err, "%s", out)
	assert.Contains(t, out, birds.id)
	name, err := kept.HGet(t.Context(), "taggie:project:metadata:{"+birds.stored()+"}", "project-name").Result()
	require.NoError(t, err)
	assert.Equal(t, "Birds", name)

	away := append(env, "TAGGIE_REDIS_URL=redis://"+freePort(t))
	out, err = run(t, away, rebuildCommand{All: true}.Run)
	require.ErrorContains(t, err, "1 of 1 projects were not rebuilt")
	assert.Contains(t, out, "PROBLEM  "+birds.id)
	_, err = run(t, away, rebuildCommand{Project: birds.id}.Run)
	require.ErrorContains(t, err, "the queue does not answer")
}

func TestRebuildFindsTheRedisOfTheServerOnly(t *testing.T) {
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	url, _ := ownRedis(t)
	_, stop := start(t, append(env, "TAGGIE_REDIS_URL="+url), freePort(t))
	defer stop()
	_, err := run(t, env, rebuildCommand{All: true}.Run)
	require.ErrorIs(t, err, errOtherRedis)
	_, err = run(t, append(env, "TAGGIE_REDIS_URL="+url), rebuildCommand{All: true}.Run)
	require.NoError(t, err, "there is no project")
}

// metrics returns what /metrics says.
func (s *testServer) metrics() string {
	s.t.Helper()
	return s.page("/metrics", http.StatusOK)
}
