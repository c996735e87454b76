package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// attributes lets the kernel kill the child when we die, and keeps a Ctrl-C in the terminal from
// reaching it: the server stops its engines itself, after it has answered what it had begun.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// isolated adds a network namespace. Only root may make one, but everybody may be root of a user namespace of their own, where the
// kernel, the container or a security module does not forbid that. Files are still made as the user who started us.
func isolated() (*syscall.SysProcAttr, error) {
	how := attributes()
	how.Cloneflags = syscall.CLONE_NEWNET
	if os.Geteuid() != 0 {
		how.Cloneflags |= syscall.CLONE_NEWUSER
		how.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		how.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return how, nil
}

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// CommandLine returns the command line of a process that runs; a zombie has none.
func CommandLine(pid int) (string, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(data) == 0 {
		return "", false
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(data), "\x00"), "\x00", " "), true
}

// startTime returns when a process started, in ticks since the machine did: the 22nd word of its state.
func startTime(pid int) (string, bool) {
	words := stat("/proc/" + strconv.Itoa(pid) + "/stat")
	if len(words) < 20 {
		return "", false
	}
	return words[19], true
}

// Stopped reports whether all threads of a process stand still after SIGSTOP.
func Stopped(pid int) bool {
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	for _, t := range threads {
		if words := stat(t); len(words) > 0 && words[0] != "T" {
			return false
		}
	}
	return err == nil && len(threads) > 0
}

// stat returns the words of the state of a process or thread, without the first two.
func stat(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	// The second word is the program's name in parentheses, which may hold blanks and parentheses itself.
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}
