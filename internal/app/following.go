package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/taggie/taggie/dynamo/notes"
	"github.com/taggie/taggie/dynamo/outbox"
	"github.com/taggie/taggie/dynamo/scores"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/edge"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/follow"
	"github.com/taggie/taggie/internal/queue"
	"github.com/taggie/taggie/internal/telemetry"
)

// following is what tells of notes and scores, wired.
type following struct {
	Teller  *follow.Teller
	Hub     *follow.Hub
	turn    func(ctx context.Context, what string, lasts time.Duration) (bool, error)
	metrics *telemetry.Metrics
}

// newFollowing wires what tells of notes and scores. Nothing runs until somebody listens to the hub, which is to be closed, or something happens.
func newFollowing(q *queue.Queue, s *Stores, cfg config.Config, metrics *telemetry.Metrics, log *slog.Logger) following {
	ofNotes, kept := notes.Store{DB: s.DB}, queue.Streams{Queue: q}
	waiting := outbox.Store{DB: s.DB}
	news := edge.NewNews(edge.Redis{Client: s.Redis, Prefix: cfg.RedisPrefix}, "events", cfg.TablePrefix+"events")
	return following{
		Teller: follow.NewTeller(follow.TellerOptions{Outbox: waiting, Owners: ofNotes.OwnersOf, Streams: kept, News: news, Now: s.Clock.Now, Log: log}),
		Hub: follow.NewHub(follow.HubOptions{
			Streams: kept, News: news, Shares: ofNotes, Scores: scores.Store{DB: s.DB}, Patience: cfg.StreamPatience,
			Missed: func(of event.Kind) { metrics.EventsMissed(string(of)) }, Log: log,
		}),
		turn:    q.Turn,
		metrics: metrics,
	}
}

const (
	// sweepEvery is how often a server removes from the outbox what it has told.
	sweepEvery = time.Second
	// leftEvery is how often is looked for what others left there, by one server.
	leftEvery = 2 * time.Second
)

// Relay tells what others left in the outbox, which one server at a time looks for. While Redis does not answer, nobody does.
func (f following) Relay(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, backlogPatience)
	defer cancel()
	if mine, err := f.turn(bounded, "events", leftEvery/2); err != nil || !mine {
		return err
	}
	return f.Teller.Relay(ctx)
}

// countLate has the metrics say for how long the oldest event has been waiting.
func (f following) countLate(ctx context.Context) error {
	late, err := f.Teller.Late(ctx)
	if err != nil {
		f.metrics.NoEventsLate()
		return err
	}
	f.metrics.EventsLate(late)
	return nil
}
