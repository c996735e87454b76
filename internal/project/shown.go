package project

import (
	"context"

	"github.com/taggie/taggie/internal/page"
	"github.com/taggie/taggie/internal/viewer"
)

// What follows is for what was read of a project without looking who may see it, by jobs or for all subscribers at once: who was
// shown the project may see that too.

// Item returns an item of the project as the viewer is shown it. One of another project comes back as it is.
func (p Project) Item(i Item) Item {
	if i.Project == p.ID {
		i.as = proof(p.Member.Type)
	}
	return i
}

// Effort does the same for an effort.
func (p Project) Effort(e Effort) Effort {
	if e.Project == p.ID {
		e.as = proof(p.Member.Type)
	}
	return e
}

// Efforts does the same for a page of efforts. The given one is not changed, so that many can be shown it.
func (p Project) Efforts(s page.Slice[Effort]) page.Slice[Effort] {
	shown := make([]Effort, len(s.Items))
	for i, e := range s.Items {
		shown[i] = p.Effort(e)
	}
	s.Items = shown
	return s
}

// Team does the same for a team.
func (p Project) Team(t Team) Team {
	if t.Project == p.ID {
		t.as = proof(p.Member.Type)
	}
	return t
}

// Label does the same for a category or subcategory.
func (p Project) Label(l Label) Label {
	if l.Project == p.ID {
		l.as = proof(p.Member.Type)
	}
	return l
}

// ItemRef names an item of the project.
func (p Project) ItemRef(id string) Ref[ItemID] {
	return Ref[ItemID]{ID: ItemID{Project: p.ID, ID: id}, as: proof(p.Member.Type)}
}

// TeamRef names a team of the project.
func (p Project) TeamRef(id string) Ref[TeamID] {
	return Ref[TeamID]{ID: TeamID{Project: p.ID, ID: id}, as: proof(p.Member.Type)}
}

// EffortRef names an effort of the project.
func (p Project) EffortRef(id string) Ref[EffortID] {
	return Ref[EffortID]{ID: EffortID{Project: p.ID, ID: id}, as: proof(p.Member.Type)}
}

// Shown returns a project that was read with the membership of the viewer as the viewer is shown it; nothing to who is no member.
func Shown(ctx context.Context, p Project) Project {
	if !viewer.From(ctx).Is(p.Member.User) || !p.Member.Type.May(Taggie) {
		return Project{}
	}
	return shownTo(p)
}
