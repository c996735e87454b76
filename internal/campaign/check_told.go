package campaign

import (
	"cmp"
	"slices"
	"time"
)

// tells are the types of the events that operations make.
var tells = map[Kind]string{Finish: "FINISHED", Undo: "UNDONE", Release: "RELEASED", Defer: "DEFERRED", Skip: "SKIPPED"}

// stretch is what a subscriber was told between two gaps.
type stretch struct {
	subscriber string
	began      time.Time // received
	gap        time.Time // received; zero for the last one
	told       []Told    // a snapshot, and events
}

// change names a change of an item by what an event tells of it.
type change struct {
	typ, item string
	at        int64 // ms
}

func changeOf(t Told) change { return change{t.Type, t.Item, t.At.UnixMilli()} }

// stretches cuts what was told at the gaps. An event that is told again when a subscriber comes back is left out.
func (c *checker) stretches() []stretch {
	var all []stretch
	of := map[string]int{} // the last stretch of a subscriber
	seen := map[string]map[Position]bool{}
	for _, t := range c.told {
		n, open := of[t.Subscriber]
		switch {
		case t.Telling == Gap:
			if open {
				all[n].gap = t.Received
			}
			delete(of, t.Subscriber)
		case t.Telling == Snapshot:
			if open {
				c.broken(Whole, "%s was told a snapshot, and no gap before it", t.Subscriber)
			}
			of[t.Subscriber], seen[t.Subscriber] = len(all), map[Position]bool{t.Position: true}
			all = append(all, stretch{subscriber: t.Subscriber, began: t.Received, told: []Told{t}})
		case !open:
			c.broken(Whole, "%s was told an event before a snapshot", t.Subscriber)
		case !seen[t.Subscriber][t.Position]:
			seen[t.Subscriber][t.Position] = true
			all[n].told = append(all[n].told, t)
		}
	}
	return all
}

// checkTellings looks at what subscribers were told.
func (c *checker) checkTellings() {
	all := c.stretches()
	every := map[string][]Position{} // by epoch: what anybody was told
	for _, s := range all {
		for _, t := range s.told {
			every[t.Position.Epoch] = append(every[t.Position.Epoch], t.Position)
		}
	}
	for epoch, positions := range every {
		slices.SortFunc(positions, comparePositions)
		every[epoch] = slices.Compact(positions)
	}
	claims := c.claimTimes()
	for _, s := range all {
		c.checkOrder(s, claims)
		c.checkWhole(s, every)
		if s.gap.IsZero() {
			c.checkAllTold(s)
		}
	}
	for _, t := range c.told {
		if n := t.Counts; t.Telling != Gap && (n.Total != n.New+n.Claimed+n.Finished+n.Skipped || min(n.New, n.Claimed, n.Finished, n.Skipped) < 0) {
			c.broken(Sums, "%s was told %+v", t.Subscriber, n)
		}
	}
	c.checkDone()
	c.checkLast(all)
}

// checkDone looks whether somebody did, or may have done, what was told, and as often.
func (c *checker) checkDone() {
	type deed struct{ typ, item, user string }
	done, told, seen := map[deed]int{}, map[deed]int{}, map[change]bool{}
	for _, o := range c.operations {
		if o.Outcome != Refused {
			done[deed{tells[o.Kind], o.Of, o.User}]++
		}
	}
	for _, t := range c.told {
		if t.Telling != Event || t.Type == "CLAIMED" || t.Type == "EXTENDED" || t.Item == "" || seen[changeOf(t)] || c.left(t.User) {
			continue
		}
		seen[changeOf(t)] = true
		d := deed{t.Type, t.Item, t.User}
		if told[d]++; told[d] == done[d]+1 {
			c.broken(Nothing, "%s was told that %s has %s item %s, %d times; it was asked for %d times", t.Subscriber, t.User, t.Type, t.Item, told[d], done[d])
		}
	}
}

func comparePositions(a, b Position) int { return slices.Compare(a.At[:], b.At[:]) }

// claimTimes are the times of the versions that claims made. An event tells since when a user has the item, which is a little earlier.
func (c *checker) claimTimes() map[change]time.Time {
	times := map[change]time.Time{}
	for _, o := range c.operations {
		if o.Outcome == Acknowledged && !o.Since.IsZero() && !o.Changed.IsZero() {
			times[change{"CLAIMED", o.Of, o.Since.UnixMilli()}] = o.Changed
		}
	}
	return times
}

