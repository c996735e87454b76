package score

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// decoder reads images of a type.
type decoder struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	// weight is how many bytes an image takes up while it is decoded, from its header.
	weight func(c image.Config, head []byte, file int64) int64
}

var decoders = map[string]decoder{
	"image/jpeg": {jpeg.DecodeConfig, jpeg.Decode, jpegWeight},
	"image/png":  {png.DecodeConfig, png.Decode, pngWeight},
	"image/gif":  {gif.DecodeConfig, gif.Decode, gifWeight},
	"image/webp": {webp.DecodeConfig, webp.Decode, webpWeight},
}

func pixels(c image.Config) int64 { return int64(c.Width) * int64(c.Height) }

// pngWeight: what is grey may turn out to be transparent, and is four samples then. An interlaced image is put together from seven.
func pngWeight(c image.Config, head []byte, _ int64) int64 {
	const depth, interlace = 24, 28 // in the header that the file begins with
	bytes := int64(4)
	if len(head) > depth && head[depth] == 16 {
		bytes = 8
	}
	if _, indexed := c.ColorModel.(color.Palette); indexed {
		bytes = 1
	}
	whole := pixels(c) * bytes
	if len(head) > interlace && head[interlace] != 0 {
		whole *= 2
	}
	return whole + 4*int64(c.Width)*bytes // two rows as they are packed, and what reads them
}

// gifWeight is that of the first picture, which no decoder goes beyond, and which is put in order when it is interlaced.
func gifWeight(c image.Config, _ []byte, _ int64) int64 { return 2 * pixels(c) }

// jpegWeight is one byte for each sample. Of a progressive one four more are kept until the last scan is read; one of four colours, or
// of three that are not those of a television, is put together when all samples are there.
func jpegWeight(c image.Config, head []byte, _ int64) int64 {
	progressive, samples := jpegSamples(head, c)
	weight := samples
	if progressive {
		weight += 4 * samples
	}
	if c.ColorModel == color.CMYKModel || c.ColorModel == color.RGBAModel {
		weight += 4 * pixels(c)
	}
	return weight
}

// jpegSamples finds in the header of a frame how many samples the image has, in whole blocks of 8 by 8.
func jpegSamples(head []byte, c image.Config) (progressive bool, samples int64) {
	const first, last = 0xc0, 0xc2 // the frames that can be decoded
	frame, kind := segment(head, func(marker byte) bool { return marker >= first && marker <= last })
	if len(frame) < 6 || len(frame) < 6+3*int(frame[5]) {
		return true, 4 * 32 * 32 * (pixels(c)/(32*32) + int64(c.Width) + int64(c.Height)) // never: it was read from there
	}
	components := frame[6 : 6+3*int(frame[5])]
	var across, down, blocks int64 = 1, 1, 0
	for n := 0; n < len(components); n += 3 {
		h, v := int64(components[n+1]>>4), int64(components[n+1]&15)
		if len(components) == 3 { // one colour is not sampled otherwise than itself
			h, v = 1, 1
		}
		across, down, blocks = max(across, h), max(down, v), blocks+h*v
	}
	units := ((int64(c.Width) + 8*across - 1) / (8 * across)) * ((int64(c.Height) + 8*down - 1) / (8 * down))
	return kind == last, units * blocks * 64
}

// segment returns the first segment of a JPEG that has one of the markers, and its marker; nil when there is none before the picture.
func segment(head []byte, is func(marker byte) bool) (found []byte, marker byte) {
	if len(head) < 2 || head[0] != 0xff || head[1] != 0xd8 {
		return nil, 0
	}
	for rest := head[2:]; len(rest) >= 4; {
		if rest[0] != 0xff || rest[1] == 0 || rest[1] == 0xff { // what stands between, which decoders skip
			rest = rest[1:]
			continue
		}
		marker := rest[1]
		if marker >= 0xd0 && marker <= 0xd9 { // without a length
			rest = rest[2:]
			continue
		}
		size := int(binary.BigEndian.Uint16(rest[2:]))
		if size < 2 || 2+size > len(rest) || marker == startOfScan {
			return nil, 0
		}
		if is(marker) {
			return rest[4 : 2+size], marker
		}
		rest = rest[2+size:]
	}
	return nil, 0
}

// webpWeight: the samples of a picture with loss stand in memory with the whole file; transparency is a picture without loss beside it.
// One without loss is copied when its colours are indexed, and has tables of codes that its header does not tell.
func webpWeight(c image.Config, head []byte, file int64) int64 {
	const tables = 32 << 20
	macroblocks := int64((c.Width+15)/16) * int64((c.Height+15)/16)
	lossy := macroblocks*(256+64+64) + macroblocks*16
	switch kind := chunkOf(head); kind {
	case "VP8 ":
		return lossy + file
	case "VP8L":
		return 8*pixels(c) + tables
	default: // VP8X: either, perhaps transparent
		return max(lossy+2*file+5*pixels(c), 8*pixels(c)) + tables
	}
}

// chunkOf is the name of the first chunk of a WebP, "" when there is none.
func chunkOf(head []byte) string {
	if len(head) < 16 {
		return ""
	}
	return string(head[12:16])
}
