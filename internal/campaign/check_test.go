package campaign_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/campaign"
)

// epoch is when the made-up campaign begins; at is so many milliseconds later.
var epoch = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// story is a made-up campaign. Those who change it see what was done, told and stored by name.
type story struct {
	operations []campaign.Operation
	told       []campaign.Told
	faults     []campaign.Fault
	stored     campaign.Stored
}

// op returns the operation of a kind that is the nth.
func (s *story) op(kind campaign.Kind, nth int) *campaign.Operation {
	for i := range s.operations {
		if s.operations[i].Kind == kind {
			if nth == 0 {
				return &s.operations[i]
			}
			nth--
		}
	}
	panic("there is no such operation")
}

// event returns the index of the first thing told to a subscriber of this type.
func (s *story) event(subscriber, typ string) int {
	return slices.IndexFunc(s.told, func(t campaign.Told) bool { return t.Subscriber == subscriber && t.Type == typ })
}

func (s *story) check() []campaign.Violation {
	h := campaign.NewHistory(time.Now, nil)
	for _, o := range s.operations {
		h.Did(o)
	}
	for _, t := range s.told {
		h.Told(t)
	}
	for _, f := range s.faults {
		h.Broke(f)
	}
	bounds := campaign.Promised
	bounds.InTime = 20 * time.Second
	return campaign.Check(h, s.stored, bounds)
}

