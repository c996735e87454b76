package requests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/faultinject"
)

// parted is an answer in parts, put together.
type parted struct {
	data   map[string]any
	errors []apitest.Error
	parts  int
	calls  int // of DynamoDB, as the last part tells
}

// increments is one part of an answer as a client reads it.
type increments struct {
	Data        map[string]any
	HasNext     *bool
	Errors      []apitest.Error
	Extensions  struct{ Dynamo struct{ Calls int } }
	Incremental []struct {
		Data       map[string]any
		Path       []any
		Errors     []apitest.Error
		Extensions struct{ Dynamo struct{ Calls int } }
	}
}

// inParts asks as a client does that accepts parts, and puts them together. Every part must belong to something that came before.
func inParts(c *apitest.Client, query string) parted {
	c.T.Helper()
	body, err := json.Marshal(map[string]any{"query": query})
	require.NoError(c.T, err)
	r, err := http.NewRequestWithContext(c.T.Context(), http.MethodPost, c.URL+"/graphql", strings.NewReader(string(body)))
	require.NoError(c.T, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "multipart/mixed;deferSpec=20220824, application/json",
		"Taggie-Extensions": "dynamo", "Authorization": "Bearer " + c.Token,
	} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(c.T, err)
	defer func() { _ = resp.Body.Close() }()
	_, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	require.NoError(c.T, err)
	var p parted
	more := true
	for reader := multipart.NewReader(resp.Body, params["boundary"]); ; p.parts++ {
		text, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(c.T, err)
		require.True(c.T, more, "nothing comes after the last part")
		var part increments
		require.NoError(c.T, json.NewDecoder(text).Decode(&part))
		require.NotNil(c.T, part.HasNext)
		more = *part.HasNext
		p.errors = append(p.errors, part.Errors...)
		if p.parts == 0 {
			p.data, p.calls = part.Data, part.Extensions.Dynamo.Calls
		}
		for _, i := range part.Incremental {
			place(c.T, p.data, i.Path, i.Data)
			p.errors = append(p.errors, i.Errors...)
			p.calls = i.Extensions.Dynamo.Calls
		}
	}
	require.False(c.T, more)
	return p
}

// place puts fields into the object at a path.
func place(t *testing.T, into any, path []any, fields map[string]any) {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			into = into.(map[string]any)[step]
		case float64:
			into = into.([]any)[int(step)]
		}
	}
	object, ok := into.(map[string]any)
	require.True(t, ok, "%v is not there yet", path)
	for name := range fields {
		assert.NotContains(t, object, name, "what is sent later was not sent as null before")
	}
	maps.Copy(object, fields)
}

var deferral = regexp.MustCompile(` @defer(\([^)]*\))?`)

func TestPartsMakeTheWholeAnswer(t *testing.T) {
	s := apitest.NewServer(t)
	ada, grace := s.User("ada@example.com"), s.User("grace@example.com")
	for i := range 12 {
		id := ada.Must(fmt.Sprintf(`mutation { createNote(input: {title: "Note %d", content: "content", tags: ["work", "n%d"]}) { note { id } } }`, i, i), nil).Str("createNote.note.id")
		ada.Must(`mutation($n: ID!, $u: ID!) { shareNote(input: {noteId: $n, userId: $u, permission: VIEW}) { problem { __typename } } }`, apitest.Vars{"n": id, "u": grace.ID})
	}
	for reason, query := range map[string]string{
		"a list":                  `{ viewer { name ... @defer(label: "notes") { notes(first: 10) { nodes { title tags { value } } pageInfo { hasNextPage } } } } }`,
		"fields of each element":  `{ viewer { notes(first: 10) { nodes { id title ... @defer { latestVersion { number } owner { name } accessList { edges { node { name } } } } } } } }`,
		"one in another":          `{ viewer { id ... @defer(label: "a") { email notes(first: 5) { nodes { id ... @defer(label: "b") { accessList { edges { permission ... @defer(label: "c") { node { id name } } } } } } } } } }`,
		"two labels of an object": `{ viewer { id ... @defer(label: "a") { email notes(first: 3) { nodes { id } } } ... @defer(label: "b") { email tags(first: 5) { nodes { value } } } } }`,
		"fragments by name":       `{ viewer { notes(first: 10) { nodes { ...n ...m @defer } } } } fragment n on Note { id owner { id } } fragment m on Note { accessList { edges { ...e @defer(label: "e") } } } fragment e on NoteAccessEdge { node { name } }`,
	} {
		t.Run(reason, func(t *testing.T) {
			whole := ada.Must(deferral.ReplaceAllString(query, ""), nil)
			p := inParts(ada, query)
			assert.Equal(t, whole.Data, p.data)
			assert.Empty(t, p.errors)
			assert.Greater(t, p.parts, 1)
			t.Logf("%d parts, %d calls, %d when whole", p.parts, p.calls, whole.Extensions.Dynamo.Calls)
		})
	}
}

func TestAFieldThatFailsOrHangsEndsItsPartOnly(t *testing.T) {
	const query = `{ viewer { id ... @defer(label: "notes") { notes(first: 10) { nodes { id } } } } }`
	s := apitest.NewServer(t, apitest.Within(time.Second))
	ada := s.User("ada@example.com")
	queries := faultinject.Operation("Query")
	for code, fault := range map[string]func(){
		"INTERNAL":    func() { s.Faults.Fail(http.StatusBadRequest, "ValidationException", faultinject.Always, queries) },
		"UNAVAILABLE": func() { s.Faults.Delay(time.Hour, faultinject.Always, queries) },
	} {
		fault()
		p := inParts(ada, query)
		s.Faults.Clear()
		assert.Equal(t, ada.ID, p.data["viewer"].(map[string]any)["id"], code)
		require.Len(t, p.errors, 1, code)
		assert.Equal(t, code, p.errors[0].Extensions.Code)
		assert.Equal(t, []any{"viewer", "notes"}, p.errors[0].Path)
		assert.Equal(t, 2, p.parts)
	}
}
