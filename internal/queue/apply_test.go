package queue

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

func testApply(t *testing.T, f *fixture) {
	f.items(t, 6)
	claims := f.claim(t, "ada", 5)
	assert.Equal(t, labelling.Counts{Total: 6, New: 1, Claimed: 5}, f.state(t).Counts)
	mine, err := f.Claims(t.Context(), f.project, "ada")
	require.NoError(t, err)
	assert.ElementsMatch(t, claims, mine)

	back := f.after("i1", labelling.Returns, "ada")
	back.From = project.Skipped
	for _, step := range []struct {
		do      labelling.Transition
		counts  labelling.Counts
		waiting []string
	}{
		{f.ended(claims[0], labelling.Finished, project.Finished), labelling.Counts{New: 1, Claimed: 4, Finished: 1}, []string{"i5"}},
		{f.ended(claims[1], labelling.Skipped, project.Skipped), labelling.Counts{New: 1, Claimed: 3, Finished: 1, Skipped: 1}, []string{"i5"}},
		{f.ended(claims[2], labelling.Released, project.New), labelling.Counts{New: 2, Claimed: 2, Finished: 1, Skipped: 1}, []string{"i2", "i5"}},
		{f.ended(claims[3], labelling.Deferred, project.New), labelling.Counts{New: 3, Claimed: 1, Finished: 1, Skipped: 1}, []string{"i2", "i5", "i3"}},
		{f.ended(claims[4], labelling.Expired, project.New), labelling.Counts{New: 4, Finished: 1, Skipped: 1}, []string{"i4", "i2", "i5", "i3"}},
		{f.after("i0", labelling.Undone, "ada"), labelling.Counts{New: 5, Skipped: 1}, []string{"i4", "i2", "i5", "i3"}},
		{back, labelling.Counts{New: 6}, []string{"i1", "i4", "i2", "i5", "i3"}},
	} {
		cursor := f.state(t).Cursor
		step.counts.Total = 6
		for _, news := range []bool{true, false} {
			applied, err := f.Apply(t.Context(), step.do)
			require.NoError(t, err)
			assert.Equal(t, news, applied)
			assert.Equal(t, step.counts, f.state(t).Counts, step.do.Cause)
			assert.Equal(t, step.waiting, f.waiting(t), step.do.Cause)
		}
		events, err := f.Read(t.Context(), f.project, cursor, 10, 0)
		require.NoError(t, err)
		require.Len(t, events, 1, "told once")
		assert.Equal(t, labelling.Event{
			Cursor: events[0].Cursor, Cause: step.do.Cause, Item: step.do.Item, User: "ada", Team: "t1", Status: step.do.Status,
			Counts: step.counts, Queued: len(step.waiting), At: step.do.At.UTC(),
		}, events[0])
	}
	mine, err = f.Claims(t.Context(), f.project, "ada")
	require.NoError(t, err)
	assert.Empty(t, mine)
	assert.Equal(t, []string{"i0"}, names(f.reserve(t, "ada", 1)), "what one takes back, one gets first")

	f.must(t, f.ended(f.claim(t, "grace", 1)[0], labelling.Finished, project.Finished)) // i4
	fine := f.after("i4", labelling.Reviewed, "grace")
	fine.Incorrect, fine.Status = false, project.Finished
	f.must(t, fine)
	assert.Equal(t, 1, f.state(t).Counts.Finished)

	// A claim can be made by taking back, too.
	again := f.after("i4", labelling.Undone, "grace")
	again.Status, again.Token, again.Until = project.Claimed, "again", time.UnixMilli(1e12).Add(time.Hour)
	f.must(t, again)
	assert.Equal(t, labelling.Counts{Total: 6, New: 5, Claimed: 1}, f.state(t).Counts)
	mine, err = f.Claims(t.Context(), f.project, "grace")
	require.NoError(t, err)
	assert.Equal(t, []string{"i4"}, names(mine))
}

