package requests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

func TestThreeHundredSharedNotesArriveThroughThrottlesAndLeftovers(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(time.Minute))
	reader := apitest.ShareThreeHundred(s)
	undisturbed := reader.Must(apitest.SharedNotes, nil).Raw()

	left := s.Faults.LeaveUnprocessed(1, faultinject.Always)
	throttled := s.Faults.Throttle(faultinject.Every(10))
	s.Faults.Recorder().Reset()
	a := reader.Must(apitest.SharedNotes, nil)
	assert.Equal(t, undisturbed, a.Raw())
	assert.Greater(t, left.Hits(), 600, "one key in each answer")
	assert.Greater(t, throttled.Hits(), 60)
	assert.Empty(t, s.Faults.Recorder().Violations())
	assert.Equal(t, throttled.Hits(), a.Extensions.Dynamo.Retries, "the extension tells of repeated attempts")
}

func TestAKeyThatIsNeverProcessedIsOneErrorAtTheDeadline(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(4*time.Second))
	reader := apitest.ShareThreeHundred(s)
	const query = `{ viewer { sharedNotes(first: 300) { edges { node { id title latestVersion { id number } owner { name } } } } } }`
	whole := reader.Must(query, nil)
	note := ""
	at := 0
	for i, edge := range whole.List("viewer.sharedNotes.edges") {
		if n := edge.(map[string]any)["node"].(map[string]any); n["latestVersion"] != nil {
			note, at = n["id"].(string), i
		}
	}
	raw := apitest.GlobalKey(t, note)[1]
	path := []any{"viewer", "sharedNotes", "edges", float64(at), "node"}
	for _, test := range []struct {
		reason, key string
		path        []any
	}{
		{"the locator", `{"PK":{"S":"NOTE#` + raw + `"},"SK":{"S":"LOCATOR"}}`, path},
		{"the version", `{"PK":{"S":"NOTE_HISTORY#` + raw + `"}`, append(path[:5:5], "latestVersion")},
	} {
		t.Run(test.reason, func(t *testing.T) {
			rule := s.Faults.NeverProcess(func(k faultinject.Key) bool { return strings.HasPrefix(k.Attributes, test.key) })
			defer rule.Stop()
			a := reader.Do(query, nil)
			require.Len(t, a.Errors, 1, "%s", a.Body)
			assert.Equal(t, "UNAVAILABLE", a.Errors[0].Extensions.Code)
			assert.True(t, a.Errors[0].Extensions.Retryable)
			assert.Equal(t, test.path, a.Errors[0].Path)

			// Without what could not be read, the answer is what it was.
			expected := (&apitest.Answer{T: t, Body: whole.Body}).Object()
			unread := expected
			for _, step := range test.path[:len(test.path)-1] {
				if name, ok := step.(string); ok {
					unread, _ = unread[name].(map[string]any)
				} else {
					edges := expected["viewer"].(map[string]any)["sharedNotes"].(map[string]any)["edges"].([]any)
					unread = edges[int(step.(float64))].(map[string]any)
				}
			}
			unread[test.path[len(test.path)-1].(string)] = nil
			assert.Equal(t, expected, a.Object())
		})
	}

	t.Run("a user", func(t *testing.T) {
		s.Faults.NeverProcess(func(k faultinject.Key) bool {
			return strings.Contains(k.Attributes, apitest.GlobalKey(t, reader.ID)[1])
		})
		defer s.Faults.Clear()
		other := s.User("other@example.com")
		a := other.Do(`query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, apitest.Vars{"ids": []string{other.ID, reader.ID, other.ID}})
		require.Len(t, a.Errors, 1, "%s", a.Body)
		assert.Equal(t, "UNAVAILABLE", a.Errors[0].Extensions.Code)
		assert.Equal(t, []any{"nodes", float64(1)}, a.Errors[0].Path)
		assert.Equal(t, []any{map[string]any{"id": other.ID}, nil, map[string]any{"id": other.ID}}, a.List("nodes"))
	})
}

func TestAMutationHasItsEffectOnceWhateverHappens(t *testing.T) {
	for reason, disturb := range map[string]func(*faultinject.Injector) *faultinject.Rule{
		"a conflict with another transaction": func(f *faultinject.Injector) *faultinject.Rule {
			return f.Conflict(faultinject.First(3), apitest.Transactions)
		},
		"a connection that breaks before the write": func(f *faultinject.Injector) *faultinject.Rule {
			return f.ResetBefore(faultinject.First(2), apitest.Transactions)
		},
		"a connection that breaks after the write": func(f *faultinject.Injector) *faultinject.Rule {
			return f.ResetAfter(faultinject.First(2), apitest.Transactions)
		},
		"throttled writes": func(f *faultinject.Injector) *faultinject.Rule {
			return f.Throttle(faultinject.First(5), apitest.Transactions)
		},
		"an engine that fails": func(f *faultinject.Injector) *faultinject.Rule {
			return f.Fail(http.StatusInternalServerError, "InternalServerError", faultinject.First(4), apitest.Transactions)
		},
		"reads that fail": func(f *faultinject.Injector) *faultinject.Rule {
			return f.Throttle(faultinject.First(4), faultinject.Reads)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			s := apitest.NewServer(t, apitest.Within(time.Minute))
			ada := s.User("ada@example.com")
			ada.Must("{ viewer { id } }", nil)
			const titles = `{ viewer { notes { nodes { id title version versions { nodes { number title } } } } } }`
			expect := func(expected string) {
				t.Helper()
				s.Faults.Clear()
				var nodes []any
				for _, n := range ada.Must(titles, nil).List("viewer.notes.nodes") {
					n := n.(map[string]any)
					nodes = append(nodes, []any{n["title"], n["version"], len(n["versions"].(map[string]any)["nodes"].([]any))})
				}
				assert.Equal(t, expected, fmt.Sprint(nodes))
			}
			rule := disturb(s.Faults)
			created := ada.Must(`mutation { createNote(input: {title: "one", content: "c", tags: ["a"]}) { note { id title owner { name } } } }`, nil)
			id := created.Str("createNote.note.id")
			hits := rule.Hits()
			expect("[[one 1 0]]")

			rule = disturb(s.Faults)
			updated := ada.Must(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "two", expectedVersion: 1}) { note { version } problem { __typename } } }`, apitest.Vars{"id": id})
			hits += rule.Hits()
			assert.Nil(t, updated.At("updateNote.problem"))
			expect("[[two 2 1]]")

			rule = disturb(s.Faults)
			deleted := ada.Must(`mutation($id: ID!) { deleteNote(input: {noteId: $id, expectedVersion: 2}) { deletedNote { noteId } problem { __typename } } }`, apitest.Vars{"id": id})
			hits += rule.Hits()
			assert.Equal(t, id, deleted.At("deleteNote.deletedNote.noteId"))
			expect("[]")
			assert.GreaterOrEqual(t, hits, 6, "it did happen")
		})
	}
}

