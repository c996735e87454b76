package fleets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/keys"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/embedded/embeddedtest"
)

// formatOfNotes is the variable by which the next version is told which format of notes it writes.
const formatOfNotes = "TEST_FORMAT_OF_NOTES"

// The next version keeps the title of a note as its heading: in format 2. It reads the first format, too. These are all the lines that
// differ.
var nextVersion = map[string][]struct{ is, becomes string }{
	"dynamo/format.go": {{"NewestFormat = 1\n", "NewestFormat = 2\n"}},
	"dynamo/notes/rows.go": {
		{"import (\n", "import (\n\t\"os\"\n\t\"strconv\"\n"},
		{"\tforeign bool\n}", "\tforeign bool\n\tformat  int\n}\n\nvar written, _ = strconv.Atoi(os.Getenv(\"" + formatOfNotes + "\"))"},
		{"\tdynamo.OfText(\"title\", func(r *noteRecord) *string { return &r.Title }),\n", `	dynamo.InFormat(written, func(r *noteRecord) *int { return &r.format }),
	dynamo.Where(func(*noteRecord) bool { return written == 1 }, dynamo.OfText("title", func(r *noteRecord) *string { return &r.Title })),
	dynamo.Where(func(*noteRecord) bool { return written == 2 }, dynamo.OfText("heading", func(r *noteRecord) *string { return &r.Title })),
`},
	},
}

