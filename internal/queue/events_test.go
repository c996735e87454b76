package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func testPause(t *testing.T, f *fixture) {
	cursor := f.state(t).Cursor
	for _, step := range []struct {
		change       func(context.Context, project.ID, labelling.UserID) (bool, error)
		news, paused bool
	}{{f.Resume, false, false}, {f.Pause, true, true}, {f.Pause, false, true}, {f.Resume, true, false}} {
		news, err := step.change(t.Context(), f.project, "boss")
		require.NoError(t, err)
		assert.Equal(t, step.news, news)
		assert.Equal(t, step.paused, f.state(t).Paused)
	}
	events, err := f.Read(t.Context(), f.project, cursor, 10, 0)
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.Equal(t, []labelling.Cause{labelling.Paused, labelling.Resumed}, []labelling.Cause{events[0].Cause, events[1].Cause})
	assert.Equal(t, labelling.UserID("boss"), events[0].User)
}

func testEvents(t *testing.T, f *fixture) {
	start := f.state(t).Cursor
	for _, news := range []bool{true, false} {
		added, err := f.AddItems(t.Context(), f.project, "import 1", 7, "boss") // again: the first answer was lost
		require.NoError(t, err)
		assert.Equal(t, news, added)
		noted, err := f.Note(t.Context(), f.project, "joined", labelling.Event{Cause: labelling.Members, User: "grace", Team: "t1", At: time.UnixMilli(1_700_000_000_123)})
		require.NoError(t, err)
		assert.Equal(t, news, noted)
	}
	assert.Equal(t, labelling.Counts{Total: 7, New: 7}, f.state(t).Counts)
	events, err := f.Read(t.Context(), f.project, start, 10, 0)
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.Equal(t, labelling.Imported, events[0].Cause)
	assert.Equal(t, labelling.Counts{Total: 7, New: 7}, events[0].Counts)
	assert.WithinDuration(t, time.Now(), events[0].At, time.Minute)
	assert.Equal(t, labelling.Event{
		Cursor: events[1].Cursor, Cause: labelling.Members, User: "grace", Team: "t1", Counts: labelling.Counts{Total: 7, New: 7},
		At: time.UnixMilli(1_700_000_000_123).UTC(),
	}, events[1])

	one, err := f.Read(t.Context(), f.project, start, 1, 0)
	require.NoError(t, err)
	assert.Equal(t, events[:1], one)
	rest, err := f.Read(t.Context(), f.project, one[0].Cursor, 10, 0)
	require.NoError(t, err)
	assert.Equal(t, events[1:], rest)
	none, err := f.Read(t.Context(), f.project, rest[0].Cursor, 10, 5*time.Millisecond)
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.Equal(t, f.state(t).Cursor, rest[0].Cursor)
}

func testEventsArrive(t *testing.T, f *fixture) {
	type read struct {
		events []labelling.Event
		err    error
	}
	arrived := make(chan read)
	cursor := f.state(t).Cursor
	go func() {
		events, err := f.Read(t.Context(), f.project, cursor, 10, time.Minute)
		arrived <- read{events, err}
	}()
	_, err := f.Note(t.Context(), f.project, "n", labelling.Event{Cause: labelling.Members})
	require.NoError(t, err)
	got := <-arrived
	require.NoError(t, got.err)
	require.Len(t, got.events, 1)

	// A reader that waits learns of a rebuild, too.
	go func() {
		events, err := f.Read(t.Context(), f.project, got.events[0].Cursor, 10, time.Minute)
		arrived <- read{events, err}
	}()
	f.ready(t)
	got = <-arrived
	if !errors.Is(got.err, labelling.ErrNotReady) { // it may look while the rebuild is under way
		require.ErrorIs(t, got.err, labelling.ErrGap)
	}

	after := f.state(t).Cursor
	ended, cancel := context.WithCancel(t.Context())
	go func() {
		events, err := f.Read(ended, f.project, after, 10, time.Hour)
		arrived <- read{events, err}
	}()
	cancel()
	assert.ErrorIs(t, (<-arrived).err, context.Canceled)
}

