package projecttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
)

// invites stores an invitation to a team for an hour.
func (w *World) invites(t project.Team, uses int) project.Invitation {
	w.T.Helper()
	now := w.Clock.Now()
	i := project.Invitation{
		InvitationID: project.InvitationID{Project: t.Project, Created: now.UnixMilli(), ID: uuid.NewString()}, Team: t.ID, Type: t.Type, Hash: "hash",
		CreatedBy: w.Ada, ExpiresAt: now.Add(time.Hour), Uses: uses,
	}
	require.NoError(w.T, w.Projects.CreateInvitation(w.T.Context(), w.Project.Member, i, nil, idempotency.Key{}))
	return i
}

// accepts has a user join by an invitation.
func (w *World) accepts(i project.Invitation, user project.UserID) (project.Member, bool, error) {
	m := project.Member{Project: i.Project, User: user, Team: i.Team, Type: i.Type, AddedAt: w.Clock.Now()}
	return w.Projects.AcceptInvitation(w.T.Context(), i.InvitationID, m, idempotency.Key{})
}

// invitation reads an invitation again.
func (w *World) invitation(i project.Invitation) project.Invitation {
	w.T.Helper()
	found, errs := w.Projects.InvitationsByID(w.T.Context(), []project.InvitationID{i.InvitationID})
	for _, err := range errs {
		require.NoError(w.T, err)
	}
	return found[0]
}

// invitations lists those of the project.
func (w *World) invitations() []project.Invitation {
	w.T.Helper()
	found, errs := w.Projects.ListInvitations(w.T.Context(), []project.ID{w.Project.ID, "nothing"})
	for _, err := range errs {
		require.NoError(w.T, err)
	}
	assert.Empty(w.T, found[1])
	return found[0]
}

func keptInvitations(t *testing.T, w *World) {
	assert.Empty(t, w.invitations())
	day := w.team("Day", project.Taggie)
	older := w.invites(day, 1)
	w.Clock.Advance(time.Second)
	newer := w.invites(w.team("Reviewers", project.Reviewer), 2)
	assert.Equal(t, []project.Invitation{newer, older}, w.invitations())
	assert.Equal(t, older, w.invitation(older))

	_, errs := w.Projects.InvitationsByID(t.Context(), []project.InvitationID{{Project: w.Project.ID, Created: older.Created, ID: newer.ID}})
	storetest.IsFault(t, errs[0], fault.NotFound)

	w.Clock.Advance(time.Second)
	newest := newer
	newest.Created, newest.ID = w.Clock.Now().UnixMilli(), uuid.NewString()
	moved := w.Project.Member
	moved.Team = "other"
	var conflict *project.InvitationConflict
	require.ErrorAs(t, w.Projects.CreateInvitation(t.Context(), moved, newest, []project.Invitation{older}, idempotency.Key{}), &conflict)
	require.NoError(t, w.Projects.CreateInvitation(t.Context(), w.Project.Member, newest, []project.Invitation{older}, idempotency.Key{}))
	assert.Equal(t, []project.Invitation{newest, newer}, w.invitations(), "the newest takes the place of the oldest")
}

func acceptedInvitation(t *testing.T, w *World) {
	day := w.team("Day", project.Taggie)
	i := w.invites(day, 2)
	grace := w.SignUp("grace")
	want := project.Member{Project: w.Project.ID, User: grace, Team: day.ID, Type: day.Type, AddedAt: w.Clock.Now()}
	for n := range 2 {
		m, joined, err := w.accepts(i, grace)
		require.NoError(t, err)
		w.Clock.Advance(time.Second)
		assert.Equal(t, []any{want, n == 0}, []any{m, joined}, "the second time nothing happens")
	}
	m, joined, err := w.accepts(i, w.Ada)
	require.NoError(t, err)
	assert.Equal(t, []any{w.Project.Member, false}, []any{m, joined}, "who is a member of another team stays in it")
	assert.Equal(t, 1, w.invitation(i).Used)
	member, _ := w.seen(grace)
	assert.True(t, member)

	require.NoError(t, w.Projects.DeleteMember(t.Context(), "", w.Project.ID, grace, idempotency.Key{}))
	_, _, err = w.accepts(i, grace)
	require.ErrorIs(t, err, project.ErrInvitationInvalid, "who was removed does not join again by the same link")
	assert.Equal(t, 1, w.invitation(i).Used)

	_, _, err = w.accepts(i, project.UserID(uuid.NewString()))
	var unknown *project.UnknownUser
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, 1, w.invitation(i).Used)

	_, joined, err = w.accepts(i, w.SignUp("joan"))
	require.NoError(t, err)
	assert.True(t, joined)
	late := w.SignUp("late")
	_, _, err = w.accepts(i, late)
	require.ErrorIs(t, err, project.ErrInvitationInvalid, "it is used up")
	assert.Equal(t, 2, w.invitation(i).Used)
	member, _ = w.seen(late)
	assert.False(t, member)
}

