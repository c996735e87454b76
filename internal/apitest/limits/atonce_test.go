package limits

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/app"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/project"
)

// crowd is how many requests come at the same moment.
const crowd = 50

// atOnce sends requests at the same moment and returns how many were carried out. All others have to be told EXHAUSTED.
func atOnce(t *testing.T, one func(n int) *apitest.Answer) (done int) {
	t.Helper()
	answers := make([]*apitest.Answer, crowd)
	var all sync.WaitGroup
	for n := range answers {
		all.Go(func() { answers[n] = one(n) })
	}
	all.Wait()
	for _, a := range answers {
		if len(a.Errors) == 0 {
			assert.NotContains(t, a.Body, "__typename", "no problem")
			done++
			continue
		}
		assert.Equal(t, "EXHAUSTED", a.Errors[0].Extensions.Code, "%s", a.Body)
	}
	return done
}

// oneAfterOther gives each who asks a number of its own.
func oneAfterOther() <-chan int {
	numbers := make(chan int, 2*crowd)
	for n := range 2 * crowd {
		numbers <- n
	}
	return numbers
}

// Two users cannot have more under way by asking at the same moment, and what has ended makes room.
func TestLimitsOfImportsAndExportsHoldAtOnce(t *testing.T) {
	t.Parallel()
	ada := apitest.NewServer(t).User("ada@example.com")
	l := ada.Project("P")
	anImport := func(int) *apitest.Answer {
		return ada.Mutate("createProjectImport", "import { id }", apitest.Vars{"projectId": l.ID, "format": "CSV", "bytes": 10})
	}
	anExport := func(int) *apitest.Answer {
		return ada.Mutate("createProjectExport", "export { id }", apitest.Vars{"projectId": l.ID, "format": "CSV"})
	}
	id := anImport(0).Str("result.import.id")
	assert.Equal(t, project.MaxTransfers-1, atOnce(t, anImport))
	assert.Equal(t, project.MaxTransfers, atOnce(t, anExport))
	ada.Must(`mutation($i: ID!) { cancelProjectImport(input: {importId: $i}) { import { id } } }`, apitest.Vars{"i": id})
	assert.Equal(t, 1, atOnce(t, anImport))
	assert.Zero(t, atOnce(t, anExport))
}

