package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/console"
	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/clock"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/demo"
	"github.com/taggie/taggie/internal/edge"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/jobs"
	"github.com/taggie/taggie/internal/memory"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
	"github.com/taggie/taggie/resolvers"
)

type serveCommand struct {
	Demo   bool `default:"true" negatable:"" help:"Load a small demo set at the first start with the embedded DynamoDB and issuer."`
	NoJobs bool `name:"no-jobs" xor:"part" help:"Serve the API only, and leave all background jobs to other processes: at least one has to run them. Needs stores that are not embedded."`
	NoAPI  bool `name:"no-api" xor:"part" help:"Run the background jobs only, and serve only /healthz, /readyz and /metrics. Needs stores that are not embedded."`
}

// Help lists the settings below the flags.
func (serveCommand) Help() string {
	var b strings.Builder
	b.WriteString("Settings are environment variables; what is not set is embedded.\n")
	for _, v := range config.Variables() {
		fmt.Fprintf(&b, "\n%s", v.Name)
		if v.Default != "" {
			fmt.Fprintf(&b, " (default %s)", v.Default)
		}
		fmt.Fprintf(&b, "\n  %s\n", v.Description)
	}
	return b.String()
}

// ending is how long requests under way have to end after SIGTERM, besides the time that an operation may take.
const ending = 5 * time.Second

// garbage lets the heap grow to three times what is in use before it is collected, not twice: most of what a request needs
// is garbage at its end, and collecting it is a tenth of the CPU. GOGC overrides it.
const garbage = 200

// Run starts the server and ends with it.
func (c serveCommand) Run(ctx context.Context, t *terminal) error {
	cfg, trusted, err := loadServer(t.environ, console.Documents())
	if err != nil {
		return err
	}
	if err := c.allowed(cfg); err != nil {
		return err
	}
	log, err := telemetry.NewLogger(t.stderr, cfg.LogFormat, cfg.LogLevel.String())
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
	s, err := openStores(ctx, cfg, storesFor{log: log, metrics: metrics, stderr: t.stderr})
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.prepare(ctx, cfg, log); err != nil {
		return err
	}
	a, err := assemble(cfg, trusted, s, metrics, log)
	if err != nil {
		return err
	}
	operators.serve(a.handler, metrics, log)
	if a.noJobs = c.NoJobs; c.NoAPI {
		a.handler = onlyProbes(a.handler)
	}
	return a.serve(ctx, listener, func(ctx context.Context) {
		if c.Demo {
			a.firstDemo(ctx, "http://"+listener.Addr().String())
		}
	})
}

// allowed refuses to do half of the work on stores that no other process reaches: nobody could do the other half.
func (c serveCommand) allowed(cfg config.Config) error {
	var embedded []string
	for name, is := range map[string]bool{"DynamoDB": cfg.EmbeddedDynamoDB(), "S3": cfg.EmbeddedS3(), "Redis": cfg.EmbeddedRedis()} {
		if is {
			embedded = append(embedded, name)
		}
	}
	if !c.NoJobs && !c.NoAPI || len(embedded) == 0 {
		return nil
	}
	slices.Sort(embedded)
	return fmt.Errorf("--no-jobs and --no-api are for processes that share their stores, and this one would have its own: %s; see the settings in `taggie serve --help`", strings.Join(embedded, ", "))
}

// prepare makes embedded tables and buckets, and checks that remote ones are there.
func (s *stores) prepare(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	say := func(what, text string, ok bool) {
		level := slog.LevelDebug
		if !ok {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "store", "store", what, "state", text)
	}
	if cfg.EmbeddedDynamoDB() {
		if err := s.db.ApplyTables(ctx, func(step dynamo.Step) { say("table "+step.Table, step.Text, step.OK) }); err != nil {
			return err
		}
	}
	if cfg.EmbeddedS3() {
		if err := s.bucket.Apply(ctx, func(blob.Step) {}); err != nil {
			return err
		}
	}
	if !cfg.EmbeddedDynamoDB() || !cfg.EmbeddedS3() {
		if err := s.check(ctx, say); err != nil {
			return fmt.Errorf("the stores are not ready: %w", err)
		}
	}
	return errors.Join(s.db.Ready(ctx), s.bucket.Ready(ctx))
}

