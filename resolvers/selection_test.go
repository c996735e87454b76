package resolvers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/vektah/gqlparser/v2/ast"
)

// A user of whom only a field is selected that is new, and derived from others, must be read for it.
func TestAFieldOfAUserNeedsTheUserUnlessItIsFoundById(t *testing.T) {
	for name, reads := range map[string]bool{"id": false, "__typename": false, "notes": false, "scoreCount": false, "name": true, "email": true, "initials": true} {
		set := ast.SelectionSet{&ast.Field{Name: name}}
		assert.Equal(t, reads, showsProfile(set), name)
		assert.Equal(t, reads, showsProfile(ast.SelectionSet{&ast.InlineFragment{SelectionSet: set}}), name)
		assert.Equal(t, reads, showsProfile(ast.SelectionSet{&ast.FragmentSpread{Definition: &ast.FragmentDefinition{SelectionSet: set}}}), name)
	}
}
