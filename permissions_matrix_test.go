package main

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const matrixFile = "testdata/permissions.md"

// readMatrix returns the outcomes of each line in the order of the roles.
func readMatrix(t *testing.T) map[string][]string {
	t.Helper()
	file, err := os.Open(matrixFile)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	matrix := map[string][]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "|") || strings.HasPrefix(lines.Text(), "|-") {
			continue
		}
		cells := strings.Split(strings.Trim(lines.Text(), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		require.Len(t, cells, len(roles)+1, "%s", lines.Text())
		if cells[0] == "field" || cells[0] == "way" {
			require.Equal(t, roles, cells[1:], "the columns of %s are not the roles", matrixFile)
			continue
		}
		require.NotContains(t, matrix, cells[0], "two lines for one field")
		matrix[cells[0]] = cells[1:]
	}
	require.NoError(t, lines.Err())
	return matrix
}

// assertMatrix fails for lines that are missing, that name nothing, and that differ from what was observed.
func assertMatrix(t *testing.T, matrix, observed map[string][]string) {
	t.Helper()
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
		assert.Contains(t, observed, line, "a line of %s names no field or way of the schema", matrixFile)
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
