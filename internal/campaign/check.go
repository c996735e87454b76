package campaign

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Rule is something that has to be true of every campaign.
type Rule string

// The rules.
const (
	Kept        Rule = "what was acknowledged is stored"
	Once        Rule = "nothing is carried out twice"
	Nothing     Rule = "what was refused, or never asked for, has no effect"
	OneHolder   Rule = "one user has an item at a time"
	Agreement   Rule = "counts, statistics and lists that are told are those that are stored"
	Order       Rule = "events of an item are told in the order of its versions"
	Whole       Rule = "no event is missed without a gap being told"
	ToldOnce    Rule = "a change is told once"
	Sums        Rule = "the counts of an event add up"
	SignedOut   Rule = "a revoked token is refused within a minute"
	Dismissed   Rule = "who is no member any more is refused"
	GoesOn      Rule = "work goes on soon after an election"
	Answered    Rule = "answers are those that the contract knows"
	Resubscribe Rule = "a subscription ends only with what clients go on after"
	InTime      Rule = "a request is answered by its deadline"
	Cleared     Rule = "what nobody needs any more is gone"
	Level       Rule = "what a server uses does not grow with time"
)

// Rules are all of them.
var Rules = []Rule{Kept, Once, Nothing, OneHolder, Agreement, Order, Whole, ToldOnce, Sums, SignedOut, Dismissed, GoesOn, Answered, Resubscribe, InTime, Cleared, Level}

// Bounds are the times that are promised.
type Bounds struct {
	SignedOut time.Duration // after a revocation
	Dismissed time.Duration // after a membership has ended
	GoesOn    time.Duration // after an election
	ToldGap   time.Duration // after an event that was missed
	InTime    time.Duration // for an answer; 0 for any
}

// Promised are the bounds that the documentation names.
var Promised = Bounds{SignedOut: time.Minute, Dismissed: time.Minute, GoesOn: 5 * time.Second, ToldGap: 15 * time.Second}

// Violation is a rule that was broken, and how.
type Violation struct {
	Rule Rule   `json:"rule"`
	How  string `json:"how"`
}

// String names the rule first.
func (v Violation) String() string { return string(v.Rule) + ": " + v.How }

// Check returns what is wrong in a history, nothing when it is as it has to be.
func Check(h *History, s Stored, b Bounds) []Violation {
	c := &checker{
		bounds: b, stored: s, operations: h.Operations(), faults: h.Faults(),
		items: map[string]Item{}, of: map[string][]Operation{},
	}
	for _, t := range h.Tellings() {
		if t.Score == "" {
			c.told = append(c.told, t)
		}
	}
	for _, i := range s.Items {
		c.items[i.ID] = i
	}
	for _, o := range c.operations {
		c.of[o.Of] = append(c.of[o.Of], o)
	}
	c.checkAnswers()
	c.checkDeadlines()
	c.checkItems()
	c.checkNotes()
	c.checkCollections()
	c.checkCopies()
	c.checkUse()
	c.checkAccess()
	c.checkElections()
	c.checkAgreement()
	c.checkTellings()
	c.violations = append(c.violations, Followed(h)...)
	return c.violations
}

// Disagreements returns what servers tell that is not what is stored, as it may be for a moment after a change.
func Disagreements(s Stored) []Violation {
	c := &checker{stored: s}
	c.checkAgreement()
	return c.violations
}

// checker holds a history against what is stored.
type checker struct {
	bounds     Bounds
	stored     Stored
	operations []Operation
	told       []Told // of the project
	faults     []Fault
	items      map[string]Item
	of         map[string][]Operation // by what they are about
	violations []Violation
}

func (c *checker) broken(r Rule, format string, args ...any) {
	c.violations = append(c.violations, Violation{Rule: r, How: fmt.Sprintf(format, args...)})
}

// checkAnswers finds what is no answer that there should be.
func (c *checker) checkAnswers() {
	for _, o := range c.operations {
		if o.Kind != Complain {
			continue
		}
		if o.Of == streamEnded {
			c.broken(Resubscribe, "%s was told %s", o.User, o.Why)
		} else {
			c.broken(Answered, "%s asked for %s and got %s", o.User, o.Of, o.Why)
		}
	}
}

