package blob_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

func TestAnUploadInParts(t *testing.T) {
	b := made(t)
	ctx := t.Context()
	texts := []string{strings.Repeat("a", 5<<20), "the end"}
	m, err := b.BeginParts(ctx, "items/big", "video/mp4")
	require.NoError(t, err)
	for i, text := range texts {
		p := score.Part{Number: i + 1, Size: int64(len(text)), SHA256: sum(text)}
		r, err := b.PresignPart(ctx, m, p, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, sum(text), r.Headers["X-Amz-Checksum-Sha256"])
		other := []byte(text)
		other[0] = 'x'
		status, _, answer := request(t, http.MethodPut, r.URL, r.Headers, string(other))
		assert.Equal(t, http.StatusBadRequest, status, "other bytes: %s", answer)
		if len(text) < 1000 { // the engine answers before it has read, and breaks the connection of who is still writing
			status, _, answer = request(t, http.MethodPut, r.URL, with(r.Headers, "X-Amz-Checksum-Sha256", sum(string(other))), string(other))
			assert.Equal(t, http.StatusForbidden, status, "other bytes, with their SHA-256: %s", answer)
		}
		status, header, answer := request(t, http.MethodPut, r.URL, r.Headers, text)
		require.Equal(t, http.StatusOK, status, answer)
		assert.NotEmpty(t, header.Get("ETag"))
	}
	parts, err := b.ListParts(ctx, m)
	require.NoError(t, err)
	require.Len(t, parts, 2)
	assert.Equal(t, score.Part{Number: 2, Size: 7, ETag: parts[1].ETag, SHA256: sum("the end")}, parts[1])
	nothingAt(t, b, "items/big")

	wrong := []score.Part{parts[0], parts[1]}
	wrong[1].SHA256 = sum("another end")
	require.Error(t, b.CompleteParts(ctx, m, wrong))
	require.NoError(t, b.CompleteParts(ctx, m, parts))
	stat, err := b.Stat(ctx, "items/big")
	require.NoError(t, err)
	var all []byte
	for _, text := range texts {
		s := sha256.Sum256([]byte(text))
		all = append(all, s[:]...)
	}
	composite := sha256.Sum256(all)
	assert.Equal(t, base64.StdEncoding.EncodeToString(composite[:])+"-2", stat.SHA256)
	assert.EqualValues(t, 5<<20+7, stat.Size)
	assert.Equal(t, "video/mp4", stat.Type)

	require.NoError(t, b.AbortParts(ctx, m.Key), "it is over already")
	_, err = b.ListParts(ctx, m)
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
	if err := b.CompleteParts(ctx, m, parts); err != nil { // some storages remember, and say that it is done
		assert.True(t, fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict), "%v", err)
	}
	stat, err = b.Stat(ctx, "items/big")
	require.NoError(t, err)
	assert.EqualValues(t, 5<<20+7, stat.Size)
}

func TestAnAbortedUploadLeavesNothing(t *testing.T) {
	b := made(t)
	m, err := b.BeginParts(t.Context(), "items/aborted", "video/mp4")
	require.NoError(t, err)
	require.NoError(t, b.AbortParts(t.Context(), m.Key))
	require.NoError(t, b.AbortParts(t.Context(), m.Key))
	_, err = b.ListParts(t.Context(), m)
	assert.True(t, fault.Is(err, fault.NotFound))
	r, err := b.PresignPart(t.Context(), m, score.Part{Number: 1, Size: 1, SHA256: sum("a")}, time.Minute)
	require.NoError(t, err)
	status, _, _ := request(t, http.MethodPut, r.URL, r.Headers, "a")
	assert.Equal(t, http.StatusNotFound, status)
}

func TestACopyIsOfTheSameBytes(t *testing.T) {
	b := made(t)
	ctx := t.Context()
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	_, err := b.Upload(ctx, "uploads/ü 1", "image/png", write("12345"))
	require.NoError(t, err)
	stat, err := b.Stat(ctx, "uploads/ü 1")
	require.NoError(t, err)
	require.NoError(t, b.Copy(ctx, "uploads/ü 1", "items/1", stat.ETag))
	copied, err := b.Stat(ctx, "items/1")
	require.NoError(t, err)
	assert.Equal(t, "12345", read(t, b, "items/1", 0))
	assert.Equal(t, "image/png", copied.Type)

	_, err = b.Upload(ctx, "uploads/ü 1", "image/png", write("abcde"))
	require.NoError(t, err)
	err = b.Copy(ctx, "uploads/ü 1", "items/1", stat.ETag)
	assert.True(t, fault.Is(err, fault.Invalid), "%v", err)
	assert.Equal(t, "12345", read(t, b, "items/1", 0))
	err = b.Copy(ctx, "uploads/nothing", "items/1", stat.ETag)
	assert.True(t, fault.Is(err, fault.NotFound), "%v", err)
}
