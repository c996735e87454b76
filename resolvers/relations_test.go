package resolvers

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// oneWay are the relations that can be walked in one direction only, each with its reason.
var oneWay = map[string]string{
	"ProjectInvitation to Team":        "Project.invitations lists them all, and they are few",
	"ProjectExport to User":            "what somebody did in projects is not listed for others; the lists of the project have it",
	"ProjectImport to User":            "the same",
	"ProjectInvitation to User":        "the same",
	"ProjectItem to User":              "the same; Project.viewerClaims lists one's own",
	"ProjectItemEffort to User":        "the same; statistics count it for each member",
	"ProjectRemoval to User":           "the same",
	"Project to Tag":                   "a tag is a word of one author; in which projects files carry it is told by their items",
	"Team to User":                     "which teams somebody is in is told to members of the project, by its members",
	"User to Archive":                  "an archive is shown to its user alone",
	"Version to User":                  "what somebody wrote in the notes of others is not listed",
	"Version to Tag":                   "a tag lists notes as they are now; versions by tags need an index that nothing else needs",
	"ProjectItemEffort to Category":    "efforts by categories need an index that nothing else needs; items are listed by theirs",
	"ProjectItemEffort to Subcategory": "the same",
	"ProjectRemoval to ProjectImport":  "removals by imports need an index that nothing else needs; a project has few",
}

// Who has one of two related nodes can come to the other one.
func TestRelationsCanBeWalkedBothWays(t *testing.T) {
	text, err := os.ReadFile("../schema.graphqls")
	require.NoError(t, err)
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(text)})
	require.NoError(t, err)

	isNode := func(d *ast.Definition) bool { return d.Kind == ast.Object && slices.Contains(d.Interfaces, "Node") }
	// reached returns the nodes in a type, be it one, or a connection, an edge or a union of them.
	var reached func(name string, seen map[string]bool) map[string]bool
	reached = func(name string, seen map[string]bool) map[string]bool {
		d, all := schema.Types[name], map[string]bool{}
		switch {
		case seen[name]:
		case isNode(d):
			all[name] = true
		default:
			seen[name] = true
			below := slices.Clone(d.Types)
			if d.Kind == ast.Object {
				for _, f := range d.Fields {
					below = append(below, f.Type.Name())
				}
			}
			for _, b := range below {
				for node := range reached(b, seen) {
					all[node] = true
				}
			}
		}
		return all
	}
	from := map[string]map[string]bool{}
	for name, d := range schema.Types {
		if isNode(d) {
			from[name] = map[string]bool{}
			for _, f := range d.Fields {
				for node := range reached(f.Type.Name(), map[string]bool{}) {
					from[name][node] = true
				}
			}
		}
	}
	require.NotEmpty(t, from)
	missing := map[string]bool{}
	for a, there := range from {
		for b := range there {
			if !from[b][a] {
				missing[a+" to "+b] = true
				assert.Contains(t, oneWay, a+" to "+b, "nothing of %s leads back to %s: add a field, or say here why there is none", b, a)
			}
		}
	}
	for relation := range oneWay {
		assert.True(t, missing[relation], "%s can be walked back by now, or is no relation", relation)
	}
}
