package labelling

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/project"
)

const (
	// compareEvery is how often each active project is compared with the truth.
	compareEvery = 5 * time.Minute
	// readings is how many times in a row the same difference has to be seen: what is only on its way comes to an end.
	readings = 3
	// doubtPause is the longest pause between readings of a project that is in doubt, and before it is looked at again; doubtTries is how often.
	doubtPause, doubtTries = time.Second, 10
	// doubtTurn is how long no other server compares a project for the same doubt.
	doubtTurn = 15 * time.Second
	// share of all reads that comparisons may take, and what they may take in advance.
	readShare, readsInAdvance = 0.01, 500.0
	// unitsPerRow and unitsPerScan are what a scan takes, about, in read units.
	unitsPerRow, unitsPerScan = 0.125, 16.0
)

// Comparison compares what Redis says of projects with what is stored, and has those rebuilt where it differs. It takes as much as one
// percent of the reads of this server at most; only projects that are in doubt are compared whatever that takes.
type Comparison struct {
	Options
	rebuild *Rebuilder
	every   time.Duration
	reads   func() float64 // read units that this server has used so far; nil for no bound
	settle  time.Duration

	mu    sync.Mutex
	due   map[project.ID]planned
	spent float64
}

// planned says when a project is compared next.
type planned struct {
	at   time.Time
	mine bool // no other server does it: what this one has begun did not come to an end
	doubt
}

// doubt is the reason to compare a project at once; the zero doubt is none.
type doubt struct {
	redis string // has taken the place of another one
	since time.Time
	tries int // that are left
}

// any reports whether there is a doubt.
func (d doubt) any() bool { return d.tries > 0 }

// NewComparison returns the job. every is how often each active project is compared, 0 for five minutes; reads tells how many read units
// the server has used so far, nil for no bound.
func NewComparison(o Options, rebuild *Rebuilder, every time.Duration, reads func() float64) *Comparison {
	if every <= 0 {
		every = compareEvery
	}
	return &Comparison{Options: o, rebuild: rebuild, every: every, reads: reads, settle: rebuild.settle, due: map[project.ID]planned{}}
}

// Active says that something happened in a project: it is compared in a while.
func (c *Comparison) Active(p project.ID) { c.plan(p, c.every, doubt{}) }

// Want has a project compared soon.
func (c *Comparison) Want(p project.ID) { c.plan(p, 0, doubt{}) }

// Doubt has a project compared at once, since this Redis may lack what another one had.
func (c *Comparison) Doubt(p project.ID, redis string) {
	c.plan(p, 0, doubt{redis: redis, since: c.Now(), tries: doubtTries})
}

func (c *Comparison) plan(p project.ID, in time.Duration, why doubt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.Now().Add(in)
	was, there := c.due[p]
	switch {
	case why.any():
		c.due[p] = planned{at: at, doubt: why}
	case !there || at.Before(was.at) && !was.any():
		c.due[p] = planned{at: at, mine: was.mine}
	}
}

// again has this server compare a project once more, unless somebody wants that sooner.
func (c *Comparison) again(p project.ID, is planned) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.due[p].any() {
		return
	}
	in := c.every / 10
	if is.tries--; is.any() {
		in = min(in, doubtPause)
	}
	c.due[p] = planned{c.Now().Add(in), true, is.doubt}
}

// Run compares the projects that are due, as far as the reads allow; those in doubt first, then the one that has waited longest.
func (c *Comparison) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		p, is, ok := c.next()
		if !ok {
			return nil
		}
		turn, lasts := "compare:"+string(p), c.every*9/10
		if is.any() {
			turn, lasts = turn+":"+is.redis, doubtTurn
		}
		if !is.mine {
			var err error
			if is.mine, err = c.Coordinator.Turn(ctx, turn, lasts); err != nil {
				return err
			}
		}
		c.done(p) // before: what happens from now on is not compared
		if !is.mine {
			if is.any() {
				c.Active(p) // should the other server not come to an end
			}
			continue // another server does it
		}
		settled, err := c.compare(ctx, p, is.doubt)
		if errors.Is(err, ErrNotReady) {
			continue // it is rebuilt
		}
		if err != nil || !settled {
			c.again(p, is)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next returns the project to compare now.
func (c *Comparison) next() (p project.ID, is planned, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	enough := c.reads != nil && c.spent > readsInAdvance+readShare*c.reads()
	now := c.Now()
	for due, planned := range c.due {
		if planned.at.After(now) || enough && !planned.any() {
			continue
		}
		if p == "" || planned.any() && !is.any() || planned.any() == is.any() && planned.at.Before(is.at) {
			p, is = due, planned
		}
	}
	return p, is, p != ""
}

func (c *Comparison) done(p project.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.due, p)
}

// numbers are what is counted of a project, by name.
type numbers map[string]int

func numbersOf(state State, all []Statistics) numbers {
	c := state.Counts
	n := numbers{"total": c.Total, "new": c.New, "claimed": c.Claimed, "finished": c.Finished, "skipped": c.Skipped, "to review": state.ToReview}
	for _, s := range all {
		n["finished of team "+s.Team], n["incorrect of team "+s.Team] = s.Finished, s.Incorrect
		for _, u := range s.Users {
			n["finished of "+s.Team+"/"+string(u.User)], n["incorrect of "+s.Team+"/"+string(u.User)] = u.Finished, u.Incorrect
		}
	}
	return n
}

// Compare compares a project, and has it rebuilt when it differs.
func (c *Comparison) Compare(ctx context.Context, p project.ID) error {
	settled, err := c.compare(ctx, p, doubt{})
	if err == nil && !settled {
		c.again(p, planned{})
	}
	return err
}

