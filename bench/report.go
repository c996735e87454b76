package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// report prints what was measured.
type report struct {
	to      io.Writer
	options options
	measured
}

// begin prints what does not depend on a question.
func (r *report) begin(ctx context.Context, c *contestants) error {
	fmt.Fprintf(r.to, "%s %s/%s, %d CPUs. One core for the server under test, %s for each DynamoDB call, %d connections, %s for each line.\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), r.options.delay, r.options.connections, r.options.measure)
	for _, q := range questions {
		fmt.Fprintf(r.to, "%s: %s\n", q.name, q.title)
	}
	if !peerInstalled() {
		fmt.Fprintf(r.to, "No row for %s: its packages are not installed (npm ci in %s).\n", nameMercurius, peers)
	}
	fmt.Fprint(r.to, "Resident memory at rest:")
	if err := wait(ctx, time.Second); err != nil { // for what starting has left to do
		return err
	}
	for _, p := range c.all {
		resident, err := p.resident()
		if err != nil {
			return err
		}
		fmt.Fprintf(r.to, " %s %s MB.", p.label(), megabytes(resident))
	}
	fmt.Fprintf(r.to, "\n\n%-3s %-2s %-12s %4s %9s %10s %8s %8s %6s %6s %9s %9s %7s %6s %6s %12s\n", "run", "", "", "GOGC",
		"CPU ms", "req/s/core", "p50 ms", "p99 ms", "calls", "conns", "allocs", "KB", "RSS MB", "busy", "ratio", "equal GOGC")
	return nil
}

// label names a server and its setting.
func (p *process) label() string {
	if p.gogc == "" {
		return p.name
	}
	return p.name + " (GOGC " + p.gogc + ")"
}

// add prints one question of one run, and keeps it.
func (r *report) add(run int, q question, servers []*process, results []result, where shares) {
	all := r.measured.add(q, servers, results, where)
	for i, p := range servers {
		x := results[i]
		n := float64(x.requests)
		allocations, kilobytes := fmt.Sprintf("%.0f", x.allocated.objects/n), fmt.Sprintf("%.0f", x.allocated.bytes/n/1000)
		gogc := cmp.Or(p.gogc, "100")
		if p.foreign {
			allocations, kilobytes, gogc = "", "", ""
		}
		fmt.Fprintf(r.to, "%-3d %-2s %-12s %4s %9.3f %10.0f %8.1f %8.1f %6.2f %6d %9s %9s %7s %5.0f%% %6s %12s\n", run, q.name, p.name, gogc,
			milliseconds(x.cpu)/n, n/x.cpu.Seconds(), milliseconds(x.percentile(50)), milliseconds(x.percentile(99)), float64(x.calls)/n, x.connections,
			allocations, kilobytes, megabytes(x.residentUnder), 100*x.cpu.Seconds()/x.took.Seconds(), shown(all[i].shipped), shown(all[i].equal))
	}
}

// shown is a ratio, or nothing.
func shown(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", ratio)
}

// end prints the medians, whether they meet the target, and how they differ from a baseline.
func (r *report) end() error {
	now := r.baseline()
	fmt.Fprintln(r.to, "\nMedians of the CPU per request, relative to the hand-written handler:")
	for _, q := range questions {
		s, verdict := now[q.name], "met"
		if s.Equal > q.most {
			verdict = "missed"
		}
		fmt.Fprintf(r.to, "%s: as shipped %.2f, equal GOGC %.2f (target, at most %.2f: %s); floor %.2f", q.name, s.Ratio, s.Equal, q.most, verdict, s.Floor)
		if s.Peer > 0 {
			fmt.Fprintf(r.to, "; %s needs %.1f times as much", nameMercurius, s.Peer)
		}
		fmt.Fprintln(r.to)
	}
	r.rooms()
	if r.options.baseline != "" {
		before, err := readBaseline(r.options.baseline)
		if err != nil {
			return err
		}
		now.compareWith(r.to, before)
	}
	if r.options.writeBaseline != "" {
		return now.write(r.options.writeBaseline)
	}
	return nil
}

// rooms prints where Taggie's CPU goes.
func (r *report) rooms() {
	if r.options.profile <= 0 {
		return
	}
	fmt.Fprintf(r.to, "\nPercent of Taggie's CPU by room:\n  ")
	for _, room := range rooms {
		fmt.Fprintf(r.to, " %9s", room)
	}
	fmt.Fprintln(r.to)
	for _, q := range questions {
		var line strings.Builder
		for _, room := range rooms {
			fmt.Fprintf(&line, " %9.1f", 100*r.questions[q.name].where.of(room))
		}
		fmt.Fprintf(r.to, "%s%s\n", q.name, line.String())
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/1e6) }
