package permissions

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const matrixFile = "internal/apitest/permissions/testdata/permissions.md"

// readMatrix returns the outcomes of each line in the order of the roles.
func readMatrix(t *testing.T) map[string][]string {
	t.Helper()
	file, err := os.Open(matrixFile)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	matrix := map[string][]string{}
	lines, inside := bufio.NewScanner(file), false
	for lines.Scan() {
		cells := strings.Split(strings.Trim(lines.Text(), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == "field" || cells[0] == "way":
			inside = true
			require.Equal(t, roles, cells[1:], "the columns of %s are not the roles", matrixFile)
			continue
		case !strings.HasPrefix(lines.Text(), "|"):
			inside = false
			continue
		case !inside || strings.HasPrefix(lines.Text(), "|-"):
			continue
		}
		require.Len(t, cells, len(roles)+1, "%s", lines.Text())
		require.NotContains(t, matrix, cells[0], "two lines for one field")
		matrix[cells[0]] = cells[1:]
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, matrix)
	return matrix
}

// assertMatrix fails for lines that are missing, that name nothing, and that differ from what was observed.
func assertMatrix(t assert.TestingT, matrix, observed map[string][]string) {
	all := make([]string, 0, len(observed))
	for line := range observed {
		all = append(all, line)
	}
	slices.Sort(all)
	for _, line := range all {
		if _, ok := matrix[line]; !ok {
			assert.Fail(t, "no line for "+line, "judge what was observed, and if it is right, add to %s:\n%s", matrixFile, row(line, observed[line]))
			continue
		}
		assert.Equal(t, row(line, matrix[line]), row(line, observed[line]), "the matrix says, and what was observed")
	}
	for line := range matrix {
		if _, ok := observed[line]; !ok {
			assert.Fail(t, "the line "+line+" names no field", "neither is it a way along fields of the schema; remove it from %s", matrixFile)
		}
	}
}

// row spells a line as the file does.
func row(line string, cells []string) string {
	var b strings.Builder
	b.WriteString("| " + pad(line, 44))
	for i, cell := range cells {
		b.WriteString(" | " + pad(cell, max(len(roles[i]), 9)))
	}
	return b.String() + " |"
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-len(text)))
}

// complaints are what a test would fail with.
type complaints []string

// Errorf keeps a complaint.
func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

func TestTheMatrixFailsForEachDifference(t *testing.T) {
	cells := func(first string) []string {
		return append([]string{first}, slices.Repeat([]string{null}, len(roles)-1)...)
	}
	line := map[string][]string{"User.name": cells(value)}
	tests := map[string]struct {
		matrix, observed map[string][]string
		want             string
	}{
		"a field without a line":   {nil, line, "no line for User.name"},
		"a line without a field":   {map[string][]string{"User.name": cells(value), "User.gone": cells(value)}, line, "names no field"},
		"an outcome that differs":  {line, map[string][]string{"User.name": cells("FORBIDDEN")}, "what was observed"},
		"a role that is not asked": {line, map[string][]string{"User.name": cells(unreached)}, "what was observed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var found complaints
			assertMatrix(&found, tt.matrix, tt.observed)
			require.Len(t, found, 1)
			assert.Contains(t, found[0], tt.want)
		})
	}
	var found complaints
	assertMatrix(&found, line, line)
	assert.Empty(t, found)
}
