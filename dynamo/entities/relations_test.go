package entities_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/storetest/entitytest"
)

// recordOf reads a row that the SDK has decoded.
func recordOf(t testing.TB, row dynamo.Attrs) entities.RelationRecord {
	t.Helper()
	var r entities.RelationRecord
	require.NoError(t, entities.DecodeRelation(dynamo.ItemOf(row), &r, nil))
	return r
}

// noHalfChange checks that no intent, no order, no task, and no row that does not hold is left.
func noHalfChange(t testing.TB, db *dynamo.DB) {
	t.Helper()
	rows := dynamotest.RowsOf(t, db, dynamo.RelationshipEntries)
	generations := map[dynamo.Key]int{}
	for key, row := range rows {
		if strings.HasSuffix(key.SK, ":!") && row["_object_key"] == nil {
			r := recordOf(t, row)
			generations[dynamo.Key{PK: key.PK, SK: r.Predicate}] = r.Generation
			assert.Nil(t, r.Intent, "%v", key)
		}
	}
	for key, row := range rows {
		assert.False(t, strings.HasPrefix(key.PK, "taggie:"), "%v is left", key)
		if row["_object_key"] == nil {
			continue
		}
		r := recordOf(t, row)
		assert.Equal(t, 0, r.Until, "%v", key)
		assert.True(t, r.Holds(generations[dynamo.Key{PK: key.PK, SK: r.Predicate}]), "%v", key)
	}
}

// seen reads what is under a predicate in four ways and calls check with the ids of the objects.
func seen(ctx context.Context, w *entitytest.RelationWorld, subject entity.ID, predicate string, check func([]string)) error {
	for _, backward := range []bool{false, true} {
		for _, predicate := range []string{predicate, ""} {
			s, err := w.List(ctx, subject, predicate, page.Window{Limit: page.Max, Backward: backward})
			if err != nil {
				return err
			}
			ids := make([]string, len(s.Items))
			for i, r := range s.Items {
				ids[i] = r.Object.ID
			}
			check(ids)
		}
	}
	return nil
}

func idsOf(of ...entity.ID) []string {
	ids := make([]string, len(of))
	for i, id := range of {
		ids[i] = id.ID
	}
	return ids
}

func TestRelationsUnderAPredicateAreOneQuery(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 30)
	for _, thing := range things[:12] {
		w.Replace(thing, "knows", things[1:20]...)
	}
	w.Add(things[0], "likes", things[1])
	count := func(want int, window page.Window, predicate string, subjects ...entity.ID) {
		t.Helper()
		var requests []entity.RelationsRequest
		for _, s := range subjects {
			requests = append(requests, entity.RelationsRequest{Entity: s, Predicate: predicate, Window: window})
		}
		inj.Recorder().Reset()
		_, errs := w.ListRelations(w.Ctx, requests)
		require.Nil(t, errs)
		assert.Equal(t, want, inj.Recorder().Count(), "%v", inj.Recorder().Operations())
		for _, c := range inj.Recorder().Calls() {
			assert.True(t, c.Consistent)
		}
	}
	count(1, page.Window{Limit: 19}, "knows", things[0])
	count(1, page.Window{Limit: 19, Backward: true}, "knows", things[0])
	count(1, dynamotest.WholeList, "", things[0])
	count(1, dynamotest.WholeList, "", things[20])
	count(1, dynamotest.WholeList, "nothing", things[0])
	count(12, page.Window{Limit: 20}, "knows", things[:12]...)
	count(2, page.Window{Limit: 5}, "knows", things[0]) // and the tail
	s, err := w.List(w.Ctx, things[0], "knows", page.Window{Limit: 5})
	require.NoError(t, err)
	count(3, page.Window{Limit: 5, From: s.Positions[4]}, "knows", things[0])
	count(2, page.Window{Limit: 19, From: s.Positions[4]}, "knows", things[0])
	count(3, page.Window{Limit: 19, From: s.Positions[4], Probe: true}, "knows", things[0])

	inj.Recorder().Reset()
	_, err = w.Reverse(w.Ctx, things[1], "", page.Window{Limit: 20})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, inj.Recorder().Operations())

	var requests []entity.RelationsRequest
	for _, thing := range things[1:20] {
		requests = append(requests, entity.RelationsRequest{Entity: thing, Window: page.Window{Limit: 20}})
	}
	inj.Recorder().Reset()
	lists, errs := w.ListReverseRelations(w.Ctx, requests)
	require.Nil(t, errs)
	for i, list := range lists {
		assert.Len(t, list.Items, map[bool]int{true: 13, false: 12}[i == 0], "%d", i)
	}
	assert.Equal(t, map[string]int{"Query": 19, "BatchGetItem": 1}, inj.Recorder().Operations(), "the heads of all of them together")

	db.Concurrency = 4
	inj.Recorder().Reset()
	count(12, page.Window{Limit: 20}, "knows", things[:12]...)
	assert.LessOrEqual(t, inj.Recorder().MaxConcurrent(), 4)
}

