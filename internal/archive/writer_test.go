package archive_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/archive"
)

// largeFiles have as many zeros as anybody reads up to a size.
type largeFiles struct {
	archive.Files
	size int64
}

func (f largeFiles) Open(context.Context, string, int64) (io.ReadCloser, error) {
	return io.NopCloser(io.LimitReader(zeros{}, f.size)), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// counting counts what is written.
type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// Not run in parallel: it counts what the process allocates.
func TestFilesAreNotKeptInMemory(t *testing.T) {
	const size, files = 64 << 20, 4
	c := archive.Contents{Files: func(_ context.Context, _ archive.UserID, each func(archive.File) error) error {
		for i := range files {
			if err := each(archive.File{Key: "zeros", Path: fmt.Sprint("files/", i)}); err != nil {
				return err
			}
		}
		return nil
	}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	to := &counting{}
	written, err := archive.Write(t.Context(), to, archive.Archive{}, c, largeFiles{size: size}, nil)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Equal(t, files, written.Entries)
	assert.Greater(t, to.n, int64(size*files), "files are stored as they are")
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// An archive lists the first faults, and counts all.
func TestFaultsAreCountedBeyondThoseListed(t *testing.T) {
	t.Parallel()
	c := archive.Contents{Files: func(_ context.Context, _ archive.UserID, each func(archive.File) error) error {
		for i := range archive.MaxFaults + 5 {
			if err := each(archive.File{Key: "gone", Path: fmt.Sprint("files/", i)}); err != nil {
				return err
			}
		}
		return nil
	}}
	written, err := archive.Write(t.Context(), io.Discard, archive.Archive{}, c, &world{steps: -1}, nil)
	require.NoError(t, err)
	assert.Zero(t, written.Entries)
	assert.Len(t, written.Faults, archive.MaxFaults)
	assert.Equal(t, archive.MaxFaults+5, written.Mistakes)
}
