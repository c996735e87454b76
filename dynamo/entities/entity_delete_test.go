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
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

// mentions returns the keys of all rows, of whatever table, in which the text occurs.
func mentions(t testing.TB, db *dynamo.DB, name string) []string {
	t.Helper()
	var found []string
	for _, table := range []dynamo.Table{dynamo.EntitiesMaster, dynamo.RelationshipEntries, dynamo.IndexEntries} {
		for key, row := range dynamotest.RowsOf(t, db, table) {
			if strings.Contains(fmt.Sprint(key), name) || dynamo.Text(row["id"]) == name {
				found = append(found, fmt.Sprint(table.Name, key))
			}
		}
	}
	return found
}

// related makes an entity that has everything: relationships from and to it, of one row and of several, to itself, and index
// entries.
func related(t testing.TB, w *entitytest.RelationWorld, name string, others []entity.ID) entity.Entity {
	t.Helper()
	e := entity.Entity{
		ID: w.Thing(name), Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(), Attributes: map[string]any{},
		Index: []entity.IndexEntry{{Name: "colour", Key: "red"}, {Name: "colour", Key: "green"}, {Name: "size", Key: "1"}},
	}
	require.NoError(t, w.PutEntity(t.Context(), nil, e, map[string][]entity.Object{
		"knows": entitytest.Objects(others...), "is": entitytest.Objects(e.ID), "likes": entitytest.Objects(others[0]),
	}, idempotency.Key{}))
	w.Replace(others[0], "knows", e.ID, others[1], e.ID)
	w.Add(others[1], "likes", e.ID)
	return e
}

func TestDeletingLeavesNothing(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 3)
	e := related(t, w, "gone", things)
	inj.Recorder().Reset()
	require.NoError(t, w.DeleteEntity(t.Context(), e, idempotency.Key{}))
	assert.Equal(t, map[string]int{"TransactWriteItems": 5, "Query": 3}, inj.Recorder().Operations(), "mark, reverse rows, own rows, index entries, the order")
	assert.Len(t, mentions(t, db, "gone"), 2, "the marked row, and the order to look again")
	w.Clock.Advance(entities.SettledWithin + dynamo.CallWithin)
	inj.Recorder().Reset()
	due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	inj.Recorder().Reset()
	again, err := w.FinishDelete(t.Context(), due[0])
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Equal(t, map[string]int{"GetItem": 1, "Query": 3, "TransactWriteItems": 1}, inj.Recorder().Operations())
	w.WorkLater()
	assert.Empty(t, mentions(t, db, "gone"))
	noHalfChange(t, db)
}

// The server that deletes dies at each of its five writes, and so does the one that takes the task over, at each write of its own.
func TestDeletingKilledAtEachWrite(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 3)
	for n := range 6 {
		name := fmt.Sprint("gone ", n)
		e := related(t, w, name, things)
		dead := inj.KillAfter(n, faultinject.Writes)
		answer := inj.ResetAfter(faultinject.Nth(5), faultinject.Writes)
		err := w.DeleteEntity(t.Context(), e, idempotency.Key{})
		dead.Stop()
		answer.Stop()
		entities, errs := w.EntitiesByID(t.Context(), []entity.ID{e.ID})
		if errs == nil {
			require.Error(t, err)
			require.Equal(t, 1, entities[0].Version, "nothing has happened")
			require.Len(t, w.ObjectsOf(e.ID, ""), 5)
			require.Equal(t, []string{name, "t1", name}, w.ObjectsOf(things[0], "knows"))
			w.Delete(e.ID)
		} else {
			require.True(t, fault.Is(errs[0], fault.NotFound))
		}
		for m := range 4 {
			w.Clock.Advance(2 * time.Minute)
			due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 10)
			require.NoError(t, err)
			dead := inj.KillAfter(m, faultinject.Writes)
			for _, task := range due {
				if again, err := w.FinishDelete(t.Context(), task); err == nil && !again.IsZero() {
					require.True(t, again.After(w.Clock.Now()))
				}
			}
			dead.Stop()
		}
		w.WorkLater()
		assert.Empty(t, mentions(t, db, name))
		assert.Equal(t, []string{"t1"}, w.ObjectsOf(things[0], "knows"))
		assert.Empty(t, w.ObjectsOf(things[1], "likes"))
		noHalfChange(t, db)
	}
}

