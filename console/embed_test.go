package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const script = "export {}"

func deflate(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	// A bytes.Buffer takes everything.
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.Bytes()
}

func built() http.Handler {
	return newHandler(fstest.MapFS{
		".keep":                      {},
		"index.html":                 {Data: []byte("<!doctype html><title>Taggie</title>")},
		"board.html":                 {Data: []byte("<!doctype html><title>Board</title>")},
		"desk.html":                  {Data: []byte("<!doctype html><title>Desk</title>")},
		"start.html":                 {Data: []byte("<!doctype html><title>Start</title>")},
		"docs/index.html.gz":         {Data: deflate("<!doctype html><title>Documentation</title>")},
		"docs/pictures/board.png":    {Data: []byte("png")},
		"favicon.svg":                {Data: []byte("<svg/>")},
		"assets/index-Ab12Cd.js.gz":  {Data: deflate(script)},
		"assets/index-Ab12Cd.css.gz": {Data: deflate("body {}")},
		"assets/icons-Ab12Cd.ttf":    {Data: []byte("ttf")},
	}, pages, Options{Pictures: []string{"https://pictures.example.com"}})
}

func ask(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(b)
}

func TestFilesHaveTypesAndLifetimes(t *testing.T) {
	const forever = "public, max-age=31536000, immutable"
	for _, c := range []struct{ path, contentType, cacheControl string }{
		{"/", "text/html; charset=utf-8", "no-cache"},
		{"/board", "text/html; charset=utf-8", "no-cache"},
		{"/desk", "text/html; charset=utf-8", "no-cache"},
		{"/start", "text/html; charset=utf-8", "no-cache"},
		{"/docs/index.html", "text/html; charset=utf-8", "no-cache"},
		{"/docs/pictures/board.png", "image/png", "no-cache"},
		{"/favicon.svg", "image/svg+xml", "no-cache"},
		{"/assets/index-Ab12Cd.js", "text/javascript; charset=utf-8", forever},
		{"/assets/index-Ab12Cd.css", "text/css; charset=utf-8", forever},
		{"/assets/icons-Ab12Cd.ttf", "font/ttf", forever},
	} {
		t.Run(c.path, func(t *testing.T) {
			res := ask(built(), http.MethodGet, c.path)
			assert.Equal(t, http.StatusOK, res.StatusCode)
			assert.Equal(t, c.contentType, res.Header.Get("Content-Type"))
			assert.Equal(t, c.cacheControl, res.Header.Get("Cache-Control"))
			assert.NotEmpty(t, text(t, res))

			head := ask(built(), http.MethodHead, c.path)
			assert.Equal(t, res.Header, head.Header)
			assert.Empty(t, text(t, head))
		})
	}
}

func TestTheBoardTellsWhatItAsks(t *testing.T) {
	if !Built() {
		assert.Nil(t, Documents())
		return
	}
	require.NotNil(t, Documents(), "the pages are of an older build: make console")
	var texts map[string]string
	require.NoError(t, json.Unmarshal(Documents(), &texts))
	require.NotEmpty(t, texts)
	for hash, text := range texts {
		sum := sha256.Sum256([]byte(text))
		assert.Equal(t, hash, hex.EncodeToString(sum[:]))
	}
	assert.Equal(t, http.StatusNotFound, ask(Handler(Options{}), http.MethodGet, "/.documents.json").StatusCode, "it is no page")
}

func TestCompressedFilesSuitTheClient(t *testing.T) {
	const path = "/assets/index-Ab12Cd.js"
	for _, c := range []struct {
		accept string
		gzip   bool
	}{
		{"gzip", true},
		{"br, GZIP;q=0.5", true},
		{"gzip; q=1.0, br", true},
		{"", false},
		{"identity, br", false},
		{"gzip;q=0", false},
		{"gzip; q=0.0, br", false},
	} {
		t.Run(c.accept, func(t *testing.T) {
			res := ask(built(), http.MethodGet, path, "Accept-Encoding", c.accept)
			assert.Equal(t, http.StatusOK, res.StatusCode)
			assert.Equal(t, "Accept-Encoding", res.Header.Get("Vary"))
			got := text(t, res)
			if c.gzip {
				assert.Equal(t, "gzip", res.Header.Get("Content-Encoding"))
				plain, err := inflate([]byte(got))
				require.NoError(t, err)
				got = string(plain)
			} else {
				assert.Empty(t, res.Header.Get("Content-Encoding"))
			}
			assert.Equal(t, script, got)
		})
	}
	assert.Equal(t, http.StatusNotFound, ask(built(), http.MethodGet, path+".gz").StatusCode)
	assert.Empty(t, ask(built(), http.MethodGet, "/", "Accept-Encoding", "gzip").Header.Get("Content-Encoding"))
}

func TestUnchangedPageIsNotSentAgain(t *testing.T) {
	etag := ask(built(), http.MethodGet, "/").Header.Get("ETag")
	require.NotEmpty(t, etag)
	res := ask(built(), http.MethodGet, "/", "If-None-Match", etag)
	assert.Equal(t, http.StatusNotModified, res.StatusCode)
	res = ask(built(), http.MethodGet, "/", "If-None-Match", `"old"`)
	assert.Equal(t, http.StatusOK, res.StatusCode)
}

