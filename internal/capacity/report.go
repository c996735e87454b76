package capacity

import (
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Measured is all that was measured.
type Measured struct {
	Costs  []Cost
	Record Record
}

// Write writes what was measured as text, with what it means for a Taggie of another size.
func (m Measured) Write(w io.Writer, to Size) error {
	return errors.Join(writeCosts(w, m.Costs), writeRecord(w, m.Record), writeExtrapolation(w, m.Record, to))
}

// Keep writes what was measured for [Kept].
func (m Measured) Keep(w io.Writer) error { return gob.NewEncoder(w).Encode(m) }

// Kept reads what [Measured.Keep] wrote.
func Kept(r io.Reader) (m Measured, err error) {
	err = gob.NewDecoder(r).Decode(&m)
	return m, err
}

// writeCosts writes what operations cost, as a table of Markdown.
func writeCosts(w io.Writer, costs []Cost) error {
	lines := []string{"\n| Operation | Read units | Write units | DynamoDB calls | Server CPU, ms | Redis, µs |", "|---|---|---|---|---|---|"}
	for _, c := range costs {
		lines = append(lines, fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.1f | %.0f |", c.Operation, c.Units.Read, c.Units.Write, c.Calls, milliseconds(c.CPU), microseconds(c.Redis)))
	}
	return write(w, lines)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
func microseconds(d time.Duration) float64 { return d.Seconds() * 1e6 }

func write(w io.Writer, lines []string) error {
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// hottest is how many keys and classes a report lists.
const hottest = 15

// writeRecord writes what finished items took, the keys that took most, and what Redis did.
func writeRecord(w io.Writer, r Record) error {
	var lines []string
	for _, phase := range []struct {
		who string
		Phase
	}{{"Nobody follows the project", r.Quiet}, {"One labeller follows the project on each server", r.Few}, {"All labellers follow the project", r.Crowd}} {
		p, total := phase.Phase, phase.Usage.Total()
		lines = append(lines, "", fmt.Sprintf("%s: %d items were finished in %s by %d labellers at %d servers, %.1f a second.", phase.who, p.Finished, p.Took.Round(time.Second/10), r.Size.Labellers, r.Size.Servers, float64(p.Finished)/p.Took.Seconds()),
			fmt.Sprintf("For each: %.1f read and %.1f write units, %.1f calls of DynamoDB, %.1f ms of CPU of the servers, %.0f µs of Redis with %.1f commands.",
				p.each(total.Read), p.each(total.Write), p.each(float64(p.Usage.AllCalls())), p.each(milliseconds(p.CPU)), p.each(microseconds(p.Redis.Total().Time)), p.each(float64(p.Redis.Total().Calls))))
	}
	lines = append(lines, "", "| Key that took most | Read units for each item | Write units for each item |", "|---|---|---|")
	used := r.Crowd.Usage
	keys := slices.SortedFunc(maps.Keys(used.Units), func(a, b Key) int {
		return cmp.Or(cmp.Compare(used.Units[b].share(), used.Units[a].share()), cmp.Compare(a.Partition, b.Partition))
	})
	for _, key := range keys[:min(hottest, len(keys))] {
		units := used.Units[key].times(r.Crowd.each(1))
		lines = append(lines, fmt.Sprintf("| `%s` | %.4f | %.4f |", Classify(key, used.Rows[key]).Name, units.Read, units.Write))
	}
	lines = append(lines, "", "| What Redis did most | Commands for each item | µs for each item |", "|---|---|---|")
	what, spent := r.Crowd.Redis.Most(hottest)
	for n := range what {
		lines = append(lines, fmt.Sprintf("| `%s` | %.2f | %.1f |", what[n], r.Crowd.each(float64(spent[n].Calls)), r.Crowd.each(microseconds(spent[n].Time))))
	}
	return write(w, lines)
}

// share is how near a second's units are to what DynamoDB allows for a key.
func (u Units) share() float64 { return max(u.Read/readUnitsOfKey, u.Write/writeUnitsOfKey) }

// writeExtrapolation writes what a Taggie of another size would take, and which limit it meets first.
func writeExtrapolation(w io.Writer, r Record, to Size) error {
	lines := []string{
		fmt.Sprintf("\nWith %d items, %d labellers who finish one in %s each, %d projects and %d servers: %.0f finishes a second.", to.Items, to.Labellers, to.Each, to.Projects, to.Servers, to.Finishes()),
		"", "| Keys | Grow | Measured | Units for each item, read + write | and for each server | and for each subscriber | Busiest key, read units/s | Busiest key, write units/s | Of its limit |", "|---|---|---|---|---|---|---|---|---|",
	}
	loads := Extrapolate(r, to)
	var all Units
	for n, l := range loads {
		all = all.plus(l.All)
		if n < hottest {
			lines = append(lines, fmt.Sprintf("| `%s` | %s | %d | %.2f + %.2f | %.2f + %.2f | %.2f + %.2f | %.1f | %.1f | %.1f %% |", l.Name, l.Spread, l.Keys, l.PerItem.Read, l.PerItem.Write, l.PerServer.Read, l.PerServer.Write, l.PerSubscriber.Read, l.PerSubscriber.Write, l.Busiest.Read, l.Busiest.Write, 100*l.Share()))
		}
	}
	lines = append(lines, "", fmt.Sprintf("All keys together take %.0f read and %.0f write units a second. %s", all.Read, all.Write, first(loads)), "",
		"| Slots of Redis | Grow | Measured | For each item, µs | and for each server | and for each subscriber | Busiest slot, of one core |", "|---|---|---|---|---|---|---|")
	for n, s := range ExtrapolateRedis(r, to) {
		if n < hottest {
			lines = append(lines, fmt.Sprintf("| `%s` | %s | %d | %.1f | %.1f | %.1f | %.1f %% |", s.Kind.Name, s.Kind.Spread, s.Slots, microseconds(s.PerItem), microseconds(s.PerServer), microseconds(s.PerSubscriber), 100*s.Share))
		}
	}
	cores := ExtrapolateCPU(r, to)
	lines = append(lines, "", fmt.Sprintf("Each server uses %.2f cores for the items (%.2f ms each), %.2f to read their events for its subscribers (%.2f ms for each item), and %.2f to tell them (%.3f ms for each item and subscriber).",
		cores.Items, milliseconds(cores.PerItem), cores.Events, milliseconds(cores.PerServer), cores.Subscribers, milliseconds(cores.PerSubscriber)))
	return write(w, lines)
}

// first says which key is the first that DynamoDB would refuse.
func first(loads []Load) string {
	if len(loads) == 0 || loads[0].Share() <= 1 {
		return fmt.Sprintf("No key reaches its limit of %d read and %d write units a second.", readUnitsOfKey, writeUnitsOfKey)
	}
	return fmt.Sprintf("The first key to reach its limit of %d read and %d write units a second is %s.", readUnitsOfKey, writeUnitsOfKey, loads[0].Name)
}
