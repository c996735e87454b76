package httpapi

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/document"
)

// numbered writes a text n times, with a number in each.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// chained are fragments each of which spreads the next.
func chained(n int) string {
	return "fragment f0 on User{id}" + func() (s string) {
		for i := 1; i < n; i++ {
			s += fmt.Sprintf("fragment f%d on User{a%d:id ...f%d}", i, i, i-1)
		}
		return s
	}()
}

// tangled are fragments each of which spreads those that next chooses for it.
func tangled(n int, next func(i, j int) bool) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "fragment f%d on User{id ", i)
		for j := range n {
			if next(i, j) {
				fmt.Fprintf(&b, "...f%d ", j)
			}
		}
		b.WriteString("}")
	}
	return b.String()
}

// edge are documents just within the limits, each made to be costly for one rule of validation, or for several.
func edge() map[string]string {
	name, text := strings.Repeat("a", document.MaxName-4), `"`+strings.Repeat("a", document.MaxDocument-200)+`"`
	return map[string]string{
		"one field many times":              "{viewer{" + strings.Repeat("id ", 62) + "}}",
		"objects many times":                "{viewer{" + strings.Repeat("notes{nodes{id}}", 34) + "}}",
		"objects with equal arguments":      "{viewer{" + strings.Repeat(`notes(first:1,after:"a"){nodes{id}}`, 34) + "}}",
		"wide objects many times":           "{viewer{" + strings.Repeat("notes{nodes{id title content deadline createdAt updatedAt}}", 21) + "}}",
		"conflicting aliases":               "{viewer{" + strings.Repeat("a:id a:name ", 31) + "}}",
		"conflicting objects":               "{viewer{" + strings.Repeat("notes{nodes{a:id}}notes{nodes{a:title}}", 17) + "}}",
		"inline fragments in one another":   "{viewer{" + strings.Repeat("...{", 320) + "id" + strings.Repeat("}", 320) + "}}",
		"inline fragments side by side":     "{viewer{" + strings.Repeat("...{id}", 62) + "}}",
		"fragments side by side":            "{viewer{" + numbered(50, "...f%d ") + "}}" + numbered(50, "fragment f%[1]d on User{a%[1]d:id}"),
		"fragments at many places":          "{" + numbered(9, "a%d:viewer{"+numbered(20, "...f%d ")+"}") + "}" + numbered(20, "fragment f%[1]d on User{a%[1]d:id}"),
		"a chain of fragments":              "{viewer{...f49}}" + chained(50),
		"a chain that conflicts":            "{viewer{...f49 a1:name}}" + chained(50),
		"fragments that spread all smaller": "{viewer{...f8}}" + tangled(9, func(i, j int) bool { return i > j }),
		"fragments in circles":              "{viewer{...f0}}" + tangled(20, func(int, int) bool { return true }),
		"a fragment that is not used":       "{__typename}fragment f on User{" + strings.Repeat("id ", 62) + "}",
		"fragments of one name":             "{viewer{...f}}" + strings.Repeat("fragment f on User{"+strings.Repeat("id ", 36)+"}", 3),
		"operations":                        numbered(120, "query q%d{viewer{id}}"),
		"operations and a fragment":         numbered(60, "query q%d{viewer{...f}}") + "fragment f on User{" + strings.Repeat("id ", 14) + "}",
		"operations and a chain":            numbered(18, "query q%d{viewer{...f49}}") + chained(50),
		"unknown fields":                    "{viewer{" + numbered(980, "nots%d ") + "}}",
		"unknown fields with long names":    "{viewer{" + numbered(980, name+"%d ") + "}}",
		"unknown types with long names":     "{viewer{" + numbered(140, "...on "+name+"%[1]d{a%[1]d:id}") + "}}",
		"fragments of unknown types":        "{viewer{" + numbered(50, "...f%d ") + "}}" + numbered(50, "fragment f%[1]d on "+name+"%[1]d{a%[1]d:id}"),
		"unknown arguments with long names": "{viewer{notes(" + numbered(320, name+"%d:1 ") + "){nodes{id}}}}",
		"unknown directives":                "{viewer{id " + numbered(100, "@d%d ") + "}}",
		"directives":                        "{viewer{id " + strings.Repeat("@skip(if:false)", 100) + "}}",
		"variables that are not used":       "query(" + numbered(160, "$v%d:Int=1 ") + "){__typename}",
		"variables of unknown types":        "query(" + numbered(240, "$v%d:"+name+" ") + "){__typename}",
		"variables that are not defined":    "{viewer{notes(" + numbered(240, "first:$v%d ") + "){nodes{id}}}}",
		"values":                            "{nodes(ids:[" + strings.Repeat("1 ", 980) + "]){id}}",
		"lists in lists":                    "{nodes(ids:" + strings.Repeat("[", document.MaxValueDepth) + text + strings.Repeat("]", document.MaxValueDepth) + "){id}}",
		"objects in objects":                "{viewer{notes(due:" + strings.Repeat("{a:", document.MaxValueDepth) + text + strings.Repeat("}", document.MaxValueDepth) + "){nodes{id}}}}",
		"input fields":                      "mutation{createNote(input:{" + numbered(320, name+"%d:1 ") + "}){note{id}}}",
		"one input field many times":        "mutation{createNote(input:{" + strings.Repeat("title:1 ", 320) + "}){note{id}}}",
		"a long text":                       "{node(id:" + text + "){id}}",
		"a long text for an enum":           `{project(id:"a"){items(status:` + text + `){nodes{id}}}}`,
		"introspection by aliases":          "{__schema{types{" + numbered(160, "a%d:fields{name}") + "}}}",
	}
}

var docsBlocks = regexp.MustCompile("(?s)```graphql\n(.*?)```")

// BenchmarkValidation tells what it takes to find out whether a document may be carried out. x-ordinary is how many times as
// much that is as for the largest query that the documentation shows.
func BenchmarkValidation(b *testing.B) {
	run := newServer(&testing.T{}).options.runner()
	seen := 0
	// The least of several times is nearest to what it takes on a machine that does nothing else.
	check := func(document string, times int) time.Duration {
		least := time.Duration(math.MaxInt64)
		for range times {
			seen++ // no document twice: the second time it would be known
			params := &graphql.RawParams{Query: fmt.Sprintf("#%d\n", seen) + document}
			ctx, cancel := context.WithCancel(context.Background())
			start := time.Now()
			_, _ = run.Create(graphql.StartOperationTrace(ctx), params)
			least = min(least, time.Since(start))
			cancel() // else it would count as under way, and a caller has few
		}
		return least
	}
	docs, err := filepath.Glob("../../docs/tour/*.md")
	require.NoError(b, err)
	require.NotEmpty(b, docs)
	var ordinary time.Duration
	for _, path := range docs {
		text, err := os.ReadFile(path)
		require.NoError(b, err)
		for _, block := range docsBlocks.FindAllSubmatch(text, -1) {
			ordinary = max(ordinary, check(string(block[1]), 100))
		}
	}
	for name, document := range edge() {
		b.Run(name, func(b *testing.B) {
			least := check(document, b.N)
			b.ReportMetric(float64(least.Microseconds()), "least-µs")
			b.ReportMetric(float64(least)/float64(ordinary), "x-ordinary")
		})
	}
	b.ReportMetric(float64(ordinary.Microseconds()), "ordinary-µs")
}
