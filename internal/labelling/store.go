package labelling

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// Truth keeps items, efforts and the outbox: what it says is so, whatever the queue says. All of it may fail with
// Unavailable besides the faults that are named, and sees every acknowledged write unless it says otherwise.
type Truth interface {
	Things
	Mover
	Outbox
	Scanner
	Marks
	Removals
	idempotency.Store
}

// Removals keeps what takes items out of projects.
type Removals interface {
	// RemovalsByID and PutRemoval are those of [project.Removals], ImportsByID is that of [project.Transfers].
	RemovalsByID(ctx context.Context, ids []project.TransferID) ([]project.Removal, []error)
	PutRemoval(ctx context.Context, by project.UserID, before *project.Removal, after project.Removal, follow []task.Task, once idempotency.Key) error
	ImportsByID(ctx context.Context, ids []project.TransferID) ([]project.Import, []error)
	// ListRemoved lists up to limit items that a removal has, behind the one with an id, "" for all: those that it removed, and that were neither brought back nor are gone. It
	// sees every acknowledged write. Cost: 1 Query.
	ListRemoved(ctx context.Context, id project.TransferID, after string, limit int) ([]project.ItemID, error)
	// CountRemoved counts them. Cost: 1 Query per started megabyte of links.
	CountRemoved(ctx context.Context, id project.TransferID) (int, error)
	// ForgetRemoved removes the link to an item that the removal does not have any more.
	ForgetRemoved(ctx context.Context, id project.TransferID, item project.ItemID) error
	// PurgeItem removes a removed item with its efforts, their links and its own, and its use of the item of a user, step by step, each of which
	// can be done again. One that is not removed, or is gone, stays as it is. The efforts are all that the item has, as ItemsWithEfforts returns
	// them; the caller knows that none is counted, and that the queue has followed the last transition of this version.
	// *project.ItemConflict when the item is not at its version any more.
	PurgeItem(ctx context.Context, i project.Item, efforts []project.Effort) error
}

// Things reads what labelling is about; see [project.Store].
type Things interface {
	ItemsByID(ctx context.Context, user UserID, ids []project.ItemID) ([]project.Item, map[project.ID]project.Member, []error)
	EffortsByID(ctx context.Context, ids []project.EffortID) ([]project.Effort, []error)
	LabelsByID(ctx context.Context, ids []project.LabelID) ([]project.Label, []error)
	ListLabels(ctx context.Context, ids []project.ID) ([][]project.Label, []error)
	ListTeams(ctx context.Context, ids []project.ID) ([][]project.Team, []error)
	ProjectsByID(ctx context.Context, user UserID, ids []project.ID) ([]project.Project, []error)
	// ProjectAs reads a project as each of many users is in it; who is no member has none in it. The errors are aligned with users.
	ProjectAs(ctx context.Context, id project.ID, users []UserID) ([]project.Project, []error)
	UpdateProject(ctx context.Context, before, after project.Project, once idempotency.Key) error
	ListToReview(ctx context.Context, r project.ReviewsRequest) (page.Slice[project.Effort], error)
}

// Move is a change of an item with everything that belongs to it.
type Move struct {
	Before, After project.Item
	// Effort is written: a new one, or in place of Known, which has the same id.
	Effort, Known *project.Effort
	// Correction is a new effort besides, that of a reviewer who found the other one incorrect.
	Correction *project.Effort
	// Efforts are written in place of those of the same ids, with whether their members have them: at most MostEfforts, of an item that is
	// removed or brought back, or whose label was merged into another.
	Efforts []project.Effort
	// Transition goes into the outbox with it; nil for claims and extensions, which the queue is told of directly, and for labels that were merged.
	Transition *Transition
}

// Made returns the effort that the move adds to those of the item; nil when it adds none.
func (m Move) Made() *project.Effort {
	if m.Effort != nil && m.Known == nil {
		return m.Effort
	}
	return m.Correction
}

