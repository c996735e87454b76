package follow

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/note"
)

func TestWhatIsNotSharedIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.shareAll("bob", note.Share{Note: "n1", Owner: "ada", User: "bob"})
	told := w.listen(t, "bob", nil)
	position(t, told)
	seen, last := change("ada", "n1"), change("ada", "n1")
	w.happens(t, change("ada", "n2"), seen, change("eve", "n3"), last)
	expect(t, told, seen, last)

	// What others share of a note that bob reads is told; what ends is looked for at once.
	eves := giving(note.Share{Note: "n1", Owner: "ada", User: "eve"})
	w.happens(t, eves)
	expect(t, told, eves)
	w.shareAll("bob")
	ended := note.Ending(note.Share{Note: "n1", Owner: "ada", User: "bob"}, "ada", time.UnixMilli(1))
	w.happens(t, ended, change("ada", "n1"))
	expect(t, told, ended)
	own := change("bob", "own")
	w.happens(t, own)
	expect(t, told, own)
}

// Only events of what others share rest upon a look at that, which may be too old to be told; the own notes need none.
func TestOwnEventsRestUponNothing(t *testing.T) {
	w := newWorld(t)
	w.shareAll("bob", note.Share{Note: "n1", Owner: "ada", User: "bob"})
	told := w.listen(t, "bob", nil)
	assert.Zero(t, next(t, told).Looked, "a position")
	w.happens(t, change("ada", "n1"))
	assert.NotZero(t, next(t, told).Looked)
	w.happens(t, change("bob", "own"))
	assert.Zero(t, next(t, told).Looked)
}

func TestAShareOfSomebodyNewIsFollowedFromThereOn(t *testing.T) {
	w := newWorld(t)
	told := w.listen(t, "bob", nil)
	cursor := position(t, told)
	share := note.Share{Note: "n1", Owner: "ada", User: "bob"}
	w.shareAll("bob", share)
	given, then := giving(share), change("ada", "n1")
	w.happens(t, change("ada", "n1"), given, then)
	expect(t, told, given, then)
	expect(t, w.listen(t, "bob", cursor), given, then)
}

func TestACursorOutlivesEverythingButTheEvents(t *testing.T) {
	w := newWorld(t)
	w.shareAll("bob", note.Share{Note: "n1", Owner: "ada", User: "bob"}, note.Share{Note: "n2", Owner: "eve", User: "bob"})
	ctx, cancel := context.WithCancel(as(t, "bob"))
	first, err := w.Listen(ctx, nil)
	require.NoError(t, err)
	at := position(t, first)
	cancel()
	text := at.String()
	parsed, err := ParseCursor(text)
	require.NoError(t, err)
	assert.Equal(t, *at, parsed)
	var all []event.Event
	for range 3 * ringSize { // more than are kept in memory
		all = append(all, change("ada", "n1"))
	}
	w.happens(t, all...)
	expect(t, w.listen(t, "bob", &parsed), all...)
	w.cut("ada", 1)
	again := w.listen(t, "bob", &parsed)
	require.True(t, next(t, again).Gap)
	position(t, again)
	more := change("eve", "n2")
	w.happens(t, more)
	expect(t, again, more)
}

// After a flush a follower of many owners is told once.
func TestWhatWasMissedOfAllIsOneGap(t *testing.T) {
	w := newWorld(t)
	w.shareAll("bob", note.Share{Note: "n1", Owner: "ada", User: "bob"}, note.Share{Note: "n2", Owner: "eve", User: "bob"})
	ctx, cancel := context.WithCancel(as(t, "bob"))
	before, err := w.Listen(ctx, nil)
	require.NoError(t, err)
	at := position(t, before)
	cancel()
	for range before { // until it has ended, and nobody reads the streams
	}
	w.mu.Lock()
	clear(w.streams)
	w.mu.Unlock()
	told := w.listen(t, "bob", at)
	require.True(t, next(t, told).Gap)
	position(t, told)
	first, second := change("ada", "n1"), change("eve", "n2")
	w.happens(t, first)
	expect(t, told, first)
	w.happens(t, second)
	expect(t, told, second)
	w.mu.Lock()
	assert.Zero(t, w.missed, "the cursor was too old")
	clear(w.streams)
	w.mu.Unlock()
	w.happens(t, change("ada", "n1"))
	require.True(t, next(t, told).Gap)
	position(t, told)
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.Equal(t, 1, w.missed)
}

func TestSilenceIsEndedByAPosition(t *testing.T) {
	w := newWorld(t)
	w.shareAll("bob", note.Share{Note: "n1", Owner: "ada", User: "bob"})
	told := w.listen(t, "bob", nil)
	before := position(t, told)
	for range silence {
		w.happens(t, change("ada", "hidden"))
	}
	assert.NotEqual(t, before, position(t, told))
}

func TestAnOutageIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	told := w.listen(t, "ada", nil)
	position(t, told)
	setAway := func(away bool) {
		w.mu.Lock()
		w.away = away
		w.mu.Unlock()
	}
	setAway(true)
	e := change("ada", "n1")
	w.outbox = []event.Event{e}
	require.Error(t, w.Relay(t.Context()))
	assert.Len(t, w.outbox, 1)
	late, err := w.Late(t.Context())
	require.NoError(t, err)
	assert.Greater(t, late, time.Hour, "since the clock of this test began")
	setAway(false)
	require.NoError(t, w.Relay(t.Context()))
	assert.Empty(t, w.outbox)
	require.NoError(t, w.Relay(t.Context()))
	late, err = w.Late(t.Context())
	require.NoError(t, err)
	assert.Zero(t, late, "none is left")
	expect(t, told, e)
}

