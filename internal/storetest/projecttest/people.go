package projecttest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/user"
)

func createdProject(t *testing.T, w *World) {
	found, errs := w.Projects.ProjectsByID(t.Context(), w.Ada, []project.ID{w.Project.ID})
	require.Nil(t, errs)
	assert.Equal(t, w.Project, found[0])
	found, errs = w.Projects.ProjectsByID(t.Context(), "somebody", []project.ID{w.Project.ID})
	require.Nil(t, errs)
	assert.Equal(t, project.Member{}, found[0].Member, "a stranger is no member")
	found, errs = w.Projects.ProjectsByID(t.Context(), "", []project.ID{w.Project.ID})
	require.Nil(t, errs)
	assert.Equal(t, "birds", found[0].Name)

	assert.Equal(t, []string{"owl", "cat", "asleep"}, namesOfLabels(w.Lists()))
	teams, errs := w.Projects.ListTeams(t.Context(), []project.ID{w.Project.ID})
	require.Nil(t, errs)
	assert.Equal(t, [][]project.Team{{w.Team}}, teams)
	members, errs := w.Projects.Memberships(t.Context(), w.Ada, []project.ID{w.Project.ID})
	require.Nil(t, errs)
	assert.Equal(t, []project.Member{w.Project.Member}, members)
}

func projectOfManyLabels(t *testing.T, w *World) {
	categories, subcategories := storetest.Numbered("category", project.MaxCategories), storetest.Numbered("subcategory", project.MaxCategories)
	p, _ := w.Create(w.Ada, categories, subcategories)
	w.Project = p
	lists := w.Lists()
	assert.Equal(t, append(categories, subcategories...), namesOfLabels(lists))
	ids := make([]project.LabelID, len(lists))
	for i, l := range lists {
		ids[i] = l.LabelID
	}
	found, errs := w.Projects.LabelsByID(t.Context(), ids)
	require.Nil(t, errs)
	assert.Equal(t, lists, found)
}

func projectOfNobody(t *testing.T, w *World) {
	p, labels, team := w.Draft("nobody", []string{"owl"}, nil)
	var unknown *project.UnknownUser
	require.ErrorAs(t, w.Projects.CreateProject(t.Context(), p, labels, team, p.Member, idempotency.Key{}), &unknown)
	_, errs := w.Projects.ProjectsByID(t.Context(), "", []project.ID{p.ID})
	storetest.IsFault(t, errs[0], fault.NotFound)
}

func updatedProject(t *testing.T, w *World) {
	after := w.Project
	after.Name, after.Description, after.Keywords, after.Lease = "owls", "", nil, 90
	after.Version, after.UpdatedAt = 2, w.Clock.Now().Add(time.Second)
	require.NoError(t, w.Projects.UpdateProject(t.Context(), w.Project, after, idempotency.Key{}))
	found, errs := w.Projects.ProjectsByID(t.Context(), w.Ada, []project.ID{w.Project.ID})
	require.Nil(t, errs)
	assert.Equal(t, after, found[0])

	other := w.Project
	other.Name, other.Version = "cats", 2
	var conflict *project.VersionConflict
	require.ErrorAs(t, w.Projects.UpdateProject(t.Context(), w.Project, other, idempotency.Key{}), &conflict)
	assert.Equal(t, after, conflict.Current)
	// What is counted beside is as it was.
	assert.ErrorIs(t, w.Projects.DeleteMember(t.Context(), "", w.Project.ID, w.Ada, idempotency.Key{}), project.ErrLastManager)
	other.ID = "nothing"
	storetest.IsFault(t, w.Projects.UpdateProject(t.Context(), other, project.Project{ID: "nothing", Version: 3}, idempotency.Key{}), fault.NotFound)
}

func listedProjects(t *testing.T, w *World) {
	for range 6 {
		w.Create(w.Ada, nil, nil)
	}
	w.Create(w.SignUp("grace"), nil, nil)
	all := storetest.Pages(t, 3, func(win page.Window) (page.Slice[project.Project], error) {
		s, err := w.Projects.ListProjects(t.Context(), w.Ada, win)
		for _, p := range s.Items {
			assert.Equal(t, w.Ada, p.Member.User)
		}
		return s, err
	})
	assert.Len(t, all, 7)
	assert.IsIncreasing(t, all)
}