// good is a campaign of two items, in which everything is as it should be: Ada finishes one, takes it back and finishes it again; Bob releases
// the other one and Ada skips it. Cid is dismissed and Dan is signed out. Two write into a note. A master was replaced.
func good() *story {
	op := func(ms int, kind campaign.Kind, user, of string, change func(o *campaign.Operation)) campaign.Operation {
		o := campaign.Operation{Kind: kind, User: user, Of: of, Began: at(ms), Ended: at(ms + 5), Outcome: campaign.Acknowledged, Tries: 1}
		if change != nil {
			change(&o)
		}
		return o
	}
	version := func(n, ms int) func(*campaign.Operation) {
		return func(o *campaign.Operation) { o.Version, o.Changed = n, at(ms) }
	}
	claimed := func(n, ms int, token string) func(*campaign.Operation) {
		return func(o *campaign.Operation) { o.Version, o.Changed, o.Since, o.Token = n, at(ms), at(ms-1), token }
	}
	with := func(all ...func(*campaign.Operation)) func(*campaign.Operation) {
		return func(o *campaign.Operation) {
			for _, f := range all {
				f(o)
			}
		}
	}
	effort := func(id string) func(*campaign.Operation) { return func(o *campaign.Operation) { o.Effort = id } }
	token := func(t string) func(*campaign.Operation) { return func(o *campaign.Operation) { o.Token = t } }
	outcome := func(is campaign.Outcome, why string) func(*campaign.Operation) {
		return func(o *campaign.Operation) { o.Outcome, o.Why = is, why }
	}
	content := func(text string, n int) func(*campaign.Operation) {
		return func(o *campaign.Operation) { o.Content, o.Version = text, n }
	}
	s := &story{operations: []campaign.Operation{
		op(100, campaign.Claim, "ada", "one", claimed(2, 102, "t1")),
		op(110, campaign.Claim, "bob", "two", claimed(2, 112, "t2")),
		op(200, campaign.Finish, "ada", "one", with(version(3, 202), token("t1"), effort("e1"))),
		op(210, campaign.Release, "bob", "two", with(version(3, 212), token("t2"))),
		op(300, campaign.Undo, "ada", "one", with(claimed(4, 302, "t3"), effort("e1"))),
		op(310, campaign.Claim, "ada", "two", claimed(4, 312, "t4")),
		op(400, campaign.Finish, "ada", "one", with(version(5, 402), token("t3"), effort("e2"))),
		op(410, campaign.Skip, "ada", "two", with(version(5, 412), token("t4"))),
		op(420, campaign.Finish, "bob", "two", with(outcome(campaign.Refused, "LeaseLost"), token("t2"))),
		op(100, campaign.Write, "ada", "note", content("a", 2)),
		op(200, campaign.Write, "bob", "note", content("b", 3)),
		op(200, campaign.Write, "ada", "note", with(content("late", 0), outcome(campaign.Refused, "NoteConflict"))),
		op(300, campaign.Write, "ada", "note", with(content("perhaps", 0), outcome(campaign.Unknown, "no answer"))),
		op(100, campaign.Dismiss, "root", "cid", nil),
		op(100, campaign.Revoke, "root", "dan", nil),
		op(1000, campaign.Look, "dan", "", nil), // within a minute
		op(70_000, campaign.Look, "dan", "", outcome(campaign.Refused, "UNAUTHENTICATED")),
		op(70_000, campaign.Claim, "cid", "", outcome(campaign.Refused, "NOT_FOUND")),
	}}
	s.faults = []campaign.Fault{{What: "the master was killed", Began: at(120), Ended: at(280), Elected: at(250)}}
	s.stored = campaign.Stored{
		Items: []campaign.Item{
			{ID: "one", Status: "FINISHED", Version: 5, Efforts: []campaign.Effort{{ID: "e1", User: "ada", Undone: true}, {ID: "e2", User: "ada"}}},
			{ID: "two", Status: "SKIPPED", Version: 5},
		},
		Notes: []campaign.Note{{ID: "note", Version: 4, Contents: map[int]string{1: "", 2: "a", 3: "b", 4: "perhaps"}}},
		Answers: []campaign.Answer{{
			Server: "first", Counts: campaign.Counts{Total: 2, Finished: 1, Skipped: 1}, Finished: map[string]int{"ada": 1, "bob": 0},
			Efforts: map[string]int{"one": 2},
		}},
	}
	events := []campaign.Told{
		{Type: "CLAIMED", Item: "one", User: "ada", At: at(101), Counts: campaign.Counts{Total: 2, New: 1, Claimed: 1}},
		{Type: "CLAIMED", Item: "two", User: "bob", At: at(111), Counts: campaign.Counts{Total: 2, Claimed: 2}},
		{Type: "FINISHED", Item: "one", User: "ada", At: at(202), Counts: campaign.Counts{Total: 2, Claimed: 1, Finished: 1}},
		{Type: "RELEASED", Item: "two", User: "bob", At: at(212), Counts: campaign.Counts{Total: 2, New: 1, Finished: 1}},
		{Type: "UNDONE", Item: "one", User: "ada", At: at(302), Counts: campaign.Counts{Total: 2, New: 1, Claimed: 1}},
		{Type: "CLAIMED", Item: "two", User: "ada", At: at(311), Counts: campaign.Counts{Total: 2, Claimed: 2}},
		{Type: "FINISHED", Item: "one", User: "ada", At: at(402), Counts: campaign.Counts{Total: 2, Claimed: 1, Finished: 1}},
		{Type: "SKIPPED", Item: "two", User: "ada", At: at(412), Counts: campaign.Counts{Total: 2, Finished: 1, Skipped: 1}},
	}
	for _, subscriber := range []string{"first", "second"} {
		s.told = append(s.told, campaign.Told{
			Subscriber: subscriber, Received: at(0), Telling: campaign.Snapshot, Position: campaign.Position{Epoch: "x"}, Counts: campaign.Counts{Total: 2, New: 2},
		})
		for i, e := range events {
			e.Subscriber, e.Telling, e.Received = subscriber, campaign.Event, e.At.Add(3*time.Millisecond)
			e.Position = campaign.Position{Epoch: "x", At: [2]uint64{uint64(i + 1), 0}}
			s.told = append(s.told, e)
		}
		s.told = append(s.told, s.told[len(s.told)-1]) // told again to who comes back
	}
	s.makes()
	s.follows()
	return s
}

