// Package app puts the server together: the stores that it keeps its data in, the rooms that work on them, and what runs in the background.
// No rule of the domain is here.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/users"
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
	"github.com/taggie/taggie/internal/httpapi/document"
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

// ending is how long requests under way have to end after SIGTERM, besides the time that an operation may take.
const ending = 5 * time.Second

// garbage lets the heap grow to three times what is in use before it is collected, not twice: most of what a request needs
// is garbage at its end, and collecting it is a tenth of the CPU. GOGC overrides it.
const garbage = 200

// sweepLabels is the kind of task by which projects lose labels that were written and never named.
const sweepLabels = projects.SweepLabels

// Serving says how a process serves.
type Serving struct {
	Environ []string  // the settings
	Version string    // of the program, for the log
	Stderr  io.Writer // for the log
	Demo    bool      // loads a small demo set at the first start with the embedded DynamoDB and issuer
	NoJobs  bool      // leaves all background jobs to other processes
	NoAPI   bool      // runs only the background jobs
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
	s, err := OpenStores(ctx, cfg, StoresFor{Log: log, metrics: metrics, Stderr: use.Stderr})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.prepare(ctx, cfg, log); err != nil {
		return err
	}
	a, err := Assemble(cfg, trusted, s, metrics, log)
	if err != nil {
		return err
	}
	operators.serve(a.Handler, metrics, log)
	if a.noJobs = use.NoJobs; use.NoAPI {
		a.Handler = onlyProbes(a.Handler)
	}
	log.InfoContext(ctx, "listening", "url", "http://"+listener.Addr().String(), "version", use.Version)
	return a.Serve(ctx, listener, func(ctx context.Context) {
		if use.Demo {
			a.firstDemo(ctx, "http://"+listener.Addr().String())
		}
	})
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

// Application is the server with everything wired.
type Application struct {
	Cfg       config.Config
	Log       *slog.Logger
	Handler   http.Handler
	Local     *auth.Local // nil with a configured issuer or key
	Stores    *Stores
	cleaning  *note.Cleaning
	Tasks     *jobs.Tasks
	tags      *filetag.Service
	Labelling *labeller
	Sockets   *httpapi.Sockets
	Revoked   revocations
	requests  slog.LevelVar // at which requests are logged
	noJobs    bool          // others run them
	Draining  atomic.Bool
}

// Assemble wires the rooms: stores under domain services under loaders and resolvers under HTTP.
func Assemble(cfg config.Config, trusted document.Trusted, s *Stores, metrics *telemetry.Metrics, log *slog.Logger) (*Application, error) {
	a := &Application{Cfg: cfg, Log: log, Stores: s, Sockets: httpapi.NewSockets(httpapi.SocketLimits{})}
	secrets, err := cursorSecrets(cfg)
	if err != nil {
		return nil, err
	}
	newID := uuid.NewString
	if s.Clock == nil {
		s.Clock = clock.New(time.Now, log)
	}
	now := s.Clock.Now
	metrics.Clock(s.Clock.Ahead)
	usersStore, notesStore, entitiesStore := users.Store{DB: s.DB}, notes.Store{DB: s.DB}, entities.Store{DB: s.DB}
	projectsStore, scoresStore, itemsStore := projects.Store{DB: s.DB}, scores.Store{DB: s.DB}, scores.Items{DB: s.DB}
	news := edge.NewRevocations(s.Redis, cfg.TablePrefix+"users")
	users := user.NewService(user.Options{
		Store: usersStore, Probes: edge.NewLimiter(s.Redis, cfg.TablePrefix+"email", user.MaxTries, user.TryEvery, time.Now), Announcer: news, Now: s.Clock.Agreed, NewID: newID,
	})
	a.Revoked = revocations{news: news, Users: users, sockets: a.Sockets, Every: user.LookEvery}
	notes := note.NewService(note.Options{Store: notesStore.Store(), People: users, Now: now, NewID: newID})
	a.cleaning = note.NewCleaning(notesStore, now)
	entities := entity.NewService(entity.Options{Store: entitiesStore, People: users, Now: now, NewID: newID})
	a.Labelling = newLabeller(s, cfg.StreamPatience, metrics, log)
	metrics.Sockets(a.Sockets.Open)
	scores := score.NewService(score.Options{Store: scoresStore, Contents: s.Bucket, Now: now, NewID: newID})
	pictures, err := thumbnails()
	if err != nil {
		return nil, err
	}
	items := score.NewItems(score.ItemsOptions{
		Store: itemsStore, Scores: scoresStore, Files: s.Bucket, Quota: cfg.ItemQuota, Now: now, NewID: newID,
		Render: pictures.Render, DecodeBytes: min(score.DecodeBytes, memory.Limit()/3),
	})
	tags := filetag.NewService(filetag.Options{
		Store: filetags.Store{DB: s.DB}, Items: items, Scores: scores, Kept: filetag.Kept{Items: itemsStore, Scores: scoresStore}, Now: now, NewID: newID,
	})
	scores, items = scores.Telling(tags), items.Telling(tags)
	projects := project.NewService(project.Options{
		Store: projectsStore, People: users, Uploads: s.Bucket, Originals: items, Observer: a.Labelling.service, Now: now, NewID: newID,
	})
	handlers := entities.Handlers()
	handlers[project.RunImport] = project.Importer{Store: projectsStore, Files: s.Bucket, Now: now, Count: a.Labelling.importing, Originals: items}.Run
	handlers[sweepLabels] = projectsStore.SweepLabels
	handlers[project.RunExport] = Exporter(projectsStore, s.Bucket, usersStore).Run
	handlers[score.SettleIntent], handlers[score.SweepItem], handlers[score.FollowItem] = scores.Settle, items.Sweep, items.Follow
	handlers[filetag.Reshard] = tags.Spread
	a.tags = tags
	a.Tasks = jobs.NewTasks(jobs.TasksOptions{
		Store: dynamo.Tasks{DB: s.DB}, Handlers: handlers, Log: log, Token: newID, Now: now,
		Pools: []jobs.Pool{ // of what may take hours
			{Kinds: []task.Kind{project.RunImport, project.RunExport}, Limit: 2}, {Kinds: []task.Kind{filetag.Reshard}, Limit: 1},
		},
	})
	s.DB.OnTask(a.Tasks.Wake)

	light := loaders.Light{
		Notes:    notes.Without(notesStore.WithoutContent().Store()),
		Entities: entities.Showing(entitiesStore.WithoutAttributes()),
		Projects: projects.Showing(projectsStore.WithoutMetadata()),
		Scores:   scores.Showing(scoresStore.WithoutPages()),
	}
	bucket, err := s.Bucket.Origin(context.Background()) // asks nobody
	if err != nil {
		return nil, err
	}
	options := httpapi.Options{
		AnswerBytes: memory.Limit() / 4,
		Schema: graph.NewExecutableSchema(graph.Config{Resolvers: &resolvers.Resolver{
			Users: users, Notes: notes, Entities: entities, Projects: projects, Labelling: a.Labelling.service, Hub: a.Labelling.Hub,
			Scores: scores, Items: items, FileTags: tags, Files: s.Bucket, Cursors: page.NewCodec(secrets...),
		}}),
		Loaders: loaders.Sources{
			Users: users, Notes: notes, Entities: entities, Projects: projects, Labelling: a.Labelling.service, Scores: scores, Items: items, FileTags: tags, Light: light, Observe: metrics.Batch,
		},
		SignIn:           users.SignIn,
		Sockets:          a.Sockets,
		Documents:        edge.NewDocuments(s.Redis, edge.NewLimiter(s.Redis, cfg.TablePrefix+"document", edge.DocumentBurst, edge.DocumentEvery, time.Now)),
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
			{Name: "dynamodb", Check: s.DB.Ready},
			{Name: "s3", Check: s.Bucket.Ready},
			{Name: "redis", Check: func(ctx context.Context) error { return s.Redis.Ping(ctx).Err() }, Optional: true},
			{Name: "clock", Check: s.Clock.Check, Optional: true, Always: true},
		},
	}
	if s.disk != nil {
		options.Writable = s.disk.check
		options.Ready = append(options.Ready, httpapi.Check{Name: "disk", Check: s.disk.check})
	}
	if rate := (edge.Rate{Capacity: cfg.CostBudget, PerSecond: cfg.CostRate}); rate.Capacity > 0 {
		options.Budget = edge.NewBudget(s.Redis, cfg.TablePrefix+"cost", rate, time.Now)
		options.BudgetSize, options.BudgetRate = rate.Capacity, rate.PerSecond
	}
	if err := a.identify(&options); err != nil {
		return nil, err
	}
	a.Handler, err = httpapi.New(options)
	return a, err
}

