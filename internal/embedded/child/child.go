// Package child starts processes that do not outlive this one.
//
// It knows how a process is started, asked to end and killed on each operating system, and how one that was
// left by a killed parent is found again. It must not know which programs these are. Start reading at [Start].
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a running child process.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
	err   error
}

// Start starts the command, whose standard input, output and attributes must not be set: output and error go
// to out, and input is a pipe that ends with this process. On Linux the kernel kills the child when this
// process dies, however that happens; elsewhere a program can watch its standard input, and a [PidFile] finds
// those that do not.
func Start(cmd *exec.Cmd, out io.Writer) (*Process, error) {
	return begin(cmd, out, attributes())
}

// StartIsolated is [Start] in a network namespace of the child's own, in which nothing is but a loopback interface that is switched off.
// Where that is refused or unknown, which depends on the kernel, the container and who asks, the error is [ErrNotIsolated].
func StartIsolated(cmd *exec.Cmd, out io.Writer) (*Process, error) {
	isolation, err := isolated()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotIsolated, err)
	}
	p, err := begin(cmd, out, isolation)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotIsolated, err)
	}
	return p, nil
}

// ErrNotIsolated says that a process does not get a network namespace of its own here.
var ErrNotIsolated = errors.New("no network namespace of its own")

func begin(cmd *exec.Cmd, out io.Writer, how *syscall.SysProcAttr) (*Process, error) {
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second // do not wait for ever for output of a grandchild
	cmd.SysProcAttr = how
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, stdin: stdin, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux kills the child when the *thread* that started it dies. Threads of the runtime come and go,
		// hence this one is kept for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Done returns a channel that is closed when the process is over and all its output was written.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits for the end of the process and returns how it ended, as [exec.Cmd.Wait] does.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Stop asks the process to end, kills it when ctx ends first, and returns when it is over. Having had to kill
// it is an error, any exit status is not.
func (p *Process) Stop(ctx context.Context) error {
	_ = p.stdin.Close()
	_ = terminate(p.cmd.Process) // fails only if it is over already
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-p.done:
		return nil
	default:
	}
	p.Kill()
	return fmt.Errorf("did not end in time and was killed: %w", context.Cause(ctx))
}

// Kill ends the process at once and returns when it is over.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
	_ = p.stdin.Close()
}
