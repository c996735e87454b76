package demo_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

func schema(t testing.TB) *ast.Schema {
	t.Helper()
	source, err := os.ReadFile("../../schema.graphqls")
	require.NoError(t, err)
	parsed, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(source)})
	require.NoError(t, err)
	return parsed
}

// fakeNote is what the fake server knows of a note.
type fakeNote struct {
	id, owner, title, content string
	deadline                  any
	tags                      []string
	version                   int
	shares                    map[string]string // user id to permission
}

func (n *fakeNote) addTags(input map[string]any) {
	tags, _ := input["tags"].([]any)
	for _, t := range tags {
		n.tags = append(n.tags, asText(t))
	}
}

func asText(v any) string {
	s, _ := v.(string)
	return s
}

// fakeServer is as much of the API as loading needs, in memory. It checks every operation against the schema, and keys
// as the server does.
type fakeServer struct {
	*httptest.Server
	schema *ast.Schema
	parsed map[string]*ast.QueryDocument

	mu       sync.Mutex
	users    map[string]string // e-mail to id
	notes    map[string]*fakeNote
	deleted  int
	keys     map[string]usedKey // user and key
	effects  int                // mutations that changed something
	problems []string           // what a server would refuse
	before   func(operation string) (status int)
	answered func(operation string)
}

type usedKey struct {
	input  string
	result any
}