// accepting fails while the server is on its way out, so that a load balancer sends nothing more.
func (a *Application) accepting(context.Context) error {
	if a.Draining.Load() {
		return errors.New("the server is shutting down")
	}
	return nil
}

// Serve answers requests until the context ends or an engine is given up. Then it first says at /readyz that it will end,
// for as long as load balancers need to notice, and lets requests under way end.
func (a *Application) Serve(ctx context.Context, listener net.Listener, started func(context.Context)) error {
	server := httpapi.Server(a.Handler, a.Cfg.Addr, a.Cfg.OperationTimeout)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

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
	running.Go(func() { started(background) })
	defer running.Wait()
	defer rest()
	defer stop()
	defer a.Labelling.Hub.Close()

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
		a.Labelling.Hub.Close()
		a.Labelling.Rebuild.Close()
		ended <- err
	}()
	if err := errors.Join(server.Shutdown(draining), <-ended); err != nil {
		failed = errors.Join(failed, fmt.Errorf("some requests did not end in time: %w", err))
	}
	return failed
}

// work does what is done in the background, until the context ends and all of it has returned.
func (a *Application) work(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() {
		jobs.Run(ctx, a.Log, jobs.Job{Name: "clean up deleted notes", Every: time.Hour, Do: a.cleaning.Run})
	})
	running.Go(func() {
		jobs.Run(ctx, a.Log, jobs.Job{Name: "raise the shards of tags", Every: time.Hour, Do: a.raiseShards})
	})
	if a.Cfg.EmbeddedDynamoDB() {
		running.Go(func() {
			jobs.Run(ctx, a.Log, jobs.Job{Name: "remove expired rows", Every: time.Hour, Do: a.Stores.DB.SweepExpired})
		})
	}
	running.Go(func() { a.Tasks.Run(ctx) })
	running.Go(func() { a.Labelling.Run(ctx, a.Log) })
	running.Wait()
}

