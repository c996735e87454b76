package project

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/task"
)

// mixed is a file of so many lines, with what it comes to: some external ids are there before, some are there twice, some
// lines are broken.
func mixed(format Format, lines int) (text string, before map[string]Item, want Progress) {
	random := rand.New(rand.NewPCG(1, 2))
	before = map[string]Item{}
	var b strings.Builder
	head := 0
	if format == CSV {
		b.WriteString("externalId,name,note\n")
		head = 1
	}
	seen := map[string]bool{}
	for i := range lines {
		id := fmt.Sprintf("id-%d", random.IntN(2*lines))
		line := i + 1 + head
		if random.IntN(20) == 0 {
			before[id] = Item{ExternalID: id, Import: "another", Line: line}
		}
		switch {
		case random.IntN(10) == 0:
			b.WriteString("{\n")
			want.Mistakes++
			continue
		case format == CSV:
			fmt.Fprintf(&b, "%s,N,\"x\"\n", id)
		default:
			fmt.Fprintf(&b, `{"externalId":%q,"name":"N"}`+"\n", id)
		}
		if seen[id] {
			want.Duplicates++
		}
		seen[id] = true
	}
	for id := range seen {
		if _, ok := before[id]; ok {
			want.Duplicates++
		} else {
			want.Imported++
		}
	}
	want.Read, want.Lines = int64(b.Len()), lines+head
	return b.String(), before, want
}

func TestAnImportCountsExactly(t *testing.T) {
	for _, format := range []Format{JSONLines, CSV} {
		t.Run(string(format), func(t *testing.T) {
			text, before, want := mixed(format, 10_000)
			w := newWarehouse(t, format, text)
			for id, item := range before {
				w.rows[id] = item
			}
			require.NoError(t, w.run(t.Context(), 0))
			assert.Equal(t, Done, w.current.State)
			assert.False(t, w.current.EndedAt.IsZero())
			assert.Len(t, w.current.Faults, MaxImportFaults)
			got := w.current.Progress
			got.Faults = nil
			assert.Equal(t, want, got)
			assert.Len(t, w.rows, len(before)+want.Imported)
			lines, err := all(t, format, text, position{})
			require.NoError(t, err)
			first := map[string]int{}
			for _, r := range lines {
				if _, again := first[r.ExternalID]; !again && r.Mistake == "" {
					first[r.ExternalID] = r.Line
				}
			}
			for id, row := range w.rows {
				if row.Import == "i" {
					assert.Equal(t, first[id], row.Line, "the first of a file counts")
				}
			}
			assert.Equal(t, chunkItems, w.largest)
			assert.LessOrEqual(t, w.most, chunkWorkers)
			assert.LessOrEqual(t, len(w.saves), 3+10_000/progressLines, "progress is not stored per chunk")
		})
	}
}

func TestProgressReachesTheEndOfTheFile(t *testing.T) {
	const header, line = "externalId,name\n", "{\"externalId\":\"a\",\"name\":\"A\"}\n"
	for reason, test := range map[string]struct {
		format   Format
		text     string
		imported int
	}{
		"empty lines at the end":           {JSONLines, line + "\n\r\n", 1},
		"empty lines only":                 {JSONLines, "\n\n", 0},
		"white space without a break":      {JSONLines, line + "  ", 1},
		"a mark in front, and nothing":     {JSONLines, "\xef\xbb\xbf", 0},
		"names of columns only":            {CSV, header, 0},
		"names of columns without a break": {CSV, "externalId,name", 0},
		"empty rows at the end":            {CSV, header + "a,A\n\n\r\n", 1},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWarehouse(t, test.format, test.text)
			require.NoError(t, w.run(t.Context(), 0))
			assert.Equal(t, Done, w.current.State)
			assert.EqualValues(t, len(test.text), w.current.Read)
			assert.Equal(t, test.imported, w.current.Imported)
			assert.Zero(t, w.current.Mistakes)
		})
	}
}

