// Package labelling says how the items of projects are handed out, and what happens to what is found out about them.
//
// It knows claims, transitions of items, statistics and events, the service and the jobs that make them, and the two stores it
// needs: the truth (an item's row) and the queue (fast, and disposable). It must not know engines or the contract. Start reading at
// [Transition]: everything that happens to an item is one. [Service] makes them, [Consumer] has the queue follow them, [Relay] and
// [Reaper] look after what was lost on the way, [Populate] keeps the queues full, [Importing] counts what is imported, and
// [Rebuilder] makes them anew. [Hub] tells subscribers what happens.
package labelling

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// UserID identifies a user.
type UserID = project.UserID

// The bounds of the queue.
const (
	QueueSize   = 1000                             // ids in a project's queue, unless it was set otherwise
	MaxClaims   = 50                               // of one user in one project, and at once
	Lease       = project.UsualLease * time.Minute // how long a claim lasts, from when it was made or extended, unless the project has another time
	Reservation = 3500 * time.Millisecond          // how long an item is kept back while its claim is being stored, which takes less; see prompt
	Undo        = 5 * time.Minute                  // how long one's own finish can be taken back
	Hold        = 24 * time.Hour                   // how long an item that came back is kept for its author alone
	Presence    = time.Minute                      // how long a user is online after a heartbeat
	Remembered  = 48 * time.Hour                   // how long a transition is known to have been applied
	MaxEvents   = 10_000                           // of a project that can be replayed, about
	TopUsed     = 5
)

// What the queue refuses. A store returns these themselves, or wraps them.
var (
	// ErrNotReady says that Redis does not know the project, or no longer: it has to be rebuilt from the truth first.
	ErrNotReady = &fault.Error{Kind: fault.Unavailable, Message: "the queue of the project is being rebuilt; try again in a moment"}
	// ErrPaused says that nothing is handed out in the project.
	ErrPaused = &fault.Error{Kind: fault.Conflict, Message: "the project is paused"}
	// ErrFull says that the user has as many items as one may have.
	ErrFull = &fault.Error{Kind: fault.Exhausted, Message: "you have as many items of this project as one may have; finish, skip or release some first"}
	// ErrRebuilding says that somebody else is rebuilding the project's queue, or has taken it over.
	ErrRebuilding = &fault.Error{Kind: fault.Conflict, Message: "the queue of the project is being rebuilt already: queueRebuild tells how far that is"}
	// ErrNoDeadLetter says that there is no such dead letter, or no longer.
	ErrNoDeadLetter = &fault.Error{Kind: fault.NotFound, Message: "there is no such dead letter"}
	// ErrEarly says that a transition comes before the one that it follows, as far as the queue remembers.
	ErrEarly = errors.New("the transition before this one was not followed yet")
	// ErrGap says that events after a cursor are no longer known, or that the cursor never was one.
	ErrGap = errors.New("events after the cursor were missed")
)

// Claim is an item in the hands of a user.
type Claim struct {
	Item  project.ItemID
	User  UserID
	Token string // fences: whoever holds an older one has lost the item
	Since time.Time
	Until time.Time
}

// Lapsed is a claim whose time is over.
type Lapsed struct {
	Claim
	Reserved bool // it was never acknowledged: the truth may know it, or not
}

// Cause says what made a transition.
type Cause string

// The causes, which are also the types of events.
const (
	Claimed           Cause = "CLAIMED"
	Extended          Cause = "EXTENDED" // no transition: only the lease moved
	Finished          Cause = "FINISHED"
	Skipped           Cause = "SKIPPED"  // for nobody
	Deferred          Cause = "DEFERRED" // skipped: to the same user later, or to others
	Released          Cause = "RELEASED"
	Expired           Cause = "EXPIRED" // the lease ended
	Reviewed          Cause = "REVIEWED"
	Undone            Cause = "UNDONE"
	Returns           Cause = "RETURNED"   // what was skipped for nobody waits again
	Removed           Cause = "REMOVED"    // from the project
	Restored          Cause = "RESTORED"   // what was removed is back
	Withdrawn         Cause = "WITHDRAWN"  // the file of an item, by its owner
	Relabelled        Cause = "RELABELLED" // a label of the item was merged into another
	Imported          Cause = "IMPORTED"   // many items at once
	Paused            Cause = "PAUSED"
	Resumed           Cause = "RESUMED"
	Resized           Cause = "RESIZED"            // the queue holds another number of ids
	CategoriesChanged Cause = "CATEGORIES_CHANGED" // the lists of categories and subcategories are others
	GuidelinesChanged Cause = "GUIDELINES_CHANGED" // what members are told of how to label
	Members           Cause = "MEMBERS"            // somebody joined, moved or left
	Restarted         Cause = "RESTARTED"
)

