package queues

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/apitest"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

const (
	categoryShown    = "category { id name retiredAt mergedInto { id name } mergedAt } project { categories { name } } problem { __typename ... on NameTaken { field } }"
	subcategoryShown = "subcategory { id name retiredAt mergedInto { id } mergedAt } project { subcategories { name } } problem { __typename }"
)

// found is what a project was found to be: the categories of its items, those of all efforts, and what is counted.
type found struct {
	Items, Efforts, Lists, Counted map[string]int
}

// foundIn reads it, by names.
func foundIn(l apitest.Crew, categories, topCategories, category string) found {
	l.T.Helper()
	f := found{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
	name := func(of any) string {
		if of, is := of.(map[string]any)[category].(map[string]any); is {
			return of["name"].(string)
		}
		return ""
	}
	a := l.Must(`query($p: ID!) { project(id: $p) {
		items(first: 500) { nodes { `+category+` { name } efforts(first: 20) { nodes { `+category+` { name } } } } }
		`+categories+`(includeRetired: true) { name items(first: 500) { nodes { `+category+` { name } } } } `+topCategories+` { value count } } }`, apitest.Vars{"p": l.ID})
	for _, i := range a.List("project.items.nodes") {
		if n := name(i); n != "" {
			f.Items[n]++
		}
		for _, e := range i.(map[string]any)["efforts"].(map[string]any)["nodes"].([]any) {
			f.Efforts[name(e)]++
		}
	}
	for _, c := range a.List("project." + categories) {
		c := c.(map[string]any)
		for _, i := range c["items"].(map[string]any)["nodes"].([]any) {
			assert.Equal(l.T, c["name"], name(i))
			f.Lists[c["name"].(string)]++
		}
	}
	for _, u := range a.List("project." + topCategories) {
		f.Counted[u.(map[string]any)["value"].(string)] = int(u.(map[string]any)["count"].(float64))
	}
	return f
}

// merged is what is found once one name has taken the place of another.
func (f found) merged(from, into string) found {
	next := found{maps.Clone(f.Items), maps.Clone(f.Efforts), maps.Clone(f.Lists), maps.Clone(f.Counted)}
	for _, of := range []map[string]int{next.Items, next.Efforts, next.Lists, next.Counted} {
		if n, there := of[from]; there {
			of[into] += n
			delete(of, from)
		}
	}
	return next
}

// eventually waits until the queue has followed, and checks that a rebuild makes no difference.
func eventually(t *testing.T, l apitest.Crew, want found, categories, topCategories, category string) {
	t.Helper()
	var is found
	assert.Eventually(t, func() bool {
		is = foundIn(l, categories, topCategories, category)
		return assert.ObjectsAreEqual(want, is)
	}, apitest.Patience, 50*time.Millisecond)
	require.Equal(t, want, is)
	l.Mutate("rebuildProjectQueue", "project { id }", apitest.Vars{"projectId": l.ID})
	assert.Equal(t, want, foundIn(l, categories, topCategories, category))
}

// relabelling returns what has the items of a label follow it, on the stores of a server.
func relabelling(s *apitest.Server, l apitest.Crew, kind project.Kind, id string, settle time.Duration) func(context.Context) error {
	return relabellingOn(s, l, s.App.Labelling.Reaper.Truth, kind, id, settle)
}

func relabellingOn(s *apitest.Server, l apitest.Crew, on labelling.Truth, kind project.Kind, id string, settle time.Duration) func(context.Context) error {
	o := s.App.Labelling.Reaper.Options
	o.Truth = on
	r := labelling.NewRelabeller(o, projects.Store{DB: s.DB}, settle)
	return func(ctx context.Context) error {
		for {
			again, err := r.Run(ctx, task.Task{Kind: project.RunRelabel, ID: string(kind) + "-" + apitest.GlobalKey(s.T, id)[2], Scope: string(l.Key())})
			if err != nil || again.IsZero() {
				return err
			}
		}
	}
}

func TestCategoriesAreRenamedRetiredAndMerged(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l, reviewer, held, _ := busy(s)
	ada := l.Labellers[0]
	duck, goose, swan := l.Categories[0], l.Categories[1], l.Categories[2]
	before := foundIn(l, "categories", "topCategories", "category")
	require.Greater(t, before.Efforts["Duck"], 1)
	require.Positive(t, before.Efforts["Goose"])
	update := func(id string, in apitest.Vars) *apitest.Answer {
		t.Helper()
		return l.Mutate("updateCategory", categoryShown, apitest.Changed(in, apitest.Vars{"categoryId": id}))
	}

	ada.Mutate("updateCategory", categoryShown, apitest.Vars{"categoryId": duck, "name": "X"}).Fails("FORBIDDEN", "")
	reviewer.Mutate("updateCategory", categoryShown, apitest.Vars{"categoryId": duck, "retired": true}).Fails("FORBIDDEN", "")
	a := update(duck, apitest.Vars{"name": "GOOSE"})
	assert.Equal(t, []any{"NameTaken", "input.name"}, []any{a.At("result.problem.__typename"), a.At("result.problem.field")}, "%s", a.Body)
	a = update(duck, apitest.Vars{"name": "Mallard"})
	assert.Equal(t, []any{duck, "Mallard", nil, nil}, []any{a.At("result.category.id"), a.At("result.category.name"), a.At("result.category.retiredAt"), a.At("result.category.mergedInto")})
	renamed := before.merged("Duck", "Mallard")
	assert.Equal(t, renamed, foundIn(l, "categories", "topCategories", "category"))

	a = update(goose, apitest.Vars{"retired": true})
	assert.WithinDuration(t, time.Now(), a.Time("result.category.retiredAt"), time.Minute)
	assert.Equal(t, []any{map[string]any{"name": "Mallard"}, map[string]any{"name": "Swan"}}, a.List("result.project.categories"))
	since := a.At("result.category.retiredAt")
	assert.Equal(t, since, update(goose, apitest.Vars{"retired": true, "name": "Goose"}).At("result.category.retiredAt"))
	ada.Mutate("finishProjectItem", "item { id }", l.Finishing(held, apitest.Vars{"categoryId": goose})).Fails(apitest.Invalid, "input.categoryId")
	update(swan, apitest.Vars{"mergeInto": goose}).Fails(apitest.Invalid, "input.mergeInto")
	assert.Equal(t, renamed, foundIn(l, "categories", "topCategories", "category"), "what is labelled stays")
	a = update(goose, apitest.Vars{"retired": false})
	assert.Nil(t, a.At("result.category.retiredAt"))
	assert.Len(t, a.List("result.project.categories"), 3)

	merge := apitest.Vars{"mergeInto": goose, "idempotencyKey": "merge"}
	a = update(duck, merge)
	assert.Equal(t, []any{map[string]any{"id": goose, "name": "Goose"}, nil}, []any{a.At("result.category.mergedInto"), a.At("result.category.mergedAt")}, "%s", a.Body)
	assert.Len(t, a.List("result.project.categories"), 2)
	ada.Mutate("finishProjectItem", "item { category { name } }", l.Finishing(held, apitest.Vars{"categoryId": duck}))
	want := renamed.merged("Mallard", "Goose")
	for _, of := range []map[string]int{want.Items, want.Efforts, want.Lists, want.Counted} {
		of["Goose"]++
	}
	merged := func() *apitest.Answer {
		return l.Must(`query($c: ID!) { node(id: $c) { ... on Category { name mergedAt mergedInto { id } items(first: 10) { nodes { id } } } } }`, apitest.Vars{"c": duck})
	}
	s.During(func() {
		require.Eventually(t, func() bool { return merged().At("node.mergedAt") != nil }, time.Minute, 50*time.Millisecond)
	})
	eventually(t, l, want, "categories", "topCategories", "category")
	a = merged()
	assert.Equal(t, goose, a.At("node.mergedInto.id"))
	assert.WithinDuration(t, time.Now(), a.Time("node.mergedAt"), time.Minute)
	assert.Empty(t, a.List("node.items.nodes"))
	assert.Equal(t, goose, update(duck, merge).At("result.category.mergedInto.id"), "the same request again")
	update(duck, apitest.Vars{"name": "Drake"}).Fails("CONFLICT", "")
	update(swan, apitest.Vars{"mergeInto": duck}).Fails(apitest.Invalid, "input.mergeInto")
	update(swan, apitest.Vars{"mergeInto": swan}).Fails(apitest.Invalid, "input.mergeInto")
	update(swan, apitest.Vars{"mergeInto": goose, "retired": true}).Fails(apitest.Invalid, "input.mergeInto")
}

// A merge is killed after each number of calls, and goes on where it was.
func TestMergesAreKilled(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	rests := s.Works()
	l, _, _, _ := busy(s)
	wild, tame := l.Subcategories[0], l.Subcategories[1]
	rests()
	before := foundIn(l, "subcategories", "topSubcategories", "subcategory")
	require.Positive(t, before.Efforts["Wild"])
	a := l.Mutate("updateSubcategory", subcategoryShown, apitest.Vars{"subcategoryId": wild, "mergeInto": tame})
	require.Empty(t, a.Errors, "%s", a.Body)
	assert.Equal(t, []any{map[string]any{"name": "Tame"}}, a.List("result.project.subcategories"))
	assert.Greater(t, killed(s, relabelling(s, l, project.Subcategory, wild, time.Millisecond)), 20)
	s.Works()
	eventually(t, l, before.merged("Wild", "Tame"), "subcategories", "topSubcategories", "subcategory")
}

// People who go on with the old category while it is merged find nothing lost, and nothing left under it.
func TestPeopleGoOnWhileCategoriesAreMerged(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(30, 3)
	old, into := l.Categories[0], l.Categories[1]
	chain := l.Categories[2]
	var all sync.WaitGroup
	for _, who := range l.Labellers {
		all.Go(func() {
			for range 4 {
				for _, have := range l.Claimed(who, 1) {
					l.Finished(who, have, apitest.Vars{"categoryId": old})
				}
			}
		})
	}
	for _, step := range [][2]string{{old, chain}, {chain, into}} {
		a := l.Mutate("updateCategory", categoryShown, apitest.Vars{"categoryId": step[0], "mergeInto": step[1]})
		require.Empty(t, a.Errors, "%s", a.Body)
		all.Go(func() { assert.NoError(t, relabelling(s, l, project.Category, step[0], labelling.Settle)(t.Context())) })
	}
	all.Wait()
	goose := map[string]int{"Goose": 23}
	eventually(t, l, found{goose, goose, goose, goose}, "categories", "topCategories", "category")
}

// scanned does something before efforts are scanned.
type scanned struct {
	labelling.Truth
	before func()
}

func (s scanned) ScanEfforts(ctx context.Context, p project.ID, shard int, page func([]project.Effort) error) error {
	s.before()
	return s.Truth.ScanEfforts(ctx, p, shard, page)
}

// The category that took the place of another is merged, too, while what was labelled is on its way to it: all of it goes on.
func TestACategoryIsMergedWhileOthersFollow(t *testing.T) {
	t.Parallel()
	s := apitest.NewServer(t)
	s.Works()
	l := s.Labelled(12, 12)
	duck, goose, swan := l.Categories[0], l.Categories[1], l.Categories[2]
	merge := func(from, into string) {
		a := l.Mutate("updateCategory", categoryShown, apitest.Vars{"categoryId": from, "mergeInto": into})
		require.Empty(t, a.Errors, "%s", a.Body)
	}
	merge(duck, goose)
	meanwhile := sync.OnceFunc(func() {
		merge(goose, swan)
		require.NoError(t, relabelling(s, l, project.Category, goose, time.Millisecond)(t.Context()))
	})
	require.NoError(t, relabellingOn(s, l, scanned{s.App.Labelling.Reaper.Truth, meanwhile}, project.Category, duck, time.Millisecond)(t.Context()))
	all := map[string]int{"Swan": 12}
	eventually(t, l, found{all, all, all, all}, "categories", "topCategories", "category")
}
