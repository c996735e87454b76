// Package project says what is true about labelling projects: teams and their members, categories, items and what was found
// out about them, imports and exports.
//
// It knows types, rules, the service that guards projects, and the store it needs. It must not know engines, the contract or the
// queues that hand items out. Start reading at [Project], then [Service] and [Ref], by which the parts of a project are
// reached; the store is described in store.go.
package project

import (
	"cmp"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/tag"
	"github.com/taggie/taggie/internal/viewer"
)

// UserID identifies a user.
type UserID = viewer.UserID

// ID identifies a project; it is also the scope of its entities.
type ID string

// The bounds of what a project may hold.
const (
	MaxNameRunes        = 100    // of a project, a team or a category
	MaxDescriptionBytes = 10_000 // of a project
	MaxCategories       = 200    // and as many subcategories
	MaxSuggestions      = 200    // keywords that a project suggests
	MaxQueueSize        = 10_000 // items that wait in its queue
	MaxKeywords         = 20     // of one effort
	MaxKeywordRunes     = 64
	MaxProjects         = 1_000 // that one user creates
	MaxTeams            = 50
	MaxMembers          = 2_000
	MaxItems            = 5_000_000 // of a project; counted in the background, to within 10 %
	MaxEfforts          = 1_000     // of an item, with those that were taken back or found incorrect
	MaxTransfersEver    = 10_000    // imports of a project since it was created, and as many exports
	MaxExternalIDBytes  = 200
	MaxItemNameRunes    = 200
	MaxItemTypeRunes    = 100
	MaxURLBytes         = 2_000
	MaxMetadataBytes    = 100_000 // of one item, as JSON
	MaxMetadataDepth    = 30      // of objects and lists within one another, the metadata itself included
)

// Project is a labelling project.
type Project struct {
	ID          ID
	Name        string
	Description string
	Keywords    []string // that the project suggests
	Paused      bool     // nothing is handed out
	QueueSize   int      // how many items wait in its queue; 0 for the usual number
	Lease       Lease    // of its claims from now on
	Reviews     Reviews  // of what is found by them
	Deletion    Deletion // zero unless it was deleted
	CreatedBy   UserID   // whose number of projects it counts towards
	Version     int
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Member      Member // the viewer; of no team when the viewer is no member
}

// LeaseMinutes is how long a claim lasts.
func (p Project) LeaseMinutes() int { return int(p.Lease.Time() / time.Minute) }

// Reviews say which of the results await a review; the zero value, that all of them do.
type Reviews struct {
	Unreviewed   int // how many of 100 await none
	NewcomerDays int // for how long all results of a new member await one
}

// MaxNewcomerDays is for how long one can be new in a project.
const MaxNewcomerDays = 365

// ReviewPercent is how many of 100 results of members who are not new await a review.
func (p Project) ReviewPercent() int { return 100 - p.Reviews.Unreviewed }

// NewcomerDays is for how many days a member is new: all results of a new member await a review.
func (p Project) NewcomerDays() int { return p.Reviews.NewcomerDays }

// ToReview reports whether what a member finds by a claim awaits a review. The draw is a number that differs from claim to claim, at random.
func (p Project) ToReview(m Member, since time.Time, draw uint32) bool {
	return draw%100 >= uint32(p.Reviews.Unreviewed) || since.Before(m.AddedAt.AddDate(0, 0, p.Reviews.NewcomerDays))
}

// Lease is how long a claim lasts, from when it was made or extended, in minutes; 0 is the usual time.
type Lease int

// UsualLease, and the bounds of what can be set, in minutes.
const (
	UsualLease = 15
	MinLease   = 1
	MaxLease   = 24 * 60
)

// Time is the lease as a duration.
func (l Lease) Time() time.Duration { return time.Duration(cmp.Or(l, UsualLease)) * time.Minute }

// TeamType says what the members of a team do.
type TeamType string

