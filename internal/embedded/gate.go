package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"runtime"
)

// DynamoDB's program checks no credentials and answers every web page. A gate (embedded/gate) stands in front of it: a socket that only the
// owner of the data directory can open. On Linux both are in a network namespace of their own, where nobody else reaches the program's
// port; where that is refused, the port is at an address that is hard to find.

const (
	socketName    = "socket"         // in the engine's directory
	addressInside = "127.0.0.1:8000" // of the program, in the namespace, where nobody else is
	exitNoNetwork = 3                // what the gate ends with when it cannot use its namespace
)

// gated reports whether a gate is in front of the program.
func (e *engine) gated() bool { return e.gate != "" }

// command returns what starts the program, and its gate if it has one.
func (e *engine) command() *exec.Cmd {
	path, args, environment := e.path, e.arguments(e.dir, e.address), e.environment(e.keys)
	if e.gated() {
		flags := []string{"-socket", socketName, "-engine", e.address}
		if e.open {
			environment = append(environment, "TAGGIE_GATE_CREDENTIAL="+e.keys.gate())
		} else {
			flags = append(flags, "-own-network")
		}
		path, args = e.gate, append(append(flags, "--", path), args...)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = e.dir // the gate's socket has a short path from here
	// The server's environment holds secrets that are none of an engine's business.
	cmd.Env = append(keepVariables("PATH", "HOME", "TMPDIR", "TMP", "TEMP"), environment...)
	return cmd
}

// where returns the address by which the engine is reached, as it is announced.
func (e *engine) where() string {
	switch {
	case !e.gated():
		return e.address
	case e.open:
		return gatePrefix + e.name + "/" + socketName
	default:
		return socketPrefix + e.name + "/" + socketName
	}
}

// answers asks the engine whether it is there.
func (e *engine) answers(ctx context.Context) error {
	return e.probe(ctx, endpoint(e.name, e.data, e.where(), e.keys))
}

// freeAddress returns a loopback address that nobody uses at the moment. A hidden one is any of 127.0.0.0/8 where the system has all of
// them: other users can still read it from the list of what is listening, but no web page can try them all.
func freeAddress(hidden bool) (string, error) {
	host := "127.0.0.1"
	if hidden && (runtime.GOOS == "linux" || runtime.GOOS == "windows") {
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	}
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