// Mover changes items.
type Mover interface {
	// MoveItem makes the change in one transaction of rows of this item alone, and records the idempotency key with it.
	// *project.ItemConflict with the current item when Before is not its version; NotFound when it, or an effort to change, does not
	// exist. Labels are not looked at: they are never deleted, and who names one has read it. Of one that was merged since, the [Relabeller] follows.
	MoveItem(ctx context.Context, m Move, once idempotency.Key) error
}

// Outbox keeps transitions until the queue has followed them.
type Outbox interface {
	// ListOutbox lists transitions that were stored before the given instant, the oldest first, up to limit from each part of
	// the outbox. It sees every acknowledged write.
	ListOutbox(ctx context.Context, before time.Time, limit int) ([]Transition, error)
	// FindOutbox returns a transition of an item, and whether it is in the outbox. It sees every acknowledged write. Cost: 1 GetItem.
	FindOutbox(ctx context.Context, item string, r project.TransitionRef) (Transition, bool, error)
	// LastPending reports of each item whether the last of its transitions is in the outbox. One before that may be there although this one is
	// not: the queue has followed it, and a server was lost before it said so. It sees every acknowledged write. Cost: 1 BatchGetItem per 100.
	LastPending(ctx context.Context, items []project.Item) ([]bool, error)
	// DeleteOutbox removes transitions that the queue has followed.
	DeleteOutbox(ctx context.Context, done []Transition) error
}

// Shards is how many parts the items and efforts of a project are spread over; see the store.
const Shards = 16

// Place is where an item stands in the order of imports. The zero value is before all of them.
type Place struct {
	Seq  string // as in [project.Item]
	Item string
}

// Scanner reads much. It is eventually consistent: what was written seconds ago may be missing or shown as it was before.
type Scanner interface {
	// ListByStatus lists items of a status in one shard in the order of imports, from behind a place on, and returns where to go
	// on: the zero Place at the end. Cost: 1 Query.
	ListByStatus(ctx context.Context, p project.ID, s project.Status, shard int, after Place, limit int) (items []string, next Place, err error)
	// ScanItems reads all items of a shard, those that changed last at the end, page by page. An item that changes meanwhile may
	// be read twice.
	ScanItems(ctx context.Context, p project.ID, shard int, page func([]project.Item) error) error
	// ScanEfforts does the same for efforts.
	ScanEfforts(ctx context.Context, p project.ID, shard int, page func([]project.Effort) error) error
	// ItemWithEfforts returns an item and all of its efforts as they are at one moment, without them when it is being purged. Consistent.
	ItemWithEfforts(ctx context.Context, id project.ItemID) (project.Item, []project.Effort, error)
	// ItemsWithEfforts does the same for many items, each as it is at a moment of its own. The errors are aligned with ids.
	ItemsWithEfforts(ctx context.Context, ids []project.ItemID) ([]project.Item, [][]project.Effort, []error)
	// CountItems returns about how many items a project has, as they were counted last in the background; 0 when they never were. Cost: 1 GetItem.
	CountItems(ctx context.Context, p project.ID) (int, error)
	// ListAllProjects lists the projects of all users, some at a time, in the order of ids behind after, for jobs. Consistent.
	ListAllProjects(ctx context.Context, after project.ID, limit int) ([]project.ID, error)
}

