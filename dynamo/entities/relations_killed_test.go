package entities_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

// change is something that is killed at each of its calls.
type change struct {
	name          string
	before, after []int // numbers of things
	do            func(w *entitytest.RelationWorld, things []entity.ID, subject entity.ID) error
}

func numbers(from, to int) []int {
	var all []int
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

func pick(things []entity.ID, which []int) []entity.ID {
	picked := make([]entity.ID, len(which))
	for i, n := range which {
		picked[i] = things[n]
	}
	return picked
}

func replaceWith(which []int) func(*entitytest.RelationWorld, []entity.ID, entity.ID) error {
	return func(w *entitytest.RelationWorld, things []entity.ID, subject entity.ID) error {
		return w.ReplaceRelations(context.Background(), subject, "knows", entitytest.Objects(pick(things, which)...), idempotency.Key{})
	}
}

var killed = []change{
	{"add one", numbers(0, 2), numbers(0, 3), func(w *entitytest.RelationWorld, things []entity.ID, subject entity.ID) error {
		_, err := w.AddRelations(context.Background(), subject, "knows", entitytest.Objects(things[2]), idempotency.Key{})
		return err
	}},
	{"add the first", nil, numbers(0, 3), func(w *entitytest.RelationWorld, things []entity.ID, subject entity.ID) error {
		_, err := w.AddRelations(context.Background(), subject, "knows", entitytest.Objects(things[:3]...), idempotency.Key{})
		return err
	}},
	{"add many", numbers(0, 2), numbers(0, 20), func(w *entitytest.RelationWorld, things []entity.ID, subject entity.ID) error {
		_, err := w.AddRelations(context.Background(), subject, "knows", entitytest.Objects(things[:20]...), idempotency.Key{})
		return err
	}},
	{"remove", numbers(0, 20), numbers(18, 20), func(w *entitytest.RelationWorld, things []entity.ID, subject entity.ID) error {
		_, err := w.RemoveRelations(context.Background(), subject, "knows", things[:18], idempotency.Key{})
		return err
	}},
	{"replace few", []int{0, 1, 2}, []int{0, 2, 1}, replaceWith([]int{0, 2, 1})},
	{"replace many", numbers(0, 19), append(numbers(8, 20), numbers(1, 12)...), replaceWith(append(numbers(8, 20), numbers(1, 12)...))},
}

// A server dies before each write of a change, and before the answer to the last one. Readers see the old list or the new one, and so does
// the next writer, or the task, which leaves nothing behind.
func TestChangesKilledAtEachWrite(t *testing.T) {
	t.Parallel()
	for _, c := range killed {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, recovery := range []string{"the next writer", "the task", "the next writer and the task"} {
				w, db, inj := dynamotest.OpenRelationWorld(t)
				db.Prepared = 15 // several transactions for 20 objects
				things := w.Things("t", 21)
				before, after := pick(things, c.before), pick(things, c.after)
				inj.Recorder().Reset()
				writes := writesOf(t, inj, w, c, things, before)
				for n := range writes + 1 {
					subject := w.Thing(fmt.Sprint("subject ", n))
					w.Make(subject)
					w.Replace(subject, "knows", before...)
					dead := inj.KillAfter(n, faultinject.Writes)
					answer := inj.ResetAfter(faultinject.Nth(writes), faultinject.Writes)
					err := c.do(w, things, subject)
					dead.Stop()
					answer.Stop()
					name := fmt.Sprintf("%s, dead after %d of %d writes, settled by %s", c.name, n, writes, recovery)
					settles(t, w, recovery, subject, before, after, things[20], err == nil, name)
				}
				w.Clock.Advance(time.Hour)
				w.Work()
				noHalfChange(t, db)
			}
		})
	}
}

// writesOf counts the calls of a change that write.
func writesOf(t *testing.T, inj *faultinject.Injector, w *entitytest.RelationWorld, c change, things, before []entity.ID) int {
	subject := w.Thing("counted")
	w.Make(subject)
	w.Replace(subject, "knows", before...)
	inj.Recorder().Reset()
	require.NoError(t, c.do(w, things, subject))
	return inj.Recorder().Count(faultinject.Writes)
}

func settles(t *testing.T, w *entitytest.RelationWorld, recovery string, subject entity.ID, before, after []entity.ID, extra entity.ID, succeeded bool, name string) {
	t.Helper()
	expected := [][]string{idsOf(before...), idsOf(after...)}
	if succeeded {
		expected = expected[1:]
	}
	var now []string
	look := func() {
		t.Helper()
		require.NoError(t, seen(t.Context(), w, subject, "knows", func(ids []string) {
			require.Contains(t, expected, ids, name)
			now = ids
		}))
	}
	look()
	expected = [][]string{now}
	if recovery != "the next writer" {
		defer func() {
			w.Clock.Advance(time.Minute)
			w.Work()
			look()
		}()
	}
	if recovery != "the task" { // it waits for no lease
		w.Add(subject, "knows", extra)
		expected = [][]string{append(slices.Clone(now), extra.ID)}
	}
	look()
	for _, id := range []entity.ID{extra, w.Thing("t0"), w.Thing("t19")} {
		s, err := w.Reverse(t.Context(), id, "knows", dynamotest.WholeList)
		require.NoError(t, err)
		times := 0
		for _, r := range s.Items {
			if r.Subject == subject {
				times++
			}
		}
		want := 0
		for _, there := range expected[0] {
			if there == id.ID {
				want++
			}
		}
		require.Equal(t, want, times, name)
	}
}