// compare compares a project, and has it rebuilt when it differs. Labellers go on meanwhile: a number has to differ by the same in three
// readings, with nothing in the outbox from before them that would make up for it. When there is, or when it moved too much in one of them to be
// compared, it reports that nothing is settled: the project is to be compared again in a while. Indexes show late what was stored, so a reading begins
// with what Redis said as long before as they may take.
func (c *Comparison) compare(ctx context.Context, p project.ID, why doubt) (settled bool, err error) {
	rest := c.settle
	if why.any() {
		rest = min(rest, doubtPause)
		if late, err := c.late(ctx, p, why.since); err != nil || late {
			return false, err // what is on its way comes first: until then reading all of it is for nothing
		}
	}
	teams, err := domain.First(c.Truth.ListTeams(ctx, []project.ID{p}))
	if err != nil {
		return true, domain.IgnoreMissing(err)
	}
	ids := make([]string, len(teams))
	for i, t := range teams {
		ids[i] = t.ID
	}
	var differ numbers
	epoch, began, unsure := "", c.Now(), false
	first, err := c.Coordinator.Snapshot(ctx, p, "", ids)
	if err != nil {
		return false, err
	}
	said := []spoken{{first, time.Now()}} // latest last; only the first may be as old as the indexes may lag
	for reading := range readings {
		wait := rest
		if reading == 0 {
			wait = c.settle
		}
		if err := pause(ctx, wait); err != nil {
			return false, err
		}
		for len(said) > 1 && time.Since(said[1].at) >= c.settle {
			said = said[1:]
		}
		after, now, restless, err := c.read(ctx, p, ids, said[0].Snapshot)
		if err != nil {
			return false, err
		}
		said = append(said, spoken{after, time.Now()})
		state := after.State
		if reading > 0 && state.Cursor.Epoch != epoch {
			return true, nil // it was rebuilt meanwhile
		}
		epoch, unsure = state.Cursor.Epoch, unsure || len(restless) > 0
		if reading > 0 {
			maps.DeleteFunc(differ, func(name string, by int) bool { return now[name] != by })
		} else {
			differ = now
		}
		if len(differ) == 0 {
			return !unsure, nil
		}
	}
	if late, err := c.late(ctx, p, began); err != nil || late {
		return false, err
	}
	c.Log.WarnContext(ctx, "counts differ from what is stored", "project", p, "by", map[string]int(differ))
	return true, condemn(ctx, c.Options, c.rebuild, p, epoch, "a comparison")
}

// spoken is what Redis said, and when.
type spoken struct {
	Snapshot
	at time.Time
}

// late reports whether the queue has not followed something that happened before a moment.
func (c *Comparison) late(ctx context.Context, p project.ID, before time.Time) (bool, error) {
	pending, err := c.awaited(ctx, &rebuilding{Options: c.Options, project: p})
	return slices.ContainsFunc(pending, func(t Transition) bool { return t.At.Before(before) }), err
}

// awaited returns the transitions that the queue has not followed yet. Those that have stayed for longer than they are sent again are not among them: nobody
// can handle them, and a rebuild is right without them.
func (c *Comparison) awaited(ctx context.Context, w *rebuilding) ([]Transition, error) {
	pending, err := w.outbox(ctx)
	return slices.DeleteFunc(pending, func(t Transition) bool { return c.Now().Sub(t.At) > relayMost }), err
}

// read returns by how much numbers differ. Those that did not change since Redis said what is given are compared as they are; for others see moving. It also
// returns what Redis says afterwards, and the numbers that moved too much to be compared.
func (c *Comparison) read(ctx context.Context, p project.ID, teams []string, before Snapshot) (after Snapshot, differ numbers, restless map[string]bool, err error) {
	w := &rebuilding{Options: c.Options, project: p, since: c.Now().Add(24 * time.Hour), tally: newTally(p, c.Now()), noted: map[string]bool{}}
	if err := w.scan(ctx); err != nil {
		return Snapshot{}, nil, nil, err
	}
	c.spend(unitsPerScan + unitsPerRow*float64(len(w.tally.items)+len(w.tally.efforts)))
	if after, err = c.Coordinator.Snapshot(ctx, p, "", teams); err != nil {
		return Snapshot{}, nil, nil, err
	}
	was, is := numbersOf(before.State, before.Statistics), numbersOf(after.State, after.Statistics)
	stored := numbersOf(w.tally.numbers(teams))
	for name := range stored {
		is[name] += 0 // a number that is missing is 0
	}
	differ, restless = numbers{}, map[string]bool{}
	for name, n := range is {
		if was[name] != n {
			restless[name] = true
		} else if stored[name] != n {
			differ[name] = n - stored[name]
		}
	}
	if len(restless) > 0 {
		moved, err := c.moving(ctx, w, teams, before.State.Cursor, restless)
		if err != nil {
			return Snapshot{}, nil, nil, err
		}
		maps.Copy(differ, moved)
	}
	return after, differ, restless, nil
}

// spend notes read units that were used.
func (c *Comparison) spend(units float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent += units
}

// numbers returns what was added up.
func (t *tally) numbers(teams []string) (State, []Statistics) {
	c := Counts{New: t.counts[project.New], Claimed: t.counts[project.Claimed], Finished: t.counts[project.Finished], Skipped: t.counts[project.Skipped]}
	c.Total = c.New + c.Claimed + c.Finished + c.Skipped
	var all []Statistics
	for _, team := range teams {
		s := Statistics{Team: team}
		for _, u := range t.teams[team] {
			s.Finished += u.Finished
			s.Incorrect += u.Incorrect
			s.Users = append(s.Users, u)
		}
		all = append(all, s)
	}
	toReview := 0
	for _, n := range t.toReview {
		toReview += n
	}
	return State{Counts: c, ToReview: toReview}, all
}
