package rules

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A release says the same of the pages, too, but only when one is made.
func TestNoticeNamesTheModulesOfOurPrograms(t *testing.T) {
	text, err := os.ReadFile("NOTICE")
	require.NoError(t, err)
	named := strings.FieldsFunc(string(text), func(c rune) bool { return strings.ContainsRune(", \n", c) })
	for _, dir := range []string{".", "embedded/s3", "embedded/redis", "embedded/gate"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".")
		list.Dir = dir
		out, err := list.Output()
		require.NoError(t, err, dir)
		modules := slices.Compact(slices.Sorted(strings.FieldsSeq(string(out))))
		for _, module := range modules {
			assert.Contains(t, named, module, "of %s: add it to NOTICE, with its licence", dir)
		}
	}
}
