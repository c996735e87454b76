package awsclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// Bodies up to these sizes are sent from memory. DynamoDB takes no request of more than 16 MB; of what goes
	// to S3, only documents and small objects are worth a copy.
	largestDynamoDBBody = 16 << 20
	largestS3Body       = 1 << 20
	// idlePerHost connections stay open to one engine. net/http's two and the SDK's ten are too few for a fan-out
	// of 32 per query: what does not fit is closed after use and dialled again.
	idlePerHost = 128
)

// httpClient hands each request to its transport with the body in memory.
//
// The SDK wraps the body in a type that net/http does not know and closes it as soon as the answer's header is there.
// When the engine answers before net/http has seen the end of the body, net/http takes the body as broken and
// drops the connection; the SDK then repeats a call that may have been carried out. Handed a bytes.Reader,
// net/http sends header and body together, knows the end, and may itself repeat on a connection that had gone stale (GetBody).
//
// Longer bodies and those of unknown length, as streamed uploads have them, are passed on untouched.
type httpClient struct {
	transport http.RoundTripper
	largest   int64 // bytes of a body that is read into memory
	time      Time  // nil: nobody wants to know
}

func newHTTPClient(o Options, largest int64) *httpClient {
	dial := (&net.Dialer{Timeout: o.Timeouts.Dial, KeepAlive: 30 * time.Second}).DialContext
	if o.Dial != nil {
		dial = o.Dial
	}
	var transport http.RoundTripper = &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if o.OnDial != nil {
				o.OnDial()
			}
			return dial(ctx, network, address)
		},
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   o.Timeouts.Dial,
		ResponseHeaderTimeout: o.Timeouts.Response,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		// The SDK decides about compression itself: net/http must not add Accept-Encoding behind its back.
		DisableCompression: true,
	}
	if o.Wrap != nil {
		transport = o.Wrap(transport)
	}
	return &httpClient{transport: transport, largest: largest, time: o.Time}
}

// Do sends the request with its body from memory and checks the answer.
//
// The transport is used without an http.Client around it: a redirect (S3 sends one when the region is wrong) cannot be
// followed with a signature that names another host, so that it is an error, as it is for the SDK.
func (c *httpClient) Do(r *http.Request) (*http.Response, error) {
	r, err := c.inMemory(r)
	if err != nil {
		return nil, err
	}
	var asked time.Time
	if c.time != nil {
		asked = c.time.Local()
	}
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if date := resp.Header.Get("Date"); c.time != nil && date != "" {
		c.time.HeardDate(date, asked)
	}
	checked(resp)
	return resp, nil
}

// inMemory returns the request with its body read, or the request itself when there is nothing to read.
func (c *httpClient) inMemory(r *http.Request) (*http.Request, error) {
	if r.Body == nil || r.ContentLength <= 0 || r.ContentLength > c.largest {
		return r, nil
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	// Whoever takes a request closes its body, whatever happens.
	if closed := r.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	sent := *r // the SDK keeps the request it gave
	sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	sent.Body = io.NopCloser(bytes.NewReader(body))
	return &sent, nil
}
