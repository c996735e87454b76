package labellingtest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
	"github.com/taggie/taggie/internal/storetest/projecttest"
)

func orderedOutbox(t *testing.T, w *World) {
	ctx := t.Context()
	items := w.Fill(40)
	var want []labelling.Transition
	var third time.Time
	for n := range items {
		if n%4 == 0 { // others are at the same millisecond
			w.Clock.Advance(time.Second)
		}
		if n == 8 {
			third = w.Clock.Now()
		}
		m := w.Finishing(items[n], w.Ada, w.Label("owl").ID, "")
		w.Do(m)
		want = append(want, *m.Transition)
	}
	found := w.Outbox()
	assert.ElementsMatch(t, want, found)
	assert.True(t, slices.IsSortedFunc(found, func(a, b labelling.Transition) int { return a.At.Compare(b.At) }), "the oldest first")
	old, err := w.Truth.ListOutbox(ctx, third, 1_000)
	require.NoError(t, err)
	assert.Equal(t, found[:8], old, "before the instant")
	old, err = w.Truth.ListOutbox(ctx, third.Add(time.Millisecond), 1_000)
	require.NoError(t, err)
	assert.Equal(t, found[:12], old)
	oldest, err := w.Truth.ListOutbox(ctx, w.Clock.Now().Add(time.Hour), 1)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(oldest), labelling.Shards)
	assert.Equal(t, found[0].At, oldest[0].At, "the oldest of all is the oldest of its part")

	never := want[0]
	never.ID = "never"
	waits := func(t labelling.Transition) bool {
		found, there, err := w.Truth.FindOutbox(ctx, t.Item, t.Ref())
		require.NoError(w.T, err)
		if there {
			assert.Equal(w.T, t, found)
		}
		return there
	}
	assert.True(t, waits(found[29]))
	assert.False(t, waits(never))
	last := func(t labelling.Transition) project.Item {
		return project.Item{ItemID: project.ItemID{Project: t.Project, ID: t.Item}, LastTransition: t.Ref()}
	}
	pending := func(of ...project.Item) []bool {
		found, err := w.Truth.LastPending(ctx, of)
		require.NoError(w.T, err)
		return found
	}
	assert.Equal(t, []bool{true, false, false, true}, pending(last(found[29]), last(never), items[len(items)-1], last(found[0])))
	assert.Empty(t, pending())
	require.NoError(t, w.Truth.DeleteOutbox(ctx, append([]labelling.Transition{never, found[3], found[3]}, found[:30]...)))
	require.NoError(t, w.Truth.DeleteOutbox(ctx, found[:30]), "again")
	require.NoError(t, w.Truth.DeleteOutbox(ctx, nil))
	assert.Equal(t, found[30:], w.Outbox())
	assert.False(t, waits(found[29]))
	assert.True(t, waits(found[30]))
	assert.Equal(t, []bool{false, true}, pending(last(found[29]), last(found[30])))

	// One item within one millisecond: in the order of its versions.
	require.NoError(t, w.Truth.DeleteOutbox(ctx, found))
	item := w.Get(items[0].ItemID)
	for range 6 {
		next := item
		next.Version++
		item = w.Do(labelling.Move{Before: item, After: next, Transition: w.Transition(labelling.Reviewed, next, w.Ada)})
	}
	var versions []int
	for _, t := range w.Outbox() {
		versions = append(versions, t.Version)
	}
	assert.Equal(t, []int{3, 4, 5, 6, 7, 8}, versions)
}

