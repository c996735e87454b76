package project

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
)

const importProject = ID("0d4b8f0e-6f0a-4d3c-9a58-0c1d2e3f4a5b")

var errKilled = errors.New("killed")

// warehouse is a store of imports and their items that can be killed. TestTheStoreOfTheTestsOfImportsKeepsTheContract holds it to the contract.
type warehouse struct {
	t         require.TestingT
	mu        sync.Mutex
	current   Import
	rows      map[string]Item // by external id
	saves     []Import
	calls     int
	killAt    int // the number of the call that is the last one; half of it is done, or all, and nobody learns of it
	largest   int
	running   int
	most      int
	saving    func(w *warehouse) // before the import is stored
	importing func([]Item) error // before items are
	lines     []record           // of the file
	checked   int                // of them, that are stored when progress says so
	early     []int              // those that were not
	files     map[string]string  // by key
	occupied  bool               // an empty file is where the client put its own
	tick      time.Duration      // passes whenever the clock is read
	opened    []int64            // offsets
	count     Counting
	originals Originals
}

func (w *warehouse) call() (last bool, err error) {
	w.calls++
	if w.killAt > 0 && w.calls > w.killAt {
		return false, errKilled
	}
	return w.calls == w.killAt, nil
}

func (w *warehouse) ImportsByID(context.Context, []TransferID) ([]Import, []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killAt > 0 && w.calls >= w.killAt {
		return []Import{{}}, []error{errKilled}
	}
	if w.current.ID == "" {
		return []Import{{}}, []error{notFound("import")}
	}
	return []Import{w.current}, []error{nil}
}

func (w *warehouse) PutImport(_ context.Context, _ UserID, before *Import, after Import, _ []task.Task, _ idempotency.Key) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.saving != nil {
		w.saving(w)
	}
	last, err := w.call()
	if err != nil {
		return err
	}
	if before.Version != w.current.Version || after.Version != before.Version+1 {
		return &TransferConflict{}
	}
	if last && w.calls%2 == 0 {
		return errKilled
	}
	require.GreaterOrEqual(w.t, after.Read, before.Read)
	require.LessOrEqual(w.t, len(after.Faults), MaxImportFaults)
	for w.checked < len(w.lines) && w.lines[w.checked].End.Bytes <= after.Read {
		r := w.lines[w.checked]
		if _, ok := w.rows[r.ExternalID]; !ok && r.Mistake == "" {
			w.early = append(w.early, r.Line)
		}
		w.checked++
	}
	w.current = after
	w.saves = append(w.saves, after)
	if last {
		return errKilled
	}
	return nil
}

func (w *warehouse) ImportItems(_ context.Context, items []Item) (int, []Item, error) {
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	w.largest = max(w.largest, len(items))
	importing := w.importing
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.running--
		w.mu.Unlock()
	}()
	if importing != nil {
		if err := importing(items); err != nil {
			return 0, nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last, err := w.call()
	if err != nil {
		return 0, nil, err
	}
	if last && w.calls%2 == 0 {
		items = items[:len(items)/2]
	}
	created := 0
	var there []Item
	seen := map[string]bool{}
	for _, item := range items {
		require.False(w.t, seen[item.ExternalID], "a chunk holds an item once")
		seen[item.ExternalID] = true
		row, ok := w.rows[item.ExternalID]
		switch {
		case !ok:
			w.rows[item.ExternalID] = item
			created++
		case row.Import == item.Import && row.Line == item.Line:
			created++
		default:
			there = append(there, item)
		}
	}
	if last {
		return 0, nil, errKilled
	}
	return created, there, nil
}

func (w *warehouse) Open(_ context.Context, key string, offset int64) (io.ReadCloser, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, ok := w.files[key]
	if !ok {
		return nil, notFound("file")
	}
	w.opened = append(w.opened, offset)
	return io.NopCloser(strings.NewReader(text[offset:])), nil
}

func (w *warehouse) Delete(_ context.Context, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.files, key)
	return nil
}

func (w *warehouse) Upload(_ context.Context, key, _ string, write func(io.Writer) error) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key == ImportKey(w.current.TransferID) { // an empty file in place of the client's
		delete(w.files, key)
		w.occupied = true
		return 0, write(io.Discard)
	}
	last, err := w.call()
	if err != nil {
		return 0, err
	}
	var text strings.Builder
	if err := write(&text); err != nil {
		return 0, err
	}
	if !last || w.calls%2 == 1 {
		w.files[key] = text.String()
	}
	if last {
		return 0, errKilled
	}
	return int64(text.Len()), nil
}

func newWarehouse(t require.TestingT, format Format, text string) *warehouse {
	w := &warehouse{t: t, rows: map[string]Item{}, current: Import{TransferID: TransferID{Project: importProject, ID: "i"}, Format: format, State: Queued, Version: 1,
		CreatedAt: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}}
	w.tick = 10 * time.Microsecond
	w.files = map[string]string{ImportKey(w.current.TransferID): text}
	return w
}

// run runs the import once.
func (w *warehouse) run(ctx context.Context, tries int) error {
	var mu sync.Mutex
	now := time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC)
	again, err := Importer{Store: w, Files: w, Count: w.count, Originals: w.originals, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(w.tick)
		return now
	}}.Run(ctx, task.Task{Kind: RunImport, ID: "i", Scope: string(importProject), Tries: tries})
	require.True(w.t, again.IsZero())
	return err
}