// raiseShards has tags spread over as many shards as the settings say, should there be fewer. There are never fewer again.
func (a *Application) raiseShards(ctx context.Context) error {
	l, err := a.tags.Raise(ctx, a.Cfg.TagShards)
	if err == nil && l.Settled() && l.Shards > a.Cfg.TagShards {
		a.Log.DebugContext(ctx, "tags stay spread over more shards than TAGGIE_TAG_SHARDS says", "shards", l.Shards)
	}
	return err
}

// demoFile says that the small demo set is complete.
const demoFile = "demo-loaded"

// firstDemo loads the small demo set into a server that keeps its data embedded, once.
func (a *Application) firstDemo(ctx context.Context, url string) {
	if a.Local == nil || !a.Cfg.EmbeddedDynamoDB() || a.Cfg.TrustedMode == string(document.TrustEnforce) {
		return
	}
	marker := filepath.Join(a.Cfg.Data, demoFile)
	if _, err := os.Stat(marker); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	a.Log.InfoContext(ctx, "loading a small demo set; `make demo` loads the full one")
	a.requests.Set(slog.LevelDebug) // else hundreds of lines hide the address
	defer a.requests.Set(slog.LevelInfo)
	if err := demo.Small(ctx, DemoOptions(url, a.Local)); err != nil {
		if ctx.Err() == nil {
			a.Log.ErrorContext(ctx, "the demo set is not complete; the next start goes on with it", "error", err)
		}
		return
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		a.Log.ErrorContext(ctx, "cannot remember that the demo set was loaded", "error", err)
		return
	}
	a.Log.InfoContext(ctx, "ready: open the page in a browser", "url", url)
}

// DemoOptions say where the demo data goes, signed in by the embedded issuer.
func DemoOptions(url string, local *auth.Local) demo.Options {
	return demo.Options{URL: url, Token: func(email, name string) (string, error) {
		return local.Mint(Person(email, name, "", false), time.Hour)
	}}
}