func TestWhatIsToldIsRemovedInBatches(t *testing.T) {
	w := newWorld(t)
	told := w.listen(t, "ada", nil)
	position(t, told)
	for range 30 {
		e := change("ada", "n1")
		w.mu.Lock()
		w.outbox = append(w.outbox, e)
		w.mu.Unlock()
		w.Tell(e)
	}
	w.Teller.Close()
	require.NoError(t, w.Sweep(t.Context()))
	assert.Empty(t, w.outbox)
	assert.Equal(t, 1, w.deletes)
	require.NoError(t, w.Sweep(t.Context()))
	assert.Equal(t, 1, w.deletes, "there is nothing more")
	assert.Len(t, w.streams[NotesOf("ada")], 31, "one for each, and the beginning")
	for range 30 {
		assert.NotNil(t, next(t, told).Event)
	}
}

func TestOwnersAndSharesAreBounded(t *testing.T) {
	w := newWorld(t)
	owners := make([]note.Share, MaxOwners+1)
	for i := range owners {
		owners[i] = note.Share{Note: note.ID(fmt.Sprint("n", i)), Owner: UserID(fmt.Sprint("owner", i)), User: "bob"}
	}
	w.shareAll("bob", owners...)
	_, err := w.Listen(as(t, "bob"), nil)
	require.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	assert.Contains(t, err.Error(), fmt.Sprint(MaxOwners))
	w.shareAll("bob", owners[1:]...)
	c := position(t, w.listen(t, "bob", nil))
	assert.Less(t, len(c.String()), 8<<10)
	parsed, err := ParseCursor(c.String())
	require.NoError(t, err)
	assert.Equal(t, *c, parsed)

	many := make([]note.Share, MaxShares+1)
	for i := range many {
		many[i] = note.Share{Note: note.ID(fmt.Sprint("n", i)), Owner: "ada", User: "bob"}
	}
	w.shareAll("bob", many...)
	_, err = w.Listen(as(t, "bob"), nil)
	require.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	assert.Contains(t, err.Error(), fmt.Sprint(MaxShares))
}

func TestCursorsAreOfTheirUser(t *testing.T) {
	w := newWorld(t)
	c := position(t, w.listen(t, "ada", nil))
	_, err := w.Listen(as(t, "bob"), c)
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	_, err = w.Listen(t.Context(), nil)
	require.True(t, fault.Is(err, fault.Unauthenticated), "%v", err)
	w.Hub.Close()
	_, err = w.Listen(as(t, "ada"), nil)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(cursorOf(NotesOf("ada"), map[Stream]string{NotesOf("ada"): "1-2", NotesOf("bob"): "18446744073709551615-0"}).String())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text)
		if err != nil {
			return
		}
		again, err := ParseCursor(c.String())
		require.NoError(t, err)
		assert.Equal(t, c, again)
	})
}

func ExampleCursor() {
	c := cursorOf(NotesOf("bob"), map[Stream]string{NotesOf("bob"): "1764250000000-0", NotesOf("ada"): "1764250000001-3"})
	parsed, err := ParseCursor(c.String())
	fmt.Println(parsed.Own, parsed.at(NotesOf("ada")), parsed.Of(NotesOf("bob")), err)
	// Output: 1764250000000-0 1764250000001-3 true <nil>
}

func TestAUserListensSoOften(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(as(t, "bob"))
	first, err := w.Listen(ctx, nil)
	require.NoError(t, err)
	for range MaxListening - 1 {
		w.listen(t, "bob", nil)
	}
	_, err = w.Listen(as(t, "bob"), nil)
	require.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	position(t, w.listen(t, "eve", nil))
	cancel()
	for range first { // until it has ended
	}
	require.Eventually(t, func() bool {
		_, err := w.Listen(as(t, "bob"), nil)
		return err == nil
	}, time.Minute, time.Millisecond)
}

func TestListeningIsCountedBackWhenTheHubIsClosedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.hold = make(chan error)
	looks := func(n int) {
		require.Eventually(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.looks == n }, 10*time.Second, time.Millisecond)
	}
	answers := make(chan error)
	listen := func() {
		_, err := w.Listen(as(t, "bob"), nil)
		answers <- err
	}
	go listen()
	looks(1)
	go listen()
	require.Eventually(t, func() bool { w.Hub.mu.Lock(); defer w.Hub.mu.Unlock(); return w.listeners["bob"].times == 2 }, 10*time.Second, time.Millisecond)
	w.Hub.Close()
	w.hold <- nil
	require.True(t, fault.Is(<-answers, fault.Unavailable))
	looks(2)
	w.hold <- errAway
	require.ErrorIs(t, <-answers, errAway)
	assert.Empty(t, w.listeners)
}

// One event whose note cannot be found out about waits, and its age is told; the others do not wait for it.
func TestAnEventWithoutAReadableOwnerWaitsAlone(t *testing.T) {
	w := newWorld(t)
	adas := w.listen(t, "ada", nil)
	position(t, adas)
	stuck := event.Event{Kind: event.OfNote, Type: note.ShareEnded, Of: "unreadable", By: "bob", With: "bob", At: time.UnixMilli(1)}
	left := stuck
	left.Of, left.At = "n1", time.UnixMilli(2)
	last := change("ada", "n1")
	w.outbox = []event.Event{stuck, left, last}
	require.NoError(t, w.Relay(t.Context()))
	left.Owner = "ada"
	expect(t, adas, left, last)
	assert.Equal(t, []event.Event{stuck}, w.outbox)
	late, err := w.Late(t.Context())
	require.NoError(t, err)
	assert.Greater(t, late, time.Minute)
}