// The types of teams. Reviewers may do what labellers may, managers what reviewers may.
const (
	Taggie   TeamType = "taggie" // label
	Reviewer TeamType = "reviewer"
	Manager  TeamType = "manager"
)

// May reports whether a team of this type may do what one of the other type may.
func (t TeamType) May(need TeamType) bool {
	return t.rank() > 0 && t.rank() >= need.rank()
}

func (t TeamType) rank() int {
	switch t {
	case Taggie:
		return 1
	case Reviewer:
		return 2
	case Manager:
		return 3
	}
	return 0
}

// TeamID identifies a team of a project.
type TeamID struct {
	Project ID
	ID      string
}

// Team is a team of a project.
type Team struct {
	TeamID
	Name      string
	Type      TeamType
	CreatedAt time.Time
	DeletedAt time.Time // zero unless it was; then it is in no list, and what its members did still tells of it
	Into      string    // the team to which its members moved when it was deleted; "" when they left
	as        proof
}

// Key returns what the name is compared by: no two teams of a project have the same.
func (t Team) Key() string { return tag.Fold(t.Name) }

// Member is a user in a team of a project; a user is in one team of a project.
type Member struct {
	Project ID
	User    UserID
	Team    string    // the id of the team
	Type    TeamType  // of the team
	AddedAt time.Time // into this team
	as      proof
}

// Kind tells categories from subcategories.
type Kind string

// The two fixed lists of a project.
const (
	Category    Kind = "Category"
	Subcategory Kind = "Subcategory"
)

// LabelID identifies a category or subcategory of a project.
type LabelID struct {
	Project ID
	Kind    Kind
	ID      string
}

// Label is a category or subcategory: what an item can be found to be. Its name is unique in its list, whatever its case.
type Label struct {
	LabelID
	Name      string
	RetiredAt time.Time // zero while items can be found to be it
	Into      string    // the label it was merged into, which took its place in the list; "" when it was not
	MergedAt  time.Time // since when all that was labelled with it is labelled with the other; zero until then
	as        proof
}

// Key returns what the name is compared by: no two labels of a list have the same.
func (l Label) Key() string { return tag.Fold(l.Name) }

// ItemID identifies an item of a project.
type ItemID struct {
	Project ID
	ID      string // made from the external id, so that an item is imported once
}

// Status is where an item stands.
type Status string

// The statuses of items.
const (
	New      Status = "NEW"
	Claimed  Status = "CLAIMED"
	Finished Status = "FINISHED"
	Skipped  Status = "SKIPPED" // for nobody
)

// What was removed has a status that nobody is shown.
const (
	Removed Status = "REMOVED" // it can be brought back
	Purged  Status = "PURGED"  // it cannot, and is on its way out
)

// Hidden reports whether items of this status are shown to nobody.
func (s Status) Hidden() bool { return s == Removed || s == Purged }

// Statuses are all of them that somebody is shown.
var Statuses = []Status{New, Claimed, Finished, Skipped}

// Item is a thing to be labelled.
type Item struct {
	ItemID
	ExternalID  string // unique in the project
	Name        string
	Type        string // free; a media type, usually
	URL         string // https or http, or ""
	Metadata    map[string]any
	Status      Status
	Seq         string // where it stands among the items of its status: the order of imports
	Category    string // the id of a label; "" before it was finished
	Subcategory string
	Keywords    []string
	Efforts     int // how often it was finished, without what was taken back
	EffortsMade int // how often it was finished, with what was taken back
	LastEffort  string
	// LastTransition is the last thing that happened to it of which the queue is told by way of the outbox.
	LastTransition TransitionRef
	Claim          Claim  // who works on it; zero unless it is CLAIMED
	ReturnedTo     UserID // its author, when it came back as incorrect and waits for that user first
	Was            Status // before it was removed; "" unless it is
	Removal        string // the id of the removal that removed it; "" unless one did
	Version        int
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Import         string     // the id of the import that brought it
	Line           int        // of that import
	Original       OriginalID // the item of a user of which it was made; zero for one of a file
	as             proof
}

