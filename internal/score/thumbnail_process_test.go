package score

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
)

// TestMain also plays the process that decodes an image.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "thumbnail" {
		if err := RenderStandardInput(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// processes decodes in processes, and keeps what the last one took up.
func processes(t *testing.T) (p Process, peak *atomic.Int64) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	peak = new(atomic.Int64)
	return Process{Command: []string{program, "thumbnail"}, ended: func(r rendered) { peak.Store(r.Peak) }}, peak
}

// zeros are as many as one wants.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// pngOf is a PNG without colours, of as few bytes as it can have.
func pngOf(t *testing.T, width, height int, depth, kind, interlaced byte, samples int) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("\x89PNG\r\n\x1a\n")
	put := func(name string, data []byte) {
		sum := crc32.NewIEEE()
		_ = binary.Write(&out, binary.BigEndian, uint32(len(data)))
		_, _ = io.MultiWriter(&out, sum).Write(append([]byte(name), data...))
		_ = binary.Write(&out, binary.BigEndian, sum.Sum32())
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(width))
	put("IHDR", append(binary.BigEndian.AppendUint32(header, uint32(height)), depth, kind, 0, 0, interlaced))
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	require.NoError(t, err)
	rows := func(width, height int) {
		_, err = io.CopyN(z, zeros{}, int64(height)*int64(1+(width*samples*int(depth)+7)/8))
		require.NoError(t, err)
	}
	if interlaced == 0 {
		rows(width, height)
	} else {
		for _, pass := range [][4]int{{8, 8, 0, 0}, {8, 8, 4, 0}, {4, 8, 0, 4}, {4, 4, 2, 0}, {2, 4, 0, 2}, {2, 2, 1, 0}, {1, 2, 0, 1}} {
			rows((width-pass[2]+pass[0]-1)/pass[0], (height-pass[3]+pass[1]-1)/pass[1])
		}
	}
	require.NoError(t, z.Close())
	put("IDAT", packed.Bytes())
	put("IEND", nil)
	return out.Bytes()
}

// progressive is a progressive JPEG without colours: one scan that begins all blocks, and others that add nothing.
func progressive(width, height, samples, scans int) []byte {
	out := []byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}
	out = append(out, bytes.Repeat([]byte{1}, 64)...)
	out = append(out, jpegHeader(width, height, samples)[2:][:10+3*samples]...)
	// A table of codes with one of a bit, "the same as before", and one in which it ends 16,384 blocks and more.
	out = append(out, 0xff, 0xc4, 0, 20, 0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00)
	out = append(out, 0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0)
	out = append(out, 0xff, 0xda, 0, byte(6+2*samples), byte(samples))
	for n := range samples {
		out = append(out, byte(n+1), 0)
	}
	blocks := (width + 7) / 8 * ((height + 7) / 8)
	out = append(append(out, 0, 0, 0), make([]byte, (blocks*samples+7)/8)...)
	for range scans {
		out = append(out, 0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0)
		const run, bits = 1 << 14, 15 // blocks that have ended, and what it takes to say so
		out = append(out, make([]byte, ((blocks+run-1)/run*bits+7)/8)...)
	}
	return append(out, 0xff, 0xd9)
}

// lossless is a WebP of one colour, which takes up no bits.
func lossless(width, height int) []byte {
	var bits, n uint64
	put := func(value uint64, count int) { bits, n = bits|value<<n, n+uint64(count) }
	put(0, 3) // no transformation, no cache, no groups of codes
	for range 5 {
		put(1, 1) // a simple code
		put(0, 3) // of one symbol of one bit, which is 0
	}
	head := vp8l(width, height)[:5]
	return riff(chunk("VP8L", append(head, binary.LittleEndian.AppendUint64(nil, bits)...)))
}

func manyFrames(t *testing.T, width, height, frames int) []byte {
	t.Helper()
	all, one := &gif.GIF{}, image.NewPaletted(image.Rect(0, 0, width, height), palette.Plan9)
	for range frames {
		all.Image, all.Delay = append(all.Image, one), append(all.Delay, 1)
	}
	var out bytes.Buffer
	require.NoError(t, gif.EncodeAll(&out, all))
	return out.Bytes()
}