func TestAGoodHistoryBreaksNoRule(t *testing.T) {
	assert.Empty(t, good().check())
}

// bad are the ways to break each rule.
var bad = map[campaign.Rule]map[string]func(*story){
	campaign.Kept: {
		"an effort is lost":      func(s *story) { s.stored.Items[0].Efforts = s.stored.Items[0].Efforts[:1] },
		"an effort is another's": func(s *story) { s.stored.Items[0].Efforts[1].User = "bob" },
		"an undo is lost":        func(s *story) { s.stored.Items[0].Efforts[0].Undone = false },
		"an item is lost":        func(s *story) { s.stored.Items = s.stored.Items[:1] },
		"a skip is lost":         func(s *story) { s.stored.Items[1].Status = "NEW" },
		"an item went backwards": func(s *story) { s.stored.Items[1].Version, s.stored.Items[1].Status = 3, "NEW" },
		"a claim is another's": func(s *story) {
			s.operations = slices.DeleteFunc(s.operations, func(o campaign.Operation) bool { return o.Kind == campaign.Skip })
			s.stored.Items[1].Version, s.stored.Items[1].Status, s.stored.Items[1].Holder = 4, "CLAIMED", "bob"
		},
		"a note's content is lost":     func(s *story) { s.stored.Notes[0].Contents[2] = "something" },
		"a note's version is another":  func(s *story) { s.op(campaign.Write, 0).Version = 3 },
		"a finished item counts twice": func(s *story) { s.stored.Items[0].Status = "NEW" },
		"an annotation is lost":        func(s *story) { s.annotations().Members = []string{"a2", "a4"} },
		"what was taken away is back":  func(s *story) { s.annotations().Members = append(s.annotations().Members, "a3") },
		"a collection is lost":         func(s *story) { s.stored.Collections = s.stored.Collections[:1] },
		"a snapshot lacks something":   func(s *story) { s.stored.Copies[0].Members = nil },
	},
	campaign.Once: {
		"an item is finished twice":           func(s *story) { s.stored.Items[0].Efforts[0].Undone = false },
		"an effort is there twice":            func(s *story) { s.stored.Items[0].Efforts[0].ID = "e2" },
		"an unknown finish is there twice":    unknownFinishTwice,
		"an effort is acknowledged twice":     func(s *story) { s.op(campaign.Finish, 1).Effort = "e1" },
		"two changes have one version":        func(s *story) { s.op(campaign.Claim, 2).Version = 3 },
		"a later change has the lower one":    func(s *story) { s.op(campaign.Finish, 1).Version, s.op(campaign.Undo, 0).Version = 4, 5 },
		"a note has one content at two":       func(s *story) { s.stored.Notes[0].Contents[5] = "perhaps" },
		"two writes of a note got one number": func(s *story) { s.op(campaign.Write, 1).Version = 2 },
		"an annotation is there twice":        func(s *story) { s.annotations().Members = append(s.annotations().Members, "a1") },
		"an unknown annotation is there twice": func(s *story) {
			s.op(campaign.Make, 1).Outcome = campaign.Unknown
			s.annotations().Members = append(s.annotations().Members, "a2")
		},
	},
	campaign.Nothing: {
		"a refused finish is stored": func(s *story) {
			s.stored.Items[1].Efforts = append(s.stored.Items[1].Efforts, campaign.Effort{ID: "e9", User: "bob"})
		},
		"an effort of nobody": func(s *story) {
			s.stored.Items[1].Efforts = append(s.stored.Items[1].Efforts, campaign.Effort{ID: "e9", User: "eve", Undone: true})
		},
		"a refused undo": func(s *story) { s.op(campaign.Undo, 0).Outcome = campaign.Refused },
		"an undo of nobody": func(s *story) {
			s.operations = slices.DeleteFunc(s.operations, func(o campaign.Operation) bool { return o.Kind == campaign.Undo })
		},
		"a refused write":      func(s *story) { s.stored.Notes[0].Contents[5] = "late" },
		"a write of nobody":    func(s *story) { s.stored.Notes[0].Contents[5] = "?" },
		"a refused annotation": func(s *story) { s.op(campaign.Make, 0).Outcome = campaign.Refused },
		"an annotation of nobody": func(s *story) {
			s.annotations().Members = append(s.annotations().Members, "?")
		},
		"a snapshot of what came later": func(s *story) { s.stored.Copies[0].Members = []string{"a1", "a2"} },
		"an event of nobody":            func(s *story) { s.told[s.event("first", "SKIPPED")].User = "eve" },
		"an event too many": func(s *story) {
			s.tellsLate("first", campaign.Told{Type: "RELEASED", Item: "two", User: "bob", At: at(413)})
		},
	},
	campaign.OneHolder: {
		"two claims":         func(s *story) { s.op(campaign.Claim, 2).Ended = at(150) },
		"a claim for ever":   func(s *story) { s.op(campaign.Release, 0).Token = "another" },
		"a refused release":  func(s *story) { s.op(campaign.Release, 0).Outcome = campaign.Refused },
		"found with another": func(s *story) { s.op(campaign.Claim, 2).Kind = campaign.Found; s.op(campaign.Found, 0).Ended = at(150) },
	},
	campaign.Agreement: {
		"counts":      func(s *story) { s.stored.Answers[0].Counts.Finished++ },
		"statistics":  func(s *story) { s.stored.Answers[0].Finished["ada"]++ },
		"efforts":     func(s *story) { s.stored.Answers[0].Efforts["one"]-- },
		"last counts": func(s *story) { s.told[s.event("first", "SKIPPED")].Counts = campaign.Counts{Total: 2, Finished: 2} },
	},
	campaign.Order: {
		"two events":        func(s *story) { s.swap("first", "FINISHED", "UNDONE") },
		"a claim after all": func(s *story) { s.swap("second", "CLAIMED", "FINISHED") },
		"one comes late": func(s *story) {
			s.tellsLate("first", campaign.Told{Type: "RELEASED", Item: "two", User: "bob", At: at(212)})
			at := s.event("first", "RELEASED")
			s.told = slices.Delete(s.told, at, at+1)
		},
	},
	campaign.Whole: {
		"one that others were told": func(s *story) { at := s.event("first", "RELEASED"); s.told = slices.Delete(s.told, at, at+1) },
		"one that nobody was told": func(s *story) {
			for _, subscriber := range []string{"first", "second"} {
				at := s.event(subscriber, "RELEASED")
				s.told = slices.Delete(s.told, at, at+1)
			}
		},
		"another epoch":    func(s *story) { s.told[s.event("first", "SKIPPED")].Position.Epoch = "y" },
		"backwards":        func(s *story) { s.told[s.event("first", "SKIPPED")].Position.At = [2]uint64{4, 1} },
		"no snapshot":      func(s *story) { s.told = s.told[1:] },
		"another snapshot": func(s *story) { s.told = append(s.told, s.told[0]) },
		"a gap much later": func(s *story) {
			at := s.event("first", "RELEASED")
			s.told = slices.Delete(s.told, at, at+1)
			s.told = append(s.told, campaign.Told{Subscriber: "first", Telling: campaign.Gap, Received: epoch.Add(time.Minute)})
		},
	},
	campaign.ToldOnce: {
		"a finish": func(s *story) {
			s.tellsLate("first", campaign.Told{Type: "FINISHED", Item: "one", User: "ada", At: at(402)})
		},
	},
	campaign.Sums:      {"one too few": func(s *story) { s.told[3].Counts.New-- }, "less than none": func(s *story) { s.told[3].Counts = campaign.Counts{Total: 0, New: -1, Claimed: 1} }},
	campaign.SignedOut: {"too long": func(s *story) { s.op(campaign.Look, 1).Outcome = campaign.Acknowledged }},
	campaign.Dismissed: {"too long": func(s *story) {
		*s.op(campaign.Claim, 3) = campaign.Operation{
			Kind: campaign.Claim, User: "cid", Of: "two", Began: at(70_000), Ended: at(70_005), Outcome: campaign.Acknowledged,
		}
	}},
	campaign.GoesOn: {
		"too late": func(s *story) { s.op(campaign.Claim, 2).Ended = at(5_600) },
		"never":    func(s *story) { s.faults[0].Elected = at(80_000) },
	},
	campaign.Answered: {"an internal error": func(s *story) {
		s.operations = append(s.operations, campaign.Operation{Kind: campaign.Complain, User: "ada", Of: "a claim", Why: "INTERNAL"})
	}},
	campaign.InTime: {
		"an answer after a minute": func(s *story) { s.op(campaign.Write, 0).Longest = time.Minute },
		"an answer long after the server went on": func(s *story) {
			s.op(campaign.Write, 0).Longest = time.Minute
			s.faults = append(s.faults, campaign.Fault{What: "a server is stopped", Began: at(0), Ended: at(30_000), Stopped: true})
		},
	},
	campaign.Cleared: {"transitions": func(s *story) { s.stored.Left["transitions"] = 1 }},
	campaign.Level: {
		"a leak":        func(s *story) { s.measured(func(n int) float64 { return float64(100 + n) }) },
		"a slower leak": func(s *story) { s.measured(func(n int) float64 { return 100 + float64(n)/2 + float64(n%7) }) },
	},
	campaign.Resubscribe: {"completed": func(s *story) {
		s.operations = append(s.operations, campaign.Operation{Kind: campaign.Complain, User: "first", Of: "subscription", Why: "complete"})
	}},
}

