package project

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

// Store keeps projects. All of it may fail with Unavailable or Exhausted besides the faults that are named.
type Store interface {
	Projects
	Items
	Efforts
	Transfers
	Removals
	Deletions
	GuidelinesStore
	HistoryStore
	Invitations
	idempotency.Store
}

// Projects keeps projects, teams, members and the two lists. Writes are atomic and record the idempotency key with the effect;
// they return *idempotency.Replayed when it was used before. They also record in the history of the project what was changed and by whom; nothing when by is "".
type Projects interface {
	// ProjectsByID returns the project or the error of each id with the membership of the user, in the order of ids; NotFound
	// for one that does not exist. It sees every acknowledged write.
	ProjectsByID(ctx context.Context, user UserID, ids []ID) ([]Project, []error)
	// Memberships returns the membership of the user in each project, or NotFound, in the order of ids. It sees every
	// acknowledged write.
	Memberships(ctx context.Context, user UserID, ids []ID) ([]Member, []error)
	// ListProjects lists the projects of which the user is a member, by id. It sees every acknowledged write.
	ListProjects(ctx context.Context, user UserID, w page.Window) (page.Slice[Project], error)
	// CreateProject creates the project with its lists, its first team and the first manager in it.
	CreateProject(ctx context.Context, p Project, labels []Label, t Team, m Member, once idempotency.Key) error
	// UpdateProject replaces before by after. *[VersionConflict] when before is not the current version.
	UpdateProject(ctx context.Context, before, after Project, once idempotency.Key) error
	// AddLabels adds to the two lists, with the tasks. [NameTaken] when a label of that kind and name is there; Exhausted above [MaxCategories].
	AddLabels(ctx context.Context, by UserID, id ID, labels []Label, follow []task.Task, once idempotency.Key) error
	// UpdateLabel changes a label that is in its list, and takes it out of that when it is merged into another, with the tasks. It returns the label after the
	// change. [NameTaken]; [ErrNoTarget] when the other is not in the list or retired; [ErrMerged] when it was merged into a different one; NotFound.
	UpdateLabel(ctx context.Context, id LabelID, c LabelChange, follow []task.Task, once idempotency.Key) (Label, error)
	// LabelMerged stores since when nothing is labelled any more with a label that was merged into another.
	LabelMerged(ctx context.Context, l Label) error
	// ListLabels lists both lists, categories first, each in its order. It sees every acknowledged write.
	ListLabels(ctx context.Context, ids []ID) ([][]Label, []error)
	// LabelsByID returns the label or the error of each id, in the order of ids.
	LabelsByID(ctx context.Context, ids []LabelID) ([]Label, []error)
	// PutTeam creates the team, or changes its name; the type of a team stays. NotFound when the project does not exist;
	// [NameTaken]; Exhausted above [MaxTeams].
	PutTeam(ctx context.Context, by UserID, t Team, create bool, once idempotency.Key) error
	// DeleteTeam takes a team out of the list, so that nobody is put into it any more, and moves its members to the team t.Into, or removes them
	// when that is "": some of them at once, all when they are at most [MembersAtOnce]. It returns those whom it moved, as they are then, in no team if they left, and whether there may be more;
	// only then are the tasks recorded. NotFound when one of the teams does not exist any more; [ErrLastManager], also when the team has more managers
	// than are moved at once, and they would not be managers any more.
	DeleteTeam(ctx context.Context, by UserID, t Team, follow []task.Task, once idempotency.Key) (moved []Member, more bool, err error)
	// EmptyTeam moves or removes some more members of a team that was deleted, also when the team to which they move was deleted since. It returns them,
	// and nobody when all are.
	EmptyTeam(ctx context.Context, t Team) ([]Member, error)
	// ListTeams lists the teams of each project, by when they were created. It sees every acknowledged write.
	ListTeams(ctx context.Context, ids []ID) ([][]Team, []error)
	// TeamsByID returns the team or the error of each id, in the order of ids.
	TeamsByID(ctx context.Context, ids []TeamID) ([]Team, []error)
	// PutMember adds the user to the team for another user, or moves the user there. *[UnknownUser] when the user does not exist, or is new and has
	// blocked the other one; NotFound when the team does not exist; [ErrLastManager].
	PutMember(ctx context.Context, by UserID, m Member, once idempotency.Key) error
	// DeleteMember removes the user, if there; [ErrLastManager].
	DeleteMember(ctx context.Context, by UserID, id ID, user UserID, once idempotency.Key) error
	// ListMembers lists the members of a project, or of one team of it, by user id. It sees every acknowledged write.
	ListMembers(ctx context.Context, id ID, team string, w page.Window) (page.Slice[Member], error)
	// MembersByID returns the membership of each user, or NotFound, in the order of users.
	MembersByID(ctx context.Context, id ID, users []UserID) ([]Member, []error)
}

