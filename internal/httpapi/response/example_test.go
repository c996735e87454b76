package response_test

import (
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"github.com/taggie/taggie/internal/httpapi/response"
)

func ExampleParts() {
	head, data, tail := response.Parts(&graphql.Response{Data: []byte(`{"viewer":{"name":"Ada"}}`), Extensions: map[string]any{"cost": 2}})
	fmt.Printf("%s%s%s\n", head, data, tail)
	// Output: {"data":{"viewer":{"name":"Ada"}},"extensions":{"cost":2}}
}