// What decoding and drawing take up is known from the header, is not exceeded, and is enough.
func TestWeightsOfImages(t *testing.T) {
	t.Parallel()
	var baseline bytes.Buffer
	require.NoError(t, jpeg.Encode(&baseline, image.NewYCbCr(image.Rect(0, 0, 2000, 1500), image.YCbCrSubsampleRatio420), nil))
	p, peak := processes(t)
	for _, test := range []struct {
		why, mediaType string
		file           []byte
		of             image.Point
		least, most    int64 // of the weight
	}{
		{"16 bits", "image/png", pngOf(t, 2000, 1500, 16, 6, 0, 4), image.Pt(2000, 1500), 8 * 3_000_000, 9 * 3_000_000},
		{"a bomb", "image/png", pngOf(t, 4000, 2500, 8, 6, 0, 4), image.Pt(4000, 2500), 4 * 10_000_000, 5 * 10_000_000},
		{"interlaced", "image/png", pngOf(t, 2000, 1500, 8, 2, 1, 3), image.Pt(2000, 1500), 6 * 3_000_000, 9 * 3_000_000},
		{"a long bar", "image/png", pngOf(t, 1, MaxSide, 8, 6, 0, 4), image.Pt(1, MaxSide), 4 * MaxSide, 2 << 20},
		{"a wide bar", "image/png", pngOf(t, MaxSide, 50, 1, 0, 0, 1), image.Pt(MaxSide, 50), 50 * MaxSide, 6 * 50 * MaxSide},
		{"baseline", "image/jpeg", baseline.Bytes(), image.Pt(2000, 1500), 4_500_000, 5_000_000},
		{"progressive", "image/jpeg", progressive(2000, 1500, 3, 2), image.Pt(2000, 1500), 15 * 3_000_000, 16 * 3_000_000},
		{"progressive and grey", "image/jpeg", progressive(2000, 1500, 1, 2), image.Pt(2000, 1500), 5 * 3_000_000, 6 * 3_000_000},
		{"many frames", "image/gif", manyFrames(t, 300, 200, 20), image.Pt(300, 200), 120_000, 2 << 20},
		{"of one colour", "image/webp", lossless(16_000, 200), image.Pt(16_000, 200), 4 * 3_200_000, 20 * 3_200_000},
	} {
		var given int64
		render := func(ctx context.Context, job Rendering, r io.Reader) (Thumb, error) {
			given = job.Memory
			return p.Render(ctx, job, r)
		}
		peak.Store(0)
		thumb, err := NewThumbnails(render, DecodeBytes).Make(t.Context(), Picture{Type: test.mediaType, Size: int64(len(test.file))}, bytes.NewReader(test.file))
		require.NoError(t, err, test.why)
		assert.Equal(t, test.of, thumb.Of, test.why)
		assert.NotEmpty(t, thumb.Bytes, test.why)
		assert.GreaterOrEqual(t, given, test.least, test.why)
		assert.LessOrEqual(t, given, test.most+8<<20, test.why)
		if !raced {
			assert.LessOrEqual(t, peak.Load(), given+renderBytes, "%s: it takes up no more than was told", test.why)
		}
		t.Logf("%s: %d MiB given, %d MiB taken up", test.why, given>>20, peak.Load()>>20)
	}
}

// Sides that no JPEG could have are refused before anything is decoded.
func TestSidesOfImages(t *testing.T) {
	t.Parallel()
	never := func(context.Context, Rendering, io.Reader) (Thumb, error) {
		t.Error("it is not decoded")
		return Thumb{}, nil
	}
	for _, file := range [][]byte{pngOf(t, 1, 40_000_000, 8, 0, 0, 1), pngOf(t, MaxSide+1, 1, 1, 0, 0, 1), pngOf(t, MaxSide, 611, 1, 0, 0, 1)} {
		_, err := NewThumbnails(never, DecodeBytes).Make(t.Context(), Picture{Type: "image/png"}, bytes.NewReader(file))
		assert.True(t, fault.Is(err, fault.Invalid), "%v", err)
	}
}

// What is too much for one caller gets no thumbnail, and is no broken image. What takes up more than its header tells gets none either.
func TestHeavyImages(t *testing.T) {
	t.Parallel()
	p, _ := processes(t)
	thumbs, heavy := NewThumbnails(p.Render, DecodeBytes), jpegHeader(8000, 5000, 4)
	thumb, err := thumbs.Make(t.Context(), Picture{Type: "image/jpeg"}, bytes.NewReader(heavy))
	require.NoError(t, err)
	assert.Equal(t, Thumb{Of: image.Pt(8000, 5000)}, thumb)
	thumb, err = thumbs.Make(t.Context(), Picture{Type: "image/jpeg"}, bytes.NewReader(oriented(heavy, 6, true)))
	require.NoError(t, err)
	assert.Equal(t, Thumb{Of: image.Pt(5000, 8000)}, thumb, "upright")
	_, err = thumbs.Make(t.Context(), Picture{Type: "image/jpeg"}, bytes.NewReader(jpegHeader(3000, 5000, 3)))
	assert.True(t, fault.Is(err, fault.Invalid), "what has room is decoded: %v", err)

	if raced {
		return
	}
	stingy := func(ctx context.Context, job Rendering, r io.Reader) (Thumb, error) {
		job.Memory /= 50
		return p.Render(ctx, job, r)
	}
	for mediaType, file := range map[string][]byte{"image/png": pngOf(t, 6000, 4500, 8, 6, 0, 4), "image/jpeg": progressive(6000, 1500, 3, 1), "image/webp": lossless(16_000, 2400)} {
		thumb, err = NewThumbnails(stingy, DecodeBytes).Make(t.Context(), Picture{Type: mediaType}, bytes.NewReader(file))
		require.NoError(t, err, mediaType)
		assert.Empty(t, thumb.Bytes, mediaType)
		assert.Positive(t, thumb.Of.X, mediaType)
	}
}

