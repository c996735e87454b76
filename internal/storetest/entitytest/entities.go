// Package entitytest holds a store of entities, relations, scopes and tasks to its contract.
//
// It knows entity.Store and what the rules rely on. It must not know how things are kept. Start reading at [Suite].
package entitytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
)

// Stores is one empty implementation of each store that entities need.
type Stores struct {
	Users    user.Store
	Entities Entities
	Tasks    task.Store
	// Settle lets indexes that lag behind show all that was written; nil where none does.
	Settle func()
}

// Entities is the part of [entity.Store] that these suites are about.
type Entities interface {
	entity.Reader
	PutEntity(ctx context.Context, before *entity.Entity, after entity.Entity, relations map[string][]entity.Object, once idempotency.Key) error
	DeleteEntity(ctx context.Context, e entity.Entity, once idempotency.Key) error
	entity.Scopes
	entity.ScopeReader
	entity.Rebuilder
	idempotency.Store
}

// Open returns empty stores that take their time from now.
type Open func(t *testing.T, now func() time.Time) Stores

// World opens stores, and returns a world over them.
func (open Open) World(t *testing.T, clock *storetest.Clock) *World {
	return NewWorld(t, open(t, clock.Now), clock)
}

// World is a set of stores with what makes entities in them.
type World struct {
	Stores
	Clock *storetest.Clock
	Ctx   context.Context // of the test, with as much time as a busy machine may need

	scope string
	t     testing.TB
}

// NewWorld returns a world over empty stores that show the time of the clock, with a scope whose id is not an easy one.
func NewWorld(t testing.TB, s Stores, clock *storetest.Clock) *World {
	return &World{Stores: s, Clock: clock, Ctx: storetest.Patient(t), scope: "scope:1#a", t: t}
}

// ID returns the id of a person in the world's scope.
func (w *World) ID(id string) entity.ID {
	return entity.ID{Scope: w.scope, Type: "person", ID: id}
}

// Set sets an entity as the service does: as a new one, or as the next version of the one there is.
func (w *World) Set(id entity.ID, attributes map[string]any, index ...entity.IndexEntry) entity.Entity {
	w.t.Helper()
	if attributes == nil {
		attributes = map[string]any{}
	}
	e := entity.Entity{ID: id, Attributes: attributes, Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(), Index: index}
	before, err := w.Find(id)
	require.NoError(w.t, err)
	if before != nil {
		e.Version, e.CreatedAt = before.Version+1, before.CreatedAt
	}
	require.NoError(w.t, w.Entities.PutEntity(w.Ctx, before, e, nil, idempotency.Key{}))
	return e
}

// Find returns an entity, nil for none.
func (w *World) Find(id entity.ID) (*entity.Entity, error) {
	entities, errs := w.Entities.EntitiesByID(w.Ctx, []entity.ID{id})
	switch {
	case errs == nil:
		return &entities[0], nil
	case fault.Is(errs[0], fault.NotFound):
		return nil, nil
	}
	return nil, errs[0]
}

// settle waits for indexes. What is said to see every acknowledged write is read without it.
func (w *World) settle() {
	if w.Settle != nil {
		w.Settle()
	}
}

// emit returns entries of an index with these keys.
func emit(index string, keys ...string) []entity.IndexEntry {
	var entries []entity.IndexEntry
	for _, key := range keys {
		entries = append(entries, entity.IndexEntry{Name: index, Key: key})
	}
	return entries
}

// byType lists a page of persons.
func (w *World) byType(win page.Window) (page.Slice[entity.Entity], error) {
	w.settle()
	return w.Entities.ListEntities(w.Ctx, w.scope, "person", win)
}

// ByIndex returns "key id" of each entry in a range.
func (w *World) ByIndex(index string, r entity.Range) []string {
	w.t.Helper()
	w.settle()
	s, err := w.Entities.ListByIndex(w.Ctx, w.scope, index, r, page.Window{Limit: page.Max})
	require.NoError(w.t, err)
	found := []string{}
	for _, i := range s.Items {
		assert.Equal(w.t, index, i.Name)
		found = append(found, i.Key+" "+i.Entity.ID.ID)
	}
	return found
}

