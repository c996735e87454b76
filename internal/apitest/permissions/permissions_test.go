package permissions

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/apitest"
)

// The permission walk is made from the schema: it asks every field of every object type as each role and compares what
// comes back with testdata/permissions.md, which also says how to extend it.
//
//   - matrix_test.go reads the matrix and compares.
//   - ways_test.go makes the ways from the roots to the types.
//   - fixtures_test.go says what cannot be derived: arguments, and where ways begin.
//   - world_test.go makes the people and their notes, scopes_test.go, projects_test.go and
//     queues_test.go what else they have.
//   - hidden_test.go compares what is hidden with what does not exist.

// roles are the columns of the matrix.
var roles = []string{"owner", "edit", "view", "revoked", "stranger", "newcomer", "admin", "anonymous", "expired", "forged"}

func readSchema(t *testing.T) *ast.Schema {
	t.Helper()
	text, err := os.ReadFile("schema.graphqls")
	require.NoError(t, err)
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(text)})
	require.NoError(t, err)
	return schema
}

func TestEveryFieldAnswersEachRoleAsTheMatrixSays(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	ways := waysOf(t, schema)
	assertEdgesAreWalked(t, schema, ways)
	s := newWalkServer(t)

	results := make([]map[string]string, len(roles))
	t.Run("walk", func(t *testing.T) {
		for i, role := range roles {
			t.Run(role, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, s, role)
				results[i] = (&walk{world: w, schema: schema}).all(ways)
				w.assertNothingShown()
			})
		}
	})
	observed := map[string][]string{}
	for i := range roles {
		for line, outcome := range results[i] {
			if observed[line] == nil {
				observed[line] = slices.Repeat([]string{unreached}, len(roles))
			}
			observed[line][i] = outcome
		}
	}
	for _, line := range fieldLines(schema) {
		assert.NotEmpty(t, observed[line], "no role reaches %s: say how in fixtures_test.go", line)
	}
	assertMatrix(t, readMatrix(t), observed)
}

// walk asks as one role.
type walk struct {
	*world
	schema  *ast.Schema
	results map[string]string
	last    snapshot // after the last mutation that wrote, the zero one when something is new
	refused []string // since then
}

// all goes every way and returns the outcome of each line of the matrix.
func (w *walk) all(ways []way) map[string]string {
	w.results = map[string]string{}
	for _, f := range w.schema.Subscription.Fields {
		w.subscribe(f)
	}
	for _, g := range grouped(ways) {
		w.along(g)
	}
	if len(w.refused) > 0 {
		assert.Equal(w.T, w.last, w.snapshot(), "one of these was refused and changed something: %v", w.refused)
	}
	return w.results
}

// subscribe asks for one field of Subscription.
func (w *walk) subscribe(f *ast.FieldDefinition) {
	document := "subscription { " + f.Name + arguments["Subscription."+f.Name]
	if composite(w.schema, f) {
		document += " { __typename }"
	}
	a := w.ask(fill(document+" }", w.values("")))
	outcome := outcomeOf(a, []any{f.Name}, a.At(f.Name))
	switch {
	case a.Status == 401:
		outcome = "401"
	case len(a.Errors) > 0:
		outcome = a.Errors[0].Extensions.Code
	}
	w.results["Subscription."+f.Name] = outcome
}

// along goes ways that begin together and asks at their ends for every field of the types.
func (w *walk) along(g together) {
	mutation := g[0].root == "mutation"
	if mutation && w.last == (snapshot{}) {
		w.last = w.snapshot()
	}
	a := w.ask(g.document(w.schema, w.values(g[0].to)))
	for _, y := range g {
		object, at, arrival := w.arrive(a, y)
		if y.shown() {
			w.results[y.line()] = arrival
		}
		if arrival == reached {
			for _, f := range objectFields(w.schema, y.to) {
				w.merge(y, f.Name, outcomeOf(a, append(slices.Clone(at), f.Name), object[f.Name]))
			}
		}
	}
	if mutation {
		w.judge(g[0], a)
	}
}

// judge asserts that a refused mutation changed nothing, and that an accepted one did: else the first would prove nothing. A
// snapshot costs more than a mutation. Of a refused one whose answer counts no call that writes, it is taken later, together
// with those that follow.
func (w *walk) judge(y way, a *apitest.Answer) {
	name := y.steps[0].name()
	outcome := w.outcomeOfMutation(a, name)
	if !y.special {
		w.results["Mutation."+name] = outcome
	}
	accepted := outcome == value
	if !accepted && !a.Wrote() {
		w.refused = append(w.refused, y.line())
		return
	}
	before, after := w.last, w.snapshot()
	switch {
	case !accepted && !strings.HasPrefix(y.line(), "UploadRefused "): // of a refused file nothing is left
		assert.Equal(w.T, before, after, "%s was refused and changed something: %s", y.line(), a.Body)
	case accepted && !y.special && !slices.Contains(unseen, name):
		assert.NotEqual(w.T, before, after, "%s was accepted and the snapshot shows no change: %s", y.line(), a.Body)
	}
	w.last, w.refused = after, nil
	if accepted && name == "createArchive" {
		w.writeArchives()
	}
	if w.role == "newcomer" && accepted {
		w.renewAsker()
		w.last = snapshot{}
	}
	for _, part := range []struct {
		changed bool
		renew   func()
	}{
		{before.notes != after.notes, w.renewNotes},
		{before.scope != after.scope, w.renewScope},
		{before.scopes != after.scopes, w.renewDeletedScopes},
		{before.deletedUsers != after.deletedUsers, w.renewDeletedUsers},
		{before.project != after.project, w.renewProject},
		{before.paused != after.paused, w.renewPaused},
		{before.deletedProjects != after.deletedProjects, w.renewDeletedProjects},
		{before.scores != after.scores, w.renewScores},
	} {
		if part.changed {
			part.renew()
			w.last = snapshot{}
		}
	}
}

