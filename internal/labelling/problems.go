package labelling

import (
	"fmt"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
)

// What labelling refuses.
var (
	// ErrTooLate says that a finish cannot be taken back any more.
	ErrTooLate = &fault.Error{Kind: fault.Conflict, Message: fmt.Sprintf("a finish can be undone for %d minutes only", int(Undo.Minutes()))}
	// ErrReviewed says that a finish cannot be taken back since somebody has reviewed it.
	ErrReviewed = &fault.Error{Kind: fault.Conflict, Message: "this was reviewed already"}
	// ErrUndone says that its author took the effort back.
	ErrUndone = &fault.Error{Kind: fault.Conflict, Message: "this was undone"}
	// ErrOwnWork says that nobody reviews what they did themselves.
	ErrOwnWork = &fault.Error{Kind: fault.Forbidden, Message: "somebody else has to review what you did"}
)

// LeaseLost says that the item is not the viewer's any more by the token that was given: the lease ended, the item was released,
// or somebody else has it. Nothing was changed.
type LeaseLost struct {
	Current project.Item
	Input   *Finish // what the client wanted to store, so that nothing that was typed is lost; nil when it was something else
}

// Error says what happened, for people.
func (*LeaseLost) Error() string { return "you do not have the item by this token, or not any more" }

// AlreadyFinished says that the viewer has finished the item by this very claim before. Nothing was changed.
type AlreadyFinished struct {
	Current project.Item
	Effort  project.Effort // the one that counts
	Input   *Finish
}

// Error says what happened, for people.
func (*AlreadyFinished) Error() string { return "you have finished this item already" }

// ItemRemoved says that a manager removed the item from the project: who had it has lost it. Nothing was changed.
type ItemRemoved struct {
	Input *Finish // what the client wanted to store; nil when it was something else
}

// Error says what happened, for people.
func (*ItemRemoved) Error() string { return "a manager has removed this item from the project" }

func notFound(what string) error { return fault.New(fault.NotFound, "there is no such %s", what) }
