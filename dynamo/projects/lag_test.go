package projects_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest/projecttest"
)

// While the index lags, nothing is shown under a status that it does not have, and pages stay full.
func TestItemsByStatusWhileTheIndexLags(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	items := dynamotest.InShard(t, w, 3, 40)
	lag := inj.LagIndexes()
	owl := w.Label("owl")
	for _, i := range items[:25] {
		w.Finish(i, w.Ada, owl.ID, "")
	}
	s, err := db.ListItems(t.Context(), w.Project.ID, project.New, page.Window{Limit: 10})
	require.NoError(t, err)
	require.Len(t, s.Items, 10, "the first 25 entries are stale")
	assert.Equal(t, items[25:35], s.Items)
	assert.True(t, s.More)
	s, err = db.ListItems(t.Context(), w.Project.ID, project.New, page.Window{Limit: 10, Backward: true, From: s.Positions[0], Probe: true})
	require.NoError(t, err)
	assert.Empty(t, s.Items)
	assert.False(t, s.More)
	assert.True(t, s.Other)
	assert.Empty(t, w.Items(project.Finished), "not there yet")
	assert.Empty(t, w.OfLabel(owl))
	require.NoError(t, lag.Settle(t.Context()))
	assert.Len(t, w.Items(project.Finished), 25)
	assert.Len(t, w.OfLabel(owl), 25)

	cat := w.Label("cat")
	again := w.Items(project.Finished)
	for _, i := range again[:10] {
		w.Finish(i, w.Ada, cat.ID, "")
	}
	assert.Len(t, w.OfLabel(owl), 15, "an item that was found to be something else by now")
	assert.Len(t, storetestPages(t, 4, func(win page.Window) (page.Slice[project.Item], error) {
		lists, errs := db.ListItemsOf(t.Context(), []project.LabelItemsRequest{owl.Items(win)})
		return lists[0], dynamotest.First(errs)
	}), 15)
	require.NoError(t, lag.Stop(t.Context()))
}

// storetestPages reads a list page by page and checks that all but the last are full.
func storetestPages[T any](t *testing.T, limit int, list func(page.Window) (page.Slice[T], error)) (all []T) {
	t.Helper()
	for win := (page.Window{Limit: limit}); ; {
		s, err := list(win)
		require.NoError(t, err)
		all = append(all, s.Items...)
		if !s.More {
			return all
		}
		require.Len(t, s.Items, limit)
		win.From = s.Positions[limit-1]
	}
}

// What promises to see every acknowledged write reads no index that lags.
func TestProjectsDoNotWaitForIndexes(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	inj.LagIndexes()
	ctx := t.Context()
	p, team := w.Create(w.Ada, []string{"dog"}, nil)
	w.Project, w.Team = p, team
	require.NoError(t, db.AddLabels(ctx, "", p.ID, projecttest.Labels(p.ID, project.Category, "owl"), nil, idempotency.Key{}))
	item := w.Fill(1)[0]
	_, e := w.Finish(item, w.Ada, w.Label("owl").ID, "")
	projects, err := db.ListProjects(ctx, w.Ada, page.Window{Limit: 5})
	require.NoError(t, err)
	assert.Len(t, projects.Items, 2)
	members, err := db.ListMembers(ctx, p.ID, team.ID, page.Window{Limit: 5})
	require.NoError(t, err)
	assert.Equal(t, []project.Member{p.Member}, members.Items)
	items, _, errs := db.ItemsByID(ctx, w.Ada, []project.ItemID{item.ItemID})
	require.Nil(t, errs)
	assert.Equal(t, project.Finished, items[0].Status)
	efforts, errs := db.ListEffortsOfItems(ctx, []project.ItemEffortsRequest{item.History(page.Window{Limit: 5})})
	require.NoError(t, dynamotest.First(errs))
	assert.Equal(t, []project.Effort{e}, efforts[0].Items)
	imports, err := db.ListImports(ctx, p.ID, page.Window{Limit: 5})
	require.NoError(t, err)
	assert.Len(t, imports.Items, 1)
}

