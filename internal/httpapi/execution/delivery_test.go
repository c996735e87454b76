package execution

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/lean"
)

// All parts of an answer may be as large together as an answer of one part.
func TestPartsMayBeAsLargeAsOne(t *testing.T) {
	t.Parallel()
	assert.Equal(t, lean.MaxAnswer, maxAnswer)
}
