// Package campaign works on a Taggie that is being broken, writes down what it was told, and says whether all of that was true.
//
// It knows operations and their answers, what subscribers were told, what is stored in the end, and the rules that bind the three. It must
// not know engines, HTTP or sockets, nor what breaks them: who runs a campaign brings a [Caller], a [Listener] and an [Uploader], and breaks things meanwhile.
// Start reading at [History] for what is recorded, at [Labeller] and [Maker] for who works, and at [Check] for the verdict.
package campaign

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Kind says what an operation asks for.
type Kind string

// The kinds of operations.
const (
	Claim    Kind = "CLAIM"    // an item; one operation for each that was handed out
	Found    Kind = "FOUND"    // that the user has an item, by asking what the user has
	Finish   Kind = "FINISH"   // an item, by the token of its claim
	Undo     Kind = "UNDO"     // an effort; the item is claimed again, by the token
	Release  Kind = "RELEASE"  // an item, for anybody
	Defer    Kind = "DEFER"    // an item, for anybody else
	Skip     Kind = "SKIP"     // an item, for nobody
	Make     Kind = "MAKE"     // something with a name, in a collection
	Take     Kind = "TAKE"     // something out of a collection
	Write    Kind = "WRITE"    // a content into a note, at an expected version
	Look     Kind = "LOOK"     // who is asking
	Revoke   Kind = "REVOKE"   // a user's tokens; the item is nobody's
	Dismiss  Kind = "DISMISS"  // a member from a project
	Complain Kind = "COMPLAIN" // not an operation: an answer that there must not be
)

// Outcome says what came of an operation.
type Outcome string

// The outcomes. An operation that was not answered, or whose answer is that it may have been carried out, is unknown.
const (
	Acknowledged Outcome = "ACKNOWLEDGED"
	Refused      Outcome = "REFUSED"
	Unknown      Outcome = "UNKNOWN"
)

// Operation is what somebody asked for, and what came of it. An operation that was sent again, with the same idempotency key, is one.
type Operation struct {
	Kind    Kind      `json:"kind"`
	User    string    `json:"user"`
	Of      string    `json:"of,omitempty"`      // the item, the note, the collection, or the user that it is about
	Token   string    `json:"token,omitempty"`   // of the claim; of the new one for an undo
	Effort  string    `json:"effort,omitempty"`  // that was made or taken back
	Content string    `json:"content,omitempty"` // what was written, or the name of what was made or taken
	Score   string    `json:"score,omitempty"`   // that was changed, or of which a snapshot was taken
	Made    string    `json:"made,omitempty"`    // the id of that snapshot
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Outcome Outcome   `json:"outcome"`
	Why     string    `json:"why,omitempty"`   // the problem or the code of what was refused or is unknown
	Tries   int       `json:"tries,omitempty"` // requests
	// Longest is how long the slowest of the requests took.
	Longest time.Duration `json:"longest,omitempty"`
	// What the answer told of the thing right after the operation, when it can be told apart from later changes.
	Version int       `json:"version,omitempty"`
	Changed time.Time `json:"changed,omitzero"` // the time of that version, which is later than that of the one before
	Since   time.Time `json:"since,omitzero"`   // of the claim
}

// Counts are how many items of a project have which status.
type Counts struct {
	Total    int `json:"total"`
	New      int `json:"new"`
	Claimed  int `json:"claimed"`
	Finished int `json:"finished"`
	Skipped  int `json:"skipped"`
}

// Telling is what a subscriber was told.
type Telling string

// What can be told.
const (
	Snapshot Telling = "SNAPSHOT" // of a score, a position only
	Event    Telling = "EVENT"
	Gap      Telling = "GAP"
)

// Position is a place among the events of a project or of a score: numbers grow within an epoch. Events of scores have none.
type Position struct {
	Epoch string    `json:"epoch,omitempty"`
	At    [2]uint64 `json:"at"`
}

// Told is something that a subscriber was told.
type Told struct {
	Subscriber string    `json:"subscriber"`
	Received   time.Time `json:"received"`
	Telling    Telling   `json:"telling"`
	Position   Position  `json:"position,omitzero"`
	Type       string    `json:"type,omitempty"` // of an event
	Item       string    `json:"item,omitempty"`
	User       string    `json:"user,omitempty"`
	At         time.Time `json:"at,omitzero"` // when it happened
	Counts     Counts    `json:"counts,omitzero"`
	// Score is the score that was followed, with the version since a change, or the id of a snapshot; "" for the project.
	Score   string `json:"score,omitempty"`
	Version int    `json:"version,omitempty"`
	Made    string `json:"made,omitempty"`
}

// Fault is something that was broken.
type Fault struct {
	What  string    `json:"what"`
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Elected is when somebody else had taken over from what was lost; zero where nobody had to.
	Elected time.Time `json:"elected,omitzero"`
	// Stopped says that a server stood still meanwhile: it could not keep to a deadline.
	Stopped bool `json:"stopped,omitempty"`
}

// History is what happened in a campaign, in the order in which it became known. It is safe for concurrent use.
type History struct {
	Now func() time.Time // one clock for all that is written down

	mu         sync.Mutex
	log        *json.Encoder // nil: nothing is written
	failed     error
	operations []Operation
	done       int
	told       []Told
	faults     []Fault
}

// NewHistory returns an empty history, which is also written to w as lines of JSON, unless that is nil.
func NewHistory(now func() time.Time, w io.Writer) *History {
	h := &History{Now: now}
	if w != nil {
		h.log = json.NewEncoder(w)
	}
	return h
}

// Did adds an operation.
func (h *History) Did(o Operation) {
	add(h, &h.operations, "operation", o)
	if o.Outcome == Acknowledged {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.done++
	}
}

// Done returns how many operations were acknowledged so far.
func (h *History) Done() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.done
}

// Told adds what a subscriber was told.
func (h *History) Told(t Told) { add(h, &h.told, "told", t) }

// Broke adds a fault, when it is over.
func (h *History) Broke(f Fault) { add(h, &h.faults, "fault", f) }

// Stored writes down what was found in the end; it is no part of the history.
func (h *History) Stored(s Stored) { add(h, new([]Stored), "stored", s) }

func add[T any](h *History, all *[]T, name string, one T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*all = append(*all, one)
	if h.log != nil && h.failed == nil {
		h.failed = h.log.Encode(map[string]T{name: one})
	}
}

// Operations returns a copy of what was done so far.
func (h *History) Operations() []Operation { return copied(h, &h.operations) }

// Tellings returns a copy of what was told so far.
func (h *History) Tellings() []Told { return copied(h, &h.told) }

// Faults returns a copy of what was broken so far.
func (h *History) Faults() []Fault { return copied(h, &h.faults) }

// Err returns why the history could not be written.
func (h *History) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

func copied[T any](h *History, all *[]T) []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]T(nil), *all...)
}
