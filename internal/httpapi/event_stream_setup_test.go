package httpapi

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/httpapi/eventstream"
	"github.com/taggie/taggie/internal/httpapi/response"
)

// listener is one event stream as its client sees it.
type listener struct {
	t    *testing.T
	resp *http.Response
	body *bufio.Reader
	stop context.CancelFunc
}

// stream asks for an event stream by POST, as graphql-sse does; headers are names and values in turn.
func (th *theatre) stream(query string, headers ...string) *listener {
	th.t.Helper()
	body := `{"query":` + string(response.Encode(query)) + `}`
	return th.begin(http.MethodPost, "/graphql", body, append([]string{"Content-Type", "application/json", "Authorization", "Bearer ada"}, headers...)...)
}

// source asks for one by GET, as the EventSource of browsers does.
func (th *theatre) source(query string, headers ...string) *listener {
	th.t.Helper()
	return th.begin(http.MethodGet, "/graphql?access_token=ada&query="+url.QueryEscape(query), "", headers...)
}

func (th *theatre) begin(method, target, body string, headers ...string) *listener {
	th.t.Helper()
	return th.beginFrom(method, target, strings.NewReader(body), headers...)
}

func (th *theatre) beginFrom(method, target string, body io.Reader, headers ...string) *listener {
	th.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, method, "http://taggie.test"+th.options.PathPrefix+target, body)
	require.NoError(th.t, err)
	r.Header.Set("Accept", eventstream.Media)
	client := &http.Client{Transport: &http.Transport{DialContext: th.dial, DisableKeepAlives: true}}
	resp, err := client.Do(with(r, headers...))
	require.NoError(th.t, err)
	l := &listener{t: th.t, resp: resp, body: bufio.NewReader(resp.Body), stop: stop}
	th.t.Cleanup(l.close)
	return l
}

func (l *listener) close() {
	l.stop()
	_ = l.resp.Body.Close()
}

// opened asserts that the stream begins.
func (l *listener) opened() *listener {
	l.t.Helper()
	require.Equal(l.t, http.StatusOK, l.resp.StatusCode)
	require.Equal(l.t, "text/event-stream; charset=utf-8", l.resp.Header.Get("Content-Type"))
	l.expects("retry: 2000")
	return l
}

// block reads what stands before the next empty line, a comment too.
func (l *listener) block() (string, error) {
	var b strings.Builder
	for {
		line, err := l.body.ReadString('\n')
		if err != nil {
			return b.String() + line, err
		}
		if line == "\n" {
			return strings.TrimSuffix(b.String(), "\n"), nil
		}
		b.WriteString(line)
	}
}

func (l *listener) read() string {
	l.t.Helper()
	text, err := l.block()
	require.NoError(l.t, err)
	return text
}

func (l *listener) expects(lines ...string) {
	l.t.Helper()
	require.Equal(l.t, strings.Join(lines, "\n"), l.read())
}

// completes asserts that nothing comes but the event that says so.
func (l *listener) completes() {
	l.t.Helper()
	l.expects("event: complete", "data:")
	text, err := l.block()
	require.ErrorIs(l.t, err, io.EOF)
	require.Empty(l.t, text)
}

// cut asserts that the stream ends without being complete, and says why.
func (l *listener) cut(reason string) {
	l.t.Helper()
	l.expects(": " + reason)
	text, err := l.block()
	require.ErrorIs(l.t, err, io.EOF)
	require.Empty(l.t, text)
}

// refused asserts that there is no stream but an answer with one error.
func (l *listener) refused(status int, code string) {
	l.t.Helper()
	require.Equal(l.t, status, l.resp.StatusCode) // before anything is read, which would not end of a stream
	text, err := io.ReadAll(l.body)
	require.NoError(l.t, err)
	assert.Equal(l.t, "application/json; charset=utf-8", l.resp.Header.Get("Content-Type"))
	if l.resp.Request.Method == http.MethodHead { // an answer without its body
		assert.Empty(l.t, text)
		return
	}
	assert.Contains(l.t, string(text), `"code":"`+code+`"`)
}
