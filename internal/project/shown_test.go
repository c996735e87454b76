package project

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhoWasShownTheProjectIsShownItsParts(t *testing.T) {
	w := newWorld()
	p := w.shown(t, "rev")
	w.store.asked = nil
	item := p.Item(w.store.items[ItemID{"p", "i"}])
	effort := p.Effort(w.store.efforts[EffortID{"p", "e"}])
	team := p.Team(w.store.teams[TeamID{"p", "taggers"}])
	label := p.Label(w.store.labels[0])
	for _, as := range []proof{item.as, effort.as, team.as, label.as, p.ItemRef("i").as, p.TeamRef("t").as, p.EffortRef("e").as} {
		assert.Equal(t, proof(Reviewer), as)
	}
	items, errs := w.ItemsByID(t.Context(), []Ref[ItemID]{p.ItemRef("i"), effort.ItemRef()}) // of the context nothing is asked
	assert.Equal(t, []error{nil, nil}, errs)
	assert.Equal(t, []Item{item, item}, items)
	efforts, errs := w.EffortsByID(t.Context(), []Ref[EffortID]{p.EffortRef("e")})
	assert.Equal(t, []error{nil}, errs)
	assert.Equal(t, []Effort{effort}, efforts)
	teams, errs := w.TeamsByID(t.Context(), []Ref[TeamID]{p.TeamRef("taggers"), effort.TeamRef()})
	assert.Equal(t, []error{nil, nil}, errs)
	assert.Equal(t, []Team{team, team}, teams)
	assert.Empty(t, w.store.asked, "no membership is read")
}

func TestAProjectProvesNothingAboutOthers(t *testing.T) {
	w := newWorld()
	p := w.shown(t, "man")
	team := w.store.teams[TeamID{"q", "others"}]
	assert.Equal(t, team, p.Team(team))
	label := w.store.labels[2]
	assert.Equal(t, label, p.Label(label))
	assert.Equal(t, Item{ItemID: ItemID{"q", "i"}}, p.Item(Item{ItemID: ItemID{"q", "i"}}))
	assert.Equal(t, Effort{EffortID: EffortID{"q", "e"}}, p.Effort(Effort{EffortID: EffortID{"q", "e"}}))
	assert.Equal(t, ID("p"), p.ItemRef("i").ID.Project)

	stranger := Project{ID: "p"} // nobody was shown this one
	assert.Empty(t, stranger.Item(w.store.items[ItemID{"p", "i"}]).as)
	_, errs := w.ItemsByID(as(t, "nobody"), []Ref[ItemID]{stranger.ItemRef("i")})
	require.Len(t, errs, 1)
	assert.Equal(t, "not found", kindOf(errs[0]))
}