func testLostAcknowledgement(t *testing.T, f *fixture) {
	f.items(t, 3)
	claims := f.reserve(t, "ada", 3)
	f.must(t, f.ended(claims[0], labelling.Finished, project.Finished))
	assert.Equal(t, labelling.Counts{Total: 3, New: 2, Finished: 1}, f.state(t).Counts)
	f.must(t, f.ended(claims[1], labelling.Released, project.New))
	assert.Equal(t, labelling.Counts{Total: 3, New: 2, Finished: 1}, f.state(t).Counts)
	for _, c := range claims[:2] { // now they come, too late, under whatever id
		late := f.claimed(c)
		late.ID = f.id()
		for _, late := range []labelling.Transition{f.claimed(c), late} {
			applied, err := f.Apply(t.Context(), late)
			require.NoError(t, err)
			assert.False(t, applied)
		}
	}
	assert.Equal(t, labelling.Counts{Total: 3, New: 2, Finished: 1}, f.state(t).Counts)
	assert.Equal(t, []string{"i1"}, f.waiting(t))

	// The reservation was cancelled although the truth knows the claim: the item is taken out of the queue again.
	_, err := f.Cancel(t.Context(), claims[2], true)
	require.NoError(t, err)
	other := f.reserve(t, "grace", 1)
	require.Equal(t, []string{"i2"}, names(other))
	f.must(t, f.claimed(claims[2]))
	there, err := f.Cancel(t.Context(), other[0], true)
	require.NoError(t, err)
	assert.False(t, there)
	assert.Equal(t, labelling.Counts{Total: 3, New: 1, Claimed: 1, Finished: 1}, f.state(t).Counts)
	assert.Equal(t, []string{"i1"}, f.waiting(t))

	// The same, and the item waits while its claim, or the end of it, becomes known.
	f.count(t, 2)
	for _, c := range []labelling.Transition{f.claimed(f.claimOf("x", "ada", "x")), f.ended(f.claimOf("y", "ada", "y"), labelling.Finished, project.Finished)} {
		_, _, err := f.Fill(t.Context(), f.project, []string{c.Item}, 5)
		require.NoError(t, err)
		require.Contains(t, f.waiting(t), c.Item)
		f.must(t, c)
		assert.Equal(t, []string{"i1"}, f.waiting(t))
	}

	// What comes too late moves nothing: neither back into the queue, while somebody else has it …
	newer := f.claimOf("x", "grace", "newer")
	newer.Since = newer.Since.Add(time.Second)
	f.must(t, f.claimed(newer))
	f.must(t, f.ended(f.claimOf("x", "ada", "x"), labelling.Released, project.New))
	assert.Equal(t, []string{"i1"}, f.waiting(t))
	// … nor back to its author, when it was finished anew.
	f.must(t, f.ended(f.claimOf("z", "lin", "z2"), labelling.Finished, project.Finished))
	undo := f.claimed(f.claimOf("z", "lin", "z2"))
	undo.ID, undo.Cause = f.id(), labelling.Undone
	f.must(t, undo)
	assert.Equal(t, []string{"i1"}, names(f.reserve(t, "lin", 2)))
}

// A claim tells its time by Redis, and what came before it by a server, whose clock may be ahead: which is newer, versions say.
func testClocksThatDiffer(t *testing.T, f *fixture) {
	f.items(t, 1)
	c := f.claim(t, "ada", 1)[0]
	f.must(t, f.ended(c, labelling.Finished, project.Finished))
	undo, newer := f.claimed(f.claimOf(c.Item.ID, "ada", "again")), f.claimed(f.claimOf(c.Item.ID, "grace", "newer"))
	undo.ID, undo.Cause, undo.Version, undo.At = f.id(), labelling.Undone, 4, newer.At.Add(10*time.Minute)
	newer.Version = 6
	released := f.ended(f.claimOf(c.Item.ID, "ada", "again"), labelling.Released, project.New)
	released.Version = 5
	for _, tr := range []labelling.Transition{newer, undo, released} {
		f.must(t, tr)
	}
	claims, err := f.Claims(t.Context(), f.project, "grace")
	require.NoError(t, err)
	assert.Equal(t, []string{c.Item.ID}, names(claims), "she has it still")
	assert.Equal(t, labelling.Counts{Total: 1, Claimed: 1}, f.state(t).Counts)
	assert.Empty(t, f.waiting(t))
}

