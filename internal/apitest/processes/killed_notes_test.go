package processes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/cli"
)

const followNotes = `subscription($after: NoteCursor) { noteEvents(after: $after) {
	... on NotePosition { cursor } ... on NoteGap { message } ... on NoteEvent { cursor noteId note { version } } } }`

// A server is killed while many change notes at it, and the one at which their owner listens, too. The owner goes on at a third one, and has been told of
// each change that is stored.
func TestAFollowerIsToldOfAllThatIsStoredThoughServersAreKilled(t *testing.T) {
	env := append(apitest.Remote(t), "TAGGIE_COST_BUDGET=0")
	_, err := apitest.Run(t, env, cli.TablesApply{}.Run)
	require.NoError(t, err)
	stays, _ := apitest.StartProcess(t, env, apitest.FreePort(t))
	for round := range 3 {
		changed, killChanged := apitest.StartProcess(t, env, apitest.FreePort(t))
		heard, killHeard := apitest.StartProcess(t, env, apitest.FreePort(t))
		ada := signedUp(stays, env, fmt.Sprintf("ada%d@example.com", round))
		notes := ada.Notes(40)
		first := ada.At(heard).Subscribe(followNotes, nil)
		cursor := first.Message().Str("cursor")

		told := map[string]float64{} // the version of each note
		ended := make(chan struct{}, len(notes))
		for _, n := range notes {
			go func() {
				defer func() { ended <- struct{}{} }()
				for range 15 { // fewer in all than are kept
					if !answered(t.Context(), ada.At(changed), `mutation($id: ID!, $t: String!) { updateNote(input: {noteId: $id, title: $t}) { note { id } } }`, n) {
						return
					}
				}
			}()
		}
		take := func(s *apitest.Stream) {
			t.Helper()
			m := s.Message()
			require.Nil(t, m.At("message"), "a gap")
			if c, ok := m.At("cursor").(string); ok {
				cursor = c
			}
			if version, ok := m.At("note.version").(float64); ok {
				told[m.Str("noteId")] = max(told[m.Str("noteId")], version)
			}
		}
		for range 60 {
			take(first)
		}
		killChanged()
		killHeard()
		for range notes {
			<-ended
		}
		second := ada.Subscribe(followNotes, apitest.Vars{"after": cursor})
		for stored := versions(ada); !covers(told, stored); stored = versions(ada) { // a write may have been on its way to the store
			take(second)
		}
	}
}

// versions are those of all notes of a user.
func versions(of *apitest.Client) map[string]float64 {
	all := map[string]float64{}
	for _, n := range of.Must(`{ viewer { notes(first: 100) { nodes { id version } } } }`, nil).List("viewer.notes.nodes") {
		one := n.(map[string]any)
		all[one["id"].(string)] = one["version"].(float64)
	}
	return all
}

// covers reports whether each change that is stored was told; notes as they were made are known without.
func covers(told, stored map[string]float64) bool {
	for n, version := range stored {
		if version > 1 && told[n] < version {
			return false
		}
	}
	return true
}

// answered sends a mutation of an object, which gets another title, and reports whether the server answered.
func answered(ctx context.Context, who *apitest.Client, mutation, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := json.Marshal(map[string]any{"query": mutation, "variables": map[string]any{"id": id, "t": time.Now().String()}})
	if err != nil {
		return false
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, who.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+who.Token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode == http.StatusOK
}