func unknownProject(t *testing.T, w *World) {
	ids := []project.ID{"nothing", w.Project.ID, "p:1#2%"}
	_, errs := w.Projects.ProjectsByID(t.Context(), w.Ada, ids)
	_, unlisted := w.Projects.ListLabels(t.Context(), ids)
	_, teamless := w.Projects.ListTeams(t.Context(), ids)
	_, memberless := w.Projects.Memberships(t.Context(), w.Ada, ids)
	for _, errs := range [][]error{errs, unlisted, teamless, memberless} {
		require.Len(t, errs, 3)
		storetest.IsFault(t, errs[0], fault.NotFound)
		require.NoError(t, errs[1])
		storetest.IsFault(t, errs[2], fault.NotFound)
	}
	storetest.IsFault(t, w.Projects.AddLabels(t.Context(), "", "nothing", Labels("nothing", project.Category, "x"), nil, idempotency.Key{}), fault.NotFound)
	storetest.IsFault(t, w.Projects.PutTeam(t.Context(), "", project.Team{TeamID: project.TeamID{Project: "nothing", ID: "t"}, Name: "x"}, true, idempotency.Key{}), fault.NotFound)
}

func (w *World) team(name string, typ project.TeamType) project.Team {
	w.T.Helper()
	w.Clock.Advance(time.Second)
	t := project.Team{TeamID: project.TeamID{Project: w.Project.ID, ID: uuid.NewString()}, Name: name, Type: typ, CreatedAt: w.Clock.Now()}
	require.NoError(w.T, w.Projects.PutTeam(w.T.Context(), "", t, true, idempotency.Key{}))
	return t
}

func teamNames(t *testing.T, w *World) {
	day := w.team("Day", project.Taggie)
	night := w.team("Night", project.Reviewer)
	again := night
	again.ID = uuid.NewString()
	again.Name = "NIGHT"
	require.ErrorIs(t, w.Projects.PutTeam(t.Context(), "", again, true, idempotency.Key{}), project.NameTaken)
	day.Name = "night"
	require.ErrorIs(t, w.Projects.PutTeam(t.Context(), "", day, false, idempotency.Key{}), project.NameTaken)
	day.Name, day.Type = "DAY", project.Manager
	require.NoError(t, w.Projects.PutTeam(t.Context(), "", day, false, idempotency.Key{}))
	day.Type = project.Taggie // stays
	again.Name = "Evening"
	storetest.IsFault(t, w.Projects.PutTeam(t.Context(), "", again, false, idempotency.Key{}), fault.NotFound)

	lists, errs := w.Projects.ListTeams(t.Context(), []project.ID{w.Project.ID})
	require.Nil(t, errs)
	assert.Equal(t, []project.Team{w.Team, day, night}, lists[0])
	teams, errs := w.Projects.TeamsByID(t.Context(), []project.TeamID{day.TeamID, {Project: "other", ID: day.ID}, night.TeamID})
	assert.Equal(t, day, teams[0])
	storetest.IsFault(t, errs[1], fault.NotFound)
	assert.Equal(t, night, teams[2])
	for _, name := range storetest.Numbered("team", project.MaxTeams-3) {
		w.team(name, project.Taggie)
	}
	again.Name = "one too many"
	storetest.IsFault(t, w.Projects.PutTeam(t.Context(), "", again, true, idempotency.Key{}), fault.Exhausted)
}

func sameTeam(t *testing.T, w *World) {
	var added atomic.Int64
	storetest.Together(5, func(int) {
		team := project.Team{TeamID: project.TeamID{Project: w.Project.ID, ID: uuid.NewString()}, Name: "Day", Type: project.Taggie, CreatedAt: w.Clock.Now()}
		if err := w.Projects.PutTeam(t.Context(), "", team, true, idempotency.Key{}); err == nil {
			added.Add(1)
		} else {
			assert.ErrorIs(t, err, project.NameTaken)
		}
	})
	assert.EqualValues(t, 1, added.Load())
}

func (w *World) member(user project.UserID, of project.Team) project.Member {
	w.Clock.Advance(time.Second)
	return project.Member{Project: of.Project, User: user, Team: of.ID, Type: of.Type, AddedAt: w.Clock.Now()}
}