// A transition that comes before the one that it follows changes nothing, and is not counted as one that came.
func testInTurn(t *testing.T, f *fixture) {
	f.items(t, 1)
	done := f.ended(f.claim(t, "ada", 1)[0], labelling.Finished, project.Finished)
	undo := f.after("i0", labelling.Undone, "ada")
	undo.Follows = done.Ref()
	before := f.state(t)
	for range 2 {
		_, err := f.Apply(t.Context(), undo)
		require.ErrorIs(t, err, labelling.ErrEarly)
	}
	assert.Equal(t, before, f.state(t))
	f.must(t, done)
	f.must(t, undo)
	events, err := f.Read(t.Context(), f.project, before.Cursor, 10, 0)
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.Equal(t, []labelling.Cause{labelling.Finished, labelling.Undone}, []labelling.Cause{events[0].Cause, events[1].Cause})

	// What was applied was applied, whatever is remembered of the one before.
	require.NoError(t, f.client.ZRem(t.Context(), f.keysOf(f.project).applied(), done.ID).Err())
	applied, err := f.Apply(t.Context(), undo)
	require.NoError(t, err)
	assert.False(t, applied)
}

func testForgets(t *testing.T, f *fixture) {
	f.items(t, 2)
	applied := f.keysOf(f.project).applied()
	now, err := f.Now(t.Context())
	require.NoError(t, err)
	for id, age := range map[string]time.Duration{"old": labelling.Remembered + time.Minute, "young": labelling.Remembered - time.Minute} {
		require.NoError(t, f.client.ZAdd(t.Context(), applied, redis.Z{Member: id, Score: float64(now.Add(-age).UnixMilli())}).Err())
	}
	done := f.ended(f.claim(t, "ada", 1)[0], labelling.Finished, project.Finished)
	done.Keywords = []string{"wing"}
	f.must(t, done)
	assert.ErrorIs(t, f.client.ZScore(t.Context(), applied, "old").Err(), redis.Nil)
	assert.NoError(t, f.client.ZScore(t.Context(), applied, "young").Err())

	undo := f.after("i0", labelling.Undone, "ada")
	undo.Keywords = done.Keywords
	f.must(t, undo)
	assert.ErrorIs(t, f.client.ZScore(t.Context(), f.keysOf(f.project).count(labelling.Keywords), "wing").Err(), redis.Nil)
}

