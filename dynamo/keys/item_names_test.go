package keys

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlacesOfItemsByTheirNames(t *testing.T) {
	assert.Equal(t, []string{"p:o", "p:é", "p:𝄞", "p:%3A", "a%3Ab:o", ""},
		[]string{ItemNamesPK("p", "owl"), ItemNamesPK("p", "école"), ItemNamesPK("p", "𝄞"), ItemNamesPK("p", ":"), ItemNamesPK("a:b", "owl"), ItemNamesPK("p", "")})
	assert.Equal(t, "owl\t"+exampleItem, ItemNameSK("owl", exampleItem))
	assert.Less(t, ItemNameSK("ab", exampleItem), ItemNameSK("ab c", exampleItem))
	for _, folded := range []string{"owl", "", strings.Repeat("𝄞", 800), "of another\tprogram"} {
		for _, id := range []string{exampleItem, "i:1"} {
			sk := ItemNameSK(folded, id)
			assert.LessOrEqual(t, len(sk), 1024, "DynamoDB takes no more")
			item, err := ItemNameOf(sk)
			require.NoError(t, err)
			assert.Equal(t, id, item)
		}
	}
	for _, of := range [][]string{{"owl", "owm"}, {"o\U0010FFFF", "p"}, {"\U0010FFFF", ""}, {"o\uD7FF", "o\uE000"}} {
		low, high := ItemNamesRange(of[0])
		assert.Equal(t, of, []string{low, high})
	}
	_, err := ItemNameOf("owl")
	require.Error(t, err)
}
