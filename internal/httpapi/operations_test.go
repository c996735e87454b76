package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi/present"
	"github.com/taggie/taggie/internal/lean"
	"github.com/taggie/taggie/internal/viewer"
)

func TestAnswer(t *testing.T) {
	s := newServer(t)
	a := s.ask(`{ viewer { name } }`, nil)
	require.Equal(t, http.StatusOK, a.Code)
	assert.JSONEq(t, `{"data":{"viewer":{"name":"Ada"}}}`, a.Body.String())
	assert.Equal(t, "application/json; charset=utf-8", a.Header().Get("Content-Type"))
	assert.Equal(t, "nosniff", a.Header().Get("X-Content-Type-Options"))
	assert.Equal(t, "no-store", a.Header().Get("Cache-Control"))
	assert.Contains(t, a.Header().Values("Vary"), "Accept")
}

func TestSignIn(t *testing.T) {
	s := newServer(t)
	const body = `{"query":"{ viewer { name } __schema { queryType { name } } }"}`

	a := s.post(body)
	assert.JSONEq(t, `{"data":{"viewer":null,"__schema":{"queryType":{"name":"Query"}}}}`, a.Body.String(), "anonymous callers reach the schema")

	a = s.post(body, "Authorization", "Bearer forged")
	assert.Equal(t, "the token has expired", a.only(t, http.StatusUnauthorized, "UNAUTHENTICATED").Message)
	assert.Equal(t, `Bearer error="invalid_token"`, a.Header().Get("WWW-Authenticate"))

	a = s.post(body, "Authorization", "Bearer away")
	a.only(t, http.StatusServiceUnavailable, "UNAVAILABLE")
	assert.Equal(t, "1", a.Header().Get("Retry-After"))
}

func TestSignInFails(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"the store is away":      {fault.New(fault.Unavailable, "the users could not be read"), http.StatusServiceUnavailable, "UNAVAILABLE"},
		"the store is too slow":  {context.DeadlineExceeded, http.StatusServiceUnavailable, "UNAVAILABLE"},
		"the store is surprised": {errors.New("secret"), http.StatusInternalServerError, "INTERNAL"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(o *Options) {
				o.SignIn = func(context.Context, viewer.Identity) (viewer.Viewer, error) { return viewer.Viewer{}, test.err }
			})
			a := s.ask(`{ viewer { name } }`, nil)
			a.only(t, test.status, test.code)
			assert.NotContains(t, a.Body.String(), "secret")
		})
	}
}

