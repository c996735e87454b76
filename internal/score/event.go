package score

import (
	"context"
	"strings"
	"time"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/viewer"
)

// The types of events of scores.
const (
	Changed         event.Type = "CHANGED" // see [ChangedPart]
	SnapshotCreated event.Type = "SNAPSHOT_CREATED"
	SnapshotRenamed event.Type = "SNAPSHOT_RENAMED"
	SnapshotDeleted event.Type = "SNAPSHOT_DELETED"
	Removed         event.Type = "DELETED"
)

// ChangedPart is a part of a score that was changed, or how it was.
type ChangedPart string

// The parts of scores.
const (
	TitlePart          ChangedPart = "TITLE"
	DescriptionPart    ChangedPart = "DESCRIPTION"
	AccessPart         ChangedPart = "ACCESS"
	PagesAdded         ChangedPart = "PAGES_ADDED"
	PagesMoved         ChangedPart = "PAGES_MOVED"
	PagesRemoved       ChangedPart = "PAGES_REMOVED"
	AnnotationsAdded   ChangedPart = "ANNOTATIONS_ADDED" // an annotation that is edited is one removed and one added
	AnnotationsMoved   ChangedPart = "ANNOTATIONS_MOVED"
	AnnotationsRemoved ChangedPart = "ANNOTATIONS_REMOVED"
	SnapshotsShown     ChangedPart = "SNAPSHOTS_SHOWN" // to everybody who may read the score
)

// Alteration is the event of a score that its owner changed. Both states have their pages and annotations.
//
// Cost: as much as to compare both.
func Alteration(before, after Score) event.Event {
	var parts []string
	add := func(is bool, p ChangedPart) {
		if is {
			parts = append(parts, string(p))
		}
	}
	add(before.Title != after.Title, TitlePart)
	add(before.DescriptionHash != after.DescriptionHash, DescriptionPart)
	add(before.Access != after.Access, AccessPart)
	added, moved, removed := waysOf(differences(before.Pages, after.Pages))
	add(added, PagesAdded)
	add(moved, PagesMoved)
	add(removed, PagesRemoved)
	added, moved, removed = waysOf(differences(before.Annotations, after.Annotations))
	add(added, AnnotationsAdded)
	add(moved, AnnotationsMoved)
	add(removed, AnnotationsRemoved)
	add(after.ShownFrom < before.ShownFrom, SnapshotsShown)
	e := eventOf(Changed, after.Ref, after.Version, after.UpdatedAt)
	e.Parts, e.Private = strings.Join(parts, " "), after.Access == Private
	return e
}

// waysOf returns in which ways lists differ.
func waysOf[T any](all []Difference[T]) (added, moved, removed bool) {
	for _, d := range all {
		added, moved, removed = added || d.Before == nil, moved || d.Before != nil && d.After != nil, removed || d.After == nil
	}
	return added, moved, removed
}

// PartsOf returns which parts were changed, for an event of a score.
func PartsOf(e event.Event) []ChangedPart {
	parts := []ChangedPart{}
	for name := range strings.FieldsSeq(e.Parts) {
		parts = append(parts, ChangedPart(name))
	}
	return parts
}

// Deletion is the event of a score that its owner deleted.
func Deletion(s Score, at time.Time) event.Event { return eventOf(Removed, s.Ref, s.Version, at) }

// SnapshotEvent is an event of a snapshot of the score, which is as it was read for the change.
func SnapshotEvent(typ event.Type, of Score, s Snapshot, at time.Time) event.Event {
	e := eventOf(typ, s.Score, s.Version, at)
	e.Snapshot, e.Private = s.ID, of.Access == Private || s.Version < of.ShownFrom
	return e
}

// eventOf is an event of a score. Only its owner can change a score.
func eventOf(typ event.Type, of Ref, version int, at time.Time) event.Event {
	return event.Event{Kind: event.OfScore, Type: typ, Of: string(of.ID), Owner: of.Owner, By: of.Owner, Version: version, At: at}
}

// MayEnd reports whether somebody who could read the score before the event may be unable to read it since then.
func MayEnd(e event.Event) bool {
	return e.Type == Removed || e.Private && strings.Contains(e.Parts, string(AccessPart))
}

// Show returns a score that was read for many to the viewer, as [Service.ListByID] does; NotFound if the viewer may not read it.
func Show(ctx context.Context, s Score) (Score, error) {
	return domain.First(guard(ctx, []Score{s}, nil))
}

// Tells reports whether the viewer to whom the score was shown may be told of an event of it. What happened while it was the owner's alone, and to
// snapshots that were or are the owner's alone, is told to nobody else.
func (s Score) Tells(ctx context.Context, e event.Event) bool {
	return viewer.From(ctx).Is(s.Owner) || !e.Private && (e.Snapshot == "" || e.Version >= s.shownFrom)
}
