package score

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/taggie/taggie/internal/fault"
)

// The bounds of thumbnails.
const (
	// MaxPixels is how many an image may have: a page of A4 at 600 dots per inch has 35 million. It is read from the header,
	// before anything is decoded.
	MaxPixels = 40_000_000
	// MaxSide is how many pixels an image may be wide or high: what a JPEG can tell.
	MaxSide = 65_535
	// ThumbnailSide is how many pixels the longer side of a thumbnail has, at most.
	ThumbnailSide = 320
	// headerBytes is where the size of an image has to be told: JPEG has it behind what cameras add.
	headerBytes = 4 << 20
	// DecodeBytes is what decoding images may take up at a time on a server, unless there is less memory.
	DecodeBytes = 448 << 20
	// renderBytes is what a process takes up that decodes an image, besides the image.
	renderBytes = 32 << 20
)

// Thumbnails makes thumbnails, of as many images at a time as there is memory for.
type Thumbnails struct {
	render Renderer
	most   int64 // of one caller
	memory *semaphore.Weighted
	shares shares
}

// Renderer decodes an image and draws it small. Invalid when it is no image of the type, errUnsupported when nobody here can decode
// what is allowed in its type, errHeavy when that takes up more memory than it is given, Unavailable when it has not ended in time.
type Renderer func(ctx context.Context, job Rendering, r io.Reader) (Thumb, error)

// Rendering is what a [Renderer] is to do.
type Rendering struct {
	Type   string // of the image
	Turn   int    // what has to be done with it, see turnOf
	Memory int64  // bytes that it may take up for it
}

var (
	errUnsupported = errors.New("nobody here can decode this")
	errHeavy       = errors.New("it takes up more memory than its header tells")
)

// NewThumbnails returns what makes thumbnails with so many bytes of memory, of which a caller may take up three quarters.
func NewThumbnails(render Renderer, memory int64) *Thumbnails {
	most := memory / 4 * 3
	return &Thumbnails{render: render, most: most, memory: semaphore.NewWeighted(memory), shares: newShares(most)}
}

// Thumb is a thumbnail, and what was learned of its image.
type Thumb struct {
	Type          string
	Bytes         []byte
	Width, Height int         // of the thumbnail
	Of            image.Point // the size of the image, upright
}

// Thumbs reports whether images of the media type get a thumbnail.
func Thumbs(mediaType string) bool { return decoders[mediaType].decode != nil }

// Picture is an image in a file.
type Picture struct {
	Owner UserID // whose memory it takes up while it is decoded
	Type  string
	Size  int64 // bytes
}

// Make makes the thumbnail of an image; without bytes, but with the size of the image if its header tells it, when decoding it would
// take up more than there is for a caller, or nobody here can decode what is allowed in its type. It waits for others that are
// decoded, for half of the time that is left. Invalid when it has more than [MaxPixels] or a side above [MaxSide], or is no image of the
// type; Exhausted when others are decoded for longer than it waits; Unavailable when the context has ended.
func (t *Thumbnails) Make(ctx context.Context, p Picture, r io.Reader) (Thumb, error) {
	d, ok := decoders[p.Type]
	if !ok {
		return Thumb{}, fault.New(fault.Internal, "there are no thumbnails of this type")
	}
	file := &source{r: r, ended: ctx.Err}
	var head bytes.Buffer
	config, err := d.config(io.TeeReader(io.LimitReader(file, headerBytes), &head))
	if unsupported(err) && file.failure() == nil {
		return Thumb{}, nil
	}
	if err := file.failed(err); err != nil {
		return Thumb{}, err
	}
	if err := checkPixels(config); err != nil {
		return Thumb{}, err
	}
	turn := upright
	if p.Type == "image/jpeg" {
		turn = turnOf(head.Bytes())
	}
	sized := Thumb{Of: uprightSize(image.Pt(config.Width, config.Height), turn)}
	weight := d.weight(config, head.Bytes(), p.Size) + 4*max(stripPixels, int64(config.Width))
	if weight+renderBytes > t.most || p.Type == "image/webp" && animated(head.Bytes()) {
		return sized, nil
	}
	leave, err := t.enter(ctx, p.Owner, weight+renderBytes)
	if err != nil {
		return Thumb{}, err
	}
	defer leave()
	whole := &source{r: io.MultiReader(&head, file), ended: ctx.Err}
	thumb, err := t.render(ctx, Rendering{Type: p.Type, Turn: turn, Memory: weight}, whole)
	switch failure := whole.failure(); {
	case failure != nil:
		return Thumb{}, failure
	case errors.Is(err, errUnsupported), errors.Is(err, errHeavy):
		return sized, nil
	}
	return thumb, err
}

