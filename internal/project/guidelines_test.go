package project_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/storetest"
)

func TestManagersWriteGuidelinesThatMembersRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := "\n    code\n\n# Owls é "
	written, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: text, ExpectedVersion: ptr(0)})
	require.NoError(t, err)
	assert.Equal(t, project.Guidelines{Project: "p", Text: text, Version: 1, UpdatedAt: morning, UpdatedBy: "man"}, written)
	again, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: text})
	require.NoError(t, err)
	assert.Equal(t, written, again, "the same text")
	emptied, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", ExpectedVersion: ptr(1)})
	require.NoError(t, err)
	assert.Equal(t, []any{"", 2, morning.Add(time.Millisecond)}, []any{emptied.Text, emptied.Version, emptied.UpdatedAt})

	for _, who := range []project.UserID{"tag", "rev", "man"} {
		found, err := domain.First(w.GuidelinesOf(as(t, who), []project.Ref[project.ID]{{ID: "p"}}))
		require.NoError(t, err, who)
		assert.Equal(t, emptied, found)
	}
	_, errs := w.GuidelinesOf(as(t, "other"), []project.Ref[project.ID]{{ID: "p"}, {ID: "none"}})
	for _, err := range errs {
		storetest.IsFault(t, err, fault.NotFound)
	}
	for who, kind := range map[project.UserID]fault.Kind{"tag": fault.Forbidden, "rev": fault.Forbidden, "other": fault.NotFound} {
		_, err := w.UpdateGuidelines(as(t, who), project.UpdateGuidelines{Project: "p", Text: "mine"})
		storetest.IsFault(t, err, kind)
	}
}

func TestGuidelinesHaveABound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, text := range []string{strings.Repeat("é", project.MaxGuidelinesBytes/2) + "x", "a\x00", "a\xff"} {
		_, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: text})
		f, ok := errors.AsType[*fault.Error](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, []any{fault.Invalid, "input.text"}, []any{f.Kind, f.Field})
	}
	assert.Zero(t, w.store.writes)
	_, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: strings.Repeat("é", project.MaxGuidelinesBytes/2)})
	require.NoError(t, err)
}

func TestGuidelinesMeetOthers(t *testing.T) {
	t.Parallel()
	other := func(w *world) func() {
		return func() {
			_, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: "theirs"})
			require.NoError(t, err)
		}
	}
	w := newWorld(t)
	w.store.racing = other(w)
	g, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: "mine"})
	require.NoError(t, err)
	assert.Equal(t, []any{2, "mine"}, []any{g.Version, g.Text}, "who expects nothing comes last")

	w = newWorld(t)
	w.store.racing = other(w)
	_, err = w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: "mine", ExpectedVersion: ptr(0)})
	conflict, ok := errors.AsType[*project.GuidelinesConflict](err)
	require.True(t, ok, "got %v", err)
	assert.Equal(t, []any{1, "theirs"}, []any{conflict.Current.Version, conflict.Current.Text})

	// A manager who becomes something else meanwhile is none any more.
	w = newWorld(t)
	_, err = w.PutMember(as(t, "man"), project.PutMember{Team: project.TeamID{Project: "p", ID: "managers"}, User: "rev"})
	require.NoError(t, err)
	w.store.racing = func() {
		_, err := w.PutMember(as(t, "man"), project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, User: "rev"})
		require.NoError(t, err)
	}
	_, err = w.UpdateGuidelines(as(t, "rev"), project.UpdateGuidelines{Project: "p", Text: "mine"})
	storetest.IsFault(t, err, fault.Forbidden)
}
