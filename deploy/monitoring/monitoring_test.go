package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// fromPrometheus are the labels that Prometheus adds.
var fromPrometheus = []string{"job", "instance"}

// elsewhere are the metrics that rules ask for and servers do not have, with the file that makes or asks for them.
var elsewhere = map[string]string{
	"probe_success": "prometheus.yml", // of the blackbox exporter
	"taggie_backup_completed_timestamp_seconds": "../systemd/taggie-backup.service",
}

// metric is what can be asked of a metric.
type metric struct {
	typ    string
	labels []string
}

// metrics returns what servers and Prometheus have, by the names that series have: a histogram has three.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	known := map[string]metric{"up": {typ: "gauge"}}
	for name := range elsewhere {
		known[name] = metric{typ: "gauge"}
	}
	add := func(name, typ string, labels []string) {
		if typ != "histogram" {
			known[name] = metric{typ, labels}
			return
		}
		known[name+"_bucket"] = metric{typ, append(slices.Clone(labels), "le")}
		known[name+"_sum"], known[name+"_count"] = metric{"counter", labels}, metric{"counter", labels}
	}
	docs, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `(taggie_\\w+)` \\| (\\w+) \\| (.*?) \\|")
	for _, found := range row.FindAllStringSubmatch(string(docs), -1) {
		add(found[1], found[2], strings.Fields(strings.ReplaceAll(found[3], "`", "")))
	}
	require.Greater(t, len(known), 30, "the metrics of Taggie")

	runtime := prometheus.NewRegistry() // as in internal/telemetry
	runtime.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := runtime.Gather()
	require.NoError(t, err)
	for _, f := range families {
		add(f.GetName(), strings.ToLower(f.GetType().String()), nil)
	}
	return known
}

// rule is an alert.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile("taggie.rules.yml")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// dashboard is what is looked at of a dashboard of Grafana.
type dashboard struct {
	Title  string  `json:"title"`
	UID    string  `json:"uid"`
	Panels []panel `json:"panels"`
}

type panel struct {
	Title       string `json:"title"`
	Type        string `json:"type"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("dashboards/*.json")
	require.NoError(t, err)
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var d dashboard
		require.NoError(t, json.Unmarshal(text, &d), file)
		all[file] = d
	}
	return all
}

// variables stand for what Grafana puts in.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$instance", "a")

// capitals are how values of the schema are spelled: codes of errors, types of events.
var capitals = regexp.MustCompile(`^[A-Z_]+$`)

func schema(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../schema.graphqls")
	require.NoError(t, err)
	return string(text)
}

// check has the expression ask for nothing that does not exist, and calls asked for each metric that it names.
func check(t *testing.T, known map[string]metric, where, expr string, asked func(name string)) {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(expr))
	if !assert.NoError(t, err, where) {
		return
	}
	of := func(node parser.Node) (labels []string) { // that the series below a node can have
		parser.Inspect(node, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok {
				labels = append(labels, known[s.Name].labels...)
			}
			return nil
		})
		return append(labels, fromPrometheus...)
	}
	parser.Inspect(tree, func(n parser.Node, above []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			m, exists := known[n.Name]
			if !assert.True(t, exists, "%s: there is no metric %s", where, n.Name) {
				return nil
			}
			asked(n.Name)
			for _, l := range n.LabelMatchers {
				if l.Name == model.MetricNameLabel {
					continue
				}
				assert.Contains(t, append(slices.Clone(m.labels), fromPrometheus...), l.Name, "%s: a label of %s", where, n.Name)
				for _, value := range strings.Split(l.Value, "|") {
					if capitals.MatchString(value) {
						assert.True(t, strings.Contains(schema(t), "\n  "+value+"\n"), "%s: %s is no value of %s", where, value, l.Name)
					}
				}
			}
			counted := slices.ContainsFunc(above, func(n parser.Node) bool {
				call, ok := n.(*parser.Call)
				return ok && slices.Contains([]string{"rate", "increase"}, call.Func.Name)
			})
			if m.typ == "gauge" {
				assert.False(t, counted, "%s: %s goes up and down", where, n.Name)
			}
		case *parser.AggregateExpr:
			for _, l := range n.Grouping {
				assert.Contains(t, of(n.Expr), l, "%s: no series has it", where)
			}
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				for _, l := range append(slices.Clone(n.VectorMatching.MatchingLabels), n.VectorMatching.Include...) {
					assert.Contains(t, of(n), l, "%s: no series has it", where)
				}
			}
		}
		return nil
	})
}

func TestRulesAskForMetricsThatExist(t *testing.T) {
	known := metrics(t)
	for _, r := range rules(t) {
		check(t, known, r.Alert, r.Expr, func(string) {})
		assert.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
		assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
	}
}

func TestTheBackupTellsItsMetric(t *testing.T) {
	const name = "taggie_backup_completed_timestamp_seconds"
	text, err := os.ReadFile(elsewhere[name])
	require.NoError(t, err)
	assert.Contains(t, string(text), name+" ")
}

// A metric that no dashboard shows is one that nobody looks at.
func TestDashboardsShowTheMetricsThatExist(t *testing.T) {
	known, shown, uids := metrics(t), map[string]bool{}, map[string]bool{}
	all := dashboards(t)
	assert.NotEmpty(t, all)
	for file, d := range all {
		assert.False(t, uids[d.UID], "%s: another dashboard has this uid", file)
		uids[d.UID] = true
		for _, p := range d.Panels {
			where := file + ": " + p.Title
			if p.Type == "row" {
				continue
			}
			assert.NotEmpty(t, p.Title, file)
			assert.NotEmpty(t, p.FieldConfig.Defaults.Unit, "%s: the unit", where)
			assert.NotEmpty(t, p.Targets, where)
			for _, target := range p.Targets {
				check(t, known, where, target.Expr, func(name string) { shown[name] = true })
			}
		}
	}
	for name := range known {
		part := strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count") // of a histogram, whose buckets are shown
		if strings.HasPrefix(name, "taggie_") && !part && elsewhere[name] == "" {
			assert.True(t, shown[name], "no dashboard shows %s", name)
		}
	}
}

// The operator who is woken by an alert reads its section.
func TestEachAlertHasItsSection(t *testing.T) {
	docs, err := os.ReadFile("../../docs/alerts.md")
	require.NoError(t, err)
	sections := map[string]string{}
	for _, section := range strings.Split(string(docs), "\n### ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	for _, r := range rules(t) {
		text, has := sections[r.Alert]
		if assert.True(t, has, "docs/alerts.md has no section %s", r.Alert) {
			for _, part := range []string{"**Means:** ", "**Look at:** ", "**Do:** "} {
				assert.Contains(t, text, part, r.Alert)
			}
		}
		assert.Equal(t, "docs/alerts.md#"+strings.ToLower(r.Alert), r.Annotations["runbook"])
		delete(sections, r.Alert)
	}
	assert.Empty(t, sections, "there are no such alerts")
}

// TestEachAlertFires looks for a unit test in which the alert fires; promtool runs these.
func TestEachAlertFires(t *testing.T) {
	text, err := os.ReadFile("taggie.rules.test.yml")
	require.NoError(t, err)
	for _, r := range rules(t) {
		assert.True(t, strings.Contains(string(text), `{labels: '{alertname="`+r.Alert+`"}', value: 1}`), "no unit test has %s fire", r.Alert)
	}
}
