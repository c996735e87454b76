//go:build unix

package apitest

import (
	"fmt"
	"strconv"
	"syscall"
)

// limitFiles lets this process, and the engines it starts, make no file larger than so many bytes; "" for no limit.
func limitFiles(size string) {
	if size == "" {
		return
	}
	n, err := strconv.ParseUint(size, 10, 63)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
	}
	if err != nil {
		panic(fmt.Sprint(WithFilesUpTo, ": ", err))
	}
}