func TestOtherPathsAndMethods(t *testing.T) {
	for _, path := range []string{"/nothing", "/index.html", "/board.html", "/board/x", "/.keep", "/assets", "/assets/", "/assets/../.keep", "/dist/", "//", "/docs", "/docs/", "/docs/nothing/"} {
		res := ask(built(), http.MethodGet, path)
		assert.Equal(t, http.StatusNotFound, res.StatusCode, path)
		assert.Empty(t, res.Header.Get("Cache-Control"), path)
	}
	res := ask(built(), http.MethodPost, "/")
	assert.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
	assert.Equal(t, "GET, HEAD", res.Header.Get("Allow"))
}

func TestTheBoardIsFoundWithASlash(t *testing.T) {
	res := ask(built(), http.MethodGet, "/board/?project=p")
	assert.Equal(t, http.StatusMovedPermanently, res.StatusCode)
	assert.Equal(t, "/board?project=p", res.Header.Get("Location"))
	assert.Equal(t, "/desk", ask(built(), http.MethodGet, "/desk/").Header.Get("Location"))
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	for _, res := range []*http.Response{
		ask(built(), http.MethodGet, "/"),
		ask(built(), http.MethodGet, "/assets/index-Ab12Cd.js"), // a worker obeys the policy of its own script's answer
		ask(built(), http.MethodGet, "/nothing"),
		ask(built(), http.MethodPut, "/"),
	} {
		csp := res.Header.Get("Content-Security-Policy")
		assert.Contains(t, csp, "default-src 'none'")
		assert.Contains(t, csp, "frame-ancestors 'none'")
		for directive := range strings.SplitSeq(csp, ";") {
			name, sources, _ := strings.Cut(strings.TrimSpace(directive), " ")
			assert.NotRegexp(t, `https?:|wss?:|\*`, sources, name)
			if name == "script-src" || name == "worker-src" || name == "connect-src" {
				assert.Equal(t, "'self'", sources, name)
			}
		}
		assert.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
		assert.Equal(t, "DENY", res.Header.Get("X-Frame-Options"))
		assert.Equal(t, "no-referrer", res.Header.Get("Referrer-Policy"))
	}
}

func TestPagesShowPicturesOfTheseOriginsOnly(t *testing.T) {
	for path, title := range map[string]string{"/board": "Board", "/desk": "Desk", "/start": "Start", "/docs/index.html": "Documentation"} {
		res := ask(built(), http.MethodGet, path)
		assert.Contains(t, text(t, res), "<title>"+title+"</title>")
		csp := res.Header.Get("Content-Security-Policy")
		assert.Contains(t, csp, "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; ", path)
		assert.Contains(t, csp, "; img-src 'self' data: https://pictures.example.com; media-src 'self' https://pictures.example.com; ", path)
		assert.NotContains(t, csp, "unsafe", path)
	}
	assert.NotContains(t, ask(built(), http.MethodGet, "/").Header.Get("Content-Security-Policy"), "pictures.example.com")
}

func TestGraphiQLMayNotUploadAndOnlyToTheBucket(t *testing.T) {
	files := fstest.MapFS{"board.html": {Data: []byte("board")}, "index.html": {Data: []byte("index")}}
	h := newHandler(files, pages, Options{Bucket: "https://bucket.example.com"})
	assert.Contains(t, ask(h, http.MethodGet, "/board").Header.Get("Content-Security-Policy"), "; connect-src 'self' https://bucket.example.com; ")
	assert.NotContains(t, ask(h, http.MethodGet, "/").Header.Get("Content-Security-Policy"), "bucket.example.com")
}

func TestWithoutABuildThePageSaysHowToGetOne(t *testing.T) {
	h := newHandler(unbuilt, map[string]string{"unbuilt.html": "/"}, Options{})
	for _, path := range pages {
		assert.Equal(t, text(t, ask(h, http.MethodGet, "/")), text(t, ask(h, http.MethodGet, path)), path)
	}
	res := ask(h, http.MethodGet, "/")
	assert.Equal(t, http.StatusOK, res.StatusCode)
	html := text(t, res)
	assert.Contains(t, html, "make console")
	assert.Contains(t, html, "/graphql")
	assert.NotContains(t, html, "<style", "the style sheet is a file")

	css := ask(h, http.MethodGet, "/unbuilt.css")
	assert.Equal(t, http.StatusOK, css.StatusCode)
	assert.Contains(t, text(t, css), "prefers-color-scheme: dark")
}

// Whatever state dist is in, the pages must be whole: each file that they name is served.
func TestEmbeddedPagesAreWhole(t *testing.T) {
	h := Handler(Options{})
	for _, page := range pages {
		res := ask(h, http.MethodGet, page)
		require.Equal(t, http.StatusOK, res.StatusCode)
		html := text(t, res)
		assert.Equal(t, Built(), !strings.Contains(html, "make console"))
		links := regexp.MustCompile(`<(?:script|link)[^>]*(?:src|href)="([^"]+)"`).FindAllStringSubmatch(html, -1)
		require.NotEmpty(t, links)
		for _, link := range links {
			path := "/" + strings.TrimPrefix(link[1], "./")
			assert.Equal(t, http.StatusOK, ask(h, http.MethodGet, path).StatusCode, path)
		}
	}
}
