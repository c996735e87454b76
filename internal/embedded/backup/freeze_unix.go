//go:build unix

package backup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/taggie/taggie/internal/embedded/child"
)

// Freeze stops a process, says so on out, and lets it go on when in ends, or after [Longest]: then it returns an error. It is to be called
// by a process of its own: what stopped another one must outlive whoever asked for it.
func Freeze(pid int, in io.Reader, out io.Writer) (err error) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	late := time.After(Longest)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	defer func() {
		if gone := syscall.Kill(pid, syscall.SIGCONT); gone != nil {
			err = errors.Join(err, fmt.Errorf("let process %d go on: %w", pid, gone))
		}
	}()
	for !child.Stopped(pid) {
		select {
		case <-late:
			return ErrLate
		case <-time.After(time.Millisecond):
		}
	}
	if _, err := fmt.Fprintln(out, standing); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(ended)
	}()
	select {
	case <-ended:
		if !child.Stopped(pid) {
			return fmt.Errorf("somebody else had process %d go on", pid)
		}
		return nil
	case <-late:
		return ErrLate
	}
}

// standing is what [Freeze] says.
const standing = "the process stands still"

// frozen does something while a command has a process stand still. It returns an error, too, when that was not so until the end.
func frozen(pid int, command *exec.Cmd, do func() error) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is not for it
	var said bytes.Buffer
	command.Stderr = &said
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(line) == standing {
		err = do()
	}
	_ = in.Close()
	if wrong := command.Wait(); wrong != nil {
		_ = syscall.Kill(pid, syscall.SIGCONT) // in case the command was killed
		if strings.Contains(said.String(), ErrLate.Error()) {
			wrong = ErrLate
		}
		err = errors.Join(err, fmt.Errorf("have S3 stand still: %w: %s", wrong, strings.TrimSpace(said.String())))
	}
	return err
}

// syncDir has the disk keep the names in a directory.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
