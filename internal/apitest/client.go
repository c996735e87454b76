package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/faultinject"
)

// Client is somebody who sends requests; the zero token is anonymous.
type Client struct {
	*Server
	Token string
	ID    string // the global id of the user, once signed up
}

// As returns a client with a token for the address; it has not signed up.
func (s *Server) As(email string) *Client {
	s.T.Helper()
	token, err := s.Local.Mint(app.Person(email, email, "", false), time.Hour)
	require.NoError(s.T, err)
	return &Client{Server: s, Token: token}
}

// User returns a client who has signed up.
func (s *Server) User(email string) *Client {
	s.T.Helper()
	c := s.As(email)
	c.ID = c.Must(`mutation($email: String!) { createUser(input: {name: "Somebody", email: $email}) { user { id } } }`, Vars{"email": email}).Str("createUser.user.id")
	return c
}

// Vars are variables of a request.
type Vars map[string]any

// Error is an error of an answer.
type Error struct {
	Message    string
	Path       []any
	Extensions struct {
		Code, Field, RequestID string
		Retryable              bool
	}
}

// Answer is what came back.
type Answer struct {
	T          *testing.T
	Status     int
	Header     http.Header `json:"-"`
	Body       string
	Data       map[string]any
	Errors     []Error
	Extensions struct {
		Dynamo struct {
			Calls, Keys, Retries int
			ConsumedCapacity     float64
			Operations           map[string]int
		}
		OmittedErrors int
	}
}

// Do sends a request and returns its answer, errors and all.
func (c *Client) Do(query string, v Vars) *Answer {
	c.T.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": v})
	require.NoError(c.T, err)
	return c.Send(body)
}

// Send posts a body as it is.
func (c *Client) Send(body []byte) *Answer {
	c.T.Helper()
	// Not the test's context: helpers run in clean-ups as well.
	r, err := http.NewRequestWithContext(context.WithoutCancel(c.T.Context()), http.MethodPost, c.URL+"/graphql", bytes.NewReader(body))
	require.NoError(c.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Taggie-Extensions", "dynamo")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(c.T, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.T, err)
	a := &Answer{T: c.T, Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
	require.NoError(c.T, json.Unmarshal(text, a), "%s", text)
	return a
}

// Must sends a request that has to succeed.
func (c *Client) Must(query string, v Vars) *Answer {
	c.T.Helper()
	a := c.Do(query, v)
	require.Empty(c.T, a.Errors, "%s", a.Body)
	return a
}

// At returns the value at a dotted path of the data, nil where there is none.
func (a *Answer) At(path string) any {
	var value any = a.Data
	for name := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// Str returns the text at a path.
func (a *Answer) Str(path string) string {
	a.T.Helper()
	s, ok := a.At(path).(string)
	require.True(a.T, ok, "no text at %s: %s", path, a.Body)
	return s
}

// List returns the list at a path.
func (a *Answer) List(path string) []any {
	a.T.Helper()
	l, ok := a.At(path).([]any)
	require.True(a.T, ok, "no list at %s: %s", path, a.Body)
	return l
}

// Fails asserts that the only error of an answer has this code and field.
func (a *Answer) Fails(code, field string) {
	a.T.Helper()
	require.Len(a.T, a.Errors, 1, "%s", a.Body)
	assert.Equal(a.T, code, a.Errors[0].Extensions.Code, "%s", a.Body)
	assert.Equal(a.T, field, a.Errors[0].Extensions.Field, "%s", a.Body)
}

// Admin returns an administrator who has signed up.
func (s *Server) Admin(email string) *Client {
	s.T.Helper()
	token, err := s.Local.Mint(app.Person(email, email, "", true), time.Hour)
	require.NoError(s.T, err)
	c := &Client{Server: s, Token: token}
	c.ID = c.Must(`mutation($email: String!) { createUser(input: {name: "Admin", email: $email}) { user { id } } }`, Vars{"email": email}).Str("createUser.user.id")
	return c
}

// At is the same client at another server.
func (c *Client) At(s *Server) *Client { return &Client{Server: s, Token: c.Token, ID: c.ID} }

// Mutate sends the mutation and returns its answer.
func (c *Client) Mutate(name, selection string, input Vars) *Answer {
	c.T.Helper()
	query := fmt.Sprintf("mutation($input: %s%sInput!) { result: %s(input: $input) { %s } }", strings.ToUpper(name[:1]), name[1:], name, selection)
	if strings.Contains(selection, "...whole") {
		query += Whole
	}
	return c.Do(query, Vars{"input": input})
}

// Changed returns an input with what is different.
func Changed(input, change Vars) Vars {
	merged := maps.Clone(input)
	maps.Copy(merged, change)
	return merged
}

// InnerText is text that no client should read. The limit of an item of DynamoDB is told in these words, on purpose.
var InnerText = regexp.MustCompile(`(?i)\b[PLG]?SK\b|\bPK\b|USER#|NOTE#|dynamo|smithy|\baws|panic|goroutine|/(home|root|tmp)/|\.go\b|0x[0-9a-f]{4}|interface \{\}|json:|strconv`)

// TellsNothingInner asserts that no message of the answer has text that is not meant for clients.
func (a *Answer) TellsNothingInner() {
	a.T.Helper()
	for _, e := range a.Errors {
		assert.NotRegexp(a.T, InnerText, strings.ReplaceAll(e.Message, "one DynamoDB item", ""))
		assert.NotEmpty(a.T, e.Message)
		assert.Less(a.T, len(e.Message), 600)
	}
}

const (
	// Invalid is the code of a value that is refused.
	Invalid = "INVALID_INPUT"
	// Unfit is the code of a request that does not fit the schema.
	Unfit = "GRAPHQL_VALIDATION_FAILED"
)

// Nested returns objects within one another, n of them.
func Nested(n int) Vars {
	object := Vars{"end": true}
	for range n - 1 {
		object = Vars{"a": object}
	}
	return object
}

// Many is one thing n times.
func Many(id string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = id
	}
	return list
}

// OperationTimeout is the deadline of operations unless a test is about it: the longest that settings allow, so that no test fails because the
// machine is busy.
const OperationTimeout = 30 * time.Second

// Within sets the deadline of operations.
func Within(d time.Duration) func(*config.Config) {
	return func(c *config.Config) { c.OperationTimeout = d }
}

// Wrote reports whether the answer counts a call of DynamoDB that is not known to read only. What is written to Redis and S3 alone is not counted.
func (a *Answer) Wrote() bool {
	for name := range a.Extensions.Dynamo.Operations {
		if !slices.Contains([]string{"GetItem", "BatchGetItem", "TransactGetItems", "Query"}, name) {
			return true
		}
	}
	return false
}

// Raw returns the data of an answer, byte by byte.
func (a *Answer) Raw() string {
	a.T.Helper()
	var parts struct{ Data json.RawMessage }
	require.NoError(a.T, json.Unmarshal([]byte(a.Body), &parts))
	return string(parts.Data)
}

// Transactions are the calls that change several rows together.
var Transactions = faultinject.Operation("TransactWriteItems")

// Object returns the data as a copy of its own.
func (a *Answer) Object() map[string]any {
	a.T.Helper()
	var object map[string]any
	require.NoError(a.T, json.Unmarshal([]byte(a.Raw()), &object))
	return object
}

// Time returns the time at a path.
func (a *Answer) Time(path string) time.Time {
	a.T.Helper()
	at, err := time.Parse(time.RFC3339, a.Str(path))
	require.NoError(a.T, err)
	return at
}
