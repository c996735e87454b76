package admission

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/httpapi/document"
)

func TestCostOf(t *testing.T) {
	for data, want := range map[string]int{
		`{"a":1}`: 1, `{"a":1,"b":[1,2,3]}`: 2 + 3, `{"a":{"b":null}}`: 2, `{"a":"{[,,\",\\"}`: 1, `{"a":"` + strings.Repeat("x", 10*document.TextPerUnit) + `"}`: 10 * document.TextPerUnit / document.BytesPerUnit, // its bytes say more than its one value
		`"a\`: 0,
	} {
		assert.Equal(t, want, CostOf([]byte(data)), data)
	}
}

// What was written is charged, by its bytes when these say more than its values.
func TestLargeAnswersCostTheirBytes(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 3_500, CostOf([]byte(`"`+strings.Repeat("x", 349_998)+`"`)))
	a := &Account{charge: 100, used: 100}
	a.uses(620_000)
	assert.Equal(t, 620_000, a.used)
}
