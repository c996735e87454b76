package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/embedded/child"
)

// restarts says how an engine that ends by itself is brought back.
type restarts struct {
	attempts    int           // in a row, before it is given up
	first, most time.Duration // pauses before the first and the later attempts; each is twice the one before
	stable      time.Duration // an engine that ran this long starts with a clean slate
}

var defaultRestarts = restarts{attempts: 8, first: 100 * time.Millisecond, most: 5 * time.Second, stable: time.Minute}

const (
	startTimeout = 30 * time.Second // until an engine answers
	portAttempts = 5                // ports to try when somebody else takes the chosen one first
	askAgain     = 5 * time.Millisecond
)

// engine is one program that is kept running at one address.
type engine struct {
	program
	keys    credentials
	data    string // the data directory
	dir     string // its own directory
	address string // where the program listens
	open    bool   // behind its gate, it is in the network that everybody is in
	pids    child.PidFile
	log     *slog.Logger
	policy  restarts
	exited  func(string, error)
	failed  chan<- error

	quit     context.CancelFunc // ends the watch
	watching context.Context
	stopOnce sync.Once
	stopping context.Context // how long the process gets; set before quit
	over     chan struct{}   // closed when the watch is over, nil before it began
	stopErr  error
}

// running is one life of an engine.
type running struct {
	*child.Process
	output *output
}

func newEngine(p program, keys credentials, o Options, failed chan<- error) *engine {
	policy := defaultRestarts
	if o.restarts != nil {
		policy = *o.restarts
	}
	e := &engine{
		program: p, keys: keys, data: o.Dir, open: o.open, dir: filepath.Join(o.Dir, p.name), pids: pidFile(o.Dir, p.name),
		log: o.Log.With("engine", p.name), policy: policy, exited: o.Exited, failed: failed,
	}
	e.watching, e.quit = context.WithCancel(context.Background())
	return e
}

// start brings the engine up on a free port and begins to watch it.
func (e *engine) start(ctx context.Context) error {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return fmt.Errorf("the %s engine: %w", e.title, err)
	}
	if err := os.Chmod(e.dir, 0o700); err != nil { // it may be older, or a copy
		return fmt.Errorf("the %s engine: %w", e.title, err)
	}
	staleCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := e.pids.EndStale(staleCtx); err != nil {
		return fmt.Errorf("the %s engine: %w", e.title, err)
	}
	c, err := e.firstLaunch(ctx)
	if err != nil {
		return fmt.Errorf("the %s engine does not start: %w", e.title, err)
	}
	e.over = make(chan struct{})
	go e.watch(c)
	return nil
}

// firstLaunch chooses where the program listens, and starts it.
func (e *engine) firstLaunch(ctx context.Context) (c *running, err error) {
	if e.gated() && !e.open {
		e.address = addressInside
		if c, err = e.launch(ctx); !errors.Is(err, child.ErrNotIsolated) {
			return c, err
		}
		e.log.Warn("no network namespace for the engine: other users of this machine who find its address can reach it; see docs/operating.md", "error", err)
		e.open = true
	}
	for range portAttempts {
		if e.address, err = freeAddress(e.gated()); err != nil {
			return nil, err
		}
		if c, err = e.launch(ctx); err == nil || ctx.Err() != nil || addressFree(e.address) {
			return c, err // where the port was not the cause, another one does not help
		}
	}
	return nil, err
}

// launch starts the program at the engine's address and returns when it answers there.
func (e *engine) launch(ctx context.Context) (*running, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cmd := e.command()
	c := &running{output: &output{log: e.log}}
	begin := child.Start
	if e.gated() && !e.open {
		begin = child.StartIsolated
	}
	var err error
	if c.Process, err = begin(cmd, c.output); err != nil {
		return nil, err
	}
	if err = e.pids.Write(c.Process); err == nil {
		err = e.awaitAnswer(ctx, c)
	}
	if err != nil {
		if e.watching.Err() != nil { // it may answer already, and leaves nothing behind when it is asked to end
			err = errors.Join(err, c.Stop(e.stopping))
		} else {
			c.Kill()
		}
		return nil, errors.Join(err, e.pids.Remove())
	}
	return c, nil
}

func (e *engine) awaitAnswer(ctx context.Context, c *running) error {
	var last error
	for {
		if c.output.hasAnnounced() {
			if last = e.answers(ctx); last == nil {
				return nil
			}
		}
		select {
		case <-time.After(askAgain):
		case <-c.Done():
			err := fmt.Errorf("it ended at once (%s): %s", exitText(c.Err()), c.output.tail())
			if exit, ok := errors.AsType[*exec.ExitError](c.Err()); ok && e.gated() && !e.open && exit.ExitCode() == exitNoNetwork {
				err = fmt.Errorf("%w: %w", child.ErrNotIsolated, err)
			}
			return err
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("it does not answer: %w; %s", context.Cause(ctx), c.output.tail()), last)
		}
	}
}

// watch keeps the engine running until stop, or until it is given up. It alone touches the process.
func (e *engine) watch(c *running) {
	defer close(e.over)
	for attempt := 0; ; {
		began := time.Now()
		select {
		case <-e.watching.Done():
			e.stopErr = errors.Join(c.Stop(e.stopping), e.pids.Remove())
			return
		case <-c.Done():
		}
		err := fmt.Errorf("the %s engine ended (%s): %s", e.title, exitText(c.Err()), c.output.tail())
		e.log.Warn("engine ended, starting it again", "error", err)
		e.exited(e.name, err)
		if time.Since(began) >= e.policy.stable {
			attempt = 0
		}
		if c, attempt = e.bringBack(attempt, err); c == nil {
			e.stopErr = e.pids.Remove()
			return
		}
	}
}

// bringBack starts the engine again and returns it with the number of attempts used so far, or nil when the
// engine was stopped meanwhile or is given up.
func (e *engine) bringBack(attempt int, cause error) (*running, int) {
	for attempt < e.policy.attempts {
		pause := min(e.policy.first<<attempt, e.policy.most)
		attempt++
		select {
		case <-time.After(pause):
		case <-e.watching.Done():
			return nil, attempt
		}
		c, err := e.launch(e.watching)
		if err == nil {
			e.log.Info("engine runs again", "attempt", attempt)
			return c, attempt
		}
		if e.watching.Err() != nil {
			return nil, attempt
		}
		cause = err
		e.log.Warn("engine does not start", "attempt", attempt, "error", err)
	}
	err := fmt.Errorf("the %s engine does not stay up, given up after %d attempts: %w", e.title, attempt, cause)
	e.log.Error("engine given up", "error", err)
	e.failed <- err // has room for every engine
	return nil, attempt
}

// stop ends the engine; a second call waits for the first.
func (e *engine) stop(ctx context.Context) error {
	e.stopOnce.Do(func() {
		e.stopping = ctx
		e.quit()
	})
	if e.over == nil {
		return nil
	}
	<-e.over
	if e.stopErr != nil {
		return fmt.Errorf("the %s engine: %w", e.title, e.stopErr)
	}
	return nil
}

func addressFree(address string) bool {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func keepVariables(names ...string) []string {
	var kept []string
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

func exitText(err error) string {
	if err == nil {
		return "without an error"
	}
	return err.Error()
}