// checkOrder looks whether the events of each item come in the order of its versions, and each once. The time of a version is later than that of
// the one before, whatever the clocks of servers say. A claim may be told once more.
func (c *checker) checkOrder(s stretch, claims map[change]time.Time) {
	type last struct {
		told Told
		at   time.Time
	}
	of, seen := map[string]last{}, map[change]bool{}
	for _, t := range s.told {
		if t.Telling != Event || t.Item == "" {
			continue
		}
		at := t.At
		switch {
		case t.Type == "EXTENDED":
			continue
		case t.Type == "CLAIMED":
			known, ok := claims[changeOf(t)]
			if !ok {
				continue // its version was told to nobody
			}
			at = known
		case seen[changeOf(t)]:
			c.broken(ToldOnce, "%s was told twice that item %s was %s at %s", s.subscriber, t.Item, t.Type, t.At.Format(time.RFC3339Nano))
			continue
		}
		seen[changeOf(t)] = true
		if before, ok := of[t.Item]; ok && at.Before(before.at) {
			c.broken(Order, "%s was told of item %s that it was %s (%s) after it was told that it was %s (%s)",
				s.subscriber, t.Item, t.Type, at.Format("15:04:05.000"), before.told.Type, before.at.Format("15:04:05.000"))
			continue
		}
		of[t.Item] = last{t, at}
	}
}

// checkWhole looks whether a subscriber was told all events that anybody was told, between the first and the last of the stretch.
// One that was missed shortly before a gap was told is the gap's.
func (c *checker) checkWhole(s stretch, every map[string][]Position) {
	for n, t := range s.told {
		if n == 0 {
			continue
		}
		before := s.told[n-1].Position
		if before.Epoch != t.Position.Epoch {
			c.broken(Whole, "%s was told of another epoch, and of no gap", s.subscriber)
			continue
		}
		if comparePositions(t.Position, before) < 0 {
			c.broken(Whole, "%s was told of event %v after event %v", s.subscriber, t.Position.At, before.At)
			continue
		}
		all := every[t.Position.Epoch]
		from, _ := slices.BinarySearchFunc(all, before, comparePositions)
		to, _ := slices.BinarySearchFunc(all, t.Position, comparePositions)
		if to > from+1 && (s.gap.IsZero() || s.gap.Sub(t.Received) > c.bounds.ToldGap) {
			c.broken(Whole, "%s was not told of %d events before %v, as others were", s.subscriber, to-from-1, t.Position.At)
		}
	}
}

// checkAllTold looks whether everything was told that was acknowledged since the stretch began, and nothing that nobody did.
func (c *checker) checkAllTold(s stretch) {
	told := map[change]bool{}
	for _, t := range s.told {
		told[changeOf(t)] = true
	}
	missed, first := 0, Operation{}
	for _, o := range c.operations {
		typ := tells[o.Kind]
		if typ == "" || o.Outcome != Acknowledged || o.Changed.IsZero() || !o.Began.After(s.began) || told[change{typ, o.Of, o.Changed.UnixMilli()}] {
			continue
		}
		if missed++; missed == 1 {
			first = o
		}
	}
	if missed > 0 {
		c.broken(Whole, "%s was not told of %d changes that were acknowledged, the first one %s of item %s by %s at %s",
			s.subscriber, missed, first.Kind, first.Of, first.User, first.Changed.Format("15:04:05.000"))
	}
}

// checkLast compares the counts of the last event with what is stored.
func (c *checker) checkLast(all []stretch) {
	counts := c.stored.counts()
	for _, s := range all {
		if s.gap.IsZero() && len(c.stored.Items) > 0 {
			last := slices.MaxFunc(s.told, func(a, b Told) int {
				return cmp.Or(comparePositions(a.Position, b.Position), a.Received.Compare(b.Received))
			})
			if last.Counts != counts {
				c.broken(Agreement, "the last counts that %s was told are %+v, stored are %+v", s.subscriber, last.Counts, counts)
			}
		}
	}
}