func listedByStatus(t *testing.T, w *World) {
	items := w.Fill(60)
	var claimed []project.Item
	for _, i := range items[:20] {
		claimed = append(claimed, w.Do(w.Claiming(i, w.Ada)))
	}
	for status, want := range map[project.Status][]project.Item{project.New: items[20:], project.Claimed: claimed, project.Finished: nil} {
		whole := w.Listed(status, 1_000)
		assert.Equal(t, whole, w.Listed(status, 2), status)
		assert.Equal(t, whole, w.Listed(status, 1), status)
		sorted := slices.Sorted(slices.Values(whole))
		assert.Equal(t, sortedIDs(want), append([]string{}, sorted...), status)
	}
	seq := map[string]string{}
	for _, i := range items {
		seq[i.ID] = i.Seq
	}
	for shard := range labelling.Shards {
		ids, next, err := w.Truth.ListByStatus(t.Context(), w.Project.ID, project.New, shard, labelling.Place{}, 100)
		require.NoError(t, err)
		assert.Empty(t, next)
		assert.True(t, slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(seq[a], seq[b]) }), "in the order of imports")
	}
	// Pages go on behind an item that is there no longer.
	for shard := range labelling.Shards {
		ids, next, err := w.Truth.ListByStatus(t.Context(), w.Project.ID, project.New, shard, labelling.Place{}, 1)
		require.NoError(t, err)
		if next == (labelling.Place{}) {
			continue
		}
		w.Do(w.Claiming(w.Get(project.ItemID{Project: w.Project.ID, ID: ids[0]}), w.Ada))
		rest, _, err := w.Truth.ListByStatus(t.Context(), w.Project.ID, project.New, shard, next, 100)
		require.NoError(t, err)
		all, _, err := w.Truth.ListByStatus(t.Context(), w.Project.ID, project.New, shard, labelling.Place{}, 100)
		require.NoError(t, err)
		assert.Equal(t, all, rest)
	}
	none, next, err := w.Truth.ListByStatus(t.Context(), "nothing", project.New, 0, labelling.Place{}, 10)
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.Empty(t, next)
}

func scanned(t *testing.T, w *World) {
	items := w.Fill(50)
	other, _ := w.Create(w.Ada, []string{"owl"}, nil) // whose items are none of ours
	mine := w.Project
	w.Project = other
	w.Fill(5)
	w.Project = mine
	var efforts []project.Effort
	for n := range items[:20] {
		w.Clock.Advance(time.Second)
		m := w.Finishing(items[n], w.Ada, w.Label("owl").ID, "")
		items[n] = w.Do(m)
		efforts = append(efforts, *m.Effort)
	}
	assert.ElementsMatch(t, items, w.ScannedItems())
	assert.ElementsMatch(t, efforts, w.ScannedEfforts())
	for shard := range labelling.Shards {
		var at []time.Time
		require.NoError(t, w.Truth.ScanItems(t.Context(), mine.ID, shard, func(page []project.Item) error {
			for _, i := range page {
				at = append(at, i.UpdatedAt)
			}
			return nil
		}))
		assert.True(t, slices.IsSortedFunc(at, time.Time.Compare), "those that changed last at the end")
	}
}

func scannedMeanwhile(t *testing.T, w *World) {
	items := w.Fill(48)
	stop := make(chan struct{})
	var moving sync.WaitGroup
	for part := range 2 {
		moving.Go(func() {
			mine := slices.Clone(items[part*24 : part*24+24])
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				w.Clock.Advance(time.Millisecond)
				m := w.Claiming(mine[n%24], w.Ada)
				if assert.NoError(t, w.Truth.MoveItem(t.Context(), m, idempotency.Key{})) {
					mine[n%24] = m.After
				}
			}
		})
	}
	for range 4 {
		seen := map[string]bool{}
		for _, i := range w.ScannedItems() {
			seen[i.ID] = true
		}
		assert.Len(t, seen, 48)
	}
	close(stop)
	moving.Wait()
	assert.Len(t, w.ScannedItems(), 48, "nothing moves any more: each is there once")
}

func scanEnded(t *testing.T, w *World) {
	w.Fill(40)
	enough := errors.New("enough")
	calls := 0
	for shard := range labelling.Shards {
		err := w.Truth.ScanItems(t.Context(), w.Project.ID, shard, func([]project.Item) error {
			calls++
			return enough
		})
		if err != nil {
			require.ErrorIs(t, err, enough)
		}
	}
	assert.Positive(t, calls)
	assert.LessOrEqual(t, calls, labelling.Shards)
}

