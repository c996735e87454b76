package dynamo_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/dynamo"
	"github.com/taggie/taggie/dynamo/dynamotest"
)

// What is declared once is written, read and seen by light reads: a note that is selected without its content lacks nothing else.
func TestDeclaredAttributesAreWrittenReadAndProjected(t *testing.T) {
	type painted struct{ color, picture string }
	layout := dynamo.LayoutOf(
		dynamo.OfText("color", func(p *painted) *string { return &p.color }),
		dynamo.Big(dynamo.OfText("picture", func(p *painted) *string { return &p.picture })),
		dynamo.IndexKey("GSI1PK", func(p *painted) string { return "BY#" + p.color }),
	)
	row := layout.Row(&painted{"red", "a large one"})
	assert.Equal(t, []string{"GSI1PK", "color", "picture"}, slices.Sorted(maps.Keys(row)))
	var whole, light painted
	require.NoError(t, layout.Decode(dynamo.ItemOf(row), &whole))
	assert.Equal(t, painted{"red", "a large one"}, whole)
	require.NoError(t, layout.Decode(dynamotest.SeenThrough(dynamo.Lightest(layout.Light(), layout.Light()), row), &light))
	assert.Equal(t, painted{color: "red"}, light)
}