func (w *World) put(user project.UserID, of project.Team) error {
	return w.Projects.PutMember(w.T.Context(), "", w.member(user, of), idempotency.Key{})
}

func changedMembers(t *testing.T, w *World) {
	day, night := w.team("Day", project.Taggie), w.team("Night", project.Reviewer)
	grace := w.SignUp("grace")
	var unknown *project.UnknownUser
	require.ErrorAs(t, w.put("nobody", day), &unknown)
	gone := day
	gone.ID = "gone"
	storetest.IsFault(t, w.put(grace, gone), fault.NotFound)
	other := day
	other.Project = "nothing"
	storetest.IsFault(t, w.put(grace, other), fault.NotFound)
	require.NoError(t, w.put(grace, day))
	require.NoError(t, w.put(grace, day), "again")
	moved := w.member(grace, night)
	require.NoError(t, w.Projects.PutMember(t.Context(), "", moved, idempotency.Key{}))

	members, errs := w.Projects.MembersByID(t.Context(), w.Project.ID, []project.UserID{"nobody", grace, w.Ada})
	storetest.IsFault(t, errs[0], fault.NotFound)
	assert.Equal(t, []project.Member{moved, w.Project.Member}, members[1:])
	s, err := w.Projects.ListProjects(t.Context(), grace, page.Window{Limit: 5})
	require.NoError(t, err)
	require.Len(t, s.Items, 1)
	assert.Equal(t, moved, s.Items[0].Member)

	for range 2 {
		require.NoError(t, w.Projects.DeleteMember(t.Context(), "", w.Project.ID, grace, idempotency.Key{}))
	}
	s, err = w.Projects.ListProjects(t.Context(), grace, page.Window{Limit: 5})
	require.NoError(t, err)
	assert.Empty(t, s.Items)
	require.NoError(t, w.put(grace, w.Team), "and back as a manager")
	require.NoError(t, w.Projects.DeleteMember(t.Context(), "", w.Project.ID, w.Ada, idempotency.Key{}), "one of two managers")
	require.ErrorIs(t, w.put(grace, day), project.ErrLastManager)
}

func lastManager(t *testing.T, w *World) {
	day, bosses := w.team("Day", project.Taggie), w.team("Bosses", project.Manager)
	require.ErrorIs(t, w.Projects.DeleteMember(t.Context(), "", w.Project.ID, w.Ada, idempotency.Key{}), project.ErrLastManager)
	require.ErrorIs(t, w.put(w.Ada, day), project.ErrLastManager)
	require.NoError(t, w.put(w.Ada, bosses), "another team of managers")
	found, errs := w.Projects.MembersByID(t.Context(), w.Project.ID, []project.UserID{w.Ada})
	require.Nil(t, errs)
	assert.Equal(t, bosses.ID, found[0].Team)
	require.ErrorIs(t, w.Projects.DeleteMember(t.Context(), "", w.Project.ID, w.Ada, idempotency.Key{}), project.ErrLastManager)
}

func leavingTogether(t *testing.T, w *World) {
	day := w.team("Day", project.Taggie)
	managers := []project.UserID{w.Ada, w.SignUp("grace"), w.SignUp("edsger")}
	for _, m := range managers[1:] {
		require.NoError(t, w.put(m, w.Team))
	}
	var stayed atomic.Int64
	storetest.Together(3, func(i int) {
		var err error
		if i == 0 {
			err = w.put(managers[0], day)
		} else {
			err = w.Projects.DeleteMember(t.Context(), "", w.Project.ID, managers[i], idempotency.Key{})
		}
		if err != nil {
			assert.ErrorIs(t, err, project.ErrLastManager)
			stayed.Add(1)
		}
	})
	assert.EqualValues(t, 1, stayed.Load())
}

func listedMembers(t *testing.T, w *World) {
	day := w.team("Day", project.Taggie)
	storetest.Together(9, func(i int) { assert.NoError(t, w.put(w.SignUp(storetest.Numbered("member", 9)[i]), day)) })
	list := func(team string) func(page.Window) (page.Slice[project.Member], error) {
		return func(win page.Window) (page.Slice[project.Member], error) {
			return w.Projects.ListMembers(t.Context(), w.Project.ID, team, win)
		}
	}
	all := storetest.Pages(t, 4, list(""))
	assert.Len(t, all, 10)
	assert.IsIncreasing(t, all)
	assert.Len(t, storetest.Pages(t, 4, list(day.ID)), 9)
	assert.Equal(t, []string{string(w.Ada)}, storetest.Pages(t, 1, list(w.Team.ID)))
	assert.Empty(t, storetest.Pages(t, 1, list("nothing")))
}

