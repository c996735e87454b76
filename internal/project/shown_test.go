package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/project"
)

func TestWhoWasShownTheProjectIsShownItsParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.shown("rev")
	w.store.asked = nil
	item := p.Item(w.item(bird))
	effort := p.Effort(w.effort(project.EffortID{Project: "p", ID: "e"}))
	team := p.Team(w.team(project.TeamID{Project: "p", ID: "taggers"}))
	label := p.Label(w.label(project.LabelID{Project: "p", Kind: project.Category, ID: "owl"}))
	for _, shown := range []any{item, effort, team, label, p.ItemRef(bird.ID), p.TeamRef("t"), p.EffortRef("e")} {
		assert.Equal(t, project.Reviewer, project.ShownAs(shown), "%T", shown)
	}
	items, errs := w.ItemsByID(t.Context(), []project.Ref[project.ItemID]{p.ItemRef(bird.ID), effort.ItemRef()}) // of the context nothing is asked
	assert.Equal(t, []error{nil, nil}, errs)
	assert.Equal(t, []project.Item{item, item}, items)
	efforts, errs := w.EffortsByID(t.Context(), []project.Ref[project.EffortID]{p.EffortRef("e")})
	assert.Equal(t, []error{nil}, errs)
	assert.Equal(t, []project.Effort{effort}, efforts)
	teams, errs := w.TeamsByID(t.Context(), []project.Ref[project.TeamID]{p.TeamRef("taggers"), effort.TeamRef()})
	assert.Equal(t, []error{nil, nil}, errs)
	assert.Equal(t, []project.Team{team, team}, teams)
	assert.Empty(t, w.store.asked, "no membership is read")
}

func TestAProjectProvesNothingAboutOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.shown("man")
	team := w.team(project.TeamID{Project: "q", ID: "others"})
	assert.Equal(t, team, p.Team(team))
	label := w.label(project.LabelID{Project: "q", Kind: project.Category, ID: "cat"})
	assert.Equal(t, label, p.Label(label))
	assert.Equal(t, project.Item{ItemID: project.ItemID{Project: "q", ID: "i"}}, p.Item(project.Item{ItemID: project.ItemID{Project: "q", ID: "i"}}))
	assert.Equal(t, project.Effort{EffortID: project.EffortID{Project: "q", ID: "e"}}, p.Effort(project.Effort{EffortID: project.EffortID{Project: "q", ID: "e"}}))
	assert.Equal(t, project.ID("p"), p.ItemRef("i").ID.Project)

	stranger := project.Project{ID: "p"} // nobody was shown this one
	assert.Empty(t, project.ShownAs(stranger.Item(w.item(bird))))
	_, errs := w.ItemsByID(as(t, "nobody"), []project.Ref[project.ItemID]{stranger.ItemRef(bird.ID)})
	require.Len(t, errs, 1)
	assert.Equal(t, "not found", kindOf(errs[0]))
}
