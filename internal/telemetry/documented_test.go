package telemetry

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of docs/metrics.md anew")

// everything returns metrics with one series of each.
func everything(t *testing.T) *Metrics {
	m := NewMetrics()
	m.Clock(func() time.Duration { return 0 })
	m.Certificate(time.Now)
	m.Sockets(func() int { return 0 })
	m.Operation("query", "ok", 0)
	m.HTTPRequest("/graphql", http.MethodPost, http.StatusOK, 0)
	_, batch := m.Batch(t.Context(), "user", 1)
	batch()
	m.Dialled("dynamodb")
	m.ObserveCall(t.Context(), &Call{Operation: "Query", Tables: []string{"notes"}, Attempts: 2, Throttled: 1, Unprocessed: 1, Capacity: []Consumed{{"notes", 1}}})
	m.Transition("EXPIRED")
	m.Backlog(0, 0, 0)
	m.EventsLate(0)
	m.spansExported.WithLabelValues("ok")
	m.s3Calls.WithLabelValues("GetObject", "ok")
	m.s3Seconds.WithLabelValues("GetObject")
	require.NoError(t, redisHook{dialHook{m}}.ProcessHook(func(context.Context, redis.Cmder) error { return nil })(t.Context(), nil))
	return m
}

// The rules and dashboards of deploy/monitoring are compared with this table.
func TestMetricsAreDocumented(t *testing.T) {
	const file, begin, end = "../../docs/metrics.md", "<!-- metrics: `go test ./internal/telemetry -run Documented -update` makes this table -->\n", "<!-- /metrics -->"
	m := everything(t)
	var table strings.Builder
	_, _ = fmt.Fprint(&table, "\n| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n")
	families, err := m.registry.Gather()
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, f := range families {
		if shown[f.GetName()] = true; !strings.HasPrefix(f.GetName(), "taggie_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		_, _ = fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, " "), f.GetHelp())
	}
	_, _ = fmt.Fprintln(&table)

	registered := make(chan *prometheus.Desc, 1_000)
	m.registry.Describe(registered)
	close(registered)
	name := regexp.MustCompile(`fqName: "(taggie_\w+)"`)
	for d := range registered {
		if found := name.FindStringSubmatch(d.String()); found != nil {
			assert.True(t, shown[found[1]], "%s: have everything() make a series of it", found[1])
		}
	}

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	require.True(t, found && ended, "%s has lost its marks", file)
	want := before + begin + table.String() + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644)) //nolint:gosec // a document
		text = []byte(want)
	}
	assert.Equal(t, want, string(text), "run: go test ./internal/telemetry -run Documented -update")
}
