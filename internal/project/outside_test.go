package project

import "github.com/taggie/taggie/internal/page"

// What only the tests use that see this room from outside.

// BadTexts are texts that are no name of anything; Numbered are words.
var (
	BadTexts = bad
	Numbered = numbered
)

// NotFound is the fault of what is not there.
var NotFound = notFound

// ShownAs is what the viewer is of the project of something, as far as it carries a proof; "" for none.
func ShownAs(v any) TeamType {
	switch v := v.(type) {
	case Member:
		return TeamType(v.as)
	case Team:
		return TeamType(v.as)
	case Label:
		return TeamType(v.as)
	case Item:
		return TeamType(v.as)
	case Effort:
		return TeamType(v.as)
	case Ref[ItemID]:
		return TeamType(v.as)
	case Ref[TeamID]:
		return TeamType(v.as)
	case Ref[EffortID]:
		return TeamType(v.as)
	}
	panic("this carries no proof")
}

// ProvenBy returns a reference that carries the proof of a member.
func ProvenBy[K key](m Member, id K) Ref[K] { return Ref[K]{ID: id, as: m.as} }

// MembersProvenBy returns a request that carries the proof of a member.
func MembersProvenBy(m Member, w page.Window) MembersRequest {
	return MembersRequest{Project: m.Project, Window: w, as: m.as}
}

// ShownTo returns the member as a viewer of this type is shown it.
func (m Member) ShownTo(t TeamType) Member {
	m.as = proof(t)
	return m
}
