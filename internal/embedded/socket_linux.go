package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
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

// handing is how long the gate has to hand a connection over, if its context does not say less.
const handing = 5 * time.Second

// direct asks the gate for the connection to the program itself, which takes the place of the one to the gate. It is one in the
// program's network, and costs no more than any other.
func direct(ctx context.Context, gate net.Conn) (net.Conn, error) {
	socket, ok := gate.(*net.UnixConn)
	if !ok {
		return gate, nil
	}
	deadline := time.Now().Add(handing)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := socket.SetDeadline(deadline); err != nil {
		return gate, err
	}
	if _, err := socket.Write([]byte{0}); err != nil {
		return gate, err
	}
	handle := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := socket.ReadMsgUnix(make([]byte, 1), handle)
	if err != nil {
		return gate, err
	}
	messages, err := syscall.ParseSocketControlMessage(handle[:n])
	if err != nil || len(messages) != 1 {
		return gate, errors.Join(errors.New("the gate does not hand the connection over"), err)
	}
	handles, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(handles) != 1 {
		return gate, errors.Join(errors.New("the gate does not hand the connection over"), err)
	}
	file := os.NewFile(uintptr(handles[0]), "engine")
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file) // which has a handle of its own
	if err != nil {
		return gate, err
	}
	_ = gate.Close()
	return conn, nil
}
