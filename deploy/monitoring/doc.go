// Package monitoring tests the alert rules and dashboards of its folder: that they ask only for metrics and labels that docs/metrics.md lists,
// and that docs/alerts.md has a section for each alert. It is a module of its own for the sake of Prometheus' parser, which
// the server does without. What the rules do is tested by `promtool test rules taggie.rules.test.yml`.
package monitoring
