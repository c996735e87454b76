package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asServer makes the test binary the server: a process that can be killed, of the code that is tested.
const asServer = "TEST_BINARY_IS_THE_SERVER"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "thumbnail" { // servers start it to decode images
		main()
		return
	}
	if os.Getenv(asServer) != "" {
		limitFiles(os.Getenv(withFilesUpTo))
		os.Args = []string{os.Args[0], "serve", "--no-demo"}
		main()
		return
	}
	// The parallel ones wait for engines and leases more than for a processor.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run()) // parses the flags, so the command line has the last word
}

// startProcess starts the server as a process of its own and waits until it is ready. The returned function kills it.
func startProcess(t *testing.T, env []string, addr string) (s *testServer, kill func()) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	s = &testServer{t: t, url: "http://" + addr, logs: &lockedBuffer{}}
	command := exec.Command(binary)
	command.Env = append(append(os.Environ(), env...), asServer+"=yes", "TAGGIE_ADDR="+addr)
	command.Stdout, command.Stderr = s.logs, s.logs
	require.NoError(t, command.Start())
	kill = func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(kill)
	require.Eventually(t, func() bool {
		resp, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "%s", s.logs)
	return s, kill
}

// The server is killed, and the engines with it. What was going on waits for its lease (30 seconds for the import) or for
// indexes to have caught up (70 for the deletion).
func TestWhatWasGoingOnWhenTheServerWasKilledGoesOn(t *testing.T) {
	t.Parallel()
	const items, relations = 6_000, 300
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	token, err := run(t, env, func(_ context.Context, term *terminal) error {
		return tokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)
	s, kill := startProcess(t, env, freePort(t))
	ada := &client{testServer: s, token: strings.TrimSpace(token)}
	ada.must(`mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } }`, nil)

	r := ada.space("Killed")
	var inputs []vars
	for i := range relations {
		inputs = append(inputs, vars{"scopeId": r.scope, "type": "Thing", "key": fmt.Sprintf("t%03d", i), "attributes": vars{}})
	}
	things := make([]string, relations)
	for i, a := range ada.all("setEntity", "entity { id }", inputs) {
		things[i] = a.str("entity.id")
	}
	hub := r.set("Hub", "hub", vars{}, under("to", things...))
	for _, thing := range things[:20] {
		r.mutate("addEntityRelations", "entity { id }", vars{"entityId": thing, "predicate": "in", "objects": objects(hub)})
	}

	l := ada.project("Killed")
	text := lines(0, items)
	id, upload := l.awaiting("JSON_LINES", len(text))
	require.Equal(t, http.StatusOK, upload(text))
	l.must(startImport, vars{"i": id})
	require.Eventually(t, func() bool { return l.anImport(id).at("imported").(float64) > 0 }, time.Minute, 5*time.Millisecond)
	go func() { // it has no answer
		body := strings.NewReader(`{"query": "mutation { deleteEntity(input: {entityId: \"` + hub + `\"}) { deletedEntityId } }"}`)
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, s.url+"/graphql", body)
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+ada.token)
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	require.Eventually(t, func() bool {
		return ada.must(`query($e: ID!) { entity(id: $e) { id } }`, vars{"e": hub}).at("entity") == nil
	}, time.Minute, time.Millisecond)
	before := l.anImport(id)
	kill()
	require.Equal(t, "RUNNING", before.str("state"), "it is in the middle")

	s, _ = startProcess(t, env, freePort(t))
	ada = &client{testServer: s, token: ada.token}
	r.client, l.client = ada, ada
	i := l.anImport(id)
	assert.Equal(t, "RUNNING", i.str("state"))
	assert.GreaterOrEqual(t, i.at("imported"), before.at("imported"))
	assert.Less(t, i.at("imported"), float64(items))
	require.Eventually(t, func() bool { return l.anImport(id).str("state") == "DONE" }, 2*time.Minute, 200*time.Millisecond, "%s", s.logs)
	i = l.anImport(id)
	assert.InDelta(t, items, i.at("imported"), 0)
	assert.InDelta(t, items, i.at("lines"), 0)
	assert.InDelta(t, 0, i.at("duplicates"), 0)
	assert.InDelta(t, len(text), i.at("bytesRead"), 0)
	all := l.externalIDs()
	assert.Len(t, all, items)
	assert.Len(t, unique(all), items, "no item is there twice")

	assert.Nil(t, ada.must(`query($e: ID!) { entity(id: $e) { id } }`, vars{"e": hub}).at("entity"))
	var a *answer
	// Its row, which keeps the id taken, goes last.
	require.Eventually(t, func() bool {
		a = r.mutate("setEntity", "entity { version }", vars{"scopeId": r.scope, "type": "Hub", "key": "hub", "attributes": vars{}})
		if len(a.Errors) > 0 {
			a.fails("UNAVAILABLE", "")
			return false
		}
		return true
	}, 3*time.Minute, 500*time.Millisecond, "what was deleted is still there: %s", s.logs)
	assert.InDelta(t, 1, a.at("result.entity.version"), 0, "another one")
	a = ada.must(`query($s: ID!) { scope(id: $s) { entities(type: "Thing", first: 500) { nodes { relations(first: 1) { edges { predicate } } reverseRelations(first: 1) { edges { predicate } } } } } }`, vars{"s": r.scope})
	assert.Len(t, a.list("scope.entities.nodes"), relations)
	assert.NotContains(t, a.body, `"predicate"`, "nothing is left of its relations in either direction")
	assert.Empty(t, r.related(hub, "relations", "")+r.related(hub, "reverseRelations", ""))
}