func TestAnUnknownOutcomeIsMadeSafeByTheIdempotencyKey(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(1500*time.Millisecond))
	ada := s.User("ada@example.com")
	ada.Must("{ viewer { id } }", nil)
	rule := s.Faults.ResetAfter(faultinject.Always, apitest.Transactions)
	// Neither can the server find out later: the key is looked up once, before the write.
	s.Faults.Throttle(func(n int) bool { return n > 1 }, faultinject.Operation("GetItem"))
	const create = `mutation { createNote(input: {title: "once", content: "c", idempotencyKey: "k"}) { note { id title } } }`
	a := ada.Do(create, nil)
	a.Fails("UNAVAILABLE", "")
	assert.True(t, a.Errors[0].Extensions.Retryable)
	assert.Contains(t, a.Errors[0].Message, "unknown", "the client is told that it may have happened")
	assert.Equal(t, []any{"createNote"}, a.Errors[0].Path)
	require.Positive(t, rule.Hits())
	s.Faults.Clear()

	first := ada.Must(create, nil).Str("createNote.note.id")
	assert.Equal(t, first, ada.Must(create, nil).Str("createNote.note.id"))
	assert.Len(t, ada.Must(`{ viewer { notes { nodes { id } } } }`, nil).List("viewer.notes.nodes"), 1)
}

func TestAClientThatGoesAwayEndsItsCalls(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(5*time.Minute))
	ada := s.User("ada@example.com")
	note := ada.Notes(1)[0]
	began, ended := make(chan struct{}), make(chan error, 1)
	s.Faults.Sleep = func(ctx context.Context, _ time.Duration) error {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	s.Faults.Delay(0, faultinject.First(1), faultinject.Operation("Query"))

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/graphql", strings.NewReader(`{"query": "{ viewer { notes { nodes { id } } } }"}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+ada.Token)
	gone := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			err = errors.Join(errors.New("an answer came"), resp.Body.Close())
		}
		gone <- err
	}()
	<-began
	leave()
	require.ErrorIs(t, <-gone, context.Canceled)
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled, "long before the deadline of the operation")
	case <-time.After(30 * time.Second):
		require.Fail(t, "the call went on although nobody waits for it")
	}
	assert.Equal(t, "note 000", ada.Must(`query($id: ID!) { note(id: $id) { title } }`, apitest.Vars{"id": note}).Str("note.title"), "others are served")
}

// readers are the ways to a note by its id.
var readers = map[string]string{
	"node":         `query($id: ID!) { node(id: $id) { ... on Note { title } } }`,
	"nodes":        `query($id: ID!) { nodes(ids: [$id]) { ... on Note { title } } }`,
	"notes by tag": `{ viewer { tag(value: "moving") { notes { nodes { title } } } } }`,
	"shared notes": `{ viewer { sharedNotes { nodes { title } } } }`,
}

