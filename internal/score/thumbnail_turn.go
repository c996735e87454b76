package score

import (
	"bytes"
	"encoding/binary"
	"image"
)

// How a picture has to be turned, as EXIF numbers it: cameras keep pictures as their sensors lie.
const (
	upright     = 1
	orientation = 0x0112 // the tag
	shortValue  = 3      // the type of its value
	exifSegment = 0xe1
	startOfScan = 0xda
)

// turnOf returns how the picture of a JPEG that begins with the bytes has to be turned: 1 to 8, 1 when nothing says so. What
// cannot be read says nothing.
func turnOf(head []byte) int {
	rest := head
	if len(rest) < 2 || rest[0] != 0xff || rest[1] != 0xd8 {
		return upright
	}
	rest = rest[2:]
	for len(rest) >= 4 && rest[0] == 0xff && rest[1] != startOfScan {
		size := int(binary.BigEndian.Uint16(rest[2:]))
		if size < 2 || 2+size > len(rest) {
			return upright
		}
		segment := rest[4 : 2+size]
		if rest[1] == exifSegment && bytes.HasPrefix(segment, []byte("Exif\x00\x00")) {
			return turnIn(segment[6:])
		}
		rest = rest[2+size:]
	}
	return upright
}

// turnIn reads the first directory of a TIFF.
func turnIn(tiff []byte) int {
	if len(tiff) < 8 {
		return upright
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at < 8 || at+2 > int64(len(tiff)) {
		return upright
	}
	entries := tiff[at+2:]
	for n := int(order.Uint16(tiff[at:])); n > 0 && len(entries) >= 12; n, entries = n-1, entries[12:] {
		if order.Uint16(entries) == orientation && order.Uint16(entries[2:]) == shortValue {
			if turn := int(order.Uint16(entries[8:])); turn >= 1 && turn <= 8 {
				return turn
			}
			return upright
		}
	}
	return upright
}

// turned returns the picture turned upright. It is for small pictures: each pixel is moved.
func turned(m *image.NRGBA, turn int) *image.NRGBA {
	if turn == upright {
		return m
	}
	wide, high := m.Bounds().Dx(), m.Bounds().Dy()
	size := uprightSize(image.Pt(wide, high), turn)
	out := image.NewNRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			fx, fy := x, y
			switch turn {
			case 2:
				fx = wide - 1 - x
			case 3:
				fx, fy = wide-1-x, high-1-y
			case 4:
				fy = high - 1 - y
			case 5:
				fx, fy = y, x
			case 6:
				fx, fy = y, high-1-x
			case 7:
				fx, fy = wide-1-y, high-1-x
			case 8:
				fx, fy = wide-1-y, x
			}
			out.SetNRGBA(x, y, m.NRGBAAt(fx, fy))
		}
	}
	return out
}

// uprightSize returns the size of a picture when it is turned upright.
func uprightSize(size image.Point, turn int) image.Point {
	if turn >= 5 { // lies on its side
		return image.Pt(size.Y, size.X)
	}
	return size
}
