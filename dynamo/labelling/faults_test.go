package labelling_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo/dynamotest"
	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/labellingtest"
)

// moves are one of each kind, each of which follows the one before.
func moves(w *labellingtest.World) []labelling.Move {
	claim := w.Claiming(w.Fill(1)[0], w.Ada)
	finish := w.Finishing(claim.After, w.Ada, w.Label("owl").ID, w.Label("asleep").ID)
	review := w.Reviewing(finish.After, *finish.Effort, w.Ada)
	again := w.Finishing(review.After, w.Ada, w.Label("cat").ID, "")
	return []labelling.Move{claim, finish, review, again, w.Undoing(again.After, *again.Effort)}
}

// openForgetfulLabelling is openWorldOfLabelling on an engine that knows no tokens.
func openForgetfulLabelling(t *testing.T) (*labellingtest.World, truth.Store, *faultinject.Injector) {
	t.Helper()
	clock := storetest.NewClock()
	db, inj := dynamotest.OpenDBOn(t, clock.Now, dynamotest.Forget)
	return labellingtest.NewWorld(t, labellingStores(db), clock), truth.Store{Store: projects.Store{DB: db}}, inj
}

// assertMade checks that every move was made once.
func assertMade(t *testing.T, w *labellingtest.World, db truth.Store, made []labelling.Move) {
	t.Helper()
	var efforts []project.Effort
	for _, m := range made {
		if m.Effort != nil && m.Known == nil {
			efforts = append(efforts, *m.Effort)
		} else if m.Effort != nil {
			efforts[len(efforts)-1] = *m.Effort
		}
	}
	last := made[len(made)-1].After
	item, found, err := db.ItemWithEfforts(t.Context(), last.ItemID)
	require.NoError(t, err)
	assert.Equal(t, last, item)
	assert.ElementsMatch(t, efforts, found)
	assert.ElementsMatch(t, transitions(made), w.Outbox())
	for _, status := range project.Statuses {
		want := []string{}
		if status == last.Status {
			want = append(want, last.ID)
		}
		assert.Equal(t, want, w.Listed(status, 10), status)
	}
}

// The answer to a move is lost, and the engine has forgotten its token: it is one move, and its caller is told so.
func TestMovesWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	w, db, inj := openForgetfulLabelling(t)
	all := moves(w)
	for _, m := range all {
		lost := inj.ResetAfter(faultinject.First(2), faultinject.Operation("TransactWriteItems"))
		require.NoError(t, db.MoveItem(t.Context(), m, idempotency.Key{}))
		assert.Positive(t, lost.Hits())
		lost.Stop()
	}
	assertMade(t, w, db, all)
}

// A caller who never learns what became of a move makes it again: with a transition it is told that the move was made, and
// without one it finds its own claim in the conflict.
func TestMovesWhoseOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	w, db, inj := openForgetfulLabelling(t)
	all := moves(w)
	for _, m := range all {
		lost := inj.ResetAfter(faultinject.Always, faultinject.Operation("TransactWriteItems"))
		err := db.MoveItem(dynamotest.Soon(t, time.Second), m, idempotency.Key{})
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
		lost.Stop()
		err = db.MoveItem(t.Context(), m, idempotency.Key{})
		if m.Transition != nil {
			require.NoError(t, err)
			continue
		}
		var conflict *project.ItemConflict
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, m.After, conflict.Current)
	}
	assertMade(t, w, db, all)
}

// A server is lost before or after it makes a move: the item is as it was before or after it.
func TestMovesOfAServerThatIsKilled(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	all := moves(w)
	for _, m := range all {
		dead := inj.KillAfter(0)
		require.Error(t, db.MoveItem(t.Context(), m, idempotency.Key{}))
		dead.Stop()
		item, _, err := db.ItemWithEfforts(t.Context(), m.Before.ItemID)
		require.NoError(t, err)
		require.Equal(t, m.Before, item)
		require.NoError(t, db.MoveItem(t.Context(), m, idempotency.Key{}))
	}
	assertMade(t, w, db, all)
	dead := inj.KillAfter(0)
	require.Error(t, db.DeleteOutbox(t.Context(), transitions(all)))
	dead.Stop()
	assert.Len(t, w.Outbox(), 4, "they are sent again")
	require.NoError(t, db.DeleteOutbox(t.Context(), transitions(all)))
	assert.Empty(t, w.Outbox())
}

// transitions are the transitions of moves.
func transitions(of []labelling.Move) []labelling.Transition {
	var all []labelling.Transition
	for _, m := range of {
		if m.Transition != nil {
			all = append(all, *m.Transition)
		}
	}
	return all
}

