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
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/embedded"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/jobs"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/score"
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

// world is a real server on embedded engines, with tables, a bucket and a database of Redis of its own.
type world struct {
	t     *testing.T
	url   string
	local *auth.Local
	redis *redis.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	unique := strings.ReplaceAll(uuid.NewString(), "-", "")
	embeddedtest.DropTables(t, "d"+unique+"_")
	dynamoClient, err := awsclient.DynamoDB(t.Context(), engine(embeddedtest.DynamoDB(t)))
	require.NoError(t, err)
	db := dynamo.New(dynamo.Options{Client: dynamoClient, TablePrefix: "d" + unique + "_", Concurrency: 16})
	embeddedtest.MakeTables(t, db.Tables())
	files := engine(embeddedtest.S3(t))
	s3Client, err := awsclient.S3(t.Context(), files)
	require.NoError(t, err)
	bucket := blob.NewBucket(s3Client, "d"+unique, files.Region, nil)
	require.NoError(t, bucket.Apply(t.Context(), func(blob.Step) {}))

	w := &world{t: t}
	w.local, err = auth.NewLocal([]byte(strings.Repeat("demo", 16)), time.Now)
	require.NoError(t, err)
	newID, log, metrics := uuid.NewString, slog.New(slog.DiscardHandler), telemetry.NewMetrics()
	usersStore, notesStore, projectsStore := users.Store{DB: db}, notes.Store{DB: db}, projects.Store{DB: db}
	scoresStore, itemsStore := scores.Store{DB: db}, scores.Items{DB: db}
	users := user.NewService(user.Options{Store: usersStore, Probes: unlimited{}, Now: time.Now, NewID: newID})
	queues := w.queues(labelling.Options{Truth: truth.Store{Store: projectsStore}, Now: time.Now, NewID: newID, Log: log}, labelling.EventReader{Things: projectsStore, People: usersStore})
	notes := note.NewService(note.Options{Store: notesStore.Store(), People: users, Now: time.Now, NewID: newID})
	entities := entity.NewService(entity.Options{Store: entities.Store{DB: db}, People: users, Now: time.Now, NewID: newID})
	scores := score.NewService(score.Options{Store: scoresStore, Contents: bucket, Now: time.Now, NewID: newID})
	items := score.NewItems(score.ItemsOptions{Store: itemsStore, Scores: scoresStore, Files: bucket, Quota: 1 << 30, Now: time.Now, NewID: newID})
	tags := filetag.NewService(filetag.Options{
		Store: filetags.Store{DB: db}, Items: items, Scores: scores, Now: time.Now, NewID: newID,
		Kept: filetag.Kept{Items: itemsStore, Scores: scoresStore},
	})
	scores, items = scores.Telling(tags), items.Telling(tags)
	projects := project.NewService(project.Options{
		Store: projectsStore, People: users, Uploads: bucket, Originals: items, Observer: queues.service, Secrets: [][]byte{[]byte(unique)}, Now: time.Now, NewID: newID,
	})
	handlers := entities.Handlers()
	handlers[project.RunImport] = project.Importer{Store: projectsStore, Files: bucket, Now: time.Now, Count: queues.importing, Originals: items}.Run
	handlers[score.SettleIntent], handlers[score.SweepItem], handlers[score.FollowItem] = scores.Settle, items.Sweep, items.Follow
	tasks := jobs.NewTasks(jobs.TasksOptions{Store: dynamo.Tasks{DB: db}, Handlers: handlers, Log: log, Token: newID})
	db.OnTask(tasks.Wake)
	handler, err := httpapi.New(httpapi.Options{
		Schema: graph.NewExecutableSchema(graph.Config{Resolvers: &resolvers.Resolver{
			Users: users, Notes: notes, Entities: entities, Projects: projects, Labelling: queues.service, Hub: queues.hub,
			Scores: scores, Items: items, FileTags: tags, Files: bucket, Cursors: page.NewCodec([]byte(unique)),
		}}),
		Loaders: loaders.Sources{
			Users: users, Notes: notes, Entities: entities, Projects: projects, Labelling: queues.service,
			Scores: scores, Items: items, FileTags: tags, Observe: metrics.Batch,
		},
		SignIn: users.SignIn, Auth: w.local, Metrics: metrics, Log: log, OperationTimeout: time.Minute,
	})
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { tasks.Run(ctx) })
	running.Go(func() { jobs.Run(ctx, log, queues.jobs...) })
	web := httptest.NewServer(handler)
	t.Cleanup(func() { queues.hub.Close(); web.Close(); cancel(); running.Wait() })
	w.url = web.URL
	return w
}

// queues is the labelling of projects, wired.
type queues struct {
	service   *labelling.Service
	importing *labelling.Importing
	hub       *labelling.Hub[labelling.EventDetails]
	jobs      []jobs.Job
}

