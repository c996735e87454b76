package score

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

// thumbnails decodes in this process.
func thumbnails() *Thumbnails { return NewThumbnails(Render, DecodeBytes) }

// marked returns an image whose left upper corner is dark.
func marked(width, height int) image.Image {
	m := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetGray(x, y, color.Gray{Y: 0xff})
			if x < width/4 && y < height/4 {
				m.SetGray(x, y, color.Gray{})
			}
		}
	}
	return m
}

func jpegBytes(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, jpeg.Encode(&out, m, &jpeg.Options{Quality: 95}))
	return out.Bytes()
}

// oriented adds what a camera would.
func oriented(picture []byte, turn byte, little bool) []byte {
	tiff := []byte{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, turn, 0, 0, 0, 0, 0, 0}
	if little {
		tiff = []byte{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, turn, 0, 0, 0, 0, 0, 0, 0}
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	head := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, byte(len(segment) + 2)}, segment...)
	return append(head, picture[2:]...)
}

func TestThumbnailsAreUpright(t *testing.T) {
	t.Parallel()
	picture := jpegBytes(t, marked(80, 40))
	for turn, corner := range map[byte]image.Point{
		1: {2, 2}, 2: {77, 2}, 3: {77, 37}, 4: {2, 37}, 5: {2, 2}, 6: {37, 2}, 7: {37, 77}, 8: {2, 77}, 0: {2, 2}, 9: {2, 2},
	} {
		for _, little := range []bool{false, true} {
			thumb, err := thumbnails().Make(t.Context(), Picture{Type: "image/jpeg"}, bytes.NewReader(oriented(picture, turn, little)))
			require.NoError(t, err)
			size := image.Pt(80, 40)
			if turn >= 5 && turn <= 8 {
				size = image.Pt(40, 80)
			}
			assert.Equal(t, size, image.Pt(thumb.Width, thumb.Height), "turn %d", turn)
			assert.Equal(t, size, thumb.Of)
			small, err := jpeg.Decode(bytes.NewReader(thumb.Bytes))
			require.NoError(t, err)
			r, _, _, _ := small.At(corner.X, corner.Y).RGBA()
			assert.Less(t, r, uint32(0x4000), "turn %d: the corner is at %v", turn, corner)
		}
	}
}

func FuzzTurn(f *testing.F) {
	var out bytes.Buffer
	_ = jpeg.Encode(&out, marked(8, 8), nil)
	f.Add(oriented(out.Bytes(), 6, true))
	f.Add(oriented(out.Bytes(), 3, false))
	f.Add([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 2})
	f.Fuzz(func(t *testing.T, head []byte) {
		if turn := turnOf(head); turn < 1 || turn > 8 {
			t.Fatalf("there is no turn %d", turn)
		}
	})
}

// vp8l is the header of a picture without loss, and what should be its pixels.
func vp8l(width, height int) []byte {
	bits := uint32(width-1) | uint32(height-1)<<14
	return []byte{0x2f, byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24), 0, 0, 0}
}

// vp8x says what is in a WebP.
func vp8x(flags byte, width, height int) []byte {
	return []byte{flags, 0, 0, 0, byte(width - 1), byte((width - 1) >> 8), byte((width - 1) >> 16), byte(height - 1), byte((height - 1) >> 8), byte((height - 1) >> 16)}
}

func chunk(id string, data []byte) []byte {
	return append([]byte(id+string([]byte{byte(len(data)), 0, 0, 0})), data...)
}

func riff(chunks ...[]byte) []byte {
	body := append([]byte("WEBP"), bytes.Join(chunks, nil)...)
	return append([]byte("RIFF"+string([]byte{byte(len(body)), 0, 0, 0})), body...)
}

// A WebP may say in one place that it is small, and be large.
func TestBombsAreRefusedByTheirHeader(t *testing.T) {
	t.Parallel()
	for why, content := range map[string][]byte{
		"large":                          riff(chunk("VP8L", vp8l(16384, 16384))),
		"said to be large":               riff(chunk("VP8X", vp8x(0, 1<<24, 100)), chunk("VP8L", vp8l(10, 10))),
		"said to be small, and is large": riff(chunk("VP8X", vp8x(0, 10, 10)), chunk("VP8L", vp8l(16384, 16384))),
	} {
		_, err := thumbnails().Make(t.Context(), Picture{Type: "image/webp"}, bytes.NewReader(content))
		assert.True(t, fault.Is(err, fault.Invalid), "%s: %v", why, err)
	}
}

