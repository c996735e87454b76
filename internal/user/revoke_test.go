package user

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/viewer"
)

// door is a store of one subject, Ada's.
type door struct {
	Store
	revoked time.Time
	reads   int
	between func() // the reads of a sign-in and what becomes of them
	// replayed is what createUser finds of its key.
	replayed error
}

func (d *door) UserIDBySubject(_ context.Context, _, subject string) (ID, error) {
	if subject != "ada" {
		return "", fault.New(fault.NotFound, "there is no such user")
	}
	return "u1", nil
}

func (d *door) RevokedByID(context.Context, []ID) ([]time.Time, []error) {
	d.reads++
	at := d.revoked
	if d.between != nil {
		d.between()
	}
	return []time.Time{at}, nil
}

func (d *door) RevokeUser(_ context.Context, _ ID, at time.Time, _ idempotency.Key) error {
	d.revoked = at
	return nil
}

func (d *door) FindIdempotencyKey(context.Context, idempotency.Key) error { return d.replayed }

func (d *door) CreateUser(context.Context, User, string, string, idempotency.Key) error { return nil }

func (d *door) UsersByID(context.Context, []ID) ([]User, []error) { return []User{{ID: "u1"}}, nil }

// unbounded is a limiter that allows everything.
type unbounded struct{}

func (unbounded) Allow(context.Context, string) (bool, error) { return true, nil }

// announced is what was announced, or why it cannot be.
type announced struct {
	told []string
	err  error
}

func (a *announced) Announce(_ context.Context, id string, at time.Time) error {
	a.told = append(a.told, id+" "+at.Format(time.RFC3339))
	return a.err
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newDoor() (*door, *Service, *announced) {
	d, a := &door{}, &announced{}
	return d, NewService(d, unbounded{}, func() time.Time { return noon }, func() string { return "u1" }).Telling(a), a
}

// ada is Ada with a token of that moment.
func ada(issued time.Time) viewer.Identity {
	return viewer.Identity{Issuer: "test", Subject: "ada", IssuedAt: issued}
}

func as(ctx context.Context, admin bool) context.Context {
	return viewer.With(ctx, viewer.Viewer{Identity: viewer.Identity{Issuer: "test", Subject: "root", Admin: admin}})
}

func TestRevokedTokensCountNoMore(t *testing.T) {
	d, s, told := newDoor()
	for range 2 {
		v, err := s.SignIn(t.Context(), ada(noon))
		require.NoError(t, err)
		assert.EqualValues(t, "u1", v.UserID)
	}
	assert.Equal(t, 1, d.reads, "the second time it is known")
	at, err := s.Revoke(as(t.Context(), true), Revoke{User: "u1"})
	require.NoError(t, err)
	assert.Equal(t, noon, at)
	assert.Equal(t, []string{"u1 2026-11-22T12:00:00Z"}, told.told)
	for reason, issued := range map[string]time.Time{"before": noon.Add(-time.Second), "at that second": noon, "nobody knows when": {}} {
		_, err = s.SignIn(t.Context(), ada(issued))
		assert.True(t, fault.Is(err, fault.Unauthenticated), reason)
	}
	v, err := s.SignIn(t.Context(), ada(noon.Add(time.Second)))
	require.NoError(t, err)
	assert.EqualValues(t, "u1", v.UserID)
	assert.Equal(t, 2, d.reads)
}

// TestARevokedUserDoesNotComeBackByARepeatedSignUp repeats createUser on a connection that was opened before the first one: a
// revocation of the user did not find it.
func TestARevokedUserDoesNotComeBackByARepeatedSignUp(t *testing.T) {
	d, s, _ := newDoor()
	signUp := func(issued time.Time) (viewer.UserID, error) {
		ctx := viewer.With(t.Context(), viewer.Viewer{Identity: viewer.Identity{Issuer: "test", Subject: "ada", IssuedAt: issued, Local: true}})
		_, err := s.Create(ctx, Create{Name: "Ada", Email: "ada@example.com", IdempotencyKey: new("once")})
		return viewer.From(ctx).UserID, err
	}
	id, err := signUp(noon)
	require.NoError(t, err)
	assert.EqualValues(t, "u1", id)
	d.replayed = &idempotency.Replayed{Result: []string{"u1"}}
	id, err = signUp(noon)
	require.NoError(t, err)
	assert.EqualValues(t, "u1", id, "a sign-up whose answer was lost")

	_, err = s.Revoke(as(t.Context(), true), Revoke{User: "u1"})
	require.NoError(t, err)
	id, err = signUp(noon)
	assert.True(t, fault.Is(err, fault.Unauthenticated))
	assert.Empty(t, id)
	id, err = signUp(noon.Add(time.Second))
	require.NoError(t, err)
	assert.EqualValues(t, "u1", id, "a token from later")
}

func TestOnlyAdministratorsRevoke(t *testing.T) {
	d, s, told := newDoor()
	_, err := s.Revoke(as(t.Context(), false), Revoke{User: "u1"})
	assert.True(t, fault.Is(err, fault.Forbidden))
	assert.Zero(t, d.revoked)
	assert.Empty(t, told.told)
}

// TestARevocationThatIsNotToldIsUnavailable is done all the same.
func TestARevocationThatIsNotToldIsUnavailable(t *testing.T) {
	d, s, told := newDoor()
	told.err = errors.New("redis is away")
	_, err := s.Revoke(as(t.Context(), true), Revoke{User: "u1"})
	assert.True(t, fault.Is(err, fault.Unavailable))
	assert.Equal(t, noon, d.revoked)
}

func TestOthersAreForgottenByOthers(t *testing.T) {
	for reason, forget := range map[string]func(*Service){"this one": func(s *Service) { s.Forget("u1") }, "all": (*Service).ForgetAll} {
		d, s, _ := newDoor()
		_, err := s.SignIn(t.Context(), ada(noon))
		require.NoError(t, err)
		d.revoked = noon // by another server
		s.Forget("u2")
		_, err = s.SignIn(t.Context(), ada(noon))
		require.NoError(t, err, "this server was not told")
		forget(s)
		_, err = s.SignIn(t.Context(), ada(noon))
		assert.True(t, fault.Is(err, fault.Unauthenticated), reason)
	}
}

// TestWhatIsForgottenWhileItIsReadIsNotKept revokes between the read and the end of a sign-in.
func TestWhatIsForgottenWhileItIsReadIsNotKept(t *testing.T) {
	d, s, _ := newDoor()
	d.between = func() {
		d.revoked = noon
		s.Forget("u1")
	}
	_, err := s.SignIn(t.Context(), ada(noon))
	require.NoError(t, err, "as if it had been a moment earlier")
	_, err = s.SignIn(t.Context(), ada(noon))
	assert.True(t, fault.Is(err, fault.Unauthenticated))
}