func TestChangesOfOneRelationAreOneTransaction(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 4)
	one := map[string]int{"Query": 1, "TransactWriteItems": 1}
	for _, change := range []func(){
		func() { w.Add(things[0], "knows", things[1]) },
		func() { w.Add(things[0], "knows", things[2]) },
		func() { w.Replace(things[0], "knows", things[1], things[2], things[3]) },
		func() { w.Replace(things[0], "knows", things[1], things[2]) },
		func() { w.Add(things[0], "knows", things[2], things[1]) },
	} {
		inj.Recorder().Reset()
		change()
		assert.Equal(t, one, inj.Recorder().Operations())
	}
	inj.Recorder().Reset()
	w.Replace(things[0], "knows", things[3], things[2])
	assert.Equal(t, map[string]int{"Query": 1, "TransactWriteItems": 4}, inj.Recorder().Operations())
	noHalfChange(t, db)
}

// Rows without markers, as projects write them, are of generation 0.
func TestRelationsWithoutMarkers(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 5)
	var writes []dynamo.Put
	for i, object := range things[1:4] {
		writes = append(writes, dynamo.Put{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(entity.Relation{Subject: things[0], Predicate: "item", Index: int64(i), Object: object}, w.Clock.Now(), nil)})
	}
	require.NoError(t, db.BatchPut(w.Ctx, writes))
	inj.Recorder().Reset()
	assert.Equal(t, idsOf(things[1:4]...), w.ObjectsOf(things[0], "item"))
	assert.Equal(t, 1, inj.Recorder().Count())
	for _, window := range []page.Window{{Limit: 2}, {Limit: 2, Backward: true}} {
		s, err := w.List(w.Ctx, things[0], "", window)
		require.NoError(t, err)
		assert.Len(t, s.Items, 2)
		assert.True(t, s.More)
	}
	s, err := w.Reverse(w.Ctx, things[1], "", dynamotest.WholeList)
	require.NoError(t, err)
	assert.Len(t, s.Items, 1)
	w.Add(things[0], "item", things[4])
	assert.Equal(t, idsOf(things[1:5]...), w.ObjectsOf(things[0], "item"))
	w.Replace(things[0], "item", things[4], things[1])
	assert.Equal(t, idsOf(things[4], things[1]), w.ObjectsOf(things[0], "item"))
	noHalfChange(t, db)
}

