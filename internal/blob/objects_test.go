package blob_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/fault"
)

func made(t *testing.T) *blob.Bucket {
	t.Helper()
	b := bucket(t)
	require.NoError(t, b.Apply(t.Context(), func(blob.Step) {}))
	return b
}

// request sends what a client would and returns the status, the header and the body.
func request(t *testing.T, method, url string, headers map[string]string, body string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for name, value := range headers {
		if name != "Content-Length" { // net/http sets it from the body
			r.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, answer.Header, string(text)
}

func read(t *testing.T, b *blob.Bucket, key string, offset int64) string {
	t.Helper()
	r, err := b.Open(t.Context(), key, offset)
	require.NoError(t, err)
	defer func() { assert.NoError(t, r.Close()) }()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

func TestAPresignedUploadTakesWhatWasSignedOnly(t *testing.T) {
	b := made(t)
	url, headers, err := b.PresignPut(t.Context(), "imports/p/i", 5, "text/csv", time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "5", headers["Content-Length"])
	assert.Equal(t, "text/csv", headers["Content-Type"])
	assert.NotContains(t, headers, "Host")

	refused := func(why, url string, headers map[string]string, body string) {
		t.Helper()
		status, _, text := request(t, http.MethodPut, url, headers, body)
		assert.Equal(t, http.StatusForbidden, status, "%s: %s", why, text)
	}
	other := map[string]string{}
	for name, value := range headers {
		other[name] = value
	}
	other["Content-Type"] = "text/html"
	refused("longer", url, headers, "123456")
	refused("shorter", url, headers, "1234")
	refused("another type", url, other, "12345")
	refused("another key", strings.Replace(url, "imports/p/i", "imports/p/j", 1), headers, "12345")
	refused("a longer time", strings.Replace(url, "X-Amz-Expires=60", "X-Amz-Expires=6000", 1), headers, "12345")
	_, err = b.Size(t.Context(), "imports/p/i")
	require.True(t, fault.Is(err, fault.NotFound), "nothing of it was kept: %v", err)

	status, _, text := request(t, http.MethodPut, url, headers, "12345")
	require.Equal(t, http.StatusOK, status, text)
	size, err := b.Size(t.Context(), "imports/p/i")
	require.NoError(t, err)
	assert.EqualValues(t, 5, size)

	status, _, _ = request(t, http.MethodPut, url, headers, "abcde")
	assert.Equal(t, http.StatusPreconditionFailed, status)
	assert.Equal(t, "12345", read(t, b, "imports/p/i", 0), "what is there is not replaced")
}

func TestAPresignedDownloadIsAnAttachment(t *testing.T) {
	b := made(t)
	_, err := b.Upload(t.Context(), "exports/p/e", "text/csv", func(w io.Writer) error {
		_, err := io.WriteString(w, "<script>")
		return err
	})
	require.NoError(t, err)
	url, err := b.PresignGet(t.Context(), "exports/p/e", `who "is" he.csv`, "text/csv; charset=utf-8", time.Minute)
	require.NoError(t, err)
	status, header, body := request(t, http.MethodGet, url, nil, "")
	require.Equal(t, http.StatusOK, status, body)
	assert.Equal(t, "<script>", body)
	assert.Equal(t, "text/csv; charset=utf-8", header.Get("Content-Type"))
	assert.Equal(t, `attachment; filename="who \"is\" he.csv"`, header.Get("Content-Disposition"))

	status, _, _ = request(t, http.MethodGet, strings.Replace(url, "response-content-disposition=attachment", "response-content-disposition=inline", 1), nil, "")
	assert.Equal(t, http.StatusForbidden, status)
}

func TestOpenReadsFromTheOffset(t *testing.T) {
	b := made(t)
	_, err := b.Upload(t.Context(), "k", "text/plain", func(w io.Writer) error {
		_, err := io.WriteString(w, "0123456789")
		return err
	})
	require.NoError(t, err)
	for offset, want := range map[int64]string{0: "0123456789", 4: "456789", 9: "9", 10: "", 11: ""} {
		assert.Equal(t, want, read(t, b, "k", offset), "from %d", offset)
	}
	_, err = b.Open(t.Context(), "missing", 0)
	assert.True(t, fault.Is(err, fault.NotFound), err)
	require.NoError(t, b.Delete(t.Context(), "k"))
	require.NoError(t, b.Delete(t.Context(), "k"))
	_, err = b.Open(t.Context(), "k", 3)
	assert.True(t, fault.Is(err, fault.NotFound), err)
}

func TestUploadSendsParts(t *testing.T) {
	b := made(t)
	const partSize = 8 << 20
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, partSize, partSize + 1, 2 * partSize, 2*partSize + 12345} {
		content := make([]byte, size)
		_, _ = random.Read(content)
		written, err := b.Upload(t.Context(), "k", "application/octet-stream", func(w io.Writer) error {
			_, err := io.Copy(struct{ io.Writer }{w}, bytes.NewReader(content))
			return err
		})
		require.NoError(t, err, size)
		assert.EqualValues(t, size, written)
		assert.True(t, read(t, b, "k", 0) == string(content), "%d bytes came back different", size)
	}
}

func TestAFailedUploadLeavesWhatWasThere(t *testing.T) {
	b := made(t)
	put := func(text string, size int, fail error) error {
		_, err := b.Upload(t.Context(), "k", "text/plain", func(w io.Writer) error {
			for range size {
				if _, err := io.WriteString(w, text); err != nil {
					return err
				}
			}
			return fail
		})
		return err
	}
	broken := errors.New("broken")
	require.ErrorIs(t, put("0123456789", 2<<20, broken), broken)
	_, err := b.Size(t.Context(), "k")
	assert.True(t, fault.Is(err, fault.NotFound), err)
	require.NoError(t, put("before", 1, nil))
	require.ErrorIs(t, put("after", 1, broken), broken)
	require.ErrorIs(t, put("0123456789", 2<<20, broken), broken)
	assert.Equal(t, "before", read(t, b, "k", 0))
}
