package projects_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest/projecttest"
)

func foundIn(t *testing.T, w *projecttest.World, db projects.Store, begin string) []string {
	t.Helper()
	s, err := db.FindItems(t.Context(), w.Project.ID, project.FoldItemName(begin), "", dynamotest.WholeList)
	require.NoError(t, err)
	names := []string{}
	for _, i := range s.Items {
		names = append(names, i.Name)
	}
	return names
}

// updated gives the row of an item what an index that is late, or a server of an earlier version, leaves there.
func updated(t *testing.T, db projects.Store, i project.Item, update string, names map[string]string, values dynamo.Attrs) {
	t.Helper()
	a := dynamo.Action{Table: dynamo.EntitiesMaster, Key: entities.ShardedKey(projects.ItemID(i.ItemID)), Update: update, Names: names, Values: values}
	require.NoError(t, db.Transact(t.Context(), []dynamo.Action{a}, idempotency.Key{}))
}

var noPlace = "REMOVE " + dynamo.ItemsByName.PK + ", " + dynamo.ItemsByName.SK

// Whatever names are like, what begins with a text is what a look at all of them finds.
func TestPrefixesFindWhatAFilterFinds(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenWorldOfProjects(t)
	parts := []string{"a", "A", "b", "é", "E\u0301", "e", "ß", "SS", "ﬀ", "f", "İ", "ς", "σ", " ", "\t", "%", ":", "#", "~", "\U0001D15E", "\U0010FFFF", "１", "\u0345"}
	draw := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	var names []string
	for len(names) < 120 {
		var name strings.Builder
		for range 1 + draw.IntN(4) {
			name.WriteString(parts[draw.IntN(len(parts))])
		}
		if text := strings.TrimSpace(name.String()); text != "" && !strings.Contains(text, "\t") {
			names = append(names, text)
		}
	}
	names = append(names, strings.Repeat("\U0001D160", project.MaxItemNameRunes), strings.Repeat("x", project.MaxItemNameRunes)) // of the first, the folded form does not fit into a key
	items := w.Named(names...)
	prefixes := map[string]bool{strings.Repeat("\U0001D160", 70): true}
	for _, name := range names {
		for n := range []rune(name)[:min(len([]rune(name)), 4)] {
			prefixes[string([]rune(name)[:n+1])] = true
		}
	}
	for prefix := range prefixes {
		begin := project.FoldItemName(prefix)
		if begin == "" {
			continue
		}
		want := []string{}
		for _, i := range items {
			if strings.HasPrefix(project.FoldItemName(i.Name), begin) {
				want = append(want, i.Name)
			}
		}
		found := foundIn(t, w, db, prefix)
		assert.ElementsMatch(t, want, found, "%q", prefix)
		assert.True(t, slices.IsSortedFunc(found, func(a, b string) int { return strings.Compare(project.FoldItemName(a), project.FoldItemName(b)) }), "%q: %q", prefix, found)
	}
	assert.Greater(t, len(prefixes), 100)
}

// Places that are outdated show nothing. A check tells of them, and indexing makes them right, also if it is ended again and again.
func TestItemsFromBeforeGetTheirPlaces(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	items := w.Named("Owl", "Otter", "Oriole", "Ostrich", "Osprey")
	names := map[string]string{"#name": "name", "#status": "status"}
	updated(t, db, items[0], noPlace, nil, nil)
	updated(t, db, items[1], "SET #name = :name", map[string]string{"#name": "name"}, dynamo.Attrs{":name": dynamo.Str("Beaver")})
	updated(t, db, items[2], "SET #status = :status", map[string]string{"#status": "status"}, dynamo.Attrs{":status": dynamo.Str("REMOVED")})
	updated(t, db, items[3], "SET #name = :name, #status = :status", names, dynamo.Attrs{":name": dynamo.Str("Ostrich"), ":status": dynamo.Str("NEW")}) // as it was
	assert.Equal(t, []string{"Osprey", "Ostrich"}, foundIn(t, w, db, "o"))
	assert.Empty(t, foundIn(t, w, db, "b"))
	misfits := func() (lacking []string) {
		t.Helper()
		found, _, err := dynamo.Checking{DB: db.DB, Kinds: projects.Kinds()}.Walk(t.Context())
		require.NoError(t, err)
		for _, m := range found {
			require.NoError(t, m.Err)
			require.Equal(t, "an item of a project", m.Kind)
			lacking = append(lacking, m.Key.PK)
		}
		return lacking
	}
	assert.ElementsMatch(t, []string{items[0].ID, items[1].ID, items[2].ID}, misfits())

	tries := 0
	for ; ; tries++ {
		dead := inj.KillAfter(tries)
		_, err := db.IndexItems(t.Context())
		dead.Stop()
		if err == nil {
			break
		}
		require.Less(t, tries, 20)
	}
	assert.Positive(t, tries)
	assert.Equal(t, []string{"Osprey", "Ostrich", "Owl"}, foundIn(t, w, db, "o"))
	assert.Equal(t, []string{"Beaver"}, foundIn(t, w, db, "b"))
	assert.Empty(t, misfits())
	inj.Recorder().Reset()
	done, err := db.IndexItems(t.Context())
	require.NoError(t, err)
	assert.Equal(t, projects.Indexing{Items: 5}, done, "all are where they are found")
	assert.Equal(t, map[string]int{"Scan": 1}, inj.Recorder().Operations(), "what is right is not written")
	assert.Equal(t, 1, w.Get(items[0].ItemID).Version, "it is no change of the item")
	assert.NotContains(t, dynamotest.RowsOf(t, db.DB, dynamo.EntitiesMaster)[entities.ShardedKey(projects.ItemID(items[2].ItemID))], dynamo.ItemsByName.SK)
}