// Transition is what happened to an item in the truth, for the queue to follow. It carries everything the queue changes: the
// counts of statuses, the user's list of work, statistics and sets, and the event that subscribers get; applied twice, it changes
// nothing the second time. Transitions may be applied in another order than they happened in, and when all are, the counts are right; but
// subscribers are told of an item in the order in which things happened to it, for which each transition names the one that it follows.
type Transition struct {
	ID      string // unique; the same for each attempt to apply it
	Cause   Cause
	Project project.ID
	Item    string
	Follows project.TransitionRef `json:",omitzero"` // the transition of the item before this one
	Version int                   // of the item from now on
	Status  project.Status        // of the item from now on
	User    UserID                // who did it, or whose claim it was
	Team    string
	// Token is that of the claim which the transition makes or ends; REVIEWED has none, and UNDONE only when it makes a claim. A
	// claim is made once and ended once.
	Token string
	// Until is set when the transition makes a claim.
	Until time.Time
	// For FINISHED and UNDONE: what was found out, to be counted or taken back.
	Effort      string
	Category    string // ids; the category also for REVIEWED
	Subcategory string
	Keywords    []string
	// For FINISHED, UNDONE and REVIEWED: how many efforts more await a review, 1, 0 or -1.
	ToReview int `json:",omitempty"`
	// For REVIEWED: the author, and whether the effort was incorrect; the author gets the item back first.
	Author     UserID
	AuthorTeam string
	Incorrect  bool
	// Also for REVIEWED, and for RETURNED: how the item was before, the same as Status when only an effort was reviewed and the item stays
	// where it is. For REVIEWED: whether the effort counted as incorrect until now, and does not any more.
	From    project.Status
	Cleared bool
	// For REMOVED and RESTORED: whose claim it was, or for whom the item was kept, is Author; how the item was before is From; and what was
	// found out about it, as far as it is not counted any more, or again. For REVIEWED: what the reviewer found in place of it. For RELABELLED: what
	// was found out by the labels that were merged.
	Efforts []CountedEffort `json:",omitempty"`
	// For DEFERRED: not before Later for the same user; zero: not for this user again.
	Later time.Time
	At    time.Time
}

// CountedEffort is an effort as statistics count it.
type CountedEffort struct {
	User        UserID
	Team        string
	Category    string // ids, as in Transition
	Subcategory string
	Keywords    []string
	Incorrect   bool
	ToReview    bool   `json:",omitempty"` // it awaits a review while it counts
	Into        Labels `json:",omitzero"`  // for RELABELLED: what it is found to be from now on
}

// Labels are the category and subcategory of something, by their ids.
type Labels struct{ Category, Subcategory string }

// countedEffort is an effort as statistics count it.
func countedEffort(e project.Effort) CountedEffort {
	return CountedEffort{
		User: e.User, Team: e.Team, Category: e.Category, Subcategory: e.Subcategory, Keywords: e.Keywords, Incorrect: e.Review.Verdict == project.Incorrect, ToReview: e.ToReview,
	}
}

// MostEfforts is how many efforts one transition takes out of the statistics, or puts back: three rows of each are in its transaction.
const MostEfforts = 30

// Ref tells where the transition is found in the outbox.
func (t Transition) Ref() project.TransitionRef { return project.TransitionRef{ID: t.ID, At: t.At} }

// Counts are how many items of a project have which status. Their sum is Total, always.
type Counts struct {
	Total, New, Claimed, Finished, Skipped int
}

