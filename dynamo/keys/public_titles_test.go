package keys

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlacesOfPublicScores(t *testing.T) {
	assert.Equal(t, []string{"PUBLIC:s", "PUBLIC:é", "PUBLIC:𝄞", ""}, []string{PublicTitlesPK("sonata"), PublicTitlesPK("étude"), PublicTitlesPK("𝄞"), PublicTitlesPK("")})
	const ids = "68yjpWHe5EOEnN6vv3UL1w==a62Xnv7FbkqPJQsmW1kBeg=="
	assert.Equal(t, "sonata\t"+ids, PublicTitleSK("sonata", exampleOwner, exampleScore))
	assert.Less(t, PublicTitleSK("ab", exampleOwner, exampleScore), PublicTitleSK("ab c", exampleOwner, exampleScore))
	for _, folded := range []string{"sonata", "", strings.Repeat("𝄞", 800), "of another\tprogram"} {
		sk := PublicTitleSK(folded, exampleOwner, exampleScore)
		assert.LessOrEqual(t, len(sk), 1024, "DynamoDB takes no more")
		owner, score, err := PublicTitleOf(sk)
		require.NoError(t, err)
		assert.Equal(t, []string{exampleOwner, exampleScore}, []string{owner, score})
	}
	for _, foreign := range []string{"", "sonata", "sonata\t", "sonata\t" + ids[1:]} {
		_, _, err := PublicTitleOf(foreign)
		require.Error(t, err)
	}
}
