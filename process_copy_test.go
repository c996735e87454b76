package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/child"
)

// Who copies the directory of a running server copies the files in it that name its processes and addresses, too.
func TestAServerOnACopyOfTheDirectoryLeavesTheFirstAlone(t *testing.T) {
	t.Parallel()
	dir, copied := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "copy")
	env := []string{"TAGGIE_DATA=" + dir}
	token, err := run(t, env, func(_ context.Context, term *terminal) error {
		return tokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)
	signUp := `mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } }`
	rename := `mutation($n: String!) { updateUser(input: {name: $n}) { user { name } } }`
	name := `{ viewer { name } }`

	first, _ := startProcess(t, env, freePort(t))
	ada := &client{testServer: first, token: strings.TrimSpace(token)}
	ada.must(signUp, nil)
	pids := enginesOf(t, dir)
	checked, err := run(t, env, tablesCheck{}.Run) // which finds the engines of the server beside which it runs
	require.NoError(t, err)
	assert.Contains(t, checked, "taggie_notes")

	require.NoError(t, exec.CommandContext(t.Context(), "cp", "-r", dir, copied).Run())
	second, _ := startProcess(t, []string{"TAGGIE_DATA=" + copied}, freePort(t))
	twin := &client{testServer: second, token: ada.token}
	assert.Equal(t, "Ada", twin.must(name, nil).str("viewer.name"), "it was copied")
	twin.must(rename, vars{"n": "Twin"})

	assert.Equal(t, pids, enginesOf(t, dir))
	assert.Equal(t, "Ada", ada.must(name, nil).str("viewer.name"), "the first one has its own data")
	assert.NotContains(t, first.logs.String(), "engine ended")
	ada.must(rename, vars{"n": "Ada again"})
	assert.Equal(t, "Twin", twin.must(name, nil).str("viewer.name"))
}

// enginesOf returns the processes of the engines of a data directory, all of which run.
func enginesOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	pids := map[string]int{}
	for _, engine := range []string{embedded.DynamoDB, embedded.S3, embedded.Redis} {
		pid, _, ok := child.PidFile(filepath.Join(dir, engine+".pid")).Read()
		require.True(t, ok, "%s", engine)
		_, runs := child.CommandLine(pid)
		assert.True(t, runs, "%s runs", engine)
		pids[engine] = pid
	}
	return pids
}