// application is the server with everything wired.
type application struct {
	cfg      config.Config
	log      *slog.Logger
	handler  http.Handler
	local    *auth.Local // nil with a configured issuer or key
	stores   *stores
	cleaning *note.Cleaning
	tasks    *jobs.Tasks
	tags     *filetag.Service
	queues   *queues
	sockets  *httpapi.Sockets
	revoked  revocations
	requests slog.LevelVar // at which requests are logged
	noJobs   bool          // others run them
	draining atomic.Bool
}

// assemble wires the rooms: stores under domain services under loaders and resolvers under HTTP.
func assemble(cfg config.Config, trusted httpapi.Trusted, s *stores, metrics *telemetry.Metrics, log *slog.Logger) (*application, error) {
	a := &application{cfg: cfg, log: log, stores: s, sockets: httpapi.NewSockets(httpapi.SocketLimits{})}
	secrets, err := cursorSecrets(cfg)
	if err != nil {
		return nil, err
	}
	newID := uuid.NewString
	if s.clock == nil {
		s.clock = clock.New(time.Now, log)
	}
	now := s.clock.Now
	metrics.Clock(s.clock.Ahead)
	notesStore := dynamo.Notes{DB: s.db}
	news := edge.NewRevocations(s.redis, cfg.TablePrefix+"users")
	users := user.NewService(user.Options{
		Store: dynamo.Users{DB: s.db}, Probes: edge.NewLimiter(s.redis, cfg.TablePrefix+"email", user.MaxTries, user.TryEvery, time.Now), Announcer: news, Now: now, NewID: newID,
	})
	a.revoked = revocations{news: news, users: users, sockets: a.sockets, every: user.LookEvery}
	notes := note.NewService(note.Options{Store: notesStore.Store(), People: users, Now: now, NewID: newID})
	a.cleaning = note.NewCleaning(notesStore, now)
	entities := entity.NewService(entity.Options{Store: dynamo.Entities{DB: s.db}, People: users, Now: now, NewID: newID})
	projectsStore := dynamo.Projects{DB: s.db}
	a.queues = newQueues(s, cfg.StreamPatience, metrics, log)
	metrics.Sockets(a.sockets.Open)
	scoresStore := dynamo.Scores{DB: s.db}
	scores := score.NewService(score.Options{Store: scoresStore, Contents: s.bucket, Now: now, NewID: newID})
	pictures, err := thumbnails()
	if err != nil {
		return nil, err
	}
	items := score.NewItems(score.ItemsOptions{
		Store: dynamo.ScoreItems{DB: s.db}, Scores: scoresStore, Files: s.bucket, Quota: cfg.ItemQuota, Now: now, NewID: newID,
		Render: pictures.Render, DecodeBytes: min(score.DecodeBytes, memory.Limit()/3),
	})
	tags := filetag.NewService(filetag.Options{
		Store: dynamo.FileTags{DB: s.db}, Items: items, Scores: scores, Kept: filetag.Kept{Items: dynamo.ScoreItems{DB: s.db}, Scores: scoresStore}, Now: now, NewID: newID,
	})
	scores, items = scores.Telling(tags), items.Telling(tags)
	projects := project.NewService(project.Options{
		Store: projectsStore, People: users, Uploads: s.bucket, Originals: items, Queues: a.queues.service, Now: now, NewID: newID,
	})
	handlers := entities.Handlers()
	handlers[project.RunImport] = project.Importer{Store: projectsStore, Files: s.bucket, Now: now, Count: a.queues.importing, Originals: items}.Run
	handlers[dynamo.SweepLabels] = projectsStore.SweepLabels
	handlers[project.RunExport] = exporter(projectsStore, s.bucket, dynamo.Users{DB: s.db}).Run
	handlers[score.SettleIntent], handlers[score.SweepItem], handlers[score.FollowItem] = scores.Settle, items.Sweep, items.Follow
	handlers[filetag.Reshard] = tags.Spread
	a.tags = tags
	a.tasks = jobs.NewTasks(jobs.TasksOptions{
		Store: dynamo.Tasks{DB: s.db}, Handlers: handlers, Log: log, Token: newID, Now: now,
		Pools: []jobs.Pool{ // of what may take hours
			{Kinds: []task.Kind{project.RunImport, project.RunExport}, Limit: 2}, {Kinds: []task.Kind{filetag.Reshard}, Limit: 1},
		},
	})
	s.db.OnTask(a.tasks.Wake)

	light := loaders.Light{
		Notes:    notes.Without(notesStore.WithoutContent().Store()),
		Entities: entities.Showing(dynamo.Entities{DB: s.db}.WithoutAttributes()),
		Projects: projects.Showing(projectsStore.WithoutMetadata()),
		Scores:   scores.Showing(scoresStore.WithoutPages()),
	}
	bucket, err := s.bucket.Origin(context.Background()) // asks nobody
	if err != nil {
		return nil, err
	}
	options := httpapi.Options{
		AnswerBytes: memory.Limit() / 4,
		Schema: graph.NewExecutableSchema(graph.Config{Resolvers: &resolvers.Resolver{
			Users: users, Notes: notes, Entities: entities, Projects: projects, Queues: a.queues.service, Hub: a.queues.hub,
			Scores: scores, Items: items, FileTags: tags, Files: s.bucket, Cursors: page.NewCodec(secrets...),
		}}),
		Loaders: loaders.Sources{
			Users: users, Notes: notes, Entities: entities, Projects: projects, Queues: a.queues.service, Scores: scores, Items: items, FileTags: tags, Light: light, Observe: metrics.Batch,
		},
		SignIn:           users.SignIn,
		Sockets:          a.sockets,
		Documents:        edge.NewDocuments(s.redis, edge.NewLimiter(s.redis, cfg.TablePrefix+"document", edge.DocumentBurst, edge.DocumentEvery, time.Now)),
		Trusted:          trusted,
		Metrics:          metrics,
		Log:              log,
		Requests:         &a.requests,
		Console:          console.Handler(console.Options{Pictures: append([]string{bucket}, cfg.PictureOrigins...)}),
		AllowedOrigins:   cfg.AllowedOrigins,
		TrustedProxies:   cfg.TrustedProxies,
		OperationTimeout: cfg.OperationTimeout,
		LocalOnly:        cfg.LocalIssuer(),
		MetricsElsewhere: cfg.MetricsAddr != "",
		Operations:       cfg.UserOperations,
		HideSchema:       !cfg.Introspection,
		HideSuggestions:  !cfg.Suggestions,
		Ready: []httpapi.Check{
			{Name: "server", Check: a.accepting, Always: true},
			{Name: "dynamodb", Check: s.db.Ready},
			{Name: "s3", Check: s.bucket.Ready},
			{Name: "redis", Check: func(ctx context.Context) error { return s.redis.Ping(ctx).Err() }, Optional: true},
			{Name: "clock", Check: s.clock.Check, Optional: true, Always: true},
		},
	}
	if s.disk != nil {
		options.Writable = s.disk.check
		options.Ready = append(options.Ready, httpapi.Check{Name: "disk", Check: s.disk.check})
	}
	if rate := (edge.Rate{Capacity: cfg.CostBudget, PerSecond: cfg.CostRate}); rate.Capacity > 0 {
		options.Budget = edge.NewBudget(s.redis, cfg.TablePrefix+"cost", rate, time.Now)
		options.BudgetSize, options.BudgetRate = rate.Capacity, rate.PerSecond
	}
	if err := a.identify(&options); err != nil {
		return nil, err
	}
	a.handler, err = httpapi.New(options)
	return a, err
}