func testGaps(t *testing.T, f *fixture) {
	f = f.with(Options{MaxEvents: 100})
	start := f.state(t).Cursor
	var middle labelling.Cursor
	for i := range 500 {
		_, err := f.Note(t.Context(), f.project, f.id(), labelling.Event{Cause: labelling.Members})
		require.NoError(t, err)
		if i == 450 {
			middle = f.state(t).Cursor
		}
	}
	last := f.state(t).Cursor
	_, err := f.Read(t.Context(), f.project, start, 10, 0)
	require.ErrorIs(t, err, labelling.ErrGap, "trimmed")
	events, err := f.Read(t.Context(), f.project, middle, 1000, 0)
	require.NoError(t, err)
	assert.Len(t, events, 49)

	for _, cursor := range []labelling.Cursor{
		{}, {Epoch: last.Epoch}, {Epoch: last.Epoch, ID: "0-0"}, {Epoch: last.Epoch, ID: "99999999999999-0"}, {Epoch: "other", ID: last.ID},
		{Epoch: last.Epoch, ID: "+"}, {Epoch: last.Epoch, ID: "1"}, {Epoch: last.Epoch, ID: "99999999999999999999999-0"}, {Epoch: last.Epoch, ID: "-1--1"},
	} {
		_, err := f.Read(t.Context(), f.project, cursor, 10, time.Minute)
		assert.ErrorIs(t, err, labelling.ErrGap, "%+v", cursor)
	}
	f.ready(t)
	_, err = f.Read(t.Context(), f.project, last, 10, 0)
	assert.ErrorIs(t, err, labelling.ErrGap, "another epoch")
}

// testSnapshot takes snapshots while things happen: each agrees with the events up to it.
func testSnapshot(t *testing.T, f *fixture) {
	const items = 60
	f.items(t, items)
	start := f.state(t).Cursor
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range items {
			claims, err := f.Reserve(t.Context(), f.project, "ada", []string{fmt.Sprintf("s%d", i)})
			if !assert.NoError(t, err) || !assert.Len(t, claims, 1) {
				return
			}
			claims[0].Until = claims[0].Since.Add(time.Hour)
			_, err = f.Apply(t.Context(), f.claimed(claims[0]))
			assert.NoError(t, err)
			_, err = f.Apply(t.Context(), f.ended(claims[0], labelling.Finished, project.Finished))
			assert.NoError(t, err)
		}
	}()
	var snapshots []labelling.Snapshot
	for going := true; going; {
		select {
		case <-done:
			going = false
		default:
		}
		s, err := f.Snapshot(t.Context(), f.project, "ada", []string{"t1"})
		require.NoError(t, err)
		snapshots = append(snapshots, s)
	}
	events, err := f.Read(t.Context(), f.project, start, 1000, 0)
	require.NoError(t, err)
	require.Len(t, events, 2*items)
	at := map[labelling.Cursor]labelling.Event{}
	for _, e := range events {
		at[e.Cursor] = e
	}
	for _, s := range snapshots {
		e, known := at[s.State.Cursor]
		if !known {
			assert.Equal(t, start, s.State.Cursor)
			continue
		}
		assert.Equal(t, e.Counts, s.State.Counts)
		assert.Len(t, s.Claims, e.Counts.Claimed)
		assert.Equal(t, e.Counts.Finished, s.Statistics[0].Finished)
	}
	assert.Equal(t, items, snapshots[len(snapshots)-1].Statistics[0].Finished)
}

