package campaign

import (
	"maps"
	"slices"
	"time"
)

// following is what a follower of a score was told since the last gap.
type following struct {
	began time.Time // when it was told where it is; zero when it waits for that
	last  Position
	seen  map[Position]bool
	told  map[happening]bool
}

// happening names what happened to a score by what an event tells of it.
type happening struct {
	typ     string
	version int
	made    string
}

// happened is what an operation did to a score; false when the answer does not say so.
func happened(o Operation) (happening, bool) {
	switch {
	case o.Score == "" || o.Outcome != Acknowledged:
		return happening{}, false
	case o.Made != "":
		return happening{typ: "SNAPSHOT_CREATED", made: o.Made}, true
	}
	return happening{typ: "CHANGED", version: o.Version}, o.Version > 0
}

// Followed returns what is wrong with what followers of scores were told. That they were not told of something yet is no fault as long as events may be on their way.
func Followed(h *History) []Violation {
	c := &checker{operations: h.Operations()}
	all := map[string]map[string]*following{} // by score and follower
	for _, t := range h.Tellings() {
		if t.Score == "" {
			continue
		}
		if all[t.Score] == nil {
			all[t.Score] = map[string]*following{}
		}
		f := all[t.Score][t.Subscriber]
		if f == nil || t.Telling == Gap {
			f = &following{seen: map[Position]bool{}, told: map[happening]bool{}}
			all[t.Score][t.Subscriber] = f
		}
		if t.Telling != Gap {
			c.hears(f, t)
		}
	}
	for _, o := range c.operations {
		if did, is := happened(o); is {
			c.checkFollowed(o, did, all[o.Score])
		}
	}
	return c.violations
}

// hears adds what a follower was told, and looks whether it goes on from what was told before. What was told before a connection was lost may be told again.
func (c *checker) hears(f *following, t Told) {
	if f.seen[t.Position] {
		return
	}
	if f.began.IsZero() {
		if f.began = t.Received; t.Telling != Snapshot {
			c.broken(Whole, "%s was told an event of score %s before a position", t.Subscriber, t.Score)
		}
	}
	if comparePositions(t.Position, f.last) < 0 {
		c.broken(Whole, "%s was told of event %v of score %s after event %v", t.Subscriber, t.Position.At, t.Score, f.last.At)
	}
	f.last, f.seen[t.Position] = t.Position, true
	if t.Telling != Event {
		return
	}
	is := happening{typ: t.Type, made: t.Made}
	if t.Made == "" {
		is.version = t.Version
	}
	if f.told[is] {
		c.broken(ToldOnce, "%s was told twice that score %s was %s: version %d", t.Subscriber, t.Score, t.Type, t.Version)
	}
	f.told[is] = true
}

// checkFollowed looks whether each follower of a score was told what was acknowledged since it knows where it is.
func (c *checker) checkFollowed(o Operation, did happening, followers map[string]*following) {
	for _, name := range slices.Sorted(maps.Keys(followers)) {
		f := followers[name]
		if f.began.IsZero() {
			c.broken(Whole, "%s was told of a gap in the events of score %s, and of no position", name, o.Score)
		} else if o.Began.After(f.began) && !f.told[did] {
			c.broken(Whole, "%s was not told that score %s was %s by %s at %s: version %d", name, o.Score, did.typ, o.User, o.Began.Format("15:04:05.000"), o.Version)
		}
	}
	if len(followers) == 0 {
		c.broken(Whole, "nobody was told anything of score %s", o.Score)
	}
}
