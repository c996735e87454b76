// Command taggie-gate runs a program that answers whoever reaches its port, and lets only the owner of a directory reach it.
//
// It starts the program, listens on a Unix socket in the working directory, and copies bytes between that and the program's port. On
// Linux, who asks for it gets the connection to the port itself.
// Where its parent gave it a network namespace of its own, the port is in there, and nobody else reaches it. Elsewhere each
// connection has to begin with a credential. It must not know what the bytes mean. Start reading at [run]; internal/embedded starts
// it in front of the embedded DynamoDB, which checks no credentials and answers every web page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// exitNoNetwork is the exit status that tells the parent that the namespace cannot be used.
const exitNoNetwork = 3

type settings struct {
	socket     string   // what to listen on, in the working directory: a path has at most 107 bytes
	engine     string   // where the program listens, as host:port
	ownNetwork bool     // the parent gave us a network namespace
	credential string   // what a connection has to begin with, or ""
	command    []string // the program
}

func main() {
	s := settings{credential: os.Getenv("TAGGIE_GATE_CREDENTIAL")} // every user of the machine can read the flags of a process
	flag.StringVar(&s.socket, "socket", "socket", "Unix socket to listen on")
	flag.StringVar(&s.engine, "engine", "", "where the program listens, as host:port")
	flag.BoolVar(&s.ownNetwork, "own-network", false, "this process is in a network namespace of its own")
	flag.Parse()
	s.command = flag.Args()

	runtime.GOMAXPROCS(1) // it waits nearly always; to wake a second thread would cost more than it brings
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, s, os.Stdin, os.Stdout)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "taggie-gate:", err)
	if errors.Is(err, errNoNetwork) {
		os.Exit(exitNoNetwork)
	}
	os.Exit(1)
}

var errNoNetwork = errors.New("the network namespace cannot be used")

// run serves until ctx or stdin ends, which is no error, or until the program does.
func run(ctx context.Context, s settings, stdin io.Reader, out io.Writer) error {
	if len(s.command) == 0 || s.engine == "" {
		return errors.New("-engine and the program are missing")
	}
	if s.ownNetwork {
		if err := loopbackUp(); err != nil {
			return fmt.Errorf("%w: %w", errNoNetwork, err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // ends with the parent
		cancel()
	}()

	program, err := start(s.command)
	if err != nil {
		return err
	}
	defer program.stop()
	if err := program.awaits(ctx, s.engine); err != nil {
		return err
	}
	_ = os.Remove(s.socket) // of a gate that was killed
	listener, err := net.Listen("unix", s.socket)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	if err := os.Chmod(s.socket, 0o600); err != nil {
		return err
	}
	fmt.Fprintln(out, "gate listening on", s.socket)
	go serve(listener, s)
	select {
	case <-ctx.Done():
		return nil
	case <-program.over:
		return fmt.Errorf("the program ended: %w", program.err)
	}
}

// program is what the gate stands in front of.
type program struct {
	command *exec.Cmd
	over    chan struct{} // closed when it has ended
	err     error
}

func start(command []string) (*program, error) {
	p := &program{command: exec.Command(command[0], command[1:]...), over: make(chan struct{})}
	p.command.Stdout, p.command.Stderr, p.command.SysProcAttr = os.Stdout, os.Stderr, dieWithParent()
	started := make(chan error)
	go func() {
		// Linux kills the child when the thread that started it ends, not the process: this one stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		started <- err
		if err != nil {
			return
		}
		if p.err = p.command.Wait(); p.err == nil {
			p.err = errors.New("without an error")
		}
		close(p.over)
	}()
	return p, <-started
}

// awaits returns when somebody listens at the address.
func (p *program) awaits(ctx context.Context, address string) error {
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-p.over:
			return fmt.Errorf("the program ended at once: %w", p.err)
		case <-ctx.Done():
			return fmt.Errorf("the program does not listen: %w", err)
		}
	}
}

// stop asks the program to end and waits for it. Who waits for us kills us when that takes too long, and the program with us.
func (p *program) stop() {
	if p.command.Process.Signal(syscall.SIGTERM) != nil {
		_ = p.command.Process.Kill() // Windows knows no polite request
	}
	<-p.over
}
