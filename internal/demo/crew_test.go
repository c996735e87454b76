package demo

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// forCrew has everybody, and a project that is soon labelled.
var forCrew = size{name: "for a crew", people: 9, own: 1, others: 1, items: 60, scope: catalogue{people: 1, works: 1, ensembles: 1}}

// diligent labellers finish what they get.
var diligent = &habits{}

func newCrewWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	require.NoError(t, load(t.Context(), w.options(), forCrew))
	return w
}

// item is what became of one.
type item struct {
	status   string
	counting []string // categories by efforts that were neither undone nor found incorrect
	efforts  int
}

func (w *world) items() map[string]item {
	w.t.Helper()
	all := map[string]item{}
	nodes := at(projectOf(w.ask(Email, `{ viewer { projects(first: 2) { nodes { name items(first: 250) { nodes {
	  externalId status efforts(first: 20) { nodes { category { name } undoneAt review { verdict } } }
	} } } } } }`), projectName), "items", "nodes")
	for _, n := range nodes.([]any) {
		i := item{status: at(n, "status").(string)}
		for _, e := range at(n, "efforts", "nodes").([]any) {
			i.efforts++
			if at(e, "undoneAt") == nil && at(e, "review", "verdict") != "INCORRECT" {
				i.counting = append(i.counting, at(e, "category", "name").(string))
			}
		}
		all[at(n, "externalId").(string)] = i
	}
	return all
}

// claimed is how many items the queue and the items themselves say that somebody has. A queue that is just being made anew is waited
// for.
func (w *world) claimed() [2]int {
	w.t.Helper()
	l, done := open(w.options(), full)
	defer done()
	ada, err := l.as(people[0])
	require.NoError(w.t, err)
	var data any
	require.NoError(w.t, l.ask(w.t.Context(), ada, `query Claimed {
	  viewer { projects(first: 2) { nodes { name queue { counts { claimed } } items(status: CLAIMED, first: 250) { nodes { id } } } } }
	}`, nil, &data))
	p := projectOf(data, projectName)
	return [2]int{int(at(p, "queue", "counts", "claimed").(float64)), len(at(p, "items", "nodes").([]any))}
}

// allFinishedOnce looks whether all items were finished once, as they should be, or skipped when the project was loaded.
func (w *world) allFinishedOnce() {
	w.t.Helper()
	skipped := 0
	for id, i := range w.items() {
		if i.status == "SKIPPED" {
			skipped++
			continue
		}
		assert.Equal(w.t, item{status: "FINISHED", counting: []string{findingOf(id).category}, efforts: 1}, i, id)
	}
	assert.Equal(w.t, forCrew.items/everySkipped, skipped)
}

func TestCrewFinishesEachItemOnce(t *testing.T) {
	t.Parallel()
	w := newCrewWorld(t)
	var told bytes.Buffer
	o := w.options()
	o.Progress = &told
	require.NoError(t, Crew{Labellers: 6, Reviewers: 1, habits: diligent}.Work(t.Context(), o))
	w.allFinishedOnce()
	assert.Contains(t, told.String(), "crew is labelling; Ctrl-C ends it")
	assert.NotContains(t, told.String(), "PROJECT_ID")
	assert.Contains(t, told.String(), "56 finished, 0 skipped, 0 passed on, 0 given back, 0 undone")
	archive := projectOf(w.ask(Email, `{ viewer { projects(first: 2) { nodes { name online { user { name } } teams { statistics { finished incorrect } } } } } }`), projectName)
	assert.Len(t, at(archive, "online"), 7, "everybody said that they are at work")
	finished := 0.0
	for _, team := range at(archive, "teams").([]any) {
		finished += at(team, "statistics", "finished").(float64)
	}
	assert.InDelta(t, 59, finished, 0)
}