func TestMostRelations(t *testing.T) { // not in parallel: it keeps the engine busy
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 3)
	writes := make([]dynamo.Put, entity.MaxRelations-1)
	for i := range writes {
		writes[i] = dynamo.Put{Table: dynamo.RelationshipEntries, Item: entities.RelationRow(entity.Relation{Subject: things[0], Predicate: "item", Index: int64(i), Object: things[0]}, w.Clock.Now(), nil)}
	}
	require.NoError(t, db.BatchPut(w.Ctx, writes))
	_, err := w.AddRelations(w.Ctx, things[0], "item", entitytest.Objects(things[1:]...), idempotency.Key{})
	assert.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
	w.Add(things[0], "item", things[1])
	_, err = w.AddRelations(w.Ctx, things[0], "item", entitytest.Objects(things[2]), idempotency.Key{})
	assert.True(t, fault.Is(err, fault.Exhausted), "got %v", err)
	inj.Recorder().Reset()
	s, err := w.List(w.Ctx, things[0], "item", page.Window{Limit: 2, Backward: true})
	require.NoError(t, err)
	assert.Equal(t, idsOf(things[0], things[1]), idsOf(s.Items[0].Object, s.Items[1].Object))
	assert.Equal(t, 2, inj.Recorder().Count(), "a page of many is not the many")
	removed, err := w.RemoveRelations(w.Ctx, things[0], "item", things[:1], idempotency.Key{})
	require.NoError(t, err)
	assert.Len(t, removed, entity.MaxRelations-1)
	assert.Equal(t, []string{"t1"}, w.ObjectsOf(things[0], "item"))
	noHalfChange(t, db)
}

// Whatever rows of a transaction are seen, a list is the old one or the new one.
func TestReplacingShownRowByRow(t *testing.T) {
	t.Parallel()
	w, db, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 6)
	before, after := things[1:4], []entity.ID{things[4], things[1], things[5]}
	replacedRowByRow(t, w, db, inj, things[0], before, after, 3)
	before, after = slices.Repeat(before, 20), slices.Repeat(after, 20) // 120 rows change, in two transactions
	replacedRowByRow(t, w, db, inj, things[0], before, after, 1)
}

func replacedRowByRow(t *testing.T, w *entitytest.RelationWorld, db *dynamo.DB, inj *faultinject.Injector, subject entity.ID, before, after []entity.ID, times int) {
	t.Helper()
	w.Replace(subject, "knows", before...)
	looks, atAll := 0, map[string]int{}
	rule := inj.RowByRow(func(_ context.Context, shown, _ int) {
		if looks++; shown > 5 && shown%20 != 0 {
			return
		}
		assert.NoError(t, seen(w.Ctx, w, subject, "knows", func(ids []string) {
			atAll[fmt.Sprint(ids)]++
			assert.Contains(t, [][]string{idsOf(before...), idsOf(after...)}, ids)
		}))
	})
	for range times {
		require.NoError(t, w.ReplaceRelations(w.Ctx, subject, "knows", entitytest.Objects(after...), idempotency.Key{}))
		if times > 1 {
			require.NoError(t, w.ReplaceRelations(w.Ctx, subject, "knows", entitytest.Objects(before...), idempotency.Key{}))
		}
	}
	rule.Stop()
	assert.Greater(t, looks, 15*times)
	assert.Len(t, atAll, 2, "both were seen")
	noHalfChange(t, db)
}

func TestAddingOneShownRowByRow(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 3)
	looks := 0
	inj.RowByRow(func(context.Context, int, int) {
		looks++
		assert.NoError(t, seen(w.Ctx, w, things[0], "knows", func(ids []string) {
			assert.Contains(t, [][]string{{}, {"t1"}, {"t1", "t2"}}, ids)
		}))
	})
	w.Add(things[0], "knows", things[1])
	w.Add(things[0], "knows", things[2])
	assert.Equal(t, 4, looks)
	assert.Equal(t, []string{"t1", "t2"}, w.ObjectsOf(things[0], "knows"))
}

