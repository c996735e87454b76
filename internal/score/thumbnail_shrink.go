package score

import (
	"bytes"
	"context"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"slices"

	"github.com/taggie/taggie/internal/fault"
)

const quality = 82 // of the JPEG that a thumbnail is

// stripPixels is how many pixels of a picture are looked at before the context is asked again; a row at least, which has
// [MaxSide] pixels at most.
const stripPixels = 1 << 18

// shrink draws the picture small and upright: as JPEG, or as PNG where one can see through it. It is never made larger.
func shrink(ctx context.Context, picture image.Image, turn int) (Thumb, error) {
	from := picture.Bounds()
	small, err := scaled(ctx, picture, fit(from.Size()))
	if err != nil {
		return Thumb{}, err
	}
	small = turned(small, turn)
	thumb := Thumb{Type: "image/jpeg", Width: small.Rect.Dx(), Height: small.Rect.Dy(), Of: uprightSize(from.Size(), turn)}
	var out bytes.Buffer
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

// scaled draws the picture in a size that is not larger. Each pixel is the mean of what it covers, so that lines as thin as those of
// staves are not left out. It takes up memory for some rows, and ends with the context.
func scaled(ctx context.Context, picture image.Image, size image.Point) (*image.NRGBA, error) {
	from := picture.Bounds()
	wide, high := from.Dx(), from.Dy()
	b := newBox(wide, high, size)
	rows := min(high, max(1, stripPixels/wide))
	strip := image.NewRGBA(image.Rect(0, 0, wide, rows))
	for top := 0; top < high; top += rows {
		if err := ended(ctx.Err()); err != nil {
			return nil, err
		}
		n := min(rows, high-top)
		draw.Draw(strip, image.Rect(0, 0, wide, n), picture, from.Min.Add(image.Pt(0, top)), draw.Src)
		for y := range n {
			b.add(strip.Pix[y*strip.Stride : y*strip.Stride+4*wide])
		}
	}
	return b.out, nil
}

// box takes the rows of a picture, with colours that are multiplied by what one cannot see through, and makes means of them. A pixel
// of the picture weighs as much as the small one is wide and high, so that all shares are whole numbers.
type box struct {
	wide, high int // of the picture
	out        *image.NRGBA
	row        []uint64 // sums of one row of the picture, four for each small pixel
	sums       []uint64 // of the rows that make up the next one of out
	seen       int      // rows of the picture
	done       int      // rows of out
}

func newBox(wide, high int, size image.Point) *box {
	return &box{wide: wide, high: high, out: image.NewNRGBA(image.Rectangle{Max: size}), row: make([]uint64, 4*size.X), sums: make([]uint64, 4*size.X)}
}

// add adds the next row of the picture. One goroutine has the box; looking for races at each pixel would take tests a minute.
//
//go:norace
func (b *box) add(row []uint8) {
	clear(b.row)
	wide := b.out.Rect.Dx()
	for from, to, end := 0, 0, b.wide; from < b.wide; from++ {
		pixel := row[4*from : 4*from+4 : 4*from+4]
		sum := b.row[4*to : 4*to+4 : 4*to+4]
		share := uint64(wide)
		if over := (from+1)*wide - end; over >= 0 { // the small pixel ends in this one, or with it
			share -= uint64(over)
			for c := range 4 {
				sum[c] += share * uint64(pixel[c])
			}
			if to, end, share = to+1, end+b.wide, uint64(over); over == 0 {
				continue
			}
			sum = b.row[4*to : 4*to+4 : 4*to+4]
		}
		for c := range 4 {
			sum[c] += share * uint64(pixel[c])
		}
	}
	// The share of this row in one row of out or two.
	high := b.out.Rect.Dy()
	begin, end := b.seen*high, (b.seen+1)*high
	b.seen++
	for begin < end {
		upTo := min(end, (b.done+1)*b.high)
		for i, v := range b.row {
			b.sums[i] += uint64(upTo-begin) * v //nolint:gosec // never negative
		}
		if begin = upTo; upTo == (b.done+1)*b.high {
			b.flush()
		}
	}
}

// flush writes a row of out.
func (b *box) flush() {
	all := uint64(b.wide) * uint64(b.high) //nolint:gosec // what a small pixel weighs
	to := b.out.Pix[b.done*b.out.Stride:]
	for x := 0; x < len(b.sums); x += 4 {
		seen := b.sums[x+3]
		if seen == 0 {
			continue
		}
		for c := range 3 {
			to[x+c] = uint8(min(255, (255*b.sums[x+c]+seen/2)/seen)) //nolint:gosec // at most 255
		}
		to[x+3] = uint8((seen + all/2) / all) //nolint:gosec // at most 255
	}
	clear(b.sums)
	b.done++
}

// fit returns the size of a thumbnail of the proportions.
func fit(size image.Point) image.Point {
	longest := max(size.X, size.Y)
	if longest <= ThumbnailSide {
		return size
	}
	return image.Pt(max(1, size.X*ThumbnailSide/longest), max(1, size.Y*ThumbnailSide/longest))
}
