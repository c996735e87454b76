// Package labellingtest holds a store of what moves the items of projects to its contract.
//
// It knows labelling.Truth and what the rules rely on. It must not know how things are kept. Start reading at [Suite].
package labellingtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
)

// Stores is one empty implementation of each store that labelling needs.
type Stores struct {
	projecttest.Stores
	Truth labelling.Truth // over the same rows
}

// Open returns empty stores that take their time from now.
type Open func(t *testing.T, now func() time.Time) Stores

// World opens stores, and returns a world over them.
func (open Open) World(t *testing.T, clock *storetest.Clock) *World {
	return NewWorld(t, open(t, clock.Now), clock)
}

// World is a world with a project whose items are handed out.
type World struct {
	*projecttest.World
	Truth labelling.Truth
}

// NewWorld returns a world over empty stores that show the time of the clock.
func NewWorld(t testing.TB, s Stores, clock *storetest.Clock) *World {
	return &World{World: projecttest.NewWorld(t, s.Stores, clock), Truth: s.Truth}
}

// Claiming returns how a user gets an item.
func (w *World) Claiming(i project.Item, by project.UserID) labelling.Move {
	after := i
	after.Status, after.Version, after.UpdatedAt = project.Claimed, i.Version+1, w.Clock.Now()
	after.Claim = project.Claim{User: by, Token: uuid.NewString(), Since: w.Clock.Now(), Until: w.Clock.Now().Add(labelling.Lease)}
	return labelling.Move{Before: i, After: after}
}

// Reviewing returns how a reviewer finds an effort to be incorrect: the item waits for its author.
func (w *World) Reviewing(i project.Item, e project.Effort, by project.UserID) labelling.Move {
	after := i
	after.Status, after.Version, after.UpdatedAt, after.ReturnedTo = project.New, i.Version+1, w.Clock.Now(), e.User
	known := e
	e.ToReview, e.Review = false, project.Review{Verdict: project.Incorrect, Comment: "no owl: a cat", By: by, At: w.Clock.Now()}
	e.UpdatedAt = w.Clock.Now()
	t := w.Transition(labelling.Reviewed, after, by)
	t.Effort, t.Author, t.AuthorTeam, t.Incorrect = e.ID, e.User, e.Team, true
	return labelling.Move{Before: i, After: after, Effort: &e, Known: &known, Transition: t}
}

// Correcting returns how a reviewer finds an effort to be incorrect, and says what the item is.
func (w *World) Correcting(i project.Item, e project.Effort, by project.UserID, category string) labelling.Move {
	m := w.Reviewing(i, e, by)
	found := w.Finishing(i, by, category, "")
	m.After, m.Correction = found.After, found.Effort
	m.Correction.ToReview = false
	m.Transition.Status, m.After.LastTransition = project.Finished, m.Transition.Ref()
	return m
}

// Undoing returns how the author takes the only effort of an item back.
func (w *World) Undoing(i project.Item, e project.Effort) labelling.Move {
	after := i
	after.Status, after.Version, after.UpdatedAt = project.New, i.Version+1, w.Clock.Now()
	after.Category, after.Subcategory, after.Keywords, after.LastEffort, after.Efforts = "", "", nil, "", i.Efforts-1
	known := e
	e.UndoneAt, e.UpdatedAt = w.Clock.Now(), w.Clock.Now()
	return labelling.Move{Before: i, After: after, Effort: &e, Known: &known, Transition: w.Transition(labelling.Undone, after, e.User)}
}

// Do makes a move, and returns the item after it.
func (w *World) Do(m labelling.Move) project.Item {
	w.T.Helper()
	require.NoError(w.T, w.Truth.MoveItem(w.T.Context(), m, idempotency.Key{}))
	return m.After
}

// Outbox lists everything in the outbox.
func (w *World) Outbox() []labelling.Transition {
	w.T.Helper()
	all, err := w.Truth.ListOutbox(w.T.Context(), w.Clock.Now().Add(time.Hour), 1_000)
	require.NoError(w.T, err)
	return all
}

