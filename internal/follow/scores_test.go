package follow

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/event"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

var prelude = score.Ref{Owner: "ada", ID: "s1"}

// becomes has the score be another one, and returns the event of that.
func (w *world) becomes(change func(*score.Score)) event.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.scores[prelude]
	after := before
	after.Ref = prelude
	change(&after)
	after.Version, after.UpdatedAt = before.Version+1, time.UnixMilli(int64(before.Version)+1)
	w.scores[prelude] = after
	return score.Alteration(before, after)
}

func (w *world) deletes1() event.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := score.Deletion(w.scores[prelude], time.UnixMilli(1000))
	delete(w.scores, prelude)
	return e
}

// counted returns how often the score was read.
func (w *world) counted() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reads
}

func title(of string) func(*score.Score)          { return func(s *score.Score) { s.Title = of } }
func access(to score.Access) func(s *score.Score) { return func(s *score.Score) { s.Access = to } }

// toScore follows the score; ended tells whether it has ended for good.
func (w *world) toScore(t *testing.T, u UserID, after *Cursor) (told <-chan Told, ended <-chan struct{}) {
	t.Helper()
	over := make(chan struct{})
	told, err := w.ListenToScore(as(t, u), prelude, after, func() { close(over) })
	require.NoError(t, err)
	return told, over
}

// feed is what reads a stream.
func (w *world) feed(of Stream) *feed {
	w.Hub.mu.Lock()
	defer w.Hub.mu.Unlock()
	return w.feeds[of]
}

func closed(t *testing.T, told <-chan Told) {
	t.Helper()
	select {
	case one, open := <-told:
		require.False(t, open, "%+v", one)
	case <-time.After(time.Minute):
		require.Fail(t, "it does not end")
	}
}

func TestAScoreIsReadOnceForAllWhoFollowIt(t *testing.T) {
	w := newWorld(t)
	w.becomes(access(score.Public))
	var all []<-chan Told
	for _, who := range []UserID{"ada", "bob", "eve", "bob"} {
		told, _ := w.toScore(t, who, nil)
		position(t, told)
		all = append(all, told)
	}
	require.Eventually(t, func() bool { // the events are read once for all
		_, begun := w.feed(Score(prelude.ID)).last()
		return begun
	}, time.Minute, time.Millisecond)
	before := w.reads
	e := w.becomes(title("one"))
	w.happens(t, e)
	for _, told := range all {
		one := next(t, told)
		require.NotNil(t, one.Event)
		assert.Equal(t, e, *one.Event)
		assert.Equal(t, "one", one.Score.Title)
		assert.NotZero(t, one.Looked)
	}
	assert.Equal(t, before+1, w.reads)
}

// Nobody is told what happens to a score that they may not read, in whatever order it is told.
func TestWhoLosesAScoreIsToldSoLast(t *testing.T) {
	w := newWorld(t)
	w.becomes(access(score.Limited))
	bobs, over := w.toScore(t, "bob", nil)
	cursor := position(t, bobs)
	adas, _ := w.toScore(t, "ada", nil)
	position(t, adas)
	narrowed := w.becomes(access(score.Private))
	secret := w.becomes(title("secret"))
	w.happens(t, secret, narrowed) // by two servers
	expect(t, adas, secret, narrowed)
	one := next(t, bobs)
	require.NotNil(t, one.Event)
	assert.Equal(t, narrowed, *one.Event)
	assert.Nil(t, one.Score)
	closed(t, bobs)
	<-over
	_, err := w.ListenToScore(as(t, "bob"), prelude, cursor, func() {})
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)

	// What happened while it was the owner's alone is not told later.
	opened := w.becomes(access(score.Public))
	w.happens(t, opened)
	again, _ := w.toScore(t, "bob", cursor)
	expect(t, again, opened)
	expect(t, adas, opened)

	gone := w.deletes1()
	w.happens(t, gone)
	expect(t, adas, gone)
	closed(t, adas)
	expect(t, again, gone)
	closed(t, again)
}

// Snapshots from before the access was widened are the owner's alone, and so is what happens to them.
func TestEventsOfHiddenSnapshotsAreTheOwners(t *testing.T) {
	w := newWorld(t)
	w.becomes(title("one"))
	w.becomes(func(s *score.Score) { s.Access, s.ShownFrom = score.Public, 2 })
	adas, _ := w.toScore(t, "ada", nil)
	bobs, _ := w.toScore(t, "bob", nil)
	position(t, adas)
	position(t, bobs)
	hidden := score.SnapshotEvent(score.SnapshotRenamed, w.scores[prelude], score.Snapshot{SnapshotID: score.SnapshotID{Score: prelude, ID: "x"}, Version: 1}, time.UnixMilli(5))
	shown := score.SnapshotEvent(score.SnapshotCreated, w.scores[prelude], score.Snapshot{SnapshotID: score.SnapshotID{Score: prelude, ID: "y"}, Version: 2}, time.UnixMilli(6))
	w.happens(t, hidden, shown)
	expect(t, adas, hidden, shown)
	expect(t, bobs, shown)
}

// Another program takes the score away and leaves no event: nothing is told, and half a minute later it ends.
func TestAScoreThatIsLostWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.Hub.Close()
		w.becomes(access(score.Public))
		bobs, over := w.toScore(t, "bob", nil)
		position(t, bobs)
		time.Sleep(time.Millisecond)
		w.becomes(access(score.Private))
		for range 2 {
			e := w.becomes(title(time.Now().String()))
			w.happens(t, e)
			synctest.Wait()
			time.Sleep(looks)
		}
		closed(t, bobs)
		<-over
	})
}