func TestErrorsOfArguments(t *testing.T) {
	s := newServer(t)
	const create = `mutation($input: CreateNoteInput!) { createNote(input: $input) { note { id } } }`
	for _, test := range []struct {
		reason, query string
		variables     map[string]any
		code, field   string
		status        int // for application/graphql-response+json
	}{
		{"an id that is none", `query($id: ID!) { node(id: $id) { id } }`, map[string]any{"id": "!"}, "INVALID_INPUT", "id", statusPartial},
		{"an id that is none, in the text", `{ node(id: "!") { id } }`, nil, "INVALID_INPUT", "id", statusPartial},
		{"one of many ids", `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, map[string]any{"ids": []string{adaGID, "!"}}, "INVALID_INPUT", "ids.1", statusPartial},
		{"an id of another type", `query($id: ID!) { note(id: $id) { id } }`, map[string]any{"id": adaGID}, "INVALID_INPUT", "id", statusPartial},
		{"a date", create, map[string]any{"input": map[string]any{"title": "a", "content": "b", "deadline": "soon"}}, "GRAPHQL_VALIDATION_FAILED", "input.deadline", statusPartial},
		{"a missing field", create, map[string]any{"input": map[string]any{"content": "b"}}, "GRAPHQL_VALIDATION_FAILED", "input.title", 422},
		{"an Int that is text", `query($n: Int) { viewer { notes(first: $n) { nodes { id } } } }`, map[string]any{"n": "12"}, "GRAPHQL_VALIDATION_FAILED", "first", statusPartial},
		{"an Int of 33 bits", `query($n: Int) { viewer { notes(first: $n) { nodes { id } } } }`, map[string]any{"n": 1 << 33}, "GRAPHQL_VALIDATION_FAILED", "first", statusPartial},
		{"an enum value, in the text", `mutation { shareNote(input: {noteId: "a", userId: "b", permission: READ}) { problem { __typename } } }`, nil, "GRAPHQL_VALIDATION_FAILED", "", 422},
		{"a field that does not exist", `{ viewer { nam } }`, nil, "GRAPHQL_VALIDATION_FAILED", "", 422},
		{"no GraphQL", `{ viewer`, nil, "GRAPHQL_PARSE_FAILED", "", 400},
	} {
		t.Run(test.reason, func(t *testing.T) {
			legacy := s.ask(test.query, test.variables)
			found := legacy.only(t, http.StatusOK, test.code)
			if test.field == "" {
				assert.NotContains(t, found.Extensions, "field")
			} else {
				assert.Equal(t, test.field, found.Extensions["field"])
			}
			for _, part := range found.Path {
				assert.NotContains(t, []any{"variable", "input", "deadline", "first"}, part, "a path is one of the answer")
			}
			modern := s.ask(test.query, test.variables, "Accept", "application/graphql-response+json")
			modern.only(t, test.status, test.code)
			assert.Equal(t, "application/graphql-response+json; charset=utf-8", modern.Header().Get("Content-Type"))
		})
	}
	assert.Empty(t, s.logged("internal error"), "clients' mistakes are not ours")
}

func TestNULPassesThroughToTheDomain(t *testing.T) {
	s := newServer(t)
	a := s.ask(`mutation($t: String!) { createNote(input: {title: $t, content: "b"}) { note { id } } }`, map[string]any{"t": "a\x00b"})
	assert.Equal(t, "input.title", a.only(t, http.StatusOK, "INVALID_INPUT").Extensions["field"])
}

func TestInternalErrorIsLoggedOnceAndNotShown(t *testing.T) {
	s := newServer(t)
	s.people.read = func(context.Context) error { return errors.New("secret: row NOTE#1 has no title") }
	a := s.ask(`{ my_alias: viewer { name } }`, nil, "X-Request-Id", "from-the-phone.1")
	found := a.only(t, http.StatusOK, "INTERNAL")
	assert.Equal(t, present.Internal, found.Message)
	assert.Equal(t, "from-the-phone.1", found.Extensions["requestId"])
	assert.NotContains(t, a.Body.String(), "secret")

	entries := s.logged("internal error")
	require.Len(t, entries, 1)
	assert.Equal(t, "Query.viewer", entries[0]["field"])
	assert.Equal(t, "from-the-phone.1", entries[0]["request_id"])
	assert.Contains(t, entries[0]["error"], "row NOTE#1")
	assert.NotContains(t, s.log.String(), "my_alias", "the client's words stay out of the log")
}

func TestPanicOfAResolver(t *testing.T) {
	s := newServer(t) // whose notes have no store
	a := s.ask(`mutation { createNote(input: {title: "hunter2", content: "b"}) { note { id } } }`, nil, "X-Request-Id", "r-1")
	assert.Equal(t, "r-1", a.only(t, http.StatusOK, "INTERNAL").Extensions["requestId"])
	assert.NotContains(t, a.Body.String(), "nil pointer")
	entries := s.logged("panic")
	require.Len(t, entries, 1)
	assert.Equal(t, "Mutation.createNote", entries[0]["field"])
	assert.Equal(t, "r-1", entries[0]["request_id"])
	assert.Contains(t, entries[0]["stack"], "CreateNote")
	assert.Empty(t, s.logged("internal error"), "one panic, one entry")
}

func TestPanicOfALoader(t *testing.T) {
	s := newServer(t)
	s.people.read = func(context.Context) error { panic("secret") }
	a := s.ask(`{ viewer { name } }`, nil)
	a.only(t, http.StatusOK, "INTERNAL")
	assert.NotContains(t, a.Body.String(), "secret")
	entries := s.logged("internal error")
	require.Len(t, entries, 1)
	assert.Contains(t, entries[0]["error"], "secret")
	assert.Contains(t, entries[0]["error"], "setup_test.go", "the stack says where")
}

func TestOperationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.people.read = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() } // only the deadline can end the read
		a := s.ask(`{ viewer { name } }`, nil)
		a.only(t, http.StatusOK, "UNAVAILABLE")
		assert.Nil(t, a.Data["viewer"])
	})
}

func TestTimeIsUpBeforeTheFirstRead(t *testing.T) {
	s := newServer(t, func(o *Options) {
		o.OperationTimeout = time.Nanosecond
	})
	a := s.ask(`{ viewer { name } }`, nil)
	assert.Equal(t, present.Late, a.only(t, http.StatusServiceUnavailable, "UNAVAILABLE").Message)
}

func TestDynamoExtension(t *testing.T) {
	const want = `{"calls":1,"keys":1,"consumedCapacity":0.5,"retries":2,"operations":{"BatchGetItem":1}}`
	s := newServer(t, func(o *Options) { o.Session = func(context.Context, string) (Session, error) { return Session{}, nil } })

	a := s.ask(`{ viewer { name } }`, nil, "Taggie-Extensions", "cost, Dynamo")
	assert.JSONEq(t, want, string(a.Extensions["dynamo"]))

	a = s.post(`{"query":"{ viewer { name } }","extensions":{"dynamo":true}}`, "Authorization", "Bearer ada")
	assert.JSONEq(t, want, string(a.Extensions["dynamo"]))

	for _, not := range []answer{
		s.ask(`{ viewer { name } }`, nil),
		s.ask(`{ viewer { name } }`, nil, "Taggie-Extensions", "other"),
		s.post(`{"query":"{ viewer { name } }","extensions":{"dynamo":"false"}}`, "Authorization", "Bearer ada"),
	} {
		assert.NotContains(t, not.Body.String(), "extensions")
	}
}

// How much was read of what the caller may not see is for administrators.
func TestConsumedCapacityIsNotForEverybody(t *testing.T) {
	const without = `{"calls":1,"retries":2,"operations":{"BatchGetItem":1}}`
	a := newServer(t).ask(`{ viewer { name } }`, nil, "Taggie-Extensions", "dynamo")
	assert.JSONEq(t, without, string(a.Extensions["dynamo"]))
}

func TestEachResponseReadsAnew(t *testing.T) {
	s := newServer(t)
	for range 2 {
		a := s.ask(`{ a: viewer { name } b: viewer { name } }`, nil, "Taggie-Extensions", "dynamo")
		assert.Contains(t, string(a.Extensions["dynamo"]), `"calls":1`)
	}
}

func TestAtMostTwentyErrors(t *testing.T) {
	s := newServer(t)
	s.people.read = func(context.Context) error { return fault.New(fault.Unavailable, "not read") }
	var query strings.Builder
	for i := range 30 {
		query.WriteString(" " + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + ": viewer { name }")
	}
	a := s.ask("{"+query.String()+"}", nil)
	assert.Len(t, a.Errors, maxErrors)
	assert.Equal(t, "10", string(a.Extensions["omittedErrors"]))
}

func TestOperationsAreCounted(t *testing.T) {
	s := newServer(t)
	s.ask(`{ viewer { name } }`, nil)
	s.ask(`{ viewer { nam } }`, nil)
	s.ask(`mutation { createNote(input: {title: "", content: "b"}) { note { id } } }`, nil)
	text := s.get("/metrics").Body.String()
	for _, line := range []string{
		`taggie_operations_total{operation_type="query",outcome="ok"} 1`,
		`taggie_operations_total{operation_type="unknown",outcome="GRAPHQL_VALIDATION_FAILED"} 1`,
		`taggie_operations_total{operation_type="mutation",outcome="INVALID_INPUT"} 1`,
		`taggie_http_requests_total{code="200",method="POST",route="/graphql"} 3`,
	} {
		assert.True(t, strings.Contains(text, line), line)
	}
}

func TestAnswerThatIsTooLarge(t *testing.T) {
	s := newServer(t)
	schema := s.options.Schema
	s = newServer(t, func(o *Options) { o.Schema = oversized{schema} })
	a := s.ask(`{ viewer { name } }`, nil)
	assert.Contains(t, a.only(t, http.StatusOK, "EXHAUSTED").Message, "67108864 bytes")
	assert.Nil(t, a.Data)
	assert.Contains(t, a.Body.String(), `"data":null`)
	assert.Empty(t, s.logged("panic"))
}

// oversized is a schema whose answers pass the limit while they are written.
type oversized struct{ graphql.ExecutableSchema }

func (oversized) Exec(context.Context) graphql.ResponseHandler {
	return func(context.Context) *graphql.Response {
		out := bytes.NewBuffer(make([]byte, lean.MaxAnswer+1))
		lean.Object{}.MarshalGQL(out)
		return &graphql.Response{Data: out.Bytes()}
	}
}
