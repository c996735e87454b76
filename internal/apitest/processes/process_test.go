package processes

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/cli"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// The server is killed, and the engines with it. What was going on waits for its lease (30 seconds for the import) or for
// indexes to have caught up (70 for the deletion).
func TestWhatWasGoingOnWhenTheServerWasKilledGoesOn(t *testing.T) {
	t.Parallel()
	const items, relations = 6_000, 300
	env := []string{"TAGGIE_DATA=" + t.TempDir()}
	token, err := apitest.Run(t, env, func(_ context.Context, term *cli.Terminal) error {
		return cli.TokenCommand{Email: "ada@example.com", TTL: time.Hour}.Run(term)
	})
	require.NoError(t, err)
	s, kill := apitest.StartProcess(t, env, apitest.FreePort(t))
	ada := &apitest.Client{Server: s, Token: strings.TrimSpace(token)}
	ada.Must(`mutation { createUser(input: {name: "Ada", email: "ada@example.com"}) { user { id } } }`, nil)

	r := ada.Space("Killed")
	var inputs []apitest.Vars
	for i := range relations {
		inputs = append(inputs, apitest.Vars{"scopeId": r.Scope, "type": "Thing", "key": fmt.Sprintf("t%03d", i), "attributes": apitest.Vars{}})
	}
	things := make([]string, relations)
	for i, a := range ada.All("setEntity", "entity { id }", inputs) {
		things[i] = a.Str("entity.id")
	}
	hub := r.Set("Hub", "hub", apitest.Vars{}, apitest.Under("to", things...))
	for _, thing := range things[:20] {
		r.Mutate("addEntityRelations", "entity { id }", apitest.Vars{"entityId": thing, "predicate": "in", "objects": apitest.Objects(hub)})
	}

	l := ada.Project("Killed")
	text := apitest.Lines(0, items)
	id, upload := l.Awaiting("JSON_LINES", len(text))
	require.Equal(t, http.StatusOK, upload(text))
	l.Must(apitest.StartImport, apitest.Vars{"i": id})
	require.Eventually(t, func() bool { return l.AnImport(id).At("imported").(float64) > 0 }, time.Minute, 5*time.Millisecond)
	go func() { // it has no answer
		body := strings.NewReader(`{"query": "mutation { deleteEntity(input: {entityId: \"` + hub + `\"}) { deletedEntityId } }"}`)
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, s.URL+"/graphql", body)
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+ada.Token)
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	require.Eventually(t, func() bool {
		return ada.Must(`query($e: ID!) { entity(id: $e) { id } }`, apitest.Vars{"e": hub}).At("entity") == nil
	}, time.Minute, time.Millisecond)
	before := l.AnImport(id)
	kill()
	require.Equal(t, "RUNNING", before.Str("state"), "it is in the middle")

	s, _ = apitest.StartProcess(t, env, apitest.FreePort(t))
	ada = &apitest.Client{Server: s, Token: ada.Token}
	r.Client, l.Client = ada, ada
	i := l.AnImport(id)
	assert.Equal(t, "RUNNING", i.Str("state"))
	assert.GreaterOrEqual(t, i.At("imported"), before.At("imported"))
	assert.Less(t, i.At("imported"), float64(items))
	require.Eventually(t, func() bool { return l.AnImport(id).Str("state") == "DONE" }, 2*time.Minute, 200*time.Millisecond, "%s", s.Logs)
	i = l.AnImport(id)
	assert.InDelta(t, items, i.At("imported"), 0)
	assert.InDelta(t, items, i.At("lines"), 0)
	assert.InDelta(t, 0, i.At("duplicates"), 0)
	assert.InDelta(t, len(text), i.At("bytesRead"), 0)
	all := l.ExternalIDs()
	assert.Len(t, all, items)
	assert.Len(t, apitest.Unique(all), items, "no item is there twice")

	assert.Nil(t, ada.Must(`query($e: ID!) { entity(id: $e) { id } }`, apitest.Vars{"e": hub}).At("entity"))
	var a *apitest.Answer
	// Its row, which keeps the id taken, goes last.
	require.Eventually(t, func() bool {
		a = r.Mutate("setEntity", "entity { version }", apitest.Vars{"scopeId": r.Scope, "type": "Hub", "key": "hub", "attributes": apitest.Vars{}})
		if len(a.Errors) > 0 {
			a.Fails("UNAVAILABLE", "")
			return false
		}
		return true
	}, 3*time.Minute, 500*time.Millisecond, "what was deleted is still there: %s", s.Logs)
	assert.InDelta(t, 1, a.At("result.entity.version"), 0, "another one")
	a = ada.Must(`query($s: ID!) { scope(id: $s) { entities(type: "Thing", first: 500) { nodes { relations(first: 1) { edges { predicate } } reverseRelations(first: 1) { edges { predicate } } } } } }`, apitest.Vars{"s": r.Scope})
	assert.Len(t, a.List("scope.entities.nodes"), relations)
	assert.NotContains(t, a.Body, `"predicate"`, "nothing is left of its relations in either direction")
	assert.Empty(t, r.Related(hub, "relations", "")+r.Related(hub, "reverseRelations", ""))
}