// Nothing happens to the score, and another program takes it away: one of all followers looks from time to time.
func TestAScoreThatIsLostWhileNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.Hub.Close()
		w.becomes(access(score.Public))
		bobs, over := w.toScore(t, "bob", nil)
		cursor := position(t, bobs)
		eves, _ := w.toScore(t, "eve", cursor)
		adas, _ := w.toScore(t, "ada", cursor)
		before := w.counted()
		time.Sleep(10 * idleLooks)
		synctest.Wait()
		reads := w.counted() - before
		assert.True(t, reads >= 10 && reads <= 20, "%d", reads)
		w.becomes(access(score.Private))
		time.Sleep(idleLooks + looks + time.Second)
		closed(t, bobs)
		closed(t, eves)
		<-over
		e := w.becomes(title("two"))
		w.happens(t, e)
		expect(t, adas, e)
	})
}

// The score is deleted before the position of a follower, so that no event says it.
func TestAScoreThatIsLostBeforeThePosition(t *testing.T) {
	w := newWorld(t)
	w.becomes(access(score.Public))
	bobs, over := w.toScore(t, "bob", nil)
	position(t, bobs)
	w.happens(t, w.becomes(title("one")))
	next(t, bobs)
	w.mu.Lock()
	clear(w.streams)
	w.mu.Unlock()
	gone := w.deletes1()
	w.happens(t, gone) // there is no stream
	w.feed(Score(prelude.ID)).nudge()
	require.True(t, next(t, bobs).Gap)
	position(t, bobs)
	closed(t, bobs)
	<-over

	w.becomes(access(score.Public))
	var once sync.Once
	w.read = func() { once.Do(func() { w.deletes1() }) }
	late, over := w.toScore(t, "bob", nil)
	position(t, late)
	closed(t, late)
	<-over
}

// Who takes a message too late gets it after another look.
func TestAnEventThatIsTakenLateRestsUponAnotherLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.Hub.Close()
		w.becomes(access(score.Public))
		bobs, over := w.toScore(t, "bob", nil)
		position(t, bobs)
		w.happens(t, w.becomes(title("one")))
		synctest.Wait()
		w.becomes(access(score.Private)) // of which no event comes
		time.Sleep(2 * looks)
		synctest.Wait()
		w.happens(t, w.becomes(title("two")))
		synctest.Wait()
		time.Sleep(looks)
		w.happens(t, w.becomes(title("three")))
		closed(t, bobs)
		<-over
	})
}

func TestWhatWasMissedOfAScoreIsAGap(t *testing.T) {
	w := newWorld(t)
	w.becomes(access(score.Public))
	ctx, cancel := context.WithCancel(as(t, "bob"))
	first, err := w.ListenToScore(ctx, prelude, nil, func() {})
	require.NoError(t, err)
	cursor := position(t, first)
	cancel()
	for range first { // until it has ended
	}
	var all []event.Event
	for range 3 * ringSize {
		all = append(all, w.becomes(title(time.Now().String())))
	}
	w.happens(t, all...)
	again, _ := w.toScore(t, "bob", cursor)
	expect(t, again, all...)
	w.mu.Lock()
	clear(w.streams)
	w.mu.Unlock()
	w.happens(t, w.becomes(title("lost")))
	late, _ := w.toScore(t, "bob", cursor)
	require.True(t, next(t, late).Gap)
	position(t, late)
}

func TestCursorsAreOfTheirScore(t *testing.T) {
	w := newWorld(t)
	w.becomes(access(score.Public))
	told, _ := w.toScore(t, "ada", nil)
	c := position(t, told)
	for _, of := range []Stream{NotesOf(UserID(prelude.ID)), Score("s2")} {
		assert.False(t, c.Of(of), of.String())
	}
	other := cursorOf(Score("s2"), map[Stream]string{Score("s2"): "1-1"})
	_, err := w.ListenToScore(as(t, "ada"), prelude, &other, func() {})
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	_, err = w.ListenToScore(as(t, "ada"), score.Ref{Owner: "ada", ID: "s2"}, &other, func() {})
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = w.ListenToScore(t.Context(), prelude, nil, func() {})
	require.True(t, fault.Is(err, fault.Unauthenticated), "%v", err)
	w.Hub.Close()
	_, err = w.ListenToScore(as(t, "ada"), prelude, nil, func() {})
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	assert.Empty(t, w.Hub.scores)
	assert.Empty(t, w.ofScores)
}

func TestAUserFollowsScoresSoOften(t *testing.T) {
	w := newWorld(t)
	w.becomes(access(score.Public))
	ctx, cancel := context.WithCancel(as(t, "bob"))
	first, err := w.ListenToScore(ctx, prelude, nil, func() {})
	require.NoError(t, err)
	for range MaxListening - 1 {
		w.toScore(t, "bob", nil)
	}
	_, err = w.ListenToScore(as(t, "bob"), prelude, nil, func() {})
	require.True(t, fault.Is(err, fault.Exhausted), "%v", err)
	eves, _ := w.toScore(t, "eve", nil)
	position(t, eves)
	cancel()
	for range first { // until it has ended
	}
	require.Eventually(t, func() bool {
		_, err := w.ListenToScore(as(t, "bob"), prelude, nil, func() {})
		return err == nil
	}, time.Minute, time.Millisecond)
}
