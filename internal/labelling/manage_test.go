package labelling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/labelling"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/queue"
)

func TestPauseAndSize(t *testing.T) {
	w := newWorld(t, 20, queue.Options{})
	_, err := w.service.Pause(w.as(rev), labelling.Managed{Project: w.project})
	require.True(t, fault.Is(err, fault.Forbidden))
	p, err := w.service.Pause(w.as(boss), labelling.Managed{Project: w.project})
	require.NoError(t, err)
	assert.True(t, p.Paused)
	_, err = w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: 1})
	require.ErrorIs(t, err, labelling.ErrPaused)
	w.flush()
	w.rebuilt()
	assert.True(t, w.state().Paused, "the truth knows it")
	_, err = w.service.Resume(w.as(boss), labelling.Managed{Project: w.project})
	require.NoError(t, err)
	assert.Len(t, w.claim(ada, 1), 1)

	w.resize(5)
	assert.Equal(t, 5, w.state().Size)
	assert.Equal(t, 5, w.state().Queued)

	w.queue.fails = func(what string) error {
		if what == "Pause" {
			return errLost
		}
		return nil
	}
	_, err = w.service.Pause(w.as(boss), labelling.Managed{Project: w.project})
	require.NoError(t, err, "it is so in the truth")
	assert.False(t, w.state().Paused)
	w.queue.fails = nil
	w.later(time.Minute)
	require.NoError(t, w.populate.Run(t.Context()))
	assert.True(t, w.state().Paused, "the job sees the difference")
}

func TestWhoMayDoWhat(t *testing.T) {
	w := newWorld(t, 2, queue.Options{})
	item := w.claim(ada, 1)[0]
	held := labelling.Held{Item: item.ItemID, Token: item.Claim.Token}
	effort := project.EffortID{Project: w.project, ID: "e"}
	ops := map[string]func(u project.UserID) error{
		"claim": func(u project.UserID) error {
			_, err := w.service.Claim(w.as(u), labelling.ClaimItems{Project: w.project, Count: 1})
			return err
		},
		"extend":  func(u project.UserID) error { _, err := w.service.Extend(w.as(u), held); return err },
		"release": func(u project.UserID) error { _, err := w.service.Release(w.as(u), held); return err },
		"finish":  func(u project.UserID) error { _, err := w.service.Finish(w.as(u), w.finishing(item)); return err },
		"skip": func(u project.UserID) error {
			_, err := w.service.Skip(w.as(u), labelling.Skip{Item: item.ItemID, Token: item.Claim.Token, Reason: labelling.ForNobody})
			return err
		},
		"review": func(u project.UserID) error {
			_, err := w.service.Review(w.as(u), labelling.Reviewing{Effort: effort, Verdict: project.Correct})
			return err
		},
		"undo": func(u project.UserID) error {
			_, err := w.service.Undo(w.as(u), labelling.Undoing{Effort: effort})
			return err
		},
		"pause": func(u project.UserID) error {
			_, err := w.service.Pause(w.as(u), labelling.Managed{Project: w.project})
			return err
		},
		"rebuild": func(u project.UserID) error { _, err := w.service.Rebuild(w.as(u), w.project); return err },
		"state":   func(u project.UserID) error { _, err := w.service.State(w.as(u), w.shown(u)); return err },
		"online":  func(u project.UserID) error { _, err := w.service.Online(w.as(u), w.shown(u)); return err },
	}
	for name, op := range ops {
		assert.True(t, fault.Is(op("stranger"), fault.NotFound), "%s by a stranger: %v", name, op("stranger"))
		if name != "state" && name != "online" {
			assert.True(t, fault.Is(op(""), fault.Unauthenticated), "%s by nobody", name)
		}
	}
	for _, name := range []string{"pause", "rebuild"} {
		assert.True(t, fault.Is(ops[name](rev), fault.Forbidden), name)
	}
	_, err := w.service.DeadLetters(w.as(boss), 10)
	assert.True(t, fault.Is(err, fault.Forbidden))
	assert.Equal(t, item, w.shown(ada).Item(w.truth.items[item.ID]))
}

func TestBadInput(t *testing.T) {
	w := newWorld(t, 2, queue.Options{})
	for _, n := range []int{-1, 0, labelling.MaxClaims + 1, 10_000} {
		_, err := w.service.Claim(w.as(ada), labelling.ClaimItems{Project: w.project, Count: n})
		assert.True(t, fault.Is(err, fault.Invalid), n)
	}
	item := w.claim(ada, 1)[0]
	before := w.truth.items[item.ID]
	refused := func(in labelling.Finish, field string) {
		t.Helper()
		_, err := w.service.Finish(w.as(ada), in)
		var bad *fault.Error
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, field, bad.Field)
	}
	for _, keywords := range [][]string{make([]string, 1000), {strings.Repeat("x", project.MaxKeywordRunes+1)}, {"a\x00b"}} {
		in := w.finishing(item)
		in.Keywords = keywords
		refused(in, "input.keywords")
	}
	// The store does not look at labels: it is here that one which is not in the list of the project is refused.
	labels := []project.LabelID{
		{}, {Project: w.project, Kind: project.Category, ID: "unknown"}, {Project: w.project, Kind: project.Subcategory, ID: "unknown"},
		{Project: "another", Kind: project.Category, ID: bird}, {Project: "another", Kind: project.Subcategory, ID: owl},
	}
	for _, id := range append(labels, w.truth.labels[1].LabelID) {
		in := w.finishing(item)
		in.Category = id
		refused(in, "input.categoryId")
	}
	for _, id := range append(labels, w.truth.labels[0].LabelID) {
		in := w.finishing(item)
		in.Subcategory = &id
		refused(in, "input.subcategoryId")
	}
	in := w.finishing(item)
	in.Item.ID = "unknown"
	_, err := w.service.Finish(w.as(ada), in)
	assert.True(t, fault.Is(err, fault.NotFound), "got %v", err)
	assert.Equal(t, before, w.truth.items[item.ID], "nothing is lost")
	assert.Equal(t, 1, w.truth.calls["MoveItem"], "that of the claim")
}

func TestLeftAndPresence(t *testing.T) {
	w := newWorld(t, 3, queue.Options{})
	items := w.claim(ada, 2)
	require.NoError(t, w.service.Heartbeat(w.as(ada), []project.ID{w.project, "unknown"}))
	online, err := w.service.Online(w.as(grace), w.shown(grace))
	require.NoError(t, err)
	require.Len(t, online, 1)
	n, err := w.service.OnlineCount(w.as(grace))
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	w.service.Left(t.Context(), w.project, ada)
	w.deliver()
	w.exact()
	assert.Equal(t, project.New, w.truth.items[items[0].ID].Status)
	assert.Equal(t, 3, w.state().Queued)
}
