package follow

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/taggie/taggie/internal/note"
)

// However often a user listens, what is shared with the user is read once for all of them.
func TestFollowersOfAUserShareALook(t *testing.T) {
	w := newWorld(t)
	w.shareAll("bob", note.Share{Note: "n1", Owner: "ada", User: "bob"})
	l, err := w.enter("bob")
	require.NoError(t, err)
	since := time.Now()
	first, err := w.lookAt(t.Context(), "bob", l, since)
	require.NoError(t, err)
	l.turn <- struct{}{} // somebody looks
	var group errgroup.Group
	for range 10 {
		group.Go(func() error {
			again, err := w.lookAt(t.Context(), "bob", l, since)
			if again != first {
				err = errors.New("another look")
			}
			return err
		})
	}
	<-l.turn
	require.NoError(t, group.Wait())
	assert.Equal(t, 1, w.looks)
	later, err := w.lookAt(t.Context(), "bob", l, time.Now())
	require.NoError(t, err)
	assert.NotSame(t, first, later, "what may have changed since is read again")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.turn <- struct{}{}
	_, err = w.lookAt(ctx, "bob", l, since)
	require.ErrorIs(t, err, context.Canceled)
}

// Who waits for a look that fails does not try once more before being told.
func TestALookThatFailsIsSharedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hold = make(chan error)
		answers := make(chan error)
		const many = 5
		for range many {
			go func() {
				_, err := w.Listen(as(t, "bob"), nil)
				answers <- err
			}()
		}
		synctest.Wait()
		w.hold <- errAway
		for range many {
			require.ErrorIs(t, <-answers, errAway)
		}
		assert.Equal(t, 1, w.looks)
	})
}

// What rests upon an old look is not told, however soon it would be taken.
func TestNothingIsToldAfterAnOldLook(t *testing.T) {
	w := newWorld(t)
	for range 100 {
		r := newReader(w.Hub, NotesOf("ada"))
		r.out = make(chan Told, 1) // taken at once
		require.ErrorIs(t, r.sayBefore(t.Context(), Told{Looked: time.Now().Add(-2 * looks)}), errUntaken)
		require.NoError(t, r.sayBefore(t.Context(), Told{Looked: time.Now()}))
	}
}
