package project

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

// ledger counts what is imported into a warehouse.
type ledger struct {
	w        *warehouse
	counted  int
	told     []int
	recounts int
	fails    func() error
}

func counted(w *warehouse) *ledger {
	l := &ledger{w: w}
	w.count = l
	return l
}

// truth returns how many items the import brought.
func (l *ledger) truth() int {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	n := 0
	for _, row := range l.w.rows {
		if row.Import == "i" {
			n++
		}
	}
	return n
}

func (l *ledger) fail() error {
	if l.fails == nil {
		return nil
	}
	return l.fails()
}

func (l *ledger) Imported(_ context.Context, i Import, items int) error {
	require.Equal(l.w.t, TransferID{Project: importProject, ID: "i"}, i.TransferID)
	require.LessOrEqual(l.w.t, items, l.truth(), "only what is stored")
	if err := l.fail(); err != nil {
		return err
	}
	l.told = append(l.told, items)
	l.counted = max(l.counted, items)
	return nil
}

func (l *ledger) Recount(_ context.Context, p ID) error {
	require.Equal(l.w.t, importProject, p)
	if err := l.fail(); err != nil {
		return err
	}
	l.recounts++
	l.counted = l.truth()
	return nil
}

func TestWhatIsImportedIsCountedOnTheWay(t *testing.T) {
	text, _, want := mixed(JSONLines, 9_000)
	w := newWarehouse(t, JSONLines, text)
	l := counted(w)
	require.NoError(t, w.run(t.Context(), 0))
	assert.Greater(t, len(l.told), 2)
	assert.IsIncreasing(t, l.told[:len(l.told)-1])
	assert.Equal(t, len(w.rows), l.counted)
	assert.GreaterOrEqual(t, l.counted, want.Imported)
	assert.Zero(t, l.recounts)
}

func TestAnImportIsCountedWheneverItIsKilled(t *testing.T) {
	text, before, _ := mixed(JSONLines, 1_200)
	for killAt := 1; ; killAt++ {
		w := newWarehouse(t, JSONLines, text)
		w.tick = 5 * time.Millisecond
		for id, item := range before {
			w.rows[id] = item
		}
		l := counted(w)
		n := 0
		l.fails = func() error {
			if n++; n%3 == killAt%3 {
				return errors.New("the answer was lost")
			}
			return nil
		}
		tries := 0
		for w.killAt = killAt; !w.current.State.Ended(); tries++ {
			w.calls = 0
			_ = w.run(t.Context(), min(tries, triesOfFaults-1))
			w.killAt += 15 // or it would never get anywhere
		}
		require.Equal(t, Done, w.current.State)
		require.Equal(t, l.truth(), l.counted, "killed at %d", killAt)
		require.Equal(t, w.current.Imported, l.counted)
		require.Zero(t, l.recounts, "nobody has to count anew")
		if tries <= 2 && killAt > 50 {
			return
		}
	}
}

func TestACancelledImportIsCounted(t *testing.T) {
	text, before, _ := mixed(JSONLines, 9_000) // some 160 chunks
	for killAt := range 5 {                    // a 40th of the number of the call after which the server is gone; 0 for never
		for cancelAt := 1; cancelAt < 150; cancelAt += 37 {
			w := newWarehouse(t, JSONLines, text)
			for id, item := range before {
				w.rows[id] = item
			}
			l := counted(w)
			calls := 0
			w.importing = func([]Item) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				if calls++; calls == cancelAt {
					w.current, _ = w.current.Cancel(time.Now())
				}
				return nil
			}
			w.killAt = 40 * killAt
			err := w.run(t.Context(), 0)
			if w.killAt = 0; !w.current.State.Ended() { // while nobody runs it
				require.Error(t, err)
				w.current, _ = w.current.Cancel(time.Now())
			}
			for tries := 1; err != nil; tries++ {
				require.Less(t, tries, 3)
				err = w.run(t.Context(), tries)
			}
			require.Equal(t, Cancelled, w.current.State)
			require.Equal(t, l.truth(), l.counted, "killed at %d, cancelled at %d", killAt, cancelAt)
			if killAt == 0 {
				require.Zero(t, l.recounts, "the only run knows what it stored")
			}
		}
	}
}

