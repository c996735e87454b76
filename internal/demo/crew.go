package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const watchQueue = `query WatchQueue($id: ID!) {
  project(id: $id) { queue { queued counts { total finished skipped remaining } } }
}`

const heartbeat = `mutation Heartbeat($input: HeartbeatInput!) {
  heartbeat(input: $input) { onlineCount }
}`

// watch is what one pastes into GraphiQL to see the crew at work; docs/tour/projects.md has it, too.
const watch = `subscription Watch($after: EventCursor) {
  projectEvents(projectId: "PROJECT_ID", after: $after) {
    ... on ProjectSnapshot { cursor queue { counts { new claimed finished } queued } claims { name } }
    ... on ProjectEvent { cursor type at user { name } item { name category { name } } counts { new claimed finished } }
    ... on ProjectGap { message }
  }
}`

// Crew is people of the demo data who label the items of its project. Any number of crews may work beside one another, and beside
// people.
type Crew struct {
	Labellers int           // at work at a time; of many, several are the same person
	Reviewers int           // who look at what the labellers found
	For       time.Duration // how long they work; 0 for until nothing is left
	Pace      time.Duration // how long a labeller looks at an item on average; 0 for not at all

	habits   *habits       // nil for the usual ones
	patience time.Duration // how long the queue may be empty before the crew ends; the usual one when 0
}

// habits say of how many items one is not simply finished; 0 is never.
type habits struct {
	skip, release int // given up
	mistake, undo int // finished, but not well
}

var usual = habits{skip: 25, release: 40, mistake: 15, undo: 30}

const (
	emptyFor = 30 * time.Second // the usual patience
	// awayFor is how long nothing may work before a crew gives up: a server that starts again, or a queue that is made anew, takes less.
	awayFor = 2 * time.Minute
	// settling bounds what is still done when a crew ends.
	settling  = 15 * time.Second
	beatEvery = 20 * time.Second
)

// Work has the crew label what [Full] loaded, until its time is over, nothing is left, or ctx ends, which is no error: then it gives
// back what it holds. It fails when the server is away for minutes, and with [ErrNoServer] when it is not there at the beginning.
func (c Crew) Work(ctx context.Context, o Options) error {
	if c.Labellers < 1 || c.Reviewers < 0 {
		return errors.New("a crew has at least one labeller")
	}
	o.Concurrency = c.Labellers + c.Reviewers + 1 // connections that stay open
	l, done := open(o, full)
	defer done()
	if err := c.work(ctx, l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("label the demo data: %w", err)
	}
	return nil
}

func (c Crew) work(ctx context.Context, l *loader) error {
	ada, err := l.as(people[0])
	if err != nil {
		return err
	}
	id, err := l.findProject(ctx, ada, projectName)
	if err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("%s has no project %q any more", Name, projectName)
	}
	w := &shift{loader: l, Crew: c, name: strconv.FormatUint(rand.Uint64(), 36)}
	if w.project, err = l.describe(ctx, ada, id); err != nil {
		return err
	}
	if w.habits == nil {
		w.habits = &usual
	}
	if w.patience == 0 {
		w.patience = emptyFor
	}
	say(l.options.Progress, "The crew is labelling; Ctrl-C ends it. To watch, open %s and paste this:\n\n%s\n",
		strings.TrimSuffix(l.options.URL, "/"), strings.Replace(watch, "PROJECT_ID", id, 1))
	return w.run(ctx)
}

// shift is a crew at work.
type shift struct {
	*loader
	Crew
	name    string // tells the claims of this crew from those of others
	project archive
	inHand  atomic.Int64 // items that the crew holds
	given   atomic.Int64 // times that one was handed items
	tally   tally
}

// run has everybody work until the end, and gives back what they hold.
func (s *shift) run(ctx context.Context) error {
	shown := &board{w: s.options.Progress}
	defer func() { shown.end(&s.tally) }()
	if s.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.For)
		defer cancel()
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	all, ctx := errgroup.WithContext(ctx)
	for i := range s.Labellers {
		w := &labeller{shift: s, person: one(membersOf("TAGGIE"), i), name: fmt.Sprintf("%s/%d", s.name, i)}
		all.Go(func() error { return w.run(ctx) })
		all.Go(func() error { return s.online(ctx, w.person) })
	}
	for i := range s.Reviewers {
		p := one(membersOf("REVIEWER"), i)
		all.Go(func() error { return s.again(ctx, func(ctx context.Context) error { return s.reviewOne(ctx, p) }) })
		all.Go(func() error { return s.online(ctx, p) })
	}
	all.Go(func() error {
		defer end()
		return s.look(ctx, shown)
	})
	return all.Wait()
}

func one(of []int, i int) person { return people[of[i%len(of)]] }

// as returns a person with a fresh token: a crew may work for longer than one is valid.
func (l *loader) as(p person) (member, error) {
	token, err := l.options.Token(p.email, p.name)
	if err != nil {
		return member{}, fmt.Errorf("make a token for %s: %w", p.email, err)
	}
	return member{person: p, token: token}, nil
}

// again does something until ctx ends. What fails is tried again, unless nothing else has happened for long.
func (s *shift) again(ctx context.Context, do func(context.Context) error) error {
	var since time.Time
	for ctx.Err() == nil {
		err := do(ctx)
		switch {
		case err == nil:
			since = time.Time{}
			continue
		case errors.Is(err, errNothing):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > awayFor && ctx.Err() == nil:
			return err
		}
		_ = s.rest(ctx, s.Pace/4)
	}
	return nil
}

// rest waits for about as long, but never for no time at all.
func (s *shift) rest(ctx context.Context, d time.Duration) error {
	return sleep(ctx, max(around(d), looking))
}

// around returns from half of a duration to half as much again.
func around(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

// settled is a context for what must not be left half-done when ctx ends.
func settled(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settling)
}

// online says again and again that a person is at work.
func (s *shift) online(ctx context.Context, p person) error {
	input := map[string]any{"input": map[string]any{"projectIds": []string{s.project.id}}}
	for ctx.Err() == nil {
		if me, err := s.as(p); err == nil {
			_ = s.ask(ctx, me, heartbeat, input, &struct{}{}) // the next one will do
		}
		_ = sleep(ctx, around(beatEvery))
	}
	return nil
}

// look shows how far the labelling is, and returns when nothing is left, or the queue was empty for long.
func (s *shift) look(ctx context.Context, shown *board) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	ada, empty, given := people[0], time.Now(), int64(0)
	return s.again(ctx, func(ctx context.Context) error {
		me, err := s.as(ada)
		if err != nil {
			return err
		}
		var data struct {
			Project struct {
				Queue queueState `json:"queue"`
			} `json:"project"`
		}
		if err := s.ask(ctx, me, watchQueue, map[string]any{"id": s.project.id}, &data); err != nil {
			return err
		}
		q := data.Project.Queue
		shown.show(q, &s.tally)
		if n := s.given.Load(); n != given || q.Queued > 0 || s.inHand.Load() > 0 {
			empty, given = time.Now(), n
		}
		if q.Counts.Remaining == 0 || time.Since(empty) > s.patience {
			end()
			return nil
		}
		_ = s.rest(ctx, s.Pace/2) // that it ended, the caller sees
		return nil
	})
}
