package score

import (
	"context"
	"io"
	"time"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/task"
)

// Store keeps scores. All of it may fail with Unavailable or Exhausted besides the faults that are named.
type Store interface {
	Reader
	Writer
	Snapshots
	Keeping
	Intents
	idempotency.Store
}

// Reader reads scores. It sees every acknowledged write. What it returns was shown to nobody yet: who may see it is the
// service's to say.
type Reader interface {
	// ScoresByID returns the score or the error of each, in the order of refs. NotFound for one that does not exist.
	ScoresByID(ctx context.Context, refs []Ref) ([]Score, []error)
	// TextsByID returns the text or the error of each id, in the order of ids. NotFound for one that the score has no more.
	TextsByID(ctx context.Context, ids []TextID) ([]string, []error)
	// SnapshotsByID returns the snapshot or the error of each id, in the order of ids.
	SnapshotsByID(ctx context.Context, ids []SnapshotID) ([]Snapshot, []error)
	// ListScores lists an owner's scores by id: all of them, or the public ones alone.
	ListScores(ctx context.Context, owner UserID, public bool, w page.Window) (page.Slice[Score], error)
	// FindPublicScores lists the public scores of everybody whose folded titles begin with a folded text that is not empty, by folded title. Each is as it
	// is at the time of the read, and public; one that became so moments before may be missing.
	FindPublicScores(ctx context.Context, begin string, w page.Window) (page.Slice[Score], error)
	// ArePublic reports of each score whether there is one that is listed for everybody, in the order of refs.
	ArePublic(ctx context.Context, refs []Ref) ([]bool, []error)
	// CountScores returns how many scores each owner has, in the order of owners.
	CountScores(ctx context.Context, owners []UserID) ([]int, []error)
	// ListSnapshotsOf lists all snapshots of each score, the newest first, in the order of refs. Those of a score that does
	// not exist may be listed until they are cleaned up.
	ListSnapshotsOf(ctx context.Context, refs []Ref) ([][]Snapshot, []error)
}

// Writer changes scores. Readers see each change whole or not at all, however large it is. It records the idempotency key
// with the effect, and returns *idempotency.Replayed when the key was used before. A change that is too large for one
// transaction is prepared under an [Intent], which is settled when the change fails or its server is lost.
type Writer interface {
	// CreateScore creates the score with its texts. *[UnknownItem] when an item of a page does not exist,
	// Exhausted above [MaxScores].
	CreateScore(ctx context.Context, s Score, texts []Text, once idempotency.Key) error
	// UpdateScore replaces before by after. Texts are those of after that before does not have. *[VersionConflict] when
	// before is not the current version, with the current score where it is known; NotFound when the score is gone,
	// *[UnknownItem] as for CreateScore. The number of snapshots is left alone; where others are not to see those that there are, *[VersionConflict]
	// also when there are not as many as before says.
	UpdateScore(ctx context.Context, before, after Score, texts []Text, once idempotency.Key) error
	// DeleteScore removes the score, and returns the intent to remove what is left of it, which is to be settled now or is
	// by its task. *[VersionConflict] and NotFound as for UpdateScore.
	DeleteScore(ctx context.Context, s Score, once idempotency.Key) (Intent, error)
}

// Snapshots keeps what is told of snapshots, and that they use items.
type Snapshots interface {
	// BeginSnapshot records the intent to take a snapshot with these items, before its content is put into S3. NotFound when
	// the score does not exist, [ErrNameTaken], [ErrTooManySnapshots].
	BeginSnapshot(ctx context.Context, s Snapshot, items []ItemRef) (Intent, error)
	// CommitSnapshot makes the snapshot that was begun appear, with its uses of items. Faults as for BeginSnapshot;
	// *[UnknownItem] when an item was deleted meanwhile, and without an item when others are not to see a snapshot of this version: the score
	// has changed.
	CommitSnapshot(ctx context.Context, of Score, s Snapshot, i Intent, once idempotency.Key) error
	// RenameSnapshot gives the snapshot the name of after. *[SnapshotConflict] when before is not the current one, NotFound
	// when it is gone, [ErrNameTaken].
	RenameSnapshot(ctx context.Context, of Score, before, after Snapshot, once idempotency.Key) error
	// DeleteSnapshot lets the snapshot of the score disappear, and returns the intent to remove what is left of it. Faults as for
	// RenameSnapshot; *[SnapshotConflict] also when others see other snapshots of the score than they did.
	DeleteSnapshot(ctx context.Context, of Score, s Snapshot, once idempotency.Key) (Intent, error)
}

