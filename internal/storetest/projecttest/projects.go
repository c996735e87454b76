// Package projecttest holds a store of projects and what is in them to its contract.
//
// It knows project.Store and what the rules rely on. It must not know how things are kept. Start reading at [Suite].
package projecttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
)

// Stores is one empty implementation of each store that projects need.
type Stores struct {
	Users    user.Store
	Projects project.Store
	Tasks    task.Store
	Mover    labelling.Mover // over the same rows: by it items are finished
}

// Open returns empty stores that take their time from now.
type Open func(t *testing.T, now func() time.Time) Stores

// World opens stores, and returns a world over them.
func (open Open) World(t *testing.T, clock *storetest.Clock) *World {
	return NewWorld(t, open(t, clock.Now), clock)
}

// World is a set of stores with a project in them.
type World struct {
	Stores
	Clock   *storetest.Clock
	Ada     project.UserID // the first manager
	Project project.Project
	Team    project.Team // of managers

	T testing.TB
}

// NewWorld returns a world over empty stores that show the time of the clock. Its project has two categories, "owl"
// and "cat", and one subcategory, "asleep".
func NewWorld(t testing.TB, s Stores, clock *storetest.Clock) *World {
	w := &World{Stores: s, Clock: clock, T: t}
	w.Ada = w.SignUp("ada")
	w.Project, w.Team = w.Create(w.Ada, []string{"owl", "cat"}, []string{"asleep"})
	return w
}

// SignUp creates a user.
func (w *World) SignUp(name string) project.UserID {
	w.T.Helper()
	u := user.User{ID: user.ID(uuid.NewString()), Name: name, Email: name + "@example.com", Version: 1, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now()}
	assert.NoError(w.T, w.Users.CreateUser(w.T.Context(), u, "issuer", name, idempotency.Key{}))
	return u.ID
}

// Create creates a project of a manager.
func (w *World) Create(manager project.UserID, categories, subcategories []string) (project.Project, project.Team) {
	w.T.Helper()
	p, labels, t := w.Draft(manager, categories, subcategories)
	require.NoError(w.T, w.Projects.CreateProject(w.T.Context(), p, labels, t, p.Member, idempotency.Key{}))
	return p, t
}

// Draft returns what a project is made of.
func (w *World) Draft(manager project.UserID, categories, subcategories []string) (project.Project, []project.Label, project.Team) {
	now, id := w.Clock.Now(), project.ID(uuid.NewString())
	t := project.Team{TeamID: project.TeamID{Project: id, ID: uuid.NewString()}, Name: "Managers", Type: project.Manager, CreatedAt: now}
	p := project.Project{ID: id, Name: "birds", Description: "all of them", Keywords: []string{"blurred"}, Version: 1, CreatedAt: now, UpdatedAt: now,
		Member: project.Member{Project: id, User: manager, Team: t.ID, Type: t.Type, AddedAt: now}}
	return p, append(Labels(id, project.Category, categories...), Labels(id, project.Subcategory, subcategories...)...), t
}

// Labels returns new labels of a list.
func Labels(id project.ID, kind project.Kind, names ...string) []project.Label {
	labels := make([]project.Label, len(names))
	for i, name := range names {
		labels[i] = project.Label{LabelID: project.LabelID{Project: id, Kind: kind, ID: uuid.NewString()}, Name: name}
	}
	return labels
}

// Lists returns both lists of the project.
func (w *World) Lists() []project.Label {
	w.T.Helper()
	lists, errs := w.Projects.ListLabels(w.T.Context(), []project.ID{w.Project.ID})
	for _, err := range errs {
		require.NoError(w.T, err)
	}
	return lists[0]
}

// Label returns a label of the project.
func (w *World) Label(name string) project.Label {
	w.T.Helper()
	for _, l := range w.Lists() {
		if l.Name == name {
			return l
		}
	}
	require.Fail(w.T, "there is no label "+name)
	return project.Label{}
}