// Nothing is decoded for longer than its request takes, whatever the decoder is at.
func TestDecodingEndsInTime(t *testing.T) {
	t.Parallel()
	p, _ := processes(t)
	scans := progressive(6000, 3000, 1, 20_000) // minutes of work
	for how, render := range map[string]Renderer{"process": p.Render, "here": Render} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		thumbs := NewThumbnails(render, DecodeBytes)
		begun := time.Now()
		_, err := thumbs.Make(ctx, Picture{Type: "image/jpeg"}, bytes.NewReader(scans))
		require.ErrorIs(t, err, context.DeadlineExceeded, how)
		assert.True(t, fault.Is(err, fault.Unavailable), "%s: %v", how, err)
		assert.Less(t, time.Since(begun), 5*time.Second, how)
		assert.True(t, thumbs.memory.TryAcquire(DecodeBytes), how)
	}
}

// A storage that hangs holds nobody up beyond his time.
func TestAStorageThatHangs(t *testing.T) {
	t.Parallel()
	p, _ := processes(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	hangs, w := io.Pipe()
	defer func() { _ = w.Close() }()
	picture := jpegBytes(t, marked(300, 300))
	begun := time.Now()
	_, err := NewThumbnails(p.Render, DecodeBytes).Make(ctx, Picture{Type: "image/jpeg"}, io.MultiReader(bytes.NewReader(picture[:len(picture)-100]), hangs))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(begun), 5*time.Second)
}

// One caller waits for its own images, and leaves room for those of others.
func TestMemoryOfOneCaller(t *testing.T) {
	t.Parallel()
	inside, end := make(chan struct{}), make(chan struct{})
	thumbs := NewThumbnails(func(ctx context.Context, _ Rendering, _ io.Reader) (Thumb, error) {
		inside <- struct{}{}
		select {
		case <-end:
		case <-ctx.Done():
		}
		return Thumb{}, nil
	}, DecodeBytes)
	start := func(ctx context.Context, owner UserID, width, height int) error {
		_, err := thumbs.Make(ctx, Picture{Owner: owner, Type: "image/jpeg"}, bytes.NewReader(jpegHeader(width, height, 3)))
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- start(t.Context(), "hostile", 4000, 4000) }() // 240 MB
	<-inside
	short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := start(short, "hostile", 4000, 4000)
	assert.True(t, fault.Is(err, fault.Exhausted), "the next one waits: %v", err)
	require.NoError(t, short.Err(), "for half of its time")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	err = start(stopped, "hostile", 4000, 4000)
	assert.True(t, fault.Is(err, fault.Unavailable), "nobody waits for it: %v", err)
	go func() { failed <- start(t.Context(), "other", 2000, 1000) }()
	<-inside
	close(end)
	require.NoError(t, <-failed)
	require.NoError(t, <-failed)
	assert.Empty(t, thumbs.shares.owners)
	assert.True(t, thumbs.memory.TryAcquire(DecodeBytes))
}

// A process sees an image as this one does.
func TestProcessesAnswerAlike(t *testing.T) {
	t.Parallel()
	p, _ := processes(t)
	var small bytes.Buffer
	require.NoError(t, png.Encode(&small, marked(10, 10)))
	picture, coded := jpegBytes(t, marked(700, 300)), jpegHeader(100, 64, 3)
	precise := append([]byte(nil), coded...)
	precise[6] = 12
	for _, test := range []struct {
		mediaType string
		file      []byte
	}{
		{"image/jpeg", picture},
		{"image/jpeg", oriented(picture, 6, true)},
		{"image/png", small.Bytes()},
		{"image/jpeg", picture[:1000]},
		{"image/jpeg", coded},
		{"image/jpeg", precise},
	} {
		here, hereErr := thumbnails().Make(t.Context(), Picture{Type: test.mediaType}, bytes.NewReader(test.file))
		there, thereErr := NewThumbnails(p.Render, DecodeBytes).Make(t.Context(), Picture{Type: test.mediaType}, bytes.NewReader(test.file))
		assert.Equal(t, hereErr, thereErr)
		assert.Equal(t, here, there)
	}
	_, err := NewThumbnails(p.Render, DecodeBytes).Make(t.Context(), Picture{Type: "image/jpeg"}, broken{bytes.NewReader(picture[:1000])})
	require.ErrorIs(t, err, errStorage)
}
