package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// results writes a text, and then fails or not.
func resultsOf(text string, err error) func(io.Writer, func(int) error) (int, error) {
	return func(w io.Writer, progress func(int) error) (int, error) {
		_, failed := io.WriteString(w, text)
		return 1, errors.Join(failed, progress(1), err)
	}
}

func export(t *testing.T, output, text string, err error) error {
	t.Helper()
	return exportCommand{Output: output}.write(&Terminal{Stdout: io.Discard, Stderr: io.Discard}, resultsOf(text, err))
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAnExportTakesThePlaceOfAFileWhenItIsComplete(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "out.csv"), filepath.Join(dir, "link.csv")
	require.NoError(t, export(t, file, "old", nil))
	info, err := os.Stat(file)
	require.NoError(t, err)
	fresh, err := os.OpenFile(filepath.Join(t.TempDir(), "x"), os.O_CREATE, 0o666)
	require.NoError(t, err)
	defer func() { _ = fresh.Close() }()
	usual, err := fresh.Stat()
	require.NoError(t, err)
	assert.Equal(t, usual.Mode(), info.Mode(), "as any new file")
	require.NoError(t, os.Chmod(file, 0o640))
	require.NoError(t, os.Symlink("out.csv", link))

	away := errors.New("the store is away")
	for _, target := range []string{file, link} {
		require.ErrorIs(t, export(t, target, "half", away), away)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, "old", string(text), "it stays until there is a new one")
		assert.Equal(t, []string{"link.csv", "out.csv"}, names(t, dir), "nothing is left behind")
	}
	require.NoError(t, export(t, link, "new", nil))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	info, err = os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode())
	info, err = os.Lstat(link)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSymlink, info.Mode().Type(), "a link stays one")
	assert.Equal(t, []string{"link.csv", "out.csv"}, names(t, dir))
}

func TestAnExportThatFailsLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	away := errors.New("the store is away")
	require.ErrorIs(t, export(t, filepath.Join(dir, "out.csv"), "half", away), away)
	assert.Empty(t, names(t, dir))
	require.Error(t, export(t, filepath.Join(dir, "none", "out.csv"), "x", nil))
	require.Error(t, export(t, dir, "x", nil), "a directory is no file")
	assert.Empty(t, names(t, dir))
}
