package score

import (
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/taggie/taggie/internal/fault"
)

// MaxName is how many characters, not bytes, the name of a snapshot has at most.
const MaxName = 64

// SnapshotID identifies a snapshot.
type SnapshotID struct {
	Score Ref
	ID    string // a UUID in its canonical text form
}

// Snapshot is a score as it was: what is told of it. Its [Content] is kept in S3.
type Snapshot struct {
	SnapshotID
	Name      string // unique in its score
	CreatedAt time.Time
	UpdatedAt time.Time // when it was renamed
	Version   int       // that the score had; 0 where that is not known
	shown     shown
}

// Content is what a snapshot keeps of a score, with all texts.
type Content struct {
	Title       string
	Description string // "" for none
	Pages       []Page
	Annotations []string // their texts
}

// SnapshotKey is where the content of a snapshot is kept in S3.
func SnapshotKey(id SnapshotID) string {
	return "snapshots/" + string(id.Score.Owner) + "/" + string(id.Score.ID) + "/" + id.ID + ".json"
}

// SnapshotOf returns the snapshot whose content is kept under a key; false when it is that of none.
func SnapshotOf(object string) (id SnapshotID, is bool) {
	parts := strings.Split(strings.TrimSuffix(object, ".json"), "/")
	if len(parts) != 4 {
		return SnapshotID{}, false
	}
	id = SnapshotID{Score: Ref{Owner: UserID(parts[1]), ID: ID(parts[2])}, ID: parts[3]}
	return id, SnapshotKey(id) == object
}

// ErrNameTaken is the outcome of giving a snapshot the name of another one of the same score.
var ErrNameTaken = &fault.Error{Kind: fault.Conflict, Field: "input.name", Message: "another snapshot of the score has this name"}

// ErrTooManySnapshots is the outcome of taking more than [MaxSnapshots] snapshots of a score.
var ErrTooManySnapshots = fault.New(fault.Exhausted, "a score has at most %d snapshots: delete some first", MaxSnapshots)

func snapshotNotFound() error { return fault.New(fault.NotFound, "there is no such snapshot") }

// parseName returns the name in the one spelling in which names are compared: composed, as Unicode calls it.
func parseName(name string) (string, error) {
	name, err := parseLine("input.name", "a name", norm.NFC.String(name), MaxName) // composing makes some names longer
	if err == nil && name == "" {
		err = fault.Invalidf("input.name", "a name may not be empty")
	}
	return name, err
}

// SnapshotsRequest asks for the snapshots of a score; see [Score.ListSnapshots].
type SnapshotsRequest struct {
	Score Ref
	shown shown
	from  int // the version from which on the viewer may see them
}

// ListSnapshots asks for the snapshots.
func (s Score) ListSnapshots() SnapshotsRequest { return SnapshotsRequest{s.Ref, s.shown, s.shownFrom} }

// SnapshotRequest asks for a snapshot; see [Score.Snapshot].
type SnapshotRequest struct {
	SnapshotID
	shown shown
	from  int // as of [SnapshotsRequest]
}

// Snapshot asks for one of the score's snapshots.
func (s Score) Snapshot(id string) SnapshotRequest {
	return SnapshotRequest{SnapshotID{s.Ref, id}, s.shown, s.shownFrom}
}

// ContentRequest asks for the content of a snapshot; see [Snapshot.Content].
type ContentRequest struct {
	SnapshotID
	shown shown
}

// Content asks for the score as of the snapshot.
func (s Snapshot) Content() ContentRequest { return ContentRequest{s.SnapshotID, s.shown} }

// Item asks for the item of a page of the content.
func (s Snapshot) Item(p Page) ItemRequest { return ItemRequest{p.ItemOf(s.Score.Owner), s.shown} }