// Suite tests an implementation of the parts of entity.Store that read, set and index entities. Its tests have the
// names of the use cases of the document.
func Suite(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"Get subject by ID": func(t *testing.T, w *World) {
			attributes := map[string]any{
				"name": "Ada", "age": json.Number("36"), "dead": true, "spouse": nil, "expires_at": json.Number("1"),
				"tags": []any{"a", json.Number("1.5"), []any{}}, "address": map[string]any{"city": "London", "geo": map[string]any{}},
			}
			ids := []entity.ID{w.ID("a:b#c%3A"), w.ID("a"), w.ID("nobody"), {Scope: w.scope, Type: "perso", ID: "n"}, w.ID("a:b#c%3A"),
				{Scope: "scope", Type: "1#a:person", ID: "a"}, {Scope: "other", Type: "person", ID: "a"}}
			ada := w.Set(ids[0], attributes, emit("name", "Ada", "Lovelace")...)
			other := w.Set(ids[1], nil)
			entities, errs := w.Entities.EntitiesByID(w.Ctx, ids)
			require.Len(t, errs, len(ids))
			assert.Equal(t, ada, entities[0])
			assert.Equal(t, other, entities[1])
			assert.Equal(t, ada, entities[4])
			for _, i := range []int{2, 3, 5, 6} {
				storetest.IsFault(t, errs[i], fault.NotFound)
			}
			for _, i := range []int{0, 1, 4} {
				assert.NoError(t, errs[i])
			}
			_, errs = w.Entities.EntitiesByID(w.Ctx, ids[:2])
			assert.Nil(t, errs)
		},
		"What apps note is kept beside the attributes, and in lists": func(t *testing.T, w *World) {
			e := w.Set(w.ID("a"), map[string]any{"name": "Ada"}, emit("name", "Ada")...)
			before := e
			e.Version, e.Meta = 2, map[string]any{"source": "import", "run": json.Number("7"), "old": nil, "more": []any{map[string]any{"x": true}}}
			require.NoError(t, w.Entities.PutEntity(w.Ctx, &before, e, nil, idempotency.Key{}))
			found, err := w.Find(e.ID)
			require.NoError(t, err)
			assert.Equal(t, e, *found)
			listed, err := w.byType(page.Window{Limit: 2})
			require.NoError(t, err)
			assert.Equal(t, []entity.Entity{e}, listed.Items)
			var conflict *entity.VersionConflict
			require.ErrorAs(t, w.Entities.PutEntity(w.Ctx, &before, before, nil, idempotency.Key{}), &conflict)
			assert.Equal(t, e, *conflict.Current)
			require.NoError(t, w.Entities.DeleteEntity(w.Ctx, e, idempotency.Key{}))
			found, err = w.Find(e.ID)
			require.NoError(t, err)
			assert.Nil(t, found)
		},
		"Page all subjects by type": func(t *testing.T, w *World) {
			var want []string
			for n := range 23 {
				if n%3 == 0 {
					w.Clock.Advance(time.Millisecond) // three of each millisecond
				}
				id := w.ID(fmt.Sprintf("p:%d", n))
				w.Set(id, nil)
				want = append(want, id.ID)
			}
			w.Set(entity.ID{Scope: w.scope, Type: "person2", ID: "x"}, nil)
			w.Set(entity.ID{Scope: w.scope + "2", Type: "person", ID: "y"}, nil)
			w.Clock.Advance(time.Millisecond)
			w.Set(w.ID("p:4"), map[string]any{"changed": true}) // the newest now
			for _, limit := range []int{1, 2, 4, 22, 23} {
				assert.Len(t, storetest.Pages(t, limit, w.byType), 23, "pages of %d", limit)
			}
			s, err := w.byType(page.Window{Limit: page.Max})
			require.NoError(t, err)
			var ids []string
			for i, e := range s.Items {
				ids = append(ids, e.ID.ID)
				assert.True(t, i == 0 || !e.UpdatedAt.After(s.Items[i-1].UpdatedAt), "the newest first")
			}
			assert.ElementsMatch(t, want, ids)
			assert.Equal(t, "p:4", ids[0])
			assert.Equal(t, map[string]any{"changed": true}, s.Items[0].Attributes)
		},
		"Query objects from index":    queryIndex,
		"Query an index page by page": pageIndex,
		"Set a record":                setRecord,
		"Set a record once":           setOnce,
		"Page all of a scope":         pageScope,
	})
	Together(t, open)
}

// Together tests what [Suite] does at the same time: nothing else sees a transaction that is shown row by row. A rebuild changes several
// entities at the same time.
func Together(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"Set a record by many at once":  setTogether,
		"Rebuild an index":              rebuild,
		"Rebuild an index step by step": rebuildSteps,
	})
}

