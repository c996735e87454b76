package processes

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/cli"
)

const archiveState = `query($i: ID!) { node(id: $i) { ... on Archive { state entries bytes url message } } }`

// A server is killed while it writes an archive. Another one writes all of it, when the lease of the first one is over.
func TestAnArchiveIsWholeAfterItsServerWasKilled(t *testing.T) {
	env := append(apitest.Remote(t), "TAGGIE_COST_BUDGET=0")
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)
	writes, kill := apitest.StartProcess(t, env, apitest.FreePort(t))
	const notes = 1000
	file := bytes.Repeat([]byte("ten bytes "), 1<<20)
	var ada *apitest.Client
	var id string
	state := func() string { return ada.Must(archiveState, apitest.Vars{"i": id}).Str("node.state") }
	for i, killed := 0, false; !killed; i++ { // each time another user, of whom no archive is kept
		ada = signedUp(writes, env, fmt.Sprintf("ada%d@example.com", i))
		ada.Notes(notes)
		ada.Uploads(file, apitest.Vars{"name": "large.txt", "type": "text/plain"})
		id = ada.Mutate("createArchive", "archive { id }", apitest.Vars{}).Str("result.archive.id")
		for state() == "QUEUED" { //nolint:revive // asking takes its time
		}
		kill()
		writes, kill = apitest.StartProcess(t, env, apitest.FreePort(t))
		ada.Server = writes
		killed = state() == "RUNNING" // and not done before
	}
	require.Eventually(t, func() bool { return state() == "DONE" }, 2*time.Minute, 100*time.Millisecond)

	a := ada.Must(archiveState, apitest.Vars{"i": id})
	_, body := apitest.Fetch(t, a.Str("node.url"))
	assert.InDelta(t, len(body), a.At("node.bytes"), 0)
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	require.NoError(t, err)
	files := 0
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		if f.Name == "notes.jsonl" {
			assert.Equal(t, notes, bytes.Count(content, []byte("\n")))
		}
		if strings.HasPrefix(f.Name, "files/") {
			files++
			assert.True(t, bytes.Equal(file, content))
		}
	}
	assert.Equal(t, 1, files)
}
