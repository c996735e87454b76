package dynamo

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/faultinject"
)

// Sixty batches at once, each far below its own bound, do not get around the bound of the process.
func TestCallsInFlightAreBounded(t *testing.T) {
	db, inj := noteDB(t, 5, 0)
	db.connect(Options{Client: db.Client, MaxInFlight: 4})
	gate := inj.Hold(faultinject.First(4))
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			var w wanted
			w.add(NotesTable, i%5)
			for _, err := range db.BatchGet(t.Context(), w.wants) {
				assert.NoError(t, err)
			}
		})
	}
	require.NoError(t, gate.Wait(soon(t, 20*time.Second), 4))
	// All places are taken: who waits for one gives up in time.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := db.Get(ctx, NotesTable, Key{"p", "1"}, func(Item) error { return nil })
	assert.True(t, fault.Is(err, fault.Unavailable), "got %v", err)
	gate.Open()
	group.Wait()
	assert.Equal(t, 60, inj.Recorder().Count(), "the call that gave up was never made")
	assert.Equal(t, 4, inj.Recorder().MaxConcurrent())
}

func TestADBHasABoundByItself(t *testing.T) {
	t.Parallel()
	db, inj := openDB(t, nil)
	gate := inj.Hold(faultinject.Always)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range 300 {
		group.Go(func() { _, _ = db.Get(ctx, NotesTable, Key{"p", fmt.Sprint(i)}, func(Item) error { return nil }) })
	}
	require.NoError(t, gate.Wait(soon(t, 20*time.Second), 256))
	tooMany, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	assert.Error(t, gate.Wait(tooMany, 257))
	cancel()
	gate.Open()
	group.Wait()
}
