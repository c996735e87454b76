package labelling

import "slices"

// Names reports whether a transition names a user.
func (t Transition) Names(u UserID) bool {
	return t.User == u || t.Author == u || slices.ContainsFunc(t.Efforts, func(e CountedEffort) bool { return e.User == u })
}

// Renaming returns the transition with another id in the place of the user's.
func (t Transition) Renaming(u, by UserID) Transition {
	rename := func(id *UserID) {
		if *id == u {
			*id = by
		}
	}
	rename(&t.User)
	rename(&t.Author)
	t.Efforts = slices.Clone(t.Efforts)
	for i := range t.Efforts {
		rename(&t.Efforts[i].User)
	}
	return t
}
