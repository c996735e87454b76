package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"

	truth "github.com/taggie/taggie/dynamo/labelling"
	"github.com/taggie/taggie/dynamo/projects"
	"github.com/taggie/taggie/dynamo/users"
	"github.com/taggie/taggie/internal/clock"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/jobs"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/telemetry"
)

// labeller is the labelling of projects, wired: what hands out their items, and what tells how that goes.
type labeller struct {
	Queue     *queue.Queue
	service   *labelling.Service
	importing *labelling.Importing
	remover   *labelling.Remover
	relabel   *labelling.Relabeller
	eraser    *labelling.Eraser
	Hub       *labelling.Hub[labelling.EventDetails]
	populate  *labelling.Populate
	Reaper    *labelling.Reaper
	Relay     *labelling.Relay
	Rebuild   *labelling.Rebuilder
	watch     *labelling.Watch
	compare   *labelling.Comparison
	Consumer  *labelling.Consumer
	metrics   *telemetry.Metrics
	clock     *clock.Clock
}

// newLabeller wires labelling. Nothing runs until [labeller.Run] does, or somebody listens to the hub, which is to be closed.
func newLabeller(s *Stores, cfg config.Config, metrics *telemetry.Metrics, log *slog.Logger) *labeller {
	kept := queue.New(s.Redis, queue.Options{Prefix: cfg.RedisPrefix, Blocking: s.Waiting, Waiting: maxListened - listenedBesides, Log: log})
	moves := truth.Store{Store: projects.Store{DB: s.DB}}
	shown := lightItems{Store: moves, items: moves.WithoutMetadata()} // of which events are kept in memory
	o := labelling.Options{Truth: countedTruth{moves, metrics}, Coordinator: countedCoordinator{kept, metrics}, Now: s.Clock.Now, NewID: uuid.NewString, Log: log}
	l := &labeller{Queue: kept, Rebuild: labelling.NewRebuilder(o, 0), metrics: metrics, clock: s.Clock}
	l.populate = labelling.NewPopulate(o, l.Rebuild)
	l.Reaper = labelling.NewReaper(o, l.Rebuild)
	l.Relay = labelling.NewRelay(o)
	l.compare = labelling.NewComparison(o, l.Rebuild, 0, metrics.ReadUnits)
	l.watch = labelling.NewWatch(o, l.Rebuild, l.compare)
	l.Consumer = labelling.NewConsumer(o, l.Rebuild, consumerName())
	l.service = labelling.NewService(o, l.populate, l.Rebuild)
	l.importing = labelling.NewImporting(o, l.populate, l.Rebuild)
	l.remover = labelling.NewRemover(o, 0)
	l.relabel = labelling.NewRelabeller(o, moves, 0)
	l.eraser = labelling.NewEraser(labelling.EraserOptions{Options: o, Projects: moves, Queues: kept, Files: s.Bucket}, 0)
	l.Hub = labelling.NewHub(labelling.HubOptions[labelling.EventDetails]{
		Events: countedEvents{kept, metrics}, Service: l.service, Hydrate: labelling.EventReader{Things: shown, People: users.Store{DB: s.DB}}.Read,
		WithoutItem: labelling.EventDetails.WithoutItem, Patience: cfg.StreamPatience, Log: log,
	})
	return l
}

// lightItems are the things of projects, items without their metadata.
type lightItems struct {
	truth.Store
	items projects.Store
}

// ItemsByID returns items without their metadata.
func (l lightItems) ItemsByID(ctx context.Context, user labelling.UserID, ids []project.ItemID) ([]project.Item, map[project.ID]project.Member, []error) {
	return l.items.ItemsByID(ctx, user, ids)
}

// consumerName is this process's own among all that consume messages, and tells operators which one that is.
func consumerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + ":" + uuid.NewString()
}

const (
	populateEvery = time.Second
	timeEvery     = 2 * time.Second
	// lookEvery is how often leases are looked for that ended, and what was left in the outbox: what a server that was killed left behind is
	// to be settled within five seconds.
	lookEvery    = time.Second
	watchEvery   = time.Second
	compareEvery = time.Second // for projects that are due
	backlogEvery = 15 * time.Second
	// backlogPatience bounds how long Redis is asked for the backlog.
	backlogPatience = 2 * time.Second
	// restartAfter is about how long what should never end rests before it is started again.
	restartAfter = time.Second
)

