package resolvers

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/loaders"
)

// Each type of the contract that is a node can be read by its id.
func TestEachNodeIsAKind(t *testing.T) {
	schema, err := os.ReadFile("../schema.graphqls")
	require.NoError(t, err)
	var nodes, known []string
	for _, found := range regexp.MustCompile(`(?m)^type (\w+) implements ([\w &]*\b)?Node\b`).FindAllSubmatch(schema, -1) {
		nodes = append(nodes, string(found[1]))
	}
	require.NotEmpty(t, nodes)
	for _, k := range new(Resolver).kinds(&loaders.Loaders{}, &wave{}) {
		known = append(known, k.typ)
	}
	assert.ElementsMatch(t, nodes, known)
}
