package processes

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/cli"
	"github.com/taggie/taggie/internal/faultinject"
)

const createLongNote = `mutation($c: String!) { createNote(input: {title: "long", content: $c}) { note { id } } }`

// fullDisk demands that an answer says that the disk is full, in words for clients and nothing else.
func fullDisk(a *apitest.Answer) {
	a.T.Helper()
	require.Len(a.T, a.Errors, 1, "%s", a.Body)
	assert.Equal(a.T, "UNAVAILABLE", a.Errors[0].Extensions.Code)
	assert.True(a.T, a.Errors[0].Extensions.Retryable)
	assert.Equal(a.T, dynamo.MessageDiskFull, a.Errors[0].Message)
}

// The server and its engines may make no file larger than 72 MiB: that is how a full disk looks to them.
func TestAFullDiskIsSaidBeforeAnythingIsHalfDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"TAGGIE_DATA=" + dir, apitest.WithFilesUpTo + "=" + strconv.Itoa(app.RoomToBegin+8<<20)}
	token, err := apitest.Run(t, env[:1], func(_ context.Context, term *cli.Terminal) error {
		return cli.TokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)
	s, kill := apitest.StartProcess(t, env, apitest.FreePort(t))
	ada := &apitest.Client{Server: s, Token: strings.TrimSpace(token)}
	ada.Must(`mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } }`, nil)

	written, long := 0, apitest.Vars{"c": strings.Repeat("x", 300_000)}
	var a *apitest.Answer
	for a = ada.Do(createLongNote, long); len(a.Errors) == 0 && written < 100; a = ada.Do(createLongNote, long) {
		written++
	}
	fullDisk(a)
	assert.Greater(t, written, 3)
	count := func() int {
		return len(ada.Must(`{ viewer { notes(first: 500) { nodes { id } } } }`, nil).List("viewer.notes.nodes"))
	}
	assert.Equal(t, written, count(), "reading goes on, and what was refused is not there")
	status, text := readiness(s)
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, text, `"disk":"`+dynamo.MessageDiskFull)
	assert.Contains(t, text, `"dynamodb":"ok"`)
	assert.Contains(t, s.Logs.String(), "the disk is full")
	assert.NotContains(t, s.Logs.String(), "engine ended")
	kill()

	s, _ = apitest.StartProcess(t, env[:1], apitest.FreePort(t)) // there is room again
	ada.Server = s
	ada.Must(createLongNote, long)
	assert.Equal(t, written+1, count())
}

// readiness returns what /readyz says.
func readiness(s *apitest.Server) (int, string) {
	s.T.Helper()
	r, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+"/readyz", nil)
	require.NoError(s.T, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.T, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.T, err)
	return resp.StatusCode, string(text)
}

// What the engine itself says when its disk is full, wherever in a change it comes, reads the same and leaves nothing behind.
func TestAFullDiskOfTheEngineIsSaid(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	ada := s.User("ada@example.com")
	full := s.Faults.DiskFull(faultinject.Always, faultinject.Writes)
	began := time.Now()
	for _, mutation := range []string{
		`mutation { createNote(input: {title: "t", content: "c", tags: ["x"]}) { note { id } } }`,
		`mutation { createProject(input: {name: "p", categories: ["a"]}) { project { id } } }`,
		`mutation { createScope(input: {name: "s"}) { scope { id } } }`,
		`mutation { updateUser(input: {name: "Eve"}) { user { id } } }`,
	} {
		fullDisk(ada.Do(mutation, nil))
	}
	assert.Less(t, time.Since(began), 20*time.Second, "nothing is repeated until the deadline")
	full.Stop()
	a := ada.Must(`{ viewer { name notes(first: 5) { nodes { id } } } }`, nil)
	assert.Empty(t, a.List("viewer.notes.nodes"))
	assert.NotEqual(t, "Eve", a.Str("viewer.name"))
}
