package storetest

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
)

// LabellingStores is one empty implementation of each store that labelling needs.
type LabellingStores struct {
	ProjectStores
	Truth labelling.Truth // over the same rows
}

// OpenLabelling returns empty stores that take their time from now.
type OpenLabelling func(t *testing.T, now func() time.Time) LabellingStores

// LabellingWorld is a world with a project whose items are handed out.
type LabellingWorld struct {
	*ProjectWorld
	Truth labelling.Truth
}

// NewLabellingWorld returns a world over empty stores that show the time of the clock.
func NewLabellingWorld(t testing.TB, s LabellingStores, clock *Clock) *LabellingWorld {
	return &LabellingWorld{ProjectWorld: NewProjectWorld(t, s.ProjectStores, clock), Truth: s.Truth}
}

// Claiming returns how a user gets an item.
func (w *LabellingWorld) Claiming(i project.Item, by project.UserID) labelling.Move {
	after := i
	after.Status, after.Version, after.UpdatedAt = project.Claimed, i.Version+1, w.Clock.Now()
	after.Claim = project.Claim{User: by, Token: uuid.NewString(), Since: w.Clock.Now(), Until: w.Clock.Now().Add(labelling.Lease)}
	return labelling.Move{Before: i, After: after}
}

// Reviewing returns how a reviewer finds an effort to be incorrect: the item waits for its author.
func (w *LabellingWorld) Reviewing(i project.Item, e project.Effort, by project.UserID) labelling.Move {
	after := i
	after.Status, after.Version, after.UpdatedAt, after.ReturnedTo = project.New, i.Version+1, w.Clock.Now(), e.User
	e.Review = project.Review{Verdict: project.Incorrect, Comment: "no owl: a cat", By: by, At: w.Clock.Now()}
	e.UpdatedAt = w.Clock.Now()
	t := w.Transition(labelling.Reviewed, after, by)
	t.Effort, t.Author, t.AuthorTeam, t.Incorrect = e.ID, e.User, e.Team, true
	return labelling.Move{Before: i, After: after, Effort: &e, Changed: true, Transition: t}
}

// Undoing returns how the author takes the only effort of an item back.
func (w *LabellingWorld) Undoing(i project.Item, e project.Effort) labelling.Move {
	after := i
	after.Status, after.Version, after.UpdatedAt = project.New, i.Version+1, w.Clock.Now()
	after.Category, after.Subcategory, after.Keywords, after.LastEffort, after.Efforts = "", "", nil, "", i.Efforts-1
	e.UndoneAt, e.UpdatedAt = w.Clock.Now(), w.Clock.Now()
	return labelling.Move{Before: i, After: after, Effort: &e, Changed: true, Transition: w.Transition(labelling.Undone, after, e.User)}
}

// Do makes a move, and returns the item after it.
func (w *LabellingWorld) Do(m labelling.Move) project.Item {
	w.t.Helper()
	require.NoError(w.t, w.Truth.MoveItem(w.t.Context(), m, idempotency.Key{}))
	return m.After
}

// Outbox lists everything in the outbox.
func (w *LabellingWorld) Outbox() []labelling.Transition {
	w.t.Helper()
	all, err := w.Truth.ListOutbox(w.t.Context(), w.Clock.Now().Add(time.Hour), 1_000)
	require.NoError(w.t, err)
	return all
}

// Listed lists the ids of the items that have a status, shard after shard, in pages of the given size.
func (w *LabellingWorld) Listed(status project.Status, limit int) []string {
	w.t.Helper()
	all := []string{}
	for shard := range labelling.Shards {
		for after := ""; ; {
			items, next, err := w.Truth.ListByStatus(w.t.Context(), w.Project.ID, status, shard, after, limit)
			require.NoError(w.t, err)
			require.LessOrEqual(w.t, len(items), limit)
			all = append(all, items...)
			if after = next; next == "" {
				break
			}
		}
	}
	return all
}

// ScannedItems returns what a scan of all shards shows, in the order it shows it.
func (w *LabellingWorld) ScannedItems() (all []project.Item) {
	w.t.Helper()
	for shard := range labelling.Shards {
		require.NoError(w.t, w.Truth.ScanItems(w.t.Context(), w.Project.ID, shard, func(page []project.Item) error {
			all = append(all, page...)
			return nil
		}))
	}
	return all
}

// ScannedEfforts does the same for efforts.
func (w *LabellingWorld) ScannedEfforts() (all []project.Effort) {
	w.t.Helper()
	for shard := range labelling.Shards {
		require.NoError(w.t, w.Truth.ScanEfforts(w.t.Context(), w.Project.ID, shard, func(page []project.Effort) error {
			all = append(all, page...)
			return nil
		}))
	}
	return all
}

// allProjects lists all projects, some at a time.
func (w *LabellingWorld) allProjects(limit int) (all []project.ID) {
	w.t.Helper()
	for after := project.ID(""); ; {
		ids, err := w.Truth.ListAllProjects(w.t.Context(), after, limit)
		require.NoError(w.t, err)
		require.LessOrEqual(w.t, len(ids), limit)
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

// LabellingSuite tests an implementation of labelling.Truth.
func LabellingSuite(t *testing.T, open OpenLabelling) {
	for name, test := range map[string]func(*testing.T, *LabellingWorld){
		"a claim is made, extended and ended":                  claimedItem,
		"an item is finished with its transition":              finishedMove,
		"of several who finish an item one does":               finishersTogether,
		"a move that is made twice is one move":                movedTwice,
		"an incorrect effort returns its item":                 reviewedEffort,
		"an effort is taken back":                              undoneEffort,
		"an item is found to be something else":                relinkedItem,
		"an item is finished again":                            finishedAgain,
		"what does not exist is not changed":                   movedNothing,
		"a move happens once per key":                          movesOncePerKey,
		"a mark is replaced by who knows the one before":       marksOf,
		"the outbox is listed from its oldest and deleted":     orderedOutbox,
		"items of a status are listed in pages":                listedByStatus,
		"scans show every item and effort":                     scanned,
		"scans show every item while items change":             scannedMeanwhile,
		"a scan ends with the error of who reads":              scanEnded,
		"an item and its efforts are of one moment":            effortsOfOneMoment,
		"an item has more efforts than a transaction":          manyEfforts,
		"many items with their efforts":                        itemsWithEfforts,
		"all projects are listed in the order of ids":          listedProjectsOfAll,
		"a project is paused, and has a queue of its own size": pausedProject,
		"a project is read as many users are in it":            projectAsMany,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			test(t, NewLabellingWorld(t, open(t, clock.Now), clock))
		})
	}
}

// onceKey returns an idempotency key.
func (w *LabellingWorld) onceKey(n int) idempotency.Key {
	return idempotency.Key{Viewer: string(w.Ada), Key: fmt.Sprint("key ", n), Hash: []byte("hash"), ExpiresAt: w.Clock.Now().Add(time.Hour)}.With("result")
}
