package project_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/viewer"
)

const invited = project.ID("6f9619ff-8b86-4011-b42d-00c04fc964ff")

// inviting is a world with a project that can be invited to, and its service, whose time and secrets can be set.
type inviting struct {
	*world
	now     time.Time
	service *project.Service
	told    *observer
}

type observer struct {
	project.Observer
	moved []string
}

func (o *observer) Moved(_ context.Context, p project.ID, _ string, user project.UserID, team string) {
	o.moved = append(o.moved, string(p)+" "+string(user)+" "+team)
}

func (o *observer) Left(context.Context, project.ID, project.UserID) {}

func openInviting(t *testing.T) *inviting {
	w := &inviting{world: newWorld(t), now: morning, told: &observer{}}
	w.create(project.Project{ID: invited, Name: "owls", Version: 1}, "man", "managers", nil)
	w.join("tag", project.Team{TeamID: project.TeamID{Project: invited, ID: "taggers"}, Name: "Taggers", Type: project.Taggie, CreatedAt: early})
	w.join("rev", project.Team{TeamID: project.TeamID{Project: invited, ID: "reviewers"}, Name: "Reviewers", Type: project.Reviewer, CreatedAt: early})
	w.with("a secret")
	return w
}

// with gives the service secrets.
func (w *inviting) with(secrets ...string) {
	w.service = w.having(func(o *project.Options) {
		o.Now, o.NewID, o.Observer, o.Secrets = func() time.Time { return w.now }, uuid.NewString, w.told, nil
		for _, s := range secrets {
			o.Secrets = append(o.Secrets, []byte(s))
		}
	})
}

func (w *inviting) invite(uses int) project.Invitation {
	w.t.Helper()
	return one[project.Invitation](w.t)(w.service.CreateInvitation(as(w.t, "man"), project.CreateInvitation{Team: project.TeamID{Project: invited, ID: "taggers"}, Uses: uses, Days: 7}))
}

func (w *inviting) accept(who project.UserID, token string) (project.Member, error) {
	return w.service.AcceptInvitation(as(w.t, who), project.AcceptInvitation{Token: token})
}

// signedIn is somebody who is no user yet.
func signedIn(t *testing.T) context.Context {
	return viewer.With(t.Context(), viewer.Viewer{Identity: viewer.Identity{Subject: "somebody"}})
}

// isInvalid is that nobody joins by a token, and nobody is told why.
func (w *inviting) isInvalid(token, why string) {
	w.t.Helper()
	_, err := w.accept("new", token)
	require.ErrorIs(w.t, err, project.ErrInvitationInvalid, why)
	_, err = w.service.PreviewInvitation(signedIn(w.t), token)
	storetest.IsFault(w.t, err, fault.NotFound)
}

func TestWhoIsInvitedJoins(t *testing.T) {
	t.Parallel()
	w := openInviting(t)
	i := w.invite(2)
	require.NotNil(t, i.Token())
	preview, err := w.service.PreviewInvitation(signedIn(t), *i.Token())
	require.NoError(t, err)
	assert.Equal(t, project.InvitationPreview{ProjectName: "owls", TeamName: "Taggers", TeamType: project.Taggie, InvitedBy: "man", ExpiresAt: morning.AddDate(0, 0, 7)}, preview)
	_, err = w.service.PreviewInvitation(t.Context(), *i.Token())
	storetest.IsFault(t, err, fault.Unauthenticated)

	for range 2 {
		m, err := w.accept("new", *i.Token())
		require.NoError(t, err)
		assert.Equal(t, []any{project.UserID("new"), "taggers", project.Taggie, morning}, []any{m.User, m.Team, m.Type, m.AddedAt})
	}
	m, err := w.accept("rev", *i.Token())
	require.NoError(t, err)
	assert.Equal(t, "reviewers", m.Team, "a member stays in the team")
	assert.Equal(t, []string{string(invited) + " new taggers"}, w.told.moved)

	shown := one[[]project.Invitation](t)(domain.First(w.service.ListInvitations(as(t, "man"), []project.Ref[project.ID]{{ID: invited}})))
	require.Len(t, shown, 1)
	assert.Equal(t, []any{1, *i.Token()}, []any{shown[0].Used, *shown[0].Token()})
	_, err = w.service.AcceptInvitation(t.Context(), project.AcceptInvitation{Token: *i.Token()})
	storetest.IsFault(t, err, fault.Unauthenticated)
}

func TestOnlyManagersInvite(t *testing.T) {
	t.Parallel()
	w := openInviting(t)
	i := w.invite(1)
	for who, kind := range map[project.UserID]fault.Kind{"tag": fault.Forbidden, "rev": fault.Forbidden, "other": fault.NotFound, "": fault.Unauthenticated} {
		_, err := w.service.CreateInvitation(as(t, who), project.CreateInvitation{Team: i.TeamRef().ID, Uses: 1, Days: 1})
		storetest.IsFault(t, err, kind)
		_, err = w.service.RevokeInvitation(as(t, who), project.RevokeInvitation{Invitation: i.InvitationID})
		storetest.IsFault(t, err, kind)
		if who == "" {
			kind = fault.NotFound // there is nothing to be shown to
		}
		_, errs := w.service.ListInvitations(as(t, who), []project.Ref[project.ID]{{ID: invited}})
		storetest.IsFault(t, errs[0], kind)
		_, errs = w.service.InvitationsByID(as(t, who), []project.InvitationID{i.InvitationID})
		storetest.IsFault(t, errs[0], kind)
	}
}

