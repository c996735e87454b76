package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taggie/taggie/console"
	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/jobs"
	"github.com/taggie/taggie/internal/telemetry"
)

// ending is how long requests under way have to end after SIGTERM, besides the time that an operation may take.
const ending = 5 * time.Second

// garbage lets the heap grow to three times what is in use before it is collected, not twice: most of what a request needs
// is garbage at its end, and collecting it is a tenth of the CPU. GOGC overrides it.
const garbage = 200

// Serving says how a process serves.
type Serving struct {
	Environ []string         // the settings
	Version string           // of the program, for the log
	Stderr  io.Writer        // for the log
	Demo    bool             // loads a small demo set at the first start with the embedded DynamoDB and issuer
	NoJobs  bool             // leaves all background jobs to other processes
	NoAPI   bool             // runs only the background jobs
	Now     func() time.Time // the clock of this machine; nil for [time.Now]
}

// Serve starts the server and ends with it.
func Serve(ctx context.Context, use Serving) error {
	cfg, trusted, err := LoadServer(use.Environ, console.Documents())
	if err != nil {
		return err
	}
	if err := use.allowed(cfg); err != nil {
		return err
	}
	log, err := telemetry.NewLogger(use.Stderr, cfg.LogFormat, cfg.LogLevel.String())
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	// The port comes first: a second server on the same one must not touch the data of the first.
	listener, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; stop what uses the port, or set TAGGIE_ADDR to another", cfg.Addr, err)
	}
	defer func() { _ = listener.Close() }()
	operators, err := listenForOperators(cfg)
	if err != nil {
		return err
	}
	defer operators.close()

	metrics := telemetry.NewMetrics()
	traces, err := telemetry.NewTraces(ctx, use.Environ, use.Version, metrics, log)
	if err != nil {
		return err
	}
	defer closeTraces(traces, log)
	s, err := OpenStores(ctx, cfg, StoresFor{Log: log, metrics: metrics, Stderr: use.Stderr, now: use.Now})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.prepare(ctx, cfg, log); err != nil {
		return err
	}
	a, err := Assemble(cfg, trusted, s, metrics, traces, log)
	if err != nil {
		return err
	}
	operators.serve(a.Handler, metrics, log)
	if a.noJobs = use.NoJobs; use.NoAPI {
		a.Handler = onlyProbes(a.Handler)
	}
	log.InfoContext(ctx, "listening", "url", cfg.Scheme()+"://"+listener.Addr().String()+cfg.PathPrefix, "version", use.Version)
	return a.Serve(ctx, listener, func(ctx context.Context) {
		if use.Demo {
			a.firstDemo(ctx, "http://"+listener.Addr().String()+cfg.PathPrefix)
		}
		if a.Local != nil && console.Built() && !use.NoAPI && ctx.Err() == nil {
			log.InfoContext(ctx, "ready: open the page in a browser", "url", cfg.Scheme()+"://"+listener.Addr().String()+cfg.PathPrefix+"/start")
		}
	})
}

// closeTraces sends the spans that were not sent yet.
func closeTraces(traces *telemetry.Traces, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), ending)
	defer cancel()
	if err := traces.Close(ctx); err != nil {
		log.Warn("some traces were not sent", "error", err)
	}
}

// allowed refuses to do half of the work on stores that no other process reaches: nobody could do the other half.
func (use Serving) allowed(cfg config.Config) error {
	var embedded []string
	for name, is := range map[string]bool{"DynamoDB": cfg.EmbeddedDynamoDB(), "S3": cfg.EmbeddedS3(), "Redis": cfg.EmbeddedRedis()} {
		if is {
			embedded = append(embedded, name)
		}
	}
	if !use.NoJobs && !use.NoAPI || len(embedded) == 0 {
		return nil
	}
	slices.Sort(embedded)
	return fmt.Errorf("--no-jobs and --no-api are for processes that share their stores, and this one would have its own: %s; see the settings in `taggie serve --help`", strings.Join(embedded, ", "))
}

