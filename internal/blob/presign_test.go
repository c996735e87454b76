package blob_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/score"
)

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(s[:])
}

func put(key, text string) score.Put {
	return score.Put{Key: key, Size: int64(len(text)), Type: "image/png", SHA256: sum(text)}
}

// with returns the headers with one of them changed, or left out.
func with(headers map[string]string, name, value string) map[string]string {
	changed := map[string]string{}
	for n, v := range headers {
		switch {
		case !strings.EqualFold(n, name):
			changed[n] = v
		case value != "":
			changed[n] = value
		}
	}
	return changed
}

func nothingAt(t *testing.T, b *blob.Bucket, key string) {
	t.Helper()
	_, err := b.Stat(t.Context(), key)
	assert.True(t, fault.Is(err, fault.NotFound), "something is at %s: %v", key, err)
}

func TestTheOriginIsWhereDownloadsAre(t *testing.T) {
	b := made(t)
	origin, err := b.Origin(t.Context())
	require.NoError(t, err)
	address, err := b.PresignInline(t.Context(), "items/i", "i.png", "image/png", time.Minute)
	require.NoError(t, err)
	assert.Regexp(t, `^https?://[^/]+$`, origin)
	assert.True(t, strings.HasPrefix(address, origin+"/"), "%s is of %s", address, origin)
}

func TestAnUploadTakesTheseBytesOnly(t *testing.T) {
	b := made(t)
	r, err := b.PresignUpload(t.Context(), put("uploads/u", "12345"), time.Minute)
	require.NoError(t, err)
	assert.Equal(t, http.MethodPut, r.Method)
	assert.Equal(t, map[string]string{"Content-Length": "5", "Content-Type": "image/png", "If-None-Match": "*", "X-Amz-Checksum-Sha256": sum("12345")}, r.Headers)
	query, err := url.Parse(r.URL)
	require.NoError(t, err)
	assert.Equal(t, "content-length;content-type;host;if-none-match;x-amz-checksum-sha256", query.Query().Get("X-Amz-SignedHeaders"))
	assert.Equal(t, "60", query.Query().Get("X-Amz-Expires"))

	for why, attempt := range map[string]struct {
		headers map[string]string
		body    string
		status  int
	}{
		"other bytes":                     {r.Headers, "abcde", http.StatusBadRequest},
		"other bytes, with their SHA-256": {with(r.Headers, "X-Amz-Checksum-Sha256", sum("abcde")), "abcde", http.StatusForbidden},
		"without the SHA-256":             {with(r.Headers, "X-Amz-Checksum-Sha256", ""), "abcde", http.StatusForbidden},
		"without the condition":           {with(r.Headers, "If-None-Match", ""), "12345", http.StatusForbidden},
		"more bytes":                      {r.Headers, "123456", http.StatusForbidden},
		"another type":                    {with(r.Headers, "Content-Type", "text/html"), "12345", http.StatusForbidden},
	} {
		status, _, text := request(t, http.MethodPut, r.URL, attempt.headers, attempt.body)
		assert.Equal(t, attempt.status, status, "%s: %s", why, text)
	}
	nothingAt(t, b, "uploads/u")

	status, _, text := request(t, http.MethodPut, r.URL, r.Headers, "12345")
	require.Equal(t, http.StatusOK, status, text)
	stat, err := b.Stat(t.Context(), "uploads/u")
	require.NoError(t, err)
	assert.NotEmpty(t, stat.ETag)
	stat.ETag = ""
	assert.Equal(t, score.Object{Size: 5, Type: "image/png", SHA256: sum("12345")}, stat)
	status, _, _ = request(t, http.MethodPut, r.URL, r.Headers, "12345")
	assert.Equal(t, http.StatusPreconditionFailed, status, "only once")
}

func TestAnUploadIsOverWhenItsTimeIsUp(t *testing.T) {
	b := made(t)
	late := b.SignedBefore(time.Hour)
	r, err := late.PresignUpload(t.Context(), put("uploads/late", "12345"), time.Hour-time.Second)
	require.NoError(t, err)
	status, _, text := request(t, http.MethodPut, r.URL, r.Headers, "12345")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, text, "expired")
	status, _, _ = request(t, http.MethodPut, strings.Replace(r.URL, "X-Amz-Expires=3599", "X-Amz-Expires=7200", 1), r.Headers, "12345")
	assert.Equal(t, http.StatusForbidden, status, "the time is signed")
	nothingAt(t, b, "uploads/late")

	r, err = late.PresignUpload(t.Context(), put("uploads/late", "12345"), 2*time.Hour)
	require.NoError(t, err)
	status, _, text = request(t, http.MethodPut, r.URL, r.Headers, "12345")
	assert.Equal(t, http.StatusOK, status, text)
}

