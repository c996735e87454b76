package permissions

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/taggie/taggie/internal/apitest"
)

// atATime is how many ways one operation asks for: more would have too many tokens.
const atATime = 20

// ofTheMoment are the ends of ways whose values tell of the moment at which they are asked for: until when changes were read.
var ofTheMoment = []string{"noteChanges.pageInfo", "noteChanges.edges", "noteChanges"}

// nothing are values that this world lacks: nothing failed in it and nothing was revoked, nothing was added to a score or taken out of it, and no team was deleted.
var nothing = []string{"AnnotationChange.after", "Archive.message", "Category.mergedAt", "Category.retiredAt", "PageChange.before", "ProjectExport.message", "ProjectImport.message", "ProjectInvitation.revokedAt", "Subcategory.mergedAt", "Subcategory.retiredAt", "Team.deletedAt"}

// TestEachFieldAloneIsWhatItIsAmongOthers asks for the values of every object type that a query leads to: first for all of an object, then for
// each alone. What a server leaves out because nobody asked for it must be nothing that a field needs.
func TestEachFieldAloneIsWhatItIsAmongOthers(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	a := among{newWorld(t, newWalkServer(t), "owner"), schema, map[string]bool{}}
	a.role = "admin"
	a.letters() // which only administrators see
	ways := slices.DeleteFunc(waysOf(t, schema), func(y way) bool {
		return y.root != "query" || len(y.steps) == 0 || len(a.values(y)) == 0 || slices.ContainsFunc(ofTheMoment, func(end string) bool { return strings.HasSuffix(y.path(), end) })
	})
	for _, asker := range []*apitest.Client{a.owner, a.people["edit"], a.people["revoked"], a.Admin(a.address("admin"))} { // others only for what is not the owner's
		a.asker = asker
		for some := range slices.Chunk(a.lacking(ways), atATime) {
			a.along(some)
		}
	}
	for _, line := range nothing {
		a.compared[line] = true
	}
	for _, y := range a.lacking(ways) {
		for _, field := range a.values(y) {
			line := y.to + "." + alone{field: field}.name()
			assert.True(t, a.compared[line], "%s was nothing wherever it was asked for", line)
			a.compared[line] = true
		}
	}
}

// among are the values of a world, each to be asked for alone and among others.
type among struct {
	*world
	schema   *ast.Schema
	compared map[string]bool
}

// alone is a field at the end of a way, and what the way leads to when all values are asked for.
type alone struct {
	way   way
	all   map[string]any
	field string
}

func (o alone) name() string {
	name, _, _ := strings.Cut(o.field, "(")
	return name
}

// lacking are the ways to types of which some value was not compared yet.
func (a among) lacking(ways []way) []way {
	return slices.DeleteFunc(slices.Clone(ways), func(y way) bool {
		return !slices.ContainsFunc(a.values(y), func(field string) bool { return !a.compared[y.to+"."+alone{field: field}.name()] })
	})
}

// along compares what is at the ends of ways. Large values are asked for one by one, as an operation with all of them would cost too much.
func (a among) along(ways []way) {
	a.T.Helper()
	var small, large [][]alone // by operation
	for _, y := range ways {
		all := a.ask(fill("{ "+y.selecting(a.values(y)...)+" }", a.world.values(y.to))).Data
		for n, field := range a.values(y) {
			one := alone{y, all, field}
			if a.schema.Types[y.to].Fields.ForName(one.name()).Directives.ForName("cost") != nil {
				large = append(large, []alone{one})
				continue
			}
			for len(small) <= n {
				small = append(small, nil)
			}
			small[n] = append(small[n], one)
		}
	}
	for _, operation := range slices.Concat(small, large) {
		if len(operation) > 0 {
			a.compare(operation)
		}
	}
}

// compare asks for fields of several ways in one operation.
func (a among) compare(fields []alone) {
	a.T.Helper()
	var document strings.Builder
	for i, o := range fields {
		fmt.Fprintf(&document, " a%d: %s", i, fill(o.way.selecting(o.field), a.world.values(o.way.to)))
	}
	shown := a.ask("{" + document.String() + " }")
	for i, o := range fields {
		found, below := 0, o.way.steps[1:]
		want := only(o.all[o.way.steps[0].name()], below, o.name(), &found)
		a.compared[o.way.to+"."+o.name()] = a.compared[o.way.to+"."+o.name()] || found > 0
		assert.Equal(a.T, want, only(shown.Data[fmt.Sprintf("a%d", i)], below, o.name(), &found), "%s of %s", o.name(), o.way.line())
	}
}

// values are the fields at the end of a way that have a value, with their arguments.
func (a among) values(y way) (fields []string) {
	for _, f := range objectFields(a.schema, y.to) {
		if !composite(a.schema, f) {
			fields = append(fields, f.Name+arguments[y.to+"."+f.Name])
		}
	}
	return fields
}

// selecting is the way as a selection, with fields at its end.
func (y way) selecting(fields ...string) string {
	var b strings.Builder
	for _, s := range y.steps {
		b.WriteString(" " + s.field + " { ... on " + s.to + " {")
	}
	b.WriteString(" " + strings.Join(fields, " ") + strings.Repeat(" }", 2*len(y.steps)))
	return strings.TrimSpace(b.String())
}

// only leaves one field of the objects at the end of a way, and counts where it is something.
func only(value any, steps []step, field string, found *int) any {
	switch value := value.(type) {
	case []any:
		all := make([]any, len(value))
		for i := range value {
			all[i] = only(value[i], steps, field, found)
		}
		return all
	case map[string]any:
		if len(steps) > 0 {
			return only(value[steps[0].name()], steps[1:], field, found)
		}
		there, ok := value[field]
		if !ok {
			return nil // of another type
		}
		if there != nil && there != "" && !reflect.DeepEqual(there, map[string]any{}) {
			*found++
		}
		return unsigned(there)
	}
	return value
}

// unsigned is a value without the signature of an address, which differs from second to second.
func unsigned(value any) any {
	text, _ := value.(string)
	if address, err := url.Parse(text); err == nil && address.Query().Has("X-Amz-Signature") {
		address.RawQuery = ""
		return address.String()
	}
	return value
}