func TestAnImportCountsExactlyWheneverItIsKilled(t *testing.T) {
	for _, format := range []Format{JSONLines, CSV} {
		t.Run(string(format), func(t *testing.T) {
			text, before, want := mixed(format, 1_200)
			lines, err := all(t, format, text, position{})
			require.NoError(t, err)
			for killAt := 1; ; killAt++ {
				w := newWarehouse(t, format, text)
				w.lines, w.tick = lines, 5*time.Millisecond
				for id, item := range before {
					w.rows[id] = item
				}
				runs := 0
				for w.killAt = killAt; !w.current.State.Ended(); runs++ {
					w.calls = 0
					err := w.run(t.Context(), 0)
					require.Equal(t, w.calls >= w.killAt, err != nil, err)
					w.killAt += 15 // or it would never get anywhere
				}
				got := w.current.Progress
				got.Faults = nil
				require.Equal(t, want, got, "killed at %d", killAt)
				require.Empty(t, w.early)
				if runs == 1 {
					return // it was over before it could be killed
				}
			}
		})
	}
}

func TestProgressSaysWhatIsStored(t *testing.T) {
	text, _, _ := mixed(JSONLines, 9_000)
	w := newWarehouse(t, JSONLines, text)
	blocked := make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	others := 0
	w.importing = func(items []Item) error {
		mu.Lock()
		others++
		n := others
		mu.Unlock()
		if items[0].Line == 1 || items[0].Line == 2 { // the first chunk comes last
			<-blocked
		} else if n >= chunksAhead {
			once.Do(func() { close(blocked) })
		}
		return nil
	}
	w.saving = func(w *warehouse) {
		select {
		case <-blocked:
		default:
			assert.Empty(t, w.saves, "beyond the first chunk nothing is told before it is stored")
		}
	}
	require.NoError(t, w.run(t.Context(), 0))
	assert.Equal(t, Done, w.current.State)
	assert.Zero(t, w.saves[0].Lines)
}

func TestAnImportThatWasCancelledStops(t *testing.T) {
	text, _, want := mixed(JSONLines, 9_000)
	cancel := func(w *warehouse) {
		w.current, _ = w.current.Cancel(time.Now())
	}
	t.Run("at the next progress", func(t *testing.T) {
		w := newWarehouse(t, JSONLines, text)
		w.saving = func(w *warehouse) {
			if len(w.saves) == 2 {
				w.saving = nil
				cancel(w)
			}
		}
		require.NoError(t, w.run(t.Context(), 0))
		assert.Equal(t, Cancelled, w.current.State)
		assert.Less(t, len(w.rows), want.Imported)
	})
	t.Run("by the store of items", func(t *testing.T) {
		w := newWarehouse(t, JSONLines, text)
		var once sync.Once
		w.importing = func([]Item) error {
			once.Do(func() { w.mu.Lock(); cancel(w); w.mu.Unlock() })
			return notFound("import")
		}
		require.NoError(t, w.run(t.Context(), 0))
		assert.Equal(t, Cancelled, w.current.State)
		assert.Empty(t, w.rows)
	})
	t.Run("before it began", func(t *testing.T) {
		w := newWarehouse(t, JSONLines, text)
		cancel(w)
		require.NoError(t, w.run(t.Context(), 0))
		assert.Empty(t, w.rows)
		assert.Empty(t, w.opened)
		w.current = Import{}
		require.NoError(t, w.run(t.Context(), 0), "one that does not exist is done")
	})
}

func TestAnImportThatAnotherServerTookIsLeftToIt(t *testing.T) {
	text, _, _ := mixed(JSONLines, 9_000)
	w := newWarehouse(t, JSONLines, text)
	w.saving = func(w *warehouse) {
		if len(w.saves) == 2 {
			w.current.Version++
		}
	}
	err := w.run(t.Context(), 0)
	require.True(t, fault.Is(err, fault.Unavailable), err)
	assert.Equal(t, Running, w.current.State)
}

func TestAFileThatCannotBeReadFailsTheImport(t *testing.T) {
	for text, want := range map[string]string{
		"PK\x03\x04\x00":  "the file is not text in UTF-8",
		"id,title\n1,A\n": "the first line must name the columns, separated by commas; externalId and name must be among them",
	} {
		w := newWarehouse(t, CSV, text)
		require.NoError(t, w.run(t.Context(), 0))
		assert.Equal(t, Failed, w.current.State)
		assert.Equal(t, want, w.current.Message)
	}
	w := newWarehouse(t, CSV, "")
	w.files = nil
	require.NoError(t, w.run(t.Context(), 0))
	assert.Equal(t, Failed, w.current.State)
	assert.Equal(t, "there is no such file", w.current.Message)
}

