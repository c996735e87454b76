//go:build linux || darwin || freebsd

package embedded

import (
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// Room returns how many bytes the engines of a data directory can still write: what is left of its disk, or of the size that
// this process and its children may give a file (ulimit -f).
func Room(dir string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	room := float64(disk.Bavail) * float64(disk.Bsize)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err == nil && float64(limit.Cur) < room {
		room = min(room, float64(limit.Cur)-float64(largestFile(filepath.Join(dir, DynamoDB))))
	}
	return int64(min(max(room, 0), math.MaxInt64/2)), nil
}

// largestFile returns the size of the largest file in a directory.
func largestFile(dir string) (size int64) {
	files, _ := os.ReadDir(dir) // a directory that is not there has none
	for _, file := range files {
		if info, err := file.Info(); err == nil && info.Mode().IsRegular() {
			size = max(size, info.Size())
		}
	}
	return size
}

// surviveFullDisk makes a file that may not grow an error of the write, here and in the engines, which inherit it. The
// signal would end them.
func surviveFullDisk() { signal.Ignore(syscall.SIGXFSZ) }
