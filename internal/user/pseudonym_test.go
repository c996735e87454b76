package user_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/user"
)

func TestPseudonyms(t *testing.T) {
	t.Parallel()
	one, other := user.Pseudonym(uuid.New()), user.Pseudonym(uuid.New())
	assert.NotEqual(t, one, other)
	for _, id := range []user.ID{one, other, user.Erased} {
		assert.True(t, user.IsErased(id))
		parsed, err := uuid.Parse(string(id))
		require.NoError(t, err)
		assert.Equal(t, string(id), parsed.String())
	}
	for _, id := range []user.ID{"", "ada", user.ID(uuid.NewString()), "2e1b9a30-5e1c-8a11-9d3c-0242ac120002", user.ID(uuid.Must(uuid.NewV7()).String())} {
		assert.False(t, user.IsErased(id), id)
	}
}