func TestACancelledImportIsCountedAnewUntilThatSucceeds(t *testing.T) {
	w := newWarehouse(t, JSONLines, "x")
	l := counted(w)
	w.rows["a"] = Item{ExternalID: "a", Import: "i"} // by a server that was killed
	w.current, _ = w.current.Cancel(time.Now())
	l.fails = func() error { return errors.New("somebody else counts") }
	for tries := 1; tries < 3*triesOfFaults; tries++ {
		require.True(t, fault.Is(w.run(t.Context(), tries), fault.Unavailable))
		require.NotEmpty(t, w.files, "it is not over")
	}
	l.fails = nil
	require.NoError(t, w.run(t.Context(), 99))
	assert.Equal(t, []int{1, 1}, []int{l.counted, l.recounts})
	assert.Empty(t, w.files)

	for name, change := range map[string]func(w *warehouse) int{
		"that never ran":        func(w *warehouse) int { w.current.State = Cancelled; return 0 },
		"that is done":          func(w *warehouse) int { w.current.State = Done; return 1 },
		"that does not exist":   func(w *warehouse) int { w.current = Import{}; return 1 },
		"that awaited its file": func(w *warehouse) int { w.current.State = Awaiting; return 1 },
	} {
		w := newWarehouse(t, JSONLines, "x")
		l := counted(w)
		require.NoError(t, w.run(t.Context(), change(w)), name)
		assert.Zero(t, l.recounts, name)
		assert.Empty(t, l.told, name)
	}
}

func TestAnImportIsNotDoneBeforeItIsCounted(t *testing.T) {
	text, _, _ := mixed(JSONLines, 5_000)
	w := newWarehouse(t, JSONLines, text)
	w.current.Bytes = int64(len(text))
	l := counted(w)
	away := fault.New(fault.Unavailable, "away")
	l.fails = func() error { return away }
	for tries := range 3 * triesOfFaults { // much longer than an hour
		err := w.run(t.Context(), tries)
		require.True(t, fault.Is(err, fault.Unavailable), err)
		require.ErrorIs(t, err, away)
		require.Equal(t, Running, w.current.State)
		require.Equal(t, len(w.rows), w.current.Imported)
	}
	assert.Len(t, w.opened, 1, "when nothing is left but to tell, the file is not read again")
	told := false
	l.fails = func() error {
		told = true
		return nil
	}
	saves := len(w.saves)
	w.saving = func(w *warehouse) { assert.Equal(t, len(w.saves) > saves, told, "RUNNING, told, DONE") }
	require.NoError(t, w.run(t.Context(), 99))
	assert.Equal(t, Done, w.current.State)
	assert.Equal(t, len(w.rows), l.counted)
	assert.Len(t, w.opened, 1)
	assert.Empty(t, w.files)
}

func TestAnImportThatFailsIsCounted(t *testing.T) {
	t.Run("because of its file", func(t *testing.T) {
		for tries := range 2 {
			w := newWarehouse(t, JSONLines, `{"externalId":"a","name":"A"}`+strings.Repeat("\n", MaxImportLines)+`{"externalId":"b","name":"B"}`)
			l := counted(w)
			require.NoError(t, w.run(t.Context(), tries))
			assert.Equal(t, Failed, w.current.State)
			assert.Equal(t, []int{1}, l.told)
			assert.Zero(t, l.recounts, "everything that may be read was")
		}
	})
	t.Run("because of us", func(t *testing.T) {
		text, _, _ := mixed(JSONLines, 300)
		w := newWarehouse(t, JSONLines, text)
		l := counted(w)
		w.importing = func(items []Item) error {
			if items[0].Line > 150 {
				return errors.New("bug")
			}
			return nil
		}
		require.Error(t, w.run(t.Context(), triesOfFaults-1))
		l.fails = func() error { return errors.New("away") }
		for range 3 {
			require.Error(t, w.run(t.Context(), triesOfFaults))
			require.Equal(t, Running, w.current.State, "it has not failed before it is counted")
		}
		l.fails = nil
		require.NoError(t, w.run(t.Context(), triesOfFaults))
		assert.Equal(t, Failed, w.current.State)
		assert.Equal(t, l.truth(), l.counted)
		assert.Positive(t, l.counted)
		assert.Equal(t, 1, l.recounts)
	})
}

func TestAnImportThatAnotherServerEndedIsCountedByIt(t *testing.T) {
	text, _, _ := mixed(JSONLines, 9_000)
	for state, recounts := range map[TransferState]int{Done: 0, Failed: 1} {
		w := newWarehouse(t, JSONLines, text)
		l := counted(w)
		w.saving = func(w *warehouse) {
			if len(w.saves) == 2 {
				w.saving = nil
				w.current = w.current.end(state, "", time.Now())
			}
		}
		require.NoError(t, w.run(t.Context(), 1))
		assert.Equal(t, state, w.current.State)
		assert.Equal(t, recounts, l.recounts, state)
	}
}
