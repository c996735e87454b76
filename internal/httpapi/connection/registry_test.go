package connection

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/viewer"
)

// Who has gone is not counted any more, and not remembered.
func TestPlacesAreGivenBack(t *testing.T) {
	t.Parallel()
	r := NewRegistry(Bounds{Sockets: 8, PerUser: 3, PerNetwork: 5})
	ada := OwnerOf(viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: "ada"}, Network: "192.0.2.0/24"})
	nobody, other := OwnerOf(viewer.Viewer{Network: "192.0.2.0/24"}), OwnerOf(viewer.Viewer{Network: "198.51.100.0/24"})
	admitted := func(who Owner) (n int) {
		for r.Admit(who) {
			n++
		}
		return n
	}
	require.Equal(t, 3, admitted(ada))
	require.Equal(t, 4, admitted(nobody), "strangers together have a half of all places")
	require.Zero(t, admitted(other))
	r.Dismiss(nobody)
	require.Equal(t, 1, admitted(other))
	for who, n := range map[Owner]int{ada: 3, nobody: 3, other: 1} {
		for range n {
			r.Dismiss(who)
		}
	}
	assert.Empty(t, r.owners)
	assert.Zero(t, r.anonymous)
}
