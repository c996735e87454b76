package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// siegeReport prints what a normal client notices of hostile ones.
type siegeReport struct{ to io.Writer }

func (r siegeReport) begin(o options) {
	fmt.Fprintf(r.to, "\nA normal client asks twenty times a second, alone and beside %d hostile connections of %d users, which send as fast as they can.\n", o.hostile, o.hostileUsers)
	fmt.Fprintf(r.to, "The server has one core; the clients, the engines and this program have the others.\n\n")
	fmt.Fprintf(r.to, "%-26s %16s %16s %7s %7s %6s %8s  %s\n", "", "alone (ms)", "beside (ms)", "ratio", "ratio", "core", "memory", "hostile requests per second, by status")
	fmt.Fprintf(r.to, "%-26s %8s %7s %8s %7s %7s %7s %6s %8s\n", "hostile", "p50", "p99", "p50", "p99", "p50", "p99", "%", "MB")
}

func (r siegeReport) add(name string, alone, beside seen) {
	var statuses []string
	for _, status := range slices.Sorted(maps.Keys(beside.statuses)) {
		statuses = append(statuses, fmt.Sprintf("%d: %.0f", status, float64(beside.statuses[status])/beside.seconds))
	}
	before, then := percentile(alone.latencies, 50), percentile(beside.latencies, 50)
	late, later := percentile(alone.latencies, 99), percentile(beside.latencies, 99)
	fmt.Fprintf(r.to, "%-26s %8.1f %7.1f %8.1f %7.1f %7.2f %7.2f %6.0f %8s  %s\n", name, before, late, then, later, then/before, later/late,
		100*beside.cpu, megabytes(beside.resident), strings.Join(statuses, ", "))
}
