//go:build unix && !linux

package child

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// attributes keeps a Ctrl-C in the terminal from reaching the child: the server stops its engines
// itself. Nothing here ends the child when we are killed; the end of its standard input does, or the pid file
// at the next start.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// CommandLine returns the command line of a process that runs.
func CommandLine(pid int) (string, bool) { return ask(pid, "command=") }

// startTime returns when a process started.
func startTime(pid int) (string, bool) { return ask(pid, "lstart=") }

// Stopped reports whether a process stands still after SIGSTOP.
func Stopped(pid int) bool {
	state, ok := ask(pid, "state=")
	return ok && strings.HasPrefix(state, "T")
}

// ask has ps tell one thing about a process.
func ask(pid int, what string) (string, bool) {
	out, err := exec.Command("ps", "-ww", "-o", what, "-p", strconv.Itoa(pid)).Output()
	text := strings.TrimSpace(string(out))
	return text, err == nil && text != ""
}
