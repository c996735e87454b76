package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
)

var batches = faultinject.Operation("BatchGetItem")

// otherTable is a second table for batches that span tables; it exists in tests only.
var otherTable = Table{"others", "PK", "SK"}

// fill puts n rows with the keys p/0, p/1 … and a text of the given size into the table, creating it if need be.
func fill(t *testing.T, db *DB, table Table, n, size int) {
	t.Helper()
	spec := db.Tables()[0]
	spec.TableName = db.Table(table)
	if have, err := db.describe(t.Context(), spec.TableName); err == nil && have == nil {
		_, err = db.Client.CreateTable(t.Context(), &spec)
		require.NoError(t, err)
	}
	for first := 0; first < n; first += 25 {
		var puts []types.WriteRequest
		for i := first; i < min(first+25, n); i++ {
			row := table.Key(Key{"p", fmt.Sprint(i)})
			row["text"] = Str(table.Name + " " + fmt.Sprint(i) + strings.Repeat("x", size))
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: row}})
		}
		_, err := db.Client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*spec.TableName: puts}})
		require.NoError(t, err)
	}
}

// wanted asks for rows and keeps what was decoded for each.
type wanted struct {
	wants []Want
	texts []string
}

func (w *wanted) add(table Table, ids ...int) {
	for _, id := range ids {
		n := len(w.wants)
		w.texts = append(w.texts, "")
		w.wants = append(w.wants, Want{table, Key{"p", fmt.Sprint(id)}, func(item Item) error {
			return Attributes(item, func(name []byte, v Value) (err error) {
				if string(name) == "text" {
					w.texts[n], err = v.Str()
					w.texts[n] = strings.TrimRight(w.texts[n], "x")
					return err
				}
				return nil
			})
		}})
	}
}