// Replacing under 20 concurrent readers never shows a mixture, nor an empty list, also with pages that do not reach the ends.
func TestReplacingUnderReaders(t *testing.T) { // not in parallel: it keeps the engine busy
	for _, rowByRow := range []bool{false, true} {
		w, db, inj := dynamotest.OpenRelationWorld(t)
		things := w.Things("t", 8)
		many, part := 120, 50 // more than one transaction holds
		if rowByRow {
			many, part = 6, 2 // between two rows everybody reads
		}
		lists := [2][]entity.ID{}
		for i := range many {
			lists[0], lists[1] = append(lists[0], things[1+i%3]), append(lists[1], things[4+i%3])
		}
		w.Replace(things[0], "knows", lists[0]...)
		if rowByRow {
			inj.RowByRow(func(context.Context, int, int) {})
		}
		var done atomic.Bool
		var reads [2]atomic.Int64
		group, failed := errgroup.WithContext(w.Ctx)
		for reader := range 20 {
			window := []page.Window{{Limit: page.Max}, {Limit: page.Max, Backward: true}, {Limit: part}, {Limit: part, Backward: true}}[reader%4]
			predicate := []string{"knows", ""}[reader/4%2]
			group.Go(func() error {
				for !done.Load() {
					s, err := w.List(w.Ctx, things[0], predicate, window)
					if err != nil {
						return err
					}
					if len(s.Items) != min(many, window.Limit) {
						return fmt.Errorf("%d relations", len(s.Items))
					}
					which := 0
					if slices.Contains(lists[1], s.Items[0].Object) {
						which = 1
					}
					for i, r := range s.Items {
						if window.Backward {
							i += many - len(s.Items)
						}
						if r.Object != lists[which][i] {
							return fmt.Errorf("a mixture: %v at %d", r.Object, i)
						}
					}
					reads[which].Add(1)
				}
				return nil
			})
		}
		for n := 1; failed.Err() == nil && (n < 4 || reads[0].Load() < 20 || reads[1].Load() < 20); n++ {
			require.NoError(t, w.ReplaceRelations(w.Ctx, things[0], "knows", entitytest.Objects(lists[n%2]...), idempotency.Key{}))
		}
		done.Store(true)
		require.NoError(t, group.Wait())
		inj.Clear()
		noHalfChange(t, db)
	}
}

// A page is read while the whole list is replaced and what was in it removed, more than once.
func TestReplacingInTheMiddleOfAPage(t *testing.T) {
	t.Parallel()
	w, _, inj := dynamotest.OpenRelationWorld(t)
	things := w.Things("t", 9)
	for _, window := range []page.Window{{Limit: 2}, {Limit: 2, Backward: true}, {Limit: 9}, {Limit: 9, Backward: true}} {
		for _, predicate := range []string{"knows", ""} {
			w.Replace(things[0], "knows", things[1:5]...)
			first, err := w.List(w.Ctx, things[0], "knows", page.Window{Limit: 2, Backward: window.Backward})
			require.NoError(t, err)
			position := first.Positions[len(first.Positions)-1]
			if window.Backward {
				position = first.Positions[0]
			}
			for _, from := range []string{"", position} {
				w.Replace(things[0], "knows", things[1:5]...)
				window.From = from
				calls := 0
				inside := false
				rule := inj.Delay(0, func(int) bool {
					if inside {
						return false
					}
					calls++
					return calls == 2 || calls == 3
				}, faultinject.Reads)
				inj.Sleep = func(context.Context, time.Duration) error {
					inside = true
					defer func() { inside = false }()
					if calls == 2 {
						return w.ReplaceRelations(w.Ctx, things[0], "knows", entitytest.Objects(things[5:9]...), idempotency.Key{})
					}
					return w.ReplaceRelations(w.Ctx, things[0], "knows", entitytest.Objects(things[2:7]...), idempotency.Key{})
				}
				s, err := w.List(w.Ctx, things[0], predicate, window)
				rule.Stop()
				require.NoError(t, err)
				got := make([]entity.ID, len(s.Items))
				for i, r := range s.Items {
					got[i] = r.Object
				}
				// What was behind the position is gone, and what came is behind it; before it there is nothing.
				assert.True(t, len(got) > 0 || (window.Backward && from != ""), "%v from %q", window, from)
				part := false
				for _, list := range [][]entity.ID{things[1:5], things[5:9], things[2:7]} {
					for low := 0; low+len(got) <= len(list); low++ {
						part = part || slices.Equal(list[low:low+len(got)], got)
					}
				}
				assert.True(t, part, "%v from %q: %v is a part of none", window, from, idsOf(got...))
			}
		}
	}
}