// Relationships that the reverse index has not shown yet are found the second time. Nobody can be made under the id before:
// what is related to it then would be taken for what is there already.
func TestDeletingWithALaggingIndex(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 3)
	lag := inj.LagIndexes()
	e := related(t, w, "gone", things)
	w.Clock.Advance(time.Second)
	w.Delete(e.ID)
	assert.Equal(t, []string{"gone", "t1", "gone"}, w.ObjectsOf(things[0], "knows"), "not seen yet")
	for range 2 {
		w.Clock.Advance(time.Second)
		w.Work()
		again := e
		err := w.PutEntity(t.Context(), nil, again, nil, idempotency.Key{})
		assert.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
		_, err = w.AddRelations(t.Context(), things[0], "knows", entitytest.Objects(things[2], e.ID), idempotency.Key{})
		if err != nil {
			assert.ErrorAs(t, err, new(*entity.UnknownObject))
		}
		require.NoError(t, lag.Settle(t.Context()))
	}
	w.WorkLater()
	assert.Empty(t, mentions(t, db, "gone"))
	assert.Equal(t, []string{"t1", "t2"}, w.ObjectsOf(things[0], "knows"))
	assert.Empty(t, w.ObjectsOf(things[1], "likes"))
	w.Make(e.ID)
	added := w.Add(things[0], "knows", e.ID)
	assert.Len(t, added, 1)
	w.WorkLater()
	assert.Equal(t, []string{"t1", "t2", "gone"}, w.ObjectsOf(things[0], "knows"))
	noHalfChange(t, db)
	require.NoError(t, lag.Stop(t.Context()))
}

// A server that deletes is so late that the entity was made anew: it takes nothing of the new one's.
func TestALateDeletion(t *testing.T) {
	t.Parallel()
	for nth := 2; nth <= 5; nth++ {
		w, db, inj := dynamotest.OpenRelationWorld(t)
		things := w.Things("t", 3)
		e := related(t, w, "gone", things)
		calls, awake := 0, false
		rule := inj.Delay(0, func(int) bool {
			if awake {
				return false
			}
			calls++
			awake = calls == nth
			return awake
		}, faultinject.Operation("TransactWriteItems"))
		inj.Sleep = func(context.Context, time.Duration) error {
			w.WorkLater()
			related(t, w, "gone", things)
			return nil
		}
		require.NoError(t, w.DeleteEntity(t.Context(), e, idempotency.Key{}))
		rule.Stop()
		require.True(t, awake)
		w.WorkLater()
		assert.Len(t, w.ObjectsOf(e.ID, ""), 5)
		assert.Equal(t, []string{"gone", "t1", "gone"}, w.ObjectsOf(things[0], "knows"))
		for _, index := range []string{"colour", "size"} {
			s, err := w.ListByIndex(t.Context(), "scope", index, entity.Range{}, dynamotest.WholeList)
			require.NoError(t, err)
			assert.NotEmpty(t, s.Items)
		}
		noHalfChange(t, db)
	}
}

// While a change is under way, its subject is deleted, and then its object.
func TestDeletingWhatIsBeingChanged(t *testing.T) {
	t.Parallel()
	for _, which := range []int{0, 2} {
		for nth := 1; nth <= 4; nth++ {
			w, db, inj := dynamotest.OpenRelationWorld(t)
			things := w.Things("t", 4)
			w.Replace(things[0], "knows", things[1], things[2], things[1])
			calls, awake := 0, false
			rule := inj.Delay(0, func(int) bool {
				if awake {
					return false
				}
				calls++
				awake = calls == nth
				return awake
			}, faultinject.Operation("TransactWriteItems"))
			inj.Sleep = func(context.Context, time.Duration) error {
				w.Delete(things[which])
				return nil
			}
			err := w.ReplaceRelations(t.Context(), things[0], "knows", entitytest.Objects(things[3], things[2], things[2]), idempotency.Key{})
			rule.Stop()
			w.WorkLater()
			noHalfChange(t, db)
			name := fmt.Sprintf("t%d", which)
			assert.Empty(t, mentions(t, db, ":"+name), "%d %d: %v", which, nth, err)
			if which == 2 && err == nil {
				assert.Equal(t, []string{"t3"}, w.ObjectsOf(things[0], "knows"))
			}
			if which == 2 && err != nil {
				var unknown *entity.UnknownObject
				require.ErrorAs(t, err, &unknown)
				assert.Equal(t, []string{"t1", "t1"}, w.ObjectsOf(things[0], "knows"))
			}
			if which == 0 && err != nil {
				assert.True(t, fault.Is(err, fault.NotFound), "got %v", err)
			}
		}
	}
}
