package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"
)

// target is what Taggie may need of the hand-written handler's CPU.
const target = 1.3

// report prints what was measured.
type report struct {
	to      io.Writer
	options options
	missed  int
	ratios  map[string][]float64
}

// begin prints what does not depend on a question.
func (r *report) begin(ctx context.Context, servers [2]*process) error {
	r.ratios = map[string][]float64{}
	fmt.Fprintf(r.to, "%s %s/%s, %d CPUs. One core for the server under test, %s for each DynamoDB call, %d connections, %s for each line.\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.options.delay, r.options.connections, r.options.measure)
	for _, q := range questions {
		fmt.Fprintf(r.to, "%s: %s\n", q.name, q.title)
	}
	fmt.Fprint(r.to, "Resident memory at rest:")
	if err := wait(ctx, time.Second); err != nil { // for what starting has left to do
		return err
	}
	for _, p := range servers {
		resident, err := p.resident()
		if err != nil {
			return err
		}
		fmt.Fprintf(r.to, " %s %s MB.", p.name, megabytes(resident))
	}
	fmt.Fprintf(r.to, "\n\n%-3s %-2s %-12s %9s %10s %8s %8s %6s %6s %9s %9s %7s %6s %6s\n", "run", "", "",
		"CPU ms", "req/s/core", "p50 ms", "p99 ms", "calls", "conns", "allocs", "KB", "RSS MB", "busy", "ratio")
	return nil
}

// add prints one question of one run.
func (r *report) add(run int, q question, results [2]result) {
	ratio := float64(results[0].cpuPerRequest()) / float64(results[1].cpuPerRequest())
	r.ratios[q.name] = append(r.ratios[q.name], ratio)
	for i, name := range []string{"Taggie", "hand-written"} {
		x := results[i]
		n := float64(x.requests)
		shown := ""
		if i == 0 {
			shown = fmt.Sprintf("%.2f", ratio)
		}
		fmt.Fprintf(r.to, "%-3d %-2s %-12s %9.3f %10.0f %8.1f %8.1f %6.2f %6d %9.0f %9.0f %7s %5.0f%% %6s\n", run, q.name, name,
			milliseconds(x.cpu)/n, n/x.cpu.Seconds(), milliseconds(x.percentile(50)), milliseconds(x.percentile(99)), float64(x.calls)/n, x.connections,
			x.allocated.objects/n, x.allocated.bytes/n/1000, megabytes(x.residentUnder), 100*x.cpu.Seconds()/x.took.Seconds(), shown)
	}
	if ratio > target {
		r.missed++
	}
}

// end prints whether the target was met.
func (r *report) end() error {
	fmt.Fprintln(r.to)
	for _, q := range questions {
		fmt.Fprintf(r.to, "%s: CPU per request, Taggie / hand-written:", q.name)
		for _, ratio := range r.ratios[q.name] {
			fmt.Fprintf(r.to, " %.2f", ratio)
		}
		fmt.Fprintln(r.to)
	}
	verdict := "met in every run"
	if r.missed > 0 {
		verdict = fmt.Sprintf("missed %d times", r.missed)
	}
	_, err := fmt.Fprintf(r.to, "Target, at most %.1f: %s.\n", target, verdict)
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/1e6) }
