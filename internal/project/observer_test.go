package project_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/domain"
	"github.com/taggie/taggie/internal/project"
)

// heard writes down what queues are told, and that it was stored by then.
type heard struct {
	w    *world
	told []string
	ids  map[string]bool
}

func (h *heard) Created(ctx context.Context, p project.Project) {
	h.told = append(h.told, fmt.Sprintf("created %s %q, stored %t", p.ID, p.Name, h.stored(ctx, p.ID).Name == p.Name))
}

func (h *heard) Changed(ctx context.Context, p project.Project) {
	h.told = append(h.told, fmt.Sprintf("changed %s, %q", p.ID, h.stored(ctx, p.ID).Name))
}

func (h *heard) Left(ctx context.Context, p project.ID, user project.UserID) {
	h.told = append(h.told, fmt.Sprintf("left %s %s, is there %t", p, user, h.team(ctx, p, user) != ""))
}

// stored is the project as it is stored.
func (h *heard) stored(ctx context.Context, id project.ID) project.Project {
	return one[project.Project](h.w.t)(domain.First(h.w.store.Store.ProjectsByID(ctx, "man", []project.ID{id})))
}

// team is the team in which a user is stored, "" for none.
func (h *heard) team(ctx context.Context, p project.ID, user project.UserID) string {
	m, _ := domain.First(h.w.store.Store.Memberships(ctx, user, []project.ID{p}))
	return m.Team
}

func (h *heard) Moved(ctx context.Context, p project.ID, id string, user project.UserID, team string) {
	if h.ids[id] {
		panic("each change has an id of its own")
	}
	h.ids[id] = true
	h.told = append(h.told, fmt.Sprintf("moved %s %s to %q, is in %q", p, user, team, h.team(ctx, p, user)))
}

func (h *heard) Guided(ctx context.Context, g project.Guidelines) {
	stored := one[project.Guidelines](h.w.t)(domain.First(h.w.store.Store.GuidelinesOf(ctx, []project.ID{g.Project})))
	h.told = append(h.told, fmt.Sprintf("guided %s %d by %s, stored %t", g.Project, g.Version, g.UpdatedBy, stored == g))
}

// noticed is a change, and what the observer is told of it.
type noticed struct {
	do   func(w *project.Service, key string) error
	want []string
}

func changes(t *testing.T) map[string]noticed {
	return map[string]noticed{
		"a new project": {func(w *project.Service, key string) error {
			_, err := w.Create(as(t, "man"), project.Create{Name: "owls", IdempotencyKey: &key})
			return err
		}, []string{`created id1 "owls", stored true`}},
		"another name": {func(w *project.Service, key string) error {
			_, err := w.Update(as(t, "man"), project.Update{ID: "p", Name: ptr("fish"), IdempotencyKey: &key})
			return err
		}, []string{`changed p, "fish"`}},
		"other keywords": {func(w *project.Service, key string) error {
			_, err := w.Update(as(t, "man"), project.Update{ID: "p", Keywords: &[]string{"wing"}, IdempotencyKey: &key})
			return err
		}, nil},
		"another size of the queue": {func(w *project.Service, key string) error {
			_, err := w.Update(as(t, "man"), project.Update{ID: "p", QueueSize: ptr(5), IdempotencyKey: &key})
			return err
		}, []string{`changed p, "birds"`}},
		"the same name": {func(w *project.Service, key string) error {
			_, err := w.Update(as(t, "man"), project.Update{ID: "p", Name: ptr("birds"), Keywords: &[]string{}, IdempotencyKey: &key})
			return err
		}, nil},
		"another description": {func(w *project.Service, key string) error {
			_, err := w.Update(as(t, "man"), project.Update{ID: "p", Description: ptr("of the night"), IdempotencyKey: &key})
			return err
		}, nil},
		"guidelines": {func(w *project.Service, key string) error {
			_, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: "t", IdempotencyKey: &key})
			return err
		}, []string{"guided p 1 by man, stored true"}},
		"another category": {func(w *project.Service, key string) error {
			_, err := w.AddLabels(as(t, "man"), project.AddLabels{Project: "p", Categories: []string{"Crow"}, IdempotencyKey: &key})
			return err
		}, []string{`changed p, "birds"`}},
		"another team": {func(w *project.Service, key string) error {
			_, err := w.CreateTeam(as(t, "man"), project.CreateTeam{Project: "p", Name: "New", Type: project.Taggie, IdempotencyKey: &key})
			return err
		}, []string{`changed p, "birds"`}},
		"somebody joined": {func(w *project.Service, key string) error {
			_, err := w.PutMember(as(t, "man"), project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, Email: ptr("new@example.com"), IdempotencyKey: &key})
			return err
		}, []string{`moved p new to "taggers", is in "taggers"`}},
		"somebody moved": {func(w *project.Service, key string) error {
			_, err := w.PutMember(as(t, "man"), project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, User: "rev", IdempotencyKey: &key})
			return err
		}, []string{`moved p rev to "taggers", is in "taggers"`}},
		"somebody stayed": {func(w *project.Service, key string) error {
			_, err := w.PutMember(as(t, "man"), project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, User: "tag", IdempotencyKey: &key})
			return err
		}, nil},
		"somebody was removed": {func(w *project.Service, key string) error {
			return w.RemoveMember(as(t, "man"), project.RemoveMember{Project: "p", User: "tag", IdempotencyKey: &key})
		}, []string{`moved p tag to "", is in ""`, "left p tag, is there false"}},
		"somebody left": {func(w *project.Service, key string) error {
			return w.RemoveMember(as(t, "tag"), project.RemoveMember{Project: "p", User: "tag", IdempotencyKey: &key})
		}, []string{`moved p tag to "", is in ""`, "left p tag, is there false"}},
		"a stranger left": {func(w *project.Service, key string) error {
			return w.RemoveMember(as(t, "tag"), project.RemoveMember{Project: "q", User: "tag", IdempotencyKey: &key})
		}, nil},
		"a stranger left what there is not": {func(w *project.Service, key string) error {
			return w.RemoveMember(as(t, "tag"), project.RemoveMember{Project: "none", User: "tag", IdempotencyKey: &key})
		}, nil},
	}
}