func effortsOfOneMoment(t *testing.T, w *World) {
	item := w.Fill(1)[0]
	id, owl := item.ItemID, w.Label("owl")
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		for range 25 {
			w.Clock.Advance(time.Millisecond)
			m := w.Finishing(item, w.Ada, owl.ID, "")
			if !assert.NoError(t, w.Truth.MoveItem(t.Context(), m, idempotency.Key{})) {
				return
			}
			item = m.After
		}
	})
	seen, reads := 0, 0
	for seen < 25 && !t.Failed() {
		found, efforts, err := w.Truth.ItemWithEfforts(t.Context(), id)
		if reads++; reads%2 == 0 {
			items, all, errs := w.Truth.ItemsWithEfforts(t.Context(), []project.ItemID{id})
			found, efforts, err = items[0], all[0], errs[0]
		}
		require.NoError(t, err)
		require.GreaterOrEqual(t, found.Efforts, seen)
		seen = found.Efforts
		require.Equal(t, found.Efforts, found.EffortsMade)
		require.Len(t, efforts, found.Efforts, "at version %d", found.Version)
		if seen > 0 {
			require.Equal(t, found.LastEffort, efforts[seen-1].ID)
		}
	}
}

func itemsWithEfforts(t *testing.T, w *World) {
	items := w.Fill(130)
	owl := w.Label("owl").ID
	want, efforts := slices.Clone(items), make([][]project.Effort, len(items))
	for n := range items {
		w.Clock.Advance(time.Millisecond)
		step := func(m labelling.Move) {
			want[n] = w.Do(m)
			if m.Known != nil {
				efforts[n][len(efforts[n])-1] = *m.Effort
			} else if m.Effort != nil {
				efforts[n] = append(efforts[n], *m.Effort)
			}
		}
		switch {
		case n < 10: // nobody touched it
		case n < 15:
			step(w.Claiming(want[n], w.Ada))
		case n < 120:
			step(w.Finishing(want[n], w.Ada, owl, ""))
		default:
			step(w.Finishing(want[n], w.Ada, owl, ""))
			step(w.Reviewing(want[n], efforts[n][0], w.Ada))
			if n%2 == 0 {
				step(w.Finishing(want[n], w.Ada, owl, ""))
			}
			if n%4 == 0 {
				step(w.Undoing(want[n], efforts[n][1]))
			}
		}
	}
	want[20] = w.Do(w.Undoing(want[20], efforts[20][0]))
	ids := projecttest.ItemIDs(items)
	for n, i := range items {
		_, of, err := w.Truth.ItemWithEfforts(t.Context(), i.ItemID)
		require.NoError(t, err)
		efforts[n] = of // as they were taken back, too
	}
	nothing := ids[0]
	nothing.ID = "nothing"
	found, of, errs := w.Truth.ItemsWithEfforts(t.Context(), append(ids, nothing))
	require.Len(t, errs, len(ids)+1)
	for n := range ids {
		require.NoError(t, errs[n])
		require.Equal(t, want[n], found[n])
		require.ElementsMatch(t, efforts[n], of[n], "of item %d", n)
	}
	storetest.IsFault(t, errs[len(ids)], fault.NotFound)
	assert.Zero(t, found[len(ids)])
}

func manyEfforts(t *testing.T, w *World) {
	item := w.Fill(1)[0]
	var want []project.Effort
	for range 105 {
		w.Clock.Advance(time.Millisecond)
		m := w.Finishing(item, w.Ada, w.Label("owl").ID, "")
		item = w.Do(m)
		want = append(want, *m.Effort)
		if n := len(want); n == 99 || n == 100 || n == 105 {
			found, efforts, err := w.Truth.ItemWithEfforts(t.Context(), item.ItemID)
			require.NoError(t, err)
			require.Equal(t, item, found)
			require.Equal(t, want, efforts)
		}
	}
}