// While an item is finished it is new or finished, and what is listed is as it is listed.
func TestFinishingShownRowByRow(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	items := w.Fill(5)
	owl, asleep := w.Label("owl"), w.Label("asleep")
	items[2], _ = w.Finish(items[2], w.Ada, w.Label("cat").ID, asleep.ID)
	looks := 0
	inj.RowByRow(func(ctx context.Context, _, _ int) {
		looks++
		for _, status := range []project.Status{project.New, project.Finished} {
			s, err := db.ListItems(ctx, w.Project.ID, status, page.Window{Limit: 5})
			assert.NoError(t, err)
			for _, i := range s.Items {
				assert.Equal(t, status, i.Status)
			}
		}
		lists, errs := db.ListItemsOf(ctx, []project.LabelItemsRequest{owl.Items(page.Window{Limit: 5}), asleep.Items(page.Window{Limit: 5})})
		assert.NoError(t, dynamotest.First(errs))
		for _, i := range lists[0].Items {
			assert.Equal(t, owl.ID, i.Category)
		}
		for _, i := range lists[1].Items {
			assert.Equal(t, asleep.ID, i.Subcategory)
		}
		efforts, errs := db.ListEffortsOfItems(ctx, []project.ItemEffortsRequest{items[2].History(page.Window{Limit: 1}), items[3].History(page.Window{Limit: 5})})
		assert.NoError(t, dynamotest.First(errs))
		assert.Len(t, efforts[0].Items, 1)
	})
	for i, subcategory := range map[int]string{2: "", 3: asleep.ID} {
		m := w.Finishing(items[i], w.Ada, owl.ID, subcategory)
		// The looks are part of the call.
		require.NoError(t, w.Mover.MoveItem(dynamotest.Soon(t, 2*time.Minute), m, idempotency.Key{}))
	}
	assert.GreaterOrEqual(t, looks, 10)
	assert.Len(t, w.OfLabel(owl), 2)
}

// A project is there with its lists and the membership, or it is not there.
func TestCreatingShownRowByRow(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenWorldOfProjects(t)
	p, labels, team := w.Draft(w.Ada, []string{"owl"}, []string{"asleep"})
	looks := 0
	inj.RowByRow(func(ctx context.Context, _, _ int) {
		looks++
		s, err := db.ListProjects(ctx, w.Ada, page.Window{Limit: 5})
		assert.NoError(t, err)
		for _, found := range s.Items {
			if found.ID == p.ID {
				assert.Equal(t, p, found)
			}
		}
	})
	require.NoError(t, db.CreateProject(dynamotest.Soon(t, 2*time.Minute), p, labels, team, p.Member, idempotency.Key{}))
	assert.GreaterOrEqual(t, looks, 5)
	s, err := db.ListProjects(t.Context(), w.Ada, page.Window{Limit: 5})
	require.NoError(t, err)
	assert.Len(t, s.Items, 2)
	looks = 0
	more := projecttest.Labels(p.ID, project.Category, "a", "b", "c")
	w.Project = p
	inj.Clear()
	inj.RowByRow(func(context.Context, int, int) {
		looks++
		assert.Contains(t, []int{2, 5}, len(w.Lists()), "all of them or none")
	})
	require.NoError(t, db.AddLabels(t.Context(), "", p.ID, more, nil, idempotency.Key{}))
	assert.Positive(t, looks)
}

// A server is lost while it imports; another one goes on, and no item is there twice or missing.
func TestImportGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	for _, step := range []int{0, 1, 2} {
		w, db, inj := dynamotest.OpenWorldOfProjects(t)
		i := w.Import()
		items := w.Draw(i, 1, 130)
		killed := inj.KillAfter(step)
		_, _, err := db.ImportItems(t.Context(), items)
		require.Error(t, err, "killed at step %d", step)
		killed.Stop()
		created, there, err := db.ImportItems(t.Context(), items)
		require.NoError(t, err)
		assert.Equal(t, 130, created, "killed at step %d", step)
		assert.Empty(t, there)
		assert.Len(t, w.Items(""), 130)
	}
}
