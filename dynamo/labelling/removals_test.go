package labelling_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest/labellingtest"
	"github.com/taggie/taggie/internal/task"
)

// silent is a queue that is told of transitions, and does nothing.
type silent struct{ labelling.Coordinator }

func (silent) Publish(context.Context, labelling.Message) error { return nil }

// removes is a removal of items, and what carries it out on a server that may be killed.
type removes struct {
	*labellingtest.World
	t       *testing.T
	db      truth.Store
	inj     *faultinject.Injector
	remover *labelling.Remover
	id      project.TransferID
}

func newRemoves(t *testing.T, w *labellingtest.World, db truth.Store, inj *faultinject.Injector, purge bool, items ...project.Item) *removes {
	t.Helper()
	r := &removes{World: w, t: t, db: db, inj: inj, id: project.TransferID{Project: w.Project.ID, ID: uuid.NewString()}}
	r.remover = labelling.NewRemover(labelling.Options{
		Truth: db, Coordinator: silent{}, Now: w.Clock.Now, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler),
	}, time.Millisecond)
	imports, errs := db.ImportsByID(t.Context(), []project.TransferID{{Project: w.Project.ID, ID: items[0].Import}})
	require.NoError(t, errors.Join(errs...))
	if i, ok := imports[0].Cancel(w.Clock.Now()); ok { // what is removed is gone only when that is over
		require.NoError(t, db.PutImport(t.Context(), "", &imports[0], i, nil, idempotency.Key{}))
	}
	is := project.Removal{TransferID: r.id, Purge: purge, State: project.Removing, CreatedBy: w.Ada, Team: "t", CreatedAt: w.Clock.Now(), Version: 1}
	for _, i := range items {
		is.Items = append(is.Items, i.ID)
	}
	require.NoError(t, db.PutRemoval(t.Context(), "", nil, is, nil, idempotency.Key{}))
	return r
}

// killed runs the removal on servers that are killed before their first call, their second, and so on, until one comes to the end.
func (r *removes) killed() {
	r.t.Helper()
	for n := 0; ; n++ {
		require.Less(r.t, n, 200)
		dead := r.inj.KillAfter(n)
		_, err := r.remover.Run(r.t.Context(), task.Task{Kind: project.RunRemoval, ID: r.id.ID, Scope: string(r.id.Project), Tries: n})
		dead.Stop()
		if err == nil {
			return
		}
		require.ErrorIs(r.t, err, faultinject.ErrKilled)
	}
}

func (r *removes) is() project.Removal {
	r.t.Helper()
	found, errs := r.db.RemovalsByID(r.t.Context(), []project.TransferID{r.id})
	require.NoError(r.t, errors.Join(errs...))
	return found[0]
}

func (r *removes) becomes(state project.RemovalState) {
	r.t.Helper()
	before := r.is()
	require.NoError(r.t, r.db.PutRemoval(r.t.Context(), "", &before, before.Next(state), nil, idempotency.Key{}))
}

// followed has the queue have followed everything.
func (r *removes) followed() {
	r.t.Helper()
	require.NoError(r.t, r.db.DeleteOutbox(r.t.Context(), r.Outbox()))
}

var tablesOfItems = []dynamo.Table{dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries}

// rowsOfItems are all rows that name one of the items, but those of removals; without what changes each time.
func rowsOfItems(t *testing.T, db truth.Store, items ...project.Item) map[dynamo.Key]string {
	t.Helper()
	found := map[dynamo.Key]string{}
	for _, table := range tablesOfItems {
		for key, row := range dynamotest.RowsOf(t, db.DB, table) {
			text := string(dynamo.RowJSON(row))
			if strings.Contains(text, ":Removal") {
				continue
			}
			for _, i := range items {
				if strings.Contains(text, i.ID) {
					for _, name := range []string{"_updated", "_created", "_meta", "_attempt", "last_transition", dynamo.WrittenBy, "returned_to"} {
						delete(row, name)
					}
					if dynamo.Count(row["_efforts"]) == 0 {
						delete(row, "_efforts") // no move has counted them before
					}
					found[key] = string(dynamo.RowJSON(row))
				}
			}
		}
	}
	return found
}