// What no row counts that its creation writes holds at once at one server.
func TestAllowancesHoldAtOnceOverHTTP(t *testing.T) {
	t.Parallel()
	const most, had = 12, 8
	s := apitest.NewServer(t, func(c *config.Config) {
		c.Allowances = map[string]int{"notes": most, "shares": most, "keys": most, "entities": most, "relations": most, "items": most, "tags": most}
	})
	others := make([]*apitest.Client, crowd+had)
	var signing sync.WaitGroup
	for n := range others {
		signing.Go(func() { others[n] = s.User(fmt.Sprintf("other%d@example.com", n)) })
	}
	signing.Wait()
	note := apitest.Vars{"title": "n", "content": "c"}
	for name, prepare := range map[string]func(ada *apitest.Client) func(n int) *apitest.Answer{
		"notes": func(ada *apitest.Client) func(n int) *apitest.Answer {
			return func(int) *apitest.Answer { return ada.Mutate("createNote", "note { id }", note) }
		},
		"keys": func(ada *apitest.Client) func(n int) *apitest.Answer {
			id := ada.Mutate("createNote", "note { id }", note).Str("result.note.id")
			numbers := oneAfterOther()
			return func(int) *apitest.Answer {
				return ada.Mutate("unshareNote", "note { id }", apitest.Vars{"noteId": id, "userId": others[0].ID, "idempotencyKey": fmt.Sprint("key ", <-numbers)})
			}
		},
		"shares": func(ada *apitest.Client) func(n int) *apitest.Answer {
			id := ada.Mutate("createNote", "note { id }", note).Str("result.note.id")
			numbers := oneAfterOther()
			return func(int) *apitest.Answer {
				return ada.Mutate("shareNote", "accessEdge { permission }", apitest.Vars{"noteId": id, "userId": others[<-numbers].ID, "permission": "VIEW"})
			}
		},
		"entities": func(ada *apitest.Client) func(n int) *apitest.Answer {
			space, made := ada.Space("S"), oneAfterOther()
			return func(int) *apitest.Answer {
				return ada.Mutate("setEntity", "entity { id }", apitest.Vars{"scopeId": space.Scope, "type": "t", "key": fmt.Sprint(<-made), "attributes": apitest.Vars{}})
			}
		},
		"relations": func(ada *apitest.Client) func(n int) *apitest.Answer {
			space, made := ada.Space("S"), oneAfterOther()
			of := space.Set("t", "of", apitest.Vars{})
			return func(int) *apitest.Answer {
				return ada.Mutate("addEntityRelations", "entity { id }", apitest.Vars{"entityId": of, "predicate": fmt.Sprint("p", <-made), "objects": apitest.Objects(of)})
			}
		},
		"tags": func(ada *apitest.Client) func(n int) *apitest.Answer {
			files := make(chan string, crowd+had)
			for n := range crowd + had {
				files <- ada.Uploads([]byte("a"), apitest.Vars{"type": "text/plain", "name": fmt.Sprint("file", n)})
			}
			return func(int) *apitest.Answer {
				return ada.Mutate("setItemTags", "item { id }", apitest.Vars{"itemId": <-files, "tags": []apitest.Vars{{"value": "tag"}}})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ada := s.User(name + "@example.com")
			one := prepare(ada)
			for n := range had {
				a := one(n)
				require.Empty(t, a.Errors, "%s", a.Body)
			}
			assert.Equal(t, most-had, atOnce(t, one))
		})
	}
	t.Run("items", func(t *testing.T) {
		t.Parallel()
		l := s.User("items@example.com").Project("P")
		i := l.ImportedAs("DONE", "JSON_LINES", apitest.Lines(0, had))
		assert.InDelta(t, had, i.At("imported"), 0)
		i = l.ImportedAs("DONE", "JSON_LINES", apitest.Lines(had-1, most+3)) // one of them is there already
		assert.InDelta(t, most-had, i.At("imported"), 0)
		assert.InDelta(t, 1, i.At("duplicates"), 0)
		assert.InDelta(t, 3, i.At("mistakes"), 0)
		assert.True(t, strings.Contains(i.Body, "at most 12 items"), "%s", i.Body)
		assert.Len(t, l.ExternalIDs(), most)
	})
}

// Two servers, of which each knows what the other has counted, let at most a tenth more pass.
func TestAllowancesHoldAcrossServers(t *testing.T) {
	t.Parallel()
	const most, room = 50, 5
	data := t.TempDir()
	numbers := map[string]int{"notes": most}
	s := apitest.NewServer(t, func(c *config.Config) { c.Allowances, c.Data = numbers, data })
	other := apitest.NewServer(t, func(c *config.Config) { c.Allowances, c.Data, c.TablePrefix = numbers, data, s.Prefix })
	ada := s.User("ada@example.com")
	both := []*apitest.Client{ada, {Server: other, Token: ada.Token, ID: ada.ID}}
	create := func(n int) *apitest.Answer {
		return both[n%2].Mutate("createNote", "note { id }", apitest.Vars{"title": "n", "content": "c"})
	}
	for n := range most - room {
		require.Empty(t, create(n).Errors)
	}
	for _, c := range both { // as servers do each second
		require.NoError(t, c.DB.CountAllowances(t.Context()))
	}
	done := atOnce(t, create)
	assert.GreaterOrEqual(t, done, room)
	assert.LessOrEqual(t, done, room+most/10)
	create(0).Fails("EXHAUSTED", "")
}

func TestAllowancesAreNamed(t *testing.T) {
	t.Parallel()
	_, _, err := app.LoadServer([]string{"TAGGIE_ALLOWANCES=notes=5,note=5"}, nil)
	require.ErrorContains(t, err, "TAGGIE_ALLOWANCES: expected numbers from 1")
	_, _, err = app.LoadServer([]string{"TAGGIE_ALLOWANCES=notes=5,relations=5"}, nil)
	require.NoError(t, err)
}
