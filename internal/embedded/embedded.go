// Package embedded finds, starts, watches and stops the engines that run beside the server.
//
// It knows three programs (DynamoDB, S3 and Redis by protocol), where their binaries may lie, and how a child
// process is kept running. It must not know what is kept in the engines (no domain, no SDK) nor take settings
// from the environment: they come in by [Options]. Start reading at [Start] and [Engines].
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options says which engines to start, and with what.
type Options struct {
	// Dir is the data directory; it is made with mode 0700 if it does not exist. Two servers cannot share one.
	Dir string
	// DynamoDB, S3 and Redis choose the engines to start.
	DynamoDB, S3, Redis bool
	// InMemory keeps DynamoDB's tables in memory, for tests, and opens its port to everybody on this machine. (Redis always is in memory; S3
	// never is.)
	InMemory bool
	// Binaries names the programs to use, and where to look for those it does not name.
	Binaries Binaries
	// Log receives what the engines print and when they come and go. Nil discards it.
	Log *slog.Logger
	// Exited, if set, is told each time an engine ends without having been asked to, before it is started
	// again. It may be called by several goroutines and must not block.
	Exited func(engine string, err error)

	restarts *restarts // nil for the default; tests are less patient
	open     bool      // tests look at what happens where namespaces are refused
}

// Engines are running engines.
type Engines struct {
	DynamoDB, S3, Redis Endpoint

	running []*engine
	failed  chan error
	unlock  func() error
}

// region is the one the engines pretend to be in.
const region = "us-east-1"

// Names of the engines, as they appear in logs, errors and file names.
const (
	DynamoDB = "dynamodb"
	S3       = "s3"
	Redis    = "redis"
)

// RestoringFile is in a data directory into which a backup is being restored. No engine starts there.
const RestoringFile = "restoring"

// Start starts the chosen engines and returns when all of them answer. If one does not, the others are
// stopped again. [ErrInUse] when another process has the data directory. The context bounds the start alone; [Engines.Stop] ends the engines.
func Start(ctx context.Context, o Options) (*Engines, error) {
	if o.Dir == "" {
		return nil, errors.New("embedded: the data directory has no name")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Exited == nil {
		o.Exited = func(string, error) {}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	o.Dir = dir

	programs, missing := findAll(o)
	if missing != nil && !used(o.Dir) { // nothing is made when nothing can be started
		return nil, missing
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded: make the data directory: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, errors.Join(missing, lock.release())
	}
	if _, err := os.Stat(filepath.Join(o.Dir, RestoringFile)); err == nil {
		return nil, errors.Join(fmt.Errorf("the data in %s is not complete: taggie restore was broken off; run it again", o.Dir), lock.release())
	}
	surviveFullDisk()
	e := &Engines{failed: make(chan error, len(programs))}
	e.unlock = sync.OnceValue(lock.release)
	keys, err := loadCredentials(o.Dir)
	if err == nil {
		err = forget(o.Dir)
	}
	if err != nil {
		return nil, errors.Join(err, e.unlock())
	}
	for _, p := range programs {
		e.running = append(e.running, newEngine(p, keys, o, e.failed))
	}
	if err := e.startAll(ctx); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		return nil, errors.Join(err, e.Stop(stopCtx))
	}
	addresses := map[string]string{}
	for _, engine := range e.running {
		addresses[engine.name] = engine.where()
	}
	e.fillIn(o.Dir, addresses, keys)
	if err := announce(o.Dir, addresses); err != nil {
		return nil, errors.Join(err, e.Stop(ctx))
	}
	return e, nil
}

// stopPatience is how long engines get to end by themselves when a start has failed.
const stopPatience = 5 * time.Second

func (e *Engines) startAll(ctx context.Context) error {
	errs := make([]error, len(e.running))
	var group sync.WaitGroup
	for i, engine := range e.running {
		group.Go(func() { errs[i] = engine.start(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// fillIn sets the endpoints of the engines that listen at the addresses, by their names.
func (e *Engines) fillIn(dir string, addresses map[string]string, keys credentials) {
	for name, address := range addresses {
		at := endpoint(name, dir, address, keys)
		switch name {
		case DynamoDB:
			e.DynamoDB = at
		case S3:
			e.S3 = at
		case Redis:
			e.Redis = at
		}
	}
}

// Failed tells, once per engine, that an engine could not be kept running. Engines that end are started again
// a bounded number of times on the same port, and nothing is told about that here.
func (e *Engines) Failed() <-chan error { return e.failed }

// Stop asks all engines to end and waits for them; those that still run when ctx ends are killed. No engine
// is left when it returns, and it may be called again.
func (e *Engines) Stop(ctx context.Context) error {
	errs := make([]error, len(e.running))
	var group sync.WaitGroup
	for i, engine := range e.running {
		group.Go(func() { errs[i] = engine.stop(ctx) })
	}
	group.Wait()
	return errors.Join(append(errs, e.unlock())...)
}