// A change that shows no transaction is taken back, and its server, when it comes back, is too late and begins again.
func TestALostWriterThatComesBack(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 8)
	w.Replace(things[0], "knows", things[1], things[2])
	// The server sleeps before each of its transactions, after the first one, and the next writer comes meanwhile.
	for nth := 2; nth <= 4; nth++ {
		w.Replace(things[0], "knows", things[1], things[2])
		inj.Sleep = func(context.Context, time.Duration) error {
			w.Clock.Advance(time.Minute)
			return w.ReplaceRelations(t.Context(), things[0], "knows", entitytest.Objects(things[3:6]...), idempotency.Key{})
		}
		calls, awake := 0, false
		rule := inj.Delay(0, func(int) bool {
			if awake {
				return false
			}
			calls++
			awake = calls == nth
			return awake
		}, faultinject.Operation("TransactWriteItems"))
		err := w.ReplaceRelations(t.Context(), things[0], "knows", entitytest.Objects(things[6:8]...), idempotency.Key{})
		rule.Stop()
		require.NoError(t, err)
		if nth == 4 { // it was committed before
			assert.Equal(t, []string{"t3", "t4", "t5"}, w.ObjectsOf(things[0], "knows"))
		} else {
			assert.Equal(t, []string{"t6", "t7"}, w.ObjectsOf(things[0], "knows"), "it begins again")
		}
		w.Clock.Advance(time.Minute)
		w.Work()
		noHalfChange(t, db)
	}
}

// A change under way is not disturbed while it goes on, and taken back when nothing happened to it for a second.
func TestAnotherWriterWaits(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 6)
	dead := inj.KillAfter(3) // read, begun, prepared
	require.Error(t, w.ReplaceRelations(t.Context(), things[0], "knows", entitytest.Objects(things[1:3]...), idempotency.Key{}))
	dead.Stop()
	db.Quiet = dynamo.Quiet
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := w.AddRelations(ctx, things[0], "knows", entitytest.Objects(things[4]), idempotency.Key{})
	assert.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
	began := time.Now()
	w.Add(things[0], "knows", things[4]) // whatever the clocks say
	assert.Greater(t, time.Since(began), dynamo.Quiet)
	assert.Equal(t, []string{"t4"}, w.ObjectsOf(things[0], "knows"))
	w.Work()
	noHalfChange(t, db)
}

// Setting an entity with relationships under several predicates is killed at each write.
func TestPuttingWithRelationsKilledAtEachWrite(t *testing.T) {
	t.Parallel()
	for _, anew := range []bool{false, true} {
		w, db, inj := dynamotest.OpenRelationWorld(t)
		things := w.Things("t", 6)
		for n, killed := 0, true; killed; n++ {
			inj.Recorder().Reset()
			id := w.Thing(fmt.Sprint("new ", n))
			e := entity.Entity{ID: id, Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(), Attributes: map[string]any{}}
			var before *entity.Entity
			if !anew {
				first := e
				before = &first
				require.NoError(t, w.PutEntity(t.Context(), nil, e, map[string][]entity.Object{"knows": entitytest.Objects(things[4])}, idempotency.Key{}))
				e.Version = 2
			}
			dead := inj.KillAfter(n, faultinject.Writes)
			err := w.PutEntity(t.Context(), before, e, map[string][]entity.Object{
				"knows": entitytest.Objects(things[1], things[2]), "likes": entitytest.Objects(id, things[3], things[1]),
			}, idempotency.Key{})
			killed = dead.Hits() > 0 && inj.Recorder().Count(func(c *faultinject.Call) bool { return !c.Reached }) > 0
			dead.Stop()
			w.Clock.Advance(time.Minute)
			look := func() {
				entities, errs := w.EntitiesByID(t.Context(), []entity.ID{id})
				switch there := errs == nil || errs[0] == nil; {
				case there && entities[0].Version == e.Version:
					assert.Equal(t, []string{"t1", "t2"}, w.ObjectsOf(id, "knows"))
					assert.Equal(t, []string{id.ID, "t3", "t1"}, w.ObjectsOf(id, "likes"))
				case anew:
					require.Error(t, err)
					assert.Empty(t, w.ObjectsOf(id, ""))
				default:
					require.Error(t, err)
					assert.Equal(t, []string{"t4"}, w.ObjectsOf(id, ""))
				}
			}
			look()
			w.Work()
			look()
			noHalfChange(t, db)
		}
	}
}