// Import returns an import of the project that is on its way.
func (w *World) Import() project.Import {
	w.T.Helper()
	i := project.Import{
		TransferID: project.TransferID{Project: w.Project.ID, ID: uuid.NewString()}, Source: project.FromFile, Format: project.CSV, State: project.Queued,
		CreatedBy: w.Ada, CreatedAt: w.Clock.Now(), Version: 1,
	}
	require.NoError(w.T, w.Projects.PutImport(w.T.Context(), "", nil, i, nil, idempotency.Key{}))
	return i
}

// Draw returns items as n lines of an import, from a line on, tell them.
func (w *World) Draw(i project.Import, line, n int) []project.Item {
	items := make([]project.Item, n)
	for k := range items {
		external := fmt.Sprintf("bird #%d:%d", i.CreatedAt.UnixMilli(), line+k)
		items[k] = project.Item{
			ItemID: project.ItemIDOf(w.Project.ID, external), ExternalID: external, Name: fmt.Sprint("bird ", line+k), Type: "image/jpeg",
			Status: project.New, Seq: fmt.Sprintf("%013d%07d", i.CreatedAt.UnixMilli(), line+k), Version: 1,
			CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(), Import: i.ID, Line: line + k,
		}
	}
	return items
}

// Fill imports n new items.
func (w *World) Fill(n int) []project.Item {
	w.T.Helper()
	w.Clock.Advance(time.Second) // so that these are other items than those of a call before
	items := w.Draw(w.Import(), 1, n)
	storetest.Together((n+199)/200, func(i int) {
		part := items[i*200 : min(n, (i+1)*200)]
		created, there, err := w.Projects.ImportItems(w.T.Context(), part)
		assert.NoError(w.T, err)
		assert.Equal(w.T, len(part), created)
		assert.Empty(w.T, there)
	})
	return items
}

// Transition returns what happened to an item just now.
func (w *World) Transition(cause labelling.Cause, after project.Item, by project.UserID) *labelling.Transition {
	return &labelling.Transition{ID: uuid.NewString(), Cause: cause, Project: after.Project, Item: after.ID, Version: after.Version,
		Status: after.Status, User: by, Team: w.Team.ID, At: w.Clock.Now()}
}

// Finishing returns how a user finishes an item, with everything that a transition can tell.
func (w *World) Finishing(i project.Item, by project.UserID, category, subcategory string) labelling.Move {
	e := project.Effort{
		EffortID: project.EffortID{Project: i.Project, ID: uuid.NewString()}, Item: i.ID, User: by, Team: w.Team.ID,
		Category: category, Subcategory: subcategory, Keywords: []string{"night"}, FinishedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(), ToReview: true,
	}
	after := i
	after.Status, after.Category, after.Subcategory, after.Keywords = project.Finished, category, subcategory, e.Keywords
	after.Claim, after.ReturnedTo = project.Claim{}, ""
	after.Efforts, after.EffortsMade, after.LastEffort = i.Efforts+1, i.EffortsMade+1, e.ID
	after.Version, after.UpdatedAt = i.Version+1, e.FinishedAt
	t := w.Transition(labelling.Finished, after, by)
	t.Follows, after.LastTransition = i.LastTransition, t.Ref()
	t.Token, t.Effort, t.Category, t.Subcategory, t.Keywords = i.Claim.Token, e.ID, "an \"owl\"", "asleep ☾", e.Keywords
	return labelling.Move{Before: i, After: after, Effort: &e, Transition: t}
}

// Finish finishes an item, and returns it and the effort.
func (w *World) Finish(i project.Item, by project.UserID, category, subcategory string) (project.Item, project.Effort) {
	w.T.Helper()
	m := w.Finishing(i, by, category, subcategory)
	require.NoError(w.T, w.Mover.MoveItem(w.T.Context(), m, idempotency.Key{}))
	return m.After, *m.Effort
}