// prepare makes embedded tables and buckets, and checks that remote ones are there.
func (s *Stores) prepare(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	say := func(what, text string, ok bool) {
		level := slog.LevelDebug
		if !ok {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "store", "store", what, "state", text)
	}
	if cfg.EmbeddedDynamoDB() {
		if err := s.DB.ApplyTables(ctx, func(step dynamo.Step) { say("table "+step.Table, step.Text, step.OK) }); err != nil {
			return err
		}
	}
	if cfg.EmbeddedS3() {
		if err := s.Bucket.Apply(ctx, func(blob.Step) {}); err != nil {
			return err
		}
	}
	if !cfg.EmbeddedDynamoDB() || !cfg.EmbeddedS3() {
		if err := s.Check(ctx, say); err != nil {
			return fmt.Errorf("the stores are not ready: %w", err)
		}
	}
	return errors.Join(s.DB.Ready(ctx), s.Bucket.Ready(ctx))
}

// Serve answers requests until the context ends or an engine is given up. Then it first says at /readyz that it will end,
// for as long as load balancers need to notice, and lets requests under way end.
func (a *Application) Serve(ctx context.Context, listener net.Listener, started func(context.Context)) error {
	server := httpapi.Server(a.Handler, a.Cfg.Addr, a.Cfg.OperationTimeout)
	served := make(chan error, 1)
	server.ErrorLog = serverLog(a.Log)
	serve := server.Serve
	if a.Cfg.TLSCert != "" {
		certificate, err := openCertificate(a.Cfg.TLSCert, a.Cfg.TLSKey, a.Log)
		if err != nil {
			return err
		}
		server.TLSConfig = certificate.config()
		a.metrics.Certificate(certificate.expires)
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	go func() { served <- serve(listener) }()

	if !console.Built() {
		a.Log.WarnContext(ctx, "GraphiQL is not in this build; `make build` puts it in")
	}

	background, stop := context.WithCancel(ctx)
	// Jobs go on while requests are still accepted, and end before the stores do.
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	if !a.noJobs {
		running.Go(func() { a.work(working) })
	}
	running.Go(func() { a.Revoked.Run(working, a.Log) })
	running.Go(func() {
		counts := []jobs.Job{{Name: "count what users have", Every: time.Second, Do: a.Stores.DB.CountAllowances}}
		for _, kind := range dynamo.Recounted(allowances()) {
			counts = append(counts, jobs.Job{Name: "count the " + kind + " again", Every: 10 * time.Second, Do: func(ctx context.Context) error {
				return a.Stores.DB.RecountAllowances(ctx, kind)
			}})
		}
		jobs.Run(working, a.Log, counts...)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
		defer cancel()
		_ = a.Stores.DB.CountAllowances(last) // what this server created since
	})
	running.Go(func() {
		jobs.Run(working, a.Log, jobs.Job{Name: "ask Redis the time", Every: timeEvery, Do: a.Labelling.AskTime})
	})
	running.Go(func() {
		jobs.Run(working, a.Log, jobs.Job{Name: "remove what was told from the outbox", Every: sweepEvery, Do: a.Following.Teller.Sweep})
	})
	running.Go(func() { started(background) })
	defer running.Wait()
	defer rest()
	defer stop()
	defer a.CloseStreams()

	var engineFailed <-chan error
	if a.Stores.Engines != nil {
		engineFailed = a.Stores.Engines.Failed()
	}
	var failed error
	select {
	case <-ctx.Done():
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case failed = <-engineFailed:
	}
	a.Draining.Store(true)
	drain := a.Cfg.OperationTimeout + ending
	a.Log.InfoContext(ctx, "shutting down", "delay", a.Cfg.DrainDelay.String(), "drain", drain.String())
	if failed == nil { // without its stores the server is of no use meanwhile
		select {
		case <-time.After(a.Cfg.DrainDelay):
		case err := <-served:
			return fmt.Errorf("serve: %w", err)
		}
	}
	// ctx has ended; requests under way have their own.
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := a.Sockets.Shutdown(draining) // which the HTTP server knows nothing of
		// Only now: on a socket, a stream that ends by itself would tell the client that there is nothing more to come.
		a.CloseStreams()
		a.Labelling.Rebuild.Close()
		ended <- err
	}()
	if err := errors.Join(server.Shutdown(draining), <-ended); err != nil {
		failed = errors.Join(failed, fmt.Errorf("some requests did not end in time: %w", err))
	}
	return failed
}
