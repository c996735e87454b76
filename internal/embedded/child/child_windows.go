package child

import (
	"os"
	"syscall"
)

// attributes keeps a Ctrl-C in the terminal from reaching the child: the server stops its engines itself.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate kills: Windows knows no polite request to a process without a window.
func terminate(p *os.Process) error { return p.Kill() }

// CommandLine finds nothing: the standard library cannot ask Windows for another process's command line, and
// without it no process is certain to be ours. S3 and Redis end with their standard input instead.
func CommandLine(int) (string, bool) { return "", false }

// startTime and identity know nothing, so that nothing is killed.
func startTime(int) (string, bool) { return "", false }

func identity(string) string { return "" }
