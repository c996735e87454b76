package main

import (
	"cmp"
	"io"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// rooms are the columns of the shares of Taggie's CPU, in their order. The last three are for what no other room has asked for.
var rooms = []string{"dynamo", "aws", "loaders", "resolvers", "graph", "lean", "gqlgen", "httpapi", "redis", "net", "runtime", "other"}

// roomsOf says which packages belong to a room. Packages that are not named (of Go, of other libraries, small rooms) belong to
// the room that calls them.
var roomsOf = []struct{ prefix, room string }{
	{"github.com/taggie/taggie/dynamo", "dynamo"},
	{"github.com/taggie/taggie/loaders", "loaders"},
	{"github.com/vikstrous/dataloadgen", "loaders"},
	{"github.com/taggie/taggie/resolvers", "resolvers"},
	{"github.com/taggie/taggie/graph", "graph"},
	{"github.com/taggie/taggie/internal/lean", "lean"},
	{"github.com/taggie/taggie/internal/httpapi", "httpapi"},
	{"github.com/taggie/taggie/internal/edge", "redis"},
	{"github.com/redis/go-redis", "redis"},
	{"github.com/99designs/gqlgen", "gqlgen"},
	{"github.com/vektah/gqlparser", "gqlgen"},
	{"github.com/aws/", "aws"},
	{"net", "net"},
	{"internal/poll", "net"},
	{"syscall", "net"},
	{"bufio", "net"},
}

// shares are the CPU time that samples of a profile found in each room, in nanoseconds.
type shares map[string]int64

// readShares counts each sample of a CPU profile once: for the room of the innermost function that belongs to one.
// Collecting garbage belongs to the runtime, whoever has to help with it.
func readShares(from io.Reader) (shares, error) {
	p, err := pprof.Parse(from)
	if err != nil {
		return nil, err
	}
	s := shares{}
	for _, sample := range p.Sample {
		var stack []string // the innermost function first
		for _, location := range sample.Location {
			for _, line := range location.Line {
				stack = append(stack, line.Function.Name)
			}
		}
		s[roomOf(stack)] += sample.Value[len(sample.Value)-1]
	}
	return s, nil
}

// roomOf returns the room of a stack of functions, the innermost first.
func roomOf(stack []string) string {
	if slices.ContainsFunc(stack, func(f string) bool { return strings.HasPrefix(f, "runtime.gc") }) {
		return "runtime"
	}
	runtimeOnly := true
	for _, f := range stack {
		name := packageOf(f)
		runtimeOnly = runtimeOnly && (name == "runtime" || strings.HasPrefix(name, "internal/runtime/"))
		for _, r := range roomsOf {
			if rest, in := strings.CutPrefix(name, r.prefix); in && (rest == "" || rest[0] == '/' || strings.HasSuffix(r.prefix, "/")) {
				return r.room
			}
		}
	}
	if runtimeOnly {
		return "runtime"
	}
	return "other"
}

// packageOf returns the path of a function's package.
func packageOf(function string) string {
	directory, name := "", function
	if function, _, generic := strings.Cut(function, "["); generic {
		name = function // type parameters have slashes of their own
	}
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		directory, name = name[:at+1], name[at+1:]
	}
	name, _, _ = strings.Cut(name, ".")
	return directory + name
}

func (s shares) total() (sum int64) {
	for _, time := range s {
		sum += time
	}
	return sum
}

// of returns the part of the CPU time that a room has, 0 to 1.
func (s shares) of(room string) float64 { return float64(s[room]) / float64(max(s.total(), 1)) }

// merge takes in another profile.
func (s shares) merge(other shares) {
	for room, time := range other {
		s[room] += time
	}
}

// change is how much more CPU a room needs than before, relative to the hand-written handler.
type change struct {
	room string
	by   float64
}

// changes compares the rooms of two ratios, and begins with the one that needs most in addition.
func changes(before, after standing) []change {
	all := make([]change, len(rooms))
	for i, room := range rooms {
		all[i] = change{room, after.Rooms[room] - before.Rooms[room]}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(b.by, a.by) })
	return all
}
