package casefold_test

import (
	"fmt"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/casefold"
)

// Letters that Unicode takes for one but for their case, all of them.
func TestLettersAreOneWhateverTheirCase(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			assert.Equal(t, casefold.String(string(r)), casefold.String(string(other)), "%U and %U", r, other)
		}
	}
}

func TestFoldingTwiceIsFoldingOnce(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		once := casefold.String(string(r))
		assert.Equal(t, once, casefold.String(once), "%U", r)
	}
}

func ExampleString() {
	fmt.Println(casefold.String("Straße"), casefold.String("ꭰ") == casefold.String("Ꭰ"))
	// Output: strasse true
}