func listedProjectsOfAll(t *testing.T, w *World) {
	want := []project.ID{w.Project.ID}
	for n := range 30 {
		p, _ := w.Create(w.Ada, storetest.Numbered("label", n*7), nil) // those of many labels, too
		want = append(want, p.ID)
	}
	slices.Sort(want)
	assert.Equal(t, want, w.allProjects(1_000))
	assert.Equal(t, want, w.allProjects(7))
	assert.Equal(t, want, w.allProjects(1))
}

func pausedProject(t *testing.T, w *World) {
	after := w.Project
	after.Paused, after.QueueSize, after.Version, after.UpdatedAt = true, 50, 2, w.Clock.Now()
	read := func() project.Project {
		projects, errs := w.Truth.ProjectsByID(t.Context(), w.Ada, []project.ID{w.Project.ID})
		require.Nil(t, errs)
		return projects[0]
	}
	assert.Equal(t, w.Project, read())
	require.NoError(t, w.Truth.UpdateProject(t.Context(), w.Project, after, idempotency.Key{}))
	assert.Equal(t, after, read())
	var conflict *project.VersionConflict
	require.ErrorAs(t, w.Truth.UpdateProject(t.Context(), w.Project, after, idempotency.Key{}), &conflict)
	assert.Equal(t, after, conflict.Current)
	resumed := after
	resumed.Paused, resumed.QueueSize, resumed.Version = false, 0, 3
	require.NoError(t, w.Truth.UpdateProject(t.Context(), after, resumed, idempotency.Key{}))
	assert.Equal(t, resumed, read())
}

func projectAsMany(t *testing.T, w *World) {
	users := slices.Repeat([]project.UserID{"a stranger"}, 150) // more than one batch
	users[120] = w.Ada
	found, errs := w.Truth.ProjectAs(t.Context(), w.Project.ID, users)
	require.Nil(t, errs)
	stranger := w.Project
	stranger.Member = project.Member{}
	for i, p := range found {
		if i == 120 {
			assert.Equal(t, w.Project, p)
		} else {
			assert.Equal(t, stranger, p)
		}
	}
	_, errs = w.Truth.ProjectAs(t.Context(), "nothing", users[119:121])
	require.Len(t, errs, 2)
	storetest.IsFault(t, errs[0], fault.NotFound)
	storetest.IsFault(t, errs[1], fault.NotFound)
}

// marksOf: a mark is replaced by who knows the one before.
func marksOf(t *testing.T, w *World) {
	p := w.Project.ID
	read := func() labelling.Mark {
		t.Helper()
		marks, err := w.Truth.Marks(t.Context(), []project.ID{"none", p})
		require.NoError(t, err)
		require.Equal(t, labelling.Mark{}, marks[0])
		return marks[1]
	}
	require.Equal(t, labelling.Mark{}, read())
	one := labelling.Mark{Cursor: labelling.Cursor{Epoch: "e"}, At: w.Clock.Now()}
	two := labelling.Mark{Cursor: labelling.Cursor{Epoch: "e", ID: "5-1"}, Redis: "r", At: w.Clock.Now()}
	require.NoError(t, w.Truth.PutMark(t.Context(), p, labelling.Mark{}, one))
	require.Equal(t, one, read())
	var moved *labelling.MarkMoved
	require.ErrorAs(t, w.Truth.PutMark(t.Context(), p, labelling.Mark{}, two), &moved)
	require.Equal(t, one, moved.Current)
	require.NoError(t, w.Truth.PutMark(t.Context(), p, one, two))
	require.Equal(t, two, read())
	require.ErrorAs(t, w.Truth.PutMark(t.Context(), p, one, one), &moved)
	require.Equal(t, two, moved.Current)
}