func testSize(t *testing.T, f *fixture) {
	assert.Equal(t, labelling.QueueSize, f.state(t).Size)
	require.NoError(t, f.SetSize(t.Context(), 20))
	n, err := f.Size(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 20, n)
	assert.Equal(t, 20, f.state(t).Size)
	f.items(t, 5)
	require.NoError(t, f.SetSettings(t.Context(), f.project, labelling.Settings{Version: 2, Size: 3}, "boss"))
	require.NoError(t, f.SetSettings(t.Context(), f.project, labelling.Settings{Version: 1, Size: 9}, "late"))
	assert.Equal(t, 3, f.state(t).Size, "a size of its own, as of the last version")
	assert.NotContains(t, f.told(t), "RESIZED late")
	assert.Equal(t, []string{"i0", "i1", "i2"}, f.waiting(t), "cut to it")
	c := f.claim(t, "ada", 1)[0]
	_, _, err = f.Fill(t.Context(), f.project, []string{"i3"}, 100)
	require.NoError(t, err)
	f.must(t, f.ended(c, labelling.Released, project.New))
	assert.Equal(t, []string{"i0", "i1", "i2"}, f.waiting(t), "what comes back takes the place of the last one")
	need, err := f.Need(t.Context(), f.project, 100)
	require.NoError(t, err)
	assert.Zero(t, need)
	require.NoError(t, f.SetSettings(t.Context(), f.project, labelling.Settings{Version: 3}, ""))
	assert.Equal(t, 20, f.state(t).Size)
	told := f.told(t)
	assert.Contains(t, told, "RESIZED boss")
	assert.Equal(t, "RESIZED ", told[len(told)-1])
}

// told returns the causes of all events, and who caused them.
func (f *fixture) told(t *testing.T) []string {
	t.Helper()
	events, err := f.client.XRange(t.Context(), f.keysOf(f.project).events(), "-", "+").Result()
	require.NoError(t, err)
	told := make([]string, len(events))
	for i, e := range events {
		told[i] = fmt.Sprint(e.Values["cause"], " ", e.Values["user"])
	}
	return told
}

// A queue without a size of its own holds no more than it was filled to, whatever comes back.
func testFull(t *testing.T, f *fixture) {
	f.count(t, 5)
	fill := func(ids ...string) {
		_, _, err := f.Fill(t.Context(), f.project, ids, 3)
		require.NoError(t, err)
	}
	fill("a", "b", "c")
	claims := f.claim(t, "ada", 1)
	reserved := f.reserve(t, "ada", 1)
	require.Len(t, reserved, 1)
	fill("d", "e")
	assert.Equal(t, []string{"c", "d", "e"}, f.waiting(t))
	f.must(t, f.ended(claims[0], labelling.Released, project.New))
	assert.Equal(t, []string{"a", "c", "d"}, f.waiting(t))
	_, err := f.Cancel(t.Context(), reserved[0], true)
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "a", "c"}, f.waiting(t))
}

func testSettingsAndWords(t *testing.T, f *fixture) {
	for range 2 {
		require.NoError(t, f.SetSettings(t.Context(), f.project, labelling.Settings{Name: "Fish", Categories: []string{"b", "a"}, Subcategories: []string{"c"}, Teams: []project.Team{
			{TeamID: project.TeamID{Project: f.project, ID: "t1"}, Type: project.Taggie}, {TeamID: project.TeamID{Project: f.project, ID: "t2"}, Type: project.Manager},
		}}, "boss"))
	}
	told := f.told(t)
	assert.Equal(t, []string{"CATEGORIES_CHANGED boss"}, told[len(told)-1:], "once")
	assert.NotContains(t, told[:len(told)-1], "CATEGORIES_CHANGED boss")
	teams, err := f.StatisticsOf(t.Context(), f.project, []string{"t2", "t1", "t3"})
	require.NoError(t, err)
	assert.Equal(t, []labelling.Statistics{{Team: "t2", Type: project.Manager}, {Team: "t1", Type: project.Taggie}, {Team: "t3"}}, teams)
	labels, err := f.Labels(t.Context(), f.project, labelling.Categories)
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "a"}, labels)
	labels, err = f.Labels(t.Context(), f.project, labelling.Subcategories)
	require.NoError(t, err)
	assert.Equal(t, []string{"c"}, labels)
	_, err = f.Labels(t.Context(), f.project, labelling.Keywords)
	require.Error(t, err)
	name, err := f.client.HGet(t.Context(), f.keysOf(f.project).metadata(), "project-name").Result()
	require.NoError(t, err)
	assert.Equal(t, "Fish", name)

	use := func(id string, cause labelling.Cause, words ...string) {
		_, err := f.Apply(t.Context(), labelling.Transition{
			ID: id, Cause: cause, Project: f.project, Item: "x", Status: project.Finished, User: "ada", Team: "t1", Keywords: words,
		})
		require.NoError(t, err)
	}
	use("1", labelling.Finished, "wing", "winter", "wi", "Wing", "wïng", "owl", "window")
	use("2", labelling.Finished, "wing", "owl")
	use("3", labelling.Undone, "wing", "window")
	for prefix, want := range map[string][]string{
		"wi": {"wi", "Wing", "wing", "winter"}, "WIN": {"Wing", "wing", "winter"}, "Wï": {"wïng"}, "x": {}, "": {"owl", "wi", "Wing", "wing"}, "[": {}, "(": {},
	} {
		got, err := f.Keywords(t.Context(), f.project, prefix, 4)
		require.NoError(t, err)
		assert.Equal(t, want, got, prefix)
	}
}