// enter waits until there is so much memory for the owner, and returns what gives it back. Faults: those of waitTurn.
func (t *Thumbnails) enter(ctx context.Context, owner UserID, weight int64) (leave func(), err error) {
	err = waitTurn(ctx, func(ctx context.Context) error {
		giveBack, err := t.shares.acquire(ctx, owner, weight)
		if err != nil {
			return err
		}
		if err := t.memory.Acquire(ctx, weight); err != nil {
			giveBack()
			return err
		}
		leave = func() { t.memory.Release(weight); giveBack() }
		return nil
	})
	return leave, err
}

func checkPixels(c image.Config) error {
	switch {
	case c.Width < 1 || c.Height < 1:
		return fault.Invalidf("input.itemId", "the image has no pixels")
	case c.Width > MaxSide || c.Height > MaxSide:
		return fault.Invalidf("input.itemId", "the image has %d × %d pixels; a side has at most %d", c.Width, c.Height, MaxSide)
	case pixels(c) > MaxPixels:
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
	sip   int // bytes that are read at most before it is asked again whether it has ended; 0 for as many as there is room for
	err   atomic.Pointer[error]
}

// sip is how many bytes a decoder gets between two looks at the clock: a few may have it work for long.
const sip = 512

// Read reads, unless the time is up.
func (s *source) Read(p []byte) (int, error) {
	if err := ended(s.ended()); err != nil {
		s.err.Store(&err)
		return 0, err
	}
	if s.sip > 0 {
		p = p[:min(len(p), s.sip)]
	}
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err.Store(&err)
	}
	return n, err
}

// failure is what was wrong with reading.
func (s *source) failure() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// failed is what was wrong with reading, else with the image.
func (s *source) failed(err error) error {
	if failure := s.failure(); failure != nil || err == nil {
		return failure
	}
	return errBroken()
}

func errBroken() error {
	return fault.Invalidf("input.itemId", "the image cannot be read: it is broken, or not of its type")
}

// unsupported reports whether an image is right, as far as it was read, and uses what the decoders do not know: JPEG of 12 bits,
// or coded arithmetically.
func unsupported(err error) bool {
	_, ofJPEG := errors.AsType[jpeg.UnsupportedError](err)
	_, ofPNG := errors.AsType[png.UnsupportedError](err)
	return ofJPEG || ofPNG
}

// animated reports whether a WebP is animated, which its decoder takes for broken. The first chunk, VP8X, begins with a byte of flags.
func animated(head []byte) bool {
	const flags, animation = 20, 1 << 1
	return len(head) > flags && string(head[8:16]) == "WEBPVP8X" && head[flags]&animation != 0
}

// Render decodes an image in this process, and ends with the context when more of it is read or drawn. It is a [Renderer]; that of a
// server is [Process], which bounds what decoding takes up.
func Render(ctx context.Context, job Rendering, r io.Reader) (Thumb, error) {
	d, ok := decoders[job.Type]
	if !ok {
		return Thumb{}, fault.New(fault.Internal, "there are no thumbnails of this type")
	}
	file := &source{r: r, ended: ctx.Err, sip: sip}
	picture, err := d.decode(file)
	switch failure := file.failure(); {
	case failure != nil:
		return Thumb{}, failure
	case err == nil:
	case unsupported(err):
		return Thumb{}, errUnsupported
	default:
		return Thumb{}, errBroken()
	}
	return shrink(ctx, picture, job.Turn)
}