func TestAFileWithTooManyLinesIsImportedAsFarAsAllowed(t *testing.T) {
	w := newWarehouse(t, JSONLines, strings.Repeat("\n", MaxImportLines-1)+"{\"externalId\":\"a\",\"name\":\"A\"}\n{\"externalId\":\"b\",\"name\":\"B\"}\n")
	require.NoError(t, w.run(t.Context(), 0))
	assert.Equal(t, Failed, w.current.State)
	assert.Equal(t, "the file has more than 1000000 lines; those were imported", w.current.Message)
	assert.Equal(t, 1, w.current.Imported)
	assert.Len(t, w.rows, 1)
}

func TestMistakesAreReportedByLine(t *testing.T) {
	w := newWarehouse(t, JSONLines, `{"externalId":"a","name":"A"}
{"externalId":"","name":"A"}
{
{"externalId":"b","name":"A","url":"ftp://x"}
{"externalId":"c","name":"C"}`)
	require.NoError(t, w.run(t.Context(), 0))
	assert.Equal(t, Done, w.current.State)
	assert.Equal(t, 2, w.current.Imported)
	assert.Equal(t, 3, w.current.Mistakes)
	require.Len(t, w.current.Faults, 3)
	assert.Equal(t, []int{2, 3, 4}, []int{w.current.Faults[0].Line, w.current.Faults[1].Line, w.current.Faults[2].Line})
	assert.Contains(t, w.current.Faults[0].Message, "externalId: ")
	assert.Contains(t, w.current.Faults[2].Message, "url: ")
	assert.Equal(t, 5, w.rows["c"].Line)
}

func TestErrorsAreTriedAgainUntilTheyAreHopeless(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		tries int
		state TransferState
	}{
		"a store that is away":   {fault.New(fault.Unavailable, "away"), 100, Running},
		"a bug":                  {errors.New("bug"), 1, Running},
		"a bug again and again":  {errors.New("bug"), triesOfFaults, Failed},
		"a panic":                {nil, 1, Running},
		"a panic over and again": {nil, triesOfFaults, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWarehouse(t, JSONLines, `{"externalId":"a","name":"A"}`)
			w.importing = func([]Item) error {
				if c.err == nil {
					panic("ouch")
				}
				return c.err
			}
			err := w.run(t.Context(), c.tries)
			assert.Equal(t, c.state, w.current.State)
			assert.Equal(t, c.state == Running, err != nil, err)
			if c.err != nil && err != nil {
				assert.ErrorIs(t, err, c.err)
			}
		})
	}
}

func TestAnImportEndsWithItsContext(t *testing.T) {
	text, _, _ := mixed(JSONLines, 9_000)
	w := newWarehouse(t, JSONLines, text)
	ctx, cancel := context.WithCancel(t.Context())
	w.importing = func([]Item) error { cancel(); return ctx.Err() }
	require.ErrorIs(t, w.run(ctx, 100), context.Canceled)
	assert.Equal(t, Running, w.current.State)
	assert.Zero(t, w.running, "nothing outlives the run")
}

func TestALimitIsMetSoOftenOnly(t *testing.T) {
	for tries, failed := range map[int]bool{1: false, triesOfFaults: true} {
		full := fault.New(fault.Exhausted, "full")
		assert.Equal(t, failed, failureOf(t.Context(), task.Task{Tries: tries}, full) == "full")
	}
}

