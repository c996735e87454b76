package model

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/taggie/taggie/internal/gid"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// Unions; see aliases.go.
type (
	// ProjectMessage is what a subscription to the events of a project brings.
	ProjectMessage any
	// ClaimProjectItemsProblem is an expected outcome of claimProjectItems.
	ClaimProjectItemsProblem any
	// ClaimProblem is an expected outcome of what is done with a claimed item.
	ClaimProblem any
	// FinishProjectItemProblem is an expected outcome of finishing an item.
	FinishProjectItemProblem any
	// ReviewEffortProblem is an expected outcome of reviewEffort.
	ReviewEffortProblem any
	// UndoFinishProblem is an expected outcome of undoFinish.
	UndoFinishProblem any
	// RebuildProjectQueueProblem is an expected outcome of rebuildProjectQueue.
	RebuildProjectQueueProblem any
)

// EventCursor is a position in the events of a project, as clients see it: opaque, and the same for everybody.
type EventCursor struct {
	Project project.ID
	labelling.Cursor
}

// eventCursor is the type within the text; it cannot be taken for the id of an object.
const eventCursor = "ProjectEvent"

// String is the cursor as clients have it.
func (c EventCursor) String() string {
	return gid.Of(eventCursor, string(c.Project), c.Epoch, c.ID).String()
}

// MarshalGQL writes the cursor as a GraphQL string.
func (c EventCursor) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, strconv.Quote(c.String()))
}

// UnmarshalGQL reads a cursor; whether it is one of the project only the resolver can tell.
func (c *EventCursor) UnmarshalGQL(v any) error {
	text, ok := v.(string)
	if !ok {
		return errors.New("a cursor is a string")
	}
	id, err := gid.Parse(text)
	if err != nil || id.Type != eventCursor || len(id.Key) != 3 {
		return fmt.Errorf("this is not a cursor of events")
	}
	*c = EventCursor{Project: project.ID(id.Key[0]), Cursor: labelling.Cursor{Epoch: id.Key[1], ID: id.Key[2]}}
	return nil
}

// ProjectQueue is the queue of a project at a moment.
type ProjectQueue struct{ labelling.State }

// Position is the event that it is at.
func (q ProjectQueue) Position() EventCursor {
	return EventCursor{Project: q.Project, Cursor: q.Cursor}
}

// ProjectSnapshot is what a subscription begins with.
type ProjectSnapshot struct {
	Project  project.Project
	Snapshot labelling.Snapshot
}

// Position is the event that it is at.
func (s ProjectSnapshot) Position() EventCursor { return s.Queue().Position() }

// Queue is the queue then.
func (s ProjectSnapshot) Queue() ProjectQueue { return ProjectQueue{s.Snapshot.State} }

// ProjectTeamStatistics are the statistics of a team in a snapshot.
type ProjectTeamStatistics struct {
	Of         project.Ref[project.TeamID]
	Statistics labelling.Statistics
}

// ProjectEvent is something that happened, as a member of the project is told.
type ProjectEvent struct {
	labelling.Event
	Project project.Project
	Details labelling.EventDetails
}

// Position is where it is among the events of the project.
func (e ProjectEvent) Position() EventCursor {
	return EventCursor{Project: e.Project.ID, Cursor: e.Cursor}
}

// Shared is where is kept what is the same for all who are told of the event.
func (e *ProjectEvent) Shared() *sync.Map { return e.Details.Shared }

// MyQueue is what the viewer has of a project.
type MyQueue struct {
	Shown project.Project // as the viewer is in it
	Now   []labelling.Claim
}

// DeadLetter is a change that the queues could not follow.
type DeadLetter struct{ labelling.DeadLetter }

// Project is the id of the project.
func (d DeadLetter) Project() project.ID { return d.Message.Project }

// Item is the id of the item.
func (d DeadLetter) Item() project.ItemID {
	return project.ItemID{Project: d.Message.Project, ID: d.Message.Item}
}

// Tries is how often it was handled in vain.
func (d DeadLetter) Tries() int { return d.Message.Tries }
