// Package memory tells how much memory the program may take up, and has those who fill it ask for room.
//
// It knows GOMEMLIMIT, control groups and what the machine has. It must not know what the memory is for. Start reading at [Limit] and
// [Take].
package memory

import (
	"math"
	"runtime/debug"
)

// unknown stands for the memory of a machine that does not tell.
const unknown = 4 << 30

// Limit returns how many bytes this program may take up: GOMEMLIMIT when it is set, otherwise what its container or the machine has.
func Limit() int64 {
	if set := debug.SetMemoryLimit(-1); set < math.MaxInt64 {
		return set
	}
	if has := available(); has > 0 {
		return has
	}
	return unknown
}
