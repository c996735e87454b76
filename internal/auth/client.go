package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/taggie/taggie/internal/fault"
)

const (
	// redeemTimeout bounds one question to the token endpoint.
	redeemTimeout = 10 * time.Second
	// maxRedeeming is how many questions to the token endpoint a server asks at a time: strangers can cause them.
	maxRedeeming = 16
)

// ClientOptions describe Taggie as a client of an OpenID Connect issuer.
type ClientOptions struct {
	Issuer    string       // exactly as in the iss claim
	ID        string       // what the issuer calls the client
	Secret    string       // "" for a public client
	Scopes    string       // separated by blanks
	Audiences []string     // of the tokens that this server accepts
	HTTP      *http.Client // nil means the default transport
	Log       *slog.Logger // nil for none
}

// Client signs people in to Taggie's pages at an issuer, by the authorization code flow with PKCE. The page begins the flow and keeps what
// proves it; the client tells the page how to begin, and asks the issuer for tokens on the page's behalf, with the secret if it has one.
// It keeps no token. It is safe for concurrent use.
type Client struct {
	options  ClientOptions
	log      *slog.Logger
	http     *http.Client
	redeemer *http.Client // follows no redirect: the secret and the code are for the token endpoint
	now      func() time.Time
	redeemed chan struct{} // holds a value for each question to the token endpoint

	mu     sync.Mutex
	known  provider
	read   time.Time     // when known was read
	tried  time.Time     // when the issuer was asked last
	failed error         // of the last attempt
	flight chan struct{} // closed when the attempt under way ends; nil when there is none
}

// provider is what pages and the client need of the issuer's discovery document, under the names of OpenID Connect Discovery 1.0.
type provider struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	EndSessionEndpoint    string   `json:"end_session_endpoint,omitempty"`
	IssParameter          bool     `json:"authorization_response_iss_parameter_supported,omitempty"`
	Algorithms            []string `json:"id_token_signing_alg_values_supported,omitempty"`
	Prompts               []string `json:"prompt_values_supported,omitempty"`
	token                 string
	methods               []string // by which clients may prove who they are
}

// NewClient returns a client. It asks the issuer nothing yet.
func NewClient(o ClientOptions, now func() time.Time) *Client {
	client := &http.Client{}
	if o.HTTP != nil {
		*client = *o.HTTP
	}
	client.Transport = bounded{client.Transport}
	client.CheckRedirect = keepTLS
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	redeemer := *client
	redeemer.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{options: o, log: log, http: client, redeemer: &redeemer, now: now, redeemed: make(chan struct{}, maxRedeeming)}
}

// Configuration returns what a page needs to begin, as a JSON object. Nothing in it is secret.
// Fault: Unavailable when the issuer cannot be reached and was not reached before.
func (c *Client) Configuration(ctx context.Context) ([]byte, error) {
	p, err := c.discover(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Provider  provider `json:"provider"`
		ClientID  string   `json:"clientId"`
		Scope     string   `json:"scope"`
		Audiences []string `json:"audiences"`
	}{p, c.options.ID, c.options.Scopes, c.options.Audiences})
}

// parameters lists by kind of grant what a page may send to the token endpoint.
var parameters = map[string][]string{
	"authorization_code": {"code", "code_verifier", "redirect_uri"},
	"refresh_token":      {"refresh_token"},
}

// Token asks the issuer for tokens, in exchange for a code or a refresh token of this client. It returns the status and the JSON of the
// issuer's answer, whatever it says. Faults: Invalid for anything else than such a request, Unavailable when the issuer does not answer.
func (c *Client) Token(ctx context.Context, request url.Values) (status int, answer []byte, err error) {
	names, found := parameters[request.Get("grant_type")]
	if !found {
		return 0, nil, fault.Invalidf("grant_type", "expected authorization_code or refresh_token")
	}
	form := url.Values{"grant_type": {request.Get("grant_type")}}
	for _, name := range names {
		value := request.Get(name)
		if value == "" || len(value) > maxToken {
			return 0, nil, fault.Invalidf(name, "expected 1 to %d bytes", maxToken)
		}
		form.Set(name, value)
	}
	p, err := c.discover(ctx)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, redeemTimeout)
	defer cancel()
	select {
	case c.redeemed <- struct{}{}:
		defer func() { <-c.redeemed }()
	case <-ctx.Done():
		return 0, nil, fault.Wrap(fault.Unavailable, ctx.Err(), "too many people sign in at the moment")
	}
	status, answer, err = c.redeem(ctx, p, form)
	if err != nil {
		return 0, nil, fault.Wrap(fault.Unavailable, err, "the issuer of tokens cannot be reached")
	}
	return status, answer, nil
}