// Listed lists the ids of the items that have a status, shard after shard, in pages of the given size.
func (w *World) Listed(status project.Status, limit int) []string {
	w.T.Helper()
	all := []string{}
	for shard := range labelling.Shards {
		for after := (labelling.Place{}); ; {
			items, next, err := w.Truth.ListByStatus(w.T.Context(), w.Project.ID, status, shard, after, limit)
			require.NoError(w.T, err)
			require.LessOrEqual(w.T, len(items), limit)
			all = append(all, items...)
			if after = next; next == (labelling.Place{}) {
				break
			}
		}
	}
	return all
}

// ScannedItems returns what a scan of all shards shows, in the order it shows it.
func (w *World) ScannedItems() (all []project.Item) {
	w.T.Helper()
	for shard := range labelling.Shards {
		require.NoError(w.T, w.Truth.ScanItems(w.T.Context(), w.Project.ID, shard, func(page []project.Item) error {
			all = append(all, page...)
			return nil
		}))
	}
	return all
}

// ScannedEfforts does the same for efforts.
func (w *World) ScannedEfforts() (all []project.Effort) {
	w.T.Helper()
	for shard := range labelling.Shards {
		require.NoError(w.T, w.Truth.ScanEfforts(w.T.Context(), w.Project.ID, shard, func(page []project.Effort) error {
			all = append(all, page...)
			return nil
		}))
	}
	return all
}

// allProjects lists all projects, some at a time.
func (w *World) allProjects(limit int) (all []project.ID) {
	w.T.Helper()
	for after := project.ID(""); ; {
		ids, err := w.Truth.ListAllProjects(w.T.Context(), after, limit)
		require.NoError(w.T, err)
		require.LessOrEqual(w.T, len(ids), limit)
		if all = append(all, ids...); len(ids) == 0 {
			return all
		}
		after = ids[len(ids)-1]
	}
}

// sortedIDs returns the ids of items in the order of ids.
func sortedIDs(items []project.Item) []string {
	ids := []string{}
	for _, i := range items {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	return ids
}

// Suite tests an implementation of labelling.Truth.
func Suite(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a claim is made, extended and ended":                  claimedItem,
		"an item is finished with its transition":              finishedMove,
		"an incorrect effort returns its item":                 reviewedEffort,
		"a reviewer corrects":                                  correctedEffort,
		"an effort is taken back":                              undoneEffort,
		"an item is found to be something else":                relinkedItem,
		"an item is finished again":                            finishedAgain,
		"what does not exist is not changed":                   movedNothing,
		"a move happens once per key":                          movesOncePerKey,
		"a mark is replaced by who knows the one before":       marksOf,
		"the outbox is listed from its oldest and deleted":     orderedOutbox,
		"items of a status are listed in pages":                listedByStatus,
		"scans show every item and effort":                     scanned,
		"a scan ends with the error of who reads":              scanEnded,
		"an item has more efforts than a transaction":          manyEfforts,
		"many items with their efforts":                        itemsWithEfforts,
		"all projects are listed in the order of ids":          listedProjectsOfAll,
		"a project is paused, and has a queue of its own size": pausedProject,
		"a project is read as many users are in it":            projectAsMany,
	})
	Together(t, open)
}

// Together tests what [Suite] does at the same time: nothing else sees a transaction that is shown row by row.
func Together(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"of several who finish an item one does":    finishersTogether,
		"a move that is made twice is one move":     movedTwice,
		"scans show every item while items change":  scannedMeanwhile,
		"an item and its efforts are of one moment": effortsOfOneMoment,
	})
}

// onceKey returns an idempotency key.
func (w *World) onceKey(n int) idempotency.Key {
	return idempotency.Key{Viewer: string(w.Ada), Key: fmt.Sprint("key ", n), Hash: []byte("hash"), ExpiresAt: w.Clock.Now().Add(time.Hour)}.With("result")
}
