//go:build unix

package labelling_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/viewer"
)

// BenchmarkHub tells events to 5,000 subscribers of one project. It says how long it takes from an event to the last of them, what
// each costs in memory and processor time, and how often the truth is read.
func BenchmarkHub(b *testing.B) {
	const subscribers = 5000
	s := newStudio(b)
	defer s.hub.Close()
	s.truth.items["i"] = project.Item{ItemID: project.ItemID{Project: s.p, ID: "i"}}
	hub := s.server(func(ctx context.Context, p project.ID, events []labelling.Event) []string {
		_, _, _ = s.truth.ItemsByID(ctx, "", []project.ItemID{{Project: p, ID: "i"}})
		return make([]string, len(events))
	})
	defer hub.Close()
	ctx, cancel := context.WithCancel(viewer.With(b.Context(), viewer.Viewer{UserID: ada}))
	defer cancel()
	before := memory()
	channels := make([]<-chan labelling.Told[string], subscribers)
	for i := range channels {
		c, err := hub.Listen(ctx, labelling.Listen{Project: s.p})
		require.NoError(b, err)
		<-c
		channels[i] = c
	}
	each := float64(memory()-before) / subscribers

	var arrived atomic.Int64
	last := make(chan struct{})
	var receiving sync.WaitGroup
	for _, c := range channels {
		receiving.Go(func() {
			for range c {
				if arrived.Add(1)%subscribers == 0 {
					last <- struct{}{}
				}
			}
		})
	}
	reads, cpu := s.truth.calls["ItemsByID"]+s.truth.calls["ProjectsByID"], processor()
	var longest time.Duration
	b.ResetTimer()
	for b.Loop() {
		began := time.Now()
		s.tape.note(labelling.Event{Item: "i"})
		<-last
		longest = max(longest, time.Since(began))
	}
	b.StopTimer()
	s.truth.mu.Lock()
	reads = s.truth.calls["ItemsByID"] + s.truth.calls["ProjectsByID"] - reads
	s.truth.mu.Unlock()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms-to-last")
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms-to-last-max")
	b.ReportMetric(each, "B/subscriber")
	b.ReportMetric(float64(reads)/float64(b.N), "reads/event")
	b.ReportMetric(float64((processor()-cpu).Microseconds())/1000/float64(b.N), "cpu-ms/event")
	cancel()
	receiving.Wait()
}

// memory returns what is in use on the heap and on stacks.
func memory() int64 {
	for range 3 { // stacks shrink, too
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// processor returns the time that the process has used.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