// Two crews that skip, release, make mistakes and take things back leave nothing half-done, and nothing wrong.
func TestCrewsBesideOneAnother(t *testing.T) {
	t.Parallel()
	w := newCrewWorld(t)
	often := &habits{skip: 6, release: 6, mistake: 3, undo: 3}
	told := make([]bytes.Buffer, 2)
	var crews sync.WaitGroup
	for i := range told {
		crews.Go(func() {
			o := w.options()
			o.Progress = &told[i]
			assert.NoError(t, Crew{Labellers: 4 + i, Reviewers: 1, habits: often, patience: time.Second}.Work(t.Context(), o))
		})
	}
	crews.Wait()
	text := told[0].String() + told[1].String()
	for _, never := range []string{" 0 finished", " 0 passed on", " 0 given back", " 0 undone", " 0 reviewed"} {
		assert.Less(t, strings.Count(text[strings.LastIndex(text, "has ended"):], never), 2, text)
	}
	require.Eventually(t, func() bool { return w.claimed() == [2]int{} }, 10*time.Second, 20*time.Millisecond)
	for id, i := range w.items() {
		switch i.status {
		case "FINISHED":
			require.Len(t, i.counting, 1, id)
			assert.Contains(t, []string{findingOf(id).category, mistakeOf(id).category}, i.counting[0], id)
		case "NEW", "SKIPPED":
			assert.Empty(t, i.counting, id)
		default:
			assert.Fail(t, "a status that nothing is left in", "%s: %s", id, i.status)
		}
	}
}

func TestCrewGivesBackWhatItHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Crew{
		"when it is stopped":     {Labellers: 7, Pace: time.Hour, habits: diligent},
		"when the time is over":  {Labellers: 2, Reviewers: 1, Pace: time.Hour, For: time.Second},
		"when there is no queue": {Labellers: 2, Pace: time.Hour, habits: diligent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCrewWorld(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- c.Work(ctx, w.options()) }()
			if c.For == 0 {
				require.Eventually(t, func() bool { n := w.claimed()[1]; return n >= c.Labellers }, 20*time.Second, 20*time.Millisecond)
				if name == "when there is no queue" {
					require.NoError(t, w.redis.FlushDB(t.Context()).Err())
				}
				stop()
			}
			require.NoError(t, <-ended)
			require.Eventually(t, func() bool { return w.claimed() == [2]int{} }, 20*time.Second, 20*time.Millisecond)
			for id, i := range w.items() {
				assert.LessOrEqual(t, i.efforts, 1, id)
			}
		})
	}
}

// Answers that are lost, a server that is away for a while, and a Redis that forgets everything cost no item, and double none.
func TestCrewGoesOn(t *testing.T) {
	t.Parallel()
	w := newCrewWorld(t)
	var calls, lost, refused atomic.Int64
	away := func(n int64) bool { return n > 40 && n <= 90 || n > 150 && n <= 180 }
	require.NoError(t, Crew{Labellers: 3, Reviewers: 1, habits: diligent}.Work(t.Context(), w.through(func(_ string, r *http.Request) (*http.Response, error) {
		n := calls.Add(1)
		switch {
		case n == 100 || n == 200:
			assert.NoError(t, w.redis.FlushDB(t.Context()).Err())
		case n > 5 && away(n):
			refused.Add(1)
			return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
		case n > 5 && n%6 == 0:
			response, err := http.DefaultTransport.RoundTrip(r)
			if err == nil {
				lost.Add(1)
				_ = response.Body.Close()
			}
			return nil, &net.OpError{Op: "read", Err: net.ErrClosed}
		}
		return http.DefaultTransport.RoundTrip(r)
	})))
	assert.Greater(t, calls.Load(), int64(200), "everything has happened")
	assert.Greater(t, refused.Load(), int64(50))
	assert.Greater(t, lost.Load(), int64(10))
	w.allFinishedOnce()
}

func TestCrewSaysPlainlyWhyItCannotWork(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, Crew{}.Work(t.Context(), Options{}), "at least one labeller")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	token := func(email, _ string) (string, error) { return email, nil }
	err = Crew{Labellers: 1}.Work(t.Context(), Options{URL: "http://" + listener.Addr().String(), Token: token})
	require.ErrorIs(t, err, ErrNoServer)
	err = Crew{Labellers: 1}.Work(t.Context(), answering(http.StatusOK, `{"data":{"viewer":{"projects":{"nodes":[{"id":"1","name":"Another"}]}}}}`))
	require.ErrorContains(t, err, "no project")
}

func TestTheDocsShowWhatTheCrewPrints(t *testing.T) {
	_, errs := gqlparser.LoadQueryWithRules(schema(t), watch, rules.NewDefaultRules())
	assert.Empty(t, errs)
	assert.Contains(t, document(t, "docs/tour/projects.md"), watch)
}
