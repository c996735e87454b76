package rules

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// widest is how much of all lines a folder may have, in percent: one that has more is about several things.
const widest = 8

var (
	source    = regexp.MustCompile(`\.(css|go|graphqls?|html|js|jsx|lua|ts|tsx)$`)
	aTest     = regexp.MustCompile(`_test\.go$|\.test\.[jt]s$`)
	generated = regexp.MustCompile(`(?m)^(//|/\*) (Code generated .* DO NOT EDIT|eslint-disable)|^# Code generated`)
)

// Lines written by hand, without tests, by folder.
func TestNoFolderIsAHall(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	require.NoError(t, err)
	lines, total := map[string]int{}, 0
	for file := range strings.FieldsSeq(string(out)) {
		if !source.MatchString(file) || aTest.MatchString(file) {
			continue
		}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) { // removed, and not committed yet
			continue
		}
		require.NoError(t, err)
		if generated.Match(text[:min(len(text), 500)]) {
			continue
		}
		n := bytes.Count(text, []byte("\n"))
		lines[path.Dir(file)] += n
		total += n
	}
	require.Greater(t, total, 50_000, "what is counted")
	for folder, n := range lines {
		assert.LessOrEqual(t, n*100, widest*total, "%s has %d of %d lines: divide it", folder, n, total)
	}
}