func TestRemovalsOfServersThatAreKilled(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	items := w.Fill(4)
	claim := w.Claiming(items[0], w.Ada)
	finish := w.Finishing(claim.After, w.Ada, w.Label("owl").ID, w.Label("asleep").ID)
	review := w.Reviewing(finish.After, *finish.Effort, w.Ada)
	again := w.Finishing(review.After, w.Ada, w.Label("cat").ID, "")
	for _, m := range []labelling.Move{claim, finish, review, again} {
		w.Do(m)
	}
	removed := []project.Item{items[0], items[2]}
	require.NoError(t, db.DeleteOutbox(t.Context(), w.Outbox()))
	before := rowsOfItems(t, db, append(removed, items[1])...)
	r := newRemoves(t, w, db, inj, false, removed...)
	r.killed()
	is := r.is()
	assert.Equal(t, []any{project.Undoable, 2, is.EndedAt.Add(project.UndoRemoval)}, []any{is.State, is.Removed, is.UndoUntil})
	for _, status := range project.Statuses {
		for _, id := range w.Listed(status, 10) {
			assert.NotContains(t, []string{items[0].ID, items[2].ID}, id)
		}
	}
	lists, errs := db.ListEffortsOfMembers(t.Context(), []project.MemberEffortsRequest{{Project: w.Project.ID, User: w.Ada, Window: page.Window{Limit: 10}}})
	require.NoError(t, errors.Join(errs...))
	assert.Empty(t, lists[0].Items)
	named, err := db.FindItems(t.Context(), w.Project.ID, "bird", "", page.Window{Limit: 10})
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{items[1].ID, items[3].ID}, []string{named.Items[0].ID, named.Items[1].ID})
	for _, row := range rowsOfItems(t, db, removed...) {
		assert.NotContains(t, row, dynamo.ItemsByName.SK)
	}
	labelled, errs := db.ListItemsOf(t.Context(), []project.LabelItemsRequest{{Label: w.Label("cat").LabelID, Window: page.Window{Limit: 10}}})
	require.NoError(t, errors.Join(errs...))
	assert.Empty(t, labelled[0].Items)

	r.becomes(project.Restoring)
	r.killed()
	r.followed()
	after := rowsOfItems(t, db, append(removed, items[1])...)
	assert.Len(t, after, len(before))
	for key, row := range before {
		assert.Equal(t, row, after[key], "each row is as it was")
	}
	assert.Equal(t, []any{project.Restored, 2, 0}, []any{r.is().State, r.is().Removed, r.is().Left})

	// And away for good.
	r = newRemoves(t, w, db, inj, true, removed...)
	r.killed()
	assert.Equal(t, project.Purging, r.is().State, "the queue follows first")
	r.followed()
	r.killed()
	require.Equal(t, project.Gone, r.is().State)
	assert.Empty(t, rowsOfItems(t, db, removed...))
	left, err := db.ListRemoved(t.Context(), r.id, "", 10)
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.NotEmpty(t, rowsOfItems(t, db, items[1]))
}

