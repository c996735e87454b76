package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// headerTiming tells a browser's developer tools where the time of a request went; the specification calls it Server Timing.
const headerTiming = "Server-Timing"

// timed adds one duration to Server-Timing. Tenths of a millisecond are enough to find what is slow, and tell little of what is
// not shown.
func timed(h http.Header, name string, took time.Duration) {
	h.Add(headerTiming, name+";dur="+strconv.FormatFloat(float64(took.Microseconds())/1000, 'f', 1, 64))
}

// timings tells what the parts of an operation took, up to its answer.
func timings(h http.Header, stats *graphql.Stats, executed time.Duration) {
	timed(h, "read", since(stats.Read))
	timed(h, "parse", since(stats.Parsing))
	timed(h, "validate", since(stats.Validation))
	if executed > 0 {
		timed(h, "execute", executed)
	}
}

// since is how long something took, nothing when it did not end.
func since(t graphql.TraceTiming) time.Duration { return max(t.End.Sub(t.Start), 0) }
