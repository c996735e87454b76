package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/faultinject"
)

// withFilesUpTo bounds the files that a server of [startProcess] may make, in bytes.
const withFilesUpTo = "TEST_BINARY_WITH_FILES_UP_TO"

const createLongNote = `mutation($c: String!) { createNote(input: {title: "long", content: $c}) { note { id } } }`

// fullDisk demands that an answer says that the disk is full, in words for clients and nothing else.
func (a *answer) fullDisk() {
	a.t.Helper()
	require.Len(a.t, a.Errors, 1, "%s", a.body)
	assert.Equal(a.t, "UNAVAILABLE", a.Errors[0].Extensions.Code)
	assert.True(a.t, a.Errors[0].Extensions.Retryable)
	assert.Equal(a.t, dynamo.MessageDiskFull, a.Errors[0].Message)
}

// The server and its engines may make no file larger than 72 MiB: that is how a full disk looks to them.
func TestAFullDiskIsSaidBeforeAnythingIsHalfDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"TAGGIE_DATA=" + dir, withFilesUpTo + "=" + strconv.Itoa(roomToBegin+8<<20)}
	token, err := run(t, env[:1], func(_ context.Context, term *terminal) error {
		return tokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)
	s, kill := startProcess(t, env, freePort(t))
	ada := &client{testServer: s, token: strings.TrimSpace(token)}
	ada.must(`mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } }`, nil)

	written, long := 0, vars{"c": strings.Repeat("x", 300_000)}
	var a *answer
	for a = ada.do(createLongNote, long); len(a.Errors) == 0 && written < 100; a = ada.do(createLongNote, long) {
		written++
	}
	a.fullDisk()
	assert.Greater(t, written, 3)
	count := func() int {
		return len(ada.must(`{ viewer { notes(first: 500) { nodes { id } } } }`, nil).list("viewer.notes.nodes"))
	}
	assert.Equal(t, written, count(), "reading goes on, and what was refused is not there")
	status, text := s.readiness()
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, text, `"disk":"`+dynamo.MessageDiskFull)
	assert.Contains(t, text, `"dynamodb":"ok"`)
	assert.Contains(t, s.logs.String(), "the disk is full")
	assert.NotContains(t, s.logs.String(), "engine ended")
	kill()

	s, _ = startProcess(t, env[:1], freePort(t)) // there is room again
	ada.testServer = s
	ada.must(createLongNote, long)
	assert.Equal(t, written+1, count())
}

// readiness returns what /readyz says.
func (s *testServer) readiness() (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/readyz", nil)
	require.NoError(s.t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, string(text)
}

// What the engine itself says when its disk is full, wherever in a change it comes, reads the same and leaves nothing behind.
func TestAFullDiskOfTheEngineIsSaid(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ada := s.user("ada@example.com")
	full := s.faults.DiskFull(faultinject.Always, faultinject.Writes)
	began := time.Now()
	for _, mutation := range []string{
		`mutation { createNote(input: {title: "t", content: "c", tags: ["x"]}) { note { id } } }`,
		`mutation { createProject(input: {name: "p", categories: ["a"]}) { project { id } } }`,
		`mutation { createScope(input: {name: "s"}) { scope { id } } }`,
		`mutation { updateUser(input: {name: "Eve"}) { user { id } } }`,
	} {
		ada.do(mutation, nil).fullDisk()
	}
	assert.Less(t, time.Since(began), 20*time.Second, "nothing is repeated until the deadline")
	full.Stop()
	a := ada.must(`{ viewer { name notes(first: 5) { nodes { id } } } }`, nil)
	assert.Empty(t, a.list("viewer.notes.nodes"))
	assert.NotEqual(t, "Eve", a.str("viewer.name"))
}

func TestTheDiskIsToldOnceAMinuteAndComesBack(t *testing.T) {
	t.Parallel()
	now, room := time.Now(), int64(0)
	var logs lockedBuffer
	d := &disk{dir: "data", log: slog.New(slog.NewTextHandler(&logs, nil)), now: func() time.Time { return now },
		room: func(string) (int64, error) { return room, nil }}
	told := func() int { return strings.Count(logs.String(), "the disk is full; no changes") }
	for range 3 {
		require.Error(t, d.check(t.Context()))
	}
	assert.Equal(t, 1, told())
	now = now.Add(diskToldAgain)
	require.Error(t, d.check(t.Context()))
	assert.Equal(t, 2, told())

	room = roomToBegin
	require.NoError(t, d.check(t.Context()))
	d.refused = now // the engine said so
	require.Error(t, d.check(t.Context()))
	now = now.Add(refusedFor)
	require.NoError(t, d.check(t.Context()))
	room = roomToBegin - 1
	require.Error(t, d.check(t.Context()), "nothing begins")
	require.NoError(t, d.left(roomToWrite), "what has begun ends")
}
