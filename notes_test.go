package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/gid"
)

// globalKey returns what a global id is made of: type and key.
func globalKey(t *testing.T, id string) []string {
	t.Helper()
	parsed, err := gid.Parse(id)
	require.NoError(t, err)
	return append([]string{parsed.Type}, parsed.Key...)
}
