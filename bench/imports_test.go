package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What an import needs of a server that is not there changes with the server: the comparison still comes to its end.
func TestImportsAreComparedWithALoop(t *testing.T) {
	require.NoError(t, compareImports(t.Context(), options{items: 200, runs: 1, inMemory: true}))
}