// The outcomes that are not error codes or problems.
const (
	value     = "value"
	null      = "null"
	unreached = "-"
	reached   = "yes"
	another   = "another"
	untold    = "untold" // the answer had no room for the error; another way tells
)

// outcomeOf names what an answer has at a path.
func outcomeOf(a *apitest.Answer, path []any, got any) string {
	for _, err := range a.Errors {
		if samePath(err.Path, path) {
			return err.Extensions.Code
		}
	}
	if got != nil {
		return value
	}
	if a.Extensions.OmittedErrors > 0 { // its own may be among those that were left out: then others of its list have the same
		for _, err := range a.Errors {
			if samePath(besideInLists(err.Path), besideInLists(path)) {
				return err.Extensions.Code
			}
		}
		return untold
	}
	return null
}

// besideInLists is a path without the positions in lists.
func besideInLists(path []any) []any {
	return slices.DeleteFunc(slices.Clone(path), func(step any) bool {
		_, isName := step.(string)
		return !isName
	})
}

// outcomeOfMutation names the result of a mutation: its problem, if it has one.
func (w *walk) outcomeOfMutation(a *apitest.Answer, name string) string {
	if a.Status == 401 {
		return "401"
	}
	if problem, ok := a.At(name + ".problem.kind").(string); ok {
		return problem
	}
	if outcomes, ok := a.At(name + ".outcomes").([]any); ok && outcomes[0] == nil { // of several, each of its own
		return outcomeOf(a, []any{name, "outcomes", 0}, nil)
	}
	return outcomeOf(a, []any{name}, a.At(name))
}

// merge notes the outcome of a field. Ways that disagree are a defect, unless they lead to different objects of which one
// has no value there.
func (w *walk) merge(y way, field, outcome string) {
	line := y.to + "." + field
	known, ok := w.results[line]
	data := []string{value, null}
	switch {
	case outcome == untold, known == outcome:
	case !ok:
		w.results[line] = outcome
	case (len(w.subjects(y.to)) == 0 || slices.Contains(ofSome, line)) && slices.Contains(data, known) && slices.Contains(data, outcome):
		w.results[line] = value
	default:
		assert.Fail(w.T, "two ways disagree", "%s as %s: %s here, %s by %s", line, w.role, known, outcome, y.line())
	}
}

// arrive finds the object at the end of a way: its fields, its path, and how the way ended.
func (w *walk) arrive(a *apitest.Answer, y way) (object map[string]any, at []any, arrival string) {
	if a.Status == 401 {
		return nil, nil, "401"
	}
	var others int
	subjects := w.subjects(y.to)
	var search func(v any, steps []step, path []any)
	search = func(v any, steps []step, path []any) {
		switch v := v.(type) {
		case []any:
			for i, element := range v {
				search(element, steps, append(slices.Clone(path), i))
			}
		case map[string]any:
			switch {
			case len(steps) > 0:
				search(v[steps[0].name()], steps[1:], append(slices.Clone(path), steps[0].name()))
			case v["walk"] != y.to: // another member of the union
			case len(subjects) > 0 && !slices.Contains(subjects, fmt.Sprint(cmp.Or(v["id"], v["noteId"]))): // which a deleted note has
				others++
			case object == nil:
				object, at = v, path
			}
		}
	}
	if a.Data != nil {
		search(a.Data, y.steps, nil)
	}
	switch {
	case object != nil:
		return object, at, reached
	case others > 0:
		return nil, nil, another
	}
	for _, err := range a.Errors {
		if alongside(err.Path, y) {
			return nil, nil, err.Extensions.Code
		}
	}
	return nil, nil, null
}

// alongside reports whether what failed lies on the way, or below its end.
func alongside(path []any, y way) bool {
	i := 0
	for _, name := range path {
		if _, is := name.(string); !is {
			continue // the index of an element
		}
		if i == len(y.steps) {
			break
		}
		if name != y.steps[i].name() {
			return false
		}
		i++
	}
	return true
}

// samePath compares the path of an error, in which JSON made numbers floats, with one of ours.
func samePath(got, want []any) bool {
	return fmt.Sprint(got) == fmt.Sprint(want)
}

// fieldLines returns "Type.field" of every object type that is not GraphQL's own.
func fieldLines(schema *ast.Schema) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(schema.Types)) {
		for _, f := range objectFields(schema, name) {
			lines = append(lines, name+"."+f.Name)
		}
	}
	return lines
}

func objectFields(schema *ast.Schema, name string) []*ast.FieldDefinition {
	def := schema.Types[name]
	if def.Kind != ast.Object || def.BuiltIn || strings.HasPrefix(name, "__") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(def.Fields), func(f *ast.FieldDefinition) bool { return strings.HasPrefix(f.Name, "__") })
}
