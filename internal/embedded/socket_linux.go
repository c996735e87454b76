package embedded

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// longestSocket is how long the path of a socket may be; the kernel has 108 bytes for it, the last of which is zero.
const longestSocket = 107

// openPath is O_PATH, which the standard library does not name: the directory is only named by it, neither read nor written.
const openPath = 0x200000

// dialSocket connects to a Unix socket, however long its path is.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	if len(path) > longestSocket {
		dir, err := syscall.Open(filepath.Dir(path), openPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
		}
		defer func() { _ = syscall.Close(dir) }()
		path = fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path))
	}
	return new(net.Dialer).DialContext(ctx, "unix", path)
}
