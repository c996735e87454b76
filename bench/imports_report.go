package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// importTarget is the least that an import may reach of the speed of the bare loop.
const importTarget = 0.8

// importReport prints what was measured of imports.
type importReport struct {
	to      io.Writer
	options options
	ratios  []float64
}

// begin prints what all runs have in common.
func (r *importReport) begin(bytes int64) {
	kept := "on disk, as make run has it"
	if r.options.inMemory {
		kept = "in memory"
	}
	fmt.Fprintf(r.to, "\nImport of %d items, JSON Lines of %d bytes each, into the embedded engine, which keeps its tables %s.\n",
		r.options.items, bytes/int64(r.options.items), kept)
	fmt.Fprintf(r.to, "The loop writes the same %d rows by BatchWriteItem, %d rows in a call, %d calls at a time.\n\n", rowsPerItem*r.options.items, batchRows, loopWorkers)
	fmt.Fprintf(r.to, "%-3s %-6s %8s %8s %8s %10s %8s %6s  %s\n", "run", "", "s", "items/s", "CPU s", "engine's", "heap MB", "ratio", "calls")
}

// add prints one run.
func (r *importReport) add(run int, results [2]written) {
	ratio := results[1].took.Seconds() / results[0].took.Seconds()
	r.ratios = append(r.ratios, ratio)
	for i, name := range []string{"import", "loop"} {
		x := results[i]
		heap, shown := "", ""
		if i == 0 {
			heap, shown = megabytes(int64(x.heap)), fmt.Sprintf("%.2f", ratio)
		}
		fmt.Fprintf(r.to, "%-3d %-6s %8.1f %8.0f %8.1f %10.1f %8s %6s  %s\n", run, name,
			x.took.Seconds(), float64(r.options.items)/x.took.Seconds(), x.cpu.Seconds(), x.engine.Seconds(), heap, shown, x.operations())
	}
}

// end prints whether the target was met.
func (r *importReport) end() error {
	fmt.Fprint(r.to, "\nItems per second, import / loop:")
	verdict := "met in every run"
	missed := 0
	for _, ratio := range r.ratios {
		fmt.Fprintf(r.to, " %.2f", ratio)
		if ratio < importTarget {
			missed++
		}
	}
	if missed > 0 {
		verdict = fmt.Sprintf("missed %d times", missed)
	}
	_, err := fmt.Fprintf(r.to, "\nTarget, at least %.1f: %s.\n", importTarget, verdict)
	return err
}

// operations lists the calls by operation.
func (w written) operations() string {
	var list []string
	for _, operation := range slices.Sorted(maps.Keys(w.calls)) {
		list = append(list, fmt.Sprintf("%d %s", w.calls[operation], operation))
	}
	return strings.Join(list, ", ")
}