// unknownFinishTwice has one finish that was not answered, and two efforts.
func unknownFinishTwice(s *story) {
	s.op(campaign.Finish, 2).Outcome = campaign.Unknown
	for _, id := range []string{"e8", "e9"} {
		s.stored.Items[1].Efforts = append(s.stored.Items[1].Efforts, campaign.Effort{ID: id, User: "bob", Undone: true})
	}
}

// swap exchanges what two events say, not where they stand.
func (s *story) swap(subscriber, a, b string) {
	i, j := s.event(subscriber, a), s.event(subscriber, b)
	pi, pj := s.told[i].Position, s.told[j].Position
	s.told[i], s.told[j] = s.told[j], s.told[i]
	s.told[i].Position, s.told[j].Position = pi, pj
}

// tellsLate tells a subscriber one more event, as the last one.
func (s *story) tellsLate(subscriber string, t campaign.Told) {
	t.Subscriber, t.Telling, t.Received, t.Position = subscriber, campaign.Event, at(500), campaign.Position{Epoch: "x", At: [2]uint64{100, 0}}
	t.Counts = campaign.Counts{Total: 2, Finished: 1, Skipped: 1}
	s.told = append(s.told, t)
}

func TestEachRuleCanBeBroken(t *testing.T) {
	assert.ElementsMatch(t, campaign.Rules, slices.Collect(maps.Keys(bad)), "each rule has histories that break it")
	for rule, ways := range bad {
		for name, breaks := range ways {
			t.Run(string(rule)+"/"+name, func(t *testing.T) {
				s := good()
				breaks(s)
				violations := s.check()
				assert.True(t, slices.ContainsFunc(violations, func(v campaign.Violation) bool { return v.Rule == rule }), "%v", violations)
			})
		}
	}
}

