package project

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// heard writes down what queues are told, and that it was stored by then.
type heard struct {
	w    world
	told []string
	ids  map[string]bool
}

func (h *heard) Created(_ context.Context, p Project) {
	h.told = append(h.told, fmt.Sprintf("created %s %q, stored %t", p.ID, p.Name, h.w.store.projects[p.ID].Name == p.Name))
}

func (h *heard) Changed(_ context.Context, p Project) {
	h.told = append(h.told, fmt.Sprintf("changed %s, %q", p.ID, h.w.store.projects[p.ID].Name))
}

func (h *heard) Left(_ context.Context, p ID, user UserID) {
	_, there := h.w.store.members[p][user]
	h.told = append(h.told, fmt.Sprintf("left %s %s, is there %t", p, user, there))
}

func (h *heard) Moved(_ context.Context, p ID, id string, user UserID, team string) {
	if h.ids[id] {
		panic("each change has an id of its own")
	}
	h.ids[id] = true
	h.told = append(h.told, fmt.Sprintf("moved %s %s to %q, is in %q", p, user, team, h.w.store.members[p][user].Team))
}

func TestTheObserverIsToldWhatChanged(t *testing.T) {
	key := ptr("k")
	name := ptr("fish")
	for what, c := range map[string]struct {
		do   func(w world) error
		want []string
	}{
		"a new project": {func(w world) error {
			_, err := w.Create(as(t, "man"), Create{Name: "owls", IdempotencyKey: key})
			return err
		}, []string{`created id1 "owls", stored true`}},
		"another name": {func(w world) error {
			_, err := w.Update(as(t, "man"), Update{ID: "p", Name: name, IdempotencyKey: key})
			return err
		}, []string{`changed p, "fish"`}},
		"other keywords": {func(w world) error {
			_, err := w.Update(as(t, "man"), Update{ID: "p", Keywords: &[]string{"wing"}, IdempotencyKey: key})
			return err
		}, []string{`changed p, "birds"`}},
		"the same name": {func(w world) error {
			_, err := w.Update(as(t, "man"), Update{ID: "p", Name: ptr("birds"), Keywords: &[]string{}, IdempotencyKey: key})
			return err
		}, nil},
		"another description": {func(w world) error {
			_, err := w.Update(as(t, "man"), Update{ID: "p", Description: ptr("of the night"), IdempotencyKey: key})
			return err
		}, nil},
		"another category": {func(w world) error {
			_, err := w.AddLabels(as(t, "man"), AddLabels{Project: "p", Categories: []string{"Crow"}, IdempotencyKey: key})
			return err
		}, []string{`changed p, "birds"`}},
		"another team": {func(w world) error {
			_, err := w.CreateTeam(as(t, "man"), CreateTeam{Project: "p", Name: "New", Type: Taggie, IdempotencyKey: key})
			return err
		}, []string{`changed p, "birds"`}},
		"somebody joined": {func(w world) error {
			_, err := w.PutMember(as(t, "man"), PutMember{Team: TeamID{"p", "taggers"}, Email: ptr("new@example.com"), IdempotencyKey: key})
			return err
		}, []string{`moved p new to "taggers", is in "taggers"`}},
		"somebody moved": {func(w world) error {
			_, err := w.PutMember(as(t, "man"), PutMember{Team: TeamID{"p", "taggers"}, User: "rev", IdempotencyKey: key})
			return err
		}, []string{`moved p rev to "taggers", is in "taggers"`}},
		"somebody stayed": {func(w world) error {
			_, err := w.PutMember(as(t, "man"), PutMember{Team: TeamID{"p", "taggers"}, User: "tag", IdempotencyKey: key})
			return err
		}, nil},
		"somebody was removed": {func(w world) error {
			return w.RemoveMember(as(t, "man"), RemoveMember{Project: "p", User: "tag", IdempotencyKey: key})
		}, []string{`moved p tag to "", is in ""`, "left p tag, is there false"}},
		"somebody left": {func(w world) error {
			return w.RemoveMember(as(t, "tag"), RemoveMember{Project: "p", User: "tag", IdempotencyKey: key})
		}, []string{`moved p tag to "", is in ""`, "left p tag, is there false"}},
		"a stranger left": {func(w world) error {
			return w.RemoveMember(as(t, "tag"), RemoveMember{Project: "q", User: "tag", IdempotencyKey: key})
		}, nil},
		"a stranger left what there is not": {func(w world) error {
			return w.RemoveMember(as(t, "tag"), RemoveMember{Project: "none", User: "tag", IdempotencyKey: key})
		}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld()
			h := &heard{w: w, ids: map[string]bool{}}
			told := world{Service: w.having(func(o *Options) { o.Observer = h }), store: w.store}
			for range 3 { // once more with the same key: nothing happens
				require.NoError(t, c.do(told))
				assert.Equal(t, c.want, h.told)
			}
			require.NoError(t, c.do(world{Service: newWorld().Service}), "and without queues")
		})
	}
}

func TestTheObserverIsNotToldWhatDidNotHappen(t *testing.T) {
	w := newWorld()
	h := &heard{w: w, ids: map[string]bool{}}
	s := w.having(func(o *Options) { o.Observer = h })
	for what, do := range map[string]func() error{
		"a name that is taken": func() error {
			_, err := s.AddLabels(as(t, "man"), AddLabels{Project: "p", Categories: []string{"OWL"}})
			return err
		},
		"a team whose name is taken": func() error {
			_, err := s.CreateTeam(as(t, "man"), CreateTeam{Project: "p", Name: "Taggers", Type: Taggie})
			return err
		},
		"a user who does not exist": func() error {
			_, err := s.PutMember(as(t, "man"), PutMember{Team: TeamID{"p", "taggers"}, User: "nobody"})
			return err
		},
		"what only managers may do": func() error {
			return s.RemoveMember(as(t, "tag"), RemoveMember{Project: "p", User: "rev"})
		},
		"another version": func() error {
			_, err := s.Update(as(t, "man"), Update{ID: "p", Name: ptr("fish"), ExpectedVersion: ptr(1)})
			return err
		},
	} {
		require.Error(t, do(), what)
	}
	assert.Empty(t, h.told)
	assert.Nil(t, w.o.Observer, "the service it was made from tells nobody")
}
