package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/taggie/taggie/internal/httpapi/execution"
	"github.com/taggie/taggie/internal/httpapi/request"
)

// smallest is the size from which an answer is compressed: one that fits into a packet arrives no sooner when it is smaller.
const smallest = 1400

// compressed sends answers of GraphQL as gzip or zstd to clients that take them so. It leaves alone what is compressed already
// (the console's files, metrics) and event streams, whose events are small and would each hold a compressor. No secret of a page
// can be guessed from the sizes: what a page of another origin sends carries no token.
func compressed(next http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(smallest),
		gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.PreferZstd(false), // it needs about twice the CPU for 6 % less (BenchmarkCompression)
		gzhttp.ContentTypes([]string{request.JSON, mediaResponse, execution.Multipart}),
	)
	if err != nil {
		return nil, fmt.Errorf("httpapi: compress: %w", err)
	}
	return wrap(next), nil
}

// uncompressed takes the compressor from around the writer of an event stream: it would hold back a header that is flushed
// before the first event.
func uncompressed(w http.ResponseWriter) http.ResponseWriter {
	if wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		return wrapper.Unwrap()
	}
	return w
}
