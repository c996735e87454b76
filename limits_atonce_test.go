package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/project"
)

// crowd is how many requests come at the same moment.
const crowd = 50

// atOnce sends requests at the same moment and returns how many were carried out. All others have to be told EXHAUSTED.
func atOnce(t *testing.T, one func(n int) *answer) (done int) {
	t.Helper()
	answers := make([]*answer, crowd)
	var all sync.WaitGroup
	for n := range answers {
		all.Go(func() { answers[n] = one(n) })
	}
	all.Wait()
	for _, a := range answers {
		if len(a.Errors) == 0 {
			assert.NotContains(t, a.body, "__typename", "no problem")
			done++
			continue
		}
		assert.Equal(t, "EXHAUSTED", a.Errors[0].Extensions.Code, "%s", a.body)
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
	ada := newServer(t).user("ada@example.com")
	l := ada.project("P")
	anImport := func(int) *answer {
		return ada.mutate("createProjectImport", "import { id }", vars{"projectId": l.id, "format": "CSV", "bytes": 10})
	}
	anExport := func(int) *answer {
		return ada.mutate("createProjectExport", "export { id }", vars{"projectId": l.id, "format": "CSV"})
	}
	id := anImport(0).str("result.import.id")
	assert.Equal(t, project.MaxTransfers-1, atOnce(t, anImport))
	assert.Equal(t, project.MaxTransfers, atOnce(t, anExport))
	ada.must(`mutation($i: ID!) { cancelProjectImport(input: {importId: $i}) { import { id } } }`, vars{"i": id})
	assert.Equal(t, 1, atOnce(t, anImport))
	assert.Zero(t, atOnce(t, anExport))
}

// What no row counts that its creation writes holds at once at one server.
func TestAllowancesHoldAtOnceOverHTTP(t *testing.T) {
	t.Parallel()
	const most, had = 12, 8
	s := newServer(t, func(c *config.Config) {
		c.Allowances = map[string]int{"notes": most, "shares": most, "keys": most, "entities": most, "relations": most, "items": most, "tags": most}
	})
	others := make([]*client, crowd+had)
	var signing sync.WaitGroup
	for n := range others {
		signing.Go(func() { others[n] = s.user(fmt.Sprintf("other%d@example.com", n)) })
	}
	signing.Wait()
	note := vars{"title": "n", "content": "c"}
	for name, prepare := range map[string]func(ada *client) func(n int) *answer{
		"notes": func(ada *client) func(n int) *answer {
			return func(int) *answer { return ada.mutate("createNote", "note { id }", note) }
		},
		"keys": func(ada *client) func(n int) *answer {
			id := ada.mutate("createNote", "note { id }", note).str("result.note.id")
			numbers := oneAfterOther()
			return func(int) *answer {
				return ada.mutate("unshareNote", "note { id }", vars{"noteId": id, "userId": others[0].id, "idempotencyKey": fmt.Sprint("key ", <-numbers)})
			}
		},
		"shares": func(ada *client) func(n int) *answer {
			id := ada.mutate("createNote", "note { id }", note).str("result.note.id")
			numbers := oneAfterOther()
			return func(int) *answer {
				return ada.mutate("shareNote", "accessEdge { permission }", vars{"noteId": id, "userId": others[<-numbers].id, "permission": "VIEW"})
			}
		},
		"entities": func(ada *client) func(n int) *answer {
			space, made := ada.space("S"), oneAfterOther()
			return func(int) *answer {
				return ada.mutate("setEntity", "entity { id }", vars{"scopeId": space.scope, "type": "t", "key": fmt.Sprint(<-made), "attributes": vars{}})
			}
		},
		"relations": func(ada *client) func(n int) *answer {
			space, made := ada.space("S"), oneAfterOther()
			of := space.set("t", "of", vars{})
			return func(int) *answer {
				return ada.mutate("addEntityRelations", "entity { id }", vars{"entityId": of, "predicate": fmt.Sprint("p", <-made), "objects": objects(of)})
			}
		},
		"tags": func(ada *client) func(n int) *answer {
			files := make(chan string, crowd+had)
			for n := range crowd + had {
				files <- ada.uploads([]byte("a"), vars{"type": "text/plain", "name": fmt.Sprint("file", n)})
			}
			return func(int) *answer {
				return ada.mutate("setItemTags", "item { id }", vars{"itemId": <-files, "tags": []vars{{"value": "tag"}}})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ada := s.user(name + "@example.com")
			one := prepare(ada)
			for n := range had {
				a := one(n)
				require.Empty(t, a.Errors, "%s", a.body)
			}
			assert.Equal(t, most-had, atOnce(t, one))
		})
	}
	t.Run("items", func(t *testing.T) {
		t.Parallel()
		l := s.user("items@example.com").project("P")
		i := l.importedAs("DONE", "JSON_LINES", lines(0, had))
		assert.InDelta(t, had, i.at("imported"), 0)
		i = l.importedAs("DONE", "JSON_LINES", lines(had-1, most+3)) // one of them is there already
		assert.InDelta(t, most-had, i.at("imported"), 0)
		assert.InDelta(t, 1, i.at("duplicates"), 0)
		assert.InDelta(t, 3, i.at("mistakes"), 0)
		assert.True(t, strings.Contains(i.body, "at most 12 items"), "%s", i.body)
		assert.Len(t, l.externalIDs(), most)
	})
}

// Two servers, of which each knows what the other has counted, let at most a tenth more pass.
func TestAllowancesHoldAcrossServers(t *testing.T) {
	t.Parallel()
	const most, room = 50, 5
	data := t.TempDir()
	numbers := map[string]int{"notes": most}
	s := newServer(t, func(c *config.Config) { c.Allowances, c.Data = numbers, data })
	other := newServer(t, func(c *config.Config) { c.Allowances, c.Data, c.TablePrefix = numbers, data, s.prefix })
	ada := s.user("ada@example.com")
	both := []*client{ada, {testServer: other, token: ada.token, id: ada.id}}
	create := func(n int) *answer {
		return both[n%2].mutate("createNote", "note { id }", vars{"title": "n", "content": "c"})
	}
	for n := range most - room {
		require.Empty(t, create(n).Errors)
	}
	for _, c := range both { // as servers do each second
		require.NoError(t, c.db.CountAllowances(t.Context()))
	}
	done := atOnce(t, create)
	assert.GreaterOrEqual(t, done, room)
	assert.LessOrEqual(t, done, room+most/10)
	create(0).fails("EXHAUSTED", "")
}

func TestAllowancesAreNamed(t *testing.T) {
	t.Parallel()
	_, _, err := loadServer([]string{"TAGGIE_ALLOWANCES=notes=5,note=5"}, nil)
	require.ErrorContains(t, err, "TAGGIE_ALLOWANCES: expected numbers from 1")
	_, _, err = loadServer([]string{"TAGGIE_ALLOWANCES=notes=5,relations=5"}, nil)
	require.NoError(t, err)
}
