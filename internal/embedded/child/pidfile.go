package child

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// PidFile is the path of a file that remembers a child across a kill -9 of its parent, for systems that do
// not end the one with the other. Who uses it must hold a lock that keeps others away.
//
// The file may be a copy: who copies the directory of a running server copies its pid files too. It therefore also says
// which directory it was written in, and counts nowhere else.
type PidFile string

// remembered is what a pid file says.
type remembered struct {
	pid       int
	started   string // when the process started, as the operating system spells it: process ids are used again
	directory string // which directory the file was written in
	command   string // the command line
}

// Write remembers the process.
func (f PidFile) Write(p *Process) error {
	pid := p.cmd.Process.Pid
	started, _ := startTime(pid) // a process that is over needs no remembering
	return f.write(remembered{pid: pid, started: started, directory: identity(filepath.Dir(string(f))), command: strings.Join(p.cmd.Args, " ")})
}

func (f PidFile) write(r remembered) error {
	text := strings.Join([]string{strconv.Itoa(r.pid), r.started, r.directory, r.command, ""}, "\n")
	return os.WriteFile(string(f), []byte(text), 0o600)
}

// Read returns the process id and the command line that the file remembers, and false if there are none.
func (f PidFile) Read() (pid int, command string, ok bool) {
	r, ok := f.read()
	return r.pid, r.command, ok
}

func (f PidFile) read() (remembered, bool) {
	data, err := os.ReadFile(string(f))
	if err != nil {
		return remembered{}, false
	}
	lines := strings.SplitN(string(data), "\n", 4)
	if len(lines) < 4 || !strings.HasSuffix(lines[3], "\n") {
		return remembered{}, false // damaged: nothing is known, so nothing will be killed
	}
	r := remembered{started: lines[1], directory: lines[2], command: strings.TrimSuffix(lines[3], "\n")}
	r.pid, err = strconv.Atoi(lines[0])
	return r, err == nil && r.pid > 1 && r.started != "" && r.directory != ""
}

// Remove forgets the process.
func (f PidFile) Remove() error {
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Running returns the id of the process that the file remembers, and false if it does not run, or the file was written in another directory.
func (f PidFile) Running() (pid int, running bool) {
	r, ok := f.read()
	return r.pid, ok && r.directory == identity(filepath.Dir(string(f))) && r.runs()
}

// EndStale kills the process that the file remembers, if it still runs, and forgets it. It kills nothing when the file was
// written in another directory than the one where it lies now: the process belongs to whoever uses that one.
func (f PidFile) EndStale(ctx context.Context) error {
	r, ok := f.read()
	if !ok || r.directory != identity(filepath.Dir(string(f))) {
		return f.Remove()
	}
	for killed := false; ; {
		if !r.runs() {
			return f.Remove()
		}
		if !killed {
			process, err := os.FindProcess(r.pid)
			if err != nil {
				return err
			}
			_ = process.Kill() // if it fails, the next look tells
			killed = true
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("process %d of an earlier run does not end; end it by hand: %w", r.pid, context.Cause(ctx))
		}
	}
}

// runs reports whether the process still runs, and is not another one with the same id.
func (r remembered) runs() bool {
	command, ok := CommandLine(r.pid)
	if !ok || command != r.command {
		return false
	}
	started, ok := startTime(r.pid)
	return ok && started == r.started
}
