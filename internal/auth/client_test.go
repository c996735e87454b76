package auth_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/fault"
)

// fakeEndpoint is a token endpoint that keeps what it was asked.
type fakeEndpoint struct {
	*httptest.Server
	form          url.Values
	authorization string
	status        int
	answer        string
}

func newEndpoint(t *testing.T) *fakeEndpoint {
	t.Helper()
	e := &fakeEndpoint{status: http.StatusOK, answer: `{"id_token":"x"}`}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		e.form, e.authorization = r.PostForm, r.Header.Get("Authorization")
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, e.answer)
	}))
	t.Cleanup(e.Close)
	return e
}

// newClient returns a client of an issuer whose discovery document has the token endpoint, and what else a test says.
func newClient(t *testing.T, clock *fakeClock, secret string, e *fakeEndpoint, more map[string]any) (*auth.Client, *fakeIssuer) {
	t.Helper()
	_, key := newKey(t, "k1")
	issuer := newIssuer(t, key)
	issuer.configure = func(document map[string]any) {
		document["authorization_endpoint"], document["token_endpoint"] = issuer.URL+"/authorize", e.URL
		document["end_session_endpoint"] = issuer.URL + "/leave"
		for name, value := range more {
			document[name] = value
		}
	}
	o := auth.ClientOptions{Issuer: issuer.URL, ID: "pages", Secret: secret, Scopes: "openid email", Audiences: []string{"taggie"}, HTTP: issuer.Client()}
	return auth.NewClient(o, clock.Now), issuer
}

var code = url.Values{"grant_type": {"authorization_code"}, "code": {"c"}, "code_verifier": {"v"}, "redirect_uri": {"https://taggie.example.com/board"}, "client_id": {"other"}, "scope": {"all"}}

func TestAPageLearnsHowToBegin(t *testing.T) {
	client, issuer := newClient(t, newClock(), "s3cret", newEndpoint(t), map[string]any{"authorization_response_iss_parameter_supported": true, "prompt_values_supported": []string{"none", "login"}})
	got, err := client.Configuration(background)
	require.NoError(t, err)
	assert.JSONEq(t, `{"provider":{"issuer":"`+issuer.URL+`","authorization_endpoint":"`+issuer.URL+`/authorize","end_session_endpoint":"`+issuer.URL+`/leave",
		"authorization_response_iss_parameter_supported":true,"prompt_values_supported":["none","login"]},"clientId":"pages","scope":"openid email","audiences":["taggie"]}`, string(got))
}

func TestAddressesOfTheIssuerAreOfTheWeb(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"a script":          {"authorization_endpoint": "javascript:alert(1)"},
		"no address":        {"token_endpoint": "/token"},
		"nothing to be had": {"token_endpoint": nil},
	} {
		client, _ := newClient(t, newClock(), "", newEndpoint(t), more)
		_, err := client.Configuration(background)
		assert.True(t, fault.Is(err, fault.Unavailable), name)
	}
	client, _ := newClient(t, newClock(), "", newEndpoint(t), map[string]any{"end_session_endpoint": "javascript:alert(1)"})
	got, err := client.Configuration(background)
	require.NoError(t, err)
	assert.NotContains(t, string(got), "javascript")
}

func TestTheClientProvesWhoItIs(t *testing.T) {
	const secret = "s+3 c/r:et"
	for name, test := range map[string]struct {
		secret  string
		methods []string
		header  string
		form    url.Values
	}{
		"a public client":        {"", nil, "", url.Values{"client_id": {"pages"}}},
		"in the header":          {secret, nil, "Basic cGFnZXM6cyUyQjMrYyUyRnIlM0FldA==", nil},
		"in the header, as told": {secret, []string{"client_secret_post", "client_secret_basic"}, "Basic cGFnZXM6cyUyQjMrYyUyRnIlM0FldA==", nil},
		"in the form":            {secret, []string{"client_secret_post"}, "", url.Values{"client_id": {"pages"}, "client_secret": {secret}}},
	} {
		e := newEndpoint(t)
		more := map[string]any{}
		if test.methods != nil {
			more["token_endpoint_auth_methods_supported"] = test.methods
		}
		client, _ := newClient(t, newClock(), test.secret, e, more)
		status, answer, err := client.Token(background, code)
		require.NoError(t, err, name)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, `{"id_token":"x"}`, string(answer))
		assert.Equal(t, test.header, e.authorization, name)
		want := url.Values{"grant_type": {"authorization_code"}, "code": {"c"}, "code_verifier": {"v"}, "redirect_uri": {"https://taggie.example.com/board"}}
		for key, value := range test.form {
			want[key] = value
		}
		assert.Equal(t, want, e.form, "%s: what else a page says is not passed on", name)
	}
}