// checkDeadlines finds answers that came too late. While a server stands still, its time does not count.
func (c *checker) checkDeadlines() {
	for _, o := range c.operations {
		late := o.Longest - c.bounds.InTime
		for _, f := range c.faults {
			if f.Stopped {
				late -= max(0, earlier(f.Ended, o.Ended).Sub(later(f.Began, o.Began)))
			}
		}
		if c.bounds.InTime > 0 && late > 0 {
			c.broken(InTime, "%s of %s by %s at %s waited %v for an answer", o.Kind, o.Of, o.User, o.Began.Format("15:04:05.000"), o.Longest.Round(time.Millisecond))
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// checkAgreement compares what each server tells with what is stored.
func (c *checker) checkAgreement() {
	counts, finished := c.stored.counts(), map[string]int{}
	for _, i := range c.stored.Items {
		for _, e := range i.Efforts {
			if !e.Undone {
				finished[e.User]++
			}
		}
	}
	for _, a := range c.stored.Answers {
		if a.Counts != counts {
			c.broken(Agreement, "%s tells %+v, stored are %+v", a.Server, a.Counts, counts)
		}
		theirs := maps.Clone(a.Finished)
		maps.DeleteFunc(theirs, func(_ string, n int) bool { return n == 0 })
		if !maps.Equal(theirs, finished) {
			c.broken(Agreement, "%s tells that users finished %v, stored are %v", a.Server, theirs, finished)
		}
		for _, i := range c.stored.Items {
			if n := a.Efforts[i.ID]; n != len(i.Efforts) {
				c.broken(Agreement, "%s lists %d efforts of item %s, stored are %d", a.Server, n, i.ID, len(i.Efforts))
			}
		}
	}
}

// checkElections looks how long nobody got any work done after somebody else had taken over.
func (c *checker) checkElections() {
	for _, f := range c.faults {
		if idle, over := IdleAfter(f, c.operations, c.faults); over && idle > c.bounds.GoesOn {
			c.broken(GoesOn, "%s: the first work was done %v after the election", f.What, idle.Round(time.Millisecond))
		}
	}
}

// IdleAfter returns how long after an election the first work was done that Redis is needed for, and whether that is known: it is not when something
// else was broken before work could go on.
func IdleAfter(f Fault, operations []Operation, faults []Fault) (time.Duration, bool) {
	if f.Elected.IsZero() {
		return 0, false
	}
	var first time.Time
	for _, o := range operations {
		if o.Kind == Claim && o.Outcome == Acknowledged && o.Of != "" && o.Ended.After(f.Elected) && (first.IsZero() || o.Ended.Before(first)) {
			first = o.Ended
		}
	}
	for _, other := range faults {
		if other.Began.After(f.Began) && (first.IsZero() || other.Began.Before(first)) && other.Began.Before(f.Elected.Add(time.Minute)) {
			return 0, false
		}
	}
	if first.IsZero() {
		first = f.Elected.Add(time.Hour)
	}
	return first.Sub(f.Elected), true
}

// checkNotes holds the notes against what was written.
func (c *checker) checkNotes() {
	for _, n := range c.stored.Notes {
		at := map[string]int{}
		for _, version := range slices.Sorted(maps.Keys(n.Contents)) {
			content := n.Contents[version]
			if before, twice := at[content]; twice {
				c.broken(Once, "note %s has %q at versions %d and %d", n.ID, content, before, version)
			}
			at[content] = version
		}
		by := map[int]string{}
		for _, o := range c.of[n.ID] {
			version, there := at[o.Content]
			switch o.Outcome {
			case Acknowledged:
				if !there || version != o.Version {
					c.broken(Kept, "note %s has %q at version %d, where %s was told that %q is", n.ID, n.Contents[o.Version], o.Version, o.User, o.Content)
				}
				if other, twice := by[o.Version]; twice {
					c.broken(Once, "version %d of note %s is %q and %q", o.Version, n.ID, other, o.Content)
				}
				by[o.Version] = o.Content
			case Refused:
				if there {
					c.broken(Nothing, "note %s has %q, which was refused to %s: %s", n.ID, o.Content, o.User, o.Why)
				}
			case Unknown: // once or never
			}
			delete(at, o.Content)
		}
		for content, version := range at {
			if version > 1 {
				c.broken(Nothing, "note %s has %q at version %d, which nobody wrote", n.ID, content, version)
			}
		}
	}
}

// checkAccess looks for what was done by those who may not any more.
func (c *checker) checkAccess() {
	for _, end := range c.operations {
		if end.Outcome != Acknowledged || end.Kind != Revoke && end.Kind != Dismiss {
			continue
		}
		rule, bound := SignedOut, c.bounds.SignedOut
		if end.Kind == Dismiss {
			rule, bound = Dismissed, c.bounds.Dismissed
		}
		for _, o := range c.operations {
			elsewhere := end.Kind == Dismiss && slices.Contains([]Kind{Look, Write, Make, Take}, o.Kind)
			if o.User != end.Of || o.Outcome != Acknowledged || !o.Began.After(end.Ended.Add(bound)) || elsewhere {
				continue
			}
			c.broken(rule, "%s of %s was carried out %v after", o.Kind, o.User, o.Began.Sub(end.Ended).Round(time.Millisecond))
		}
	}
}
