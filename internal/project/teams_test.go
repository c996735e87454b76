package project_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/idempotency"
	"github.com/taggie/taggie/internal/project"
	"github.com/taggie/taggie/internal/task"
)

// deletedMeanwhile deletes a project and brings it back when a team is to be emptied, before the members are found or before the second look.
type deletedMeanwhile struct {
	*watched
	before, after func()
}

func (s *deletedMeanwhile) EmptyTeam(ctx context.Context, t project.Team) ([]project.Member, error) {
	s.before()
	moved, err := s.watched.EmptyTeam(ctx, t)
	s.after()
	return moved, err
}

// The members of a large team that was deleted go on from it also when their project is deleted before they have, and brought back.
func TestATeamOfADeletedProjectIsEmptied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	day := project.TeamID{Project: "p", ID: "taggers"}
	for i := range project.MembersAtOnce + 2 {
		id := project.UserID(fmt.Sprint("member", i))
		w.signUp(id)
		w.put(id, day, project.Taggie)
	}
	team := w.team(day)
	team.DeletedAt, team.Into = morning, "reviewers"
	_, more, err := w.store.Store.DeleteTeam(t.Context(), "", team, nil, idempotency.Key{})
	require.NoError(t, err)
	require.True(t, more)
	count := func(id string) int {
		members, err := w.store.Store.ListMembers(t.Context(), "p", id, every)
		require.NoError(t, err)
		return len(members.Items)
	}
	move := func(state project.DeletionState) {
		now := w.shownOrDeleted()
		next := now
		next.Deletion, next.Version = project.Deletion{State: state, By: "man", At: morning, UndoUntil: morning.Add(domain.UndoDeletion)}, now.Version+1
		require.NoError(t, w.store.Store.PutDeletion(t.Context(), now, next, nil, idempotency.Key{}))
		for {
			moved, err := w.store.Store.MoveMembers(t.Context(), next)
			require.NoError(t, err)
			if len(moved) == 0 {
				break
			}
		}
		ended := next
		ended.Version++
		if ended.Deletion.State = project.Deleted; state == project.Reinstating {
			ended.Deletion = project.Deletion{}
		}
		require.NoError(t, w.store.Store.PutDeletion(t.Context(), next, ended, nil, idempotency.Key{}))
	}

	before, after := []func(){func() { move(project.Deleting) }}, []func(){func() { move(project.Reinstating) }}
	next := func(todo *[]func()) func() {
		return func() {
			if len(*todo) > 0 {
				(*todo)[0]()
				*todo = (*todo)[1:]
			}
		}
	}
	service := w.having(func(o *project.Options) { o.Store = &deletedMeanwhile{w.store, next(&before), next(&after)} })
	run := task.Task{Kind: project.RunTeam, ID: day.ID, Scope: "p"}

	move(project.Deleting)
	again, err := service.EmptyTeam(t.Context(), run)
	require.NoError(t, err)
	assert.True(t, again.After(morning), "it waits for the end of the deletion")
	move(project.Reinstating)
	require.Equal(t, 3, count(day.ID))
	again, err = service.EmptyTeam(t.Context(), run)
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Empty(t, before, "the project was deleted and brought back meanwhile")
	assert.Equal(t, []int{0, project.MembersAtOnce + 4}, []int{count(day.ID), count("reviewers")})
}
