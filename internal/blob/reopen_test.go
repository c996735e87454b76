package blob_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/awsclient"
	"github.com/taggie/taggie/internal/blob"
	"github.com/taggie/taggie/internal/fault"
)

// breaking is S3 with one object, whose connection breaks after so many bytes.
type breaking struct {
	content string
	after   int
	etag    func(request int) string
	ranges  []string
}

func (s *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from := 0
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	etag := s.etag(len(s.ranges))
	if match := r.Header.Get("If-Match"); match != "" && match != etag {
		w.WriteHeader(http.StatusPreconditionFailed)
		_, _ = io.WriteString(w, "<Error><Code>PreconditionFailed</Code></Error>")
		return
	}
	rest := s.content[from:]
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.content)-1, len(s.content)))
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = io.WriteString(w, rest[:min(s.after, len(rest))]) // net/http breaks the connection when more was announced
}

func readAll(t *testing.T, s *breaking) (string, error) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := awsclient.S3(t.Context(), awsclient.Options{Endpoint: server.URL, Region: "us-east-1",
		Credentials: awsclient.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}})
	require.NoError(t, err)
	r, err := blob.NewBucket(client, "bucket", "us-east-1", nil).Open(t.Context(), "k", 0)
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(r)
	return string(text), err
}

func TestReadingGoesOnWhenTheConnectionBreaks(t *testing.T) {
	s := &breaking{content: strings.Repeat("0123456789", 10), after: 30, etag: func(int) string { return `"same"` }}
	text, err := readAll(t, s)
	require.NoError(t, err)
	assert.Equal(t, s.content, text)
	assert.Equal(t, []string{"", "bytes=30-", "bytes=60-", "bytes=90-"}, s.ranges)
}

func TestReadingEndsWhenTheObjectWasReplaced(t *testing.T) {
	s := &breaking{content: strings.Repeat("0123456789", 10), after: 30, etag: func(n int) string { return fmt.Sprintf(`"%d"`, n) }}
	text, err := readAll(t, s)
	assert.True(t, fault.Is(err, fault.Invalid), err)
	assert.Equal(t, s.content[:30], text)
}

func TestReadingEndsWhenNothingComesAnyMore(t *testing.T) {
	s := &breaking{content: "0123456789", after: 0, etag: func(int) string { return `"same"` }}
	_, err := readAll(t, s)
	assert.True(t, fault.Is(err, fault.Unavailable), err)
	assert.Len(t, s.ranges, 4)
}

// TestWhatIsRefusedIsNotAnOutage tells what asking again may mend from what it does not.
func TestWhatIsRefusedIsNotAnOutage(t *testing.T) {
	for code, status := range map[string]int{
		"AccessDenied": 403, "NoSuchBucket": 404, "InvalidPart": 400, "EntityTooLarge": 400,
		"SlowDown": 503, "InternalError": 500, "OperationAborted": 409, "RequestTimeout": 400,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code></Error>")
			}))
			t.Cleanup(server.Close)
			client, err := awsclient.S3(t.Context(), awsclient.Options{Endpoint: server.URL, Region: "us-east-1",
				Credentials: awsclient.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}})
			require.NoError(t, err)
			_, err = blob.NewBucket(client, "bucket", "us-east-1", nil).Open(t.Context(), "k", 0)
			want := fault.Internal
			if code == "SlowDown" || code == "InternalError" || code == "OperationAborted" || code == "RequestTimeout" {
				want = fault.Unavailable
			}
			assert.True(t, fault.Is(err, want), "%v", err)
		})
	}
}