// Coordinator hands out the items of projects, and counts what becomes of them. It is fast, shared by all servers, and disposable; see
// internal/queue, which is one, for what each operation does. [ErrNotReady] when it does not know the project.
type Coordinator interface {
	Counted
	Events
	Presences
	Messages
	Rebuilds
	Checks

	Reserve(ctx context.Context, p project.ID, u UserID, tokens []string, ended ...string) ([]Claim, error)
	Cancel(ctx context.Context, c Claim, back bool) (bool, error)
	// Apply follows a transition. [ErrEarly] when it does not remember the one before it.
	Apply(ctx context.Context, t Transition) (bool, error)
	Extend(ctx context.Context, c Claim, team string) (bool, error)
	Expired(ctx context.Context, p project.ID, n int) ([]Lapsed, error)
	Claims(ctx context.Context, p project.ID, u UserID) ([]Claim, error)
	State(ctx context.Context, p project.ID) (State, error)
	Snapshot(ctx context.Context, p project.ID, u UserID, teams []string) (Snapshot, error)
	Fill(ctx context.Context, p project.ID, ids []string, size int) (added, missing int, err error)
	Need(ctx context.Context, p project.ID, size int) (int, error)
	Size(ctx context.Context) (int, error)
	Pause(ctx context.Context, p project.ID, by UserID) (bool, error)
	Resume(ctx context.Context, p project.ID, by UserID) (bool, error)
	SetSettings(ctx context.Context, p project.ID, s Settings, by UserID) error
	Note(ctx context.Context, p project.ID, id string, e Event) (bool, error)
	AddItems(ctx context.Context, p project.ID, importID string, imported int, by UserID) (bool, error)
	Now(ctx context.Context) (time.Time, error)
}

// Counted reads what was counted.
type Counted interface {
	StatisticsOf(ctx context.Context, p project.ID, teams []string) ([]Statistics, error)
	// ToReview returns how many efforts of an author and a category await a review, "" for all of them, and how many of these are of a user.
	ToReview(ctx context.Context, p project.ID, author UserID, category string, of UserID) (all, own int, err error)
	// LeaseReviews gives a user up to n efforts to review, for a time from now, and returns which ones these are: those that the user has already
	// without those that are done, and then the first of the candidates that nobody has.
	LeaseReviews(ctx context.Context, p project.ID, u UserID, n int, lasts time.Duration, done, candidates []string) ([]string, error)
	Top(ctx context.Context, p project.ID, w Words) ([]Used, error)
	Keywords(ctx context.Context, p project.ID, prefix string, n int) ([]string, error)
}

// Events reads the events of a project.
type Events interface {
	// Read returns up to n events after the cursor, and waits for one as long as block. [ErrGap].
	Read(ctx context.Context, p project.ID, after Cursor, n int, block time.Duration) ([]Event, error)
}

// Presences knows who is online.
type Presences interface {
	Heartbeat(ctx context.Context, u UserID, projects []project.ID) error
	Online(ctx context.Context, p project.ID) ([]Online, error)
	OnlineCount(ctx context.Context) (int, error)
}

// Backlog is what has become of messages that are not handled.
type Backlog struct {
	Waiting int           // for a consumer, or being handled
	Dead    int           // nobody could handle them
	Oldest  time.Duration // for how long the oldest one has been waiting; 0 when none is
}

// Messages carry transitions from who made them to who has the queue follow them.
type Messages interface {
	Publish(ctx context.Context, m Message) error
	Consume(ctx context.Context, consumer string, handle func(context.Context, Message) error)
	Backlog(ctx context.Context) (Backlog, error)
	DeadLetters(ctx context.Context, n int) ([]DeadLetter, error)
	RetryDeadLetter(ctx context.Context, id string) error
	DropDeadLetter(ctx context.Context, id string) error
}

// Rebuilds makes the queue of a project anew.
type Rebuilds interface {
	Begin(ctx context.Context, p project.ID, token string, always bool) (bool, error)
	Load(ctx context.Context, p project.ID, token string, part Part) error
	Commit(ctx context.Context, p project.ID, token string, s Settings) error
	// Progress tells how many items were read, of about how many (0 when that is not known), and keeps the rebuild from being taken
	// over. [ErrRebuilding].
	Progress(ctx context.Context, p project.ID, token string, read, total int) error
	// Rebuilding returns how far the rebuild of a project is, and whether there is one.
	Rebuilding(ctx context.Context, p project.ID) (Progress, bool, error)
	Abort(ctx context.Context, p project.ID, token string) error
}
