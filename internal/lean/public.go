package lean

import "github.com/vektah/gqlparser/v2/ast"

// Public returns the schema without the directives that no document can use: what they say is for the server and for readers of
// the file, and introspection tells only what clients may do.
func Public(schema *ast.Schema) *ast.Schema {
	for name, d := range schema.Directives {
		if !d.Position.Src.BuiltIn && !executable(d.Locations) {
			delete(schema.Directives, name)
		}
	}
	return schema
}

func executable(locations []ast.DirectiveLocation) bool {
	for _, l := range locations {
		switch l {
		case ast.LocationQuery, ast.LocationMutation, ast.LocationSubscription, ast.LocationField, ast.LocationVariableDefinition,
			ast.LocationFragmentDefinition, ast.LocationFragmentSpread, ast.LocationInlineFragment:
			return true
		}
	}
	return false
}
