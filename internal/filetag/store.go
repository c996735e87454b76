package filetag

import (
	"context"
	"errors"
	"time"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/score"
	"github.com/taggie/taggie/internal/task"
)

// ErrMoved says that somebody else changed the set, the item or the score since they were read.
var ErrMoved = errors.New("the tags were changed by somebody else")

// Store keeps tags. All of it may fail with Unavailable or Exhausted besides the faults that are named. Who may see what it
// returns is the service's to say.
type Store interface {
	// FindSets returns the set or the error of each key, in the order of keys; one without tags and version where there is none, or where
	// the item is not that owner's. It sees every acknowledged write, each set whole.
	FindSets(ctx context.Context, keys []Key) ([]Set, []error)
	// ListSets lists the sets of each item, by author, as FindSets sees them.
	ListSets(ctx context.Context, requests []SetsRequest) ([][]Set, []error)
	// EachSet shows all sets of an author that have tags, page by page, by item. Which there are is eventually consistent; each is shown as it is now.
	EachSet(ctx context.Context, author UserID, page func(sets []Set) error) error
	// PutSet replaces before by after, atomically, on condition that before is the current set and that the proof holds; [ErrMoved]
	// otherwise. Only the rows that differ are written. Where the proof does not tell of the item, and public tags go with the last ones, a task has
	// them found in no project any more. It returns the set as it is kept: where counting has to wait, with what
	// is counted. It records the idempotency key with the effect, and returns *idempotency.Replayed when it was used before.
	PutSet(ctx context.Context, before, after Set, proof Proof, once idempotency.Key) (Set, error)
	// Search lists tags in the order of their keys, items and authors. keep is given what was found in this order, several times
	// if need be, and returns what counts. What it finds is eventually consistent, and may have changed since.
	Search(ctx context.Context, q Query, w page.Window, keep func(context.Context, []Entry) ([]ItemTag, error)) (page.Slice[ItemTag], error)
	// FirstTags returns for each item, in the order of items, the first one of the tags on it that begin so and that everybody may
	// see, in the order of Search; the zero Entry for none. It is eventually consistent.
	FirstTags(ctx context.Context, begin string, items []score.ItemRef) ([]Entry, []error)
	// Values returns the first values that begin so, in order, with how often they are used: by everybody, or by an author.
	Values(ctx context.Context, q Query, limit int) ([]ValueCount, error)
	// Tallies returns how many tags there are, in the order of keys.
	Tallies(ctx context.Context, keys []TallyKey) ([]Tally, []error)
	PlacedStore
	// ForgetTask removes the task of a proof, if nobody works on it.
	ForgetTask(ctx context.Context, t task.Task) error
	LayoutStore
	idempotency.Store
}

// LayoutStore keeps how the tags of everybody are spread.
type LayoutStore interface {
	// FindLayout returns the layout; that of a single shard when nothing is kept.
	FindLayout(ctx context.Context) (Layout, error)
	// PutLayout replaces before by after and records the task, if there is one; [ErrMoved] when before is not the current one.
	PutLayout(ctx context.Context, before, after Layout) error
	// ScanSets shows all sets from a position on, "" for the beginning, and the position behind them, "" at the end.
	ScanSets(ctx context.Context, from string, page func(ctx context.Context, sets []Set, next string) error) error
}

// PlacedStore keeps by which tags the items of projects are found.
type PlacedStore interface {
	// ListPlaced returns the keys of the tags by which an item is found in a project, by author. It sees every acknowledged write.
	ListPlaced(ctx context.Context, r PlacedRequest) (map[UserID][]string, error)
	// Place has an item found in the project by the tags of the set, instead of those that were placed, atomically, on condition that this is the
	// current set; [ErrMoved] otherwise. Nothing happens when the project does not use the item, or it is withdrawn.
	Place(ctx context.Context, set Set, in project.ID, placed []string) error
	// Unplace has an item that is withdrawn or gone not be found in projects any more.
	Unplace(ctx context.Context, id score.ItemID) error
}

// PlacedRequest asks by which tags an item is found in a project.
type PlacedRequest struct {
	Item    score.ItemID
	Project project.ID
	Author  UserID // whose; "" for all authors
	After   UserID // the author behind whom to begin; "" for the beginning
	Until   UserID // the last author; "" for the end
}

// SetsRequest asks for the sets of an item.
type SetsRequest struct {
	Item     score.ItemRef
	Public   bool   // of the sets that have any, their public tags alone
	From     UserID // the author to begin with; "" for the beginning, or the end
	Behind   bool   // begin behind that author
	Backward bool   // in reverse
	Limit    int    // 0 for all
}

// Proof is what a change of a set relies on.
type Proof struct {
	Task    task.Task // that looks again at what it cannot rely on; the zero Task for none
	Item    bool      // the item exists and has the name of the set
	Version int       // of the score by which everybody may read the item; 0 when nothing relies on it
	SetName string    // of the item
	// Imported tells that a project uses the item, or has done so: then Placing is the task that has it found there by its tags, if these changed.
	Imported bool
	Placing  task.Task
}

// Query says what to search.
type Query struct {
	Begin   string     // what the key begins with
	Exact   bool       // what the key is
	Author  UserID     // whose tags; "" for those that everybody may see
	Project project.ID // in which; "" for everywhere
	Items   bool       // what is looked for are items, of which few rows are looked at at a time: each may cost a read
	Own     bool       // it is the author who asks: those that nobody else may see, too
	Layouts []int      // the numbers of shards to look at, in this order
}

// Entry is what a search found.
type Entry struct {
	Key
	Value string   // its key
	Via   score.ID // why everybody may read the item; "" where the entry knows of nothing
}

// TallyKey says what is counted: the tags on the items of a set, of everybody or of an author.
type TallyKey struct {
	Set    SetRef
	Author UserID // "" for everybody
}

// Tally is how many tags there are.
type Tally struct {
	Tags   int // of the author, on items that the author may read; of everybody those that everybody may see
	Public int // of the author, those of them that everybody may see
}

// Layout is over how many shards the tags of everybody are spread, for all servers together; see [Service.Raise].
type Layout struct {
	Shards   int
	Before   int  // that it was before, while the number is being raised; 0 otherwise
	Writing  bool // new tags are spread over Shards already
	Since    time.Time
	Position string // up to where the tags were spread anew
	Version  string
}