func TestAMovedDeadlineNeverHidesTheNote(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(30*time.Second))
	ada, bob := s.User("ada@example.com"), s.User("bob@example.com")
	note := ada.Notes(1, func(_ int, input apitest.Vars) { input["tags"] = []string{"moving"} })[0]
	ada.Share([]string{note}, bob)
	who := map[string]*apitest.Client{"node": ada, "nodes": bob, "notes by tag": ada, "shared notes": bob}
	day := 0
	move := func() {
		day++
		ada.Must(`mutation($id: ID!, $deadline: DateTime) { changeNoteDeadline(input: {noteId: $id, deadline: $deadline}) { note { deadline } } }`,
			apitest.Vars{"id": note, "deadline": time.Date(2027, 1, day, 0, 0, 0, 0, time.UTC)})
	}
	locators := func(c *faultinject.Call) bool {
		return c.Operation == "BatchGetItem" && strings.Contains(string(c.Body), "LOCATOR")
	}
	for name, query := range readers {
		t.Run(name+" between the rows of the move", func(t *testing.T) {
			defer s.Faults.Clear()
			answers := make(chan *apitest.Answer, 1)
			var gate *faultinject.Gate
			s.Faults.RowByRow(func(_ context.Context, shown, rows int) {
				if shown != rows-2 { // the locator and the event are to come
					return
				}
				// The old row is gone, the locator still points to it. The reader finds that out and comes back to the locator.
				gate = s.Faults.Hold(faultinject.Nth(2), locators)
				go func() { answers <- who[name].Do(query, apitest.Vars{"id": note}) }()
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				assert.NoError(t, gate.Wait(ctx, 1), "the reader has met the old locator")
			}, apitest.Transactions)
			move()
			require.NotNil(t, gate)
			gate.Open()
			a := <-answers
			require.Empty(t, a.Errors, "%s", a.Body)
			assert.Contains(t, a.Raw(), `"note 000"`)
		})
	}

	t.Run("in a loop", func(t *testing.T) {
		defer s.Faults.Clear()
		s.Faults.RowByRow(func(context.Context, int, int) {}, apitest.Transactions)
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		var found atomic.Int64
		for name, query := range readers {
			group.Go(func() {
				for ctx.Err() == nil {
					a := who[name].Do(query, apitest.Vars{"id": note})
					// A note that moves faster than it can be found is told to be so, after three more looks. It is never absent.
					for _, e := range a.Errors {
						assert.Equal(t, "UNAVAILABLE", e.Extensions.Code, "%s: %s", name, a.Body)
						assert.True(t, e.Extensions.Retryable)
					}
					if len(a.Errors) == 0 {
						assert.Contains(t, a.Raw(), `"note 000"`, name)
						found.Add(1)
					}
				}
			})
		}
		for range 20 {
			move()
		}
		stop()
		group.Wait()
		assert.Greater(t, found.Load(), int64(20))
	})
}

func TestLogsHoldNoPersonalData(t *testing.T) {
	s := apitest.NewServer(t, apitest.Within(2*time.Second))
	ada := s.As("private.address@example.com")
	ada.Must(`mutation { createUser(input: {name: "Private Name", email: "private.address@example.com"}) { user { id } } }`, nil)
	const create = `mutation($title: String!) { createNote(input: {title: $title, content: "private content", tags: ["private tag"], idempotencyKey: "private key"}) { note { id } } }`
	id := ada.Must(create, apitest.Vars{"title": "private title"}).Str("createNote.note.id")
	ada.Do(create, apitest.Vars{"title": "another private title"}).Fails("CONFLICT", "input.idempotencyKey")
	ada.Do(`{ viewer { notes(after: "private cursor") { nodes { id } } } }`, nil).Fails("INVALID_INPUT", "after")
	ada.Do(`{ privateAlias: privateField }`, nil)
	(&apitest.Client{Server: s, Token: ada.Token + "forged"}).Do("{ viewer { id } }", nil)
	for _, f := range []func(){
		func() { s.Faults.Fail(http.StatusBadRequest, "ValidationException", faultinject.Always) },
		func() {
			s.Faults.Fail(http.StatusBadRequest, "ValidationException", faultinject.Always, apitest.Transactions)
		},
		func() { s.Faults.ResetAfter(faultinject.Always, apitest.Transactions) },
	} {
		f()
		ada.Do(`{ privateAlias: viewer { notes { nodes { title } } tag(value: "private tag") { value } } userByEmail(email: "private.address@example.com") { name } }`, nil)
		ada.Do(`mutation($id: ID!) { updateNote(input: {noteId: $id, title: "private title 2", content: "private content 2"}) { note { id } } }`, apitest.Vars{"id": id})
		s.Faults.Clear()
	}
	logs := s.Logs.String()
	require.Contains(t, logs, "outcome=INTERNAL")
	require.Contains(t, logs, "outcome=UNAVAILABLE")
	lower := bytes.ToLower([]byte(logs))
	for _, personal := range []string{"private", "address@", ada.Token, strings.Split(ada.Token, ".")[1]} {
		assert.NotContains(t, string(lower), strings.ToLower(personal))
	}
}