func queryIndex(t *testing.T, w *World) {
	keys := []string{"a", "a\x00", "a\x00b", "aa", "ab", "b", "b:1", "b#2", "bé", "b\uD7FF", "b\uE000", "b\U0010FFFF", "b\U0010FFFFx", "c", "~", "\u00e9"}
	for i, key := range keys {
		w.Set(w.ID(fmt.Sprint("n:", i)), nil, emit("letter", key)...)
	}
	w.Set(w.ID("two"), nil, append(emit("letter", "a", "b"), emit("letters", "a", "b")...)...)
	w.Set(entity.ID{Scope: "scope", Type: "person", ID: "foreign"}, nil, emit("letter", "a")...)
	all := []string{}
	for i, key := range keys {
		all = append(all, key+fmt.Sprint(" n:", i))
	}
	all = append(all, "a two", "b two")
	keyOf := func(of string) string { return of[:strings.LastIndex(of, " ")] }
	only := func(in func(key string) bool) []string {
		kept := []string{}
		for _, of := range all {
			if in(keyOf(of)) {
				kept = append(kept, of)
			}
		}
		return kept
	}
	check := func(name string, r entity.Range, in func(key string) bool) {
		t.Helper()
		got := w.ByIndex("letter", r)
		assert.ElementsMatch(t, only(in), got, "%s", name)
		assert.True(t, slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(keyOf(a), keyOf(b)) }), "%s: %q", name, got)
	}
	check("all", entity.Range{}, func(string) bool { return true })
	for _, key := range append(keys, "", "0", "bb", "zz", "\U0010FFFF") {
		if key != "" {
			check("equals "+key, entity.Range{Equals: &key}, func(k string) bool { return k == key })
		}
		check(fmt.Sprintf("begins with %q", key), entity.Range{BeginsWith: &key}, func(k string) bool { return len(k) >= len(key) && k[:len(key)] == key })
		check(fmt.Sprintf("before %q", key), entity.Range{Before: &key}, func(k string) bool { return k < key })
		check(fmt.Sprintf("after %q", key), entity.Range{After: &key}, func(k string) bool { return k > key })
		check(fmt.Sprintf("between %q and c", key), entity.Range{Between: &[2]string{key, "c"}}, func(k string) bool { return key <= k && k <= "c" })
		check(fmt.Sprintf("after %q and before b:1", key), entity.Range{After: &key, Before: storetest.Ptr("b:1")}, func(k string) bool { return key < k && k < "b:1" })
	}
	assert.Equal(t, []string{"a two", "b two"}, w.ByIndex("letters", entity.Range{}), "the name of one index begins that of another")
	assert.Empty(t, w.ByIndex("lette", entity.Range{}))
}

func pageIndex(t *testing.T, w *World) {
	for n := range 20 {
		w.Set(w.ID(fmt.Sprintf("p:%02d", n)), nil, emit("group", fmt.Sprint("g", n/7), "same", fmt.Sprintf("\x00%d", n%2))...)
	}
	for name, r := range map[string]entity.Range{
		"all": {}, "equals": {Equals: storetest.Ptr("same")}, "begins with": {BeginsWith: storetest.Ptr("g")}, "before": {Before: storetest.Ptr("same")},
		"after": {After: storetest.Ptr("g0")}, "between": {Between: &[2]string{"g1", "same"}},
	} {
		list := func(win page.Window) (page.Slice[entity.Indexed], error) {
			w.settle()
			return w.Entities.ListByIndex(w.Ctx, w.scope, "group", r, win)
		}
		whole := storetest.Pages(t, 3, list)
		assert.Equal(t, whole, storetest.Pages(t, 7, list), name)
		assert.Len(t, whole, map[string]int{"all": 60, "equals": 20, "begins with": 20, "before": 40, "after": 33, "between": 33}[name], name)
	}
}

