package processes

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/child"
)

// Who copies the directory of a running server copies the files in it that name its processes and addresses, too.
func TestAServerOnACopyOfTheDirectoryLeavesTheFirstAlone(t *testing.T) {
	t.Parallel()
	dir, copied := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "copy")
	env := []string{"TAGGIE_DATA=" + dir}
	token, err := apitest.Run(t, env, func(_ context.Context, term *cli.Terminal) error {
		return cli.TokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)
	signUp := `mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } }`
	rename := `mutation($n: String!) { updateUser(input: {name: $n}) { user { name } } }`
	name := `{ viewer { name } }`

	first, _ := apitest.StartProcess(t, env, apitest.FreePort(t))
	ada := &apitest.Client{Server: first, Token: strings.TrimSpace(token)}
	ada.Must(signUp, nil)
	pids := enginesOf(t, dir)
	checked, err := apitest.Run(t, env, cli.TablesCheck{}.Run) // which finds the engines of the server beside which it runs
	require.NoError(t, err)
	assert.Contains(t, checked, "taggie_notes")

	require.NoError(t, exec.CommandContext(t.Context(), "cp", "-r", dir, copied).Run())
	second, _ := apitest.StartProcess(t, []string{"TAGGIE_DATA=" + copied}, apitest.FreePort(t))
	twin := &apitest.Client{Server: second, Token: ada.Token}
	assert.Equal(t, "Ada", twin.Must(name, nil).Str("viewer.name"), "it was copied")
	twin.Must(rename, apitest.Vars{"n": "Twin"})

	assert.Equal(t, pids, enginesOf(t, dir))
	assert.Equal(t, "Ada", ada.Must(name, nil).Str("viewer.name"), "the first one has its own data")
	assert.NotContains(t, first.Logs.String(), "engine ended")
	ada.Must(rename, apitest.Vars{"n": "Ada again"})
	assert.Equal(t, "Twin", twin.Must(name, nil).Str("viewer.name"))
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