// broken is a storage that stops in the middle of an object.
type broken struct{ r io.Reader }

var errStorage = errors.New("broken")

func (b broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = errStorage
	}
	return n, err
}

func TestABrokenStorageIsNotABrokenImage(t *testing.T) {
	t.Parallel()
	picture := jpegBytes(t, marked(300, 300))
	for _, n := range []int{0, 10, 700, len(picture) - 100} {
		_, err := thumbnails().Make(t.Context(), Picture{Type: "image/jpeg"}, broken{bytes.NewReader(picture[:n])})
		require.ErrorIs(t, err, errStorage)
		assert.False(t, fault.Is(err, fault.Invalid))
		_, err = thumbnails().Make(t.Context(), Picture{Type: "image/jpeg"}, bytes.NewReader(picture[:n]))
		assert.True(t, fault.Is(err, fault.Invalid), "%v", err)
	}
}

// stopping ends the context when it was read to the byte.
type stopping struct {
	r    io.Reader
	left int
	stop func()
}

func (s *stopping) Read(p []byte) (int, error) {
	n, err := s.r.Read(p[:min(len(p), max(s.left, 1))])
	if s.left -= n; s.left <= 0 {
		s.stop()
	}
	return n, err
}

// Nobody waits for the thumbnail of a request that has ended: before it is decoded, within, and behind.
func TestThumbnailsEndWithTheirRequest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&out, marked(1000, 1000)))
	picture := out.Bytes()
	for _, at := range []int{1, 10, 100_000, len(picture)} {
		ctx, stop := context.WithCancel(t.Context())
		r := &stopping{r: bytes.NewReader(picture), left: at, stop: stop}
		thumbs := thumbnails()
		_, err := thumbs.Make(ctx, Picture{Type: "image/png"}, r)
		require.ErrorIs(t, err, context.Canceled)
		assert.True(t, fault.Is(err, fault.Unavailable), "%d: %v", at, err)
		assert.LessOrEqual(t, -r.left, 1, "nothing is read behind it")
		assert.True(t, thumbs.memory.TryAcquire(DecodeBytes))
		stop()
	}
}

// Thin lines are still there in a thumbnail of a large page.
func TestLinesSurvive(t *testing.T) {
	t.Parallel()
	page := image.NewGray(image.Rect(0, 0, 1600, 2400))
	for i := range page.Pix {
		page.Pix[i] = 0xff
		if row := i / 1600; row%96 < 4 {
			page.Pix[i] = 0
		}
	}
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, page))
	thumb, err := thumbnails().Make(t.Context(), Picture{Type: "image/png"}, &out)
	require.NoError(t, err)
	small, err := jpeg.Decode(bytes.NewReader(thumb.Bytes))
	require.NoError(t, err)
	lines, dark := 0, false
	for y := range thumb.Height {
		r, _, _, _ := small.At(thumb.Width/2, y).RGBA()
		if now := r < 0xc000; now != dark {
			if dark = now; now {
				lines++
			}
		}
	}
	assert.Equal(t, 25, lines)
}

// jpegHeader is a JPEG of so many samples a pixel without its picture.
func jpegHeader(width, height, samples int) []byte {
	head := []byte{0xff, 0xd8, 0xff, 0xc2, 0, byte(8 + 3*samples), 8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), byte(samples)}
	for n := range samples {
		head = append(head, byte(n+1), 0x11, 0)
	}
	return append(head, 0xff, 0xda, 0, 2)
}

