package score

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The bounds of a process that decodes an image, besides memory.
const (
	renderSeconds = 60 // of CPU: its request ends long before, and kills it
	politeness    = 5  // it gives way to what answers requests
)

// alone lets the kernel kill the child when we die, and keeps signals of a terminal from it.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// confine bounds what this process takes up from now on: the runtime ends it with heavyExit when it gets no more memory.
func confine(memory int64) error {
	status := statusOf("VmData")
	// The runtime maps what it keeps books in besides, and rounds up.
	books := int64(16 << 20)
	if linked, err := os.ReadFile("/proc/self/maps"); err != nil || strings.Contains(string(linked), "libc") {
		// Each thread that may still be started maps the stack that libc gives it (8 MiB, ulimit -s), and touches next to nothing of it.
		books += 8 * (8 << 20)
	}
	if err := setRlimit(syscall.RLIMIT_CPU, renderSeconds); err != nil {
		return err
	}
	// RLIMIT_DATA counts what is mapped to be written, not what the runtime reserves.
	const data = 2
	if raced {
		memory *= 16
	}
	if err := setRlimit(data, uint64(status+memory+books)); err != nil { //nolint:gosec // never negative
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PGRP, 0, politeness) // with all threads
}

func setRlimit(what int, most uint64) error {
	return syscall.Setrlimit(what, &syscall.Rlimit{Cur: most, Max: most})
}

// peak is how many bytes this process took up at most.
func peak() int64 { return statusOf("VmHWM") }

// statusOf reads how many bytes a line of /proc/self/status tells, 0 when it cannot be read.
func statusOf(name string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, name+":"); is {
			kilobytes, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}
