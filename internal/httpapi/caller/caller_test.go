package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/viewer"
)

func TestCallersHaveNamesOfTheirOwn(t *testing.T) {
	ada := viewer.Viewer{Identity: viewer.Identity{Issuer: "i", Subject: "ada"}}
	assert.NotEqual(t, Name(viewer.Viewer{Network: "192.0.2.0/24"}), Name(viewer.Viewer{Network: "198.51.100.0/24"}))
	assert.NotEqual(t, Name(ada), Name(viewer.Viewer{Identity: viewer.Identity{Issuer: "j", Subject: "ada"}}))
	const id = "11111111-1111-4111-8111-111111111111"
	ada.UserID, ada.Network = id, "192.0.2.0/24"
	assert.Equal(t, "user:"+id, Name(ada))
}
