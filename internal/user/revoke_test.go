package user

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/viewer"
)

// door is a store of one subject, Ada's.
type door struct {
	Store
	revoked  time.Time
	deletion domain.Deletion
	recent   []Revocation
	down     error // of each read
	reads    int
	between  func() // the reads of a sign-in and what becomes of them
	// replayed is what createUser finds of its key.
	replayed error
}

func (d *door) UserIDBySubject(_ context.Context, _, subject string) (ID, error) {
	if subject != "ada" {
		return "", fault.New(fault.NotFound, "there is no such user")
	}
	return "u1", nil
}

func (d *door) AccessByID(context.Context, []ID) ([]Access, []error) {
	if d.down != nil {
		return []Access{{}}, []error{d.down}
	}
	d.reads++
	at := d.revoked
	if d.between != nil {
		d.between()
	}
	return []Access{{Revoked: at, Deletion: d.deletion}}, nil
}

func (d *door) Revocations(context.Context, time.Time, time.Time) ([]Revocation, error) {
	return d.recent, d.down
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
	return d, NewService(Options{Store: d, Probes: unbounded{}, Announcer: a, Now: func() time.Time { return noon }, NewID: func() string { return "u1" }}), a
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

// TestARevocationThatNobodyCanTellIsDone has the others look.
func TestARevocationThatNobodyCanTellIsDone(t *testing.T) {
	d, s, told := newDoor()
	told.err = errors.New("redis is away")
	at, err := s.Revoke(as(t.Context(), true), Revoke{User: "u1"})
	require.NoError(t, err)
	assert.Equal(t, noon, at)
	assert.Equal(t, noon, d.revoked)
	assert.Len(t, told.told, 1)
}

func TestWhatIsKnownOfRevocationsIsNotTrustedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s, _ := newDoor()
		start := time.Now()
		for range 2 {
			v, err := s.SignIn(t.Context(), ada(noon))
			require.NoError(t, err)
			assert.Equal(t, start, v.Looked)
			time.Sleep(Trusted)
		}
		assert.Equal(t, 1, d.reads)
		d.revoked = noon // by another server, and nobody tells
		_, err := s.SignIn(t.Context(), ada(noon))
		assert.True(t, fault.Is(err, fault.Unauthenticated))
		d.down = fault.New(fault.Unavailable, "the store is away")
		_, err = s.SignIn(t.Context(), ada(noon))
		assert.True(t, fault.Is(err, fault.Unauthenticated), "it is known")
		time.Sleep(Trusted + 1)
		_, err = s.SignIn(t.Context(), ada(noon))
		assert.True(t, fault.Is(err, fault.Unavailable), "nobody can tell any more")
	})
}

// TestReadingIsOldFromItsBeginning has a read that takes long.
func TestReadingIsOldFromItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s, _ := newDoor()
		start := time.Now()
		d.between = func() { time.Sleep(15 * time.Second) }
		for range 2 {
			v, err := s.SignIn(t.Context(), ada(noon))
			require.NoError(t, err)
			assert.Equal(t, start, v.Looked)
		}
		time.Sleep(6 * time.Second)
		v, err := s.SignIn(t.Context(), ada(noon))
		require.NoError(t, err)
		assert.Equal(t, start.Add(21*time.Second), v.Looked)
	})
}

func TestNewsOfRevocationsSaveReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s, _ := newDoor()
		var fresh []Revocation
		var alls []bool
		var failing error
		look := func() error {
			return s.News(t.Context(), func(some []Revocation, all bool) error {
				fresh, alls = append(fresh, some...), append(alls, all)
				return failing
			})
		}
		failing = errors.New("a socket cannot be looked at")
		require.ErrorIs(t, look(), failing)
		failing = nil
		require.NoError(t, look())
		_, err := s.SignIn(t.Context(), ada(noon))
		require.NoError(t, err)
		for range 100 {
			time.Sleep(LookEvery)
			require.NoError(t, look())
			v, err := s.SignIn(t.Context(), ada(noon))
			require.NoError(t, err)
			assert.Equal(t, time.Now(), v.Looked)
		}
		assert.Equal(t, 1, d.reads, "nobody was revoked")
		assert.Equal(t, []bool{true, true, false}, alls[:3], "at first, and until that is heeded, everybody may have been")
		assert.NotContains(t, alls[2:], true)

		d.revoked, d.recent = noon, []Revocation{{User: "u1", At: noon}}
		require.NoError(t, look())
		_, err = s.SignIn(t.Context(), ada(noon))
		assert.True(t, fault.Is(err, fault.Unauthenticated))
		require.NoError(t, look())
		assert.Equal(t, d.recent, fresh, "once")

		d.down = fault.New(fault.Unavailable, "the store is away")
		require.Error(t, look())
		time.Sleep(away + time.Second)
		d.down = nil
		require.NoError(t, look())
		assert.True(t, alls[len(alls)-1], "it was away for long")
	})
}

// often is a limiter of somebody who has asked too often.
type often struct{}

func (often) Allow(context.Context, string) (bool, error) { return false, nil }

func TestWhoTriesTooManyAddressesIsToldWhenToGoOn(t *testing.T) {
	s := NewService(Options{Probes: often{}, Now: func() time.Time { return noon }})
	_, err := s.Lookup(viewer.With(t.Context(), viewer.Viewer{UserID: "u1"}), "ada@example.com")
	refused, ok := errors.AsType[*fault.Error](err)
	require.True(t, ok)
	assert.Equal(t, []any{fault.Exhausted, TryEvery}, []any{refused.Kind, refused.RetryAfter})
}
