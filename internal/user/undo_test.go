package user

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/task"
	"github.com/taggie/taggie/internal/viewer"
)

// one is a store of one user.
type one struct {
	Store
	Erasable
	user   User
	put    func()   // what happens with each change of the deletion; nil for nothing
	result []string // what the key of an earlier request recorded
}

func (o *one) FindIdempotencyKey(context.Context, idempotency.Key) error {
	if o.result == nil {
		return nil
	}
	return &idempotency.Replayed{Result: o.result}
}

func (o *one) UsersByID(_ context.Context, ids []ID) ([]User, []error) {
	if ids[0] != o.user.ID || o.user.Deletion.State != "" {
		return make([]User, 1), []error{fault.New(fault.NotFound, "there is no such user")}
	}
	return []User{o.user}, nil
}

func (o *one) DeletedByID(ctx context.Context, ids []ID) ([]DeletedUser, []error) {
	if err := ctx.Err(); err != nil {
		return make([]DeletedUser, 1), []error{err}
	}
	if ids[0] != o.user.ID || o.user.Deletion.State == "" {
		return make([]DeletedUser, 1), []error{noDeletedUser()}
	}
	return []DeletedUser{{o.user}}, nil
}

func (o *one) AccessByID(context.Context, []ID) ([]Access, []error) {
	return []Access{{Revoked: noon}}, nil
}

func (o *one) PutDeletion(ctx context.Context, before, after User, _ []task.Task, _ idempotency.Key) error {
	if before != o.user {
		return &VersionConflict{Current: o.user}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	o.user = after
	if o.put != nil {
		o.put()
	}
	return nil
}

// told keeps what was announced.
type told []time.Time

func (t *told) Announce(_ context.Context, _ string, at time.Time) error {
	*t = append(*t, at)
	return nil
}

// needs is what others need the user for, each time it is asked.
type needs [][]Left

func (n *needs) LastOf(ctx context.Context, _ ID, _ int) ([]Left, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	left := (*n)[0]
	*n = (*n)[1:]
	return left, nil
}

func asking(t *testing.T, v viewer.Viewer) context.Context {
	v.Identity.Issuer, v.Identity.Subject = "issuer", "ada"
	return viewer.With(t.Context(), v)
}

func TestUndoEndsAtItsInstant(t *testing.T) {
	until := noon.Add(domain.UndoDeletion)
	for now, back := range map[time.Time]bool{until.Add(-time.Millisecond): true, until: false} {
		o := &one{user: User{ID: "u1", Version: 2, Deletion: domain.Deletion{State: domain.Deleted, At: noon, UndoUntil: until}}}
		var announced told
		s := NewService(Options{Store: o, Announcer: &announced, Now: func() time.Time { return now }})
		u, err := s.UndoDelete(asking(t, viewer.Viewer{Deletion: viewer.Deletion{User: "u1"}}), ChangeDeletion{})
		if back {
			require.NoError(t, err)
			assert.Equal(t, ID("u1"), u.ID)
			assert.Equal(t, told{noon}, announced, "tokens from after the deletion still count")
			continue
		}
		require.ErrorIs(t, err, ErrErasing)
		assert.Equal(t, domain.Deleted, o.user.Deletion.State)
		assert.Empty(t, announced)
	}
}

func TestADeletedAdministratorHasNoPowerOverOthers(t *testing.T) {
	o := &one{user: User{ID: "u1", Version: 2, Deletion: domain.Deletion{State: domain.Deleted, At: noon, UndoUntil: noon.Add(time.Hour)}}}
	s := NewService(Options{Store: o, Now: func() time.Time { return noon }})
	for deleted, may := range map[viewer.UserID]bool{"": true, "u2": false, "u1": true} {
		ctx := asking(t, viewer.Viewer{Identity: viewer.Identity{Admin: true}, Deletion: viewer.Deletion{User: deleted}})
		_, err := s.PurgeDeleted(ctx, ChangeDeletion{User: "u1"})
		if may {
			require.NoError(t, err)
			continue
		}
		assert.True(t, fault.Is(err, fault.NotFound))
		_, err = s.UndoDelete(ctx, ChangeDeletion{User: "u1"})
		assert.True(t, fault.Is(err, fault.NotFound))
	}
}

// TestWhoIsNeededSinceIsBroughtBackAtOnce has another manager deleted at the same moment.
func TestWhoIsNeededSinceIsBroughtBackAtOnce(t *testing.T) {
	before := User{ID: "u1", Version: 1}
	for _, since := range [][]Left{nil, {{Project: true, ID: "p"}}} {
		o := &one{user: before}
		s := NewService(Options{Store: o, Managed: []Managed{&needs{nil, since}}, Now: func() time.Time { return noon }})
		d, err := s.Delete(asking(t, viewer.Viewer{UserID: "u1"}), Delete{})
		if since == nil {
			require.NoError(t, err)
			assert.Equal(t, domain.Deleted, d.State())
			continue
		}
		var needed *StillNeeded
		require.ErrorAs(t, err, &needed)
		assert.Equal(t, since, needed.Of)
		assert.Empty(t, o.user.Deletion)
	}
}

// TestWhoHangsUpIsBroughtBackAllTheSame has the client leave when the deletion has begun.
func TestWhoHangsUpIsBroughtBackAllTheSame(t *testing.T) {
	ctx, hangUp := context.WithCancel(asking(t, viewer.Viewer{UserID: "u1"}))
	o := &one{user: User{ID: "u1", Version: 1}, put: hangUp}
	s := NewService(Options{Store: o, Managed: []Managed{&needs{nil, {{ID: "s"}}}}, Now: func() time.Time { return noon }})
	_, err := s.Delete(ctx, Delete{})
	require.ErrorAs(t, err, new(*StillNeeded))
	require.Error(t, ctx.Err())
	assert.Empty(t, o.user.Deletion)
}

func TestARepeatedDeletionThatWasTakenBackSaysWhy(t *testing.T) {
	key, since := "k", []Left{{ID: "s"}}
	for _, left := range [][]Left{since, nil} { // nil where the user was brought back with undoDeleteUser
		o := &one{user: User{ID: "u1", Version: 3}, result: []string{"u1"}}
		s := NewService(Options{Store: o, Managed: []Managed{&needs{left}}, Now: func() time.Time { return noon }})
		d, err := s.Delete(asking(t, viewer.Viewer{UserID: "u1"}), Delete{IdempotencyKey: &key})
		assert.Empty(t, d)
		assert.Equal(t, User{ID: "u1", Version: 3}, o.user)
		if left == nil {
			require.NoError(t, err)
			continue
		}
		var needed *StillNeeded
		require.ErrorAs(t, err, &needed)
		assert.Equal(t, since, needed.Of)
	}
}
