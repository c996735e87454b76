package dynamo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithytime "github.com/aws/smithy-go/time"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/sync/semaphore"
)

// Watch hears of the attempts at reads that do not go through the SDK's middleware. It must be safe for concurrent use.
type Watch interface {
	// ReadAnswered is told of a call that its first attempt answered: the SDK's input and output, and how long it took.
	ReadAnswered(ctx context.Context, operation string, in, out any, took time.Duration)
	// ReadRefused is told of a first attempt that failed. The SDK goes on with the call, and counts its own attempts.
	ReadRefused(ctx context.Context, operation string, in any, err error)
}

// narrow sends the first attempt of a read past the SDK's middleware, which needs more CPU than signing and sending do.
//
// It knows no more of the protocol than the SDK has shown: the first call of an operation is the SDK's, and narrow keeps its address, headers,
// schema, and the region and service it was signed for. Credentials, signer, HTTP client and the offset of the clock
// are the SDK's as well, and its serialiser but for batches. Whatever does not bring a good answer goes to the SDK as the second attempt.
type narrow struct {
	http        dynamodb.HTTPClient
	protocol    smithyhttp.ClientProtocol
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	retryer     aws.Retryer
	places      *semaphore.Weighted
	watch       Watch
	offset      atomic.Int64 // nanoseconds to add to the clock, as the SDK has found out
	known       map[string]*operation
}

// operation is what the SDK has shown of an operation.
type operation struct {
	schema   atomic.Pointer[smithy.OperationSchema]
	prepared atomic.Pointer[prepared]
}

// prepared is what does not change from one call of an operation to the next.
type prepared struct {
	url             url.URL
	header          http.Header
	region, service string
}

// narrowed has a client show n what it sends. n stays nil, and reads are the SDK's alone, when a call has one attempt only.
func narrowed(o *dynamodb.Options, places *semaphore.Weighted, watch Watch) *narrow {
	if o.Retryer.MaxAttempts() == 1 {
		return nil
	}
	n := &narrow{http: o.HTTPClient, protocol: o.Protocol, credentials: o.Credentials, signer: v4.NewSigner(), retryer: o.Retryer, places: places, watch: watch}
	n.known = map[string]*operation{"GetItem": {}, "BatchGetItem": {}, "Query": {}}
	o.Protocol = shownProtocol{o.Protocol, n}
	o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], func(s *middleware.Stack) error {
		return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("TaggieNarrow", n.learn), "Signing", middleware.After)
	})
	return n
}

// shownProtocol shows the schemas of operations.
type shownProtocol struct {
	smithyhttp.ClientProtocol
	narrow *narrow
}

// SerializeRequest is the SDK's.
func (p shownProtocol) SerializeRequest(ctx context.Context, schema *smithy.OperationSchema, in smithy.Serializable, to *smithyhttp.Request) error {
	if known := p.narrow.known[schema.ID().Name]; known != nil {
		known.schema.CompareAndSwap(nil, schema)
	}
	return p.ClientProtocol.SerializeRequest(ctx, schema, in, to)
}

// call is a read, and what it fills.
type call[In smithy.Serializable, Out smithy.Deserializable] struct {
	name string
	in   In
	out  Out
	sdk  func(context.Context, In, ...func(*dynamodb.Options)) (Out, error) // the client's method
	text func() []byte                                                      // the body, where we write it faster; nil otherwise
}

// read reads into a and the output of the call: its first attempt goes past the middleware of the SDK, which makes the others.
func read[In smithy.Serializable, Out smithy.Deserializable](ctx context.Context, n *narrow, c call[In, Out], a *answer) error {
	if n == nil {
		_, err := c.sdk(ctx, c.in, a.into)
		return err
	}
	sent, err := n.try(ctx, c.name, c.in, c.text, c.out, a)
	switch {
	case sent && err == nil:
		return nil
	case !sent:
		_, err = c.sdk(ctx, c.in, a.into)
		return err
	case hadNoRoom(err):
		return err
	}
	if delay, failed := n.retryer.RetryDelay(1, err); failed == nil {
		_ = smithytime.SleepWithContext(ctx, delay) // the SDK finds out that the context has ended, and says so
	}
	_, err = c.sdk(ctx, c.in, a.into, func(o *dynamodb.Options) { o.RetryMaxAttempts = n.retryer.MaxAttempts() - 1 })
	return err
}