func TestInvitationsThatCannotBe(t *testing.T) {
	t.Parallel()
	w := openInviting(t)
	for _, c := range []struct {
		team       string
		uses, days int
		kind       fault.Kind
		field      string
	}{
		{"taggers", 0, 7, fault.Invalid, "input.uses"},
		{"taggers", project.MaxInvitationUses + 1, 7, fault.Invalid, "input.uses"},
		{"taggers", 1, 0, fault.Invalid, "input.expiresInDays"},
		{"taggers", 1, project.MaxInvitationDays + 1, fault.Invalid, "input.expiresInDays"},
		{"managers", 1, 7, fault.Invalid, "input.teamId"},
		{"none", 1, 7, fault.NotFound, ""},
	} {
		_, err := w.service.CreateInvitation(as(t, "man"), project.CreateInvitation{Team: project.TeamID{Project: invited, ID: c.team}, Uses: c.uses, Days: c.days})
		f, ok := errors.AsType[*fault.Error](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, []any{c.kind, c.field}, []any{f.Kind, f.Field})
	}
}

func TestTokensThatAreNoGood(t *testing.T) {
	t.Parallel()
	w := openInviting(t)
	expired, revoked, usedUp, good := w.invite(1), w.invite(1), w.invite(1), w.invite(1)
	for range 2 {
		after, err := w.service.RevokeInvitation(as(t, "man"), project.RevokeInvitation{Invitation: revoked.InvitationID})
		require.NoError(t, err)
		assert.False(t, after.RevokedAt.IsZero())
	}
	w.isInvalid(*revoked.Token(), "revoked")
	_, err := w.accept("old", *usedUp.Token())
	require.NoError(t, err)
	w.isInvalid(*usedUp.Token(), "used up")

	text := *good.Token()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	require.NoError(t, err)
	for n := range raw {
		changed := append([]byte{}, raw...)
		changed[n] ^= 1
		w.isInvalid(base64.RawURLEncoding.EncodeToString(changed), "byte "+strconv.Itoa(n))
	}
	for _, text := range []string{"", "x", text + "A", text[1:], text + "=", text[:9] + "\n" + text[9:], strings.Repeat("A", 75), strings.Repeat("_", 75)} {
		w.isInvalid(text, strconv.Quote(text))
	}
	w.now = w.now.AddDate(0, 0, 7)
	w.isInvalid(*expired.Token(), "expired")

	w.now = morning
	_, err = w.service.DeleteTeam(as(t, "man"), project.DeleteTeam{Team: good.TeamRef().ID})
	require.NoError(t, err)
	w.isInvalid(text, "the team is deleted")
	other := one[project.Invitation](t)(w.service.CreateInvitation(as(t, "man"), project.CreateInvitation{Team: project.TeamID{Project: invited, ID: "reviewers"}, Uses: 1, Days: 1}))
	_, err = w.service.Delete(as(t, "man"), project.Delete{ID: invited})
	require.NoError(t, err)
	w.isInvalid(*other.Token(), "the project is deleted")
}

func TestTokensAfterTheSecretMoved(t *testing.T) {
	t.Parallel()
	w := openInviting(t)
	i := w.invite(3)
	text := *i.Token()
	shown := func() *string {
		return one[project.Invitation](t)(domain.First(w.service.InvitationsByID(as(t, "man"), []project.InvitationID{i.InvitationID}))).Token()
	}
	w.with("another secret", "a secret")
	assert.Equal(t, &text, shown())
	w.with("another secret")
	assert.Nil(t, shown(), "it cannot be computed any more")
	_, err := w.accept("new", text)
	require.NoError(t, err, "it counts still")
	w.with()
	_, err = w.service.CreateInvitation(as(t, "man"), project.CreateInvitation{Team: i.TeamRef().ID, Uses: 1, Days: 1})
	require.Error(t, err, "there is no secret to make a token with")
}

func TestARepeatedRequestGetsTheSameToken(t *testing.T) {
	t.Parallel()
	w := openInviting(t)
	in := project.CreateInvitation{Team: project.TeamID{Project: invited, ID: "taggers"}, Uses: 1, Days: 1, IdempotencyKey: ptr("key")}
	first := one[project.Invitation](t)(w.service.CreateInvitation(as(t, "man"), in))
	again := one[project.Invitation](t)(w.service.CreateInvitation(as(t, "man"), in))
	assert.Equal(t, first, again)

	accept := project.AcceptInvitation{Token: *first.Token(), IdempotencyKey: ptr("key")}
	joined := one[project.Member](t)(w.service.AcceptInvitation(as(t, "new"), accept))
	repeated := one[project.Member](t)(w.service.AcceptInvitation(as(t, "new"), accept))
	assert.Equal(t, joined, repeated, "it is used up, and the answer is the same")
}

func TestOpenInvitationsHaveABound(t *testing.T) {
	t.Parallel()
	w := openInviting(t)
	first := w.invite(1)
	w.now = w.now.AddDate(0, 0, 1)
	for range project.MaxInvitations - 1 {
		w.now = w.now.Add(time.Millisecond)
		w.invite(1)
	}
	_, err := w.service.CreateInvitation(as(t, "man"), project.CreateInvitation{Team: first.TeamRef().ID, Uses: 1, Days: 7})
	storetest.IsFault(t, err, fault.Exhausted)
	w.now = morning.AddDate(0, 0, 7)
	w.invite(1)
	all := one[[]project.Invitation](t)(domain.First(w.service.ListInvitations(as(t, "man"), []project.Ref[project.ID]{{ID: invited}})))
	assert.Len(t, all, project.MaxInvitations)
	_, errs := w.service.InvitationsByID(as(t, "man"), []project.InvitationID{first.InvitationID})
	storetest.IsFault(t, errs[0], fault.NotFound)
}
