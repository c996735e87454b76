package permissions

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
)

// step is a field with its arguments, and the object type that it leads to.
type step struct {
	field string // "note(id: $note)"
	to    string
}

func (s step) name() string {
	name, _, _ := strings.Cut(s.field, "(")
	return name
}

// way leads from a root to an object of a type.
type way struct {
	root    string // query, mutation, subscription
	steps   []step
	to      string
	special bool // declared in the fixtures with arguments of its own
}

// path names the fields of the way: "viewer.notes.nodes".
func (y way) path() string {
	names := make([]string, len(y.steps))
	for i, s := range y.steps {
		names[i] = s.name()
	}
	return strings.Join(names, ".")
}

// line is the key of the way in the matrix.
func (y way) line() string { return y.to + " by " + y.path() }

// shown reports whether the matrix has a line for the way: those to objects with ids have.
func (y way) shown() bool { return slices.Contains(shownTypes, y.to) }

// together are ways that begin with the same field of the same root: one request asks for all of them.
type together []way

// document asks for every field of the types at the ends of the ways.
func (g together) document(schema *ast.Schema, values map[string]string) string {
	var b strings.Builder
	b.WriteString(g[0].root + " {")
	for _, y := range g {
		y.write(&b, schema)
	}
	b.WriteString(" }")
	return fill(b.String(), values)
}

func (y way) write(b *strings.Builder, schema *ast.Schema) {
	for i, s := range y.steps {
		// The field may return a union or an interface, of which the type is a member.
		b.WriteString(" " + s.field + " { ... on " + s.to + " {")
		if y.root == "mutation" && i == 0 && schema.Types[s.to].Fields.ForName("problem") != nil {
			b.WriteString(" problem { kind: __typename }")
		}
	}
	b.WriteString(" walk: __typename")
	for _, f := range objectFields(schema, y.to) {
		b.WriteString(" " + f.Name + arguments[y.to+"."+f.Name])
		if composite(schema, f) {
			b.WriteString(" { __typename }")
		}
	}
	b.WriteString(strings.Repeat(" }", 2*len(y.steps)))
}

// grouped puts ways together that begin with the same mutation, which is asked for once. Each way of a query is asked by itself.
func grouped(ways []way) []together {
	var groups []together
	at := map[string]int{}
	for _, y := range ways {
		if y.root != "mutation" {
			groups = append(groups, together{y})
			continue
		}
		first := y.steps[0].field
		if _, there := at[first]; !there {
			at[first] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[first]] = append(groups[at[first]], y)
	}
	return groups
}

var placeholder = regexp.MustCompile(`\$[a-zA-Z]+`)

// fill puts values, as JSON strings, where a document names them. Names that have no value stay, and the server refuses
// the document.
func fill(document string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(document, func(name string) string {
		if v, ok := values[name[1:]]; ok {
			return `"` + v + `"`
		}
		return name
	})
}

func composite(schema *ast.Schema, f *ast.FieldDefinition) bool {
	return !schema.Types[f.Type.Name()].IsLeafType()
}

// waysOf returns the ways that the fixtures declare, and one along each field of the schema that returns an object, from
// each place where its parent is reached.
func waysOf(t *testing.T, schema *ast.Schema) []way {
	t.Helper()
	m := &mapMaker{schema: schema, starts: map[string][]way{}}
	ways := []way{{root: "query", to: "Query"}} // the fields of Mutation are asked one by one, on the way to their payloads
	seen := map[string]bool{}
	add := func(all []way) {
		for _, y := range all {
			if key := y.root + y.line(); len(y.steps) > 0 && !seen[key] {
				seen[key] = true
				ways = append(ways, y)
			}
		}
	}
	for _, line := range fieldLines(schema) {
		parent, name, _ := strings.Cut(line, ".")
		for _, arg := range schema.Types[parent].Fields.ForName(name).Arguments {
			if arg.Type.NonNull && arg.DefaultValue == nil {
				require.Contains(t, arguments, line, "the field has arguments that must be given: say which in fixtures_test.go")
			}
		}
	}
	for to := range starts {
		require.Contains(t, schema.Types, to, "the fixtures name a type that the schema does not have")
	}
	for _, to := range objectTypes(schema) {
		add(m.startsOf(to)) // declared ones first: they take the place of derived ones along the same fields
	}
	for _, to := range objectTypes(schema) {
		add(m.derived(to))
	}
	return ways
}

func objectTypes(schema *ast.Schema) []string {
	var names []string
	for _, line := range fieldLines(schema) {
		name, _, _ := strings.Cut(line, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// mapMaker derives ways.
type mapMaker struct {
	schema *ast.Schema
	starts map[string][]way
}

// startsOf returns the ways to a type from which ways go on: the declared ones, else all.
func (m *mapMaker) startsOf(to string) []way {
	if known, ok := m.starts[to]; ok {
		return known // empty while it is being made: ways do not go in circles
	}
	m.starts[to] = nil
	var all []way
	switch declared := starts[to]; {
	case to == "Query":
		all = []way{{root: "query"}}
	case to == "Mutation":
		all = []way{{root: "mutation"}}
	case to == "Subscription":
		all = []way{{root: "subscription"}}
	case len(declared) > 0:
		for _, text := range declared {
			root, rest, _ := strings.Cut(text, " ")
			y := way{root: root, to: to, special: true}
			at := map[string]*ast.Definition{"query": m.schema.Query, "mutation": m.schema.Mutation, "subscription": m.schema.Subscription}[root]
			for field := range strings.SplitSeq(rest, " . ") {
				s := step{field: field}
				at = m.schema.Types[at.Fields.ForName(s.name()).Type.Name()]
				s.to = at.Name
				y.steps = append(y.steps, s)
			}
			y.steps[len(y.steps)-1].to = to
			all = append(all, y)
		}
	default:
		all = m.derived(to)
	}
	m.starts[to] = all
	return all
}

// derived returns the ways to a type along each field that returns it.
func (m *mapMaker) derived(to string) []way {
	var all []way
	for _, parent := range objectTypes(m.schema) {
		for _, f := range objectFields(m.schema, parent) {
			if !leadsTo(m.schema, f, to) {
				continue
			}
			for _, start := range m.startsOf(parent) {
				steps := append(slices.Clone(start.steps), step{field: f.Name + arguments[parent+"."+f.Name], to: to})
				all = append(all, way{root: start.root, steps: steps, to: to, special: start.special})
			}
		}
	}
	return all
}

// leadsTo reports whether a field may return an object of the type.
func leadsTo(schema *ast.Schema, f *ast.FieldDefinition, to string) bool {
	def := schema.Types[f.Type.Name()]
	if def.IsAbstractType() {
		return slices.ContainsFunc(schema.GetPossibleTypes(def), func(d *ast.Definition) bool { return d.Name == to })
	}
	return def.Name == to
}

// assertEdgesAreWalked fails when a field returns an object and no way ends with it.
func assertEdgesAreWalked(t *testing.T, schema *ast.Schema, ways []way) {
	t.Helper()
	walked := map[string]bool{}
	for _, y := range ways {
		if len(y.steps) > 0 {
			walked[y.steps[len(y.steps)-1].name()+" "+y.to] = true
		}
	}
	for _, parent := range objectTypes(schema) {
		for _, f := range objectFields(schema, parent) {
			for _, to := range objectTypes(schema) {
				if leadsTo(schema, f, to) {
					assert.True(t, walked[f.Name+" "+to], "no way leads along %s.%s to %s: declare where %s is found in fixtures_test.go", parent, f.Name, to, parent)
				}
			}
		}
	}
}