func setRecord(t *testing.T, w *World) {
	id := w.ID("a:1")
	first := w.Set(id, map[string]any{"v": json.Number("1"), "gone": "soon"}, append(emit("x", "1", "2"), emit("y", "1")...)...)
	w.Clock.Advance(time.Second)
	second := w.Set(id, map[string]any{"v": json.Number("2")}, append(emit("x", "2", "3"), emit("z", "1")...)...)
	assert.Equal(t, first.CreatedAt, second.CreatedAt)
	is, err := w.Find(id)
	require.NoError(t, err)
	assert.Equal(t, second, *is)
	assert.Equal(t, []string{"2 a:1", "3 a:1"}, w.ByIndex("x", entity.Range{}))
	assert.Empty(t, w.ByIndex("y", entity.Range{}))
	assert.Equal(t, []string{"1 a:1"}, w.ByIndex("z", entity.Range{}))

	var conflict *entity.VersionConflict
	put := func(before *entity.Entity) error {
		after := second
		after.Version++
		return w.Entities.PutEntity(w.Ctx, before, after, nil, idempotency.Key{})
	}
	require.ErrorAs(t, put(&first), &conflict)
	assert.Equal(t, &second, conflict.Current, "somebody was faster")
	require.ErrorAs(t, put(nil), &conflict)
	assert.Equal(t, &second, conflict.Current, "it is not new")
	rebuilt := second
	rebuilt.Index = emit("x", "2")
	require.ErrorAs(t, put(&rebuilt), &conflict, "the version is right, the entries are not")
	assert.Equal(t, &second, conflict.Current)
	other := first
	other.ID = w.ID("a:2")
	require.ErrorAs(t, w.Entities.PutEntity(w.Ctx, &other, other, nil, idempotency.Key{}), &conflict)
	assert.Nil(t, conflict.Current, "there is none")

	with := second
	with.Version, with.Index = 3, []entity.IndexEntry{{Name: "x", Key: "2", Attributes: map[string]any{"n": json.Number("1"), "l": []any{"a"}}}}
	require.NoError(t, w.Entities.PutEntity(w.Ctx, &second, with, nil, idempotency.Key{}))
	w.settle()
	s, err := w.Entities.ListByIndex(w.Ctx, w.scope, "x", entity.Range{}, page.Window{Limit: 5})
	require.NoError(t, err)
	require.Len(t, s.Items, 1)
	assert.Equal(t, with.Index[0], s.Items[0].IndexEntry, "entries have attributes of their own")

	full := w.ID("full")
	many := emit("k", storetest.Numbered("key", entity.MaxIndexEntries)...)
	w.Set(full, nil, many...)
	w.Set(full, nil, emit("k", storetest.Numbered("other", entity.MaxIndexEntries)...)...)
	assert.Len(t, w.ByIndex("k", entity.Range{}), entity.MaxIndexEntries)
}

func setOnce(t *testing.T, w *World) {
	key := idempotency.Key{Viewer: "u", Key: "k", Hash: []byte("h"), ExpiresAt: w.Clock.Now().Add(idempotency.TTL), Result: []string{"id"}}
	e := entity.Entity{ID: w.ID("a"), Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now()}
	require.NoError(t, w.Entities.FindIdempotencyKey(w.Ctx, key))
	require.NoError(t, w.Entities.PutEntity(w.Ctx, nil, e, nil, key))
	var replayed *idempotency.Replayed
	require.ErrorAs(t, w.Entities.PutEntity(w.Ctx, nil, e, nil, key), &replayed, "not a conflict")
	assert.Equal(t, []string{"id"}, replayed.Result)
	key.Hash = []byte("other")
	require.ErrorIs(t, w.Entities.PutEntity(w.Ctx, nil, e, nil, key), idempotency.ErrMismatch)
}

func setTogether(t *testing.T, w *World) {
	id := w.ID("counter")
	w.Set(id, map[string]any{"n": json.Number("0")})
	done := make([]int, 12)
	storetest.Together(len(done), func(i int) {
		for {
			before, err := w.Find(id)
			if !assert.NoError(t, err) {
				return
			}
			after := *before
			after.Version++
			after.Attributes = map[string]any{"n": json.Number(fmt.Sprint(after.Version - 1))}
			after.Index = emit("n", fmt.Sprintf("%02d", after.Version-1))
			err = w.Entities.PutEntity(w.Ctx, before, after, nil, idempotency.Key{})
			if conflict, ok := errors.AsType[*entity.VersionConflict](err); ok {
				assert.NotEqual(t, before.Version, conflict.Current.Version)
				continue
			}
			assert.NoError(t, err)
			done[i] = after.Version
			return
		}
	})
	slices.Sort(done)
	assert.Len(t, slices.Compact(done), 12, "each has a version of its own")
	// Where answers are lost, somebody whose version was replaced at once may have had to set another.
	last, err := w.Find(id)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, last.Version, 13)
	assert.Equal(t, done[11], last.Version)
	assert.Equal(t, []string{fmt.Sprintf("%02d counter", last.Version-1)}, w.ByIndex("n", entity.Range{}), "and the entries are the last one's")
}
