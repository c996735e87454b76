//go:build unix

package child

import (
	"fmt"
	"os"
	"syscall"
)

// identity tells a directory from all others that exist, whatever they are called; it is "" when nobody knows. A copy has
// another one, a directory that was renamed keeps its own.
func identity(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
