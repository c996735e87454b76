package score

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"
)

// A page of A4 that was scanned with 300 dots per inch.
func BenchmarkThumbnail(b *testing.B) {
	var page bytes.Buffer
	if err := jpeg.Encode(&page, image.NewYCbCr(image.Rect(0, 0, 2480, 3508), image.YCbCrSubsampleRatio420), nil); err != nil {
		b.Fatal(err)
	}
	thumbs := thumbnails()
	for b.Loop() {
		if _, err := thumbs.Make(b.Context(), Picture{Type: "image/jpeg"}, bytes.NewReader(page.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
