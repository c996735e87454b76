package demo

import "math"

// water draws the sea with a lighthouse, and boats on it.
func (v *view) water() {
	v.hills(v.far, horizon-6, 14)
	v.box(mix(v.bottom, v.middle, 0.55), 0, horizon, cardWidth, cardHeight-horizon)
	for y := horizon + 12.0; y < cardHeight; y *= 1.035 {
		for range 6 {
			v.box(mix(v.bottom, v.far, 0.3), v.between(0, cardWidth), y, v.between(20, 30+y/5), 2.5)
		}
	}
	left := v.between(120, 620)
	v.area(v.near, point{left - 110, horizon + 40}, point{left - 30, horizon - 14}, point{left + 70, horizon - 8}, point{left + 160, horizon + 40})
	v.area(v.glow, point{left - 16, horizon - 10}, point{left - 9, horizon - 130}, point{left + 9, horizon - 130}, point{left + 16, horizon - 10})
	for stripe := range 3 {
		y := horizon - 110 + 36*float64(stripe)
		v.box(rgb(0xb5403a), left-12, y, 24, 16)
	}
	v.box(v.near, left-13, horizon-150, 26, 20)
	v.disk(v.disc, left, horizon-140, 8)
	for i := range 2 + v.random.IntN(2) {
		v.boat(v.between(120, cardWidth-120), horizon+70+65*float64(i), 0.7+0.35*float64(i))
	}
}

// boat draws a boat with two sails.
func (v *view) boat(x, y, scale float64) {
	at := func(dx, dy float64) point { return point{x + scale*dx, y + scale*dy} }
	v.area(v.glow, at(-3, -92), at(-3, -12), at(-52, -12))
	v.area(mix(v.glow, v.disc, 0.6), at(3, -80), at(3, -12), at(44, -12))
	v.area(v.near, at(-62, -6), at(58, -6), at(36, 18), at(-44, 18))
}

// peaks draws mountains with snow behind a lake.
func (v *view) peaks() {
	for row := range 2 {
		c := mix(v.far, v.middle, float64(row)*0.7)
		base := horizon + 30 + 40*float64(row)
		for x := v.between(-80, 0); x < cardWidth+100; x += v.between(150, 230) {
			height, wide := v.between(130, 250)-50*float64(row), v.between(130, 190)
			top := point{x + v.between(-20, 20), base - height}
			v.area(c, point{x - wide, base + 40}, top, point{x + wide, base + 40})
			snow := func(part float64, side float64) point { return point{top.x + side*wide*part, top.y + (height+40)*part} }
			v.area(v.snow, top, snow(0.3, 1), snow(0.2, 0.45), snow(0.34, 0.1), snow(0.22, -0.4), snow(0.28, -1))
		}
	}
	v.box(mix(v.bottom, v.far, 0.4), 0, horizon+96, cardWidth, cardHeight)
	for y := horizon + 110.0; y < cardHeight; y += 17 {
		v.box(mix(v.bottom, v.glow, 0.4), v.between(0, 700), y, v.between(60, 240), 2)
	}
	v.hills(v.near, cardHeight-40, 22)
	for range 5 {
		v.fir(v.between(40, cardWidth-40), cardHeight-30, v.between(70, 120))
	}
}

// houses draws a street in front of a church.
func (v *view) houses() {
	v.hills(v.far, horizon+20, 24)
	church := v.between(220, 640)
	v.box(v.middle, church-30, horizon-90, 60, 260)
	v.area(v.near, point{church - 40, horizon - 88}, point{church, horizon - 215}, point{church + 40, horizon - 88})
	v.disk(v.glow, church, horizon-58, 13)
	walls := []float64{0.1, 0.28, 0.42, 0.55}
	for x := -20.0; x < cardWidth; {
		wide, high := v.between(88, 140), v.between(120, 215)
		top := 530 - high
		v.box(mix(v.middle, v.glow, walls[v.random.IntN(len(walls))]), x, top, wide, high)
		v.area(mix(v.near, rgb(0x9a3b2e), 0.45), point{x - 6, top + 2}, point{x + wide/2, top - 58}, point{x + wide + 6, top + 2})
		for wx := x + 16; wx+18 < x+wide; wx += 34 {
			for wy := top + 20; wy+30 < 520; wy += 48 {
				c := v.glow
				if v.random.IntN(3) == 0 {
					c = v.near
				}
				v.box(c, wx, wy, 18, 26)
			}
		}
		x += wide + v.between(-2, 6)
	}
	v.box(v.near, 0, 526, cardWidth, cardHeight)
	for x := 20.0; x < cardWidth; x += 60 {
		v.box(mix(v.near, v.glow, 0.3), x, 552, 30, 4)
	}
}

// firs draws rows of fir trees, the nearer the larger and darker.
func (v *view) firs() {
	v.hills(v.far, horizon-10, 40)
	for row := range 3 {
		depth := float64(row) / 2
		c := mix(v.far, v.near, 0.35+0.65*depth)
		ground := horizon + 70 + 80*float64(row)
		keep := v.tones.near
		v.tones.near = c
		for x := v.between(-20, 20); x < cardWidth+30; x += v.between(34, 60) + 22*depth {
			v.fir(x, ground, v.between(110, 150)+70*depth)
		}
		v.tones.near = keep
		v.hills(c, ground-4, 7)
	}
	path := cardWidth/2 + v.between(-160, 160)
	for y := 500.0; y < cardHeight; y += 6 {
		sway := 34 * math.Sin(y/34)
		v.box(mix(v.bottom, v.near, 0.45), path+sway-(y-470)/2.4, y, (y-470)/1.2, 7)
	}
}

// fir draws one tree of four tiers on its trunk.
func (v *view) fir(x, ground, height float64) {
	v.box(mix(v.near, rgb(0x5a3a22), 0.5), x-height/30, ground-height/8, height/15, height/7)
	for tier := range 4 {
		part := float64(tier)
		bottom, half := ground-height/10-part*height*0.2, height*(0.25-0.045*part)
		v.area(v.near, point{x - half, bottom}, point{x, bottom - height*0.36}, point{x + half, bottom})
	}
}