// TransitionRef tells where a transition of an item is found in the outbox; the zero value is none.
type TransitionRef struct {
	ID string
	At time.Time
}

// Claim is that a user works on an item.
type Claim struct {
	User  UserID
	Token string // fences: changes with each claim
	Since time.Time
	Until time.Time // the end of the lease
	Lease Lease     // for which an extension is
	// Unreviewed says that what is found by it awaits no review.
	Unreviewed bool
}

// TokenFor returns the token for who has the item, nil for everybody else.
func (c Claim) TokenFor(u UserID) *string {
	if u == "" || u != c.User {
		return nil
	}
	return &c.Token
}

// Verdict is what a reviewer found out about an effort.
type Verdict string

// The verdicts; "" before anybody reviewed it.
const (
	Correct   Verdict = "CORRECT"
	Incorrect Verdict = "INCORRECT"
)

// Review is what a reviewer said about an effort. The zero Review is that nobody did.
type Review struct {
	Verdict Verdict
	Comment string
	By      UserID
	At      time.Time
}

// EffortID identifies an effort of a project.
type EffortID struct {
	Project ID
	ID      string
}

// Effort is that a user finished an item: the document's projectitemeffort.
type Effort struct {
	EffortID
	Item        string
	User        UserID
	Team        string
	Category    string
	Subcategory string
	Keywords    []string
	FinishedAt  time.Time
	Review      Review
	UndoneAt    time.Time // when its author took it back; it counts for nothing then
	RemovedAt   time.Time // when its item was removed; it counts for nothing then, and nobody is shown it
	UpdatedAt   time.Time
	Changes     int  // how often it was reviewed or taken back
	ToReview    bool // somebody should review it, and nobody has
	as          proof
}

// Counts reports whether statistics count the effort.
func (e Effort) Counts() bool { return e.UndoneAt.IsZero() && e.RemovedAt.IsZero() }

// AwaitsReview reports whether the effort is among those to review.
func (e Effort) AwaitsReview() bool { return e.ToReview && e.Counts() }

// Version rises by one with each change.
func (e Effort) Version() int { return 1 + e.Changes }

// EffortConflict says that an effort is not at the expected version: it was reviewed meanwhile, perhaps by the viewer.
type EffortConflict struct {
	Current Effort
	Own     bool // the last review is the viewer's
}

// Error says what happened, for people.
func (c *EffortConflict) Error() string {
	who := "somebody else has"
	if c.Own {
		who = "you have"
	}
	return who + " reviewed this meanwhile, as " + strings.ToLower(string(c.Current.Review.Verdict)) + ": look at it again"
}

// FinishedItem is an item after it was finished, and that somebody did it.
type FinishedItem struct {
	Item   Item
	Effort Effort
}

// VersionConflict says that the project is not at the expected version. Current is the project as it is.
type VersionConflict struct{ Current Project }

// Error says what happened, for people.
func (*VersionConflict) Error() string {
	return "the project is not at the version that was expected: it was changed meanwhile"
}

// ItemConflict says that the item is not in the state that was expected, and shows it as it is.
type ItemConflict struct{ Current Item }

// Error says what happened, for people.
func (*ItemConflict) Error() string {
	return "the item is not in the state that this needs; it was changed meanwhile"
}

// UnknownUser says that there is no such user, or that they have blocked who wants to add them.
type UnknownUser struct{ Field string }

// Error says what happened, for people.
func (*UnknownUser) Error() string { return "there is no user whom you can add" }

// NameTaken says that a category or team of this name exists.
var NameTaken = &fault.Error{Kind: fault.Conflict, Message: "the name is taken"}

// ErrLastManager says that the last manager of a project cannot leave or be moved. Managers who are deleted do not count.
var ErrLastManager = &fault.Error{Kind: fault.Conflict, Message: "a project keeps at least one manager"}

func notFound(what string) error { return fault.New(fault.NotFound, "there is no such %s", what) }