// TestWhatIsNoFault lists what looks like a violation and is none.
func TestWhatIsNoFault(t *testing.T) {
	for name, change := range map[string]func(*story){
		"an unknown finish took effect": func(s *story) {
			s.op(campaign.Finish, 2).Outcome = campaign.Unknown
			s.stored.Items[1].Efforts = append(s.stored.Items[1].Efforts, campaign.Effort{ID: "e9", User: "bob", Undone: true})
			s.stored.Answers[0].Efforts["two"] = 1
			s.operations = append(s.operations, campaign.Operation{Kind: campaign.Undo, User: "bob", Of: "two", Effort: "e9", Outcome: campaign.Unknown})
		},
		"a write that was not answered did not": func(s *story) { delete(s.stored.Notes[0].Contents, 4) },
		"a claim is told once more": func(s *story) {
			at := s.event("first", "CLAIMED")
			again := s.told[at]
			again.Position.At[1] = 1
			s.told = slices.Insert(s.told, at+1, again)
			other := again
			other.Subscriber = "second"
			s.told = slices.Insert(s.told, s.event("second", "CLAIMED")+1, other)
		},
		"a hole that a gap tells of": func(s *story) {
			at1 := s.event("first", "RELEASED")
			s.told = slices.Delete(s.told, at1, at1+1)
			s.told = append(s.told, campaign.Told{Subscriber: "first", Telling: campaign.Gap, Received: epoch.Add(5 * time.Second)})
		},
		"a claim ended with a membership": func(s *story) {
			s.op(campaign.Release, 0).Token = "another"
			s.operations = append(s.operations, campaign.Operation{Kind: campaign.Dismiss, User: "root", Of: "bob", Began: at(205), Ended: at(206), Outcome: campaign.Acknowledged})
		},
		"an unknown annotation is not there": func(s *story) {
			s.op(campaign.Make, 1).Outcome = campaign.Unknown
			s.annotations().Members = []string{"a1", "a4"}
		},
		"an annotation whose removal was not answered": func(s *story) {
			s.op(campaign.Take, 0).Outcome = campaign.Unknown
			s.annotations().Members = append(s.annotations().Members, "a3")
		},
		"an annotation that came while the snapshot was taken": func(s *story) {
			s.op(campaign.Make, 1).Began = at(204)
			s.stored.Copies[0].Members = []string{"a1", "a2"}
		},
		"an answer after the server stood still": func(s *story) {
			s.op(campaign.Write, 0).Longest, s.op(campaign.Write, 0).Ended = 25*time.Second, at(25_100)
			s.faults = append(s.faults, campaign.Fault{What: "a server is stopped", Began: at(0), Ended: at(8_000), Stopped: true})
		},
		"memory that comes and goes":                           func(s *story) { s.measured(func(n int) float64 { return 100 + float64(n%20) }) },
		"a start that takes up more and more within the bound": func(s *story) { s.measured(func(n int) float64 { return 100 + float64(n)/10 }) },
		"an election in the middle of another outage": func(s *story) {
			s.op(campaign.Claim, 2).Ended = at(5_600)
			s.faults = append(s.faults, campaign.Fault{What: "a server was killed", Began: at(260), Ended: at(400)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			change(s)
			assert.Empty(t, s.check())
		})
	}
}

func TestAHistoryIsWrittenLineByLine(t *testing.T) {
	var file bytes.Buffer
	h := campaign.NewHistory(time.Now, &file)
	s := good()
	h.Did(s.operations[0])
	h.Told(s.told[0])
	h.Broke(s.faults[0])
	h.Stored(s.stored)
	require.NoError(t, h.Err())
	var names []string
	for line := range strings.Lines(file.String()) {
		var one map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		names = append(names, slices.Collect(maps.Keys(one))...)
	}
	assert.Equal(t, []string{"operation", "told", "fault", "stored"}, names)

	h = campaign.NewHistory(time.Now, full{})
	h.Did(s.operations[0])
	assert.ErrorIs(t, h.Err(), errFull)
}

var errFull = errors.New("the disk is full")

// full is a file that takes nothing.
type full struct{}

// Write fails.
func (full) Write([]byte) (int, error) { return 0, errFull }
