package entities_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

// planned is a change that another writer plans while nth of the rows of a transaction are shown, and carries out after it.
func planned(t *testing.T, inj *faultinject.Injector, nth int, plan func() *entities.RelationsChange, edits map[string]entities.RelationsEdit, do func()) *entities.RelationsChange {
	t.Helper()
	var c *entities.RelationsChange
	rule := inj.RowByRow(func(_ context.Context, shown, _ int) {
		if c == nil && shown == nth {
			c = plan()
			if err := c.Plan(context.Background(), edits); err != nil {
				require.ErrorIs(t, err, dynamo.ErrMoved)
				c.Plans = nil
			}
		}
	})
	defer rule.Stop()
	do()
	require.NotNil(t, c)
	return c
}

// A writer plans while a change of one row is shown row by row. What it does then is done after that change.
func TestPlanningBetweenTwoRows(t *testing.T) {
	t.Parallel()
	for nth := 1; nth <= 2; nth++ {
		for name, test := range map[string]struct {
			before []int
			do     func(w *entitytest.RelationWorld, things []entity.ID)
			edit   []int
			add    bool     // otherwise it replaces
			want   []string // after the edit
		}{
			"replace while one is added": {
				[]int{1}, func(w *entitytest.RelationWorld, things []entity.ID) { w.Add(things[0], "knows", things[2]) }, []int{4, 5}, false, []string{"t4", "t5"},
			},
			"replace by nothing while the first is added": {
				nil, func(w *entitytest.RelationWorld, things []entity.ID) { w.Add(things[0], "knows", things[2]) }, nil, false, []string{},
			},
			"replace by the same while it is removed": {
				[]int{1}, func(w *entitytest.RelationWorld, things []entity.ID) { w.Replace(things[0], "knows") }, []int{1}, false, []string{"t1"},
			},
			"replace by more while the last is removed": {
				[]int{1, 2, 3}, func(w *entitytest.RelationWorld, things []entity.ID) { w.Replace(things[0], "knows", things[1:3]...) }, []int{1, 2, 3}, false, []string{"t1", "t2", "t3"},
			},
			"replace by the same while it is added": {
				[]int{1}, func(w *entitytest.RelationWorld, things []entity.ID) { w.Add(things[0], "knows", things[2]) }, []int{1, 2}, false, []string{"t1", "t2"},
			},
			"add the same while it is added": {
				[]int{1}, func(w *entitytest.RelationWorld, things []entity.ID) { w.Add(things[0], "knows", things[2]) }, []int{2}, true, []string{"t1", "t2"},
			},
			"add it while it is removed": {
				[]int{1, 2}, func(w *entitytest.RelationWorld, things []entity.ID) { w.Replace(things[0], "knows", things[1]) }, []int{2}, true, []string{"t1", "t2"},
			},
		} {
			t.Run(fmt.Sprint(name, ", ", nth, " shown"), func(t *testing.T) {
				t.Parallel()
				w, db, inj := dynamotest.OpenRelationWorld(t)
				things := w.Things("t", 6)
				for _, id := range pick(things, test.before) { // one after the other, so that the head tells of the last one
					w.Add(things[0], "knows", id)
				}
				plan := func() *entities.RelationsChange {
					c := &entities.RelationsChange{DB: entities.Store{DB: db}, Subject: things[0]}
					c.Check, c.Checked = entities.SubjectCheck(things[0], nil)
					return c
				}
				edit := entities.Replacing(entitytest.Objects(pick(things, test.edit)...))
				if test.add {
					edit = entities.Adding(entitytest.Objects(pick(things, test.edit)...))
				}
				edits := map[string]entities.RelationsEdit{"knows": edit}
				c := planned(t, inj, nth, plan, edits, func() { test.do(w, things) })
				err := dynamo.ErrMoved
				if c.Plans != nil {
					err = c.CarryOut(t.Context())
				}
				if err != nil { // it was told to read again
					require.ErrorIs(t, err, dynamo.ErrMoved)
					_, err = entities.Store{DB: db}.ChangeRelations(t.Context(), things[0], edits, nil, idempotency.Key{})
					require.NoError(t, err)
				}
				assert.Equal(t, test.want, w.ObjectsOf(things[0], "knows"))
				noHalfChange(t, db)
			})
		}
	}
}

// What the head says was added last can be gone for good, when its object was deleted: writers go on.
func TestChangingAfterTheLastObjectWasDeleted(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 6)
	w.Add(things[0], "knows", things[1])
	w.Add(things[0], "knows", things[2])
	w.Delete(things[2])
	assert.Equal(t, []string{"t1"}, w.ObjectsOf(things[0], "knows"))
	w.Replace(things[0], "knows", things[1]) // nothing to do
	w.Add(things[0], "knows", things[3])
	w.Delete(things[3])
	w.Replace(things[0], "knows", things[4], things[1])
	w.WorkLater()
	w.Make(things[3])
	w.Add(things[0], "knows", things[3])
	assert.Equal(t, []string{"t4", "t1", "t3"}, w.ObjectsOf(things[0], "knows"))
	noHalfChange(t, db)
}

