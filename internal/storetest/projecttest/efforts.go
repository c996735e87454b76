package projecttest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
)

// Efforts lists the efforts of an item.
func (w *World) Efforts(i project.Item) []project.Effort {
	w.T.Helper()
	lists, errs := w.Projects.ListEffortsOfItems(w.T.Context(), []project.ItemEffortsRequest{i.History(page.Window{Limit: page.Max})})
	for _, err := range errs {
		require.NoError(w.T, err)
	}
	return lists[0].Items
}

func finishedItem(t *testing.T, w *World) {
	item := w.Fill(3)[1]
	owl, asleep := w.Label("owl"), w.Label("asleep")
	done, e := w.Finish(item, w.Ada, owl.ID, asleep.ID)
	assert.Equal(t, done, w.Get(item.ItemID))
	assert.Equal(t, []project.Effort{e}, w.Efforts(item))
	efforts, errs := w.Projects.EffortsByID(t.Context(), []project.EffortID{e.EffortID, {Project: item.Project, ID: "nothing"}})
	assert.Equal(t, e, efforts[0])
	storetest.IsFault(t, errs[1], fault.NotFound)
	assert.Equal(t, []string{item.ID}, w.OfLabel(owl))
	assert.Equal(t, []string{item.ID}, w.OfLabel(asleep))
	assert.Empty(t, w.OfLabel(w.Label("cat")))
}

func itemsOfLabels(t *testing.T, w *World) {
	items := w.Fill(24)
	owl, cat, asleep := w.Label("owl"), w.Label("cat"), w.Label("asleep")
	storetest.Together(len(items), func(i int) {
		label := owl
		if i%3 == 0 {
			label = cat
		}
		assert.NoError(t, w.Mover.MoveItem(t.Context(), w.Finishing(items[i], w.Ada, label.ID, asleep.ID), idempotency.Key{}))
	})
	for label, want := range map[project.Label]int{owl: 16, cat: 8, asleep: 24} {
		assert.Len(t, storetest.Pages(t, 5, func(win page.Window) (page.Slice[project.Item], error) {
			// Three lists at once must not get into one another's way.
			lists, errs := w.Projects.ListItemsOf(t.Context(), []project.LabelItemsRequest{cat.Items(page.Window{Limit: 3}), label.Items(win), owl.Items(page.Window{Limit: 30, Backward: true})})
			if errs != nil && errs[1] != nil {
				return page.Slice[project.Item]{}, errs[1]
			}
			assert.Len(t, lists[0].Items, 3)
			assert.Len(t, lists[2].Items, 16)
			return lists[1], nil
		}), want, label.Name)
	}
}

func listedEfforts(t *testing.T, w *World) {
	items := w.Fill(2)
	grace := w.SignUp("grace")
	owl := w.Label("owl")
	var of [2][]project.Effort
	for k := range of {
		for n := range 9 {
			by := w.Ada
			if n%3 == 0 {
				by = grace
			}
			if n%4 == 0 {
				w.Clock.Advance(time.Second) // others are at the same millisecond
			}
			var e project.Effort
			items[k], e = w.Finish(items[k], by, owl.ID, "")
			of[k] = append(of[k], e)
		}
	}
	for k := range of {
		list := func(win page.Window) (page.Slice[project.Effort], error) {
			lists, errs := w.Projects.ListEffortsOfItems(t.Context(), []project.ItemEffortsRequest{items[1-k].History(page.Window{Limit: 2}), items[k].History(win)})
			if errs != nil && errs[1] != nil {
				return page.Slice[project.Effort]{}, errs[1]
			}
			return lists[1], nil
		}
		assert.Len(t, storetest.Pages(t, 4, list), 9)
		assert.Len(t, storetest.Pages(t, 9, list), 9)
		found := w.Efforts(items[k])
		assert.ElementsMatch(t, of[k], found)
		assert.True(t, slices.IsSortedFunc(found, func(a, b project.Effort) int { return b.FinishedAt.Compare(a.FinishedAt) }), "the newest first")
	}
	member := project.Member{Project: w.Project.ID, User: grace}
	assert.Len(t, storetest.Pages(t, 4, func(win page.Window) (page.Slice[project.Effort], error) {
		lists, errs := w.Projects.ListEffortsOfMembers(t.Context(), []project.MemberEffortsRequest{member.Efforts(win)})
		if errs != nil {
			return page.Slice[project.Effort]{}, errs[0]
		}
		for _, e := range lists[0].Items {
			assert.Equal(t, grace, e.User)
		}
		return lists[0], nil
	}), 6)
}

func listedToReview(t *testing.T, w *World) {
	grace := w.SignUp("grace")
	owl, cat := w.Label("owl").ID, w.Label("cat").ID
	var all []project.Effort
	for n, item := range w.Fill(40) {
		by, of := w.Ada, owl
		if n%3 == 0 {
			by = grace
		}
		if n%5 == 0 {
			of = cat
		}
		if n%4 == 0 {
			w.Clock.Advance(time.Second) // others are at the same millisecond
		}
		done, e := w.Finish(item, by, of, "")
		if all = append(all, e); n%10 != 9 {
			continue
		}
		after, reviewed := done, e // which awaits no review any more
		after.Version++
		reviewed.ToReview, reviewed.Review.Verdict = false, project.Correct
		require.NoError(t, w.Mover.MoveItem(t.Context(), labelling.Move{Before: done, After: after, Effort: &reviewed, Known: &e}, idempotency.Key{}))
		all = all[:len(all)-1]
	}
	for name, r := range map[string]project.ReviewsRequest{
		"all": {}, "of an author": {Author: grace}, "of a category": {Category: cat}, "of both": {Author: w.Ada, Category: cat}, "of nobody": {Author: "nobody"},
	} {
		var want, got []project.Effort
		for _, e := range all {
			if (r.Author == "" || e.User == r.Author) && (r.Category == "" || e.Category == r.Category) {
				want = append(want, e)
			}
		}
		list := func(win page.Window) (page.Slice[project.Effort], error) {
			r.Project, r.Window = w.Project.ID, win
			return w.Projects.ListToReview(t.Context(), r)
		}
		for _, limit := range []int{1, 4, 36} {
			require.Len(t, storetest.Pages(t, limit, list), len(want), name)
		}
		found, err := list(page.Window{Limit: page.Max})
		require.NoError(t, err)
		got = found.Items
		assert.ElementsMatch(t, want, got, name)
		if r.Author != "" {
			assert.True(t, slices.IsSortedFunc(got, func(a, b project.Effort) int { return a.FinishedAt.Compare(b.FinishedAt) }), "the oldest first")
		}
	}
}
