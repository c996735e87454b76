package fleets

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/embedded"
)

func transportTo(e embedded.Endpoint) *http.Transport {
	return &http.Transport{DialContext: e.Dial, MaxIdleConnsPerHost: 200, DisableCompression: true}
}

// lane is between the servers and an engine, and returns its URL. Where a call gets no answer, the connection is cut.
func lane(t *testing.T, engine string, through http.RoundTripper) string {
	t.Helper()
	to, err := url.Parse(engine)
	require.NoError(t, err)
	between := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // which is signed
		},
		Transport:    through,
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	between.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(between.Close)
	return between.URL
}