// testAnyOrder applies histories of items in every order, every transition twice. In the end the counts are those of the histories.
func testAnyOrder(t *testing.T, f *fixture) {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	claim := func(cause labelling.Cause, token string) labelling.Transition {
		return labelling.Transition{ID: "claim " + token, Cause: cause, Status: project.Claimed, User: "ada", Team: "t1", Token: token}
	}
	end := func(cause labelling.Cause, status project.Status, token string) labelling.Transition {
		return labelling.Transition{ID: "end " + token, Cause: cause, Status: status, User: "ada", Team: "t1", Token: token, Keywords: []string{"wing"}}
	}
	review := labelling.Transition{ID: "review", Cause: labelling.Reviewed, Status: project.New, User: "boss", Author: "ada", AuthorTeam: "t1", Incorrect: true}
	undo := labelling.Transition{ID: "undo", Cause: labelling.Undone, Status: project.New, User: "ada", Team: "t1", Keywords: []string{"wing"}}
	takeAway := labelling.Transition{ID: "remove", Cause: labelling.Removed, Status: project.Removed, From: project.New, User: "boss", Author: "ada", Token: "a"}
	undoToClaim := claim(labelling.Undone, "b")
	undoToClaim.ID, undoToClaim.Keywords = "undo", []string{"wing"}
	want := labelling.Counts{}
	efforts := 0
	for h, history := range []struct {
		steps   []labelling.Transition
		end     *int
		efforts int
	}{
		{[]labelling.Transition{claim(labelling.Claimed, "a"), end(labelling.Released, project.New, "a"), claim(labelling.Claimed, "b")}, &want.Claimed, 0},
		{[]labelling.Transition{claim(labelling.Claimed, "a"), end(labelling.Finished, project.Finished, "a"), review, claim(labelling.Claimed, "b")}, &want.Claimed, 1},
		{[]labelling.Transition{claim(labelling.Claimed, "a"), end(labelling.Finished, project.Finished, "a"), review, claim(labelling.Claimed, "b"), end(labelling.Skipped, project.Skipped, "b")}, &want.Skipped, 1},
		{[]labelling.Transition{claim(labelling.Claimed, "a"), end(labelling.Expired, project.New, "a"), claim(labelling.Claimed, "b"), end(labelling.Finished, project.Finished, "b")}, &want.Finished, 1},
		{[]labelling.Transition{claim(labelling.Claimed, "a"), end(labelling.Finished, project.Finished, "a"), undo}, &want.New, 0},
		{[]labelling.Transition{claim(labelling.Claimed, "a"), end(labelling.Finished, project.Finished, "a"), undoToClaim}, &want.Claimed, 0},
		{[]labelling.Transition{claim(labelling.Claimed, "a"), end(labelling.Finished, project.Finished, "a"), undoToClaim, end(labelling.Finished, project.Finished, "b")}, &want.Finished, 1},
		{[]labelling.Transition{claim(labelling.Claimed, "a"), takeAway}, nil, 0},
	} {
		n := 0
		permutations(len(history.steps), func(order []int) {
			n++
			item := fmt.Sprintf("h%d-%d", h, n)
			_, err := f.AddItems(t.Context(), f.project, item, 1, "boss")
			require.NoError(t, err)
			for range 2 {
				for _, i := range order {
					step := history.steps[i]
					step.Project, step.Item, step.At = f.project, item, at.Add(time.Duration(i)*time.Second)
					step.ID += " " + item
					if step.Token != "" {
						step.Token += " " + item
					}
					_, err := f.Apply(t.Context(), step)
					require.NoError(t, err)
				}
			}
			if history.end != nil { // otherwise it is removed
				want.Total++
				*history.end++
			}
			efforts += history.efforts
			require.Equal(t, want, f.state(t).Counts, "history %d in the order %v", h, order)
		})
	}
	statistics, err := f.StatisticsOf(t.Context(), f.project, []string{"t1"})
	require.NoError(t, err)
	assert.Equal(t, efforts, statistics[0].Finished)
	k := f.keysOf(f.project)
	claims, err := f.client.HLen(t.Context(), k.claims()).Result()
	require.NoError(t, err)
	assert.EqualValues(t, want.Claimed, claims, "as many claims as claimed items")
	top, err := f.Top(t.Context(), f.project, labelling.Keywords)
	require.NoError(t, err)
	assert.Equal(t, "wing", top[0].Value)
}

// permutations calls use with every order of the numbers below n.
func permutations(n int, use func([]int)) {
	order := make([]int, 0, n)
	taken := make([]bool, n)
	var extend func()
	extend = func() {
		if len(order) == n {
			use(order)
			return
		}
		for i := range n {
			if !taken[i] {
				taken[i], order = true, append(order, i)
				extend()
				taken[i], order = false, order[:len(order)-1]
			}
		}
	}
	extend()
}

