//go:build unix

package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnExportIntoWhatIsNoRegularFileGoesThereDirectly(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	away := errors.New("the store is away")
	for _, failed := range []error{nil, away} {
		read := make(chan []byte, 1)
		go func() {
			text, _ := os.ReadFile(pipe)
			read <- text
		}()
		require.ErrorIs(t, export(t, pipe, "all", failed), failed)
		assert.True(t, bytes.HasPrefix(<-read, []byte("all")))
		info, err := os.Lstat(pipe)
		require.NoError(t, err)
		assert.Equal(t, os.ModeNamedPipe, info.Mode().Type(), "it is not ours to remove or replace")
	}
}