// Run does what has to be done for the queues in the background, until the context ends and all of it has returned. Any number of
// servers do the same.
func (l *labeller) Run(ctx context.Context, log *slog.Logger) {
	jobs.Run(ctx, log,
		jobs.Job{Name: "fill queues", Every: populateEvery, Do: l.populate.Run},
		jobs.Job{Name: "watch what Redis knows", Every: watchEvery, Do: l.watch.Run},
		jobs.Job{Name: "compare queues with what is stored", Every: compareEvery, Do: l.compare.Run},
		jobs.Job{Name: "take back items whose lease ended", Every: lookEvery, Do: l.Reaper.Run},
		jobs.Job{Name: "send again what was left in the outbox", Every: lookEvery, Do: l.sendAgain},
		jobs.Job{Name: "rebuild queues", Every: restartAfter, Do: lasting(l.Rebuild.Run)},
		jobs.Job{Name: "follow transitions", Every: restartAfter, Do: lasting(l.Consumer.Run)},
		jobs.Job{Name: "count messages", Every: backlogEvery, Do: l.countMessages},
	)
}

// errEnded says that something ended which goes on as long as its context.
var errEnded = errors.New("it ended before it was told to")

// lasting makes a job of what goes on until the context ends: that it ends before is an error.
func lasting(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := run(ctx)
		if ctx.Err() == nil && err == nil {
			err = errEnded
		}
		return err
	}
}

// relayTurn is how long no other server looks into the outbox. It is shorter than the shortest pause of a job, so that a server that is alone
// never waits for itself.
const relayTurn = lookEvery / 2

// sendAgain sends again what was left in the outbox, which one server at a time looks for. What cannot be sent, since Redis does not answer,
// is not looked for either.
func (l *labeller) sendAgain(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, backlogPatience)
	defer cancel()
	if mine, err := l.Queue.Turn(bounded, "relay", relayTurn); err != nil || !mine {
		return err
	}
	return l.Relay.Run(ctx)
}

// AskTime tells the clock of this server what time it is by Redis. That Redis does not answer is no error: others say so.
func (l *labeller) AskTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	asked := l.clock.Local()
	if now, err := l.Queue.Now(ctx); err == nil {
		l.clock.HeardRedis(now, asked)
	}
	return nil
}

// countMessages has the metrics say how many messages wait, for how long, and how many are dead: they are not asked for at each scrape.
func (l *labeller) countMessages(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, backlogPatience)
	defer cancel()
	b, err := l.Queue.Backlog(ctx)
	if err != nil {
		l.metrics.NoBacklog()
		return err
	}
	l.metrics.Backlog(b.Waiting, b.Dead, b.Oldest)
	return nil
}

// countedTruth counts what becomes of items.
type countedTruth struct {
	labelling.Truth
	metrics *telemetry.Metrics
}

// MoveItem counts the transition of a change that was made.
func (c countedTruth) MoveItem(ctx context.Context, m labelling.Move, once idempotency.Key) error {
	err := c.Truth.MoveItem(ctx, m, once)
	if err == nil && m.Transition != nil {
		c.metrics.Transition(string(m.Transition.Cause))
	}
	return err
}

// countedCoordinator counts what becomes of queues.
type countedCoordinator struct {
	labelling.Coordinator
	metrics *telemetry.Metrics
}

// Fill counts the ids that are put into queues.
func (c countedCoordinator) Fill(ctx context.Context, p project.ID, ids []string, size int) (added, missing int, err error) {
	added, missing, err = c.Coordinator.Fill(ctx, p, ids, size)
	c.metrics.Queued(added)
	return added, missing, err
}

// Commit counts queues that were made, for new projects and again.
func (c countedCoordinator) Commit(ctx context.Context, p project.ID, token string, s labelling.Settings) error {
	err := c.Coordinator.Commit(ctx, p, token, s)
	if err == nil {
		c.metrics.QueueBuilt()
	}
	return err
}

// countedEvents counts what is read of the events of projects.
type countedEvents struct {
	labelling.Events
	metrics *telemetry.Metrics
}

// Read counts events, and the times that some were missed.
func (e countedEvents) Read(ctx context.Context, p project.ID, after labelling.Cursor, n int, block time.Duration) ([]labelling.Event, error) {
	events, err := e.Events.Read(ctx, p, after, n, block)
	e.metrics.EventsRead(len(events), errors.Is(err, labelling.ErrGap))
	return events, err
}