// accepting fails while the server is on its way out, so that a load balancer sends nothing more.
func (a *application) accepting(context.Context) error {
	if a.draining.Load() {
		return errors.New("the server is shutting down")
	}
	return nil
}

// serve answers requests until the context ends or an engine is given up. Then it first says at /readyz that it will end,
// for as long as load balancers need to notice, and lets requests under way end.
func (a *application) serve(ctx context.Context, listener net.Listener, started func(context.Context)) error {
	server := httpapi.Server(a.handler, a.cfg.Addr, a.cfg.OperationTimeout)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	a.log.InfoContext(ctx, "listening", "url", "http://"+listener.Addr().String(), "version", buildVersion())

	if !console.Built() {
		a.log.WarnContext(ctx, "GraphiQL is not in this build; `make build` puts it in")
	}

	background, stop := context.WithCancel(ctx)
	// Jobs go on while requests are still accepted, and end before the stores do.
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	if !a.noJobs {
		running.Go(func() { a.work(working) })
	}
	running.Go(func() { a.revoked.run(working, a.log) })
	running.Go(func() {
		counts := []jobs.Job{{Name: "count what users have", Every: time.Second, Do: a.stores.db.CountAllowances}}
		for _, kind := range dynamo.Recounted() {
			counts = append(counts, jobs.Job{Name: "count the " + kind + " again", Every: 10 * time.Second, Do: func(ctx context.Context) error {
				return a.stores.db.RecountAllowances(ctx, kind)
			}})
		}
		jobs.Run(working, a.log, counts...)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
		defer cancel()
		_ = a.stores.db.CountAllowances(last) // what this server created since
	})
	running.Go(func() {
		jobs.Run(working, a.log, jobs.Job{Name: "ask Redis the time", Every: timeEvery, Do: a.queues.askTime})
	})
	running.Go(func() { started(background) })
	defer running.Wait()
	defer rest()
	defer stop()
	defer a.queues.hub.Close()

	var engineFailed <-chan error
	if a.stores.engines != nil {
		engineFailed = a.stores.engines.Failed()
	}
	var failed error
	select {
	case <-ctx.Done():
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case failed = <-engineFailed:
	}
	a.draining.Store(true)
	drain := a.cfg.OperationTimeout + ending
	a.log.InfoContext(ctx, "shutting down", "delay", a.cfg.DrainDelay.String(), "drain", drain.String())
	if failed == nil { // without its stores the server is of no use meanwhile
		select {
		case <-time.After(a.cfg.DrainDelay):
		case err := <-served:
			return fmt.Errorf("serve: %w", err)
		}
	}
	// ctx has ended; requests under way have their own.
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := a.sockets.Shutdown(draining) // which the HTTP server knows nothing of
		// Only now: on a socket, a stream that ends by itself would tell the client that there is nothing more to come.
		a.queues.hub.Close()
		a.queues.rebuild.Close()
		ended <- err
	}()
	if err := errors.Join(server.Shutdown(draining), <-ended); err != nil {
		failed = errors.Join(failed, fmt.Errorf("some requests did not end in time: %w", err))
	}
	return failed
}

