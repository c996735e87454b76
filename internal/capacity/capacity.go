// Package capacity counts what Taggie consumes of its stores, and says what that means for many more users.
//
// A [Recorder] stands where HTTP requests leave for DynamoDB. It learns the tables from the requests that create them, remembers
// how large each row is, and computes the units that DynamoDB would bill, by table, index and partition key: an engine tells them by table
// at most. [Slots] sums up the time that Redis takes, by slot. [Extrapolate] is a pure function of what was measured.
//
// It must not know Taggie's tables but for the spelling of their partition keys, in [Classify]. The server must not import it: it is a tool of the
// tests and of `make capacity`. Start reading at [Recorder.Wrap] for what is counted, at [Extrapolate] for what is made of it.
package capacity

import "maps"

// Key is a partition key of a table, or of one of its indexes. All that is counted for one key has at most 1,000 write and 3,000 read units a
// second.
type Key struct {
	Table     string // without the prefix of the tables
	Index     string // without that prefix; "" for the table itself
	Partition string // "" for all partitions together: a Scan
}

// Units are DynamoDB's: a read unit is a consistent read of 4 KB, a write unit a write of 1 KB.
type Units struct{ Read, Write float64 }

func (u Units) plus(v Units) Units { return Units{u.Read + v.Read, u.Write + v.Write} }

func (u Units) times(by float64) Units { return Units{u.Read * by, u.Write * by} }

// Usage is what was consumed.
type Usage struct {
	Units map[Key]Units
	Calls map[string]int // by operation: "BatchGetItem"
	Rows  map[Key]string // a sort key of a row under each key, the first one in order, which says what is kept there
}

// Minus returns what was consumed since an earlier moment.
func (u Usage) Minus(before Usage) Usage {
	since := Usage{Units: map[Key]Units{}, Calls: map[string]int{}, Rows: u.Rows}
	for key, units := range u.Units {
		if left := units.plus(before.Units[key].times(-1)); left != (Units{}) {
			since.Units[key] = left
		}
	}
	for operation, n := range u.Calls {
		if left := n - before.Calls[operation]; left != 0 {
			since.Calls[operation] = left
		}
	}
	return since
}

// Total returns the units of all keys together.
func (u Usage) Total() (sum Units) {
	for _, units := range u.Units {
		sum = sum.plus(units)
	}
	return sum
}

// AllCalls returns the calls of all operations together.
func (u Usage) AllCalls() (n int) {
	for _, calls := range u.Calls {
		n += calls
	}
	return n
}

func (u Usage) clone() Usage {
	return Usage{maps.Clone(u.Units), maps.Clone(u.Calls), maps.Clone(u.Rows)}
}
