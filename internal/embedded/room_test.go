//go:build linux

package embedded

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoomIsWhatTheDiskHas(t *testing.T) {
	dir := t.TempDir()
	var disk syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &disk))
	room, err := Room(dir)
	require.NoError(t, err)
	assert.InEpsilon(t, float64(disk.Bavail)*float64(disk.Bsize), room, 0.2, "others write too")
	_, err = Room(filepath.Join(dir, "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTheLargestFileCounts(t *testing.T) {
	dir := t.TempDir()
	assert.Zero(t, largestFile(filepath.Join(dir, "nowhere")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 10), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), make([]byte, 30), 0o600))
	assert.EqualValues(t, 30, largestFile(dir))
}
