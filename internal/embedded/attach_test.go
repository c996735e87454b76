package embedded

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A command finds the engines of a running server, and leaves them running.
func TestAttach(t *testing.T) {
	dir := t.TempDir()
	options := Options{Dir: dir, DynamoDB: true, InMemory: true}
	server, err := Start(t.Context(), options)
	require.NoError(t, err)

	_, err = Start(t.Context(), options)
	require.ErrorIs(t, err, ErrInUse)
	elsewhere := options
	elsewhere.Binaries.DynamoDB = "/nowhere/dynoxide"
	_, err = Start(t.Context(), elsewhere)
	require.ErrorIs(t, err, ErrInUse, "a command needs no program where the server has one")
	command, err := Attach(dir)
	require.NoError(t, err)
	assert.Equal(t, server.DynamoDB, command.DynamoDB)
	assert.Empty(t, command.S3)
	require.NoError(t, command.Stop(t.Context()))
	require.NoError(t, server.running[0].answers(t.Context()), "it still answers")

	require.NoError(t, server.Stop(t.Context()))
	_, err = Start(t.Context(), elsewhere)
	require.ErrorIs(t, err, ErrMissing)
	again, err := Start(t.Context(), options)
	require.NoError(t, err, "the lock was given back")
	require.NoError(t, again.Stop(t.Context()))
	_, err = Attach(t.TempDir())
	assert.Error(t, err, "nobody was ever there")
}

// What a copy of the directory says of another server's engines is out of date.
func TestACopyOfTheDirectoryLeavesTheEnginesAlone(t *testing.T) {
	dir, copied := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "copy")
	first := start(t, all(dir))
	require.NoError(t, exec.CommandContext(t.Context(), "cp", "-r", dir, copied).Run())
	pids := []int{pidOf(t, dir, DynamoDB), pidOf(t, dir, S3), pidOf(t, dir, Redis)}

	// Before its own engines answer, a command beside it must not find those of the first.
	_, err := Start(t.Context(), Options{Dir: copied, Redis: true, Binaries: Binaries{Redis: "false"}})
	require.Error(t, err)
	_, err = Attach(copied)
	require.ErrorIs(t, err, fs.ErrNotExist)

	second := start(t, all(copied))
	assert.NotEqual(t, first.S3.URL, second.S3.URL)
	for _, pid := range pids {
		assert.True(t, runs(pid), "process %d of the first", pid)
	}
	put := func(e *Engines) { makeTable(t, dynamoClient(t, e.DynamoDB)) }
	put(first)
	put(second)
}