// SnapshotConflict is the outcome of a change of a snapshot that was renamed meanwhile, or of a score whose access was widened meanwhile.
type SnapshotConflict struct{}

// Error says so.
func (*SnapshotConflict) Error() string { return "the snapshot was renamed meanwhile" }

// IntentKind says what was begun.
type IntentKind string

// The kinds of intents.
const (
	Changing     IntentKind = "change"   // a change of a score, or its creation
	Deleting     IntentKind = "delete"   // the deletion of a score
	Snapshotting IntentKind = "snapshot" // a snapshot, for as long as it exists: it knows the snapshot's items
	Showing      IntentKind = "show"     // telling the [Follower] of items that everybody may read from now on, or no more
)

// Intent is what was begun, and has to be ended by whoever comes by: nothing that it prepared may stay, nor what it replaced.
type Intent struct {
	Score Ref
	ID    string // a UUID; of a snapshot its own
	Kind  IntentKind
	Items []ItemRef // that it uses, or used
	// Version is that of the score which will use what was prepared.
	Version int
	Due     time.Time // when somebody else settles it
}

// SettleIntent is the task of settling an intent.
const SettleIntent task.Kind = "settle-score"

// PrepareWithin is how long a change may take to prepare; after it, it is taken back.
const PrepareWithin = 2 * time.Minute

// Task returns the task that settles the intent.
func (i Intent) Task() task.Task {
	return task.Task{Kind: SettleIntent, ID: string(i.Score.ID) + " " + i.ID, Scope: string(i.Score.Owner), Due: i.Due}
}

// IntentOf returns the score and the id of the intent that a task is to settle; false for a task of another kind.
func IntentOf(t task.Task) (of Ref, id string, ok bool) {
	const uuid = 36
	if t.Kind != SettleIntent || len(t.ID) != 2*uuid+1 {
		return Ref{}, "", false
	}
	return Ref{Owner: UserID(t.Scope), ID: ID(t.ID[:uuid])}, t.ID[uuid+1:], true
}

// Snapshot returns the snapshot of an intent of that kind.
func (i Intent) Snapshot() SnapshotID { return SnapshotID{Score: i.Score, ID: i.ID} }

// Intents settles what was begun. Every step can be run again.
type Intents interface {
	// EndIntent makes sure that what the intent prepared will never be used: false when there is nothing to settle, because
	// it is settled, or because it is the intent of a snapshot that exists.
	EndIntent(ctx context.Context, of Ref, id string) (Intent, bool, error)
	// ReleaseIntent removes, of an intent that has ended, the texts and the uses of items that are not the score's.
	ReleaseIntent(ctx context.Context, i Intent) error
	// ListIntents lists the snapshots of a score that is deleted, as intents that have ended.
	ListIntents(ctx context.Context, of Ref) ([]Intent, error)
	// ForgetIntent removes the intent itself and its task.
	ForgetIntent(ctx context.Context, i Intent) error
}

// Contents keeps the contents of snapshots. All of it may fail with Unavailable.
type Contents interface {
	// Upload puts what write writes under the key, all at once or not at all.
	Upload(ctx context.Context, key, contentType string, write func(io.Writer) error) (int64, error)
	// Open reads what is under the key from the offset on, or NotFound.
	Open(ctx context.Context, key string, offset int64) (io.ReadCloser, error)
	// Delete removes what is under the key, if there.
	Delete(ctx context.Context, key string) error
}
