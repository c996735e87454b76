package httpapi

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/taggie/taggie/internal/httpapi/request"
)

func TestLargeAnswersAreCompressed(t *testing.T) {
	s := newServer(t)
	const query = "query=%7B__schema%7Btypes%7Bname+description%7D%7D%7D"
	plain := s.get("/graphql?" + query).Body.String()
	require.Greater(t, len(plain), 10_000)
	for accept, read := range map[string]func(io.Reader) (io.Reader, error){
		"gzip":               func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd, gzip, br":     func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"gzip, deflate, br":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"gzip;q=0.5, zstd":   func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
		"identity, gzip;q=0": nil,
		"br":                 nil,
	} {
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, with(httptest.NewRequest(http.MethodGet, "/graphql?"+query, nil), "Accept-Encoding", accept))
		require.Equal(t, http.StatusOK, w.Code)
		assert.Contains(t, w.Header().Values("Vary"), "Accept-Encoding")
		if read == nil {
			assert.Empty(t, w.Header().Get("Content-Encoding"), accept)
			assert.Equal(t, plain, w.Body.String())
			continue
		}
		assert.Less(t, w.Body.Len(), len(plain)/2, accept)
		assert.Empty(t, w.Header().Get("Content-Length"), "that of the text would be wrong")
		r, err := read(w.Body)
		require.NoError(t, err, accept)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.Equal(t, plain, string(text))
	}
}

func TestSmallAnswersAreNotCompressed(t *testing.T) {
	s := newServer(t)
	a := s.ask(`{ viewer { name } }`, nil, "Accept-Encoding", "gzip, zstd")
	assert.Empty(t, a.Header().Get("Content-Encoding"))
	assert.Equal(t, "Ada", a.Data["viewer"].(map[string]any)["name"])
	assert.Equal(t, "34", a.Header().Get("Content-Length"))
}

// Everything else compresses by itself, or has to arrive piece by piece.
func TestOnlyAnswersAreCompressed(t *testing.T) {
	for _, media := range []string{"text/event-stream", "text/html", "font/woff2"} {
		s := newServer(t, func(o *Options) {
			o.Console = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", media)
				_, _ = io.WriteString(w, strings.Repeat("a", 10_000))
			})
		})
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, with(httptest.NewRequest(http.MethodGet, "/", nil), "Accept-Encoding", "gzip"))
		assert.Empty(t, w.Header().Get("Content-Encoding"), media)
		assert.Equal(t, 10_000, w.Body.Len())
	}
}

func TestHeadersOfEventStreamsAreNotHeldBack(t *testing.T) {
	begun := make(chan struct{})
	s := newServer(t, func(o *Options) {
		o.Console = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			w.WriteHeader(http.StatusOK)
			assert.NoError(t, http.NewResponseController(w).Flush())
			<-begun
			_, _ = io.WriteString(w, "data: 1\n\n")
		})
	})
	listening := httptest.NewServer(s.handler)
	t.Cleanup(listening.Close)
	for _, coding := range []string{"gzip", "identity"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, listening.URL, nil)
		require.NoError(t, err)
		resp, err := http.DefaultTransport.RoundTrip(with(r, "Accept-Encoding", coding))
		require.NoError(t, err)
		go func() { begun <- struct{}{} }()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, "data: 1\n\n", string(text))
		require.NoError(t, resp.Body.Close())
	}
}

func TestServerTiming(t *testing.T) {
	s := newServer(t, func(o *Options) { o.AllowedOrigins = []string{"https://app.example.com"} })
	names := func(a answer) (found []string) {
		for _, line := range a.Header().Values("Server-Timing") {
			assert.Regexp(t, `^[a-z-]+;dur=\d+\.\d$`, line)
			name, _, _ := strings.Cut(line, ";")
			found = append(found, name)
		}
		return found
	}
	a := s.ask(`{ viewer { name } }`, nil, "Origin", "https://app.example.com")
	assert.Equal(t, []string{"sign-in", "read", "parse", "validate", "execute"}, names(a))
	assert.Equal(t, "https://app.example.com", a.Header().Get("Timing-Allow-Origin"))
	a = s.ask(`{ viewer { nam } }`, nil, "Origin", "https://evil.example.com")
	assert.Equal(t, []string{"sign-in", "read", "parse", "validate"}, names(a))
	assert.Empty(t, a.Header().Get("Timing-Allow-Origin"))
	assert.Equal(t, []string{"sign-in"}, names(s.post(`hunter2`, "Authorization", "Bearer forged")))
}

// BenchmarkCompression compares an answer of 100 KB, the schema's text, plain and as clients take it.
func BenchmarkCompression(b *testing.B) {
	schema, err := os.ReadFile("../../schema.graphqls")
	require.NoError(b, err)
	text, err := json.Marshal(strings.Split(string(schema), "\n"))
	require.NoError(b, err)
	h, err := compressed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", request.JSON)
		_, _ = w.Write(text)
	}))
	require.NoError(b, err)
	for _, accept := range []string{"identity", "gzip", "zstd"} {
		b.Run(accept, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			size := 0
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, with(httptest.NewRequest(http.MethodGet, "/", nil), "Accept-Encoding", accept))
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