// queues wires labelling on a database of the world's own: messages go to whoever is there.
func (w *world) queues(o labelling.Options, events labelling.EventReader) queues {
	w.t.Helper()
	options, err := redis.ParseURL(embeddedtest.RedisDatabase(w.t).URL)
	require.NoError(w.t, err)
	options.PoolSize = 100
	w.redis = redis.NewClient(options)
	w.t.Cleanup(func() { assert.NoError(w.t, w.redis.Close()) })
	kept := queue.New(w.redis, queue.Options{})
	o.Coordinator = kept
	rebuild := labelling.NewRebuilder(o, 100*time.Millisecond)
	populate := labelling.NewPopulate(o, rebuild)
	q := queues{service: labelling.NewService(o, populate, rebuild), importing: labelling.NewImporting(o, populate, rebuild)}
	q.hub = labelling.NewHub(labelling.HubOptions[labelling.EventDetails]{
		Events: kept, Service: q.service, Hydrate: events.Read, Log: o.Log,
	})
	q.jobs = []jobs.Job{
		{Name: "populate", Every: 100 * time.Millisecond, Do: populate.Run},
		{Name: "reap", Every: 100 * time.Millisecond, Do: labelling.NewReaper(o, rebuild).Run},
		{Name: "relay", Every: 100 * time.Millisecond, Do: labelling.NewRelay(o).Run},
		{Name: "rebuild", Every: time.Second, Do: rebuild.Run},
		{Name: "consume", Every: time.Second, Do: labelling.NewConsumer(o, rebuild, "demo").Run},
	}
	return q
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
  items(first: 250) { nodes { externalId name type url metadata } }
} } } }`,
	`{ viewer { scoreCount scores(first: 9) { nodes {
  title description access annotations { text } snapshots { name }
  pages { index name label item { name setName type size sha256 useCount thumbnailWidth tags(first: 9) { nodes { value visibility } } } }
} } } }`,
	`{ viewer { scopes(first: 2) { nodes {
  name indexes { name type path kind } members(first: 9) { edges { role node { name } } }
  people: entities(type: "person", first: 30) { nodes { ...entity } }
  works: entities(type: "work", first: 30) { nodes { ...entity } }
  ensembles: entities(type: "ensemble", first: 30) { nodes { ...entity } }
} } } }
fragment entity on Entity { type key attributes version relations(first: 15) { edges { predicate attributes node { key } } } }`,
}

// state is everything that was loaded for a set, in one comparable form; without the note that remembers. Of what was found out about
// items, it is how much that is: about which ones is the queue's choice.
func (w *world) state(s size) string {
	w.t.Helper()
	var all []any
	for _, p := range people[:s.people] {
		for _, query := range everything {
			all = append(all, w.ask(p.email, query))
		}
	}
	all = append(all, w.labelled())
	text, err := json.MarshalIndent(sorted(all), "", " ")
	require.NoError(w.t, err)
	return string(text)
}

// itemOfUser is the external id of an item that was imported from a library: each world has others.
var itemOfUser = regexp.MustCompile(`item:[0-9a-f-]{36}`)

// labelled is how many items of the project have which status, and how many efforts each person has of which kind, after it has
// looked whether each of them says what was planned for its item.
func (w *world) labelled() map[string]any {
	w.t.Helper()
	found := map[string]any{}
	count := func(what ...string) {
		n, _ := found[strings.Join(what, " ")].(int)
		found[strings.Join(what, " ")] = n + 1
	}
	items := at(projectOf(w.ask(Email, `{ viewer { projects(first: 2) { nodes { name items(first: 250) { nodes {
	  externalId status category { name } subcategory { name } keywords returnedTo { name }
	  efforts(first: 5) { nodes { user { name } category { name } undoneAt review { verdict comment } } }
	} } } } } }`), projectName), "items", "nodes")
	for _, item := range items.([]any) {
		id, status := at(item, "externalId").(string), at(item, "status").(string)
		count(status)
		if right := findingOf(id); status == "FINISHED" {
			assert.Equal(w.t, right.category, at(item, "category", "name"), id)
			if right.subcategory != "" {
				assert.Equal(w.t, right.subcategory, at(item, "subcategory", "name"), id)
			} else {
				assert.Nil(w.t, at(item, "subcategory"), id)
			}
			assert.ElementsMatch(w.t, right.keywords, at(item, "keywords"), id)
		}
		efforts := at(item, "efforts", "nodes").([]any)
		for _, e := range efforts {
			category := at(e, "category", "name").(string)
			verdict, comment := reviewOf(id, category)
			if at(e, "review") == nil {
				assert.Equal(w.t, "CORRECT", verdict, "a mistake about %s was overlooked", id)
				verdict = "unseen"
			} else {
				assert.Equal(w.t, map[string]any{"verdict": verdict, "comment": comment}, at(e, "review"), id)
			}
			count("efforts of", at(e, "user", "name").(string), verdict)
		}
		if status == "NEW" && len(efforts) > 0 {
			assert.Equal(w.t, at(efforts[0], "user", "name"), at(item, "returnedTo", "name"), id)
		}
	}
	return found
}

// sorted orders the lists of a JSON value and drops ids, so that these make no difference.
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
	case string:
		return itemOfUser.ReplaceAllString(value, "item:")
	}
	return value
}

func text(value any) string {
	raw, _ := json.Marshal(value)
	return string(raw)
}
