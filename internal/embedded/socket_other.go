//go:build !linux

package embedded

import (
	"context"
	"fmt"
	"net"
)

// longestSocket is how long the path of a socket may be on any system.
const longestSocket = 103

// dialSocket connects to a Unix socket.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	if len(path) > longestSocket {
		return nil, fmt.Errorf("the path %s has more than %d bytes, which is too long for a socket: set TAGGIE_DATA to a shorter one", path, longestSocket)
	}
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// direct leaves it to the gate to copy what goes over a connection.
func direct(_ context.Context, gate net.Conn) (net.Conn, error) { return gate, nil }