// What is right, and nobody here can decode, is no broken image. It has its size where the header tells it.
func TestImagesThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	precise, arithmetic := jpegHeader(100, 64, 3), jpegHeader(100, 64, 3)
	precise[6], arithmetic[3] = 12, 0xc9
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, marked(10, 10)))
	packed := out.Bytes()
	packed[26] = 1 // another way of packing
	binary.BigEndian.PutUint32(packed[29:], crc32.ChecksumIEEE(packed[12:29]))
	const animation = 2
	frames := chunk("ANIM", []byte{0, 0, 0, 0, 0, 0})
	for _, test := range []struct {
		why, mediaType string
		content        []byte
		of             image.Point
	}{
		{"12 bits", "image/jpeg", precise, image.Point{}},
		{"coded arithmetically", "image/jpeg", arithmetic, image.Point{}},
		{"packed otherwise", "image/png", packed, image.Point{}},
		{"animated", "image/webp", riff(chunk("VP8X", vp8x(animation, 300, 70_000/256)), frames), image.Pt(300, 70_000/256)},
	} {
		thumb, err := thumbnails().Make(t.Context(), Picture{Type: test.mediaType}, bytes.NewReader(test.content))
		require.NoError(t, err, test.why)
		assert.Equal(t, Thumb{Of: test.of}, thumb, test.why)
	}
	for why, content := range map[string][]byte{
		"many pixels":   riff(chunk("VP8X", vp8x(animation, 1<<24, 100)), frames),
		"not animated":  riff(chunk("VP8X", vp8x(0, 300, 100)), frames),
		"half a header": riff(chunk("VP8X", vp8x(animation, 300, 100)))[:28],
	} {
		_, err := thumbnails().Make(t.Context(), Picture{Type: "image/webp"}, bytes.NewReader(content))
		assert.True(t, fault.Is(err, fault.Invalid), "%s: %v", why, err)
	}
}

func TestManyThumbnailsAtATime(t *testing.T) {
	t.Parallel()
	thumbs, picture := thumbnails(), jpegBytes(t, marked(500, 500))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			_, err := thumbs.Make(t.Context(), Picture{Type: "image/jpeg"}, bytes.NewReader(picture))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	assert.True(t, thumbs.memory.TryAcquire(DecodeBytes), "all memory was given back")
}

func TestTypes(t *testing.T) {
	t.Parallel()
	picture := jpegBytes(t, marked(8, 8))
	for _, test := range []struct {
		said, found string
		head        []byte
	}{
		{"image/jpeg", "image/jpeg", picture},
		{"image/jpg", "image/jpeg", picture},
		{"application/octet-stream", "image/jpeg", picture},
		{"application/octet-stream", "text/plain", []byte("text")},
		{"application/octet-stream", "application/pdf", []byte("%PDF-1.7\n")},
		{"application/vnd.taggie", "application/vnd.taggie", []byte("text")},
		{"text/html", "text/html", []byte("<!DOCTYPE html>")},
		{"image/svg+xml", "image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)},
		{"image/apng", "image/png", []byte("\x89PNG\r\n\x1a\n")},
		{"image/x-ms-bmp", "image/bmp", []byte("BM............\x28\x00\x00\x00")},
		{"application/octet-stream", "image/bmp", []byte("BM............\x28\x00\x00\x00")},
		{"image/x-canon-cr2", "image/x-canon-cr2", []byte("II*\x00\x10\x00\x00\x00")},
		{"image/emf", "image/emf", []byte("\x01\x00\x00\x00")},
		{"image/avif", "", []byte("II*\x00\x10\x00\x00\x00")},
		{"image/avif", "", []byte("\x01\x00\x00\x00")},
		{"image/tiff", "", picture},
		{"image/tiff", "", []byte("%PDF-1.7\n")},
		{"image/png", "", picture},
		{"image/png", "", []byte("text")},
		{"image/png", "", nil},
		{"application/pdf", "", picture},
	} {
		found, err := typeOf(test.said, test.head)
		assert.Equal(t, test.found, found, "%s", test.said)
		assert.Equal(t, test.found == "", fault.Is(err, fault.Invalid), "%s: %v", test.said, err)
	}
	assert.True(t, Harmless("image/png"))
	for _, harmful := range []string{"image/svg+xml", "text/html", "application/pdf", "", "text/xml"} {
		assert.False(t, Harmless(harmful), harmful)
	}
}

func TestSizesOfParts(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]string{1: "1: 1", 10: "1: 10", 11: "2: 10 1", 20: "2: 10 10", 25: "3: 10 10 5"} {
		u := Upload{Size: size, PartSize: 10}
		got := fmt.Sprintf("%d:", u.Parts())
		for n := range u.Parts() {
			got += fmt.Sprintf(" %d", u.partBytes(n+1))
		}
		assert.Equal(t, want, got)
	}
	assert.LessOrEqual(t, Upload{Size: MaxItem, PartSize: PartSize}.Parts(), 10_000, "S3 takes no more")
}
