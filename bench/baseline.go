package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// baseline is what a run of the benchmark has measured of each question, by its name.
type baseline map[string]standing

// standing is what Taggie needs for a question: the medians of all runs. Everything is relative to the CPU of the hand-written
// handler in the same run, so that it can be compared with what another machine measures.
type standing struct {
	Ratio float64 `json:"ratio"`          // both as they are shipped
	Equal float64 `json:"ratioEqualGOGC"` // both with the same setting of the garbage collector
	Floor float64 `json:"floor"`          // what the floor needs, with the same setting
	Peer  float64 `json:"mercurius"`      // how many times as much as Taggie Mercurius needs; 0 if it did not run
	// Rooms divides Equal among the rooms that need the CPU.
	Rooms map[string]float64 `json:"rooms"`
}

func readBaseline(path string) (baseline, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var b baseline
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func (b baseline) write(path string) error {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// noise is by how much a ratio may differ from another one without anything having changed.
const noise = 0.05

// compareWith prints what has changed since another baseline was written, and in which rooms.
func (b baseline) compareWith(to io.Writer, before baseline) {
	fmt.Fprintln(to, "\nSince the baseline, at equal GOGC:")
	for _, name := range b.names() {
		old, known := before[name]
		if !known {
			fmt.Fprintf(to, "%s: not in the baseline\n", name)
			continue
		}
		now := b[name]
		fmt.Fprintf(to, "%s: %.2f, was %.2f", name, now.Equal, old.Equal)
		if now.Equal <= old.Equal*(1+noise) && now.Equal >= old.Equal*(1-noise) {
			fmt.Fprintln(to, ": no change that is more than noise")
			continue
		}
		all := changes(old, now)
		if now.Equal < old.Equal {
			last := all[len(all)-1]
			fmt.Fprintf(to, ": better, most in %s (%+.2f)\n", last.room, last.by)
			continue
		}
		fmt.Fprintf(to, ": WORSE, most in %s (%+.2f)", all[0].room, all[0].by)
		for _, c := range all[1:3] {
			fmt.Fprintf(to, ", %s (%+.2f)", c.room, c.by)
		}
		fmt.Fprintln(to)
	}
}
