package embeddedtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTestsOfABinaryShareTheirEngines(t *testing.T) {
	first := []string{DynamoDB(t).URL, S3(t).URL, Redis(t).URL}
	for _, url := range first {
		assert.NotEmpty(t, url)
	}
	assert.Equal(t, first, []string{DynamoDB(t).URL, S3(t).URL, Redis(t).URL})
}

func TestRealRedisIsOnesOwn(t *testing.T) {
	ctx := context.Background()
	first, second := client(t, RealRedis(t).URL), client(t, RealRedis(t).URL)
	require.NoError(t, first.Set(ctx, "k", "v", 0).Err())
	assert.ErrorIs(t, second.Get(ctx, "k").Err(), redis.Nil)
	info, err := first.Info(ctx, "server").Result()
	require.NoError(t, err)
	assert.Contains(t, info, "redis_version:")
}

func TestADatabaseIsOnesOwnAndEmptiedWithItsTest(t *testing.T) {
	ctx := t.Context()
	var url string
	t.Run("a test", func(t *testing.T) {
		url = RedisDatabase(t).URL
		require.NoError(t, client(t, url).Set(ctx, "k", "v", 0).Err())
		for _, other := range []string{RedisDatabase(t).URL, Redis(t).URL} {
			assert.ErrorIs(t, client(t, other).Get(ctx, "k").Err(), redis.Nil)
		}
	})
	assert.ErrorIs(t, client(t, url).Get(ctx, "k").Err(), redis.Nil)
}

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	c := redis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestPrerequisitesAreNamedInAList(t *testing.T) {
	t.Setenv("TAGGIE_TEST_REQUIRE", "race, redis")
	assert.True(t, required("redis"))
	assert.True(t, required("race"))
	assert.False(t, required("cluster"))
	t.Setenv("TAGGIE_TEST_REQUIRE", "")
	assert.False(t, required("redis"))
}

func TestDirectoriesOfDeadBinariesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead := exec.Command(os.Args[0], "-test.run=^$")
	require.NoError(t, dead.Run())
	left := filepath.Join(os.TempDir(), dirPrefix+strconv.Itoa(dead.Process.Pid)+"-1")
	mine := filepath.Join(os.TempDir(), dirPrefix+strconv.Itoa(os.Getpid())+"-1")
	foreign := filepath.Join(os.TempDir(), dirPrefix+"notes")
	for _, dir := range []string{left, mine, foreign} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	removeLeftovers()
	assert.NoDirExists(t, left)
	assert.DirExists(t, mine)
	assert.DirExists(t, foreign)
}