// redeem sends a request to the token endpoint (RFC 6749, sections 2.3.1 and 3.2).
func (c *Client) redeem(ctx context.Context, p provider, form url.Values) (status int, answer []byte, err error) {
	inHeader := c.options.Secret != "" && (len(p.methods) == 0 || slices.Contains(p.methods, "client_secret_basic"))
	if !inHeader {
		form.Set("client_id", c.options.ID)
		if c.options.Secret != "" {
			form.Set("client_secret", c.options.Secret)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.token, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	if inHeader {
		request.SetBasicAuth(url.QueryEscape(c.options.ID), url.QueryEscape(c.options.Secret))
	}
	response, err := c.redeemer.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	redirected := response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest
	if redirected || response.StatusCode >= http.StatusInternalServerError || !json.Valid(answer) {
		return 0, nil, fmt.Errorf("the answer is %s, or no JSON", response.Status)
	}
	return response.StatusCode, answer, nil
}

// discover returns what is known of the issuer. After maxAge it is read again, and what was read before stays usable, meanwhile and while the
// issuer is down. Callers share one attempt, which goes on when the first of them gives up.
func (c *Client) discover(ctx context.Context) (provider, error) {
	c.mu.Lock()
	flight, known, failed := c.start(ctx), c.known, errors.Join(errTooSoon, c.failed)
	c.mu.Unlock()
	switch {
	case known.token != "":
		return known, nil
	case flight != nil:
		known, failed = c.wait(ctx, flight)
	}
	if failed != nil {
		return provider{}, fault.Wrap(fault.Unavailable, failed, "the issuer of tokens cannot be reached")
	}
	return known, nil
}

// wait returns what an attempt has found, or why it failed.
func (c *Client) wait(ctx context.Context, flight chan struct{}) (provider, error) {
	select {
	case <-ctx.Done():
		return provider{}, ctx.Err()
	case <-flight:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known, c.failed
}

// start returns the attempt under way, beginning one if it is time, or nil. The caller holds the mutex.
func (c *Client) start(ctx context.Context) chan struct{} {
	now := c.now()
	fresh := c.known.token != "" && now.Sub(c.read) < maxAge
	soon := !c.tried.IsZero() && now.Sub(c.tried) < retryEvery
	if c.flight != nil || fresh || soon {
		return c.flight
	}
	c.tried = now
	c.flight = make(chan struct{})
	go c.run(context.WithoutCancel(ctx), c.flight)
	return c.flight
}

func (c *Client) run(ctx context.Context, flight chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	p, err := c.askSafely(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.known, c.read = p, c.now()
	} else {
		c.log.WarnContext(ctx, "cannot read how to sign in at the issuer", "error", err, "known", c.known.token != "")
	}
	c.failed = err
	c.flight = nil
	close(flight)
}

// askSafely keeps a panic over an issuer's answer from ending the process, as it would in this goroutine.
func (c *Client) askSafely(ctx context.Context) (p provider, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.log.ErrorContext(ctx, "panic while reading how to sign in at the issuer", "panic", r)
			err = errors.New("panic while reading the discovery document")
		}
	}()
	return c.ask(ctx)
}

// ask reads the issuer's discovery document. Browsers are sent to addresses in it, so that they have to be of the web.
func (c *Client) ask(ctx context.Context) (provider, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, c.http), c.options.Issuer)
	if err != nil {
		return provider{}, err
	}
	document := struct {
		provider
		Token   string   `json:"token_endpoint"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}{}
	if err := found.Claims(&document); err != nil {
		return provider{}, err
	}
	p := document.provider
	p.token, p.methods = document.Token, document.Methods
	for _, endpoint := range []string{p.AuthorizationEndpoint, p.token} {
		if !c.safe(endpoint) {
			return provider{}, errors.New("an endpoint of it is no https URL")
		}
	}
	if !c.safe(p.EndSessionEndpoint) {
		p.EndSessionEndpoint = ""
	}
	return p, nil
}

// safe reports whether an address is as well protected as the issuer itself.
func (c *Client) safe(address string) bool {
	issuer, err := url.Parse(c.options.Issuer)
	if err != nil {
		return false
	}
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && issuer.Scheme == "http")
}