func invitationThatIsOver(t *testing.T, w *World) {
	day, night := w.team("Day", project.Taggie), w.team("Night", project.Taggie)
	grace := w.SignUp("grace")
	expired, revoked, teamless := w.invites(day, 1), w.invites(day, 1), w.invites(night, 1)
	at := w.Clock.Now()
	for range 2 {
		after, err := w.Projects.RevokeInvitation(t.Context(), "", revoked.InvitationID, w.Clock.Now(), idempotency.Key{})
		require.NoError(t, err)
		revoked.RevokedAt = at
		assert.Equal(t, revoked, after)
		assert.Equal(t, revoked, w.invitation(revoked))
		w.Clock.Advance(time.Second)
	}
	_, err := w.Projects.RevokeInvitation(t.Context(), "", project.InvitationID{Project: w.Project.ID, ID: "none"}, at, idempotency.Key{})
	storetest.IsFault(t, err, fault.NotFound)
	night.DeletedAt = w.Clock.Now()
	_, _, err = w.Projects.DeleteTeam(t.Context(), "", night, nil, idempotency.Key{})
	require.NoError(t, err)
	unknown := expired
	unknown.ID = uuid.NewString()
	for what, i := range map[string]project.Invitation{"revoked": revoked, "the team is deleted": teamless, "unknown": unknown} {
		_, _, err = w.accepts(i, grace)
		require.ErrorIs(t, err, project.ErrInvitationInvalid, what)
	}
	w.Clock.Advance(expired.ExpiresAt.Sub(w.Clock.Now()))
	_, _, err = w.accepts(expired, grace)
	require.ErrorIs(t, err, project.ErrInvitationInvalid, "expired")
	member, _ := w.seen(grace)
	assert.False(t, member)
	for _, i := range w.invitations() {
		assert.Zero(t, i.Used)
	}
}

func invitationOfADeletedProject(t *testing.T, w *World) {
	i := w.invites(w.team("Day", project.Taggie), 1)
	grace := w.SignUp("grace")
	deleting := w.enters(w.Project, project.Deleting)
	_, _, err := w.accepts(i, grace)
	require.ErrorIs(t, err, project.ErrInvitationInvalid)
	late := i
	late.ID = uuid.NewString()
	var conflict *project.InvitationConflict
	require.ErrorAs(t, w.Projects.CreateInvitation(t.Context(), w.Project.Member, late, nil, idempotency.Key{}), &conflict)
	w.moves(deleting)
	back := w.enters(deleting, project.Reinstating)
	w.moves(back)
	w.enters(back, "")
	_, joined, err := w.accepts(i, grace)
	require.NoError(t, err)
	assert.True(t, joined, "it counts again")
}

// Of those who accept the last use at the same time, one gets in.
func acceptedTogether(t *testing.T, w *World) {
	i := w.invites(w.team("Day", project.Taggie), 1)
	users := make([]project.UserID, 4)
	for n := range users {
		users[n] = w.SignUp(storetest.Numbered("user", 4)[n])
	}
	joined, errs := make([]bool, len(users)), make([]error, len(users))
	storetest.Together(len(users), func(n int) { _, joined[n], errs[n] = w.accepts(i, users[n]) })
	in := 0
	for n, user := range users {
		member, _ := w.seen(user)
		assert.Equal(t, joined[n], member)
		if member {
			in++
			assert.NoError(t, errs[n])
			continue
		}
		require.ErrorIs(t, errs[n], project.ErrInvitationInvalid)
	}
	assert.Equal(t, []int{1, 1}, []int{in, w.invitation(i).Used})
}

// Who accepts twice at the same time is counted once.
func acceptedTwice(t *testing.T, w *World) {
	i := w.invites(w.team("Day", project.Taggie), 5)
	grace := w.SignUp("grace")
	joined, errs := make([]bool, 4), make([]error, 4)
	storetest.Together(len(errs), func(n int) { _, joined[n], errs[n] = w.accepts(i, grace) })
	in := 0
	for n, err := range errs {
		assert.NoError(t, err)
		if joined[n] {
			in++
		}
	}
	assert.Equal(t, []int{1, 1}, []int{in, w.invitation(i).Used})
}