// While a move is shown row by row, nobody who sees its transition, its effort or its links sees the item as it was.
func TestMovesShownRowByRow(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	all := moves(w)
	var now labelling.Move
	looks := 0
	inj.RowByRow(func(ctx context.Context, _, _ int) {
		looks++
		items, _, errs := db.ItemsByID(ctx, "", []project.ItemID{now.Before.ItemID})
		if !assert.NoError(t, dynamotest.First(errs)) {
			return
		}
		assert.Contains(t, []project.Item{now.Before, now.After}, items[0])
		if items[0].LastEffort != "" {
			_, errs := db.EffortsByID(ctx, []project.EffortID{{Project: w.Project.ID, ID: items[0].LastEffort}})
			assert.NoError(t, dynamotest.First(errs), "an item points to an effort that is there")
		}
		sent, err := db.ListOutbox(ctx, w.Clock.Now().Add(time.Hour), 10)
		assert.NoError(t, err)
		for _, s := range sent {
			assert.GreaterOrEqual(t, items[0].Version, s.Version)
		}
	})
	for _, now = range all {
		// The looks are part of the call.
		require.NoError(t, db.MoveItem(dynamotest.Soon(t, 2*time.Minute), now, idempotency.Key{}))
	}
	assert.GreaterOrEqual(t, looks, 20)
	inj.Clear()
	assertMade(t, w, db, all)
}

// Whoever reads an item with its efforts while they cannot be read is told so in time.
func TestItemWithEffortsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	item := w.Do(w.Finishing(w.Fill(1)[0], w.Ada, w.Label("owl").ID, ""))
	for _, operation := range []string{"TransactGetItems", "Query"} {
		throttled := inj.Throttle(faultinject.Always, faultinject.Operation(operation))
		_, _, err := db.ItemWithEfforts(dynamotest.Soon(t, 200*time.Millisecond), item.ItemID)
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
		throttled.Stop()
	}
	item.ID = string(make([]byte, 3_000))
	_, _, err := db.ItemWithEfforts(t.Context(), item.ItemID)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

// Items that change after it was seen that they have one effort are read with the efforts that they have then.
func TestItemsWithEffortsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	owl := w.Label("owl").ID
	items := w.Fill(3)
	efforts := make([]project.Effort, len(items))
	for n := range items {
		m := w.Finishing(items[n], w.Ada, owl, "")
		items[n], efforts[n] = w.Do(m), *m.Effort
	}
	gate := inj.Hold(faultinject.First(1), faultinject.Operation("TransactGetItems"))
	t.Cleanup(gate.Open)
	type result struct {
		items   []project.Item
		efforts [][]project.Effort
		errs    []error
	}
	read := make(chan result, 1)
	go func() {
		var r result
		r.items, r.efforts, r.errs = db.ItemsWithEfforts(t.Context(), idsOfItems(items))
		read <- r
	}()
	require.NoError(t, gate.Wait(t.Context(), 1))
	w.Clock.Advance(time.Second)
	again := w.Finishing(items[0], w.Ada, owl, "")
	items[0] = w.Do(again)
	undone := w.Undoing(items[1], efforts[1])
	items[1] = w.Do(undone)
	gate.Open()
	r := <-read
	require.NoError(t, errors.Join(r.errs...))
	assert.Equal(t, items, r.items)
	assert.Equal(t, [][]project.Effort{{efforts[0], *again.Effort}, {*undone.Effort}, {efforts[2]}}, r.efforts)
}

// DynamoDB reads at most 4 MB in one transaction.
func TestItemsWithEffortsOfManyBytes(t *testing.T) {
	t.Parallel()
	w, db, inj := openWorldOfLabelling(t)
	items := w.Draw(w.Import(), 1, 60)
	for n := range items {
		items[n].Metadata = map[string]any{"text": strings.Repeat("x", 90_000)}
	}
	_, _, err := db.ImportItems(t.Context(), items)
	require.NoError(t, err)
	for n := range items {
		items[n] = w.Do(w.Finishing(items[n], w.Ada, w.Label("owl").ID, ""))
	}
	inj.Recorder().Reset()
	found, _, errs := db.ItemsWithEfforts(t.Context(), idsOfItems(items))
	require.NoError(t, errors.Join(errs...))
	assert.Equal(t, items, found)
	for _, c := range inj.Recorder().Calls(faultinject.Operation("TransactGetItems")) {
		assert.LessOrEqual(t, len(c.Keys), 2*4_000_000/90_000)
	}
	assert.Equal(t, 2, dynamotest.Made(inj)["TransactGetItems"])
	assert.Zero(t, dynamotest.Made(inj)["Query"])
}