// Items lists all items of a status.
func (w *World) Items(status project.Status) []project.Item {
	w.T.Helper()
	var all []project.Item
	win := page.Window{Limit: page.Max}
	for {
		s, err := w.Projects.ListItems(w.T.Context(), w.Project.ID, status, win)
		require.NoError(w.T, err)
		all = append(all, s.Items...)
		if !s.More {
			return all
		}
		win.From = s.Positions[len(s.Positions)-1]
	}
}

// OfLabel lists the ids of the items that were found to be a label.
func (w *World) OfLabel(l project.Label) []string {
	w.T.Helper()
	lists, errs := w.Projects.ListItemsOf(w.T.Context(), []project.LabelItemsRequest{l.Items(page.Window{Limit: page.Max})})
	for _, err := range errs {
		require.NoError(w.T, err)
	}
	ids := []string{}
	for _, i := range lists[0].Items {
		ids = append(ids, i.ID)
	}
	return ids
}

// Suite tests an implementation of project.Store.
func Suite(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"a project is created with all that belongs to it":    createdProject,
		"a project with 400 labels is created":                projectOfManyLabels,
		"a project is not created for nobody":                 projectOfNobody,
		"a project is updated at its version":                 updatedProject,
		"projects are listed for their members":               listedProjects,
		"an unknown project is not found alone":               unknownProject,
		"labels are added":                                    addedLabels,
		"labels are renamed, retired and merged":              changedLabels,
		"a list has a bound":                                  fullLists,
		"teams have a name of their own":                      teamNames,
		"members are added, moved and removed":                changedMembers,
		"a blocked user adds nobody":                          blockedUserAddsNobody,
		"the last manager stays":                              lastManager,
		"items are imported once":                             importedOnce,
		"an import does not reset what was finished":          finishedMeanwhile,
		"large items are imported":                            largeItems,
		"items are listed by status":                          itemsByStatus,
		"items are listed in pages":                           itemsInPages,
		"items are found by their names":                      namedItems,
		"items are read with memberships":                     itemsWithMembers,
		"items keep what they are":                            itemsWhole,
		"finished items are read with what they are":          finishedItem,
		"efforts are listed in pages":                         listedEfforts,
		"efforts to review are listed in pages":               listedToReview,
		"imports and exports are kept and listed":             keptTransfers,
		"an import that somebody else changed is in conflict": transferConflict,
		"tasks follow from imports":                           followingTasks,
		"each change of a project happens once per key":       projectsOncePerKey,
		"a deleted project has no members":                    deletedProject,
		"a deleted team has no members":                       deletedTeam,
		"a deletion is undone before it is done":              deletionThatIsUndone,
		"changes are in the history":                          keptHistory,
		"a history is listed in pages":                        historyInPages,
		"guidelines are kept":                                 keptGuidelines,
		"guidelines are written by members":                   guidelinesOfFormerMembers,
		"invitations are kept and listed":                     keptInvitations,
		"an invitation is accepted":                           acceptedInvitation,
		"nobody joins by an invitation that is over":          invitationThatIsOver,
		"nobody is invited to a deleted project":              invitationOfADeletedProject,
	})
	Together(t, open)
}

// Together tests what [Suite] does at the same time: nothing else sees a transaction that is shown row by row.
func Together(t *testing.T, open Open) {
	storetest.Run(t, open.World, map[string]func(*testing.T, *World){
		"two managers add the same category":          sameCategory,
		"one of many managers writes guidelines":      guidelinesTogether,
		"one accepts the last use of an invitation":   acceptedTogether,
		"who accepts twice is counted once":           acceptedTwice,
		"two labels are merged into one another":      mergedTogether,
		"many managers add categories together":       manyCategories,
		"two managers add the same team":              sameTeam,
		"of two managers who leave at once one stays": leavingTogether,
		"members are listed in pages":                 listedMembers,
		"items are imported together and once":        importedTogether,
		"items of labels are listed in pages":         itemsOfLabels,
	})
}
