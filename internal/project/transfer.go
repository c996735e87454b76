package project

import (
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/task"
)

// Format is the form of a file of items or results.
type Format string

// The formats.
const (
	JSONLines Format = "JSON_LINES"
	CSV       Format = "CSV"
)

// The bounds of an import.
const (
	MaxImportBytes  = 1 << 30 // of one file
	MaxImportLines  = 1_000_000
	MaxLineBytes    = 300_000 // of one line
	MaxImportFaults = 100     // lines that are reported with their mistake; the others are counted
)

// TransferID identifies an import or export of a project.
type TransferID struct {
	Project ID
	ID      string
}

// TransferOf returns the import or export that a task is about.
func TransferOf(t task.Task) TransferID { return TransferID{Project: ID(t.Scope), ID: t.ID} }

// task returns the task that runs the import or export.
func (id TransferID) task(kind task.Kind, due time.Time) task.Task {
	return task.Task{Kind: kind, ID: id.ID, Scope: string(id.Project), Due: due}
}

// TransferConflict says that an import or export is not at the version that was expected. What was tried is to be decided
// again on what is there now.
type TransferConflict struct{}

// Error says what happened, for people.
func (*TransferConflict) Error() string { return "somebody else changed the import or export" }

// TransferState is where an import or export stands.
type TransferState string

// The states.
const (
	Awaiting  TransferState = "AWAITING_UPLOAD" // imports only
	Queued    TransferState = "QUEUED"
	Running   TransferState = "RUNNING"
	Done      TransferState = "DONE"
	Failed    TransferState = "FAILED" // Message says why
	Cancelled TransferState = "CANCELLED"
)

// Import brings items into a project: from a file that the client uploads, or items of a user, which are listed in a file.
type Import struct {
	TransferID
	Source    Source
	Score     string       // whose items it brings; "" unless it is [FromScore]
	Items     []OriginalID // that it brings; nil unless it is [FromItems], and when they are listed
	Listed    int          // the version at which its items were listed; 0 before, and of a client's file
	Format    Format
	Bytes     int64 // of the file
	State     TransferState
	CreatedBy UserID
	CreatedAt time.Time
	EndedAt   time.Time
	Message   string // why it failed, for people
	Version   int
	Progress
}

// Progress is how far an import got; it is stored when everything up to there is stored.
type Progress struct {
	Read       int64       // bytes
	Lines      int         // that were read
	Imported   int         // items that are new
	Duplicates int         // lines whose external id was there already
	Mistakes   int         // lines that were left out
	Faults     []LineFault // the first of them
}

// LineFault says what is wrong with a line of an import.
type LineFault struct {
	Line    int // from 1
	Message string
}

// Export writes the results of a project into a file that the client downloads.
type Export struct {
	TransferID
	Format    Format
	Status    Status // of the items that are written; "" for all
	State     TransferState
	CreatedBy UserID
	CreatedAt time.Time
	EndedAt   time.Time
	Message   string
	Items     int   // written so far
	Bytes     int64 // of the finished file
	Version   int
}

func (f Format) check(field string) error {
	if f != JSONLines && f != CSV {
		return fault.Invalidf(field, "there is no such format")
	}
	return nil
}
