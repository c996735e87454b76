package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
)

func TestTrustedDocumentsAreReadWithTheSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest.json")
	var board []byte
	read := func(more ...string) (int, error) {
		_, trusted, err := LoadServer(append(more, "TAGGIE_TRUSTED_DOCUMENTS="+path, "TAGGIE_TRUSTED_DOCUMENTS_MODE=enforce"), board)
		if err == nil {
			assert.Equal(t, "enforce", string(trusted.Mode))
		}
		return trusted.Len(), err
	}
	_, err := read("TAGGIE_LOG_LEVEL=loud")
	all, ok := errors.AsType[*config.Error](err)
	require.True(t, ok, "%v", err)
	require.Len(t, all.Problems, 2, "it is one of the problems: %v", err)
	require.ErrorContains(t, err, "TAGGIE_TRUSTED_DOCUMENTS: expected the path of a file")

	require.NoError(t, os.WriteFile(path, []byte(`{"a": 1}`), 0o600))
	_, err = read()
	require.ErrorContains(t, err, "TAGGIE_TRUSTED_DOCUMENTS: expected the text")

	require.NoError(t, os.WriteFile(path, []byte(`{"a": "{ viewer { name } }"}`), 0o600))
	n, err := read()
	require.NoError(t, err)
	assert.Equal(t, 1, n)

	board = []byte(`{"b": "{ viewer { id } }"}`)
	n, err = read()
	require.NoError(t, err)
	assert.Equal(t, 2, n, "and those of the board")

	_, trusted, err := LoadServer(nil, board)
	require.NoError(t, err)
	assert.Zero(t, trusted.Len())
}