// A hundred items that one has worked on are removed with as many calls as they have to be.
func TestCallsOfRemovals(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	items := w.Fill(120)
	for _, i := range items[:20] {
		w.Do(w.Finishing(i, w.Ada, w.Label("owl").ID, ""))
	}
	r := newRemoves(t, w, db, inj, false, items[:100]...)
	run := func() map[string]int {
		inj.Recorder().Reset()
		_, err := r.remover.Run(t.Context(), task.Task{Kind: project.RunRemoval, ID: r.id.ID, Scope: string(r.id.Project)})
		require.NoError(t, err)
		return dynamotest.Made(inj)
	}
	// The removal is read twice and stored once, items are read, and each is moved.
	assert.Equal(t, map[string]int{"BatchGetItem": 2 + 1, "TransactGetItems": 1, "TransactWriteItems": 100 + 1, "Query": 1}, run(), "removed")
	r.becomes(project.Restoring)
	assert.Equal(t, map[string]int{"BatchGetItem": 2 + 1, "TransactGetItems": 1, "TransactWriteItems": 100 + 1, "Query": 3}, run(), "brought back")
	r = newRemoves(t, w, db, inj, true, items[:100]...)
	r.followed()
	run()
	r.followed()
	// The removal is read twice; items, their import and the outbox are read; each item is marked, and goes.
	assert.Equal(t, map[string]int{"BatchGetItem": 2 + 3, "TransactGetItems": 1, "TransactWriteItems": 2*100 + 1, "BatchWriteItem": 2 * 20, "Query": 3}, run(), "gone")
}

// Who is slower than a removal is told what became of the item.
func TestAMoveOfARemovedItem(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	item := w.Do(w.Claiming(w.Fill(1)[0], w.Ada))
	late := w.Finishing(item, w.Ada, w.Label("owl").ID, "")
	r := newRemoves(t, w, db, inj, true, item)
	r.killed()
	conflict, ok := errors.AsType[*project.ItemConflict](db.MoveItem(t.Context(), late, idempotency.Key{}))
	require.True(t, ok)
	assert.Equal(t, []any{project.Removed, project.New}, []any{conflict.Current.Status, conflict.Current.Was})
	r.followed()
	r.killed()
	err := db.MoveItem(t.Context(), late, idempotency.Key{})
	assert.ErrorContains(t, err, "no such item")
	assert.Empty(t, rowsOfItems(t, db, item))
}

// many is an item on which members have worked again and again, more often than one step of a removal takes.
func many(w *labellingtest.World) (project.Item, []string) {
	item, grace := w.Fill(1)[0], w.SignUp("grace")
	names := []string{item.ID}
	for n := range labelling.MostEfforts + 5 {
		m := w.Finishing(item, []project.UserID{w.Ada, grace}[n%2], w.Label("owl").ID, "")
		item = w.Do(m)
		names = append(names, m.Effort.ID)
	}
	return item, names
}

// naming are the rows that name something, but those of removals and of the outbox.
func naming(t *testing.T, db truth.Store, names ...string) (found []string) {
	t.Helper()
	for _, table := range tablesOfItems {
		for key, row := range dynamotest.RowsOf(t, db.DB, table) {
			text := string(dynamo.RowJSON(row))
			if !strings.HasPrefix(key.SK, "outbox:") && !strings.HasSuffix(key.SK, ":Removal") && slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) }) {
				found = append(found, text)
			}
		}
	}
	return found
}

// An import meets an item that a lost server has removed by half. Servers that purge it are killed at each step.
func TestAHalfRemovedItemIsPurgedByServersThatAreKilled(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	item, names := many(w)
	r := newRemoves(t, w, db, inj, false, item)
	for n := 0; ; n++ { // until one has made the first of two moves
		dead := inj.KillAfter(n)
		_, err := r.remover.Run(t.Context(), task.Task{Kind: project.RunRemoval, ID: r.id.ID, Scope: string(r.id.Project), Tries: n})
		dead.Stop()
		require.ErrorIs(t, err, faultinject.ErrKilled)
		if now, _, err := db.ItemWithEfforts(t.Context(), item.ItemID); err == nil && now.Status.Hidden() {
			break
		}
	}
	_, efforts, err := db.ItemWithEfforts(t.Context(), item.ItemID)
	require.NoError(t, err)
	counted := slices.DeleteFunc(efforts, func(e project.Effort) bool { return !e.Counts() })
	require.Len(t, counted, 5)
	taken := 0
	for n := 0; ; n++ {
		require.Less(t, n, 100)
		for _, t := range w.Outbox() {
			if t.Item == item.ID && t.Cause == labelling.Removed {
				taken += len(t.Efforts)
			}
		}
		r.followed()
		dead := inj.KillAfter(n)
		err := r.remover.PurgeRemoved(t.Context(), []project.ItemID{item.ItemID})
		dead.Stop()
		if err == nil {
			break
		}
		require.True(t, errors.Is(err, faultinject.ErrKilled) || fault.Is(err, fault.Unavailable), "%v", err)
		// Whoever looks meanwhile is told of the item, or that there is none.
		now, _, err := db.ItemWithEfforts(t.Context(), item.ItemID)
		if !fault.Is(err, fault.NotFound) {
			require.NoError(t, err)
			require.True(t, now.Status.Hidden())
		}
		_, _, errs := db.ItemsWithEfforts(t.Context(), []project.ItemID{item.ItemID})
		require.True(t, errs[0] == nil || fault.Is(errs[0], fault.NotFound), "%v", errs)
	}
	assert.Equal(t, len(efforts), taken, "each effort was taken out of the statistics once")
	assert.Empty(t, naming(t, db, names...))
}