// perCall are the headers that each call has of its own.
var perCall = []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "X-Amzn-Trace-Id", "Content-Length"}

// learn keeps what the SDK has signed, behind whose signing it stands.
func (n *narrow) learn(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	if request, ok := in.Request.(*smithyhttp.Request); ok {
		if signed, err := time.Parse(amzDate, request.Header.Get("X-Amz-Date")); err == nil {
			n.offset.Store(int64(time.Until(signed)))
		}
		if known := n.known[awsmiddleware.GetOperationName(ctx)]; known != nil && known.prepared.Load() == nil {
			known.prepared.Store(prepare(request.Request))
		}
	}
	return next.HandleFinalize(ctx, in)
}

const amzDate = "20060102T150405Z"

// prepare returns what other calls of the operation have in common with this one; nil when it is not signed as narrow can sign.
func prepare(signed *http.Request) *prepared {
	scope, ok := strings.CutPrefix(signed.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := strings.Split(scope, "/") // key, day, region, service, "aws4_request"
	if !ok || len(parts) < 5 || signed.URL.RawQuery != "" {
		return nil
	}
	p := &prepared{url: *signed.URL, header: signed.Header.Clone(), region: parts[len(parts)-3], service: parts[len(parts)-2]}
	for _, name := range perCall {
		p.header.Del(name)
	}
	return p
}

// try sends the first attempt of a read. It reports whether anything was sent, and what kept it from a good answer.
func (n *narrow) try(ctx context.Context, name string, in smithy.Serializable, text func() []byte, out smithy.Deserializable, a *answer) (sent bool, err error) {
	known := n.known[name]
	p := known.prepared.Load()
	if p == nil {
		return false, nil
	}
	start := time.Now()
	schema := known.schema.Load()
	response, sent, err := n.send(ctx, p, func() ([]byte, error) {
		if text != nil {
			return text(), nil
		}
		return n.serialised(ctx, schema, in)
	})
	if !sent {
		return false, err
	}
	if err == nil {
		err = leanProtocol{n.protocol, a}.DeserializeResponse(ctx, schema, dynamodb.TypeRegistry, &smithyhttp.Response{Response: response}, out)
		_ = response.Body.Close() // what counts was read
	}
	if err != nil {
		if n.watch != nil {
			n.watch.ReadRefused(ctx, name, in, err)
		}
		return true, err
	}
	if n.watch != nil {
		n.watch.ReadAnswered(ctx, name, in, out, time.Since(start))
	}
	return true, nil
}

// send sends a call when there is a place, and reports whether it did. The place is free when the answer begins: to read that may have to wait for room.
func (n *narrow) send(ctx context.Context, p *prepared, text func() ([]byte, error)) (response *http.Response, sent bool, err error) {
	if err = n.places.Acquire(ctx, 1); err != nil {
		return nil, false, err
	}
	defer n.places.Release(1)
	body, err := text()
	if err != nil {
		return nil, false, err
	}
	request, err := n.request(ctx, p, body)
	if err != nil {
		return nil, false, err
	}
	response, err = n.http.Do(request) //nolint:bodyclose // try closes it
	return response, true, err
}

// serialised is the body of a call, as the SDK writes it.
func (n *narrow) serialised(ctx context.Context, schema *smithy.OperationSchema, in smithy.Serializable) ([]byte, error) {
	written := smithyhttp.NewStackRequest().(*smithyhttp.Request) //nolint:errcheck // it makes nothing else
	if err := n.protocol.SerializeRequest(ctx, schema, in, written); err != nil {
		return nil, err
	}
	return io.ReadAll(written.GetStream())
}

// request returns a call, signed.
func (n *narrow) request(ctx context.Context, p *prepared, body []byte) (*http.Request, error) {
	address := p.url // the signer writes into it
	request := (&http.Request{Method: http.MethodPost, URL: &address, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: p.header.Clone(),
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}).WithContext(ctx)
	credentials, err := n.credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	at := time.Now().Add(time.Duration(n.offset.Load())).UTC()
	return request, n.signer.SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), p.service, p.region, at)
}