func newFakeServer(t testing.TB) *fakeServer {
	f := &fakeServer{schema: schema(t), parsed: map[string]*ast.QueryDocument{}, users: map[string]string{}, notes: map[string]*fakeNote{}, keys: map[string]usedKey{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

// inMemory returns a client that reaches the server without a network.
func (f *fakeServer) inMemory() *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		w := httptest.NewRecorder()
		f.serve(w, r)
		return w.Result(), nil
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (f *fakeServer) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var request struct {
		Query         string         `json:"query"`
		OperationName string         `json:"operationName"`
		Variables     map[string]any `json:"variables"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/graphql" {
		f.problems = append(f.problems, "not a request to /graphql")
	}
	if f.before != nil {
		if status := f.before(request.OperationName); status != 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
			return
		}
	}
	query := f.parsed[request.Query]
	if query == nil {
		var errs gqlerror.List
		if query, errs = gqlparser.LoadQueryWithRules(f.schema, request.Query, rules.NewDefaultRules()); errs != nil {
			f.problems = append(f.problems, errs.Error())
			return
		}
		f.parsed[request.Query] = query
	}
	if _, err := validator.VariableValues(f.schema, query.Operations.ForName(request.OperationName), request.Variables); err != nil {
		f.problems = append(f.problems, err.Error())
	}
	email := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	input, _ := request.Variables["input"].(map[string]any)
	data := f.once(email, request.OperationName, input, func() any {
		return f.operate(email, request.OperationName, request.Variables, input)
	})
	if f.answered != nil {
		f.answered(request.OperationName)
	}
	w.Header().Set("Content-Type", "application/graphql-response+json")
	_ = json.NewEncoder(w).Encode(data)
}

// once carries a mutation out unless its key was used before.
func (f *fakeServer) once(email, operation string, input map[string]any, effect func() any) any {
	if input == nil {
		return effect()
	}
	key, _ := input["idempotencyKey"].(string)
	if key == "" || len(key) > 255 {
		f.problems = append(f.problems, operation+" has no idempotency key")
	}
	raw, _ := json.Marshal([]any{operation, input})
	used, ok := f.keys[email+" "+key]
	switch {
	case ok && used.input != string(raw):
		f.problems = append(f.problems, "one key for two inputs: "+key)
	case ok:
		if id, isNote := used.result.(string); isNote {
			return f.noteData(id)
		}
		return used.result
	}
	data := effect()
	result := data
	if operation == "CreateNote" {
		result = "n" + strconv.Itoa(len(f.notes)+f.deleted)
	}
	f.keys[email+" "+key] = usedKey{string(raw), result}
	return data
}

func (f *fakeServer) noteData(id string) any {
	return payload("createNote", map[string]any{"note": f.noteJSON(f.notes[id])})
}

func payload(field string, value any) any {
	return map[string]any{"data": map[string]any{field: value}}
}

func refusal(code, message string) any {
	return map[string]any{"data": nil, "errors": []any{map[string]any{"message": message, "extensions": map[string]any{"code": code}}}}
}

func (f *fakeServer) noteJSON(n *fakeNote) any {
	if n == nil {
		return nil
	}
	tags := []any{}
	for _, t := range n.tags {
		tags = append(tags, map[string]any{"value": t})
	}
	return map[string]any{"id": n.id, "title": n.title, "version": n.version, "deadline": n.deadline, "tags": tags}
}

func (f *fakeServer) operate(email, operation string, variables, input map[string]any) any {
	user := f.users[email]
	if user == "" && operation != "CreateUser" {
		return refusal("UNAUTHENTICATED", "sign up first")
	}
	text := func(field string) string { return asText(input[field]) }
	n := f.notes[text("noteId")]
	if n != nil && n.owner != user {
		return refusal("NOT_FOUND", "there is no such note")
	}
	switch operation {
	case "CreateUser":
		if user != "" {
			return payload("createUser", map[string]any{"problem": map[string]any{"__typename": "AlreadySignedUp", "message": "", "user": map[string]any{"id": user}}})
		}
		f.users[email] = "u" + strconv.Itoa(len(f.users)+1)
		f.effects++
		return payload("createUser", map[string]any{"user": map[string]any{"id": f.users[email]}})
	case "FindMarker":
		nodes := []any{}
		for _, n := range f.notes {
			if n.owner == user && slices.Contains(n.tags, asText(variables["tag"])) {
				nodes = append(nodes, f.noteJSON(n))
			}
		}
		return payload("viewer", map[string]any{"tag": map[string]any{"notes": map[string]any{"nodes": nodes}}})
	case "ListNotes":
		return f.list(user, variables["after"])
	case "CreateNote":
		f.effects++
		id := "n" + strconv.Itoa(len(f.notes)+f.deleted+1)
		created := &fakeNote{id: id, owner: user, title: text("title"), content: text("content"), deadline: input["deadline"], version: 1, shares: map[string]string{}}
		created.addTags(input)
		f.notes[id] = created
		return f.noteData(id)
	case "UpdateNote":
		if fmt.Sprint(input["expectedVersion"]) != strconv.Itoa(n.version) {
			return payload("updateNote", map[string]any{"problem": map[string]any{"__typename": "NoteConflict"}})
		}
		f.effects++
		n.version++
		n.content = text("content")
		return payload("updateNote", map[string]any{"note": f.noteJSON(n)})
	case "ShareNote":
		if n.shares[text("userId")] != text("permission") {
			f.effects++
		}
		n.shares[text("userId")] = text("permission")
		return payload("shareNote", map[string]any{})
	case "DeleteNote":
		f.effects++
		f.deleted++
		delete(f.notes, n.id)
		return payload("deleteNote", map[string]any{})
	case "AddNoteTags":
		f.effects++
		n.addTags(input)
		return payload("addNoteTags", map[string]any{})
	}
	return refusal("GRAPHQL_VALIDATION_FAILED", "unknown operation "+operation)
}

// list pages a user's notes by id.
func (f *fakeServer) list(user string, after any) any {
	var ids []string
	for id, n := range f.notes {
		if n.owner == user {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if from, ok := after.(string); ok {
		at, _ := slices.BinarySearch(ids, from)
		ids = ids[at+1:]
	}
	more := len(ids) > 500
	ids = ids[:min(500, len(ids))]
	nodes, end := []any{}, any(nil)
	for _, id := range ids {
		nodes, end = append(nodes, f.noteJSON(f.notes[id])), id
	}
	return payload("viewer", map[string]any{"notes": map[string]any{"nodes": nodes, "pageInfo": map[string]any{"hasNextPage": more, "endCursor": end}}})
}

// state is everything that was loaded, in one comparable form.
func (f *fakeServer) state() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	emails := map[string]string{}
	for email, id := range f.users {
		emails[id] = email
	}
	var all []string
	for _, n := range f.notes {
		line := fmt.Sprintf("%s %q %q %v %q v%d", emails[n.owner], n.title, n.content, n.deadline, n.tags, n.version)
		shares := []string{}
		for user, permission := range n.shares {
			shares = append(shares, emails[user]+" "+permission)
		}
		slices.Sort(shares)
		all = append(all, fmt.Sprint(line, shares))
	}
	slices.Sort(all)
	return all
}

// forgetKeys is what 24 hours do.
func (f *fakeServer) forgetKeys() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = map[string]usedKey{}
}

// set changes the server while requests that were given up may still be under way.
func (f *fakeServer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// counts returns notes and effects so far.
func (f *fakeServer) counts() (notes, effects int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.notes), f.effects
}
