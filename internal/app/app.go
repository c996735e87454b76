// Package app puts the server together: the stores that it keeps its data in, the rooms that work on them, and what runs in the background.
// No rule of the domain is here.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/taggie/taggie/console"
	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/archives"
	"github.com/taggie/taggie/dynamo/entities"
	"github.com/taggie/taggie/dynamo/filetags"
	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/graph"
	"github.com/taggie/taggie/internal/archive"
	"github.com/taggie/taggie/internal/archive/contents"
	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/clock"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/edge"
	"github.com/taggie/taggie/internal/entity"
	"github.com/taggie/taggie/internal/filetag"
	"github.com/taggie/taggie/internal/httpapi"
	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/httpapi/document"
	"github.com/taggie/taggie/internal/jobs"
	"github.com/taggie/taggie/internal/memory"
	"github.com/taggie/taggie/internal/note"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/telemetry"
	"github.com/taggie/taggie/internal/user"
	"github.com/taggie/taggie/loaders"
	"github.com/taggie/taggie/resolvers"
)

// sweepLabels is the kind of task by which projects lose labels that were written and never named.
const sweepLabels = projects.SweepLabels

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
	Traces    traces // erase what others' rows say about a user
	Following following
	Sockets   *connection.Registry
	Revoked   revocations
	metrics   *telemetry.Metrics
	requests  slog.LevelVar // at which requests are logged
	noJobs    bool          // others run them
	Draining  atomic.Bool
}

