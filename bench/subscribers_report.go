package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// crowdReport prints what was measured of subscribers.
type crowdReport struct{ to io.Writer }

func (r crowdReport) begin(o options) {
	fmt.Fprintf(r.to, "\nSubscribers of one project on one server, each on a WebSocket of its own, %d events one after the other (an item is claimed, and released).\n", events)
	fmt.Fprintf(r.to, "The server has one core; those who listen, the engines and this program have the others.\n\n")
	fmt.Fprintf(r.to, "%11s %10s %22s %22s %14s %12s %12s\n", "subscribers", "all ready", "last one has it (ms)", "request answered (ms)", "KB/subscriber", "CPU ms/event", "reads/event")
	fmt.Fprintf(r.to, "%11s %10s %22s %22s\n", "", "s", "p50        p99", "p50        p99")
}

func (r crowdReport) add(t told) {
	fmt.Fprintf(r.to, "%11d %10.1f %10.1f %11.1f %10.1f %11.1f %14.1f %12.1f %12.1f\n", t.subscribers, t.connect.Seconds(),
		percentile(t.last, 50), percentile(t.last, 99), percentile(t.answered, 50), percentile(t.answered, 99),
		float64(t.memory)/float64(t.subscribers)/1000, t.cpu.Seconds()*1000/events, t.reads/events)
}

func (r crowdReport) rushed(n int, up []time.Duration, refused map[string]int) {
	fmt.Fprintf(r.to, "\n%d that begin within %s, each on a new socket: %d have their snapshot", n, rushed, len(up))
	if len(up) > 0 {
		fmt.Fprintf(r.to, ", %.1f s (p50), %.1f s (p99) after the first one began, the last one after %.1f s", percentile(up, 50)/1000, percentile(up, 99)/1000, slices.Max(up).Seconds())
	}
	fmt.Fprintf(r.to, ".\n")
	for why, many := range refused {
		fmt.Fprintf(r.to, "  %d did not come up: %s\n", many, why)
	}
}

func (r crowdReport) stalled(memory int64, read int, gap bool) {
	fmt.Fprintf(r.to, "\nOne that does not read while %d events happen: the process has %.1f MB more at most; then it reads %d messages until %s.\n",
		stalled, float64(memory)/1e6, read, end(gap))
}

func (r crowdReport) resumed(read int, gap bool) {
	fmt.Fprintf(r.to, "It connects again with its last cursor, and reads %d messages until %s.\n", read, end(gap))
}

func end(gap bool) string {
	if gap {
		return "it is told of a gap"
	}
	return "the socket is closed, or nothing more comes"
}

// percentile returns one in milliseconds.
func percentile(all []time.Duration, percent int) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)].Seconds() * 1000
}