// Items keeps items.
type Items interface {
	ItemReader
	// ImportItems creates those items that do not exist, and returns how many it created and which of them were there already
	// before; those that another import brought and that were removed have their status. An item that the same line of the same import created
	// before counts as created, whatever has become of it. An item that is made of an item of
	// a user makes that used by the project, in the same step; Invalid when it does not exist, and some of the items, or none, are
	// created then.
	ImportItems(ctx context.Context, items []Item) (created int, there []Item, err error)
}

// ItemReader reads items.
type ItemReader interface {
	// ItemsByID returns the item or the error of each id, in the order of ids, and the membership of the user in their
	// projects; for the user "" no membership is read. An item of whose project the membership could not be read has an
	// error. It sees every acknowledged write.
	ItemsByID(ctx context.Context, user UserID, ids []ItemID) ([]Item, map[ID]Member, []error)
	// ListItems lists the items of a status, "" for all, in the order of shard and import. What was changed a moment ago may be
	// missing; nothing is shown under a status that it does not have.
	ListItems(ctx context.Context, id ID, status Status, w page.Window) (page.Slice[Item], error)
	// FindItems lists the items whose folded names begin with a folded text that is not empty, of a status, "" for all, by folded name. Each is as it is
	// when it is read; what was imported or brought back a moment ago may be missing. A page may be short where few of the items have the status: it tells
	// then where it ends.
	FindItems(ctx context.Context, id ID, begin string, status Status, w page.Window) (page.Slice[Item], error)
	// ListItemsOf lists the items that were found to be each label, in the order of the requests. Eventually consistent, as ListItems.
	ListItemsOf(ctx context.Context, requests []LabelItemsRequest) ([]page.Slice[Item], []error)
}

// LabelItemsRequest asks for one page of the items of a label; see [Label.Items].
type LabelItemsRequest struct {
	Label  LabelID
	Window page.Window
	as     proof
}

// Efforts keeps what was found out about items.
type Efforts interface {
	// ListEffortsOfItems lists the efforts of each item, the newest first, in the order of the requests. It sees every
	// acknowledged write.
	ListEffortsOfItems(ctx context.Context, requests []ItemEffortsRequest) ([]page.Slice[Effort], []error)
	// ListEffortsOfMembers lists the efforts of each member, the newest first, in the order of the requests.
	ListEffortsOfMembers(ctx context.Context, requests []MemberEffortsRequest) ([]page.Slice[Effort], []error)
	// ListToReview lists efforts that await a review: of an author the oldest first, of all in an order of the store's. What was changed a moment
	// ago may be missing, but none is listed that awaits no review.
	ListToReview(ctx context.Context, r ReviewsRequest) (page.Slice[Effort], error)
	// EffortsByID returns the effort or the error of each id, in the order of ids.
	EffortsByID(ctx context.Context, ids []EffortID) ([]Effort, []error)
}

// ItemEffortsRequest asks for one page of the efforts of an item; see [Item.History].
type ItemEffortsRequest struct {
	Item   ItemID
	Window page.Window
	as     proof
}

// MemberEffortsRequest asks for one page of the efforts of a member of a project; see [Member.Efforts].
type MemberEffortsRequest struct {
	Project ID
	User    UserID
	Window  page.Window
	as      proof
}

// ReviewsRequest asks for one page of the efforts of a project that await a review; see [Project.AwaitingReview].
type ReviewsRequest struct {
	Project  ID
	Author   UserID // of all authors when empty
	Category string // of all categories when empty
	Except   UserID // whose own efforts are left out
	Begin    int    // the shard that comes first
	Window   page.Window
	as       proof
}

// Transfers keeps imports and exports.
type Transfers interface {
	// PutImport replaces before by after, and records the tasks with it, and who asked for it in the history; before nil stands for one that does not
	// exist, by "" for what runs by itself.
	// *[TransferConflict] when before is not the current version; Exhausted when [MaxTransfers] of the project have not ended.
	PutImport(ctx context.Context, by UserID, before *Import, after Import, follow []task.Task, once idempotency.Key) error
	// PutExport does the same for exports.
	PutExport(ctx context.Context, before *Export, after Export, follow []task.Task, once idempotency.Key) error
	// ImportsByID returns the import or the error of each id, in the order of ids. It sees every acknowledged write.
	ImportsByID(ctx context.Context, ids []TransferID) ([]Import, []error)
	// ExportsByID does the same for exports.
	ExportsByID(ctx context.Context, ids []TransferID) ([]Export, []error)
	// ListImports lists the imports of a project, the newest first. It sees every acknowledged write.
	ListImports(ctx context.Context, id ID, w page.Window) (page.Slice[Import], error)
	// ListExports does the same for exports.
	ListExports(ctx context.Context, id ID, w page.Window) (page.Slice[Export], error)
}

// MembersAtOnce is how many members of a deleted team move in one step.
const MembersAtOnce = 40

// emptyAgain is when a team of a deleted project is looked at again.
const emptyAgain = 5 * time.Minute

// The kinds of tasks.
const (
	RunTeam    task.Kind = "project-team"    // moves the members of a deleted team
	RunRelabel task.Kind = "project-relabel" // has what was labelled with a label that was merged follow it
	RunImport  task.Kind = "project-import"
	RunExport  task.Kind = "project-export"
)