func upTo(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// noteDB is a DB whose table notes has n rows; the record is empty.
func noteDB(t *testing.T, n, size int) (*DB, *faultinject.Injector) {
	t.Parallel()
	db, inj := openDB(t, nil)
	fill(t, db, NotesTable, n, size)
	inj.Recorder().Reset()
	t.Cleanup(func() { assert.Empty(t, inj.Recorder().Violations()) })
	return db, inj
}

func (w *wanted) check(t *testing.T, errs []error) {
	t.Helper()
	require.Len(t, errs, len(w.wants))
	for i, want := range w.wants {
		require.NoError(t, errs[i])
		require.Equal(t, want.Table.Name+" "+want.Key.SK, w.texts[i])
	}
}

func TestBatchGetSendsChunksOf100(t *testing.T) {
	db, inj := noteDB(t, 250, 0)
	var w wanted
	w.add(NotesTable, upTo(250)...)
	w.check(t, db.BatchGet(t.Context(), w.wants))
	calls := inj.Recorder().Calls()
	require.Len(t, calls, 3, "the lower bound")
	keys := 0
	for _, c := range calls {
		assert.True(t, c.Consistent)
		keys += len(c.Keys)
	}
	assert.Equal(t, 250, keys)
	assert.Empty(t, inj.Recorder().ReadTwice())
}

func TestBatchGetReadsAKeyOnce(t *testing.T) {
	db, inj := noteDB(t, 60, 0)
	var w wanted
	for range 5 {
		w.add(NotesTable, upTo(60)...)
	}
	w.check(t, db.BatchGet(t.Context(), w.wants))
	assert.Equal(t, 1, inj.Recorder().Count(), "300 wants, 60 keys")
}

func TestBatchGetMixesTablesInOneCall(t *testing.T) {
	db, inj := noteDB(t, 70, 0)
	fill(t, db, otherTable, 70, 0)
	inj.Recorder().Reset()
	var w wanted
	for i := range 70 {
		w.add(NotesTable, i)
		w.add(otherTable, i)
	}
	w.check(t, db.BatchGet(t.Context(), w.wants))
	calls := inj.Recorder().Calls()
	require.Len(t, calls, 2, "140 keys of two tables")
	assert.Len(t, calls[0].Tables, 2)
}

func TestBatchGetStaysWithinTheBound(t *testing.T) {
	db, inj := noteDB(t, 1, 0)
	db.Concurrency = 3
	gate := inj.Hold(faultinject.Always, batches)
	done := make(chan []error)
	var w wanted
	w.add(NotesTable, upTo(1000)...)
	go func() { done <- db.BatchGet(t.Context(), w.wants) }()
	ctx := soon(t, 20*time.Second)
	for range 10 {
		require.NoError(t, gate.Wait(ctx, 1))
		assert.LessOrEqual(t, inj.Recorder().Count(), 3+10)
		require.NoError(t, gate.Step(ctx))
	}
	errs := <-done
	require.NoError(t, errs[0])
	assert.Equal(t, ErrMissing, errs[999])
	assert.Equal(t, 10, inj.Recorder().Count())
	assert.LessOrEqual(t, inj.Recorder().MaxConcurrent(), 3)
}

func TestBatchGetRunsChunksConcurrently(t *testing.T) {
	db, inj := noteDB(t, 1, 0)
	db.Concurrency = 4
	gate := inj.Hold(faultinject.Always, batches)
	var w wanted
	w.add(NotesTable, upTo(1000)...)
	done := make(chan []error)
	go func() { done <- db.BatchGet(t.Context(), w.wants) }()
	require.NoError(t, gate.Wait(soon(t, 20*time.Second), 4), "four calls are under way")
	assert.Equal(t, 4, inj.Recorder().Count(), "and not a fifth")
	gate.Open()
	<-done
}

func TestBatchGetWithAllButOneKeyUnprocessed(t *testing.T) {
	db, inj := noteDB(t, 120, 0)
	left := inj.LeaveUnprocessed(1, faultinject.Always)
	throttled := inj.Throttle(faultinject.Every(10))
	var w wanted
	w.add(NotesTable, upTo(120)...)
	w.check(t, db.BatchGet(soon(t, time.Minute), w.wants))
	assert.GreaterOrEqual(t, left.Hits(), 120, "one key per answer")
	assert.Positive(t, throttled.Hits())
}

func TestBatchGetKeyThatIsNeverProcessed(t *testing.T) {
	db, inj := noteDB(t, 250, 0)
	inj.NeverProcess(func(k faultinject.Key) bool { return strings.Contains(k.Attributes, `"SK":{"S":"17"}`) })
	var w wanted
	w.add(NotesTable, upTo(250)...)
	ctx := soon(t, 3*time.Second)
	errs := db.BatchGet(ctx, w.wants)
	require.NoError(t, ctx.Err(), "time is left for the answer")
	for i, err := range errs {
		if i == 17 {
			require.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("notes ", i), w.texts[i])
	}
}

func TestBatchGetTellsMissingFromUnread(t *testing.T) {
	db, inj := noteDB(t, 2, 0)
	inj.NeverProcess(func(k faultinject.Key) bool { return strings.Contains(k.Attributes, `"S":"1"`) })
	var w wanted
	w.add(NotesTable, 0, 1, 2, 3, 2)
	errs := db.BatchGet(soon(t, time.Second), w.wants)
	assert.NoError(t, errs[0])
	assert.True(t, fault.Is(errs[1], fault.Unavailable))
	for _, i := range []int{2, 3, 4} {
		assert.Equal(t, ErrMissing, errs[i])
	}
}

func TestBatchGetErrorsAreTheRowsOwn(t *testing.T) {
	db, _ := noteDB(t, 5, 0)
	var w wanted
	w.add(NotesTable, upTo(5)...)
	bad := errors.New("not a row of mine")
	w.wants[1].Decode = func(Item) error { return bad }
	w.wants[3].Decode = func(Item) error { panic("decoder") }
	w.wants[4].Key.SK = strings.Repeat("#", MaxSK+1)
	errs := db.BatchGet(t.Context(), w.wants)
	assert.NoError(t, errs[0])
	assert.Equal(t, bad, errs[1])
	assert.NoError(t, errs[2])
	assert.True(t, fault.Is(errs[3], fault.Internal), "a panic is an error, of this row: %v", errs[3])
	assert.Equal(t, ErrMissing, errs[4], "a key that no row can have")
}

func TestBatchGetRefusedOrEmpty(t *testing.T) {
	db, inj := noteDB(t, 5, 0)
	assert.Empty(t, db.BatchGet(t.Context(), nil))
	assert.Zero(t, inj.Recorder().Count())
	inj.Fail(400, "ValidationException", faultinject.Always)
	var w wanted
	w.add(NotesTable, upTo(5)...)
	for _, err := range db.BatchGet(t.Context(), w.wants) {
		assert.True(t, fault.Is(err, fault.Internal), "asking again would not mend it")
	}
	assert.Equal(t, 1, inj.Recorder().Count(), "what is wrong is not tried again")
}

func TestBatchGetEndsWithItsCaller(t *testing.T) {
	db, inj := noteDB(t, 1, 0)
	gate := inj.Hold(faultinject.Always)
	ctx, cancel := context.WithCancel(t.Context())
	var w wanted
	w.add(NotesTable, upTo(300)...)
	done := make(chan []error)
	go func() { done <- db.BatchGet(ctx, w.wants) }()
	require.NoError(t, gate.Wait(soon(t, 20*time.Second), 3))
	cancel()
	for _, err := range <-done {
		require.True(t, fault.Is(err, fault.Unavailable))
		require.ErrorIs(t, err, context.Canceled)
	}
	assert.Equal(t, 3, inj.Recorder().Count(), "nothing is sent for a caller who is gone")
}

// The engine leaves what is above 16 MB unprocessed; that is a reason to ask on, not to wait.
func TestBatchGetGoesOnAfterALargeAnswer(t *testing.T) {
	db, inj := noteDB(t, 100, 250_000)
	var pauses atomic.Int64
	db.Pause = func(ctx context.Context, idle int) bool {
		pauses.Add(1)
		return pause(ctx, idle)
	}
	var w wanted
	w.add(NotesTable, upTo(100)...)
	w.check(t, db.BatchGet(soon(t, 5*time.Minute), w.wants))
	assert.Greater(t, inj.Recorder().Count(batches), 1, "25 MB do not fit one answer")
	assert.Zero(t, pauses.Load())
	inj.LeaveUnprocessed(1, faultinject.First(1), batches)
	var again wanted
	again.add(NotesTable, 0, 1)
	again.check(t, db.BatchGet(t.Context(), again.wants))
	assert.EqualValues(t, 1, pauses.Load(), "a small answer was cut short by throttling")
}
