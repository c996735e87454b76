package demo

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPostcards(t *testing.T) {
	cards := planPostcards(full.postcards)
	assert.Equal(t, cards[:small.postcards], planPostcards(small.postcards), "a smaller set is the beginning of a larger one")
	shown := map[[2]int]bool{}
	for _, c := range cards[:small.postcards] {
		shown[[2]int{int(c.card.scene), int(c.card.light)}] = true
	}
	assert.Len(t, shown, len(scenes)*len(lights), "each scene in each light")

	files := map[string]bool{}
	for _, c := range cards[:12] {
		file, err := c.card.png()
		require.NoError(t, err)
		again, err := c.card.png()
		require.NoError(t, err)
		assert.True(t, bytes.Equal(file, again), "the same card, the same bytes")
		assert.Less(t, len(file), 100_000)
		files[string(file)] = true
		picture, err := png.Decode(bytes.NewReader(file))
		require.NoError(t, err)
		assert.Equal(t, image.Rect(0, 0, cardWidth, cardHeight), picture.Bounds())
		assert.Equal(t, paper, picture.At(cardWidth-1, cardHeight/2), "the border is not drawn over")
		assert.NotEqual(t, picture.At(cardWidth/2, cardBorder+1), picture.At(cardWidth/2, cardHeight-cardBorder-1), "sky and ground")
	}
	assert.Len(t, files, 12)
}
