package user

import (
	"context"
	"errors"
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

func TestWhoIsDeletedIsNoUserAndNotRemembered(t *testing.T) {
	d, s, _ := newDoor()
	d.deletion, d.revoked = domain.Deletion{State: domain.Deleted, UndoUntil: noon.Add(time.Hour)}, noon.Add(-time.Hour)
	for range 2 {
		v, err := s.SignIn(t.Context(), ada(noon))
		require.NoError(t, err)
		assert.Equal(t, []any{viewer.UserID(""), viewer.Deletion{User: "u1", UndoUntil: noon.Add(time.Hour)}}, []any{v.UserID, v.Deletion})
	}
	assert.Equal(t, 2, d.reads, "another user may sign up with the identity when this one is erased")
	_, err := s.SignIn(t.Context(), ada(noon.Add(-2*time.Hour)))
	assert.True(t, fault.Is(err, fault.Unauthenticated), "a token of before the deletion")
	d.deletion.UndoUntil = noon
	v, err := s.SignIn(t.Context(), ada(noon))
	require.NoError(t, err)
	assert.True(t, v.Deletion.Erasing)
}

// ward is a store of one user who is being deleted, and of how far that is.
type ward struct {
	user    User
	at      Progress
	killed  int // how many writes there are until the server is lost; below zero for never
	erased  bool
	written []Progress
}

var errKilled = errors.New("the server was lost")

func (w *ward) write() error {
	if w.killed == 0 {
		return errKilled
	}
	w.killed--
	return nil
}

func (w *ward) DeletedByID(context.Context, []ID) ([]DeletedUser, []error) {
	if w.erased || w.user.Deletion.State == "" {
		return make([]DeletedUser, 1), []error{noDeletedUser()}
	}
	return []DeletedUser{{w.user}}, nil
}

func (w *ward) PutDeletion(_ context.Context, before, after User, _ []task.Task, _ idempotency.Key) error {
	if before != w.user {
		return &VersionConflict{Current: w.user}
	}
	err := w.write()
	if err == nil {
		w.user = after
	}
	return err
}

func (w *ward) FindProgress(context.Context, ID) (Progress, error) { return w.at, nil }

func (w *ward) PutProgress(_ context.Context, _ ID, p Progress) error {
	err := w.write()
	if err == nil {
		w.at, w.written = p, append(w.written, p)
	}
	return err
}

func (w *ward) EraseUser(context.Context, User) error {
	err := w.write()
	w.erased = w.erased || err == nil
	return err
}

func nobodyNeeds(context.Context, DeletedUser) error { return nil }

// steps are phases of which each removes the things of its own, one with each call, and is killed like a write.
func (w *ward) steps(left map[string]int, waits *bool, now func() time.Time) (phases []Phase) {
	for _, name := range []string{"first", "second", "third"} {
		phases = append(phases, Phase{Name: name, Erase: func(_ context.Context, _ ID, position string) (string, error) {
			if err := w.write(); err != nil {
				return "", err
			}
			if left[name] > 0 {
				left[name]--
			}
			if left[name] > 0 {
				return position + "x", nil
			}
			if name == "second" && *waits {
				*waits = false
				return position, &Later{At: now().Add(time.Second)}
			}
			return "", nil
		}})
	}
	return phases
}

// TestAnErasureGoesOnWhereverItsServerIsLost loses the server at each write, and has another one go on.
func TestAnErasureGoesOnWhereverItsServerIsLost(t *testing.T) {
	for lost := range 20 {
		now, waits := noon, true
		clock := func() time.Time { return now }
		w := &ward{user: User{ID: "u1", Version: 2, UpdatedAt: noon, Deletion: domain.Deletion{State: domain.Deleted, At: noon, UndoUntil: noon.Add(domain.UndoDeletion)}}, killed: lost}
		left := map[string]int{"first": 2, "second": 1, "third": 3}
		e := Eraser{Store: w, LookAgain: nobodyNeeds, Phases: w.steps(left, &waits, clock), Now: clock}
		one := DeletedUser{w.user}.Erasure()
		again, err := e.Run(t.Context(), one)
		require.NoError(t, err)
		assert.Equal(t, w.user.Deletion.UndoUntil, again, "it waits for 30 days")
		assert.Empty(t, w.written)
		now = again
		for rounds := 0; !w.erased; rounds++ {
			require.Less(t, rounds, 10)
			again, err := e.Run(t.Context(), one)
			if err != nil {
				require.ErrorIs(t, err, errKilled)
				w.killed = -1
				continue
			}
			if !again.IsZero() {
				require.True(t, again.After(now))
				now = again
			}
		}
		assert.Equal(t, map[string]int{"first": 0, "second": 0, "third": 0}, left, "lost at write %d", lost)
		assert.False(t, w.written[0] != Progress{Phase: "first"})
		assert.False(t, now.Before(noon.Add(domain.UndoDeletion+Settle)))
	}
}

func TestAPhaseThatWaitsIsAskedLessAndLessOften(t *testing.T) {
	now := noon.Add(time.Hour)
	w := &ward{user: User{ID: "u1", Version: 2, UpdatedAt: noon, Deletion: domain.Deletion{State: domain.Erasing, UndoUntil: noon}}, killed: -1}
	part, known := false, time.Time{}
	e := Eraser{Store: w, LookAgain: nobodyNeeds, Now: func() time.Time { return now }, Phases: []Phase{{Name: "first", Erase: func(_ context.Context, _ ID, position string) (string, error) {
		if part {
			part = false
			return position + "x", nil
		}
		return position, &Later{At: known}
	}}}}
	asked := func() time.Duration {
		again, err := e.Run(t.Context(), DeletedUser{w.user}.Erasure())
		require.NoError(t, err)
		after := again.Sub(now)
		now = again
		return after
	}
	for n := range 8 {
		assert.Equal(t, 2*time.Second<<n, asked())
	}
	for range 100 {
		assert.Equal(t, 5*time.Minute, asked())
	}
	part = true
	assert.Equal(t, 2*time.Second, asked(), "something was done")
	assert.Equal(t, Progress{Phase: "first", Position: "x", Waits: 1}, w.at)
	known = now.Add(time.Hour)
	assert.Equal(t, time.Hour, asked(), "it says when")
}

func TestAUserWhoCameBackIsNotErased(t *testing.T) {
	w := &ward{user: User{ID: "u1", Version: 2, Deletion: domain.Deletion{State: domain.Deleted, UndoUntil: noon}}, killed: -1}
	one := DeletedUser{w.user}.Erasure()
	w.user.Deletion = domain.Deletion{}
	again, err := Eraser{Store: w, LookAgain: nobodyNeeds, Now: func() time.Time { return noon.Add(time.Hour) }}.Run(t.Context(), one)
	require.NoError(t, err)
	assert.Zero(t, again)
	w.user.Deletion = domain.Deletion{State: domain.Deleted, UndoUntil: noon.Add(time.Minute)} // and was deleted again
	again, err = Eraser{Store: w, LookAgain: nobodyNeeds, Now: func() time.Time { return noon.Add(time.Hour) }}.Run(t.Context(), one)
	require.NoError(t, err)
	assert.Zero(t, again, "another task sees to that")
	assert.False(t, w.erased)
}

func TestAnErasureByANewerServerIsLeftToIt(t *testing.T) {
	w := &ward{user: User{ID: "u1", Version: 2, Deletion: domain.Deletion{State: domain.Erasing, UndoUntil: noon}}, at: Progress{Phase: "new"}, killed: -1}
	_, err := Eraser{Store: w, LookAgain: nobodyNeeds, Now: func() time.Time { return noon.Add(time.Hour) }}.Run(t.Context(), DeletedUser{w.user}.Erasure())
	assert.True(t, fault.Is(err, fault.Outdated))
	assert.False(t, w.erased)
}

// TestADeletionThatNobodyLookedAtAgainIsTakenBack has the server lost between the mark and the second look.
func TestADeletionThatNobodyLookedAtAgainIsTakenBack(t *testing.T) {
	since := []Left{{Project: true, ID: "p"}}
	for _, left := range [][]Left{nil, since} {
		o := &one{user: User{ID: "u1", Version: 2, Deletion: domain.Deletion{State: domain.Deleted, At: noon, UndoUntil: noon.Add(domain.UndoDeletion)}}}
		d := DeletedUser{o.user}
		clock := func() time.Time { return d.Erasure().Due }
		assert.Equal(t, noon.Add(Settle), clock())
		s := NewService(Options{Store: o, Managed: []Managed{&needs{left}}, Now: clock})
		again, err := Eraser{Store: o, LookAgain: s.LookAgain, Now: clock}.Run(t.Context(), d.Erasure())
		require.NoError(t, err)
		if left == nil {
			assert.Equal(t, d.Deletion.UndoUntil, again)
			assert.Equal(t, d.User, o.user)
			continue
		}
		assert.Zero(t, again)
		assert.Empty(t, o.user.Deletion)
	}
}

func TestAnErasureThatCannotLookAgainIsRepeated(t *testing.T) {
	w := &ward{user: User{ID: "u1", Version: 2, Deletion: domain.Deletion{State: domain.Deleted, At: noon, UndoUntil: noon.Add(time.Hour)}}, killed: -1}
	fails := func(context.Context, DeletedUser) error { return errKilled }
	_, err := Eraser{Store: w, LookAgain: fails, Now: func() time.Time { return noon }}.Run(t.Context(), DeletedUser{w.user}.Erasure())
	require.ErrorIs(t, err, errKilled)
}

func TestTheTaskOfAUserWhoCannotBeBroughtBackIsDueThen(t *testing.T) {
	d := DeletedUser{User{ID: "u1", Deletion: domain.Deletion{At: noon, UndoUntil: noon.Add(time.Second)}}}
	assert.Equal(t, noon.Add(time.Second), d.Erasure().Due)
}

// TestAnErasureThatAnotherServerEndedIsOver has a phase miss the user, who is gone meanwhile or is still there.
func TestAnErasureThatAnotherServerEndedIsOver(t *testing.T) {
	for _, gone := range []bool{true, false} {
		w := &ward{user: User{ID: "u1", Version: 2, Deletion: domain.Deletion{State: domain.Erasing, UndoUntil: noon}}, killed: -1}
		missed := Phase{Name: "first", Erase: func(context.Context, ID, string) (string, error) {
			w.erased = gone
			return "", noDeletedUser()
		}}
		e := Eraser{Store: w, LookAgain: nobodyNeeds, Phases: []Phase{missed}, Now: func() time.Time { return noon.Add(time.Hour) }}
		again, err := e.Run(t.Context(), DeletedUser{w.user}.Erasure())
		assert.Zero(t, again)
		assert.Equal(t, !gone, fault.Is(err, fault.NotFound))
	}
}