// An import that was lost has begun to purge an item. Undoing the removal leaves nothing of it.
func TestAnUndoOfWhatAnImportHasBegunToPurge(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	item, names := many(w)
	for begun := 4; ; begun++ { // calls that the import made; the first ones only read
		r := newRemoves(t, w, db, inj, false, item)
		r.killed()
		r.followed()
		dead := inj.KillAfter(begun)
		err := r.remover.PurgeRemoved(t.Context(), []project.ItemID{item.ItemID})
		dead.Stop()
		if err == nil {
			t.Fatal("the import purged the item without having been seen half-way")
		}
		now, _, err := db.ItemWithEfforts(t.Context(), item.ItemID)
		require.NoError(t, err)
		r.becomes(project.Restoring)
		r.killed()
		r.followed()
		require.Equal(t, project.Restored, r.is().State)
		if now.Status == project.Removed { // it was in time
			require.NotEmpty(t, naming(t, db, names...))
			continue
		}
		require.Equal(t, project.Purged, now.Status)
		assert.Empty(t, naming(t, db, names...))
		return
	}
}

// What a store is told to purge goes with all that links to it, whatever state its efforts are in; but only at the version that was read.
func TestPurgesOfOneItem(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	item, names := many(w)
	require.NoError(t, db.PurgeItem(t.Context(), item, nil), "it is not removed")
	r := newRemoves(t, w, db, inj, false, item)
	r.killed()
	removed, efforts, err := db.ItemWithEfforts(t.Context(), item.ItemID)
	require.NoError(t, err)
	r.becomes(project.Restoring)
	r.killed()
	back, errs := errors.AsType[*project.ItemConflict](db.PurgeItem(t.Context(), removed, efforts))
	require.True(t, errs)
	assert.Equal(t, project.Finished, back.Current.Status)

	r = newRemoves(t, w, db, inj, false, item)
	r.killed()
	r.followed()
	now, efforts, err := db.ItemWithEfforts(t.Context(), item.ItemID)
	require.NoError(t, err)
	for _, e := range efforts[:2] { // as somebody else may have left them
		e.RemovedAt = time.Time{}
		require.NoError(t, db.Transact(t.Context(), []dynamo.Action{
			{Table: dynamo.EntitiesMaster, Item: projects.EffortRow(e)},
			{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(projects.EffortOf(projects.UserIn(e.Project, e.User), e), e.FinishedAt, nil)},
		}, idempotency.Key{}))
	}
	for n := 1; ; n++ {
		dead := inj.KillAfter(n)
		err := db.PurgeItem(t.Context(), now, efforts)
		dead.Stop()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, faultinject.ErrKilled)
		now.Status = project.Purged
	}
	assert.Empty(t, naming(t, db, names...))
	require.NoError(t, db.PurgeItem(t.Context(), now, nil), "once more")
}