// work does what is done in the background, until the context ends and all of it has returned.
func (a *application) work(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() {
		jobs.Run(ctx, a.log, jobs.Job{Name: "clean up deleted notes", Every: time.Hour, Do: a.cleaning.Run})
	})
	running.Go(func() {
		jobs.Run(ctx, a.log, jobs.Job{Name: "raise the shards of tags", Every: time.Hour, Do: a.raiseShards})
	})
	if a.cfg.EmbeddedDynamoDB() {
		running.Go(func() {
			jobs.Run(ctx, a.log, jobs.Job{Name: "remove expired rows", Every: time.Hour, Do: a.stores.db.SweepExpired})
		})
	}
	running.Go(func() { a.tasks.Run(ctx) })
	running.Go(func() { a.queues.run(ctx, a.log) })
	running.Wait()
}

// raiseShards has tags spread over as many shards as the settings say, should there be fewer. There are never fewer again.
func (a *application) raiseShards(ctx context.Context) error {
	l, err := a.tags.Raise(ctx, a.cfg.TagShards)
	if err == nil && l.Settled() && l.Shards > a.cfg.TagShards {
		a.log.DebugContext(ctx, "tags stay spread over more shards than TAGGIE_TAG_SHARDS says", "shards", l.Shards)
	}
	return err
}

// demoFile says that the small demo set is complete.
const demoFile = "demo-loaded"

// firstDemo loads the small demo set into a server that keeps its data embedded, once.
func (a *application) firstDemo(ctx context.Context, url string) {
	if a.local == nil || !a.cfg.EmbeddedDynamoDB() || a.cfg.TrustedMode == string(httpapi.TrustEnforce) {
		return
	}
	marker := filepath.Join(a.cfg.Data, demoFile)
	if _, err := os.Stat(marker); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	a.log.InfoContext(ctx, "loading a small demo set; `make demo` loads the full one")
	a.requests.Set(slog.LevelDebug) // else hundreds of lines hide the address
	defer a.requests.Set(slog.LevelInfo)
	if err := demo.Small(ctx, demoOptions(url, a.local)); err != nil {
		if ctx.Err() == nil {
			a.log.ErrorContext(ctx, "the demo set is not complete; the next start goes on with it", "error", err)
		}
		return
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		a.log.ErrorContext(ctx, "cannot remember that the demo set was loaded", "error", err)
		return
	}
	a.log.InfoContext(ctx, "ready: open the page in a browser", "url", url)
}

func demoOptions(url string, local *auth.Local) demo.Options {
	return demo.Options{URL: url, Token: func(email, name string) (string, error) {
		return local.Mint(person(email, name, "", false), time.Hour)
	}}
}