// A team of more members than move in one step is deleted, and so is the team to which they move, before they have.
func deletedTeam(t *testing.T, w *World) {
	day, night, dawn := w.team("Day", project.Taggie), w.team("Night", project.Taggie), w.team("Dawn", project.Reviewer)
	var all []project.UserID
	for i := range project.MembersAtOnce + 5 {
		all = append(all, w.SignUp(fmt.Sprint("member", i)))
		require.NoError(t, w.put(all[i], day))
	}
	remove := func(of *project.Team, into string) (int, bool) {
		of.DeletedAt, of.Into = w.Clock.Now(), into
		follow := task.Task{Kind: project.RunTeam, ID: of.ID, Scope: string(of.Project), Due: of.DeletedAt}
		moved, more, err := w.Projects.DeleteTeam(t.Context(), "", *of, []task.Task{follow}, idempotency.Key{})
		require.NoError(t, err)
		due, err := w.Tasks.ListDueTasks(t.Context(), w.Clock.Now(), 5)
		require.NoError(t, err)
		assert.Equal(t, more, slices.Contains(due, follow))
		return len(moved), more
	}
	n, more := remove(&day, night.ID)
	assert.Equal(t, []any{project.MembersAtOnce, true}, []any{n, more})
	storetest.IsFault(t, w.put(w.SignUp("newcomer"), day), fault.NotFound) // some of the others are in it still
	n, more = remove(&night, dawn.ID)
	assert.Equal(t, []any{project.MembersAtOnce, false}, []any{n, more})
	rest, err := w.Projects.EmptyTeam(t.Context(), day)
	require.NoError(t, err)
	assert.Len(t, rest, 5)
	for _, m := range rest {
		assert.Equal(t, []any{dawn.ID, project.Reviewer}, []any{m.Team, m.Type})
	}
	rest, err = w.Projects.EmptyTeam(t.Context(), day)
	require.NoError(t, err)
	assert.Empty(t, rest)
	members, errs := w.Projects.MembersByID(t.Context(), w.Project.ID, all)
	require.Nil(t, errs)
	for _, m := range members {
		assert.Equal(t, dawn.ID, m.Team)
	}
	w.Team.DeletedAt, w.Team.Into = w.Clock.Now(), dawn.ID
	_, _, err = w.Projects.DeleteTeam(t.Context(), "", w.Team, nil, idempotency.Key{})
	require.ErrorIs(t, err, project.ErrLastManager)
}

func blockedUserAddsNobody(t *testing.T, w *World) {
	day, night := w.team("Day", project.Taggie), w.team("Night", project.Reviewer)
	grace, bob := w.SignUp("grace"), w.SignUp("bob")
	put := func(by project.UserID, of project.Team) error {
		return w.Projects.PutMember(t.Context(), by, w.member(grace, of), idempotency.Key{})
	}
	require.NoError(t, w.Users.BlockUser(t.Context(), grace, user.Block{User: w.Ada, At: w.Clock.Now()}, idempotency.Key{}))
	var unknown *project.UnknownUser
	require.ErrorAs(t, put(w.Ada, day), &unknown)
	_, errs := w.Projects.MembersByID(t.Context(), w.Project.ID, []project.UserID{grace})
	storetest.IsFault(t, errs[0], fault.NotFound)
	require.NoError(t, put(bob, day), "who is not blocked")
	require.NoError(t, put(w.Ada, night), "a member is moved by all managers")
	require.NoError(t, w.Projects.DeleteMember(t.Context(), "", w.Project.ID, grace, idempotency.Key{}))
	require.ErrorAs(t, put(w.Ada, day), &unknown)
	require.NoError(t, w.Users.UnblockUser(t.Context(), grace, w.Ada, idempotency.Key{}))
	require.NoError(t, put(w.Ada, day))
}