// State is what a project's queue is like at a moment, which is that of the event at Cursor.
type State struct {
	Project  project.ID
	Counts   Counts
	Queued   int // ids waiting in the queue
	ToReview int // efforts that await a review
	Size     int // at which it is kept
	Paused   bool
	Cursor   Cursor
}

// Snapshot is a State with the claims of one user and the statistics of some teams, all of the same moment.
type Snapshot struct {
	State      State
	Claims     []Claim // oldest first
	Statistics []Statistics
}

// Cursor is a position in the events of a project. A cursor of another epoch, or of an event that is no longer kept, tells that
// events were missed.
type Cursor struct {
	Epoch string
	ID    string // of a stream entry
}

// EntryAfter reports whether an entry comes after another one of the same stream, by their ids: milliseconds and a number within them, both
// decimal.
func EntryAfter(a, b string) bool {
	am, an, _ := strings.Cut(a, "-")
	bm, bn, _ := strings.Cut(b, "-")
	return cmp.Or(cmp.Compare(len(am), len(bm)), cmp.Compare(am, bm), cmp.Compare(len(an), len(bn)), cmp.Compare(an, bn)) > 0
}

// Event is something that happened in a project.
type Event struct {
	Cursor Cursor
	Cause  Cause
	Item   string // "" for those that concern no single item
	User   UserID // who did it
	Author UserID // for REVIEWED: whose effort it was about
	Team   string
	Status project.Status // of the item from then on
	Counts Counts         // right after it
	Queued int
	At     time.Time
}

// Statistics count what the members of a team did.
type Statistics struct {
	Team      string
	Type      project.TeamType
	Finished  int
	Incorrect int
	Users     []UserStatistics // ordered by user id
}

// UserStatistics count what a member of a team did.
type UserStatistics struct {
	User      UserID
	Finished  int
	Incorrect int
}

// Words names a set of words whose use is counted.
type Words string

// The sets of words.
const (
	Keywords      Words = "keywords"
	Categories    Words = "categories"
	Subcategories Words = "subcategories"
)

// Used says how often a word was used.
type Used struct {
	Value string
	Count int
}

// Online is a user who was heard of lately.
type Online struct {
	User UserID
	Seen time.Time
}

// Message asks for what has to be done after something was stored. It may arrive more than once.
type Message struct {
	ID      string
	Project project.ID
	Item    string // messages of one item are handled in the order they were sent, unless one fails
	Body    []byte
	Tries   int // how often it was delivered, this time included
}

// DeadLetter is a message that nobody could handle.
type DeadLetter struct {
	ID      string
	Message Message
	Reason  string
	At      time.Time
}

// Part is a part of what a project's queue is rebuilt from; parts are added up, in any order.
type Part struct {
	Number     int            // of this part in its rebuild: one that is given twice counts once
	Counts     Counts         // Total and Claimed are not looked at: they follow from the rest and from Claims
	Imported   map[string]int // how many of the items that Counts and Claims tell of each import brought, by its id
	Claims     []Claim
	Returned   []Returned
	Statistics []Statistics // Type may be given by one part only
	ToReview   []ToReview
	Used       map[Words][]Used
	Applied    []string // ids of transitions, and tokens of ended claims, that the rest contains already
}

// ToReview is how many efforts of an author and a category await a review.
type ToReview struct {
	Author   UserID
	Category string // its id
	Count    int
}

// Progress is how far the rebuild of a queue is.
type Progress struct {
	StartedAt  time.Time
	ItemsRead  int
	ItemsTotal *int // about how many there are; nil when nobody knows
}

// Returned is an item that came back and is kept for its author.
type Returned struct {
	Item  string
	User  UserID
	Until time.Time
}

// Settings are what a project's queue knows of the project itself.
type Settings struct {
	Version       int // of the project: name and size of an earlier one change nothing
	Name          string
	Size          int // of the queue; 0 for what is set for all projects
	Paused        bool
	Categories    []string
	Subcategories []string
	Teams         []project.Team // whose types are to be known; a rebuild tells them by its parts instead
}

// Remaining is how many are not done.
func (c Counts) Remaining() int { return c.New + c.Claimed }