// buildNext builds the next version.
func buildNext(t *testing.T) (binary string) {
	t.Helper()
	dir := t.TempDir()
	replaced := map[string]string{}
	for path, changes := range nextVersion {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		text := string(source)
		for _, change := range changes {
			require.Equal(t, 1, strings.Count(text, change.is), "%s: %s", path, change.is)
			text = strings.Replace(text, change.is, change.becomes, 1)
		}
		absolute, err := filepath.Abs(path)
		require.NoError(t, err)
		replaced[absolute] = filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		require.NoError(t, os.WriteFile(replaced[absolute], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	binary = filepath.Join(dir, "taggie")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// balancer gives each request to a server in turn, and to the next one when it gets no answer. Then the first one may have carried it
// out: each mutation has an idempotency key.
type balancer struct {
	*fleet
	turn atomic.Uint32
	away []atomic.Bool // servers that are being started
}

func (f *fleet) balanced() (b *balancer, url string) {
	b = &balancer{fleet: f, away: make([]atomic.Bool, len(f.servers))}
	front := httptest.NewServer(b)
	f.t.Cleanup(front.Close)
	return b, front.URL
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	for first, i := int(b.turn.Add(1)), 0; err == nil && i < len(b.servers); i++ {
		n := (first + i) % len(b.servers)
		if b.away[n].Load() {
			continue
		}
		request, _ := http.NewRequestWithContext(r.Context(), r.Method, b.servers[n].at()+r.URL.Path, bytes.NewReader(body)) // as it came
		request.Header = r.Header.Clone()
		request.Header.Del("Accept-Encoding") // which is between two neighbours
		response, failed := b.web.Do(request)
		if failed != nil {
			continue
		}
		answer, failed := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if failed != nil {
			continue
		}
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(answer)
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}

// restarts ends a server as its operator does, and starts another version in its place.
func (b *balancer) restarts(n int, binary string, env ...string) {
	b.t.Helper()
	s := b.servers[n]
	require.NoError(b.t, s.end(syscall.SIGTERM), "%s", s.tail())
	b.away[n].Store(true)
	other := *s.fleet
	other.binary, other.env = binary, slices.Concat(other.env, env)
	s.fleet = &other
	require.NoError(b.t, s.start())
	b.away[n].Store(false)
}

// writer writes notes and reads them again, until it is told to stop.
type writer struct {
	*apitest.Client
	web    *http.Client
	titles map[string]string // by the ids of notes
	told   error             // the first mistake
}

// ask sends a document to wherever the client's server is, and reads the data.
func (w *writer) ask(document string, v apitest.Vars, data any) error {
	body, err := json.Marshal(map[string]any{"query": document, "variables": v})
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, w.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+w.Token)
	response, err := w.web.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	var answer struct {
		Data   json.RawMessage
		Errors []json.RawMessage
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Errors) > 0 || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %s", document, response.StatusCode, text)
	}
	return json.Unmarshal(answer.Data, data)
}

const (
	createTitled = `mutation($title: String!, $key: String!) { createNote(input: {title: $title, content: "text", idempotencyKey: $key}) { note { id } } }`
	updateTitle  = `mutation($id: ID!, $title: String!, $key: String!) { updateNote(input: {noteId: $id, title: $title, idempotencyKey: $key}) { note { title } problem { __typename } } }`
	deleteTitled = `mutation($id: ID!, $key: String!) { deleteNote(input: {noteId: $id, idempotencyKey: $key}) { deletedNote { noteId } } }`
	listTitles   = `query($id: ID!) { note(id: $id) { title } viewer { notes(first: 100) { nodes { id title } } } }`
)

// works goes round after round: it makes a note, gives the one before another title, removes what is old, and reads everything.
func (w *writer) works(ctx context.Context, rounds *atomic.Int64, stop func()) {
	defer stop() // one mistake is enough
	var all []string
	for n := 0; w.told == nil && ctx.Err() == nil; n++ {
		var made struct {
			CreateNote struct{ Note struct{ ID string } }
		}
		title := fmt.Sprint("note ", n)
		w.told = w.ask(createTitled, apitest.Vars{"title": title, "key": uuid.NewString()}, &made)
		id := made.CreateNote.Note.ID
		all, w.titles[id] = append(all, id), title
		if w.told == nil && n > 0 {
			again := all[len(all)-2]
			w.titles[again] += ", again"
			w.told = w.ask(updateTitle, apitest.Vars{"id": again, "title": w.titles[again], "key": uuid.NewString()}, new(any))
		}
		if w.told == nil && len(all) == 20 {
			w.told = w.ask(deleteTitled, apitest.Vars{"id": all[1], "key": uuid.NewString()}, new(any)) // the first one stays
			delete(w.titles, all[1])
			all = slices.Delete(all, 1, 2)
		}
		if w.told == nil {
			w.told = w.reads(id)
		}
		rounds.Add(1)
	}
}

// reads reads a note, and the list of all.
func (w *writer) reads(id string) error {
	var read struct {
		Note   struct{ Title string }
		Viewer struct {
			Notes struct {
				Nodes []struct{ ID, Title string }
			}
		}
	}
	if err := w.ask(listTitles, apitest.Vars{"id": id}, &read); err != nil {
		return err
	}
	titles := map[string]string{}
	for _, n := range read.Viewer.Notes.Nodes {
		titles[n.ID] = n.Title
	}
	if !assert.ObjectsAreEqual(w.titles, titles) || read.Note.Title != w.titles[id] {
		return fmt.Errorf("the notes are %v instead of %v", titles, w.titles)
	}
	return nil
}

// formats returns how many notes are stored in which format.
func (f *fleet) formats() map[string]int {
	f.t.Helper()
	client, err := awsclient.DynamoDB(f.t.Context(), app.EmbeddedClient(embeddedtest.DynamoDB(f.t)))
	require.NoError(f.t, err)
	found := map[string]int{}
	for key, row := range dynamotest.RowsOf(f.t, dynamo.New(dynamo.Options{Client: client, TablePrefix: f.prefix}), dynamo.NotesTable) {
		if strings.HasPrefix(key.PK, keys.UserPrefix) && strings.HasPrefix(key.SK, keys.NotePrefix) {
			_, title := row["title"]
			_, heading := row["heading"]
			_, format := row[dynamo.FormatAttribute]
			found[fmt.Sprintf("title %t, heading %t, format %t", title, heading, format)]++
		}
	}
	return found
}

// Two servers are restarted one after the other while users work: first with a version that reads the next format, then with one that writes it. No
// request fails. A server that does not know the format refuses what has it, and changes nothing.
func TestServersOfTwoVersionsTakeTurns(t *testing.T) {
	next := buildNext(t)
	f := newFleet(t, 2)
	binary := f.binary
	b, url := f.balanced()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var rounds atomic.Int64
	var working sync.WaitGroup
	writers := make([]*writer, 3)
	for i := range writers {
		c := (&apitest.Server{T: t, URL: url, Local: f.local}).User(fmt.Sprintf("writer%d@example.com", i))
		writers[i] = &writer{Client: c, web: f.web, titles: map[string]string{}}
		working.Go(func() { writers[i].works(ctx, &rounds, stop) })
	}
	defer working.Wait()
	defer stop()
	goOn := func() {
		t.Helper()
		until := rounds.Load() + 12 // each server has several requests of each writer
		require.Eventually(t, func() bool { return rounds.Load() >= until || ctx.Err() != nil }, apitest.Patience, 20*time.Millisecond)
		if ctx.Err() != nil {
			working.Wait()
			for _, w := range writers {
				require.NoError(t, w.told)
			}
		}
	}
	goOn()
	for _, written := range []string{"1", "2"} {
		for n := range f.servers {
			b.restarts(n, next, formatOfNotes+"="+written)
			goOn()
		}
	}
	stop()
	working.Wait()
	for _, w := range writers {
		require.NoError(t, w.told)
	}
	const first, second = "title true, heading false, format false", "title false, heading true, format true"
	formats := f.formats()
	assert.Positive(t, formats[first])
	assert.Positive(t, formats[second])
	assert.Len(t, formats, 2, "%v", formats)

	// One server goes back further than to the version that knows the format.
	b.restarts(0, binary)
	old, new := &apitest.Server{T: t, URL: f.servers[0].at()}, &apitest.Server{T: t, URL: f.servers[1].at()}
	w := writers[0]
	var kept, id string // a note of the first format, and the newest one, which is of the second
	for note, title := range w.titles {
		switch {
		case title == "note 0, again":
			kept = note
		case !strings.HasSuffix(title, ", again"):
			id = note
		}
	}
	outdated := func(a *apitest.Answer) {
		t.Helper()
		require.NotEmpty(t, a.Errors, "%s", a.Body)
		for _, err := range a.Errors {
			assert.Equal(t, "SERVER_OUTDATED", err.Extensions.Code, "%s", a.Body)
			assert.Equal(t, dynamo.MessageNewer, err.Message)
		}
	}
	byOld := w.At(old)
	outdated(byOld.Do(`query($id: ID!) { note(id: $id) { title } }`, apitest.Vars{"id": id}))
	outdated(byOld.Do(`{ viewer { notes(first: 100) { nodes { title } } } }`, nil))
	for _, key := range []string{"one", "two"} { // the key is not used up
		outdated(byOld.Do(updateTitle, apitest.Vars{"id": id, "title": "by an old server", "key": key}))
	}
	outdated(byOld.Do(deleteTitled, apitest.Vars{"id": id, "key": "three"}))
	assert.Equal(t, w.titles[kept], byOld.Must(`query($id: ID!) { note(id: $id) { title } }`, apitest.Vars{"id": kept}).Str("note.title"))
	made := byOld.Must(createTitled, apitest.Vars{"title": "by an old server", "key": "four"}).Str("createNote.note.id")
	assert.Equal(t, formats[second], f.formats()[second], "nothing was changed")
	w.titles[made], w.Client = "by an old server", w.At(new)
	require.NoError(t, w.reads(id))
	w.Must(updateTitle, apitest.Vars{"id": id, "title": "by a new one", "key": "one"})
	w.titles[id] = "by a new one"

	b.restarts(0, next, formatOfNotes+"=2")
	for _, s := range f.servers {
		w.URL = s.at()
		require.NoError(t, w.reads(id))
	}
}