func TestLinesThatTheStoreRefusesTakeNoOthersWithThem(t *testing.T) {
	text, _, want := mixed(JSONLines, 300)
	for name, refused := range map[string]error{
		"a value": fault.New(fault.Invalid, "odd"), "the size": fault.New(fault.Exhausted, "large"), "the store knows why": fault.New(fault.Internal, "secret"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWarehouse(t, JSONLines, text)
			w.importing = func(items []Item) error {
				for _, item := range items {
					if item.Line == 41 {
						return refused
					}
				}
				return nil
			}
			require.NoError(t, w.run(t.Context(), 0))
			assert.Equal(t, Done, w.current.State)
			assert.Len(t, w.rows, w.current.Imported)
			assert.Equal(t, want.Mistakes+1, w.current.Mistakes)
			assert.Equal(t, 300, w.current.Imported+w.current.Duplicates+w.current.Mistakes)
			at := slices.IndexFunc(w.current.Faults, func(f LineFault) bool { return f.Line == 41 })
			require.GreaterOrEqual(t, at, 0)
			assert.NotContains(t, w.current.Faults[at].Message, "secret")
			assert.True(t, slices.IsSortedFunc(w.current.Faults, func(a, b LineFault) int { return a.Line - b.Line }))
		})
	}
	t.Run("all of them", func(t *testing.T) {
		w := newWarehouse(t, JSONLines, text)
		w.importing = func([]Item) error { return fault.New(fault.Internal, "no such table") }
		require.Error(t, w.run(t.Context(), 0), "it may be the store: it is tried again")
		assert.Equal(t, Running, w.current.State)
		require.NoError(t, w.run(t.Context(), triesOfFaults))
		assert.Equal(t, Done, w.current.State)
		assert.Equal(t, 300, w.current.Mistakes+w.current.Duplicates)
	})
}

func TestAnImportThatNobodyStartsEnds(t *testing.T) {
	const end = "i" + endOf
	run := func(w *warehouse, id string, now time.Time) time.Time {
		t.Helper()
		again, err := Importer{Store: w, Files: w, Now: func() time.Time { return now }}.Run(t.Context(), task.Task{Kind: RunImport, ID: id, Scope: string(importProject)})
		require.NoError(t, err)
		return again
	}
	w := newWarehouse(t, JSONLines, "x")
	w.current.State = Awaiting
	until := w.current.CreatedAt.Add(UploadTime)
	assert.Equal(t, until, run(w, end, until.Add(-time.Second)))
	assert.Zero(t, run(w, "i", until.Add(-time.Second)))
	assert.Equal(t, Awaiting, w.current.State)
	assert.NotEmpty(t, w.files)
	last := until.Add(UploadTime) // what was begun in time may take as long
	assert.Equal(t, last, run(w, end, until))
	assert.Equal(t, []any{Failed, "nothing was uploaded in time", until}, []any{w.current.State, w.current.Message, w.current.EndedAt})
	assert.Empty(t, w.files)
	assert.True(t, w.occupied, "so that nothing can be put there once more")

	for _, state := range []TransferState{Queued, Running} { // somebody runs it, for however long
		w := newWarehouse(t, JSONLines, "x")
		w.current.State = state
		assert.Equal(t, last, run(w, end, until.Add(time.Hour)), "and what it leaves is removed")
		assert.Zero(t, run(w, end, last))
		assert.Equal(t, state, w.current.State)
		assert.NotEmpty(t, w.files)
	}
	for _, id := range []string{"i", end} { // its address may have been used since
		w := newWarehouse(t, JSONLines, "x")
		w.current.State = Cancelled
		again := run(w, id, until)
		assert.Equal(t, id == end, again.Equal(last), "%v", again)
		assert.Empty(t, w.files)
		assert.True(t, w.occupied)
		w.files[ImportKey(w.current.TransferID)], w.occupied = "late", false
		assert.Zero(t, run(w, id, last))
		assert.Empty(t, w.files)
		assert.False(t, w.occupied)
	}
}

func TestTheFileOfAnImportThatIsOverIsRemoved(t *testing.T) {
	w := newWarehouse(t, JSONLines, `{"externalId":"a","name":"A"}`)
	require.NoError(t, w.run(t.Context(), 0))
	assert.Equal(t, Done, w.current.State)
	assert.Empty(t, w.files)

	w = newWarehouse(t, JSONLines, `{"externalId":"a","name":"A"}`)
	w.importing = func([]Item) error { return fault.New(fault.Unavailable, "away") }
	require.Error(t, w.run(t.Context(), 0))
	assert.NotEmpty(t, w.files, "it is needed still")
}
