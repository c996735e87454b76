package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/console"
)

func TestEverythingIsBelowThePrefix(t *testing.T) {
	s := newServer(t, func(o *Options) {
		o.PathPrefix = "/apps/taggie"
		o.Console = console.Handler(console.Options{PathPrefix: o.PathPrefix})
		o.Session = func(context.Context, string) (Session, error) { return Session{Token: "x", ExpiresAt: time.Now()}, nil }
		o.LocalOnly = true
	})
	for _, test := range []struct {
		target string
		status int
		says   string
	}{
		{"/apps/taggie/", 200, "<html"},
		{"/apps/taggie/board", 200, "<html"},
		{"/apps/taggie/desk", 200, "<html"},
		{"/apps/taggie/start", 200, "<html"},
		{"/apps/taggie/graphql?query={__typename}", 200, "Query"},
		{"/apps/taggie/session", 200, `"token":"x"`},
		{"/apps/taggie/healthz", 200, "ok"},
		{"/apps/taggie/readyz", 200, "ready"},
		{"/healthz", 200, "ok"},
		{"/readyz", 200, "ready"},
		{"/metrics", 200, "taggie_"},
		{"/apps/taggie/metrics", 404, ""},
		{"/apps/taggie/nothing", 404, "the API at /apps/taggie/graphql"},
		{"/", 404, "below /apps/taggie/"},
		{"/board", 404, "below /apps/taggie/"},
		{"/graphql?query={__typename}", 404, "below /apps/taggie/"},
		{"/session", 404, "below /apps/taggie/"},
		{"/apps/taggiegraphql", 404, ""},
		{"/apps%2Ftaggie/graphql?query={__typename}", 404, ""},
		{"/apps/taggie%2Fgraphql?query={__typename}", 404, ""},
		{"/apps/taggie/%2Fgraphql?query={__typename}", 404, ""},
		{"/apps/taggie/%2e%2e/healthz", 404, ""},
	} {
		a := s.get(test.target, "Host", "localhost")
		assert.Equal(t, test.status, a.Code, test.target)
		assert.Contains(t, a.Body.String(), test.says, test.target)
	}
	for target, location := range map[string]string{
		"/apps/taggie?x=1":          "/apps/taggie/?x=1",
		"/apps/taggie/board/?p=1":   "/apps/taggie/board?p=1",
		"/apps//taggie/board":       "/apps/taggie/board",
		"/apps/taggie//session":     "/apps/taggie/session",
		"/apps/taggie/x/../session": "/apps/taggie/session",
	} {
		a := s.get(target, "Host", "localhost")
		assert.Contains(t, []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, a.Code, target)
		assert.Equal(t, location, a.Header().Get("Location"), target)
	}
	page := s.get("/apps/taggie/board", "Host", "localhost")
	assert.Contains(t, page.Header().Get("Content-Security-Policy"), "connect-src 'self'")
	assert.Contains(t, page.Body.String(), "<code>/apps/taggie/graphql</code>")
	assert.NotRegexp(t, `(src|href)="/`, page.Body.String(), "addresses are relative")
	for _, elsewhere := range []string{"/apps/taggie/session", "/healthz"} {
		s.get(elsewhere, "Host", "taggie.example").only(t, http.StatusForbidden, "FORBIDDEN")
	}
}

func TestRoutesAreNamedWithoutThePrefix(t *testing.T) {
	s := newServer(t, func(o *Options) { o.PathPrefix = "/taggie" })
	r := httptest.NewRequest(http.MethodPost, "/taggie/graphql", strings.NewReader(`{"query":"{ viewer { name } }"}`))
	require.Equal(t, http.StatusOK, s.do(with(r, "Authorization", "Bearer ada", "Content-Type", "application/json")).Code)
	s.get("/taggie/anything")
	s.get("/taggie/metrics")
	s.get("/taggie")
	s.get("/taggie//board")
	s.get("/%74aggie/graphql")
	var routes []string
	for _, line := range s.logged("request") {
		routes = append(routes, line["route"].(string))
	}
	assert.Equal(t, []string{"/graphql", "/", "none", "none", "none", "none"}, routes)
	assert.Contains(t, s.get("/metrics").Body.String(), `route="/graphql"`)
}

func TestSocketsAndStreamsAreBelowThePrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(o *Options) { o.PathPrefix = "/taggie" })
		c := th.ready("ada")
		c.subscribe("q", `{ hello }`)
		c.expects(`{"type":"next","id":"q","payload":{"data":{"hello":"world"}}}`)
		c.expects(`{"type":"complete","id":"q"}`)
		l := th.source(`subscription { ticks(source: "a") }`).opened() // by GET, as an EventSource does
		th.play.source("a") <- 1
		l.expects("event: next", "id: at1", `data: {"data":{"ticks": 1}}`)
		close(th.play.source("a"))
		l.completes()
		l = th.stream(`{ hello }`).opened()
		l.expects("event: next", `data: {"data":{"hello":"world"}}`)
		l.completes()
	})
}
