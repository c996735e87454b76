// Package embeddedtest gives tests running engines.
//
// It knows the engines of internal/embedded and how to start a real Redis server. It must not know what tests
// keep in them: tests that share an engine use names of their own (a table prefix, a bucket, a key prefix).
// Start reading at [DynamoDB]; use [RealRedis] where the embedded Redis is not the last word.
package embeddedtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/taggie/taggie/internal/embedded"
)

// One engine of each kind serves all tests of a test binary, so that a test costs no start. That needs
// variables of the package: nothing else lives as long as the binary. The engines end with it (on systems other
// than Linux, DynamoDB has to be ended by hand), and DynamoDB's tables and Redis are in memory.
var (
	sharedDynamoDB = sync.OnceValues(func() (*embedded.Engines, error) {
		return shared(embedded.Options{DynamoDB: true, InMemory: true})
	})
	sharedS3    = sync.OnceValues(func() (*embedded.Engines, error) { return shared(embedded.Options{S3: true}) })
	sharedRedis = sync.OnceValues(func() (*embedded.Engines, error) { return shared(embedded.Options{Redis: true}) })
)

// DynamoDB returns the test binary's DynamoDB, empty at first. Parallel tests share it: each makes its tables
// under a prefix of its own, and has [DropTables] delete them.
func DynamoDB(t testing.TB) embedded.Endpoint {
	t.Helper()
	return engines(t, sharedDynamoDB).DynamoDB
}

// S3 returns the test binary's S3, empty at first. Parallel tests share it: each makes a bucket of its own.
func S3(t testing.TB) embedded.Endpoint {
	t.Helper()
	return engines(t, sharedS3).S3
}

// Redis returns the test binary's embedded Redis, empty at first. Parallel tests share it: each uses keys of
// its own and never flushes.
func Redis(t testing.TB) embedded.Endpoint {
	t.Helper()
	return engines(t, sharedRedis).Redis
}

var databases atomic.Int64 // of [Redis] that tests have for themselves

// RedisDatabase returns a database of [Redis] that only this test has, and empties it when the test is over.
func RedisDatabase(t testing.TB) embedded.Endpoint {
	t.Helper()
	options, err := redis.ParseURL(Redis(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	options.DB = int(databases.Add(1))
	t.Cleanup(func() {
		client := redis.NewClient(options)
		defer func() { _ = client.Close() }()
		if err := client.FlushDB(context.WithoutCancel(t.Context())).Err(); err != nil {
			t.Errorf("empty the database of the test: %v", err)
		}
	})
	return embedded.Endpoint{URL: fmt.Sprintf("redis://:%s@%s/%d", options.Password, options.Addr, options.DB)}
}

func engines(t testing.TB, get func() (*embedded.Engines, error)) *embedded.Engines {
	t.Helper()
	e, err := get()
	if err != nil {
		t.Fatalf("this test needs an embedded engine: %v", err)
	}
	return e
}

// dirPrefix is followed by the id of the process that owns the directory.
const dirPrefix = "taggie-test-engines-"

func shared(o embedded.Options) (*embedded.Engines, error) {
	removeLeftovers()
	dir, err := os.MkdirTemp("", dirPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	return embedded.Start(context.Background(), o)
}

// removeLeftovers deletes the directories of test binaries that are over: a binary's end runs no clean-up of
// the whole, so the next one does it.
func removeLeftovers() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	for _, dir := range dirs {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		if pid, err := strconv.Atoi(number); err == nil && pid > 0 && !exists(pid) {
			_ = os.RemoveAll(dir)
		}
	}
}

// exists reports whether a process exists, true in doubt.
func exists(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false // Windows looks here
	}
	defer func() { _ = process.Release() }()
	err = process.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone)
}

// required reports whether TAGGIE_TEST_REQUIRE, a list separated by commas, has the named prerequisite in it.
func required(name string) bool {
	return slices.ContainsFunc(strings.Split(os.Getenv("TAGGIE_TEST_REQUIRE"), ","), func(item string) bool {
		return strings.TrimSpace(item) == name
	})
}
