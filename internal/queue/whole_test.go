package queue

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
)

// busy makes the fixture's project one that has every key a project can have.
func (f *fixture) busy(t *testing.T) {
	t.Helper()
	f.ready(t, labelling.Part{Counts: labelling.Counts{New: 3}, Statistics: []labelling.Statistics{{Team: "t1", Type: project.Taggie}}, Imported: map[string]int{"import": 3}})
	require.NoError(t, f.SetSettings(t.Context(), f.project, labelling.Settings{Name: "Birds", Categories: []string{"bird"}, Subcategories: []string{"owl"}}, "boss"))
	f.items(t, 9)
	claims := f.claim(t, "ada", 4)
	done := f.ended(claims[0], labelling.Finished, project.Finished)
	done.Effort, done.Category, done.Subcategory, done.Keywords = "e", "bird", "owl", []string{"wing"}
	f.must(t, done)
	back := f.after(claims[0].Item.ID, labelling.Reviewed, "rev")
	back.Status, back.From, back.Author, back.AuthorTeam, back.Incorrect = project.New, project.Finished, "ada", "t1", true
	f.must(t, back)
	f.must(t, f.ended(claims[1], labelling.Deferred, project.New))
	whole, err := f.Whole(t.Context(), f.project)
	require.NoError(t, err)
	require.True(t, whole)
}

func testEachKeyIsMissed(t *testing.T, f *fixture) {
	f.busy(t)
	k := f.keysOf(f.project)
	for _, key := range f.keys(t) {
		switch {
		case !k.has(key), strings.Contains(key, "user:skipped"), strings.Contains(key, "user:later"), key == k.epoch():
			continue
		}
		f.flush(t)
		f.busy(t)
		require.NoError(t, f.client.Del(t.Context(), key).Err())
		whole, err := f.Whole(t.Context(), f.project)
		require.NoError(t, err)
		assert.False(t, whole, "%s is gone", key)
		_, err = f.State(t.Context(), f.project)
		require.ErrorIs(t, err, labelling.ErrNotReady, key)
	}
	// Nobody writes over what is gone.
	f.flush(t)
	f.busy(t)
	require.NoError(t, f.client.Del(t.Context(), k.team("t1")).Err())
	held := f.claimOf("i8", "grace", "g")
	_, err := f.Apply(t.Context(), f.ended(held, labelling.Finished, project.Finished))
	require.ErrorIs(t, err, labelling.ErrNotReady)
}

func testAPositionThatIsGone(t *testing.T, f *fixture) {
	fits := func(c labelling.Cursor) bool {
		t.Helper()
		_, fit, err := f.Fits(t.Context(), f.project, c)
		require.NoError(t, err)
		return fit
	}
	f.items(t, 3)
	state, err := f.State(t.Context(), f.project)
	require.NoError(t, err)
	at, fit, err := f.Fits(t.Context(), f.project, labelling.Cursor{})
	require.NoError(t, err)
	assert.True(t, fit)
	assert.Equal(t, state.Cursor, at)
	assert.True(t, fits(at))
	assert.True(t, fits(labelling.Cursor{Epoch: at.Epoch}))
	assert.False(t, fits(labelling.Cursor{Epoch: "other"}))
	assert.True(t, fits(labelling.Cursor{Epoch: at.Epoch, ID: "5-0"}), "it was trimmed")
	f.claim(t, "ada", 1)
	later, _, err := f.Fits(t.Context(), f.project, at)
	require.NoError(t, err)
	require.NoError(t, f.client.XDel(t.Context(), f.keysOf(f.project).events(), later.ID).Err())
	assert.False(t, fits(later), "it was lost")
	f.claim(t, "ada", 1)
	assert.False(t, fits(later), "whatever came after it")
	assert.True(t, fits(at))

	gone, err := f.Condemn(t.Context(), f.project, "other")
	require.NoError(t, err)
	assert.False(t, gone)
	gone, err = f.Condemn(t.Context(), f.project, at.Epoch)
	require.NoError(t, err)
	assert.True(t, gone)
	_, err = f.State(t.Context(), f.project)
	require.ErrorIs(t, err, labelling.ErrNotReady)
}

func testAnEventThatWasToldIsGone(t *testing.T, f *fixture) {
	start := time.Now()
	keeps := func(epoch string) bool {
		t.Helper()
		all, err := f.Keeps(t.Context(), f.project, epoch, start)
		require.NoError(t, err)
		return all
	}
	f.items(t, 9)
	f.claim(t, "ada", 1)
	state, err := f.State(t.Context(), f.project)
	require.NoError(t, err)
	lost, events := state.Cursor, f.keysOf(f.project).events()
	assert.True(t, keeps(lost.Epoch))
	f.claim(t, "ada", 1)
	require.NoError(t, f.client.XDel(t.Context(), events, lost.ID).Err())
	assert.False(t, keeps(lost.Epoch), "whatever came after it")
	assert.True(t, keeps("other"), "nothing was told of another epoch")
	require.NoError(t, f.client.XTrimMaxLen(t.Context(), events, 1).Err())
	assert.True(t, keeps(lost.Epoch), "what is older than all was trimmed")

	for i := range 2 * toldAtOnce { // what a busy project is told of within seconds
		_, err := f.Note(t.Context(), f.project, strconv.Itoa(i), labelling.Event{Cause: labelling.Members})
		require.NoError(t, err)
	}
	assert.True(t, keeps(lost.Epoch), "all of that is remembered")
	state, err = f.State(t.Context(), f.project)
	require.NoError(t, err)
	require.NoError(t, f.client.XDel(t.Context(), events, state.Cursor.ID).Err())
	assert.False(t, keeps(lost.Epoch), "the last of them is lost")
	start = time.Now()
	assert.True(t, keeps(lost.Epoch), "none of that is asked for")
}
