package demo

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"

	"golang.org/x/image/vector"
)

// The size of a postcard in pixels: 6 by 4 inches at 150 dots per inch.
const (
	cardWidth  = 900
	cardHeight = 600
	cardBorder = 24
	horizon    = 330 // where the sky ends, from the top
)

// scene is what a postcard shows.
type scene int

const (
	sea scene = iota
	mountains
	town
	forest
)

// light is the time of the day that it shows.
type light int

const (
	day light = iota
	dusk
	night
)

// tones are the colours of a light: the sky from its top to the horizon, what shines in it, what lies far and near, lamps and snow.
type tones struct{ top, bottom, disc, far, middle, near, glow, snow color.RGBA }

var tonesOf = map[light]tones{
	day:   {rgb(0x5fa8d3), rgb(0xd7ecf5), rgb(0xfff3c4), rgb(0x8fb1b8), rgb(0x5b8a72), rgb(0x2f5d50), rgb(0xfdfcf7), rgb(0xfdfcf7)},
	dusk:  {rgb(0x5b3a6b), rgb(0xf6a65b), rgb(0xffe2a8), rgb(0xa0617a), rgb(0x6b3f5e), rgb(0x35234a), rgb(0xffd98a), rgb(0xfbe3d0)},
	night: {rgb(0x0b1533), rgb(0x2c3e6b), rgb(0xf2f0dc), rgb(0x2a3a61), rgb(0x1b2747), rgb(0x0d152c), rgb(0xffd166), rgb(0xa9b7dc)},
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
}

// postcard is a drawing: the same one always gives the same bytes.
type postcard struct {
	seed  uint64
	scene scene
	light light
}

// png returns the picture as PNG.
func (p postcard) png() ([]byte, error) {
	v := &view{
		RGBA: image.NewRGBA(image.Rect(0, 0, cardWidth, cardHeight)), tones: tonesOf[p.light],
		random: rand.New(rand.NewPCG(p.seed, p.seed^0xca4d)),
	}
	v.sky(p.light)
	switch p.scene {
	case sea:
		v.water()
	case mountains:
		v.peaks()
	case town:
		v.houses()
	case forest:
		v.firs()
	}
	v.border()
	return encodePNG(v.RGBA)
}

// view is a postcard on which one draws.
type view struct {
	*image.RGBA
	tones
	random *rand.Rand
}

// point is a place on a postcard, in pixels from the top left.
type point struct{ x, y float64 }

// between returns a number of a range.
func (v *view) between(low, high float64) float64 { return low + (high-low)*v.random.Float64() }

// area fills what the points enclose.
func (v *view) area(c color.RGBA, points ...point) {
	low, high := points[0], points[0]
	for _, p := range points {
		low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
	}
	around := image.Rect(int(low.x)-1, int(low.y)-1, int(high.x)+2, int(high.y)+2).Intersect(v.Bounds())
	r := vector.NewRasterizer(around.Dx(), around.Dy())
	at := func(p point) (x, y float32) {
		return float32(p.x) - float32(around.Min.X), float32(p.y) - float32(around.Min.Y)
	}
	r.MoveTo(at(points[0]))
	for _, p := range points[1:] {
		r.LineTo(at(p))
	}
	r.ClosePath()
	r.Draw(v.RGBA, around, image.NewUniform(c), image.Point{})
}

func (v *view) box(c color.RGBA, x, y, width, height float64) {
	v.area(c, point{x, y}, point{x + width, y}, point{x + width, y + height}, point{x, y + height})
}

func (v *view) disk(c color.RGBA, x, y, radius float64) {
	const corners = 40
	round := make([]point, corners)
	for i := range round {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		round[i] = point{x + radius*cos, y + radius*sin}
	}
	v.area(c, round...)
}

// sky draws bands from the top to the horizon, the sun or the moon, and clouds or stars.
func (v *view) sky(l light) {
	const bands = 11
	for i := range bands {
		part := image.Rect(0, i*horizon/bands, cardWidth, cardHeight)
		draw.Draw(v.RGBA, part, image.NewUniform(mix(v.top, v.bottom, float64(i)/(bands-1))), image.Point{}, draw.Src)
	}
	x, y := v.between(140, cardWidth-140), v.between(90, 180)
	if l == dusk {
		y = v.between(220, 290)
	}
	v.disk(mix(v.bottom, v.disc, 0.35), x, y, 62)
	v.disk(v.disc, x, y, 44)
	switch l {
	case night:
		v.disk(mix(v.top, v.bottom, 0.4), x+18, y-12, 38) // what is left is a crescent
		for range 70 {
			v.disk(v.disc, v.between(0, cardWidth), v.between(0, horizon-60), v.between(0.8, 2))
		}
	case day:
		for range 3 {
			v.cloud(v.between(80, cardWidth-80), v.between(60, 220))
		}
	case dusk:
	}
}

func (v *view) cloud(x, y float64) {
	for i := range 4 {
		v.disk(v.glow, x+26*float64(i), y-8*float64(i%2), v.between(16, 28))
	}
	v.box(v.glow, x-14, y, 106, 18)
}

// hills draws a line of hills, and fills what is below.
func (v *view) hills(c color.RGBA, height, rise float64) {
	a, b := v.between(0, 6), v.between(0, 6)
	points := []point{{0, cardHeight}}
	for x := 0.0; x <= cardWidth; x += 12 {
		points = append(points, point{x, height - rise*(math.Sin(x/130+a)+0.5*math.Sin(x/57+b))})
	}
	v.area(c, append(points, point{cardWidth, cardHeight})...)
}

func (v *view) border() {
	frame := image.NewUniform(paper)
	for _, side := range []image.Rectangle{
		image.Rect(0, 0, cardWidth, cardBorder), image.Rect(0, cardHeight-cardBorder, cardWidth, cardHeight),
		image.Rect(0, 0, cardBorder, cardHeight), image.Rect(cardWidth-cardBorder, 0, cardWidth, cardHeight),
	} {
		draw.Draw(v.RGBA, side, frame, image.Point{}, draw.Src)
	}
}

// mix returns a colour between two.
func mix(a, b color.RGBA, part float64) color.RGBA {
	between := func(x, y uint8) uint8 { return uint8(float64(x) + part*(float64(y)-float64(x))) }
	return color.RGBA{between(a.R, b.R), between(a.G, b.G), between(a.B, b.B), 0xff}
}