func TestTheObserverIsToldWhatChanged(t *testing.T) {
	t.Parallel()
	for what, c := range changes(t) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			h := &heard{w: w, ids: map[string]bool{}}
			told := w.having(func(o *project.Options) { o.Observer = h })
			for range 3 { // once more with the same key: nothing happens
				require.NoError(t, c.do(told, "k"))
				assert.Equal(t, c.want, h.told)
			}
		})
	}
}

func TestNothingNeedsAnObserver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for what, c := range changes(t) {
		require.NoError(t, c.do(w.Service, what), what)
	}
}

func TestTheObserverIsNotToldWhatDidNotHappen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := &heard{w: w, ids: map[string]bool{}}
	s := w.having(func(o *project.Options) { o.Observer = h })
	for what, do := range map[string]func() error{
		"a name that is taken": func() error {
			_, err := s.AddLabels(as(t, "man"), project.AddLabels{Project: "p", Categories: []string{"OWL"}})
			return err
		},
		"a team whose name is taken": func() error {
			_, err := s.CreateTeam(as(t, "man"), project.CreateTeam{Project: "p", Name: "Taggers", Type: project.Taggie})
			return err
		},
		"a user who does not exist": func() error {
			_, err := s.PutMember(as(t, "man"), project.PutMember{Team: project.TeamID{Project: "p", ID: "taggers"}, User: "nobody"})
			return err
		},
		"what only managers may do": func() error {
			return s.RemoveMember(as(t, "tag"), project.RemoveMember{Project: "p", User: "rev"})
		},
		"another version": func() error {
			_, err := s.Update(as(t, "man"), project.Update{ID: "p", Name: ptr("fish"), ExpectedVersion: ptr(1)})
			return err
		},
	} {
		require.Error(t, do(), what)
	}
	assert.Empty(t, h.told)
	_, err := w.Update(as(t, "man"), project.Update{ID: "p", Name: ptr("fish")})
	require.NoError(t, err)
	assert.Empty(t, h.told, "the service it was made from tells nobody")
}

// Whoever changes lists or guidelines records the task that tells of them, should the server be lost before it does.
func TestTasksTellOfListsAndGuidelines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	category := project.LabelID{Project: "p", Kind: project.Category, ID: "owl"}
	for what, c := range map[string]struct {
		version int
		do      func() error
	}{
		"lists": {0, func() error {
			_, err := w.AddLabels(as(t, "man"), project.AddLabels{Project: "p", Categories: []string{"Crow"}})
			return err
		}},
		"a name": {0, func() error {
			_, err := w.UpdateLabel(as(t, "man"), project.UpdateLabel{Label: category, Name: ptr("Eagle owl")})
			return err
		}},
		"guidelines": {1, func() error {
			_, err := w.UpdateGuidelines(as(t, "man"), project.UpdateGuidelines{Project: "p", Text: "t"})
			return err
		}},
	} {
		w.store.tasks = nil
		require.NoError(t, c.do(), what)
		require.Len(t, w.store.tasks, 1, what)
		told := w.store.tasks[0]
		version, is := project.GuidelinesTold(told)
		assert.Equal(t, []any{project.RunTelling, "p", c.version, c.version > 0}, []any{told.Kind, told.Scope, version, is}, what)
	}
}
