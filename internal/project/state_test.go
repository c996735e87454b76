package project

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWhereImportsGo(t *testing.T) {
	at := morning.Add(time.Second)
	p := Progress{Read: 10, Lines: 2, Imported: 1, Mistakes: 1}
	steps := map[string]func(Import) (Import, bool){
		"start":   Import.Start,
		"advance": func(i Import) (Import, bool) { return i.Advance(p) },
		"finish":  func(i Import) (Import, bool) { return i.Finish(at) },
		"fail":    func(i Import) (Import, bool) { return i.Fail("why", at) },
		"cancel":  func(i Import) (Import, bool) { return i.Cancel(at) },
	}
	want := map[TransferState]map[string]TransferState{ // what is missing leaves the import as it is
		Awaiting:  {"start": Queued, "cancel": Cancelled},
		Queued:    {"advance": Running, "finish": Done, "fail": Failed, "cancel": Cancelled},
		Running:   {"advance": Running, "finish": Done, "fail": Failed, "cancel": Cancelled},
		Done:      {},
		Failed:    {},
		Cancelled: {},
	}
	for state, ways := range want {
		for name, step := range steps {
			before := Import{State: state, Version: 4}
			after, ok := step(before)
			to, may := ways[name]
			assert.Equal(t, may, ok, "%s %s", name, state)
			if !may {
				assert.Equal(t, before, after, "%s %s", name, state)
				continue
			}
			assert.Equal(t, to, after.State, "%s %s", name, state)
			assert.Equal(t, 5, after.Version, "%s %s", name, state)
			assert.Equal(t, to.Ended(), after.EndedAt.Equal(at), "%s %s", name, state)
			assert.Equal(t, to == Failed, after.Message == "why", "%s %s", name, state)
			if name == "advance" {
				assert.Equal(t, p, after.Progress)
			}
		}
	}
}

func TestProgressNeverGoesBack(t *testing.T) {
	i := Import{State: Running, Progress: Progress{Read: 10, Lines: 2}}
	for _, p := range []Progress{{Read: 9, Lines: 2}, {Read: 10, Lines: 1}} {
		_, ok := i.Advance(p)
		assert.False(t, ok)
	}
	after, ok := i.Advance(Progress{Read: 10, Lines: 2, Faults: make([]LineFault, MaxImportFaults+1)})
	assert.True(t, ok)
	assert.Len(t, after.Faults, MaxImportFaults, "and its faults are bounded")
}

func TestWhereExportsGo(t *testing.T) {
	for _, state := range []TransferState{Queued, Running} {
		e, ok := Export{State: state, Items: 3}.Advance(5)
		assert.True(t, ok)
		assert.Equal(t, Export{State: Running, Items: 5, Version: 1}, e)
		_, ok = e.Advance(4)
		assert.False(t, ok, "it never goes back")
		done, ok := e.Finish(6, 100, morning)
		assert.True(t, ok)
		assert.Equal(t, Export{State: Done, Items: 6, Bytes: 100, EndedAt: morning, Version: 2}, done)
		failed, ok := e.Fail("why", morning)
		assert.True(t, ok)
		assert.Equal(t, Export{State: Failed, Message: "why", Items: 5, EndedAt: morning, Version: 2}, failed)
	}
	for _, state := range []TransferState{Done, Failed, Cancelled} {
		e := Export{State: state}
		_, advanced := e.Advance(1)
		_, finished := e.Finish(1, 1, morning)
		_, failed := e.Fail("why", morning)
		assert.False(t, advanced || finished || failed, state)
	}
}

func TestRoles(t *testing.T) {
	types := []TeamType{Taggie, Reviewer, Manager}
	for i, is := range types {
		for n, need := range types {
			assert.Equal(t, i >= n, is.May(need), "%s may what a %s may", is, need)
		}
		assert.False(t, TeamType("").May(is))
		assert.False(t, TeamType("boss").May(is))
	}
}
