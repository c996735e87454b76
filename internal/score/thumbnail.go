package score

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
)

// The bounds of thumbnails.
const (
	// MaxPixels is how many an image may have: a page of A4 at 600 dots per inch has 35 million. It is read from the header,
	// before anything is decoded.
	MaxPixels = 40_000_000
	// ThumbnailSide is how many pixels the longer side of a thumbnail has, at most.
	ThumbnailSide = 320
	// sniffed is how many bytes of a file tell its type.
	sniffed = 3072
	// headerBytes is where the size of an image has to be told: JPEG has it behind what cameras add.
	headerBytes = 4 << 20
	// decodeBytes is what decoding images may take up at a time.
	decodeBytes = 640 << 20
	quality     = 82
)

// decoder reads images of a type.
type decoder struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	block  int                      // pixels on each side that are decoded together, at most: so many there are of each image
	bytes  func(image.Config) int64 // for each pixel, at most
}

var decoders = map[string]decoder{
	"image/jpeg": {jpeg.DecodeConfig, jpeg.Decode, 32, jpegPixel},
	"image/png":  {png.DecodeConfig, png.Decode, 1, always(12)}, // 8 of 16 bits a sample, and half of them again when it is interlaced
	"image/gif":  {gif.DecodeConfig, gif.Decode, 1, always(4)},  // the first picture
	"image/webp": {webp.DecodeConfig, webp.Decode, 16, always(10)},
}

func always(bytes int64) func(image.Config) int64 {
	return func(image.Config) int64 { return bytes }
}

// jpegPixel is what a pixel of a progressive JPEG takes up: 4 bytes of each sample until the last scan is read, the samples, and
// 4 bytes besides when these are not the picture yet.
func jpegPixel(c image.Config) int64 {
	switch c.ColorModel {
	case color.CMYKModel:
		return 4*4 + 4 + 4
	case color.RGBAModel:
		return 3*4 + 3 + 4
	}
	return 3*4 + 3
}

// weight returns how many bytes decoding an image takes up, at most.
func (d decoder) weight(c image.Config) int64 {
	whole := func(side int) int64 { return int64((side + d.block - 1) / d.block * d.block) }
	return whole(c.Width) * whole(c.Height) * d.bytes(c)
}

// sameTypes are other names for types of images.
var sameTypes = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png", "image/apng": "image/png", "image/vnd.mozilla.apng": "image/png",
}

func plainType(mediaType string) string {
	if same, ok := sameTypes[mediaType]; ok {
		return same
	}
	return mediaType
}

// typeOf returns the type of a file that begins with the bytes, and was said to be of a type: Invalid when it is an image of
// another type, or no image but said to be one. Of other files the client's word is taken, if there is one: no browser ever shows
// them. So it is of images that nobody looks into, when the bytes are those of none that is shown.
func typeOf(said string, head []byte) (string, error) {
	found := mimetype.Detect(head)
	mediaType := plainType(bare(found.String()))
	said = plainType(said)
	isImage, saidImage := class(mediaType) == "image", class(said) == "image"
	switch {
	case mediaType == said, said == anyBytes, saidImage && found.Is(said):
		return mediaType, nil
	case saidImage && !Harmless(said) && !Harmless(mediaType) && (isImage || mediaType == anyBytes):
		return said, nil
	case saidImage && isImage:
		return "", fault.Invalidf("input.itemId", "the file is not of the type %s: its bytes are those of %s", said, mediaType)
	case saidImage:
		return "", fault.Invalidf("input.itemId", "the file is not of the type %s: its bytes are not those of an image", said)
	case isImage && Thumbs(mediaType):
		return "", fault.Invalidf("input.itemId", "the file is not of the type %s: its bytes are those of %s", said, mediaType)
	}
	return said, nil
}

// anyBytes is the media type of who does not know.
const anyBytes = "application/octet-stream"

func bare(mediaType string) string {
	t, err := parseType(mediaType)
	if err != nil {
		return mediaType
	}
	return t
}

func class(mediaType string) string { return Item{Type: mediaType}.Class() }

// Thumbnails makes thumbnails, of as many images at a time as there is memory for.
type Thumbnails struct{ memory *semaphore.Weighted }

// NewThumbnails returns what makes thumbnails.
func NewThumbnails() *Thumbnails { return &Thumbnails{memory: semaphore.NewWeighted(decodeBytes)} }

// Thumb is a thumbnail, and what was learned of its image.
type Thumb struct {
	Type          string
	Bytes         []byte
	Width, Height int         // of the thumbnail
	Of            image.Point // the size of the image, upright
}

// Thumbs reports whether images of the media type get a thumbnail.
func Thumbs(mediaType string) bool { return decoders[mediaType].decode != nil }