// An index that is late shows no item that is removed, and none twice.
func TestNamesWhileIndexesLag(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	items := w.Named("owl", "otter")
	lag := inj.LagIndexes()
	updated(t, db, items[0], "SET #status = :status "+noPlace, map[string]string{"#status": "status"}, dynamo.Attrs{":status": dynamo.Str("REMOVED")})
	updated(t, db, items[1], "SET #name = :name, "+dynamo.ItemsByName.SK+" = :order", map[string]string{"#name": "name"}, dynamo.Attrs{":name": dynamo.Str("ox"), ":order": dynamo.Str("ox\t" + items[1].ID)})
	assert.Empty(t, foundIn(t, w, db, "o"))
	require.NoError(t, lag.Settle(t.Context()))
	assert.Equal(t, []string{"ox"}, foundIn(t, w, db, "o"))
	require.NoError(t, lag.Stop(t.Context()))
}

// A page is one Query and one batch per hundred. Where few items have the status, it ends after 2,000, and says where.
func TestPagesOfItemsByName(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	const n = 2_100
	items := w.Fill(n)
	last := slices.MaxFunc(items, func(a, b project.Item) int { return strings.Compare(a.Name, b.Name) })
	done, _ := w.Finish(last, w.Ada, w.Label("owl").ID, "")
	first := fmt.Sprint("bird ", 1)
	find := func(status project.Status, win page.Window) page.Slice[project.Item] {
		t.Helper()
		inj.Recorder().Reset()
		s, err := db.FindItems(t.Context(), w.Project.ID, "bird", status, win)
		require.NoError(t, err)
		return s
	}
	s := find("", page.Window{Limit: 50})
	require.Len(t, s.Items, 50)
	assert.Equal(t, first, s.Items[0].Name)
	assert.True(t, s.More)
	assert.Empty(t, s.Until)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, inj.Recorder().Operations())
	s = find("", page.Window{Limit: 50, From: s.Positions[49], Probe: true})
	assert.True(t, s.Other)
	assert.Equal(t, map[string]int{"Query": 2, "BatchGetItem": 2}, inj.Recorder().Operations())

	s = find(project.Finished, page.Window{Limit: 50})
	assert.Empty(t, s.Items)
	assert.True(t, s.More, "it has not looked at all")
	require.NotEmpty(t, s.Until)
	made := inj.Recorder().Operations()
	assert.LessOrEqual(t, made["Query"], 7)
	assert.LessOrEqual(t, made["BatchGetItem"], 22)
	s = find(project.Finished, page.Window{Limit: 50, From: s.Until, Probe: true})
	assert.Equal(t, []project.Item{done}, s.Items)
	assert.False(t, s.More)
	assert.Empty(t, s.Until)
	assert.True(t, s.Other, "there may be one before")
	s = find(project.Claimed, page.Window{Limit: 50, Backward: true})
	assert.Empty(t, s.Items)
	assert.True(t, s.More)
	s = find(project.Claimed, page.Window{Limit: 50, Backward: true, From: s.Until})
	assert.Empty(t, s.Items)
	assert.False(t, s.More)
}
