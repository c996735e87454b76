package labelling_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/labelling"
)

func TestEntriesOfAStreamFollowOneAnother(t *testing.T) {
	t.Parallel()
	inOrder := []string{"9-10", "10-0", "10-9", "10-10", "11-2"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			assert.Equal(t, i > j, labelling.EntryAfter(a, b), "%s after %s", a, b)
		}
	}
}
