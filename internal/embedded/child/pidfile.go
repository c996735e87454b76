package child

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// PidFile is the path of a file that remembers a child across a kill -9 of its parent, for systems that do
// not end the one with the other. Who uses it must hold a lock that keeps others away.
type PidFile string

// Write remembers the process.
func (f PidFile) Write(p *Process) error {
	return f.write(p.cmd.Process.Pid, strings.Join(p.cmd.Args, " "))
}

func (f PidFile) write(pid int, command string) error {
	return os.WriteFile(string(f), []byte(strconv.Itoa(pid)+"\n"+command+"\n"), 0o600)
}

// Read returns the process id and the command line that the file remembers, and false if there are none.
func (f PidFile) Read() (pid int, command string, ok bool) {
	data, err := os.ReadFile(string(f))
	if err != nil {
		return 0, "", false
	}
	number, command, whole := strings.Cut(string(data), "\n")
	pid, err = strconv.Atoi(number)
	if err != nil || pid <= 1 || !whole || !strings.HasSuffix(command, "\n") {
		return 0, "", false // damaged: nothing is known, so nothing will be killed
	}
	return pid, strings.TrimSuffix(command, "\n"), true
}

// Remove forgets the process.
func (f PidFile) Remove() error {
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// EndStale kills the process that the file remembers, if it still runs, and forgets it. Process ids are used
// again: the command line must be the remembered one too, so it should have something unique in it.
func (f PidFile) EndStale(ctx context.Context) error {
	pid, command, ok := f.Read()
	if !ok {
		return f.Remove()
	}
	for killed := false; ; {
		if now, ok := CommandLine(pid); !ok || now != command {
			return f.Remove()
		}
		if !killed {
			process, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			_ = process.Kill() // if it fails, the next look tells
			killed = true
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("process %d of an earlier run does not end; end it by hand: %w", pid, context.Cause(ctx))
		}
	}
}