func testStatistics(t *testing.T, f *fixture) {
	f.items(t, 10)
	finish := func(u labelling.UserID, team, category string, keywords ...string) labelling.Transition {
		done := f.ended(f.claim(t, u, 1)[0], labelling.Finished, project.Finished)
		done.Team, done.Category, done.Subcategory, done.Keywords = team, category, "sub "+category, keywords
		f.must(t, done)
		return done
	}
	finish("ada", "t1", "bird", "a", "b", "c", "d", "e", "f")
	finish("ada", "t1", "bird", "f", "e", "ß")
	last := finish("grace", "t1", "fish", "f", "<x> & \"\u2028\\")
	f.must(t, f.after("i0", labelling.Reviewed, "ada"))

	statistics, err := f.StatisticsOf(t.Context(), f.project, []string{"none", "t1", "t2"})
	require.NoError(t, err)
	assert.Equal(t, []labelling.Statistics{
		{Team: "none"},
		{Team: "t1", Finished: 3, Incorrect: 1, Users: []labelling.UserStatistics{{User: "ada", Finished: 2, Incorrect: 1}, {User: "grace", Finished: 1}}},
		{Team: "t2"},
	}, statistics)
	top := func(w labelling.Words) []labelling.Used {
		used, err := f.Top(t.Context(), f.project, w)
		require.NoError(t, err)
		return used
	}
	assert.Equal(t, []labelling.Used{{Value: "bird", Count: 2}, {Value: "fish", Count: 1}}, top(labelling.Categories))
	assert.Equal(t, []labelling.Used{{Value: "sub bird", Count: 2}, {Value: "sub fish", Count: 1}}, top(labelling.Subcategories))
	keywords := top(labelling.Keywords)
	require.Len(t, keywords, labelling.TopUsed)
	assert.Equal(t, []labelling.Used{{Value: "f", Count: 3}, {Value: "e", Count: 2}}, keywords[:2])

	odd, err := f.Keywords(t.Context(), f.project, "<", 5)
	require.NoError(t, err)
	assert.Equal(t, []string{"<x> & \"\u2028\\"}, odd)

	merged := f.after(last.Item, labelling.Relabelled, "")
	merged.Efforts = []labelling.CountedEffort{{User: "grace", Team: "t1", Category: "fish", Subcategory: "sub fish", Keywords: last.Keywords, Into: labelling.Labels{Category: "bird", Subcategory: "sub fish"}}}
	before := f.state(t)
	f.must(t, merged)
	assert.Equal(t, []labelling.Used{{Value: "bird", Count: 3}}, top(labelling.Categories))
	assert.Equal(t, []labelling.Used{{Value: "sub bird", Count: 2}, {Value: "sub fish", Count: 1}}, top(labelling.Subcategories))
	assert.Equal(t, keywords, top(labelling.Keywords))
	assert.Equal(t, before.Counts, f.state(t).Counts)
	last.Category = "bird"

	undo := f.after(last.Item, labelling.Undone, "grace")
	undo.Category, undo.Subcategory, undo.Keywords = last.Category, last.Subcategory, last.Keywords
	f.must(t, undo)
	assert.Equal(t, []labelling.Used{{Value: "bird", Count: 2}}, top(labelling.Categories))
	assert.Equal(t, 2, top(labelling.Keywords)[0].Count)
	statistics, err = f.StatisticsOf(t.Context(), f.project, []string{"t1"})
	require.NoError(t, err)
	assert.Equal(t, 2, statistics[0].Finished)
	assert.Equal(t, labelling.UserStatistics{User: "grace"}, statistics[0].Users[1])
}

// testCountsAddUp lets many work at once, with acknowledgements lost and late and everything applied twice, and looks at the
// counts all the while.
func testCountsAddUp(t *testing.T, f *fixture) {
	const users, items = 20, 200
	f.items(t, items)
	stop, samples := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { samples <- n }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			s, err := f.State(t.Context(), f.project)
			if c := s.Counts; assert.NoError(t, err) {
				assert.Equal(t, items, c.New+c.Claimed+c.Finished+c.Skipped)
				assert.GreaterOrEqual(t, min(c.New, c.Claimed, c.Finished, c.Skipped), 0)
			}
			n++
		}
	}()
	var all sync.WaitGroup
	for n := range users {
		u := labelling.UserID(fmt.Sprintf("u%d", n))
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			apply := func(tr labelling.Transition) {
				for range 1 + random.IntN(2) {
					_, err := f.Apply(t.Context(), tr)
					assert.NoError(t, err)
				}
			}
			for i := 0; ; i++ {
				claims, err := f.Reserve(t.Context(), f.project, u, []string{fmt.Sprintf("%s-%d", u, i)})
				if !assert.NoError(t, err) || len(claims) == 0 {
					return
				}
				c, late := claims[0], random.IntN(3) == 0
				c.Until = c.Since.Add(time.Hour)
				if random.IntN(4) > 0 && !late {
					apply(f.claimed(c))
				}
				switch random.IntN(4) {
				case 0:
					apply(f.ended(c, labelling.Released, project.New))
				case 1:
					apply(f.ended(c, labelling.Skipped, project.Skipped))
				default:
					apply(f.ended(c, labelling.Finished, project.Finished))
				}
				if late {
					apply(f.claimed(c))
				}
			}
		})
	}
	all.Wait()
	close(stop)
	assert.Positive(t, <-samples)
	s := f.state(t)
	assert.Equal(t, items, s.Counts.Finished+s.Counts.Skipped)
	statistics, err := f.StatisticsOf(t.Context(), f.project, []string{"t1"})
	require.NoError(t, err)
	assert.Equal(t, s.Counts.Finished, statistics[0].Finished)
}