func TestWhatThePageAsksIsBounded(t *testing.T) {
	e := newEndpoint(t)
	client, _ := newClient(t, newClock(), "", e, nil)
	for name, form := range map[string]url.Values{
		"nothing":        {},
		"another grant":  {"grant_type": {"password"}, "username": {"ada"}},
		"no verifier":    {"grant_type": {"authorization_code"}, "code": {"c"}, "redirect_uri": {"r"}},
		"a huge code":    {"grant_type": {"authorization_code"}, "code": {strings.Repeat("c", 10_000)}, "code_verifier": {"v"}, "redirect_uri": {"r"}},
		"an empty token": {"grant_type": {"refresh_token"}, "refresh_token": {""}},
	} {
		_, _, err := client.Token(background, form)
		assert.True(t, fault.Is(err, fault.Invalid), name)
	}
	assert.Nil(t, e.form, "the issuer was not asked")
}

func TestAnswersOfTheIssuerArePassedOn(t *testing.T) {
	e := newEndpoint(t)
	client, _ := newClient(t, newClock(), "", e, nil)
	e.status, e.answer = http.StatusBadRequest, `{"error":"invalid_grant"}`
	status, answer, err := client.Token(background, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"r"}})
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Equal(t, e.answer, string(answer))
	assert.Equal(t, "r", e.form.Get("refresh_token"))
	for status, answer := range map[int]string{http.StatusBadGateway: `{}`, http.StatusOK: "<html>"} {
		e.status, e.answer = status, answer
		_, _, err = client.Token(background, code)
		assert.True(t, fault.Is(err, fault.Unavailable), answer)
	}
}

func TestTheSecretFollowsNoRedirect(t *testing.T) {
	elsewhere := newEndpoint(t)
	here := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(here.Close)
	client, _ := newClient(t, newClock(), "s3cret", elsewhere, map[string]any{"token_endpoint": here.URL, "token_endpoint_auth_methods_supported": []string{"client_secret_post"}})
	_, _, err := client.Token(background, code)
	assert.True(t, fault.Is(err, fault.Unavailable))
	assert.Nil(t, elsewhere.form)
}

func TestWhatIsKnownOfTheIssuerOutlivesIt(t *testing.T) {
	clock := newClock()
	client, issuer := newClient(t, clock, "", newEndpoint(t), nil)
	issuer.change(func(f *fakeIssuer) { f.down = true })
	_, err := client.Configuration(background)
	require.True(t, fault.Is(err, fault.Unavailable))
	issuer.change(func(f *fakeIssuer) { f.down = false })
	_, err = client.Configuration(background)
	require.True(t, fault.Is(err, fault.Unavailable), "it was asked a moment ago")
	clock.Add(time.Minute)
	_, err = client.Configuration(background)
	require.NoError(t, err)
	issuer.change(func(f *fakeIssuer) { f.down = true })
	clock.Add(time.Hour)
	_, err = client.Configuration(background)
	require.NoError(t, err)
}

// slowIssuer answers with its discovery document, once for each value that it is given.
type slowIssuer chan struct{}

func (s slowIssuer) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-s:
	}
	const document = `{"issuer":"https://id.example.com","authorization_endpoint":"https://id.example.com/a","token_endpoint":"https://id.example.com/t","jwks_uri":"https://id.example.com/k"}`
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, document)
	return w.Result(), nil
}

func (s slowIssuer) client(log io.Writer) *auth.Client {
	return auth.NewClient(auth.ClientOptions{Issuer: "https://id.example.com", HTTP: &http.Client{Transport: s}, Log: slog.New(slog.NewTextHandler(log, nil))}, time.Now)
}

func TestWhoGivesUpKeepsNobodyFromSigningIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := make(slowIssuer)
		client := issuer.client(io.Discard)
		gone, leave := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			_, err := client.Configuration(gone)
			first <- err
		}()
		synctest.Wait()
		leave()
		require.True(t, fault.Is(<-first, fault.Unavailable))
		go func() { issuer <- struct{}{} }()
		_, err := client.Configuration(t.Context())
		require.NoError(t, err)
	})
}

func TestNobodyWaitsForAnIssuerThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, log := make(slowIssuer), &bytes.Buffer{}
		client := issuer.client(log)
		go func() { issuer <- struct{}{} }()
		_, err := client.Configuration(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Hour) // of the bubble
		since := time.Now()
		_, err = client.Configuration(t.Context())
		require.NoError(t, err)
		assert.Zero(t, time.Since(since))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Contains(t, log.String(), "cannot read how to sign in at the issuer")
		assert.Contains(t, log.String(), "known=true")
	})
}
