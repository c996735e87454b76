package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/config"
)

func TestTrustedDocumentsAreReadAtTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest.json")
	read := func(mode string) (int, error) {
		cfg, err := config.Load([]string{"TAGGIE_TRUSTED_DOCUMENTS=" + path, "TAGGIE_TRUSTED_DOCUMENTS_MODE=" + mode})
		require.NoError(t, err)
		trusted, err := trustedDocuments(cfg)
		if err == nil {
			assert.Equal(t, mode, string(trusted.Mode))
		}
		return trusted.Len(), err
	}
	_, err := read("log")
	require.ErrorContains(t, err, "TAGGIE_TRUSTED_DOCUMENTS: ")

	require.NoError(t, os.WriteFile(path, []byte(`{"a": 1}`), 0o600))
	_, err = read("log")
	require.ErrorContains(t, err, "TAGGIE_TRUSTED_DOCUMENTS: expected the text")

	require.NoError(t, os.WriteFile(path, []byte(`{"a": "{ viewer { name } }"}`), 0o600))
	n, err := read("enforce")
	require.NoError(t, err)
	assert.Equal(t, 1, n)

	trusted, err := trustedDocuments(config.Config{})
	require.NoError(t, err)
	assert.Zero(t, trusted.Len())
}
