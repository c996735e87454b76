//go:build unix

package embedded

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taggie/taggie/internal/embedded/child"
)

// orphanVariable makes the test binary play the server: it starts the engines in the directory the variable
// names, prints their endpoints, and waits to be killed.
const orphanVariable = "TAGGIE_TEST_PARENT_OF_ENGINES"

// TestMain also plays the server whose death TestKillingTheServerLeavesNoOrphan watches.
func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanVariable); dir != "" {
		beParent(dir)
	}
	goleak.VerifyTestMain(m)
}

func beParent(dir string) {
	e, err := Start(context.Background(), all(dir))
	if err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(err.Error())
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(e)
	select {}
}

// pidOf reads which process runs as an engine of a data directory.
func pidOf(t *testing.T, dir, engine string) int {
	t.Helper()
	pid, _, ok := child.PidFile(filepath.Join(dir, engine+".pid")).Read()
	require.True(t, ok)
	return pid
}

// runs reports whether a process exists and is not just a zombie.
func runs(pid int) bool {
	_, ok := child.CommandLine(pid)
	return ok
}

func TestKillingTheServerLeavesNoOrphan(t *testing.T) {
	dir := t.TempDir()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), orphanVariable+"="+dir)
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	var engines Engines
	err = json.NewDecoder(stdout).Decode(&engines)
	if err != nil {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	require.NoError(t, err)
	require.NotEmpty(t, engines.DynamoDB.URL)
	makeTable(t, dynamoClient(t, engines.DynamoDB))
	put(t, dynamoClient(t, engines.DynamoDB), "acknowledged")
	var pids []int
	for _, name := range []string{DynamoDB, S3, Redis} {
		pid := pidOf(t, dir, name)
		assert.True(t, runs(pid), "%s runs", name)
		pids = append(pids, pid)
	}

	require.NoError(t, server.Process.Kill()) // SIGKILL: the server cannot clean up
	_ = server.Wait()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !runs(pid) }, 10*time.Second, 5*time.Millisecond, "process %d is left", pid)
	}

	again := start(t, all(dir))
	put(t, dynamoClient(t, again.DynamoDB), "later") // the table is there
}

func TestAnEngineThatDiesIsStartedAgainOnTheSamePort(t *testing.T) {
	for _, name := range []string{DynamoDB, S3, Redis} {
		t.Run(name, func(t *testing.T) {
			o := Options{Dir: t.TempDir(), DynamoDB: name == DynamoDB, S3: name == S3, Redis: name == Redis}
			exits := make(chan string, 10)
			o.Exited = func(engine string, err error) {
				assert.Error(t, err)
				exits <- engine
			}
			e := start(t, o)
			if name == DynamoDB {
				makeTable(t, dynamoClient(t, e.DynamoDB))
				put(t, dynamoClient(t, e.DynamoDB), "kept")
			}
			old := pidOf(t, o.Dir, name)
			require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
			require.Equal(t, name, <-exits)
			engine := e.running[0]
			require.Eventually(t, func() bool {
				return engine.answers(t.Context()) == nil
			}, 20*time.Second, 10*time.Millisecond)
			assert.NotEqual(t, old, pidOf(t, o.Dir, name))
			if name == DynamoDB {
				put(t, dynamoClient(t, e.DynamoDB), "kept") // the old address, the old table
			}
			assert.Empty(t, e.Failed())
		})
	}
}

func TestStoppingDoesNotWaitForARestart(t *testing.T) {
	exits := make(chan error, 1)
	o := Options{
		Dir: t.TempDir(), Redis: true,
		Exited:   func(_ string, err error) { exits <- err },
		restarts: &restarts{attempts: 1, first: time.Hour, most: time.Hour, stable: time.Hour},
	}
	e := start(t, o)
	require.NoError(t, syscall.Kill(pidOf(t, o.Dir, Redis), syscall.SIGKILL))
	<-exits
	began := time.Now()
	require.NoError(t, stop(e))
	assert.Less(t, time.Since(began), 5*time.Second)
	assert.Empty(t, e.Failed())
}

func TestAnEngineThatKeepsDyingIsGivenUp(t *testing.T) {
	program := filepath.Join(t.TempDir(), "engine")
	real, err := redisProgram().find("", "")
	require.NoError(t, err)
	writeScript := func(text string) {
		temp := program + ".new"
		require.NoError(t, os.WriteFile(temp, []byte(text), 0o700))
		require.NoError(t, os.Rename(temp, program))
	}
	writeScript("#!/bin/sh\nexec " + real + " \"$@\"\n")
	exits := make(chan error, 10)
	o := Options{
		Dir: t.TempDir(), Redis: true, Binaries: Binaries{Redis: program},
		Exited:   func(_ string, err error) { exits <- err },
		restarts: &restarts{attempts: 3, first: time.Millisecond, most: 4 * time.Millisecond, stable: time.Hour},
	}
	e := start(t, o)
	writeScript("#!/bin/sh\necho no more\nexit 1\n")
	require.NoError(t, syscall.Kill(pidOf(t, o.Dir, Redis), syscall.SIGKILL))
	select {
	case err := <-e.Failed():
		assert.ErrorContains(t, err, "the Redis engine does not stay up, given up after 3 attempts")
		assert.ErrorContains(t, err, "no more")
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was told")
	}
	assert.Len(t, exits, 1)
	require.NoError(t, stop(e))
	assert.NoFileExists(t, filepath.Join(o.Dir, "redis.pid"))
}