func testPresence(t *testing.T, f *fixture) {
	f = f.with(Options{Presence: time.Hour})
	other := f.project + "2"
	before, err := f.Now(t.Context())
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, f.Heartbeat(t.Context(), "ada", []project.ID{f.project, other}))
	}
	require.NoError(t, f.Heartbeat(t.Context(), "grace", []project.ID{f.project}))
	require.NoError(t, f.Heartbeat(t.Context(), "lin", nil))
	n, err := f.OnlineCount(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	shown, err := f.client.Get(t.Context(), "taggie:online:user:count").Int()
	require.NoError(t, err)
	assert.Equal(t, 3, shown)
	online, err := f.Online(t.Context(), f.project)
	require.NoError(t, err)
	require.Len(t, online, 2)
	assert.ElementsMatch(t, []labelling.UserID{"ada", "grace"}, []labelling.UserID{online[0].User, online[1].User})
	assert.WithinDuration(t, before, online[0].Seen, time.Minute)
	online, err = f.Online(t.Context(), other)
	require.NoError(t, err)
	assert.Len(t, online, 1)

	f = f.with(Options{Presence: time.Millisecond})
	require.Eventually(t, func() bool {
		n, err := f.OnlineCount(t.Context())
		return assert.NoError(t, err) && n == 0
	}, 10*time.Second, time.Millisecond, "they went without a word")
	online, err = f.Online(t.Context(), f.project)
	require.NoError(t, err)
	assert.Empty(t, online)
}

// TestNobodyUsesUpTheConnectionsThatWait has as many projects read as there are connections, and then one more.
func TestNobodyUsesUpTheConnectionsThatWait(t *testing.T) {
	t.Parallel()
	const all = 4
	f := newFixture(t, serverClient(t))
	client, ok := f.client.(*redis.Client)
	require.True(t, ok)
	few := *client.Options()
	few.PoolSize, few.PoolTimeout = all, 100*time.Millisecond
	waiting := redis.NewClient(&few)
	t.Cleanup(func() { assert.NoError(t, waiting.Close()) })
	f = f.with(Options{Blocking: waiting, Waiting: all})
	ctx, cancel := context.WithCancel(t.Context())
	var greedy sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		greedy.Wait()
	})
	for range 2 * all {
		other := &fixture{Queue: f.Queue, client: f.client, project: project.ID(uuid.NewString()), serial: f.serial}
		other.ready(t)
		cursor := other.state(t).Cursor
		greedy.Go(func() {
			_, err := f.Read(ctx, other.project, cursor, 10, time.Minute)
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	require.Eventually(t, func() bool { return len(f.places) == all }, time.Minute, time.Millisecond)
	cursor := f.state(t).Cursor
	told := make(chan []labelling.Event, 1)
	go func() {
		events, err := f.Read(ctx, f.project, cursor, 10, time.Minute)
		assert.NoError(t, err)
		told <- events
	}()
	_, err := f.Note(t.Context(), f.project, "n", labelling.Event{Cause: labelling.Resized})
	require.NoError(t, err)
	assert.Len(t, <-told, 1)
}
