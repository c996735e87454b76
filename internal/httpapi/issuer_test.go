package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/fault"
)

// fakeIssuer signs people in, and keeps what it was asked.
type fakeIssuer struct {
	asked url.Values
	err   error
}

func (f *fakeIssuer) Configuration(context.Context) ([]byte, error) {
	return []byte(`{"clientId":"pages"}`), f.err
}

func (f *fakeIssuer) Token(_ context.Context, request url.Values) (int, []byte, error) {
	f.asked = request
	return http.StatusBadRequest, []byte(`{"error":"invalid_grant"}`), f.err
}

func TestPagesSignInAtAnIssuer(t *testing.T) {
	issuer := &fakeIssuer{}
	s := newServer(t, func(o *Options) { o.Issuer, o.AllowedOrigins = issuer, []string{"https://taggie.example.com"} })
	begin := s.get("/session", "Host", "taggie.example.com", "X-Forwarded-For", "203.0.113.7")
	assert.Equal(t, http.StatusOK, begin.Code)
	assert.JSONEq(t, `{"clientId":"pages"}`, begin.Body.String())
	assert.Equal(t, "no-store", begin.Header().Get("Cache-Control"))

	post := func(body string, headers ...string) answer {
		r := httptest.NewRequest(http.MethodPost, "/session", strings.NewReader(body))
		return s.do(with(r, append([]string{"Content-Type", "application/x-www-form-urlencoded", "Host", "inner:8080"}, headers...)...))
	}
	for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://inner:8080"}, {"Origin", "https://taggie.example.com"}} {
		issuer.asked = nil
		a := post("grant_type=refresh_token&refresh_token=r", headers...)
		assert.Equal(t, http.StatusBadRequest, a.Code)
		assert.JSONEq(t, `{"error":"invalid_grant"}`, a.Body.String())
		assert.Equal(t, "no-store", a.Header().Get("Cache-Control"))
		assert.Equal(t, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"r"}}, issuer.asked)
	}
	issuer.asked = nil
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example.com"}} {
		post("grant_type=refresh_token", headers...).only(t, http.StatusForbidden, "FORBIDDEN")
	}
	post(strings.Repeat("x", maxTokenRequest+1)).only(t, http.StatusBadRequest, "BAD_REQUEST")
	assert.Nil(t, issuer.asked)

	issuer.err = fault.New(fault.Unavailable, "the issuer of tokens cannot be reached")
	post("grant_type=refresh_token").only(t, http.StatusServiceUnavailable, "UNAVAILABLE")
	s.get("/session").only(t, http.StatusServiceUnavailable, "UNAVAILABLE")
	s.do(httptest.NewRequest(http.MethodPut, "/session", nil)).only(t, http.StatusMethodNotAllowed, "BAD_REQUEST")
	newServer(t).do(httptest.NewRequest(http.MethodPost, "/session", nil)).only(t, http.StatusMethodNotAllowed, "BAD_REQUEST")
}

func TestNetworksHaveABudgetToSignIn(t *testing.T) {
	p := newPurse()
	p.left["sign-in:network:192.0.2.0/24"] = tokenCost
	issuer := &fakeIssuer{}
	s := newServer(t, withBudget(p), func(o *Options) { o.Issuer = issuer })
	post := func() answer {
		r := httptest.NewRequest(http.MethodPost, "/session", strings.NewReader("grant_type=refresh_token&refresh_token=r"))
		return s.do(with(r, "Content-Type", "application/x-www-form-urlencoded"))
	}
	assert.Equal(t, http.StatusBadRequest, post().Code)
	issuer.asked = nil
	a := post()
	a.only(t, http.StatusTooManyRequests, "EXHAUSTED")
	assert.NotEmpty(t, a.Header().Get("Retry-After"))
	assert.Nil(t, issuer.asked)
	assert.Equal(t, http.StatusOK, s.get("/session").Code)
}
