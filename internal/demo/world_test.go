package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/jobs"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
	"github.com/taggie/taggie/resolvers"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func schema(t testing.TB) *ast.Schema {
	t.Helper()
	source, err := os.ReadFile("../../schema.graphqls")
	require.NoError(t, err)
	parsed, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(source)})
	require.NoError(t, err)
	return parsed
}

// world is a real server on embedded engines, with tables and a bucket of its own.
type world struct {
	t     *testing.T
	url   string
	local *auth.Local
}

func newWorld(t *testing.T) *world {
	t.Helper()
	unique := strings.ReplaceAll(uuid.NewString(), "-", "")
	dynamoClient, err := awsclient.DynamoDB(t.Context(), engine(embeddedtest.DynamoDB(t)))
	require.NoError(t, err)
	db := dynamo.New(dynamo.Options{Client: dynamoClient, TablePrefix: "d" + unique + "_", Concurrency: 16})
	require.NoError(t, db.ApplyTables(t.Context(), func(dynamo.Step) {}))
	files := engine(embeddedtest.S3(t))
	s3Client, err := awsclient.S3(t.Context(), files)
	require.NoError(t, err)
	bucket := blob.NewBucket(s3Client, "d"+unique, files.Region, nil)
	require.NoError(t, bucket.Apply(t.Context(), func(blob.Step) {}))

	w := &world{t: t}
	w.local, err = auth.NewLocal([]byte(strings.Repeat("demo", 16)), time.Now)
	require.NoError(t, err)
	newID, log, metrics := uuid.NewString, slog.New(slog.DiscardHandler), telemetry.NewMetrics()
	notesStore, projectsStore := dynamo.Notes{DB: db}, dynamo.Projects{DB: db}
	users := user.NewService(dynamo.Users{DB: db}, unlimited{}, time.Now, newID)
	notes := note.NewService(notesStore.Store(), time.Now, newID).Knowing(users)
	entities := entity.NewService(dynamo.Entities{DB: db}, users, time.Now, newID)
	projects := project.NewService(projectsStore, users, time.Now, newID).Receiving(bucket)
	handlers := entities.Handlers()
	handlers[project.RunImport] = project.Importer{Store: projectsStore, Files: bucket, Now: time.Now}.Run
	tasks := jobs.NewTasks(jobs.TasksOptions{Store: dynamo.Tasks{DB: db}, Handlers: handlers, Log: log, Token: newID})
	db.OnTask(tasks.Wake)
	handler, err := httpapi.New(httpapi.Options{
		Schema: graph.NewExecutableSchema(graph.Config{Resolvers: &resolvers.Resolver{
			Users: users, Notes: notes, Entities: entities, Projects: projects, Files: bucket, Cursors: page.NewCodec([]byte(unique)),
		}}),
		Loaders: loaders.Sources{Users: users, Notes: notes, Entities: entities, Projects: projects, Observe: metrics.Batch},
		SignIn:  users.SignIn, Auth: w.local, Metrics: metrics, Log: log, OperationTimeout: 10 * time.Second,
	})
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); tasks.Run(ctx) }()
	web := httptest.NewServer(handler)
	t.Cleanup(func() { web.Close(); cancel(); <-over })
	w.url = web.URL
	return w
}

func engine(e embedded.Endpoint) awsclient.Options {
	return awsclient.Options{Endpoint: e.URL, Region: e.Region, Credentials: awsclient.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey}}
}

type unlimited struct{}

func (unlimited) Allow(context.Context, string) (bool, error) { return true, nil }

func (w *world) token(email, name string) (string, error) {
	return w.local.Mint(auth.Person{Email: email, Name: name}, time.Hour)
}

func (w *world) options() Options { return Options{URL: w.url + "/", Now: noon, Token: w.token} }

// through returns options with something between the loading and the server.
func (w *world) through(f func(operation string, r *http.Request) (*http.Response, error)) Options {
	o := w.options()
	o.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/graphql") {
			return f("upload", r)
		}
		body, err := io.ReadAll(r.Body)
		require.NoError(w.t, err)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var request struct{ OperationName string }
		require.NoError(w.t, json.Unmarshal(body, &request))
		return f(request.OperationName, r)
	})}
	return o
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// later24 are options whose keys the server does not know: it has forgotten them.
func (w *world) later24() Options {
	return w.through(func(_ string, r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		require.NoError(w.t, err)
		body = bytes.ReplaceAll(body, []byte(`"idempotencyKey":"demo:`), []byte(`"idempotencyKey":"late:`))
		r.Body = io.NopCloser(bytes.NewReader(body))
		return http.DefaultTransport.RoundTrip(r)
	})
}

// ask sends an operation as somebody, and returns its data.
func (w *world) ask(email, query string) any {
	w.t.Helper()
	token, err := w.token(email, "")
	require.NoError(w.t, err)
	l := &loader{options: Options{Client: http.DefaultClient}, url: w.url + "/graphql"}
	body, err := json.Marshal(map[string]any{"query": query})
	require.NoError(w.t, err)
	var data any
	require.NoError(w.t, l.send(w.t.Context(), member{token: token}, body, &data), query)
	return data
}

// everything is what state asks for; together it would cost more than one request may.
var everything = []string{
	`{ viewer {
  notes(first: 100) { nodes { title content deadline version tags { value } accessList(first: 9) { nodes { name } edges { permission } } } }
  sharedNotes(first: 100) { edges { permission node { title } } }
} }`,
	`{ viewer { projects(first: 2) { nodes {
  name description suggestedKeywords categories { name } subcategories { name }
  teams { name type members(first: 9) { nodes { user { name } } } }
  items(first: 250) { nodes {
    externalId name type url metadata status version category { name } subcategory { name } keywords
    efforts(first: 2) { nodes { user { name } team { name } } }
  } }
} } } }`,
	`{ viewer { scopes(first: 2) { nodes {
  name indexes { name type path kind } members(first: 9) { edges { role node { name } } }
  people: entities(type: "person", first: 30) { nodes { ...entity } }
  works: entities(type: "work", first: 30) { nodes { ...entity } }
  ensembles: entities(type: "ensemble", first: 30) { nodes { ...entity } }
} } } }
fragment entity on Entity { type key attributes version relations(first: 15) { edges { predicate attributes node { key } } } }`,
}

// state is everything that was loaded for a set, in one comparable form; without the note that remembers.
func (w *world) state(s size) string {
	w.t.Helper()
	var all []any
	for _, p := range people[:s.people] {
		for _, query := range everything {
			all = append(all, w.ask(p.email, query))
		}
	}
	text, err := json.MarshalIndent(sorted(all), "", " ")
	require.NoError(w.t, err)
	return string(text)
}

// sorted orders the lists of a JSON value, so that ids make no difference.
func sorted(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			value[name] = sorted(value[name])
		}
	case []any:
		value = slices.DeleteFunc(value, func(element any) bool {
			n, _ := element.(map[string]any)
			return n["title"] == markerTitle
		})
		for i := range value {
			value[i] = sorted(value[i])
		}
		slices.SortFunc(value, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		return value
	}
	return value
}

func text(value any) string {
	raw, _ := json.Marshal(value)
	return string(raw)
}