// A server is lost after its change was committed. While another one clears up, somebody adds one object: it stays.
func TestAddingWhileALostChangeIsCleared(t *testing.T) {
	t.Parallel()
	for nth := 2; nth <= 4; nth++ { // calls of who clears up: the order, the state, to take over, the state
		w, db, inj := dynamotest.OpenRelationWorld(t)
		things := w.Things("t", 9)
		// Rows of 300 KB: reading the state takes two Queries, and the head is in the first.
		heavy := entitytest.Objects(things[1:6]...)
		for i := range heavy {
			heavy[i].Attributes = map[string]any{"x": strings.Repeat("y", 300_000)}
		}
		_, err := w.AddRelations(t.Context(), things[0], "knows", heavy, idempotency.Key{})
		require.NoError(t, err)
		dead := inj.KillAfter(2, faultinject.Operation("TransactWriteItems")) // begun and prepared
		_, err = w.RemoveRelations(t.Context(), things[0], "knows", things[1:3], idempotency.Key{})
		dead.Stop()
		require.Error(t, err)
		require.Len(t, w.ObjectsOf(things[0], "knows"), 5, "not committed")
		w.Clock.Advance(2 * time.Minute)
		w.Work()
		require.Len(t, w.ObjectsOf(things[0], "knows"), 5, "taken back")

		dead = inj.KillAfter(3, faultinject.Operation("TransactWriteItems")) // and committed
		_, err = w.RemoveRelations(t.Context(), things[0], "knows", things[1:3], idempotency.Key{})
		dead.Stop()
		require.NoError(t, err)
		state, err := entities.Store{DB: db}.PredicateState(t.Context(), things[0], "knows", false)
		require.NoError(t, err)
		require.NotNil(t, state.Intent)
		require.True(t, state.Committed())

		w.Clock.Advance(2 * time.Minute)
		due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 10)
		require.NoError(t, err)
		require.Len(t, due, 1)
		queries, awake := 0, false
		rule := inj.Delay(0, func(int) bool {
			if awake {
				return false
			}
			queries++
			awake = queries == nth
			return awake
		}, faultinject.Operation("Query"))
		inj.Sleep = func(context.Context, time.Duration) error {
			assert.Len(t, w.Add(things[0], "knows", things[8]), 1)
			return nil
		}
		err = w.SettleRelations(t.Context(), due[0])
		rule.Stop()
		require.NoError(t, err)
		require.True(t, awake)
		assert.Equal(t, []string{"t3", "t4", "t5", "t8"}, w.ObjectsOf(things[0], "knows"), "before query %d", nth)
		w.WorkLater()
		assert.Equal(t, []string{"t3", "t4", "t5", "t8"}, w.ObjectsOf(things[0], "knows"))
		noHalfChange(t, db)
	}
}

// A row that was prepared for a change that never came is not shown by the next one.
func TestAChangeRemovesWhatWasPreparedForNothing(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 4)
	w.Add(things[0], "knows", things[1])
	row := entities.RelationRow(entity.Relation{Subject: things[0], Predicate: "knows", Index: 7, Object: things[2]}, w.Clock.Now(), nil)
	for _, objects := range [][]entity.ID{{things[1]}, {things[3]}} { // there already, and new
		generation := recordOf(t, dynamotest.RowsOf(t, db, dynamo.RelationshipEntries)[entities.HeadKey(things[0], "knows")]).Generation
		row["_from"] = dynamo.Number(int64(generation + 1))
		require.NoError(t, db.BatchPut(t.Context(), []dynamo.Put{{Table: dynamo.RelationshipEntries, Item: row}}))
		assert.Equal(t, []string{"t1"}, w.ObjectsOf(things[0], "knows"))
		w.Add(things[0], "knows", objects...)
		noHalfChange(t, db)
	}
	assert.Equal(t, []string{"t1", "t3"}, w.ObjectsOf(things[0], "knows"))
	noHalfChange(t, db)
}

// Attributes are not read for a change that does not look at them.
func TestAddingDoesNotReadAttributes(t *testing.T) {
	t.Parallel()
	w, db, _ := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 4)
	objects := entitytest.Objects(things[1:3]...)
	objects[0].Attributes = map[string]any{"x": strings.Repeat("y", 9_000)}
	require.NoError(t, w.ReplaceRelations(t.Context(), things[0], "knows", objects, idempotency.Key{}))
	size := func(whole bool) (read int) {
		state, err := entities.Store{DB: db}.PredicateState(t.Context(), things[0], "knows", whole)
		require.NoError(t, err)
		require.Len(t, state.Held, 2)
		return len(fmt.Sprint(state.Held[0].Attributes))
	}
	assert.Greater(t, size(true), 9_000)
	assert.Less(t, size(false), 10)
	w.Add(things[0], "knows", things[3])
	s, err := w.List(t.Context(), things[0], "knows", dynamotest.WholeList)
	require.NoError(t, err)
	assert.Len(t, s.Items[0].Attributes["x"], 9_000, "what stays has them still")
	w.Replace(things[0], "knows", things[1:]...)
	s, err = w.List(t.Context(), things[0], "knows", dynamotest.WholeList)
	require.NoError(t, err)
	assert.Empty(t, s.Items[0].Attributes, "a replacement sees that they are others")
}
