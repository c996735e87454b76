package demo

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"math/rand/v2"
)

// The size of a page of music in pixels: A4 at 120 dots per inch.
const (
	pageWidth  = 992
	pageHeight = 1403
)

// The measures of a page in pixels.
const (
	margin     = 72
	gap        = 10 // between the lines of a staff
	staffPitch = 118
	barsPerRow = 4
	lineWidth  = 2
	stemLength = 34
	signature  = 58 // room at the beginning of a staff
)

var (
	paper = color.RGBA{0xfb, 0xf8, 0xf0, 0xff}
	ink   = color.RGBA{0x1c, 0x1a, 0x18, 0xff}
)

// DrawStaves returns a page of music as PNG: staves of five lines with clefs, bar lines and notes. The same seed gives the same
// bytes.
func DrawStaves(seed uint64) ([]byte, error) {
	s := &sheet{RGBA: image.NewRGBA(image.Rect(0, 0, pageWidth, pageHeight)), random: rand.New(rand.NewPCG(seed, seed^0x5eed))}
	s.fill(s.Bounds(), paper)
	s.title()
	for top := margin + 90; top+4*gap+margin < pageHeight; top += staffPitch {
		s.staff(top, top+staffPitch+4*gap+margin >= pageHeight)
	}
	return encodePNG(s.RGBA)
}

// encodePNG returns a drawing as PNG.
func encodePNG(drawing *image.RGBA) ([]byte, error) {
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, drawing); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// sheet is a page on which one draws.
type sheet struct {
	*image.RGBA
	random *rand.Rand
}

func (s *sheet) fill(r image.Rectangle, c color.RGBA) {
	draw.Draw(s.RGBA, r, image.NewUniform(c), image.Point{}, draw.Src)
}

func (s *sheet) bar(x0, y0, x1, y1 int) { s.fill(image.Rect(x0, y0, x1, y1), ink) }

// title draws where the words of a title would be, as bars.
func (s *sheet) title() {
	wide := 180 + s.random.IntN(200)
	s.bar((pageWidth-wide)/2, margin-20, (pageWidth+wide)/2, margin)
	s.bar(pageWidth-margin-120-s.random.IntN(60), margin+26, pageWidth-margin, margin+34)
}

// staff draws one staff with its bars; the last one of a page ends with a thick line.
func (s *sheet) staff(top int, last bool) {
	left, right := margin, pageWidth-margin
	for line := range 5 {
		s.bar(left, top+line*gap, right, top+line*gap+lineWidth)
	}
	s.bar(left, top, left+lineWidth, top+4*gap+lineWidth)
	s.clef(left+18, top)
	wide := (right - left - signature) / barsPerRow
	for bar := range barsPerRow {
		from := left + signature + bar*wide
		s.notes(from, from+wide, top)
		s.bar(from+wide-lineWidth, top, from+wide, top+4*gap+lineWidth)
	}
	if last {
		s.bar(right-10, top, right-4, top+4*gap+lineWidth)
	}
}

// clef draws what looks like a treble clef: a spiral with a stroke through it.
func (s *sheet) clef(x, top int) {
	for turn := 0.0; turn < 3.4*math.Pi; turn += 0.02 {
		radius := 3 + turn*1.55
		s.dot(float64(x)+8+radius*0.8*math.Cos(turn), float64(top)+3*gap-radius*math.Sin(turn), 1.5)
	}
	for y := -12; y < 5*gap+10; y++ {
		s.dot(float64(x)+9+2*math.Sin(float64(y)/16), float64(top+y), 1.3)
	}
	s.ellipse(float64(x)+5, float64(top+5*gap+8), 4, 4, 0, true)
}

// notes fills a bar: four quarters, or what takes as long.
func (s *sheet) notes(from, to, top int) {
	step := (to - from - 20) / 8
	position := 2 + s.random.IntN(6)
	for eighth := 0; eighth < 8; {
		position = min(max(position+s.random.IntN(5)-2, -2), 10) // in half gaps from the top line
		x := from + 14 + eighth*step
		switch length := s.random.IntN(6); {
		case length == 0 && eighth <= 4:
			s.note(x, top, position, false)
			eighth += 4
		case length <= 2 && eighth <= 6:
			s.pair(x, x+step, top, position)
			eighth += 2
		case length == 3:
			s.rest(x, top)
			eighth += 2
		default:
			s.note(x, top, position, true)
			eighth += 2
		}
	}
}

// note draws a note with its stem and the lines that it needs beyond the five.
func (s *sheet) note(x, top, position int, filled bool) {
	y := s.head(x, top, position, filled)
	if position >= 4 { // the stem goes up from the right side
		s.bar(x+5, y-stemLength, x+7, y-1)
		return
	}
	s.bar(x-7, y+1, x-5, y+stemLength)
}

// pair draws two eighths under one beam.
func (s *sheet) pair(x0, x1, top, position int) {
	y0 := s.head(x0, top, position, true)
	y1 := s.head(x1, top, position+1, true)
	high := min(y0, y1) - stemLength
	s.bar(x0+5, high, x0+7, y0-1)
	s.bar(x1+5, high, x1+7, y1-1)
	s.bar(x0+5, high, x1+7, high+5)
}

func (s *sheet) head(x, top, position int, filled bool) int {
	y := top + position*gap/2 + lineWidth/2
	for line := -2; line >= position; line -= 2 {
		s.bar(x-11, top+line*gap/2, x+11, top+line*gap/2+lineWidth)
	}
	for line := 10; line <= position; line += 2 {
		s.bar(x-11, top+line*gap/2, x+11, top+line*gap/2+lineWidth)
	}
	s.ellipse(float64(x), float64(y), 6.6, 4.6, -0.35, filled)
	return y
}

// rest draws a rest of a quarter, as a zigzag.
func (s *sheet) rest(x, top int) {
	for step := range 3 * gap {
		slope := []int{1, -1, 1}[step/gap]
		s.dot(float64(x+slope*(step%gap-gap/2)/2), float64(top+gap/2+step), 2)
	}
}

func (s *sheet) dot(x, y, radius float64) { s.ellipse(x, y, radius, radius, 0, true) }

// ellipse draws an ellipse that is turned by an angle, filled or as a line.
func (s *sheet) ellipse(x, y, a, b, angle float64, filled bool) {
	reach := math.Max(a, b) + 1
	sin, cos := math.Sincos(angle)
	for py := int(y - reach); py <= int(y+reach); py++ {
		for px := int(x - reach); px <= int(x+reach); px++ {
			dx, dy := float64(px)-x, float64(py)-y
			u, v := (dx*cos+dy*sin)/a, (dy*cos-dx*sin)/b
			if d := u*u + v*v; d <= 1 && (filled || d > 0.42) && image.Pt(px, py).In(s.Bounds()) {
				s.SetRGBA(px, py, ink)
			}
		}
	}
}
