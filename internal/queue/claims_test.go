package queue

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func testReserve(t *testing.T, f *fixture) {
	f.items(t, 3)
	before, err := f.Now(t.Context())
	require.NoError(t, err)
	claims, err := f.Reserve(t.Context(), f.project, "ada", []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, []string{"i0", "i1"}, names(claims))
	assert.Equal(t, "a", claims[0].Token)
	assert.Equal(t, "b", claims[1].Token)
	assert.Equal(t, labelling.UserID("ada"), claims[0].User)
	assert.False(t, claims[0].Since.Before(before.Truncate(time.Millisecond)), "by Redis's clock")
	assert.Equal(t, labelling.Reservation, claims[0].Until.Sub(claims[0].Since))

	assert.Equal(t, []string{"i2"}, f.waiting(t))
	assert.Equal(t, labelling.Counts{Total: 3, New: 3}, f.state(t).Counts, "a reservation is no claim")
	mine, err := f.Claims(t.Context(), f.project, "ada")
	require.NoError(t, err)
	assert.Empty(t, mine)

	assert.Equal(t, []string{"i2"}, names(f.reserve(t, "ada", 2)), "as many as there are")
	assert.Empty(t, f.reserve(t, "ada", 2))
	none, err := f.Reserve(t.Context(), f.project, "ada", nil)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func testReserveTwice(t *testing.T, f *fixture) {
	f.items(t, 5)
	first, err := f.Reserve(t.Context(), f.project, "ada", []string{"a", "b"})
	require.NoError(t, err)
	again, err := f.Reserve(t.Context(), f.project, "ada", []string{"a", "b"})
	require.NoError(t, err)
	assert.ElementsMatch(t, names(first), names(again))
	assert.Equal(t, []string{"i2", "i3", "i4"}, f.waiting(t))
}

func testReserveInOrder(t *testing.T, f *fixture) {
	f.items(t, 6)
	claims := f.claim(t, "ada", 3) // i0 i1 i2
	f.must(t, f.ended(claims[0], labelling.Finished, project.Finished))
	f.must(t, f.after("i0", labelling.Reviewed, "ada"))
	soon := f.ended(claims[1], labelling.Deferred, project.New)
	soon.Later = time.UnixMilli(1)
	f.must(t, soon)
	never := f.ended(claims[2], labelling.Deferred, project.New)
	never.Later = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	f.must(t, never)
	assert.Equal(t, []string{"i3", "i4", "i5", "i1", "i2"}, f.waiting(t), "i0 is kept for its author")

	assert.Equal(t, []string{"i0", "i1", "i3"}, names(f.reserve(t, "ada", 3)), "what came back, what was put off until now, the queue")
	assert.Equal(t, []string{"i4", "i5"}, names(f.reserve(t, "ada", 3)), "not what was put off for longer")
	assert.Equal(t, []string{"i2"}, f.waiting(t))
	assert.Equal(t, []string{"i2"}, names(f.reserve(t, "grace", 3)), "but somebody else gets it")

	// What somebody else has, or is kept for, is not given out because it stands in a list.
	require.NoError(t, f.client.RPush(t.Context(), f.keysOf(f.project).userReturned("lin"), "i2").Err())
	assert.Empty(t, f.reserve(t, "lin", 1))
	f.count(t, 1)
	_, _, err := f.Fill(t.Context(), f.project, []string{"x"}, 5)
	require.NoError(t, err)
	soon = f.ended(f.claim(t, "lin", 1)[0], labelling.Deferred, project.New)
	soon.Later = time.UnixMilli(1)
	f.must(t, soon)
	f.must(t, f.ended(f.claim(t, "grace", 1)[0], labelling.Finished, project.Finished))
	f.must(t, f.after("x", labelling.Reviewed, "grace"))
	assert.Empty(t, f.reserve(t, "lin", 1), "it is kept for grace")
	again := f.reserve(t, "grace", 1)
	require.Equal(t, []string{"x"}, names(again))

	// Once its author has taken it, it is kept no longer.
	_, err = f.Cancel(t.Context(), again[0], false)
	require.NoError(t, err)
	added, _, err := f.Fill(t.Context(), f.project, []string{"x"}, 5)
	require.NoError(t, err)
	assert.Equal(t, 1, added)
}

func testSkipped(t *testing.T, f *fixture) {
	f.items(t, 3)
	f.must(t, f.ended(f.claim(t, "ada", 1)[0], labelling.Deferred, project.New))
	assert.Equal(t, []string{"i1", "i2", "i0"}, f.waiting(t))
	f.must(t, f.ended(f.claim(t, "ada", 1)[0], labelling.Deferred, project.New))
	assert.Equal(t, []string{"i2", "i0", "i1"}, f.waiting(t))
	last := f.reserve(t, "ada", 3)
	assert.Equal(t, []string{"i2"}, names(last))
	assert.Equal(t, []string{"i0", "i1"}, f.waiting(t), "in the same order")
	others := f.reserve(t, "grace", 3)
	assert.Equal(t, []string{"i0", "i1"}, names(others))
	assert.Equal(t, labelling.Counts{Total: 3, New: 3}, f.state(t).Counts)

	for _, c := range others {
		_, err := f.Cancel(t.Context(), c, true)
		require.NoError(t, err)
	}
	assert.Empty(t, f.reserve(t, "ada", 1))
	assert.Empty(t, f.waiting(t), "what one does not want makes room when it is all that there is")
}

func testReserveRefuses(t *testing.T, f *fixture) {
	f = f.with(Options{MaxClaims: 3})
	f.items(t, 10)
	assert.Len(t, f.reserve(t, "ada", 2), 2)
	assert.Len(t, f.reserve(t, "ada", 2), 1, "one more")
	_, err := f.Reserve(t.Context(), f.project, "ada", []string{f.id()})
	require.ErrorIs(t, err, labelling.ErrFull)
	assert.Len(t, f.reserve(t, "grace", 1), 1)

	held := f.reserve(t, "joan", 3)
	more, err := f.Reserve(t.Context(), f.project, "joan", []string{f.id(), f.id(), f.id()}, held[0].Token, held[2].Token)
	require.NoError(t, err)
	assert.Len(t, more, 2, "what has ended does not count")
	_, err = f.Reserve(t.Context(), f.project, "joan", []string{f.id()}, held[0].Token)
	require.ErrorIs(t, err, labelling.ErrFull, "the other one does")

	_, err = f.Pause(t.Context(), f.project, "boss")
	require.NoError(t, err)
	_, err = f.Reserve(t.Context(), f.project, "grace", []string{f.id()})
	require.ErrorIs(t, err, labelling.ErrPaused)
	_, err = f.Resume(t.Context(), f.project, "boss")
	require.NoError(t, err)
	assert.Len(t, f.reserve(t, "grace", 1), 1)

	_, err = f.Reserve(t.Context(), "unknown", "ada", []string{f.id()})
	require.ErrorIs(t, err, labelling.ErrNotReady)
}

func testReserveAtOnce(t *testing.T, f *fixture) {
	const users, items = 50, 500
	f.items(t, items)
	var mu sync.Mutex
	owner := map[string]labelling.UserID{}
	var all sync.WaitGroup
	for n := range users {
		u := labelling.UserID(fmt.Sprintf("u%d", n))
		all.Go(func() {
			for i := 0; ; i++ {
				claims, err := f.Reserve(t.Context(), f.project, u, []string{fmt.Sprintf("%s-%d-a", u, i), fmt.Sprintf("%s-%d-b", u, i)})
				if !assert.NoError(t, err) || len(claims) == 0 {
					return
				}
				for _, c := range claims {
					mu.Lock()
					assert.Empty(t, owner[c.Item.ID], "%s was given out already", c.Item.ID)
					owner[c.Item.ID] = u
					mu.Unlock()
					c.Until = c.Since.Add(time.Minute)
					_, err := f.Apply(t.Context(), f.claimed(c))
					assert.NoError(t, err)
					_, err = f.Apply(t.Context(), f.ended(c, labelling.Finished, project.Finished))
					assert.NoError(t, err)
				}
			}
		})
	}
	all.Wait()
	assert.Len(t, owner, items)
	assert.Equal(t, labelling.Counts{Total: items, Finished: items}, f.state(t).Counts)
}

func testCancel(t *testing.T, f *fixture) {
	f.items(t, 3)
	claims := f.reserve(t, "ada", 2)
	wrong := claims[0]
	wrong.Token = "other"
	there, err := f.Cancel(t.Context(), wrong, true)
	require.NoError(t, err)
	assert.False(t, there, "another token fences")
	for _, want := range []bool{true, false} {
		there, err := f.Cancel(t.Context(), claims[0], true)
		require.NoError(t, err)
		assert.Equal(t, want, there)
		assert.Equal(t, []string{"i0", "i2"}, f.waiting(t))
	}
	_, err = f.Cancel(t.Context(), claims[1], false)
	require.NoError(t, err)
	assert.Equal(t, []string{"i0", "i2"}, f.waiting(t), "gone, since the truth says so")

	// What was taken from a list of the user's goes back there.
	c := f.claim(t, "ada", 1)[0]
	f.must(t, f.ended(c, labelling.Finished, project.Finished))
	f.must(t, f.after("i0", labelling.Reviewed, "ada"))
	back := f.reserve(t, "ada", 1)
	_, err = f.Cancel(t.Context(), back[0], true)
	require.NoError(t, err)
	assert.Equal(t, []string{"i2"}, f.waiting(t))
	assert.Equal(t, []string{"i0"}, names(f.reserve(t, "ada", 1)))

	// A claim that the truth does not know is no longer counted. If its item was finished meanwhile, it has not expired: what ended it is told
	// when it arrives.
	for _, back := range []bool{true, false} {
		lost := f.claim(t, "grace", 1)[0]
		require.Equal(t, labelling.Counts{Total: 3, New: 2, Claimed: 1}, f.state(t).Counts)
		before := f.state(t).Cursor
		_, err = f.Cancel(t.Context(), lost, back)
		require.NoError(t, err)
		assert.Equal(t, labelling.Counts{Total: 3, New: 3}, f.state(t).Counts)
		var told []labelling.Cause
		if !back {
			f.must(t, f.ended(lost, labelling.Finished, project.Finished))
			assert.Equal(t, labelling.Counts{Total: 3, New: 2, Finished: 1}, f.state(t).Counts)
		}
		events, err := f.Read(t.Context(), f.project, before, 10, 0)
		require.NoError(t, err)
		for _, e := range events {
			told = append(told, e.Cause)
		}
		want := map[bool]labelling.Cause{true: labelling.Expired, false: labelling.Finished}[back]
		assert.Equal(t, []labelling.Cause{want}, told)
	}
}

func testExtend(t *testing.T, f *fixture) {
	f.items(t, 1)
	c := f.claim(t, "ada", 1)[0]
	cursor := f.state(t).Cursor
	c.Until = c.Until.Add(time.Hour)
	for range 2 { // twice, but told once
		known, err := f.Extend(t.Context(), c, "t1")
		require.NoError(t, err)
		assert.True(t, known)
	}
	mine, err := f.Claims(t.Context(), f.project, "ada")
	require.NoError(t, err)
	assert.Equal(t, []labelling.Claim{c}, mine)
	events, err := f.Read(t.Context(), f.project, cursor, 10, 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, labelling.Extended, events[0].Cause)
	assert.Equal(t, "i0", events[0].Item)

	for _, foreign := range []labelling.Claim{
		{Item: c.Item, User: c.User, Token: "other", Until: c.Until}, {Item: c.Item, User: "eve", Token: c.Token, Until: c.Until.Add(1e9)},
		{Item: project.ItemID{Project: f.project, ID: "none"}, User: c.User, Token: c.Token, Until: c.Until},
	} {
		known, err := f.Extend(t.Context(), foreign, "t1")
		require.NoError(t, err)
		assert.False(t, known)
	}
}

func testExpired(t *testing.T, f *fixture) {
	f = f.with(Options{Reservation: time.Millisecond})
	f.items(t, 3)
	claims := f.reserve(t, "ada", 3)
	claims[1].Until = claims[1].Since.Add(time.Hour)
	f.must(t, f.claimed(claims[1]))
	claims[2].Until = claims[2].Since.Add(-time.Second)
	f.must(t, f.claimed(claims[2]))
	require.Eventually(t, func() bool {
		lapsed, err := f.Expired(t.Context(), f.project, 10)
		return assert.NoError(t, err) && assert.ObjectsAreEqual([]labelling.Lapsed{
			{Claim: claims[2]}, {Claim: claims[0], Reserved: true},
		}, lapsed)
	}, 10*time.Second, time.Millisecond, "the oldest first; the one with an hour left is not over")
	one, err := f.Expired(t.Context(), f.project, 1)
	require.NoError(t, err)
	assert.Len(t, one, 1)

	f.must(t, f.ended(claims[2], labelling.Expired, project.New))
	left, err := f.Expired(t.Context(), f.project, 10)
	require.NoError(t, err)
	assert.Equal(t, []string{"i0"}, []string{left[0].Item.ID})
	assert.Equal(t, []string{"i2"}, f.waiting(t), "back at the front")

	wip := f.keysOf(f.project).wip()
	require.NoError(t, f.client.ZAdd(t.Context(), wip, redis.Z{Member: "orphan"}).Err())
	left, err = f.Expired(t.Context(), f.project, 10)
	require.NoError(t, err)
	assert.Len(t, left, 1, "nobody has claimed it")
	assert.ErrorIs(t, f.client.ZScore(t.Context(), wip, "orphan").Err(), redis.Nil)
}

func testFill(t *testing.T, f *fixture) {
	f.items(t, 2)
	f.count(t, 10)
	f.claim(t, "ada", 1)   // i0
	f.reserve(t, "ada", 1) // i1
	fill := func(size int, ids ...string) (added, missing int) {
		added, missing, err := f.Fill(t.Context(), f.project, ids, size)
		require.NoError(t, err)
		return added, missing
	}
	added, missing := fill(5, "i0", "i1", "x", "y", "x")
	assert.Equal(t, []int{2, 3}, []int{added, missing}, "neither what is claimed or reserved, nor anything twice")
	added, missing = fill(5, "x", "z")
	assert.Equal(t, []int{1, 2}, []int{added, missing})
	added, missing = fill(4, "a", "b")
	assert.Equal(t, []int{1, 0}, []int{added, missing}, "not above its size")
	assert.Equal(t, []string{"x", "y", "z", "a"}, f.waiting(t))
	n, err := f.Need(t.Context(), f.project, 10)
	require.NoError(t, err)
	assert.Equal(t, 6, n)
	n, err = f.Need(t.Context(), f.project, 1)
	require.NoError(t, err)
	assert.Zero(t, n)

	// What is kept for its author is not for others, but not for ever.
	c := f.claim(t, "ada", 1)[0] // x
	f.must(t, f.ended(c, labelling.Finished, project.Finished))
	f.must(t, f.after("x", labelling.Reviewed, "ada"))
	added, _ = fill(5, "x")
	assert.Zero(t, added)
	f = f.with(Options{Hold: time.Nanosecond})
	c = f.claim(t, "ada", 1)[0] // x again
	require.Equal(t, "x", c.Item.ID)
	f.must(t, f.ended(c, labelling.Finished, project.Finished))
	f.must(t, f.after("x", labelling.Reviewed, "ada"))
	require.Eventually(t, func() bool {
		added, _, err := f.Fill(t.Context(), f.project, []string{"x"}, 5)
		return err == nil && added == 1
	}, 10*time.Second, time.Millisecond)
	assert.Equal(t, []string{"x"}, names(f.reserve(t, "ada", 1)))
	assert.NotContains(t, f.waiting(t), "x", "taken from both lists")
}

func testFillAtOnce(t *testing.T, f *fixture) {
	ids := make([]string, 300)
	for i := range ids {
		ids[i] = fmt.Sprintf("x%d", i)
	}
	f.count(t, len(ids))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := 0; i < len(ids); i += 20 {
				_, _, err := f.Fill(t.Context(), f.project, ids[i:i+20], 250)
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	waiting := f.waiting(t)
	assert.Len(t, waiting, 250)
	seen := map[string]bool{}
	for _, id := range waiting {
		assert.False(t, seen[id], "%s is there twice", id)
		seen[id] = true
	}
}
