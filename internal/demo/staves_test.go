package demo_test

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/demo"
)

func TestStaves(t *testing.T) {
	first, err := demo.DrawStaves(1)
	require.NoError(t, err)
	again, err := demo.DrawStaves(1)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(first, again), "the same seed, the same page")
	other, err := demo.DrawStaves(2)
	require.NoError(t, err)
	assert.False(t, bytes.Equal(first, other))
	assert.Less(t, len(first), 200_000)

	page, err := png.Decode(bytes.NewReader(first))
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 992, 1403), page.Bounds())
	// Just right of the left margin all lines of all staves are dark, and nothing else is.
	lines, dark := 0, false
	for y := range page.Bounds().Dy() {
		r, _, _, _ := page.At(margin+6, y).RGBA()
		if now := r < 0x8000; now != dark {
			if dark = now; now {
				lines++
			}
		}
	}
	assert.Zero(t, lines%5, "%d lines", lines)
	assert.GreaterOrEqual(t, lines, 40)
}

const margin = 72
