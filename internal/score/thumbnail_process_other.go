//go:build !linux

package score

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// alone has nothing to add where a process group and a signal of death are not to be had alike: the child ends with its standard input.
func alone() *syscall.SysProcAttr { return nil }

// confine bounds what this process takes up from now on. No system but Linux bounds what a Go program maps without what it reserves,
// so that the process looks after itself.
func confine(memory int64) error {
	const books, often = 48 << 20, 2 * time.Millisecond
	go func() {
		for {
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.Sys > uint64(memory+books) { //nolint:gosec // never negative
				os.Exit(heavyExit)
			}
			time.Sleep(often)
		}
	}()
	return nil
}

func peak() int64 { return 0 }