// Assemble wires the rooms: stores under domain services under loaders and resolvers under HTTP.
func Assemble(cfg config.Config, trusted document.Trusted, s *Stores, metrics *telemetry.Metrics, traces *telemetry.Traces, log *slog.Logger) (*Application, error) {
	a := &Application{Cfg: cfg, Log: log, Stores: s, metrics: metrics, Sockets: connection.NewRegistry(connection.Bounds{})}
	secrets, err := sharedSecrets(cfg)
	if err != nil {
		return nil, err
	}
	newID := uuid.NewString
	if s.Clock == nil {
		s.Clock = clock.New(time.Now, log)
	}
	now := s.Clock.Now
	metrics.Clock(s.Clock.Ahead)
	a.Labelling = newLabeller(s, cfg, metrics, log)
	a.Traces = newTraces(s.DB, a.Labelling.Queue, cfg, now)
	a.Following = newFollowing(a.Labelling.Queue, s, cfg, metrics, log)
	usersStore, notesStore, entitiesStore := users.Store{DB: s.DB}, notes.Store{DB: s.DB, Tell: a.Following.Teller.Tell}, entities.Store{DB: s.DB}
	projectsStore, scoresStore, itemsStore := projects.Store{DB: s.DB}, scores.Store{DB: s.DB, Tell: a.Following.Teller.Tell}, scores.Items{DB: s.DB}
	inRedis := edge.Redis{Client: s.Redis, Prefix: cfg.RedisPrefix}
	news := edge.NewNews(inRedis, "revocations", cfg.TablePrefix+"users")
	users := user.NewService(user.Options{
		Store: usersStore, Probes: edge.NewLimiter(inRedis, cfg.TablePrefix+"email", user.MaxTries, user.TryEvery, time.Now), Announcer: news, Now: s.Clock.Agreed, NewID: newID,
		Managed: []user.Managed{lastManaged{projectsStore}, lastOwned{entitiesStore}},
	})
	a.Revoked = revocations{news: news, Users: users, sockets: a.Sockets, Every: user.LookEvery}
	notes := note.NewService(note.Options{Store: notesStore.Store(), People: users, Now: now, NewID: newID})
	a.cleaning = note.NewCleaning(notesStore, now)
	entities := entity.NewService(entity.Options{Store: entitiesStore, People: users, Now: now, NewID: newID})
	metrics.Sockets(a.Sockets.Open)
	scores := score.NewService(score.Options{Store: scoresStore, Contents: s.Bucket, Now: now, NewID: newID})
	pictures, err := thumbnails()
	if err != nil {
		return nil, err
	}
	items := score.NewItems(score.ItemsOptions{
		Store: itemsStore, Scores: scoresStore, Files: s.Bucket, Observer: a.Labelling.service, Quota: cfg.ItemQuota, Now: now, NewID: newID,
		Render: pictures.Render, DecodeBytes: min(score.DecodeBytes, memory.Limit()/3),
	})
	shownItems := project.NewService(project.Options{Store: projectsStore, Now: now, NewID: newID}).Showing(projectsStore.WithoutMetadata())
	tags := filetag.NewService(filetag.Options{
		Store: filetags.Store{DB: s.DB}, Items: items, Scores: scores, Kept: filetag.Kept{Items: itemsStore, Scores: scoresStore}, Projects: shownItems, Now: now, NewID: newID,
	})
	scores, items = scores.Telling(tags), items.Telling(tags)
	projects := project.NewService(project.Options{
		Store: projectsStore, People: users, Uploads: s.Bucket, Originals: items, Observer: a.Labelling.service, Secrets: secrets, Now: now, NewID: newID,
	})
	archivesStore := archives.Store{DB: s.DB}
	archiving := archive.NewService(archive.Options{Store: archivesStore, Files: s.Bucket, Now: now, NewID: func() string { return uuid.Must(uuid.NewV7()).String() }})
	handlers := entities.Handlers()
	handlers[archive.RunArchive] = archive.Runner{Store: archivesStore, Files: s.Bucket, Now: now, Contents: contents.Of(contents.Sources{
		Users: users, Notes: notes, Entities: entities, Projects: projects, Scores: scores, Items: items, Tags: tags,
	})}.Run
	handlers[project.RunImport] = project.Importer{Store: projectsStore, Files: s.Bucket, Now: now, Count: a.Labelling.importing, Removed: a.Labelling.remover, Originals: items}.Run
	handlers[project.RunTeam] = projects.EmptyTeam
	handlers[project.RunRelabel] = a.Labelling.relabel.Run
	handlers[project.RunRemoval] = a.Labelling.remover.Run
	handlers[project.RunDeletion], handlers[project.RunErasure] = a.Labelling.eraser.Run, a.Labelling.eraser.Erase
	handlers[project.RunTelling] = a.Labelling.service.Retell(projectsStore)
	handlers[sweepLabels] = projectsStore.SweepLabels
	handlers[project.RunExport] = Exporter(projectsStore, s.Bucket, usersStore).Run
	handlers[score.SettleIntent], handlers[score.SweepItem], handlers[score.FollowItem], handlers[score.EndUses] = scores.Settle, items.Sweep, items.Follow, items.EndUses
	handlers[filetag.Reshard], handlers[score.FollowUses] = tags.Spread, tags.FollowUses
	handlers[user.RunErasure] = user.Eraser{Store: usersStore, LookAgain: users.LookAgain, Now: now, Phases: departure{
		users: usersStore, notes: notesStore, tags: filetags.Store{DB: s.DB}, library: itemsStore, kept: scoresStore, entities: entitiesStore, projects: projectsStore, archives: archivesStore,
		scopes: entities, project: projects, scores: scores, items: items, bucket: s.Bucket, streams: queue.Streams{Queue: a.Labelling.Queue}, traces: a.Traces, now: now,
	}.phases()}.Run
	a.tags = tags
	a.Tasks = jobs.NewTasks(jobs.TasksOptions{
		Store: dynamo.Tasks{DB: s.DB}, Handlers: handlers, Log: log, Token: newID, Now: now,
		Pools: []jobs.Pool{ // of what may take hours
			{Kinds: []task.Kind{project.RunImport, project.RunExport}, Limit: 2}, {Kinds: []task.Kind{archive.RunArchive}, Limit: 2}, {Kinds: []task.Kind{filetag.Reshard}, Limit: 1}, {Kinds: []task.Kind{score.FollowUses}, Limit: 2}, {Kinds: []task.Kind{entity.EraseScope}, Limit: 1}, {Kinds: []task.Kind{user.RunErasure}, Limit: 1}, {Kinds: []task.Kind{project.RunRemoval, project.RunErasure, project.RunRelabel}, Limit: 2},
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
			Users: users, Notes: notes, Entities: entities, Projects: projects, Labelling: a.Labelling.service, Hub: a.Labelling.Hub, Following: a.Following.Hub,
			Scores: scores, Items: items, FileTags: tags, Archives: archiving, Files: s.Bucket, Cursors: page.NewCodec(secrets...),
		}}),
		Loaders: loaders.Sources{
			Users: users, Notes: notes, Entities: entities, Projects: projects, Labelling: a.Labelling.service, Scores: scores, Items: items, FileTags: tags, Archives: archiving, Light: light, Observe: metrics.Batch,
		},
		SignIn:           users.SignIn,
		Sockets:          a.Sockets,
		Documents:        edge.NewDocuments(inRedis, edge.NewLimiter(inRedis, cfg.TablePrefix+"document", edge.DocumentBurst, edge.DocumentEvery, time.Now)),
		Trusted:          trusted,
		Metrics:          metrics,
		Traces:           traces,
		Log:              log,
		Requests:         &a.requests,
		Console:          console.Handler(console.Options{Bucket: bucket, Pictures: append([]string{bucket}, cfg.PictureOrigins...), PathPrefix: cfg.PathPrefix}),
		PathPrefix:       cfg.PathPrefix,
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
		options.Budget = edge.NewBudget(inRedis, cfg.TablePrefix+"cost", rate, time.Now)
		options.BudgetSize, options.BudgetRate = rate.Capacity, rate.PerSecond
	}
	if err := a.identify(&options); err != nil {
		return nil, err
	}
	a.Handler, err = httpapi.New(options)
	return a, err
}

// CloseStreams ends what tells subscribers of projects, notes and scores.
func (a *Application) CloseStreams() {
	a.Labelling.Hub.Close()
	a.Following.Hub.Close()
	a.Following.Teller.Close()
}

// accepting fails while the server is on its way out, so that a load balancer sends nothing more.
func (a *Application) accepting(context.Context) error {
	if a.Draining.Load() {
		return errors.New("the server is shutting down")
	}
	return nil
}