// Make makes the thumbnail of an image; without bytes, but with the size of the image if its header tells it, when decoding it would
// take up more than there is for all, or nobody here can decode what is allowed in its type. Invalid when it has more than
// [MaxPixels], or is no image of the type; Unavailable when the context has ended.
func (t *Thumbnails) Make(ctx context.Context, mediaType string, r io.Reader) (Thumb, error) {
	d, ok := decoders[mediaType]
	if !ok {
		return Thumb{}, fault.New(fault.Internal, "there are no thumbnails of this type")
	}
	file := &source{r: r, ended: ctx.Err}
	var head bytes.Buffer
	config, err := d.config(io.TeeReader(io.LimitReader(file, headerBytes), &head))
	if file.unsupported(err) {
		return Thumb{}, nil
	}
	if err := file.failed(err); err != nil {
		return Thumb{}, err
	}
	if err := checkPixels(config); err != nil {
		return Thumb{}, err
	}
	turn := upright
	if mediaType == "image/jpeg" {
		turn = turnOf(head.Bytes())
	}
	weight := d.weight(config)
	sized := Thumb{Of: uprightSize(image.Pt(config.Width, config.Height), turn)}
	if weight > decodeBytes || mediaType == "image/webp" && animated(head.Bytes()) {
		return sized, nil
	}
	if err := t.memory.Acquire(ctx, weight); err != nil {
		return Thumb{}, fault.Wrap(fault.Unavailable, err, "there are too many images to look at; complete the upload again")
	}
	defer t.memory.Release(weight)
	whole := &source{r: io.MultiReader(&head, file), ended: ctx.Err}
	picture, err := d.decode(whole)
	if whole.unsupported(err) {
		return sized, nil
	}
	if err := whole.failed(err); err != nil {
		return Thumb{}, err
	}
	if err := ended(ctx.Err()); err != nil {
		return Thumb{}, err
	}
	return shrink(picture, turn)
}

func checkPixels(c image.Config) error {
	switch {
	case c.Width < 1 || c.Height < 1:
		return fault.Invalidf("input.itemId", "the image has no pixels")
	case int64(c.Width)*int64(c.Height) > MaxPixels:
		return fault.Invalidf("input.itemId", "the image has %d × %d pixels; at most %d million are allowed", c.Width, c.Height, MaxPixels/1_000_000)
	}
	return nil
}

// ended says that there was no time to look at an image; nil when there still is.
func ended(err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, err, "the image could not be looked at in time; complete the upload again")
}

// source tells what is wrong with an image from what is wrong with reading it. It is read no further when it has ended.
type source struct {
	r     io.Reader
	ended func() error
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	if err := ended(s.ended()); err != nil {
		s.err = err
		return 0, err
	}
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *source) failed(err error) error {
	switch {
	case s.err != nil:
		return s.err
	case err != nil:
		return fault.Invalidf("input.itemId", "the image cannot be read: it is broken, or not of its type")
	}
	return nil
}

// unsupported reports whether an image is right, as far as it was read, and uses what the decoders do not know: JPEG of 12 bits,
// or coded arithmetically.
func (s *source) unsupported(err error) bool {
	_, ofJPEG := errors.AsType[jpeg.UnsupportedError](err)
	_, ofPNG := errors.AsType[png.UnsupportedError](err)
	return s.err == nil && (ofJPEG || ofPNG)
}

// animated reports whether a WebP is animated, which its decoder takes for broken. The first chunk, VP8X, begins with a byte of flags.
func animated(head []byte) bool {
	const flags, animation = 20, 1 << 1
	return len(head) > flags && string(head[8:16]) == "WEBPVP8X" && head[flags]&animation != 0
}

// shrink draws the picture small and upright: as JPEG, or as PNG where one can see through it. It is never made larger.
func shrink(picture image.Image, turn int) (Thumb, error) {
	from := picture.Bounds()
	size := fit(from.Size())
	small := image.NewNRGBA(image.Rectangle{Max: size})
	// A kernel that looks at each pixel of the picture: the approximate ones leave out lines as thin as those of staves.
	draw.BiLinear.Scale(small, small.Bounds(), picture, from, draw.Src, nil)
	small = turned(small, turn)
	thumb := Thumb{Type: "image/jpeg", Width: small.Rect.Dx(), Height: small.Rect.Dy(), Of: uprightSize(from.Size(), turn)}
	var out bytes.Buffer
	var err error
	if small.Opaque() {
		err = jpeg.Encode(&out, small, &jpeg.Options{Quality: quality})
	} else {
		thumb.Type = "image/png"
		err = png.Encode(&out, small)
	}
	if err != nil {
		return Thumb{}, fault.Wrap(fault.Internal, err, "the thumbnail could not be made")
	}
	thumb.Bytes = slices.Clip(out.Bytes())
	return thumb, nil
}

// fit returns the size of a thumbnail of the proportions.
func fit(size image.Point) image.Point {
	longest := max(size.X, size.Y)
	if longest <= ThumbnailSide {
		return size
	}
	return image.Pt(max(1, size.X*ThumbnailSide/longest), max(1, size.Y*ThumbnailSide/longest))
}