// post posts the form as a browser would.
func post(t *testing.T, f score.Form, file string) (int, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range f.Fields {
		require.NoError(t, w.WriteField(name, value))
	}
	part, err := w.CreateFormFile("file", "page.png")
	require.NoError(t, err)
	_, err = io.WriteString(part, file)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	status, _, text := request(t, http.MethodPost, f.URL, map[string]string{"Content-Type": w.FormDataContentType()}, body.String())
	return status, text
}

func TestAFormTakesTheseBytesOnly(t *testing.T) {
	b := made(t)
	f, err := b.PresignForm(t.Context(), put("uploads/f", "12345"), time.Minute)
	require.NoError(t, err)
	raw, err := base64.StdEncoding.DecodeString(f.Fields["policy"])
	require.NoError(t, err)
	var policy struct{ Conditions []any }
	require.NoError(t, json.Unmarshal(raw, &policy))
	assert.Contains(t, policy.Conditions, []any{"content-length-range", 5.0, 5.0})
	assert.Contains(t, policy.Conditions, map[string]any{"x-amz-checksum-sha256": sum("12345")})
	assert.Contains(t, policy.Conditions, map[string]any{"Content-Type": "image/png"})

	changed := func(name, value string) score.Form {
		return score.Form{URL: f.URL, Fields: with(f.Fields, name, value)}
	}
	for why, attempt := range map[string]struct {
		form score.Form
		file string
	}{
		"other bytes":                     {f, "abcde"},
		"other bytes, with their SHA-256": {changed("x-amz-checksum-sha256", sum("abcde")), "abcde"},
		"without the SHA-256":             {changed("x-amz-checksum-sha256", ""), "abcde"},
		"more bytes":                      {f, "123456"},
		"fewer bytes":                     {f, "1234"},
		"another type":                    {changed("Content-Type", "text/html"), "12345"},
		"another key":                     {changed("key", "uploads/g"), "12345"},
	} {
		status, text := post(t, attempt.form, attempt.file)
		assert.GreaterOrEqual(t, status, 400, "%s: %s", why, text)
	}
	nothingAt(t, b, "uploads/f")
	nothingAt(t, b, "uploads/g")

	status, text := post(t, f, "12345")
	require.Equal(t, http.StatusNoContent, status, text)
	stat, err := b.Stat(t.Context(), "uploads/f")
	require.NoError(t, err)
	assert.Equal(t, sum("12345"), stat.SHA256)
	assert.Equal(t, "image/png", stat.Type)
	status, _ = post(t, f, "12345")
	assert.Equal(t, http.StatusNoContent, status, "a form cannot say that nothing may be there: what comes is the same, though")
}

func TestADownloadIsShownOrSavedUnderItsName(t *testing.T) {
	b := made(t)
	_, err := b.Upload(t.Context(), "items/i", "image/png", func(w io.Writer) error {
		_, err := io.WriteString(w, "12345")
		return err
	})
	require.NoError(t, err)
	for _, name := range []string{"page 1.png", `a"b\c.png`, "楽譜 🎼.png", "a\r\nSet-Cookie: x=1.png", "a;b=c.png", "%41.png"} {
		for disposition, presign := range map[string]func() (string, error){
			"attachment": func() (string, error) { return b.PresignGet(t.Context(), "items/i", name, "image/png", time.Minute) },
			"inline":     func() (string, error) { return b.PresignInline(t.Context(), "items/i", name, "image/png", time.Minute) },
		} {
			u, err := presign()
			require.NoError(t, err)
			status, header, body := request(t, http.MethodGet, u, nil, "")
			require.Equal(t, http.StatusOK, status, body)
			got, parameters, err := mime.ParseMediaType(header.Get("Content-Disposition"))
			require.NoError(t, err, header.Get("Content-Disposition"))
			assert.Equal(t, disposition, got)
			assert.Equal(t, name, parameters["filename"])
			assert.Equal(t, "image/png", header.Get("Content-Type"))
			assert.Empty(t, header.Get("Set-Cookie"))
		}
	}
}

func TestSigningAsksNobody(t *testing.T) {
	f := &fakeS3{}
	b := fakeBucket(t, f)
	_, err := b.PresignUpload(t.Context(), put("k", "12345"), time.Minute)
	require.NoError(t, err)
	_, err = b.PresignForm(t.Context(), put("k", "12345"), time.Minute)
	require.NoError(t, err)
	_, err = b.PresignPart(t.Context(), score.Multipart{Key: "k", ID: "u"}, score.Part{Number: 1, Size: 5, SHA256: sum("12345")}, time.Minute)
	require.NoError(t, err)
	_, err = b.PresignInline(t.Context(), "k", "n", "image/png", time.Minute)
	require.NoError(t, err)
	assert.Zero(t, f.asked)
}
